//! `highwater status`: whether a gateway runs on the data directory, by which configuration, and what that lets agents do
//! that nobody watches.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use highwater_core::approval::StandingPermit;
use highwater_core::id::Timestamp;
use serde_json::{Value, json};

use crate::command::print;
use crate::configuration;
use crate::exit::Failure;
use crate::explain::when::moment;
use crate::local::hello::{Ask, Hello};
use crate::local::visit::{Visit, visit};
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
    let hooks = running.as_ref().map(|_| hooks(&data)).unwrap_or_default();
    print(&match args.json {
        true => {
            let permits: Vec<Value> = permits.iter().map(|permit| permit_json(permit, now)).collect();
            format!(
                "{:#}\n",
                json!({ "gateway": running, "configuration": file, "permits": permits, "hooks": hooks })
            )
        }
        false => text(running.as_ref(), file.as_ref(), &permits, now) + &hook_lines(&hooks),
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

/// What hosts have told the gateway through hooks; nothing where it does not answer.
fn hooks(data: &Path) -> Vec<Value> {
    let answer = match visit(data, &Hello::ask(Ask::Hooks)) {
        Ok(Visit::Welcome { welcome, .. }) => welcome.answer,
        _ => None,
    };
    answer.and_then(|answer| serde_json::from_str(answer.get()).ok()).unwrap_or_default()
}

fn hook_lines(hooks: &[Value]) -> String {
    let text = |hook: &Value, key: &str| hook.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let number = |hook: &Value, key: &str| hook.get(key).and_then(Value::as_u64).unwrap_or_default();
    if hooks.is_empty() {
        return "hooks: none was heard\n".to_owned();
    }
    let line = |hook: &Value| {
        let count = number(hook, "conversations");
        let conversations = if count == 1 { "conversation" } else { "conversations" };
        let (title, event, last) =
            (text(hook, "title"), text(hook, "lastEvent"), moment(Timestamp(number(hook, "last"))));
        format!("hooks: {title}, {count} {conversations}, last `{event}` {last}\n")
    };
    hooks.iter().map(line).collect()
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
