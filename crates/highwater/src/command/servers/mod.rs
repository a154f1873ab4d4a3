//! `highwater servers`: how the servers of the running gateway are, what they say of themselves, and whether they may.

mod approve;
mod contract;
mod describe;
mod difference;
mod list;
mod review;
mod summary;

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Args, Subcommand};
use highwater_core::id::UpstreamId;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::command::{Common, print, tell, tell_in_colour};
use crate::exit::Failure;
use crate::local::hello::{Ask, Hello};
use crate::local::visit::{Visit, visit_for};
use crate::terminal::View;
use approve::{About, ApproveArgs, Verdict};
use review::Review;

/// How long a gateway may take. A server that nobody has used yet is started first.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a server that is starting is waited for.
const START_PATIENCE: Duration = Duration::from_secs(120);

/// How long until it is asked again whether it has started. The gateway itself waits some seconds at first.
const ASK_AGAIN: Duration = Duration::from_secs(2);

/// What `servers` takes.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServersArgs {
    #[command(subcommand)]
    command: Option<ServersCommand>,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Subcommand)]
enum ServersCommand {
    /// List the servers, how they are and what was approved of them.
    List {
        #[command(flatten)]
        common: Common,
    },

    /// Show everything a server says of itself, whether it may be used, and what was decided about it.
    Inspect {
        /// The server, as the configuration names it.
        #[arg(value_name = "SERVER")]
        server: String,

        #[command(flatten)]
        common: Common,
    },

    /// Show what of a server nobody has approved yet, or is not as it was approved.
    Diff {
        /// The server, as the configuration names it.
        #[arg(value_name = "SERVER")]
        server: String,

        /// Show definitions whole, their schemas and digests among them, in place of a line each.
        #[arg(long)]
        full: bool,

        #[command(flatten)]
        common: Common,
    },

    /// Approve what a server says of itself and its tools, exactly as you saw it.
    ///
    /// Without `--seen` you are shown what it is and asked. What a tool claims of itself makes decisions stricter at once, and
    /// milder only if you believe it, or vouch for its server. Approving again without `--believe` takes belief back.
    Approve(ApproveArgs),

    /// Say what a server is, so that its tools are not taken for the worst.
    ///
    /// You are asked two plain questions, or say the word with `--profile`. It fills in what nobody said of its tools, as
    /// `profile` in the configuration does, which counts above it.
    Describe(describe::DescribeArgs),

    /// Refuse what a server says of itself, exactly as you saw it. It stays out of use until you approve it.
    Reject {
        #[command(flatten)]
        about: About,
    },
}

pub(crate) fn run(args: &ServersArgs) -> Result<(), Failure> {
    match &args.command {
        None => list(&args.common),
        Some(ServersCommand::List { common }) => list(common),
        Some(ServersCommand::Inspect { server, common }) => inspect(server, common),
        Some(ServersCommand::Diff { server, full, common }) => difference(server, *full, common),
        Some(ServersCommand::Approve(args)) => approve::run(args),
        Some(ServersCommand::Describe(args)) => describe::run(args),
        Some(ServersCommand::Reject { about }) => approve::decide(about, Verdict::Reject),
    }
}

fn list(common: &Common) -> Result<(), Failure> {
    let servers = ask(&common.data.path()?, Ask::Servers)?;
    match common.json {
        true => print(&format!("{}\n", servers.get())),
        false => print(&list::table(&servers, View::stdout())?),
    }
    Ok(())
}

/// Everything of one server: how it is, then what it says of itself.
fn inspect(server: &str, common: &Common) -> Result<(), Failure> {
    let data = common.data.path()?;
    let review = ask(&data, Ask::Review { server: UpstreamId::new(server) });
    // Looked at second: to look at it may have started it.
    let servers = ask(&data, Ask::Servers)?;
    if common.json {
        let mut all: serde_json::Map<String, serde_json::Value> = read(&review?)?;
        let states: Vec<serde_json::Value> = read(&servers)?;
        let own = states.into_iter().find(|state| state.get("name").is_some_and(|name| name == server));
        all.insert("health".to_owned(), own.unwrap_or_default());
        print(&format!("{}\n", serde_json::Value::Object(all)));
        return Ok(());
    }
    print(&list::state(&servers, server, View::stdout())?);
    tell(&Review::whole(&read(&review?)?));
    Ok(())
}

fn difference(server: &str, full: bool, common: &Common) -> Result<(), Failure> {
    let (answer, review) = reviewed(&common.data.path()?, server)?;
    if common.json {
        print(&format!("{}\n", answer.get()));
        return review.seen();
    }
    review.seen()?;
    tell_in_colour(&review.difference(full), difference::style);
    Ok(())
}

/// What is known of a server. One that is still starting is waited for, with a sign of life.
fn reviewed(data: &Path, server: &str) -> Result<(Box<RawValue>, Review), Failure> {
    let since = Instant::now();
    loop {
        let answer = ask(data, Ask::Review { server: UpstreamId::new(server) })?;
        let review: Review = read(&answer)?;
        if !review.starting || since.elapsed() >= START_PATIENCE {
            return Ok((answer, review));
        }
        let words = format!(
            "`{server}` is still starting (what `npx` or `uvx` runs is downloaded the first time), {} s …\n",
            since.elapsed().as_secs()
        );
        std::io::stderr().write_all(words.as_bytes()).context("cannot say that it is waited for")?;
        std::thread::sleep(ASK_AGAIN);
    }
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

fn read<'a, T: Deserialize<'a>>(answer: &'a RawValue) -> Result<T, Failure> {
    Ok(serde_json::from_str(answer.get()).context("the gateway speaks another language")?)
}
