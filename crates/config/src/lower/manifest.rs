//! A server's signed manifest: who may have signed it, and where it is.

use highwater_pins::ManifestKey;

use super::remote::check_url;
use super::{Lowering, Refused};
use crate::file::ServerFile;
use crate::read::Written;
use crate::settings::{ManifestSettings, ManifestSource};

impl Lowering<'_> {
    pub(super) fn manifest(&self, file: &ServerFile, subject: &str) -> Option<ManifestSettings> {
        let written = file.manifest.read()?;
        let manifest = &written.value;
        let keys = self.each(&manifest.keys, |key: &Written<String>| match ManifestKey::parse(&key.value) {
            Some(_) => Ok(key.value.clone()),
            None => Err(Refused::new(
                format!("a key of `manifest` of {subject} is no public key"),
                "write what `highwater manifest keygen` prints, 43 characters long",
            )),
        });
        let keys = keys.iter().filter_map(|key| ManifestKey::parse(key)).collect();
        if manifest.keys.value().is_none_or(Vec::is_empty) {
            self.report(
                written.span,
                format!("`manifest` of {subject} names nobody who may sign it"),
                "write the public key of its publisher under `keys`",
            );
        }
        let from = match (manifest.file.value(), manifest.url.read()) {
            (Some(_), Some(url)) => {
                self.report(
                    url.span,
                    format!("`manifest` of {subject} is in a file and at a URL"),
                    "keep `file` or `url`",
                );
                return None;
            }
            (Some(path), None) => ManifestSource::File(path.clone()),
            (None, Some(url)) => {
                if let Err(refused) = check_url(&url.value, false) {
                    let message = format!("`manifest.url` of {subject} {}", refused.message);
                    self.report(url.span, message, refused.help);
                }
                ManifestSource::Url(url.value.clone())
            }
            (None, None) => ManifestSource::Server,
        };
        Some(ManifestSettings { keys, from, server: manifest.server.value().cloned() })
    }
}
