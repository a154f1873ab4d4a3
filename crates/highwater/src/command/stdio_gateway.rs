//! `highwater stdio-gateway`: the gateway behind `highwater stdio`, a process of its own.
//!
//! It cannot be the process that the first client started: a client ends its own process, by force if it must,
//! when it has had enough, and would take the gateway from everyone who joined later.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;
use clap::Args;

use crate::exit::Failure;
use crate::life::{Life, Until, runtime};
use crate::log::LogOptions;
use crate::new_question::Announce;
use crate::page::Page;
use crate::place::Places;
use crate::wire::{Held, Plan, program};

/// A log above this size is put aside when the next gateway starts.
const LARGEST_LOG: u64 = 4 << 20;

/// What it says when clients can come.
const READY: &str = "ready\n";

/// What it says when another has the data directory.
const TAKEN: &str = "taken\n";

/// What `stdio-gateway` takes.
#[derive(Debug, Args)]
pub(crate) struct StdioGatewayArgs {
    #[command(flatten)]
    places: Places,

    /// Said by the first process to the second, which is the gateway and nobody's child.
    #[arg(long)]
    pub(crate) second: bool,
}

/// How starting one turned out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Started {
    /// It runs.
    Ready,
    /// Another gateway has the data directory.
    Taken,
    /// It does not run, and this is why.
    Failed(String),
}

pub(crate) fn run(args: &StdioGatewayArgs, log: &LogOptions) -> Result<(), Failure> {
    if !args.second {
        return go_between(args, log);
    }
    match become_gateway(args) {
        Ok(()) => Ok(()),
        Err(failure) => {
            // Whoever waits for the word reads the reason; once it has been given, nobody does.
            super::print(failure.words());
            Err(failure)
        }
    }
}

/// Starts a gateway in the background and waits for its word.
pub(crate) fn start(places: &Places, log: &LogOptions, data: &Path) -> Result<Started, Failure> {
    // Made with the privacy of a data directory before the log is put into it.
    highwater_store::DataDir::open(data).map_err(Failure::failed)?;
    let file = open_log(data).context("cannot open the log of the gateway")?;
    let mut first = Command::new(program()?)
        .arg("stdio-gateway")
        .args(places.options()?)
        .args(log.format_options())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(file)
        .spawn()
        .context("cannot start the gateway")?;
    let mut said = String::new();
    let heard = first.stdout.take().context("the gateway has no output")?.read_to_string(&mut said);
    heard.and_then(|_| first.wait()).context("cannot hear from the gateway")?;
    Ok(match said.as_str() {
        READY => Started::Ready,
        TAKEN => Started::Taken,
        "" => Started::Failed("error: the gateway ended without a word".to_owned()),
        why => Started::Failed(why.to_owned()),
    })
}

/// The first process: leaves the client's session, starts the second and ends, so that nobody's end reaches it.
fn go_between(args: &StdioGatewayArgs, log: &LogOptions) -> Result<(), Failure> {
    rustix::process::setsid().map_err(io::Error::from).context("cannot leave the session")?;
    let mut second = Command::new(program()?);
    second.arg("stdio-gateway").args(args.places.options()?).args(log.format_options()).arg("--second");
    second.spawn().context("cannot start the gateway")?;
    Ok(())
}

fn become_gateway(args: &StdioGatewayArgs) -> Result<(), Failure> {
    let (source, data) = (args.places.config(), args.places.data_dir()?);
    let plan = Plan { source, data, listen: None, restored: false };
    let settings = plan.settings()?;
    let Some(held) = Held::take(&plan.data)? else {
        super::print(TAKEN);
        return Ok(());
    };
    let page = Page::open(&settings.approvals)?;
    let life = Life {
        plan: &plan,
        held: &held,
        page,
        settings,
        listeners: Vec::new(),
        endpoint: None,
        until: Until::LastClient,
        // Nobody watches it.
        announce: Announce::Log,
    };
    runtime()?.block_on(life.live(false, |_| {
        super::print(READY);
        let let_go = File::options().write(true).open("/dev/null").and_then(|null| {
            rustix::stdio::dup2_stdout(&null)?;
            Ok(())
        });
        if let Err(error) = let_go {
            tracing::error!(%error, "standard output stays open, and the client waits");
        }
    }))
}

fn open_log(data: &Path) -> io::Result<File> {
    let file = data.join("gateway.log");
    if fs::metadata(&file).is_ok_and(|found| found.len() > LARGEST_LOG) {
        fs::rename(&file, data.join("gateway.log.1"))?;
    }
    OpenOptions::new().create(true).append(true).mode(0o600).open(file)
}
