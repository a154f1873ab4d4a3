//! `highwater connect`: our server, our hooks and a token for an agent host, after a look at what becomes of its files.

use std::io::IsTerminal;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use clap::Args;
use highwater_hosts::connect::{SettingsOf, obstacles, preview};
use highwater_hosts::host::Host;
use highwater_store::DataDir;
use serde_json::{Value, json};

use crate::command::{print, yes};
use crate::connection::{
    Connection, FileChange, HostToken, Location, PluginFile, Records, Replacement, TokenChoice, changes,
    check_plugin, choose, find_program, install, make, managed_settings, missing_folders,
    plugin_replacements, restorations, restore, withdraw,
};
use crate::exit::Failure;
use crate::place::{Places, absolute};

const EXAMPLES: &str = "\
Examples:
  See what would be changed:
    highwater connect claude-code --dry-run
  Connect, after a look:
    highwater connect codex
  As a plugin that Claude Code is started with, leaving its own list of servers and hooks alone:
    highwater connect claude-code --plugin ~/.local/share/highwater-plugin";

/// What stands in place of a secret that nobody has made yet.
const NO_SECRET: &str = "(a secret, made when you agree)";

/// What `connect` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ConnectArgs {
    /// The host: `claude-code` or `codex`.
    #[arg(value_name = "HOST", value_parser = host)]
    host: Host,

    /// Make this directory a plugin of Claude Code in place of changing its lists of servers and hooks.
    #[arg(long, value_name = "DIR")]
    plugin: Option<PathBuf>,

    /// The name of the host's token. Without it: the host's. Where the configuration has a token of that name under
    /// `agent_tokens`, that says what the host may.
    #[arg(long, value_name = "NAME")]
    token: Option<String>,

    #[command(flatten)]
    consent: Consent,

    #[command(flatten)]
    places: Places,
}

/// How a person agrees to what is changed.
#[derive(Debug, Args)]
pub(crate) struct Consent {
    /// Do it without asking.
    #[arg(long)]
    yes: bool,

    /// Only show what would be changed.
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,

    /// Print JSON in place of text. Nobody is asked then: say `--yes` or `--dry-run`.
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn host(name: &str) -> Result<Host, String> {
    let names: Vec<&str> = Host::ALL.into_iter().map(Host::name).collect();
    Host::from_name(name).ok_or_else(|| format!("it is one of {}", names.join(", ")))
}

pub(crate) fn run(args: &ConnectArgs) -> Result<(), Failure> {
    let data = args.places.data_dir()?;
    if args.plugin.is_some() && args.host != Host::ClaudeCode {
        return Err(Failure::usage("only Claude Code takes plugins").help("leave `--plugin` out"));
    }
    check_managed(args.host)?;
    let earlier = Records::look(&data, args.host)?;
    let location = location(args, earlier.as_ref())?;
    let choice = match &earlier {
        Some(earlier) => choose(&args.places, args.host, args.token.as_deref(), Some(&earlier.token))?,
        // Nothing is made before somebody agrees, not even an empty store.
        None => TokenChoice::Create(args.token.clone().unwrap_or_else(|| args.host.name().to_owned())),
    };
    let secret = match &choice {
        TokenChoice::Keep(token) => token.secret.as_str(),
        TokenChoice::Create(_) | TokenChoice::Configured(_) | TokenChoice::Rotate(_) => NO_SECRET,
    };
    let planned = Planned::of(args, &data, &location, earlier.as_ref(), secret)?;
    let shown = ConnectReport::of(args.host, &planned, &location, secret);
    if args.consent.dry_run || !planned.is_change() {
        let word = if planned.is_change() { Word::WouldConnect } else { Word::Unchanged };
        return report(args, &shown, &location, word, choice.name());
    }
    let question = format!("Connect {}?", args.host.title());
    args.consent.agree(&shown.diff, &question)?;
    let token = carry_out(args, &data)?;
    report(args, &shown, &location, Word::Connected, &token.name)
}

/// What is to be done, and why it cannot be, before anything is.
struct Planned {
    files: Vec<FileChange>,
    plugin: Vec<(Replacement, PluginFile)>,
}

/// What people are shown of it.
struct ConnectReport {
    diff: String,
    files: Vec<Value>,
    notes: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    WouldConnect,
    Unchanged,
    Connected,
}

// === impl Planned ===

impl Planned {
    fn of(
        args: &ConnectArgs,
        data: &Path,
        location: &Location,
        earlier: Option<&Connection>,
        secret: &str,
    ) -> Result<Self, Failure> {
        let install = install(&args.places, data, secret, location.plugin.is_some())?;
        let files = changes(args.host, location, &install, earlier)?;
        let plugin = match &location.plugin {
            Some(folder) => {
                let ours = earlier.map(|earlier| earlier.plugin_files.as_slice()).unwrap_or_default();
                check_plugin(folder, &location.shown(folder), ours)?;
                plugin_replacements(folder, &install, location)?
            }
            None => Vec::new(),
        };
        Ok(Self { files, plugin })
    }

    fn is_change(&self) -> bool {
        self.files.iter().any(FileChange::is_change) || self.plugin.iter().any(|(file, _)| file.is_change())
    }
}

// === impl ConnectReport ===

impl ConnectReport {
    fn of(host: Host, planned: &Planned, location: &Location, secret: &str) -> Self {
        let mut shown = Self { diff: String::new(), files: Vec::new(), notes: Vec::new() };
        let files = planned.files.iter().map(|change| (&change.before, Some(change.after.as_str())));
        for (before, after) in files.chain(planned.plugin.iter().map(|(file, _)| file.parts())) {
            let diff = preview(&before.shown, before.text(), after, &[secret]);
            shown
                .files
                .push(json!({ "path": before.shown, "is_new": before.text().is_none(), "diff": diff }));
            shown.diff.push_str(&diff);
        }
        let open = planned.files.iter().filter(|change| {
            change.is_change() && change.after.contains(secret) && change.before.is_open_to_others()
        });
        shown.notes.extend(open.map(|change| {
            format!("others can read `{0}`, which holds a token now: `chmod go-rwx {0}`", change.before.shown)
        }));
        let program = host.program();
        if find_program(program).is_none() {
            shown
                .notes
                .push(format!("`{program}` is not on your path; install {} before you use it", host.title()));
        }
        shown.notes.push(match (&location.plugin, host) {
            (Some(folder), _) => format!("start Claude Code with `claude --plugin-dir {}`", location.shown(folder)),
            (None, Host::ClaudeCode) => "start Claude Code anew".to_owned(),
            (None, Host::Codex) => {
                "Codex runs no hook before you trust it: start `codex`, enter `/hooks` and trust those of Highwater"
                    .to_owned()
            }
        });
        shown.notes.push(format!("`highwater doctor {host}` says whether everything arrives"));
        shown
    }
}

// === impl Consent ===

impl Consent {
    /// Shows what is about to happen and asks, unless that was said on the command line.
    pub(crate) fn agree(&self, diff: &str, question: &str) -> Result<(), Failure> {
        if self.yes {
            return Ok(());
        }
        if self.json || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return Err(Failure::usage("nobody can be asked here")
                .help("`--dry-run` shows what would be changed, `--yes` does it"));
        }
        print(&format!("{diff}\n"));
        match yes(question)? {
            true => Ok(()),
            false => Err(Failure::refused("nothing was changed")),
        }
    }
}

/// Where an administrator lets nobody's hooks run but their own there is nothing to connect.
fn check_managed(host: Host) -> Result<(), Failure> {
    let path = managed_settings(host);
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let found = obstacles(host, SettingsOf::Administrator, &text);
    match found.iter().find(|obstacle| obstacle.setting != "crossSessionInbound") {
        None => Ok(()),
        Some(obstacle) => Err(Failure::refused(format_args!("{path}, {obstacle}; nothing was changed"))
            .help("ask whoever administers this machine to add the hooks of Highwater there")),
    }
}

/// Where the files are. A connection keeps its kind until it is taken back.
fn location(args: &ConnectArgs, earlier: Option<&Connection>) -> Result<Location, Failure> {
    let named = args.plugin.as_deref().map(absolute).transpose()?;
    let kept = earlier.map(|earlier| earlier.plugin.clone());
    let plugin = match (named, kept) {
        (named, None) => named,
        (None, Some(kept)) => kept,
        (named, Some(kept)) if named == kept => kept,
        (Some(_), Some(_)) => {
            let words = format_args!("{} is connected in another way already", args.host.title());
            return Err(
                Failure::failed(words).help(format_args!("`highwater disconnect {}` first", args.host))
            );
        }
    };
    Location::of(args.host, plugin)
}

/// Makes the token, keeps the record, and then changes the files, each in one step.
fn carry_out(args: &ConnectArgs, data: &Path) -> Result<HostToken, Failure> {
    let host = args.host;
    DataDir::open(data).map_err(Failure::failed)?;
    let records = Records::open(data)?;
    let earlier = records.load(host)?;
    let location = location(args, earlier.as_ref())?;
    let known = earlier.as_ref().map(|earlier| &earlier.token);
    let token = make(&args.places, choose(&args.places, host, args.token.as_deref(), known)?)?;
    let done = write(args, &records, &location, earlier.as_ref(), &token, data);
    if done.is_err() && earlier.is_none() {
        take_back(args, &records, &location, &token);
    }
    done.map(|()| token)
}

fn write(
    args: &ConnectArgs,
    records: &Records,
    location: &Location,
    earlier: Option<&Connection>,
    token: &HostToken,
    data: &Path,
) -> Result<(), Failure> {
    let Planned { files, plugin } = Planned::of(args, data, location, earlier, &token.secret)?;
    let mut connection = Connection::new(token.clone(), Vec::new());
    connection.folders = earlier.map(|earlier| earlier.folders.clone()).unwrap_or_default();
    connection.plugin = location.plugin.clone();
    let mut replacements = Vec::new();
    for mut change in files {
        if earlier.is_none() {
            change.changed.backup = records.back_up(args.host, &change.before, &change.changed.path)?;
        }
        connection.add_folders(missing_folders(&change.changed.path));
        connection.files.push(change.changed);
        replacements.push(change.before.becoming(Some(change.after)));
    }
    for (replacement, file) in plugin {
        connection.add_folders(missing_folders(&file.path));
        connection.plugin_files.push(file);
        replacements.push(replacement);
    }
    records.save(args.host, &connection)?;
    for folder in connection.folders.iter().filter(|folder| !folder.exists()) {
        let made = std::fs::DirBuilder::new().mode(0o700).create(folder);
        made.map_err(|error| Failure::failed(format_args!("cannot make `{}`: {error}", folder.display())))?;
    }
    replacements.iter().try_for_each(Replacement::apply)
}

/// Undoes what a failure has left of a first connection, as far as that can be done.
fn take_back(args: &ConnectArgs, records: &Records, location: &Location, token: &HostToken) {
    let undone = records.load(args.host).and_then(|connection| {
        if connection.is_some() {
            let restored = restorations(args.host, location, connection.as_ref())?;
            restore(restored, location, connection.as_ref())?;
        }
        withdraw(&args.places, token)?;
        records.forget(args.host, true)
    });
    if let Err(failure) = undone {
        eprintln!("warning: `highwater disconnect {}` is needed: {}", args.host, failure.words());
    }
}

fn report(
    args: &ConnectArgs,
    shown: &ConnectReport,
    location: &Location,
    word: Word,
    token: &str,
) -> Result<(), Failure> {
    let backups = args.places.data_dir()?.join("connections").join(args.host.name());
    if args.consent.json {
        let answer = json!({
            "host": args.host.name(),
            "connected": word != Word::WouldConnect,
            "changed": word == Word::Connected,
            "files": shown.files,
            "token": token,
            "plugin": location.plugin,
            "notes": shown.notes,
        });
        print(&format!("{answer:#}\n"));
        return Ok(());
    }
    let title = args.host.title();
    match word {
        Word::Unchanged => {
            print(&format!("{title} is connected already, and as it should be; nothing was changed\n"))
        }
        Word::WouldConnect => {
            print(&shown.diff);
            print(&format!(
                "\nnothing was changed; this is what would be, with a token `{token}` for {title}\n"
            ));
        }
        Word::Connected => {
            let mut text = format!("{title} is connected\n");
            text.push_str(&format!("  token    `{token}`; `highwater token list` shows what it grants\n"));
            text.push_str(&format!("  copies   {}\n", location.shown(&backups)));
            shown.notes.iter().for_each(|note| text.push_str(&format!("  next     {note}\n")));
            text.push_str(&format!("  undo     highwater disconnect {}\n", args.host));
            print(&text);
        }
    }
    Ok(())
}
