//! What is kept of a connection in the data directory: enough to take all of it back.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use highwater_hosts::connect::Undo;
use highwater_hosts::host::Host;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::file::{FileText, digest_of, write_whole};
use super::plugin::PluginFile;
use super::token::HostToken;
use crate::exit::Failure;

/// The version of what is kept.
const VERSION: u32 = 1;

/// The connection of one host. It holds the token's secret; the data directory is private.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Connection {
    version: u32,
    pub(crate) token: HostToken,
    /// The files of the host, in the order of `HostFile::of`.
    pub(crate) files: Vec<ChangedFile>,
    /// The directory that Claude Code takes as a plugin, where the connection is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) plugin: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) plugin_files: Vec<PluginFile>,
    /// Folders that were made, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) folders: Vec<PathBuf>,
}

/// One file of the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangedFile {
    pub(crate) path: PathBuf,
    /// A digest of the file before this change; nothing if it was not there. A file that is still so has not been
    /// changed yet: the program was interrupted.
    pub(crate) before: Option<String>,
    pub(crate) undo: Undo,
    /// What takes back an earlier connection from the file as it was before this change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) earlier: Option<Undo>,
    /// A copy of the file as it was before the first connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) backup: Option<PathBuf>,
}

/// The records of a data directory, for one process at a time.
pub(crate) struct Records {
    folder: PathBuf,
    _lock: File,
}

// === impl Connection ===

impl Connection {
    pub(crate) fn new(token: HostToken, files: Vec<ChangedFile>) -> Self {
        let (plugin, plugin_files, folders) = (None, Vec::new(), Vec::new());
        Self { version: VERSION, token, files, plugin, plugin_files, folders }
    }

    /// Remembers folders that are made for a file.
    pub(crate) fn add_folders(&mut self, folders: Vec<PathBuf>) {
        let new = folders.into_iter().filter(|folder| !self.folders.contains(folder));
        self.folders.extend(new.collect::<Vec<_>>());
    }
}

// === impl ChangedFile ===

impl ChangedFile {
    /// What takes our entries out of a file that has these contents.
    pub(crate) fn undo_for(&self, contents: Option<&str>) -> Option<&Undo> {
        if contents.map(digest_of) == self.before { self.earlier.as_ref() } else { Some(&self.undo) }
    }

    /// Whether nothing of ours is in a file that has these contents.
    pub(crate) fn is_untouched(&self, contents: Option<&str>) -> bool {
        contents.is_none() || (contents.map(digest_of) == self.before && self.earlier.is_none())
    }
}

// === impl Records ===

impl Records {
    /// Opens the records below a data directory that exists, and keeps others from them.
    pub(crate) fn open(data: &Path) -> Result<Self, Failure> {
        let folder = data.join("connections");
        let opened = make_private(&folder).and_then(|()| {
            let options = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).clone();
            let file = options.open(folder.join("lock"))?;
            flock(&file, FlockOperation::LockExclusive)?;
            Ok(file)
        });
        match opened {
            Ok(lock) => Ok(Self { folder, _lock: lock }),
            Err(error) => Err(Failure::failed(format_args!("cannot open `{}`: {error}", folder.display()))),
        }
    }

    /// What is kept of a host's connection, without holding others off. Nothing if it is not connected.
    pub(crate) fn look(data: &Path, host: Host) -> Result<Option<Connection>, Failure> {
        read(&data.join("connections").join(format!("{host}.json")))
    }

    pub(crate) fn load(&self, host: Host) -> Result<Option<Connection>, Failure> {
        read(&self.file(host))
    }

    pub(crate) fn save(&self, host: Host, connection: &Connection) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(connection).unwrap_or_default();
        write_whole(&self.file(host), format!("{text}\n").as_bytes(), 0o600).map_err(|error| {
            Failure::failed(format_args!("cannot keep the record of the connection: {error}"))
        })
    }

    /// Keeps a copy of a file as it is. Where.
    pub(crate) fn back_up(
        &self,
        host: Host,
        file: &FileText,
        path: &Path,
    ) -> Result<Option<PathBuf>, Failure> {
        let Some(text) = file.text() else { return Ok(None) };
        let folder = self.backups(host);
        let name = path.file_name().unwrap_or_default();
        let backup = folder.join(name);
        make_private(&folder).and_then(|()| write_whole(&backup, text.as_bytes(), 0o600)).map_err(
            |error| Failure::failed(format_args!("cannot keep a copy of `{}`: {error}", file.shown)),
        )?;
        Ok(Some(backup))
    }

    /// The folder with the copies of a host's files.
    pub(crate) fn backups(&self, host: Host) -> PathBuf {
        self.folder.join(host.name())
    }

    /// Forgets a connection. The copies stay where somebody might want them.
    pub(crate) fn forget(&self, host: Host, with_backups: bool) -> Result<(), Failure> {
        let gone = remove(&self.file(host), |path| fs::remove_file(path)).and_then(|()| match with_backups {
            true => remove(&self.backups(host), |path| fs::remove_dir_all(path)),
            false => Ok(()),
        });
        gone.map_err(|error| {
            Failure::failed(format_args!("cannot remove the record of the connection: {error}"))
        })
    }

    fn file(&self, host: Host) -> PathBuf {
        self.folder.join(format!("{host}.json"))
    }
}

fn read(path: &Path) -> Result<Option<Connection>, Failure> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::failed(format_args!("cannot read `{}`: {error}", path.display()))),
    };
    let connection: Connection = serde_json::from_str(&text).map_err(|error| {
        Failure::failed(format_args!(
            "`{}` is not a record that this build understands: {error}",
            path.display()
        ))
        .help(
            "use the build that wrote it, or take our entries out of the host's files by hand and remove it",
        )
    })?;
    Ok(Some(connection))
}

fn make_private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn remove(path: &Path, remove: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    match remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
