//! `highwater hook`: what a host runs for one event. It tells the gateway and prints the answer, exactly one JSON object.
//!
//! Hosts run the tool when a hook fails in any way but one, so every failure here is the explicit refusal of a tool, and
//! for every other event an answer without effect. The deadline is ours, never the host's.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use highwater_gateway::USUAL_NAME;
use highwater_hosts::MAX_PAYLOAD;
use highwater_hosts::answer::{HookOutput, Verdict, answer, failure};
use highwater_hosts::host::{HookName, Host};
use serde_json::Value;

use crate::command::stdio_gateway;
use crate::environment::variable;
use crate::exit::Failure;
use crate::local::hello::{Hello, HookHello, HookReply, LONGEST_HELLO, Welcome, line};
use crate::local::hook::PRINTED;
use crate::local::socket;
use crate::log::LogOptions;
use crate::place::Places;

/// What `hook` takes.
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// The host that runs it: `claude-code` or `codex`.
    #[arg(value_name = "CLIENT", value_parser = host)]
    client: Host,

    /// The event for which it is installed. Without it: the one that the input tells.
    #[arg(value_name = "EVENT", value_parser = event)]
    event: Option<HookName>,

    /// The name under which the host knows this gateway as an MCP server.
    #[arg(long, value_name = "NAME", default_value = USUAL_NAME)]
    server: String,

    #[command(flatten)]
    places: Places,
}

/// An answer, and the connection on which the gateway waits for the word that it was printed.
struct Answered {
    hook: HookName,
    verdict: Verdict,
    gateway: UnixStream,
}

/// Why there is no answer, and to which event as far as that is known.
struct Unanswered {
    hook: Option<HookName>,
    why: String,
}

pub(crate) fn run(args: &HookArgs, log: &LogOptions) -> Result<(), Failure> {
    let began = Instant::now();
    let (client, event, server) = (args.client, args.event, args.server.clone());
    // What is not known may be a tool: it is refused, and has the time of one.
    let patience = Duration::from_millis(event.unwrap_or(HookName::PreToolUse).deadlines().answer_ms);
    let places = args.places.clone();
    let log = log.clone();
    let (tell, told) = mpsc::channel();
    // Input and gateway may both keep us waiting. Whoever waits longer than the deadline is left behind.
    thread::spawn(move || {
        let asked = Asking { client, event, server, places, log, deadline: began + patience }.ask();
        tell.send(asked).unwrap_or_default();
    });
    let answered = told.recv_timeout(patience.saturating_sub(began.elapsed()));
    let answered = answered.unwrap_or_else(|_| {
        let why = format!("Highwater gave no answer within {} ms", patience.as_millis());
        Err(Unanswered { hook: event, why })
    });
    match answered {
        Ok(Answered { hook, verdict, mut gateway }) => {
            print(answer(client, hook, &verdict, is_attended()))?;
            // Where nobody hears it the tool counts as one that ran without an answer.
            gateway.write_all(PRINTED).unwrap_or_default();
            Ok(())
        }
        Err(Unanswered { hook, why }) => print(failure(hook.or(event).unwrap_or(HookName::PreToolUse), &why)),
    }
}

/// Everything that asking takes.
struct Asking {
    client: Host,
    event: Option<HookName>,
    server: String,
    places: Places,
    log: LogOptions,
    deadline: Instant,
}

// === impl Asking ===

impl Asking {
    fn ask(self) -> Result<Answered, Unanswered> {
        let mut input = Vec::new();
        let bound = u64::try_from(MAX_PAYLOAD + 1).unwrap_or(u64::MAX);
        let read = io::stdin().lock().take(bound).read_to_end(&mut input);
        read.map_err(|error| unanswered(self.event, format!("the event could not be read: {error}")))?;
        let told = || {
            serde_json::from_slice::<Value>(&input).ok()?.get("hook_event_name")?.as_str().map(str::to_owned)
        };
        let hook = self.event.or_else(|| HookName::from_name(&told()?));
        let hook =
            hook.ok_or_else(|| unanswered(None, "the input names no event that is known".to_owned()))?;
        let fault = |why: String| unanswered(Some(hook), why);
        if input.len() > MAX_PAYLOAD {
            return Err(fault(format!("the event is longer than {MAX_PAYLOAD} bytes")));
        }
        let data = self.places.data_dir().map_err(|failure| fault(failure.words().to_owned()))?;
        let stream = self.connect(hook, &data).map_err(fault)?;
        let (verdict, gateway) = self.converse(stream, hook, &input).map_err(fault)?;
        Ok(Answered { hook, verdict, gateway })
    }

    /// Goes to the gateway of the data directory. A conversation that begins may be the first to need one.
    fn connect(&self, hook: HookName, data: &Path) -> Result<UnixStream, String> {
        let connect = |path: PathBuf| UnixStream::connect(path);
        let found = connect(socket::find(data));
        match found {
            Ok(stream) => Ok(stream),
            Err(_) if hook == HookName::SessionStart => {
                let started = stdio_gateway::start(&self.places, &self.log, data);
                started.map_err(|failure| failure.words().to_owned())?;
                connect(socket::find(data)).map_err(|error| self.absent(data, &error))
            }
            Err(error) => Err(self.absent(data, &error)),
        }
    }

    fn absent(&self, data: &Path, error: &io::Error) -> String {
        let folder = data.display();
        format!(
            "Highwater does not answer on `{folder}` ({error}), so nothing can be decided. Start it with `highwater serve`, \
             or take its hooks out with `highwater disconnect {}`.",
            self.client
        )
    }

    /// Tells the event and hears the answer.
    fn converse(
        &self,
        mut stream: UnixStream,
        hook: HookName,
        input: &[u8],
    ) -> Result<(Verdict, UnixStream), String> {
        let lost = |error: io::Error| format!("the gateway did not answer: {error}");
        let left = self.deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left)).map_err(lost)?;
        stream.set_write_timeout(Some(left)).map_err(lost)?;
        let hello = Hello::hook(HookHello {
            host: self.client.name().to_owned(),
            event: hook.name().to_owned(),
            server: self.server.clone(),
            bytes: input.len(),
        });
        let first = line(&hello).map_err(|error| error.to_string())?;
        stream.write_all(&first).and_then(|()| stream.write_all(input)).map_err(lost)?;
        let mut said = Vec::new();
        let bound = u64::try_from(LONGEST_HELLO).unwrap_or(u64::MAX);
        let reader = stream.try_clone().map_err(lost)?;
        BufReader::new(reader).take(bound).read_until(b'\n', &mut said).map_err(lost)?;
        let welcome: Welcome = serde_json::from_slice(&said).map_err(|_| GARBLED.to_owned())?;
        if let Some(why) = welcome.refused {
            return Err(format!("Highwater could not take the event in: {why}"));
        }
        let reply = welcome.answer.ok_or_else(|| GARBLED.to_owned())?;
        let reply: HookReply = serde_json::from_str(reply.get()).map_err(|_| GARBLED.to_owned())?;
        Ok((reply.verdict(), stream))
    }
}

const GARBLED: &str = "the gateway's answer is garbled; it may be of another version of Highwater";

fn unanswered(hook: Option<HookName>, why: String) -> Unanswered {
    Unanswered { hook, why }
}

/// Whether a person sits at the host, as far as it says. Where it does not say, nobody does.
fn is_attended() -> bool {
    variable("CLAUDE_CODE_SESSION_ATTENDED").as_deref() == Some("1")
}

/// Leaves behind what the host reads.
fn print(output: HookOutput) -> Result<(), Failure> {
    let HookOutput { stdout, stderr, exit } = output;
    let mut out = io::stdout().lock();
    let printed = out.write_all(stdout.as_bytes()).and_then(|()| out.flush());
    if exit == 0 && printed.is_ok() {
        return Ok(());
    }
    Err(Failure::hook(stderr.trim_end()))
}

fn host(name: &str) -> Result<Host, String> {
    Host::from_name(name).ok_or_else(|| {
        let known: Vec<_> = Host::ALL.iter().map(|host| host.name()).collect();
        format!("there is no such host; known are {}", known.join(", "))
    })
}

fn event(name: &str) -> Result<HookName, String> {
    HookName::from_name(name).ok_or_else(|| "there is no such event".to_owned())
}
