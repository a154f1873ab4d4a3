//! `highwater doctor`: whether what an agent host tells arrives, found out by doing what the host does.

mod check;
mod events;
mod examine;
mod server;
mod trust;

use clap::Args;
use highwater_hosts::host::Host;
use serde_json::{Value, json};

use super::connect::host;
use crate::command::print;
use crate::connection::Records;
use crate::exit::Failure;
use crate::place::Places;
use check::{Check, State};

const EXAMPLES: &str = "\
Examples:
  highwater doctor
  highwater doctor codex
  highwater doctor claude-code --json | jq '.[].checks[] | select(.state == \"failed\")'

Exit code 4 says that something is missing.";

/// What `doctor` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// The host: `claude-code` or `codex`. Without it: each that is connected.
    #[arg(value_name = "HOST", value_parser = host)]
    host: Option<Host>,

    #[command(flatten)]
    places: Places,

    /// Print JSON in place of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let data = args.places.data_dir()?;
    let mut hosts = Vec::new();
    for host in Host::ALL {
        let is_asked = args.host.map_or_else(
            || Records::look(&data, host).map(|found| found.is_some()),
            |asked| Ok(asked == host),
        )?;
        hosts.extend(is_asked.then_some(host));
    }
    if hosts.is_empty() {
        return Err(Failure::unverified("no agent host is connected")
            .help("`highwater connect claude-code`, or `codex`"));
    }
    let examined: Vec<(Host, Vec<Check>)> =
        hosts.into_iter().map(|host| (host, examine::examine(host, &args.places, &data))).collect();
    match args.json {
        true => print(&format!(
            "{:#}\n",
            examined.iter().map(|(host, checks)| host_json(*host, checks)).collect::<Value>()
        )),
        false => examined.iter().for_each(|(host, checks)| print(&check::text(host.title(), checks))),
    }
    let failed: usize = examined.iter().map(|(_, checks)| count(checks, State::Failed)).sum();
    match failed {
        0 => Ok(()),
        1 => Err(Failure::unverified("one thing is missing")),
        failed => Err(Failure::unverified(format_args!("{failed} things are missing"))),
    }
}

fn host_json(host: Host, checks: &[Check]) -> Value {
    let is_healthy = count(checks, State::Failed) == 0;
    json!({ "host": host.name(), "is_healthy": is_healthy, "checks": checks })
}

fn count(checks: &[Check], state: State) -> usize {
    checks.iter().filter(|check| check.state == state).count()
}
