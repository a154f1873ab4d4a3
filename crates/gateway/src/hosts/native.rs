//! What a host's own tools bring into a conversation: the label of their results, by built-in contracts.

use std::path::Path;

use highwater_core::annotation::{Contract, DataClass, Source};
use highwater_core::label::Label;
use highwater_core::trust::TrustLevel;
use highwater_hosts::event::{HostEvent, Outcome, ToolCall};
use highwater_profile::Places;
use highwater_profile::never_free::lexical;
use highwater_profile::path_source::{is_of_packages, lists_others, others_wrote};
use serde_json::Value;

use super::shell;
use crate::pipeline::{followed, work_tree};

/// The longest address that is kept as an origin.
const MAX_ADDRESS: usize = 200;

/// A tool of a host that has run.
pub(super) struct Told<'a> {
    pub(super) event: &'a HostEvent,
    pub(super) call: &'a ToolCall,
    pub(super) outcome: &'a Outcome,
    pub(super) places: &'a Places,
}

/// What a tool does, as far as its result is concerned.
enum Class<'a> {
    /// It shows a file, or what lies below a folder.
    Files(Option<&'a str>),
    /// It runs a command.
    Shell(&'a str),
    /// It shows what strangers wrote.
    Web(Option<&'a str>),
    /// It shows nothing but what the agent itself has done or what a person has answered; or what it brings is told by
    /// other events, as with sub-agents.
    Nothing,
    /// A tool of another MCP server, or one that nobody knows.
    Unknown,
}

/// The label of what a tool has shown, if it has shown anything.
pub(super) fn label_of_result(told: &Told<'_>) -> Option<Label> {
    let label = match class(told.call) {
        Class::Nothing => return None,
        Class::Unknown => Contract::unknown().reply_label().clone(),
        Class::Web(address) => address
            .map(plain_address)
            .into_iter()
            .fold(strangers().with_wrote_externally(), |label, address| label.with_origin(&address)),
        Class::Shell(command) => of_command(told, command),
        Class::Files(path) => of_file(told, path),
    };
    Some(label.with_origin(&format!("host:{}:{}", told.event.host, told.call.tool)))
}

/// What a file that a prompt mentions brings: the host reads it, and no hook tells of that.
pub(super) fn label_of_mention(event: &HostEvent, path: &str, places: &Places) -> Option<Label> {
    let found = resolved(event, path, places).filter(|path| Path::new(path).exists())?;
    let is_others = others_wrote(&found, work_tree(Path::new(&found)).as_deref(), &places.projects);
    let label = with_secrets(if is_others { strangers_here() } else { own() }, &found);
    Some(label.with_origin(&format!("host:{}:@file", event.host)))
}

fn class(call: &ToolCall) -> Class<'_> {
    let text = |key: &str| call.input.get(key).and_then(Value::as_str);
    match call.tool.as_str() {
        "Read" | "Edit" | "MultiEdit" => Class::Files(text("file_path")),
        "NotebookRead" | "NotebookEdit" => Class::Files(text("notebook_path")),
        "Grep" | "Glob" | "LS" | "view_image" => Class::Files(text("path")),
        "Bash" => Class::Shell(text("command").unwrap_or_default()),
        // More of the output of a command that was labelled when it began.
        "BashOutput" | "TaskOutput" | "KillShell" | "TaskStop" => Class::Nothing,
        "WebFetch" => Class::Web(text("url")),
        "WebSearch" | "web_search" => Class::Web(None),
        "Write" | "apply_patch" => Class::Nothing,
        "Agent" | "Task" | "SendMessage" | "spawn_agent" | "send_input" | "wait" | "wait_agent"
        | "close_agent" | "resume_agent" => Class::Nothing,
        "TodoWrite" | "TaskCreate" | "TaskUpdate" | "TaskList" | "TaskGet" | "update_plan"
        | "EnterPlanMode" | "ExitPlanMode" | "AskUserQuestion" | "request_user_input" | "ToolSearch"
        | "EnterWorktree" | "ExitWorktree" => Class::Nothing,
        _ => Class::Unknown,
    }
}

fn of_file(told: &Told<'_>, path: Option<&str>) -> Label {
    let path = path.or(told.event.folder.as_deref()).unwrap_or("/");
    let found = resolved(told.event, path, told.places);
    let lists = matches!(told.call.tool.as_str(), "Grep" | "Glob" | "LS");
    let strange = is_others(&found, path, told.places)
        || (lists && lists_others(&text_of(told.outcome), told.places.projects.is_empty()));
    with_secrets(if strange { strangers_here() } else { own() }, found.as_deref().unwrap_or(path))
}

fn of_command(told: &Told<'_>, command: &str) -> Label {
    let folder = told.event.folder.as_deref().unwrap_or("/");
    let mut label = match shell::reaches_the_network(command) {
        true => strangers().with_wrote_externally(),
        false => Label::bottom(),
    };
    label.join(&own());
    let folder_found = resolved(told.event, folder, told.places);
    let mut strange = is_others(&folder_found, folder, told.places);
    for word in shell::words(command).filter(|word| word.contains(['/', '.', '~'])) {
        let found = resolved(told.event, word, told.places);
        strange |= is_others(&found, word, told.places);
        label = with_secrets(label, found.as_deref().unwrap_or(word));
    }
    strange |= lists_others(&text_of(told.outcome), told.places.projects.is_empty());
    if strange { label.joined(&strangers_here()) } else { label }
}

/// The user's own files and programs.
fn own() -> Label {
    Label::bottom().with_class(DataClass::Confidential).with_integrity(TrustLevel::Tool)
}

/// What strangers wrote.
pub(super) fn strangers() -> Label {
    let label = Label::bottom().with_integrity(TrustLevel::None).with_open_world();
    label.with_source(Source::UntrustedPublic)
}

/// What strangers wrote and somebody put on this machine.
fn strangers_here() -> Label {
    strangers().joined(&own())
}

/// An absolute path with its links followed.
fn resolved(event: &HostEvent, path: &str, places: &Places) -> Option<String> {
    let path = lexical(path, event.folder.as_deref(), places.home.as_deref())?;
    followed(Path::new(&path))
}

fn is_others(found: &Option<String>, written: &str, places: &Places) -> bool {
    match found {
        Some(path) => others_wrote(path, work_tree(Path::new(path)).as_deref(), &places.projects),
        None => is_of_packages(written),
    }
}

/// Files that hold what opens something, by their names.
fn with_secrets(label: Label, path: &str) -> Label {
    let path = path.to_lowercase();
    let mut names = path.rsplit('/');
    let name = names.next().unwrap_or_default();
    let folder = names.next().unwrap_or_default();
    let is_env = name == ".env"
        || (name.starts_with(".env.") && !name.ends_with("example") && !name.ends_with("sample"));
    let is_key = name.starts_with("id_") && !name.ends_with(".pub") && folder == ".ssh";
    let is_kept = matches!(
        name,
        ".netrc"
            | "_netrc"
            | ".npmrc"
            | ".pypirc"
            | ".git-credentials"
            | ".pgpass"
            | ".my.cnf"
            | ".vault-token"
    ) || matches!(
        (folder, name),
        (".aws", "credentials") | (".docker", "config.json") | (".kube", "config") | (".config", "gh")
    ) || matches!(name.rsplit('.').next(), Some("pem" | "p12" | "pfx" | "keystore" | "kdbx"))
        || path.contains("/.gnupg/private-keys")
        || path.contains("/.config/gcloud/");
    if is_env || is_key || is_kept { label.with_class(DataClass::Credentials) } else { label }
}

/// Where a page is, without what was asked of it.
fn plain_address(address: &str) -> String {
    let end = address.find(['?', '#']).unwrap_or(address.len());
    address.get(..end).unwrap_or_default().chars().take(MAX_ADDRESS).collect()
}

fn text_of(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Result(value) => value.to_string(),
        Outcome::Failure(text) => text.clone(),
    }
}
