//! Takes a connection back: from the files of the host, from the plugin's directory, and the folders that were made.

use std::fs;
use std::path::PathBuf;

use highwater_hosts::connect::{HostFile, disconnect};
use highwater_hosts::host::Host;

use super::file::FileText;
use super::record::Connection;
use super::{Location, Replacement};
use crate::exit::Failure;

/// What becomes of one file.
#[derive(Debug)]
pub(crate) struct Restoration {
    pub(crate) before: FileText,
    /// Nothing takes the file away.
    pub(crate) after: Option<String>,
    /// What was ours and has been changed by somebody since; it stays.
    pub(crate) left: Vec<String>,
}

/// What becomes of each file of a host. Without a record what is ours by its looks is taken out.
pub(crate) fn restorations(
    host: Host,
    location: &Location,
    connection: Option<&Connection>,
) -> Result<Vec<Restoration>, Failure> {
    let as_plugin = connection.is_some_and(|connection| connection.plugin.is_some());
    let restored = |(index, file): (usize, &HostFile)| {
        let known = connection.and_then(|connection| connection.files.get(index));
        let path = known.map_or_else(|| location.path(*file), |known| known.path.clone());
        let before = FileText::read(&path, &location.shown(&path))?;
        let text = before.text();
        if known.is_some_and(|known| known.is_untouched(text)) {
            let after = text.map(str::to_owned);
            return Ok(Restoration { before, after, left: Vec::new() });
        }
        let undo = known.and_then(|known| known.undo_for(text));
        let restored = disconnect(*file, &before.shown, text, undo).map_err(Failure::failed)?;
        let restoration = Restoration { before, after: restored.contents, left: restored.left };
        if restoration.is_change() {
            restoration.before.check_writable(&location.folder(*file))?;
        }
        Ok(restoration)
    };
    HostFile::of(host, as_plugin).iter().enumerate().map(restored).collect()
}

/// Does it. What could not be taken away, since somebody has changed it or put something there.
pub(crate) fn restore(
    restorations: Vec<Restoration>,
    location: &Location,
    connection: Option<&Connection>,
) -> Result<Vec<String>, Failure> {
    let mut left = Vec::new();
    for restoration in restorations {
        left.extend(restoration.left.iter().map(|at| format!("`{at}` in {}", restoration.before.shown)));
        restoration.into_replacement().apply()?;
    }
    let Some(connection) = connection else { return Ok(left) };
    for file in &connection.plugin_files {
        if !file.remove(location)? {
            left.push(location.shown(&file.path));
        }
    }
    remove_empty(&connection.folders);
    Ok(left)
}

/// Takes folders away that hold nothing, innermost first.
fn remove_empty(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        if let Err(error) = fs::remove_dir(folder) {
            tracing::debug!(%error, "`{}` stays", folder.display());
        }
    }
}

// === impl Restoration ===

impl Restoration {
    pub(crate) fn is_change(&self) -> bool {
        self.before.text() != self.after.as_deref()
    }

    fn into_replacement(self) -> Replacement {
        self.before.becoming(self.after)
    }
}
