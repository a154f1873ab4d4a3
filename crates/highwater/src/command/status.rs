//! `highwater status`: the one page. Whether a gateway runs on the data directory and works, by which configuration, what
//! waits for somebody, and what that lets agents do that nobody watches.

use std::path::{Path, PathBuf};

use clap::Args;
use highwater_core::approval::StandingPermit;
use highwater_gateway::{Overview, PartHealth};
use highwater_notation::Timestamp;
use serde_json::{Value, json};

use crate::command::print;
use crate::configuration;
use crate::exit::Failure;
use crate::explain::plain;
use crate::explain::when::moment;
use crate::local::hello::{Ask, Hello};
use crate::local::visit::{Visit, visit};
use crate::place::{ConfigSource, Places};
use crate::reevaluate::Trials;
use crate::running::Running;
use crate::terminal::{Style, View};

/// What `status` takes.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    places: Places,

    /// Print JSON in place of text.
    #[arg(long)]
    json: bool,
}

/// What is known of the gateway, the parts that it does not answer left out.
struct Answers {
    overview: Option<Overview>,
    servers: Vec<Value>,
    hooks: Vec<Value>,
    /// Why it does not answer, though it should.
    silent: Option<String>,
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
    let answers = Answers::of(&data, running.is_some());
    let running = running.filter(|_| answers.overview.is_some() || answers.silent.is_some());
    if args.json {
        let permits: Vec<Value> = permits.iter().map(|permit| permit_json(permit, now)).collect();
        let Answers { overview, servers, hooks, silent } = &answers;
        print(&format!(
            "{:#}\n",
            json!({
                "gateway": running, "configuration": file, "dataDirectory": data, "permits": permits, "hooks": hooks,
                "overview": overview, "servers": servers, "silent": silent,
            })
        ));
    } else {
        let page = Page { data: &data, running: running.as_ref(), file: file.as_ref(), answers: &answers };
        print(&page.text(&permits, now, View::stdout()));
    }
    answers.verdict(&data)
}

// === impl Answers ===

impl Answers {
    fn of(data: &Path, is_expected: bool) -> Self {
        let none = || Self { overview: None, servers: Vec::new(), hooks: Vec::new(), silent: None };
        if !is_expected {
            return none();
        }
        let overview = match visit(data, &Hello::ask(Ask::Overview)) {
            Ok(Visit::Welcome { welcome, .. }) => {
                welcome.answer.and_then(|answer| serde_json::from_str(answer.get()).ok())
            }
            // What it left of itself is from before: it was killed.
            Ok(Visit::Absent) => return none(),
            Ok(Visit::Refused(why)) => return Self { silent: Some(why), ..none() },
            Err(error) => return Self { silent: Some(error.to_string()), ..none() },
        };
        let silent = overview.is_none().then(|| "it is of another version".to_owned());
        Self { overview, servers: list(data, Ask::Servers), hooks: list(data, Ask::Hooks), silent }
    }

    /// Whether everything is well, for scripts.
    fn verdict(&self, data: &Path) -> Result<(), Failure> {
        if let Some(why) = &self.silent {
            return Err(Failure::failed(format_args!("the gateway does not answer: {why}")));
        }
        let Some(overview) = &self.overview else {
            return Err(Failure::failed(format_args!("no gateway runs on `{}`", data.display()))
                .help("start one with `highwater serve`, or name its directory with `--data-dir`"));
        };
        let broken = |part: &PartHealth, what: &str| match &part.why {
            Some(why) => Err(Failure::failed(format_args!("{what}: {why}")).help(
                "this is an outage: what needs it is refused until it is back, and may be tried again then",
            )),
            None => Ok(()),
        };
        broken(&overview.store, "labels cannot be kept")?;
        broken(&overview.record, "nothing can be recorded")
    }
}

/// The one that was named, or that the gateway runs by, or that is found.
fn configuration_file(places: &Places, running: Option<&Running>) -> Option<PathBuf> {
    let of_gateway = running.filter(|_| !places.names_config()).and_then(|running| running.config.clone());
    of_gateway.or_else(|| match places.config() {
        ConfigSource::File(file) => Some(file),
        ConfigSource::Example => None,
    })
}

/// All of it on one page.
struct Page<'a> {
    data: &'a Path,
    running: Option<&'a Running>,
    file: Option<&'a PathBuf>,
    answers: &'a Answers,
}

// === impl Page ===

impl Page<'_> {
    fn text(&self, permits: &[StandingPermit], now: Timestamp, view: View) -> String {
        let mut text = String::new();
        let mut say = |head: &str, style: Style, words: &str| {
            text.push_str(&view.paragraph(style, &format!("{head}: "), words, 4));
        };
        let overview = self.answers.overview.as_ref();
        let uptime =
            overview.map(|overview| format!(", up {}", long(overview.uptime_seconds))).unwrap_or_default();
        match self.running {
            Some(Running { pid, endpoint: Some(endpoint), .. }) => {
                say("gateway", Style::Good, &format!("process {pid}, {endpoint}{uptime}"));
            }
            Some(Running { pid, endpoint: None, .. }) => {
                say("gateway", Style::Good, &format!("process {pid}, for clients of this machine{uptime}"));
            }
            None => say("gateway", Style::Bad, "none runs on this data directory"),
        }
        say("data", Style::Plain, &self.data.display().to_string());
        match self.file {
            Some(file) => say("configuration", Style::Plain, &file.display().to_string()),
            None => say("configuration", Style::Plain, "the built-in example"),
        }
        if let Some(overview) = overview {
            let (style, words) = servers(&self.answers.servers);
            say("servers", style, &words);
            say(
                "questions",
                if overview.questions > Some(0) { Style::Caution } else { Style::Plain },
                &questions(overview),
            );
            say("conversations", Style::Plain, &conversations(overview));
            for (head, part) in [("labels", &overview.store), ("record", &overview.record)] {
                match &part.why {
                    None => say(head, Style::Good, &format!("{}, works", part.place)),
                    Some(why) => {
                        say(head, Style::Bad, &format!("{}, does not work: {}", part.place, plain(why)))
                    }
                }
            }
            let others = overview.gateways.iter().filter(|gateway| !gateway.own);
            for other in others {
                say(
                    "shared with",
                    Style::Plain,
                    &format!("gateway {}, last there {}", plain(&other.id), moment(other.seen)),
                );
            }
            let mandates = match overview.mandates {
                None | Some(0) => "none".to_owned(),
                Some(count) => format!("{count}; `highwater approvals mandate` lists them"),
            };
            say("mandates", Style::Plain, &mandates);
        }
        match permits {
            [] => say("permits", Style::Plain, "none"),
            permits => {
                say("permits", Style::Plain, "");
                for permit in permits {
                    text.push_str(&format!("  {}\n", permit_text(permit, now)));
                }
            }
        }
        text.lines().map(|line| format!("{}\n", line.trim_end())).collect::<String>()
            + &hook_lines(&self.answers.hooks)
    }
}

/// How many are in each state; those that failed by name.
fn servers(servers: &[Value]) -> (Style, String) {
    let text =
        |server: &Value, key: &str| server.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let in_state = |state: &str| {
        servers
            .iter()
            .filter(|server| text(server, "state") == state)
            .map(|server| text(server, "name"))
            .collect::<Vec<_>>()
    };
    let mut parts = Vec::new();
    for state in ["up", "starting", "idle"] {
        match in_state(state).len() {
            0 => {}
            count => parts.push(format!("{count} {state}")),
        }
    }
    let held =
        servers.iter().filter(|server| server.get("held").and_then(Value::as_u64).unwrap_or(0) > 0).count();
    let failed = in_state("failed");
    if !failed.is_empty() {
        parts.push(format!(
            "{} failed ({}); `highwater servers` says why",
            failed.len(),
            plain(&failed.join(", "))
        ));
    }
    if held > 0 {
        parts.push(format!("of {held} something is held until you approve it"));
    }
    let style = if failed.is_empty() { Style::Good } else { Style::Bad };
    (style, if parts.is_empty() { "none".to_owned() } else { parts.join(", ") })
}

fn questions(overview: &Overview) -> String {
    match overview.questions {
        None => "there is no page on which anybody could be asked".to_owned(),
        Some(0) => "none waits".to_owned(),
        Some(1) => "1 waits for you; `highwater approvals open` shows it".to_owned(),
        Some(count) => format!("{count} wait for you; `highwater approvals open` shows them"),
    }
}

fn conversations(overview: &Overview) -> String {
    let known = match (overview.conversations, overview.untrusted) {
        (Some(all), Some(untrusted)) => format!("{all} known, {untrusted} of them with words of strangers"),
        _ => "nobody can say how many".to_owned(),
    };
    format!("{known}; {} open sessions, {} requests under way", overview.connections, overview.requests)
}

/// A time that people can take in at a glance.
fn long(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// A list that the gateway gives; nothing where it does not answer.
fn list(data: &Path, ask: Ask) -> Vec<Value> {
    let answer = match visit(data, &Hello::ask(ask)) {
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
