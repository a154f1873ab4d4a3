//! Where the files of a host are, and what else decides whether it heeds them.

use std::path::{Path, PathBuf};

use highwater_hosts::connect::HostFile;
use highwater_hosts::host::Host;

use crate::environment::{directory, variable};
use crate::exit::Failure;

/// Where the files of a host lie.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    home: PathBuf,
    /// The directory in place of the host's own below the home directory, where the host was told one.
    named: Option<PathBuf>,
    /// The directory that Claude Code is to take as a plugin.
    pub(crate) plugin: Option<PathBuf>,
}

// === impl Location ===

impl Location {
    /// As the host itself would find them.
    pub(crate) fn of(host: Host, plugin: Option<PathBuf>) -> Result<Self, Failure> {
        let home = directory("HOME").ok_or_else(|| {
            Failure::usage("`HOME` does not say where the files of the host are").help("set it and try again")
        })?;
        let named = match host {
            Host::ClaudeCode => directory("CLAUDE_CONFIG_DIR"),
            Host::Codex => directory("CODEX_HOME"),
        };
        Ok(Self { home, named, plugin })
    }

    pub(crate) fn path(&self, file: HostFile) -> PathBuf {
        match &self.named {
            Some(named) => named.join(file.path().rsplit('/').next().unwrap_or_default()),
            None => self.home.join(file.path()),
        }
    }

    /// The folder in which a file is, as people are told it.
    pub(crate) fn folder(&self, file: HostFile) -> String {
        let path = self.path(file);
        self.shown(path.parent().unwrap_or(&path))
    }

    /// A path as people write it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(below) => format!("~/{}", below.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

/// The file in which an administrator says what this host may run.
pub(crate) const fn managed_settings(host: Host) -> &'static str {
    match host {
        Host::ClaudeCode if cfg!(target_os = "macos") => {
            "/Library/Application Support/ClaudeCode/managed-settings.json"
        }
        Host::ClaudeCode => "/etc/claude-code/managed-settings.json",
        Host::Codex => "/etc/codex/requirements.toml",
    }
}

/// A program by its name, as a shell would find it.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = variable("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| is_executable(program))
}

/// Whether a file can be started.
pub(crate) fn is_executable(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}
