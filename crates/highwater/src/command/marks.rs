//! `highwater marks`: the labels on what agents wrote, and how people take them off.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use highwater_core::id::{SessionKey, UpstreamId};
use highwater_gateway::MarkChoice;
use highwater_notation::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::command::session::Published;
use crate::command::{Common, named, print};
use crate::exit::Failure;
use crate::explain::plain;
use crate::explain::when::moment;
use crate::local::hello::{Ask, Hello};
use crate::local::visit::{Visit, visit_for};

/// How long a gateway may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What `marks` takes.
#[derive(Debug, Args)]
pub(crate) struct MarksArgs {
    #[command(subcommand)]
    command: MarksCommand,
}

#[derive(Debug, Subcommand)]
enum MarksCommand {
    /// List the marks on what agents wrote, those last left first.
    List {
        #[command(flatten)]
        which: Which,

        #[command(flatten)]
        common: Common,
    },

    /// Take marks off. This is recorded, with your reason.
    ///
    /// What was written is read from then on as if a session without a label had written it. Do this only if you know that
    /// it is harmless.
    Clear {
        /// The marks, as `highwater marks list` and `highwater explain` name them.
        #[arg(value_name = "ID")]
        ids: Vec<String>,

        #[command(flatten)]
        which: Which,

        /// All of them.
        #[arg(long, conflicts_with_all = ["ids", "server", "session"])]
        all: bool,

        /// Why this is right. It goes on record.
        #[arg(long, value_name = "TEXT")]
        reason: String,

        /// Who you are, for the record. Without it: the name you are logged in with.
        #[arg(long, value_name = "NAME")]
        person: Option<String>,

        #[command(flatten)]
        common: Common,
    },
}

/// Which marks.
#[derive(Debug, Args)]
struct Which {
    /// Only those on things of this server.
    #[arg(long, value_name = "NAME")]
    server: Option<String>,

    /// Only those that this session left.
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
}

/// One mark in a list.
#[derive(Debug, Deserialize)]
struct Row {
    id: String,
    server: String,
    kind: String,
    on: String,
    tool: String,
    session: String,
    agent: String,
    at: Timestamp,
    label: Published,
}

pub(crate) fn run(args: &MarksArgs) -> Result<(), Failure> {
    match &args.command {
        MarksCommand::List { which, common } => list(which.choice(&[]), common),
        MarksCommand::Clear { ids, which, all, reason, person, common } => {
            let choice = which.choice(ids);
            if choice == MarkChoice::default() && !all {
                return Err(Failure::usage("say which marks to take off")
                    .help("name them, or choose with `--server`, `--session` or `--all`; `highwater marks list` shows them"));
            }
            clear(
                Ask::ClearMarks { choice, person: named(person.as_deref()), reason: reason.clone() },
                common,
            )
        }
    }
}

// === impl Which ===

impl Which {
    fn choice(&self, ids: &[String]) -> MarkChoice {
        MarkChoice {
            ids: ids.to_vec(),
            server: self.server.as_deref().map(UpstreamId::new),
            session: self.session.as_deref().map(SessionKey::new),
        }
    }
}

fn list(choice: MarkChoice, common: &Common) -> Result<(), Failure> {
    let answer = ask(&common.data.path()?, Ask::Marks { choice })?;
    if common.json {
        print(&format!("{}\n", answer.get()));
        return Ok(());
    }
    let rows = read(&answer)?;
    match rows.is_empty() {
        true => print("nothing that agents wrote is marked\n"),
        false => print(&table(&rows)),
    }
    Ok(())
}

fn clear(ask_for: Ask, common: &Common) -> Result<(), Failure> {
    let answer = ask(&common.data.path()?, ask_for)?;
    if common.json {
        print(&format!("{}\n", answer.get()));
        return Ok(());
    }
    let rows = read(&answer)?;
    let mut text = match rows.len() {
        1 => "1 mark is taken off\n".to_owned(),
        count => format!("{count} marks are taken off\n"),
    };
    for row in &rows {
        text.push_str(&format!("  {}  {} of server `{}`\n", row.id, plain(&row.on), plain(&row.server)));
    }
    print(&text);
    Ok(())
}

fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let (on, tool, agent) = (plain(&row.on), plain(&row.tool), plain(&row.agent));
        text.push_str(&format!("{}  {}: {on}, at server `{}`\n", row.id, row.kind, plain(&row.server)));
        if row.tool.is_empty() {
            text.push_str("   = left before it was kept by whom\n");
        } else {
            let (when, session) = (moment(row.at), plain(&row.session));
            text.push_str(&format!(
                "   = left by `{tool}` of agent `{agent}` in session `{session}`, {when}\n"
            ));
        }
        text.push_str(&format!("   = {}\n", row.label.words()));
    }
    text
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

fn read(answer: &RawValue) -> Result<Vec<Row>, Failure> {
    Ok(serde_json::from_str(answer.get()).context("the gateway speaks another language")?)
}
