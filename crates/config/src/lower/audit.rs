//! How much is kept of the audit log.

use super::Lowering;
use crate::file::AuditFile;
use crate::settings::AuditSettings;

/// The least room that the log can be given: what is removed goes in whole files.
const LEAST: usize = 1 << 20;

impl Lowering<'_> {
    pub(super) fn audit(&self, file: Option<&AuditFile>) -> AuditSettings {
        let usual = AuditSettings::default();
        let Some(file) = file else { return usual };
        let max = self.size("`audit.max`", &file.max);
        if let (Some(written), Some(max)) = (file.max.read(), max)
            && (1..LEAST).contains(&max)
        {
            self.report(
                written.span,
                "`audit.max` is too small: what is removed goes in whole files",
                "write at least `1MiB`",
            );
        }
        AuditSettings {
            keep: self.wait("`audit.keep`", &file.keep).unwrap_or(usual.keep),
            max: max.map_or(usual.max, |max| max as u64),
            compress: file.compress.value().copied().unwrap_or(usual.compress),
        }
    }
}
