//! The connection of an agent host: which files of it are changed, what they hold afterwards, and what is kept in the
//! data directory so that all of it can be undone.
//!
//! `highwater-hosts` says what a file holds with us and without us. Here files are found, read and replaced, the host
//! gets a token of its own, and the record is kept. The record is written before the first file is changed, and each
//! file is replaced as a whole: wherever the program ends, `disconnect` knows what to take back.

mod file;
mod location;
mod plugin;
mod record;
mod restore;
mod token;

use std::path::{Path, PathBuf};

use highwater_hosts::command_line::HookCommand;
use highwater_hosts::connect::{HostFile, Install, ServerProgram, connect};
use highwater_hosts::host::Host;

pub(crate) use file::{FileText, Replacement};
pub(crate) use location::{Location, find_program, managed_settings};
pub(crate) use plugin::{PluginFile, check_plugin, plugin_replacements};
pub(crate) use record::{ChangedFile, Connection, Records};
pub(crate) use restore::{Restoration, restorations, restore};
pub(crate) use token::{HostToken, TokenChoice, choose, make, withdraw};

use crate::exit::Failure;
use crate::place::{Places, text};

/// The name under which hosts know us.
pub(crate) const SERVER_NAME: &str = "highwater";

/// The variable in which `highwater stdio` is given its token.
const TOKEN_VARIABLE: &str = "HIGHWATER_TOKEN";

/// A file of the host as it is and as it is to be.
#[derive(Debug)]
pub(crate) struct FileChange {
    pub(crate) before: FileText,
    pub(crate) after: String,
    pub(crate) changed: ChangedFile,
}

/// What is installed for a host: `highwater stdio` with a token of its own, and `highwater hook`.
///
/// A program that the host starts, and not an address: hooks refuse where no gateway answers, so there has to be one
/// whenever the host runs, and `stdio` starts it. It needs no open port, and the host tells such a program which
/// conversation it belongs to.
pub(crate) fn install(
    places: &Places,
    data: &Path,
    token: &str,
    as_plugin: bool,
) -> Result<Install, Failure> {
    let program = text(&crate::wire::program()?)?;
    let mut options = places.config_option()?;
    // Said in any case: hosts start programs with an environment of their own.
    options.extend(["--data-dir".to_owned(), text(data)?]);
    let arguments = std::iter::once("stdio".to_owned()).chain(options.clone()).collect();
    if as_plugin {
        // The name that the host gives the server of a plugin.
        options.extend(["--server".to_owned(), format!("plugin:{SERVER_NAME}:{SERVER_NAME}")]);
    }
    let environment = vec![(TOKEN_VARIABLE.to_owned(), token.to_owned())];
    let watchdog = find_program("timeout").is_some();
    Ok(Install {
        name: SERVER_NAME.to_owned(),
        server: ServerProgram { command: program.clone(), arguments, environment },
        hook: HookCommand { program, options, watchdog },
    })
}

/// What becomes of each file of the host. Nothing is written, and nothing is if one of them cannot be changed.
pub(crate) fn changes(
    host: Host,
    location: &Location,
    install: &Install,
    earlier: Option<&Connection>,
) -> Result<Vec<FileChange>, Failure> {
    let as_plugin = earlier.map_or(location.plugin.is_some(), |earlier| earlier.plugin.is_some());
    let change = |(index, file): (usize, &HostFile)| {
        let path = location.path(*file);
        let before = FileText::read(&path, &location.shown(&path))?;
        let known = earlier.and_then(|earlier| earlier.files.get(index)).filter(|known| known.path == path);
        let previous = known.and_then(|known| known.undo_for(before.text()));
        let connected =
            connect(*file, &before.shown, before.text(), install, previous).map_err(Failure::failed)?;
        before.check_writable(&location.folder(*file))?;
        let changed = ChangedFile {
            path,
            before: before.digest(),
            undo: connected.undo,
            earlier: previous.cloned(),
            backup: known.and_then(|known| known.backup.clone()),
        };
        Ok(FileChange { before, after: connected.contents, changed })
    };
    HostFile::of(host, as_plugin).iter().enumerate().map(change).collect()
}

// === impl FileChange ===

impl FileChange {
    /// Whether anything is written.
    pub(crate) fn is_change(&self) -> bool {
        self.before.text() != Some(self.after.as_str())
    }
}

/// The folders between a path and the first that is there, outermost first.
pub(crate) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let folders =
        path.ancestors().skip(1).take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let mut missing: Vec<PathBuf> = folders.map(Path::to_owned).collect();
    missing.reverse();
    missing
}
