//! `highwater session`: what agent sessions have taken in, and the one way to take a label down.

mod show;

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use highwater_core::id::{Principal, SessionKey};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::command::{Common, named, print};
use crate::exit::Failure;
use crate::explain::{self, Chronicle, Log, Subject};
use crate::local::hello::{Ask, Hello};
use crate::local::visit::{Visit, visit_for};
use crate::running::Running;
pub(crate) use show::Published;
use show::{Row, Shown};

/// How long a gateway may take. A label goes down only after replies that are on their way have had their time.
const PATIENCE: Duration = Duration::from_secs(90);

/// What `session` takes.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    command: SessionCommand,
}

#[derive(Debug, Subcommand)]
enum SessionCommand {
    /// List agent sessions, last used first.
    List {
        /// Only those of this agent.
        #[arg(long, value_name = "NAME")]
        principal: Option<String>,

        #[command(flatten)]
        common: Common,
    },

    /// Show one session: its label, the calls that brought it, and when it was taken down.
    Show {
        /// The session, as `highwater session list` and `highwater explain` name it.
        #[arg(value_name = "KEY")]
        key: String,

        #[command(flatten)]
        common: Common,
    },

    /// Take the label of a session down to nothing. This is recorded, with your reason.
    ///
    /// Do this only if you know that what the session has read is harmless, or that the agent no longer has it in its
    /// context. What the session has written keeps the label it was written with.
    Reset {
        /// The session, as `highwater session list` and `highwater explain` name it.
        #[arg(value_name = "KEY")]
        key: String,

        /// Why this is right. It goes on record.
        #[arg(long, value_name = "TEXT")]
        reason: String,

        /// Only if the session is still in this epoch, the one you looked at.
        #[arg(long, value_name = "NUMBER")]
        epoch: Option<u64>,

        /// Who you are, for the record. Without it: the name you are logged in with.
        #[arg(long, value_name = "NAME")]
        person: Option<String>,

        #[command(flatten)]
        common: Common,
    },

    /// Begin a conversation: as a context, whose endpoint has a session of its own, or as what an agent does next.
    ///
    /// With `--principal`, what that agent's last client does from now on is a new conversation, and nothing that was read
    /// before counts for it. Say so only if the agent has nothing of it left. What was read stays with the other clients
    /// of that agent: when one of them is used again, it counts again.
    New {
        /// The agent that begins anew, by the name of its token. Without this a context is made.
        #[arg(long, value_name = "NAME")]
        principal: Option<String>,

        /// The conversation of a host that you opened yourself, by its key. What counts beside its label until somebody
        /// says so counts no more.
        #[arg(long, value_name = "KEY", conflicts_with_all = ["principal", "label"])]
        mine: Option<String>,

        /// What it holds from the beginning: `high`, `untrusted`, a class of data such as `pii`, or a class of your own.
        #[arg(long, value_name = "WORD", value_delimiter = ',')]
        label: Vec<String>,

        /// What it is for, or why it is new. It goes on record.
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        note: String,

        /// Who you are, for the record. Without it: the name you are logged in with.
        #[arg(long, value_name = "NAME")]
        person: Option<String>,

        #[command(flatten)]
        common: Common,
    },
}

pub(crate) fn run(args: &SessionArgs) -> Result<(), Failure> {
    match &args.command {
        SessionCommand::List { principal, common } => list(principal.clone(), common),
        SessionCommand::Show { key, common } => show(key, common),
        SessionCommand::Reset { key, reason, epoch, person, common } => {
            let ask = Ask::Reset {
                key: SessionKey::new(key.as_str()),
                epoch: *epoch,
                person: named(person.as_deref()),
                reason: reason.clone(),
            };
            reset(key, ask, common)
        }
        SessionCommand::New { principal, mine, label, note, person, common } => {
            let (person, label, note) = (named(person.as_deref()), label.clone(), note.clone());
            if let Some(key) = mine {
                let ask = Ask::OwnConversation { key: SessionKey::new(key.as_str()), person, note };
                return begin(&format!("conversation `{}` is yours", explain::plain(key)), ask, common);
            }
            match principal {
                None => new(Ask::NewContext { person, note, label }, common),
                Some(principal) => {
                    let ask = Ask::NewConversation {
                        principal: Principal::new(principal.as_str()),
                        person,
                        note,
                        label,
                    };
                    let principal = explain::plain(principal);
                    begin(&format!("a new conversation of `{principal}` has begun"), ask, common)
                }
            }
        }
    }
}

fn list(principal: Option<String>, common: &Common) -> Result<(), Failure> {
    let answer = ask(&common.data.path()?, Ask::Sessions { principal: principal.map(Principal::new) })?;
    if common.json {
        print(&format!("{}\n", answer.get()));
        return Ok(());
    }
    let rows: Vec<Row> = read(&answer)?;
    match rows.is_empty() {
        true => print("no session has taken anything in\n"),
        false => print(&show::table(&rows)),
    }
    Ok(())
}

fn show(key: &str, common: &Common) -> Result<(), Failure> {
    let data = common.data.path()?;
    let answer = ask(&data, Ask::Session { key: SessionKey::new(key) })?;
    let shown: Shown = read(&answer)?;
    let log = Log::of(&data)?;
    let label = shown.session.label.label();
    let subject = Subject { session: &shown.session.key, principal: &shown.session.principal, label: &label };
    let chronicle = Chronicle::of_session(&log, &subject)?;
    if common.json {
        let mut whole: Value = read(&answer)?;
        if let Some(members) = whole.as_object_mut() {
            members.insert("brought".to_owned(), explain::brought_data(&chronicle).into());
            members.insert("unaccounted".to_owned(), json!(chronicle.unaccounted));
            members.insert("risk".to_owned(), explain::risk_data(&label, &chronicle));
        }
        print(&format!("{whole:#}\n"));
    } else {
        print(&show::text(&shown, &chronicle));
    }
    Ok(())
}

fn reset(key: &str, ask_for: Ask, common: &Common) -> Result<(), Failure> {
    let answer = ask(&common.data.path()?, ask_for)?;
    let state: show::State = read(&answer)?;
    if !state.done {
        return Err(Failure::failed(format_args!(
            "the session has changed: it is in epoch {} and its label is {}",
            state.epoch,
            state.label.words()
        ))
        .help("look at it with `highwater session show`, then decide again"));
    }
    if common.json {
        print(&format!("{}\n", answer.get()));
    } else {
        let key = explain::plain(key);
        print(&format!("the label of session `{key}` is down; epoch {} has begun\n", state.epoch));
    }
    Ok(())
}

fn begin(done: &str, ask_for: Ask, common: &Common) -> Result<(), Failure> {
    let answer = ask(&common.data.path()?, ask_for)?;
    let state: show::State = read(&answer)?;
    if !state.done {
        return Err(Failure::failed("the conversation has changed while this was said").help("say it again"));
    }
    if common.json {
        print(&format!("{}\n", answer.get()));
    } else {
        print(&format!("{done}; its label is {}\n", state.label.words()));
    }
    Ok(())
}

fn new(ask_for: Ask, common: &Common) -> Result<(), Failure> {
    let data = common.data.path()?;
    let answer = ask(&data, ask_for)?;
    let mut context: Value = read(&answer)?;
    let id =
        context.get("id").and_then(Value::as_str).context("the gateway speaks another language")?.to_owned();
    let endpoint = Running::read(&data).and_then(|running| running.endpoint).map(|at| format!("{at}/c/{id}"));
    if common.json {
        if let Some(members) = context.as_object_mut() {
            members.insert("endpoint".to_owned(), json!(endpoint));
        }
        print(&format!("{context}\n"));
        return Ok(());
    }
    print(&match endpoint {
        Some(endpoint) => format!(
            "context   {id}\nendpoint  {endpoint}\n\nOne conversation that connects here has a label of its own.\n"
        ),
        None => format!(
            "context   {id}\n\nThis gateway listens on no port, so nobody can use it. To begin a new conversation over\n`highwater stdio`, name its agent with `--principal`; for contexts run `highwater serve`.\n"
        ),
    });
    Ok(())
}

/// Asks the gateway of a data directory.
fn ask(data: &Path, ask: Ask) -> Result<Box<RawValue>, Failure> {
    match visit_for(data, &Hello::ask(ask), PATIENCE).context("cannot reach the gateway")? {
        Visit::Welcome { welcome, .. } => {
            Ok(welcome.answer.context("the gateway does not answer that; is it of another version?")?)
        }
        Visit::Refused(why) => Err(Failure::failed(why)),
        Visit::Absent => Err(Failure::failed(format_args!("no gateway runs on `{}`", data.display()))
            .help("start one with `highwater serve`, or name its directory with `--data-dir`")),
    }
}

fn read<T: DeserializeOwned>(answer: &RawValue) -> Result<T, Failure> {
    Ok(serde_json::from_str(answer.get()).context("the gateway speaks another language")?)
}
