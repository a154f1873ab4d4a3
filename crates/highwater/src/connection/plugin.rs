//! The directory that Claude Code takes as a plugin: our files and nobody else's.

use std::path::{Path, PathBuf};

use highwater_hosts::connect::{Install, plugin_files};
use serde::{Deserialize, Serialize};

use super::Location;
use super::file::{FileText, Replacement, digest_of};
use crate::exit::Failure;

/// A file of the plugin as it was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PluginFile {
    pub(crate) path: PathBuf,
    digest: String,
}

// === impl PluginFile ===

impl PluginFile {
    /// Takes the file away, if it is as it was written. Whether it is gone.
    pub(crate) fn remove(&self, location: &Location) -> Result<bool, Failure> {
        let found = FileText::read(&self.path, &location.shown(&self.path))?;
        match found.digest() {
            None => Ok(true),
            Some(digest) if digest == self.digest => found.becoming(None).apply().map(|()| true),
            Some(_) => Ok(false),
        }
    }
}

/// Refuses a directory that holds something else.
pub(crate) fn check_plugin(folder: &Path, shown: &str, ours: &[PluginFile]) -> Result<(), Failure> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return match folder.exists() {
            true => Err(Failure::failed(format_args!("`{shown}` is no directory; nothing was changed"))),
            false => Ok(()),
        };
    };
    let is_ours = |path: &Path| ours.iter().any(|file| file.path.starts_with(path));
    match entries.flatten().find(|entry| !is_ours(&entry.path())) {
        None => Ok(()),
        Some(entry) => Err(Failure::refused(format_args!(
            "`{shown}` holds `{}`, which is not ours; nothing was changed",
            entry.file_name().display()
        ))
        .help("name a directory that is empty or not there yet")),
    }
}

/// The files of the plugin, each as it is and as it is to be.
pub(crate) fn plugin_replacements(
    folder: &Path,
    install: &Install,
    location: &Location,
) -> Result<Vec<(Replacement, PluginFile)>, Failure> {
    let files = plugin_files(install, env!("CARGO_PKG_VERSION"));
    let replacement = |(name, text): (&str, String)| {
        let path = folder.join(name);
        let before = FileText::read(&path, &location.shown(&path))?;
        before.check_writable(&location.shown(folder))?;
        let file = PluginFile { path, digest: digest_of(&text) };
        Ok((before.becoming(Some(text)), file))
    };
    files.into_iter().map(replacement).collect()
}
