//! Where labels are kept.

use super::Lowering;
use crate::file::{ConfigFile, StoreFile};
use crate::read::Field;
use crate::settings::StoreSettings;

impl Lowering<'_> {
    pub(super) fn store(&self, file: &ConfigFile) -> Option<StoreSettings> {
        let (written, timeout) = match &file.store {
            Field::Absent => return Some(StoreSettings::Sqlite),
            Field::Broken => return None,
            Field::Read(written) => match &written.value {
                StoreFile::Sqlite => return Some(StoreSettings::Sqlite),
                StoreFile::Postgres { url, timeout } => (url, timeout),
            },
        };
        let url = self.text("`store.postgres`", written)?;
        let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
        if rest.is_none_or(str::is_empty) {
            self.report(
                written.span,
                "`store.postgres` is not the URL of a PostgreSQL database",
                "write it in full, such as `postgres://highwater@db.example.com/highwater`",
            );
            return None;
        }
        let timeout = self.wait("`store.timeout`", timeout);
        Some(StoreSettings::Postgres { url, timeout })
    }
}
