//! Connects a host and disconnects it again: from the contents of its files to new contents and back.
//!
//! For each of [`HostFile::of`] the program reads the file, calls [`connect`] with the [`Undo`] of an earlier
//! connection if there is one, shows [`preview`], and, once the person agrees, writes all files and keeps the
//! undos. [`disconnect`] takes a file and its undo. Nothing is written unless every file could be changed.
//!
//! A file that nobody has touched since is restored byte for byte. In one that has changed, what was put in
//! is taken out and everything else stays; what somebody has changed of ours is left alone and named.

mod diff;
mod entries;
mod installed;
mod json_edit;
mod json_file;
mod json_text;
mod obstacle;
mod toml_file;
mod undo;

#[cfg(test)]
mod tests;

use crate::command_line::HookCommand;
use crate::host::Host;

pub use diff::preview;
pub use entries::{Road, installed_hooks, plugin_files};
pub use installed::{Handler, InstalledHook, hooks_in, program_in};
pub use obstacle::{Obstacle, SettingsOf, obstacles};
pub use undo::{TextEdit, Undo};

/// What is to be installed.
#[derive(Clone, Debug)]
pub struct Install {
    /// The name under which the host knows us.
    pub name: String,
    pub server: ServerProgram,
    pub hook: HookCommand,
}

/// The program that the host starts as our server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerProgram {
    pub command: String,
    pub arguments: Vec<String>,
    pub environment: Vec<(String, String)>,
}

/// A file of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostFile {
    /// Claude Code's MCP servers: `~/.claude.json`, or `.mcp.json` of a project.
    ClaudeServers,
    /// Claude Code's settings, with hooks.
    ClaudeSettings,
    /// The same beside a plugin, which holds servers and hooks itself.
    ClaudePluginSettings,
    /// Codex's configuration, with MCP servers.
    CodexConfig,
    /// Codex's hooks. Codex runs them once the user has trusted them there.
    CodexHooks,
}

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Connected {
    pub contents: String,
    pub undo: Undo,
}

/// What a file is without us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disconnected {
    /// Nothing if the file is to be deleted.
    pub contents: Option<String>,
    /// What was ours and has been changed by somebody since; it was left as it is.
    pub left: Vec<String>,
}

/// Why a file cannot be changed. Nothing is, then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    #[error(
        "{file}, line {line}, column {column}: {problem}\nhelp: correct the file and try again; nothing was changed"
    )]
    Syntax { file: String, line: usize, column: usize, problem: String },
    #[error(
        "{file}, line {line}: `{at}` is not {expected}\nhelp: the host does not read it either; correct it and try again; nothing was changed"
    )]
    Shape { file: String, line: usize, at: String, expected: &'static str },
    #[error(
        "{file}, line {line}: `{at}` is written in a form that cannot be changed without touching the rest\nhelp: write it as a section or a member of its own, or add the entry by hand; nothing was changed"
    )]
    Unsupported { file: String, line: usize, at: String },
}

/// A file while it is changed.
struct FileChange<'a> {
    file: HostFile,
    /// Its path as people are told it.
    shown: &'a str,
}

/// The contents with everything that belongs into them. `previous` is what an earlier connection did, which is
/// taken back first. Hooks of ours that a connection without a record has left are taken out.
pub fn connect(
    file: HostFile,
    shown: &str,
    contents: Option<&str>,
    install: &Install,
    previous: Option<&Undo>,
) -> Result<Connected, ConnectError> {
    let place = FileChange { file, shown };
    let base = match (contents, previous) {
        (Some(contents), Some(previous)) => undone(&place, contents, previous)?.contents,
        (contents, _) => contents.map(str::to_owned),
    };
    let (mut after, mut steps) = installed(&place, base.as_deref(), install)?;
    // Where nothing is missing nothing is stale either.
    if let Some(base) = base.as_deref().filter(|_| !steps.is_empty()) {
        let (without, stale) = without_stale_hooks(&place, base)?;
        if !stale.is_empty() {
            (after, steps) = installed(&place, Some(&without), install)?;
            steps.splice(..0, stale);
        }
    }
    Ok(Connected { undo: Undo::new(base.is_none(), &after, steps), contents: after })
}

/// The contents without what was installed. Without an undo what is ours by its looks is taken out: hooks, and
/// servers that are started as `highwater stdio`. What they replaced is not known then.
pub fn disconnect(
    file: HostFile,
    shown: &str,
    contents: Option<&str>,
    undo: Option<&Undo>,
) -> Result<Disconnected, ConnectError> {
    let place = FileChange { file, shown };
    match (contents, undo) {
        (None, _) => Ok(Disconnected { contents: None, left: Vec::new() }),
        (Some(contents), Some(undo)) => undone(&place, contents, undo),
        (Some(contents), None) => {
            let contents = cleaned(&place, contents)?;
            Ok(Disconnected { contents: Some(contents), left: Vec::new() })
        }
    }
}

fn installed(
    place: &FileChange<'_>,
    contents: Option<&str>,
    install: &Install,
) -> Result<(String, Vec<undo::Step>), ConnectError> {
    match place.file {
        HostFile::CodexConfig => toml_file::install(place, contents, &entries::codex_server(install)),
        file => json_file::install(place, contents, &entries::wanted(file, install)),
    }
}

fn undone(place: &FileChange<'_>, contents: &str, undo: &Undo) -> Result<Disconnected, ConnectError> {
    if let Some(before) = undo.exactly(contents) {
        return Ok(Disconnected { contents: (!undo.created).then_some(before), left: Vec::new() });
    }
    match place.file {
        HostFile::CodexConfig => toml_file::remove(place, contents, undo),
        _ => json_file::remove(place, contents, undo),
    }
}

fn cleaned(place: &FileChange<'_>, contents: &str) -> Result<String, ConnectError> {
    match place.file {
        HostFile::CodexConfig => {
            toml_file::remove_ours(place, contents, &|_, server| entries::is_our_section(server))
        }
        _ if is_blank(contents) => Ok(contents.to_owned()),
        file => {
            let is_ours = |path: &[String], value: &_| entries::is_ours(file.host(), path, value);
            json_file::remove_ours(place, contents, &is_ours).map(|(text, _)| text)
        }
    }
}

/// The contents without hooks of ours, and what was done. Servers stay: people enter those by hand.
fn without_stale_hooks(
    place: &FileChange<'_>,
    contents: &str,
) -> Result<(String, Vec<undo::Step>), ConnectError> {
    let holds_servers = matches!(place.file, HostFile::CodexConfig | HostFile::ClaudeServers);
    if holds_servers || is_blank(contents) {
        return Ok((contents.to_owned(), Vec::new()));
    }
    let host = place.file.host();
    json_file::remove_ours(place, contents, &|path, value| {
        path.first().is_some_and(|first| first == "hooks") && entries::is_ours(host, path, value)
    })
}

fn is_blank(contents: &str) -> bool {
    contents.trim_start_matches('\u{feff}').trim().is_empty()
}

// === impl HostFile ===

impl HostFile {
    /// The files that are changed to connect a host.
    pub const fn of(host: Host, as_plugin: bool) -> &'static [Self] {
        match (host, as_plugin) {
            (Host::ClaudeCode, false) => &[Self::ClaudeServers, Self::ClaudeSettings],
            (Host::ClaudeCode, true) => &[Self::ClaudePluginSettings],
            (Host::Codex, _) => &[Self::CodexConfig, Self::CodexHooks],
        }
    }

    pub const fn host(self) -> Host {
        match self {
            Self::ClaudeServers | Self::ClaudeSettings | Self::ClaudePluginSettings => Host::ClaudeCode,
            Self::CodexConfig | Self::CodexHooks => Host::Codex,
        }
    }

    /// Where it is below the home directory, unless the host was told otherwise (`CLAUDE_CONFIG_DIR`,
    /// `CODEX_HOME`).
    pub const fn path(self) -> &'static str {
        match self {
            Self::ClaudeServers => ".claude.json",
            Self::ClaudeSettings | Self::ClaudePluginSettings => ".claude/settings.json",
            Self::CodexConfig => ".codex/config.toml",
            Self::CodexHooks => ".codex/hooks.json",
        }
    }
}

// === impl FileChange ===

impl FileChange<'_> {
    fn shape(&self, text: &str, at: usize, name: &str, expected: &'static str) -> ConnectError {
        let (line, _) = json_text::line_and_column(text, at);
        ConnectError::Shape { file: self.shown.to_owned(), line, at: name.to_owned(), expected }
    }

    fn unsupported(&self, name: &str) -> ConnectError {
        ConnectError::Unsupported { file: self.shown.to_owned(), line: 1, at: name.to_owned() }
    }
}
