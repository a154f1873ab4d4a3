//! `highwater status`: whether a gateway runs on the data directory, by which configuration, and what that lets agents do
//! that nobody watches.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use highwater_core::approval::StandingPermit;
use highwater_core::id::Timestamp;
use serde_json::{Value, json};

use crate::command::print;
use crate::configuration;
use crate::exit::Failure;
use crate::explain::when::moment;
use crate::place::{ConfigSource, Places};
use crate::reevaluate::Trials;
use crate::running::Running;

/// What `status` takes.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    places: Places,

    /// Print JSON in place of text.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &StatusArgs) -> Result<(), Failure> {
    let data = args.places.data_dir()?;
    let running = Running::read(&data);
    let file = configuration_file(&args.places, running.as_ref());
    let permits = match &file {
        Some(file) => configuration::check(file)?.map_err(Failure::configuration)?.settings.permits,
        None => Vec::new(),
    };
    let now = Trials::clock();
    print(&match args.json {
        true => {
            let permits: Vec<Value> = permits.iter().map(|permit| permit_json(permit, now)).collect();
            format!("{:#}\n", json!({ "gateway": running, "configuration": file, "permits": permits }))
        }
        false => text(running.as_ref(), file.as_ref(), &permits, now),
    });
    Ok(())
}

/// The one that was named, or that the gateway runs by, or that is found.
fn configuration_file(places: &Places, running: Option<&Running>) -> Option<PathBuf> {
    let of_gateway = running.filter(|_| !places.names_config()).and_then(|running| running.config.clone());
    of_gateway.or_else(|| match places.config() {
        ConfigSource::File(file) => Some(file),
        ConfigSource::Example => None,
    })
}

fn text(
    running: Option<&Running>,
    file: Option<&PathBuf>,
    permits: &[StandingPermit],
    now: Timestamp,
) -> String {
    let mut text = match running {
        Some(Running { pid, endpoint: Some(endpoint), .. }) => {
            format!("gateway: process {pid}, {endpoint}\n")
        }
        Some(Running { pid, endpoint: None, .. }) => format!("gateway: process {pid}\n"),
        None => "gateway: none runs on this data directory\n".to_owned(),
    };
    // Writing to a text cannot fail.
    let mut say = |line: std::fmt::Arguments<'_>| writeln!(text, "{line}").unwrap_or_default();
    match file {
        Some(file) => say(format_args!("configuration: {}", file.display())),
        None => say(format_args!("configuration: the built-in example")),
    }
    match permits {
        [] => say(format_args!("permits: none")),
        permits => {
            say(format_args!("permits:"));
            permits.iter().for_each(|permit| say(format_args!("  {}", permit_text(permit, now))));
        }
    }
    text
}

/// A permit in a line.
pub(crate) fn permit_text(permit: &StandingPermit, now: Timestamp) -> String {
    let (server, tool) = permit.tool();
    let (name, token, until) = (permit.name(), permit.principal(), moment(permit.until()));
    let end = if permit.is_over(now) { "does nothing any more, over since" } else { "until" };
    format!("`{name}`: `{server}:{tool}` for token `{token}`, {end} {until}")
}

/// The same for programs.
pub(crate) fn permit_json(permit: &StandingPermit, now: Timestamp) -> Value {
    let (server, tool) = permit.tool();
    json!({
        "name": permit.name(),
        "token": permit.principal().as_str(),
        "server": server,
        "tool": tool,
        "until": moment(permit.until()),
        "over": permit.is_over(now),
    })
}
