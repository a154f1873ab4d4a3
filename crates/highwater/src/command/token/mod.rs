//! `highwater token`: what each agent may, given out as a secret that is shown once.

mod show;
mod without_gateway;

use std::num::NonZeroU32;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use clap::{Args, Subcommand};
use highwater_core::decide::FlowFloor;
use highwater_core::grant::{
    AcceptedWords, Forms, Grant, Limits, Permission, ServerScope, ToolPattern, ToolScope,
};
use highwater_core::id::{UserId, VirtualServerId};
use highwater_notation::{Timestamp, end_of};
use highwater_store::TokenTerms;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::command::{named, print};
use crate::exit::Failure;
use crate::local::hello::{Ask, Hello};
use crate::local::visit::{Visit, visit_for};
use crate::place::Places;
use crate::running::Running;
use show::Row;

/// How long a gateway may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long to wait for a gateway that starts or stops at the same moment, and how long between two looks.
const CHANGEOVER: Duration = Duration::from_secs(10);
const BREATH: Duration = Duration::from_millis(25);

const CREATE_EXAMPLES: &str = "\
Examples:
  Read everything, change nothing:
    highwater token create reporting-bot --permission call_tool_read --server database --server analytics
  Search and call what only reads, at every server, for a month:
    highwater token create my-read-only-agent --permission read --permission retrieve_tools --server '*' --expires 30d
  Write issues and nothing else, judged strictly, twenty requests a minute:
    highwater token create triage --permission write --server github --tool 'create_issue*' --flow strict --rate 20
  The secret of a token that the configuration names under `agent_tokens`:
    highwater token create my-read-only-agent";

/// What `token` takes.
#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Make a token and show its secret, once.
    ///
    /// Say what it grants with the options, or name one that the configuration has under `agent_tokens`. Nothing is
    /// granted that is not said.
    #[command(after_help = CREATE_EXAMPLES)]
    Create {
        /// Its name, which is also the name of its agent in the audit log, in rules and in sessions.
        #[arg(value_name = "NAME")]
        name: String,

        #[command(flatten)]
        granted: Granted,

        /// Who you are, for the record. Without it: the name you are logged in with.
        #[arg(long, value_name = "NAME")]
        person: Option<String>,

        #[command(flatten)]
        common: Common,
    },

    /// List tokens: what they grant, and when they were last used.
    #[command(
        after_help = "Examples:\n  highwater token list\n  highwater token list --json | jq '.[] | select(.status == \"active\") | .name'"
    )]
    List {
        #[command(flatten)]
        common: Common,
    },

    /// End a token for ever. Whoever is connected with it is cut off.
    #[command(after_help = "Examples:\n  highwater token revoke reporting-bot")]
    Revoke {
        /// Which.
        #[arg(value_name = "NAME")]
        name: String,

        /// Who you are, for the record. Without it: the name you are logged in with.
        #[arg(long, value_name = "NAME")]
        person: Option<String>,

        #[command(flatten)]
        common: Common,
    },

    /// Give a token a new secret and show it, once. The old one opens nothing from then on.
    #[command(after_help = "Examples:\n  highwater token rotate reporting-bot")]
    Rotate {
        /// Which.
        #[arg(value_name = "NAME")]
        name: String,

        /// Who you are, for the record. Without it: the name you are logged in with.
        #[arg(long, value_name = "NAME")]
        person: Option<String>,

        #[command(flatten)]
        common: Common,
    },
}

/// What a new token grants.
#[derive(Debug, Args)]
struct Granted {
    /// A permission: `call_tool_read`, `call_tool_write`, `call_tool_destructive` or `retrieve_tools`. Each by itself;
    /// none includes another. Can be given several times.
    #[arg(long = "permission", value_name = "PERMISSION", value_parser = permission)]
    permissions: Vec<Permission>,

    /// A server it reaches, by alias; `'*'` for all. Can be given several times.
    #[arg(long = "server", value_name = "NAME")]
    servers: Vec<String>,

    /// Only tools that one of these globs fits, by their servers' own names, such as `get_*` or `github:get_*`. Can be
    /// given several times. Without it: all tools of its servers.
    #[arg(long = "tool", value_name = "GLOB", value_parser = tool)]
    tools: Vec<ToolPattern>,

    /// The one virtual server it opens. Without it: all.
    #[arg(long, value_name = "NAME")]
    virtual_server: Option<String>,

    /// The least its calls are judged with: `balanced` or `strict`.
    #[arg(long, value_name = "MODE", value_parser = flow)]
    flow: Option<FlowFloor>,

    /// When it ends: a time from now such as `30d` or `12h`, or its last day, such as `2027-01-31` (UTC).
    #[arg(long, value_name = "WHEN", value_parser = expires)]
    expires: Option<Timestamp>,

    /// The most requests a minute.
    #[arg(long = "rate", value_name = "NUMBER")]
    per_minute: Option<NonZeroU32>,

    /// The most requests at once.
    #[arg(long, value_name = "NUMBER")]
    concurrency: Option<NonZeroU32>,

    /// Whose agent it is: this user is asked about its calls, and their passkeys count for them. Without it: `owner`.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,

    /// Whether what its clients answer to a form is a person's word: `person`, for a client that you know to show forms to
    /// somebody, or `never`. Without it: `never`, and people are asked on the page.
    #[arg(long, value_name = "WHO", value_parser = forms)]
    forms: Option<Forms>,

    /// Whose words the prompts are that its host tells of: `owner`, for what you type; `sdk`, for that and for what
    /// programs of yours start the host with; `none`, for a bot that others write to. Without it: `owner`.
    #[arg(long, value_name = "WHOSE", value_parser = words)]
    words: Option<AcceptedWords>,
}

/// What each of them takes.
#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    places: Places,

    /// Print JSON in place of text.
    #[arg(long)]
    json: bool,
}

/// A token and its secret, where there is a new one.
#[derive(Debug, Deserialize)]
struct Done {
    token: Row,
    #[serde(default)]
    secret: Option<String>,
}

pub(crate) fn run(args: &TokenArgs) -> Result<(), Failure> {
    match &args.command {
        TokenCommand::Create { name, granted, person, common } => {
            let terms = granted.terms()?;
            let person = named(person.as_deref());
            change(common, Ask::CreateToken { name: name.clone(), terms: terms.map(Box::new), person })
        }
        TokenCommand::List { common } => list(common),
        TokenCommand::Revoke { name, person, common } => {
            change(common, Ask::RevokeToken { name: name.clone(), person: named(person.as_deref()) })
        }
        TokenCommand::Rotate { name, person, common } => {
            change(common, Ask::RotateToken { name: name.clone(), person: named(person.as_deref()) })
        }
    }
}

fn list(common: &Common) -> Result<(), Failure> {
    let answer = ask(&common.places, Ask::Tokens)?;
    if common.json {
        print(&format!("{}\n", answer.get()));
        return Ok(());
    }
    let rows: Vec<Row> = serde_json::from_str(answer.get()).context("the gateway speaks another language")?;
    print(&show::table(&rows));
    Ok(())
}

fn change(common: &Common, what: Ask) -> Result<(), Failure> {
    let answer = ask(&common.places, what)?;
    if common.json {
        print(&format!("{}\n", answer.get()));
        return Ok(());
    }
    let done: Done = serde_json::from_str(answer.get()).context("the gateway speaks another language")?;
    let endpoint = Running::read(&common.places.data_dir()?).and_then(|running| running.endpoint);
    print(&match done.secret {
        Some(secret) => show::secret(&done.token, &secret, endpoint.as_deref()),
        None => show::revoked(&done.token),
    });
    Ok(())
}

/// Asks the gateway of the data directory or, if none runs, does it here. One that starts or stops at the same moment has
/// the directory and does not answer: it is waited for.
pub(crate) fn ask(places: &Places, ask: Ask) -> Result<Box<RawValue>, Failure> {
    let data = places.data_dir()?;
    let deadline = Instant::now() + CHANGEOVER;
    loop {
        if let Some(answer) = visit(&data, &ask)? {
            return Ok(answer);
        }
        if let Some(answer) = without_gateway::answer(places, &data, &ask)? {
            return Ok(answer);
        }
        if Instant::now() > deadline {
            return Err(crate::wire::Held::taken(&data).help("it does not answer on its socket"));
        }
        std::thread::sleep(BREATH);
    }
}

/// What a running gateway answers; nothing if there is none.
fn visit(data: &Path, ask: &Ask) -> Result<Option<Box<RawValue>>, Failure> {
    match visit_for(data, &Hello::ask(ask.clone()), PATIENCE).context("cannot reach the gateway")? {
        Visit::Welcome { welcome, .. } => {
            Ok(Some(welcome.answer.context("the gateway does not answer that; is it of another version?")?))
        }
        Visit::Refused(why) => Err(Failure::failed(why)),
        Visit::Absent => Ok(None),
    }
}

// === impl Granted ===

impl Granted {
    /// What the options say; nothing if they say nothing.
    fn terms(&self) -> Result<Option<TokenTerms>, Failure> {
        let says_nothing = self.permissions.is_empty()
            && self.servers.is_empty()
            && self.tools.is_empty()
            && self.virtual_server.is_none()
            && self.flow.is_none()
            && self.expires.is_none()
            && self.per_minute.is_none()
            && self.concurrency.is_none()
            && self.user.is_none()
            && self.forms.is_none()
            && self.words.is_none();
        if says_nothing {
            return Ok(None);
        }
        for (is_missing, option, help) in [
            (self.permissions.is_empty(), "--permission", "such as `--permission call_tool_read`"),
            (self.servers.is_empty(), "--server", "such as `--server github`, or `--server '*'` for all"),
        ] {
            if is_missing {
                let message =
                    format_args!("what a token grants is said, never supposed: `{option}` is missing");
                return Err(Failure::usage(message).help(help));
            }
        }
        let grant = Grant {
            permissions: self.permissions.iter().copied().collect(),
            servers: ServerScope::of_names(self.servers.iter().map(String::as_str)),
            tools: match self.tools.as_slice() {
                [] => ToolScope::All,
                listed => ToolScope::only(listed.iter().cloned()),
            },
            virtual_server: self.virtual_server.as_deref().map(VirtualServerId::new),
            flow: self.flow,
            expires: self.expires,
        };
        let limits = Limits { per_minute: self.per_minute, concurrency: self.concurrency };
        let (user, forms) = (self.user.as_deref().map(UserId::new), self.forms.unwrap_or_default());
        let words = self.words.unwrap_or_default();
        Ok(Some(TokenTerms { grant, limits, user, forms, words }))
    }
}

fn permission(text: &str) -> Result<Permission, String> {
    Permission::parse(text).ok_or_else(|| format!("use one of {}", Permission::NAMES.join(", ")))
}

fn flow(text: &str) -> Result<FlowFloor, String> {
    FlowFloor::parse(text).ok_or_else(|| format!("use one of {}", FlowFloor::NAMES.join(", ")))
}

fn forms(text: &str) -> Result<Forms, String> {
    Forms::parse(text).ok_or_else(|| format!("use one of {}", Forms::NAMES.join(", ")))
}

fn words(text: &str) -> Result<AcceptedWords, String> {
    AcceptedWords::parse(text).ok_or_else(|| format!("use one of {}", AcceptedWords::NAMES.join(", ")))
}

fn tool(text: &str) -> Result<ToolPattern, String> {
    ToolPattern::new(text).ok_or_else(|| "the glob is too long".to_owned())
}

fn expires(text: &str) -> Result<Timestamp, String> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    let end = from_now(text, now).or_else(|| end_of(text));
    match end {
        Some(end) if end <= now => Err("that time is over".to_owned()),
        Some(end) => Ok(end),
        None => Err("write a time from now such as `30d` or `12h`, or a day such as `2027-01-31`".to_owned()),
    }
}

/// `30d`, `12h`, `45m`.
fn from_now(text: &str, now: Timestamp) -> Option<Timestamp> {
    let unit = match text.chars().last()? {
        'd' => 86_400_000,
        'h' => 3_600_000,
        'm' => 60_000,
        _ => return None,
    };
    let count: u64 = text.get(..text.len() - 1)?.parse().ok()?;
    let end = now.0.checked_add(count.checked_mul(unit)?)?;
    (count > 0).then_some(Timestamp(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_a_time_from_now_or_a_day() {
        let now = Timestamp(1_000_000);
        assert_eq!(from_now("30d", now), Some(Timestamp(1_000_000 + 30 * 86_400_000)));
        assert_eq!(from_now("12h", now), Some(Timestamp(1_000_000 + 12 * 3_600_000)));
        assert_eq!(from_now("1m", now), Some(Timestamp(1_060_000)));
        for none in ["", "d", "0d", "-1d", "1.5h", "30", "30s", "99999999999999999999d", "é"] {
            assert_eq!(from_now(none, now), None, "{none}");
        }
        assert!(expires("2020-01-01").is_err());
        assert!(expires("2999-01-01").is_ok());
        assert!(expires("soon").is_err());
    }
}
