//! A server that says exactly what a script says, byte for byte, and notes exactly what it heard.
//!
//! A script is a JSON object: what is asked, and the list of messages that answer it. What is asked is a method, or a
//! method and a name (`tools/call odd`, `resources/read odd://thing`); with ` again` behind it, the request that
//! brings answers to questions, and with its `requestState` behind that, the one that brings this state. In a message `$ID` stands for the id of the request and `$TOKEN` for its progress
//! token. `$WAIT` in place of a message waits until the client has answered a question, `$HOLD` waits forever, and
//! `$UNTIL ` with a path waits until there is such a file. What stands behind `$ASIDE ` goes by the standing stream of
//! the legacy session over HTTP that the request is of, once that is open. Who puts another script into the place of the file
//! has a server that says something else from then on.

mod gate;
mod http;
mod stdio;

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

pub use self::gate::GateFile;
use self::gate::{Gate, Said};
pub use self::http::serve as serve_http;
pub use self::stdio::serve as serve_stdio;

/// How many messages may wait to be sent.
const QUEUE: usize = 16;
const WAIT: &str = "$WAIT";
const HOLD: &str = "$HOLD";
const ASIDE: &str = "$ASIDE ";
const UNTIL: &str = "$UNTIL ";

/// How often it is looked whether a file is there.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The server.
pub struct Scripted {
    script: PathBuf,
    journal: Mutex<File>,
    gate: Option<Gate>,
    /// How many answers to questions have come.
    answers: watch::Sender<usize>,
    /// The standing streams of legacy clients over HTTP, by their sessions; that of HTTP+SSE without one.
    standing: watch::Sender<HashMap<String, mpsc::Sender<String>>>,
    /// How many sessions there were.
    sessions: AtomicUsize,
}

/// What came in.
enum Incoming {
    /// A request, its messages, and the id they answer.
    Request(Lines),
    /// Something that gets no answer.
    Rest,
}

/// The messages that answer one request.
struct Lines {
    method: String,
    known: bool,
    messages: Vec<String>,
    /// How many answers had come when the request did.
    answers: usize,
    /// The session that the request is of.
    session: String,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    name: Option<String>,
    uri: Option<String>,
    request_state: Option<String>,
    #[serde(borrow)]
    input_responses: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta<'a> {
    #[serde(borrow)]
    progress_token: Option<&'a RawValue>,
}

/// What is asked, and what answers it.
type Script = HashMap<String, Vec<String>>;

// === impl Scripted ===

impl Scripted {
    /// A server with this script that notes in this file, with a gate before one of its tools if there is a file for it.
    pub fn new(script: &Path, journal: &Path, gate: Option<&Path>) -> anyhow::Result<Arc<Self>> {
        read(script)?;
        let journal = OpenOptions::new().create(true).append(true).open(journal);
        let journal = Mutex::new(journal.context("cannot open the journal")?);
        Ok(Arc::new(Self {
            script: script.to_owned(),
            journal,
            gate: gate.map(Gate::new).transpose()?,
            answers: watch::Sender::new(0),
            standing: watch::Sender::default(),
            sessions: AtomicUsize::new(0),
        }))
    }

    /// Whether the script is that of a modern server.
    fn is_modern(&self) -> bool {
        self.script().contains_key("server/discover")
    }

    /// What it says now. A server without a script says nothing.
    fn script(&self) -> Script {
        read(&self.script).unwrap_or_default()
    }

    /// Notes what came and finds what answers it.
    fn hear(&self, text: &str, headers: Value) -> Incoming {
        let envelope: Option<Envelope<'_>> = serde_json::from_str(text).ok();
        let method = envelope.as_ref().and_then(|envelope| envelope.method.clone());
        let session = headers.get("mcp-session-id").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.note(&json!({ "method": method, "raw": text, "headers": headers }));
        let Some(Envelope { id: Some(id), params, .. }) = envelope else { return Incoming::Rest };
        let Some(method) = method else {
            self.answers.send_modify(|count| *count += 1);
            return Incoming::Rest;
        };
        let answers = *self.answers.borrow();
        if let Some(gate) = &self.gate {
            match gate.hear(id.get(), &method, params.map_or("{}", RawValue::get), self.is_modern()) {
                Some(Said::Answer(messages)) => {
                    return Incoming::Request(Lines { method, known: true, messages, answers, session });
                }
                Some(Said::Open(arguments)) => {
                    self.note(&json!({ "method": "executed", "raw": arguments, "headers": null }));
                }
                None => {}
            }
        }
        let params: Params<'_> =
            params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default();
        let again = if params.input_responses.is_some() { " again" } else { "" };
        let name = params.name.or(params.uri).map(|name| format!("{method} {name}{again}"));
        let changed = self.gate.as_ref().is_some_and(Gate::is_changed);
        let script = self.script();
        let changed = changed.then(|| script.get(&format!("{method} changed"))).flatten();
        let stated = name.as_ref().zip(params.request_state).map(|(name, state)| format!("{name} {state}"));
        let lines = stated.and_then(|stated| script.get(&stated));
        let lines = lines.or_else(|| name.and_then(|name| script.get(&name))).or(changed);
        let lines = lines.or_else(|| script.get(&method));
        let token = params.meta.and_then(|meta| meta.progress_token).map(RawValue::get);
        let unknown = [r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"not in the script"}}"#];
        let messages = match lines {
            Some(lines) => lines.iter().filter_map(|line| filled(line, id.get(), token)).collect(),
            None => unknown.iter().filter_map(|line| filled(line, id.get(), token)).collect(),
        };
        Incoming::Request(Lines { method, known: lines.is_some(), messages, answers, session })
    }

    /// Says the messages, one after the other.
    async fn say(&self, lines: Lines, out: mpsc::Sender<String>) {
        let (mut expected, mut count) = (lines.answers, self.answers.subscribe());
        for message in lines.messages {
            match message.as_str() {
                HOLD => std::future::pending().await,
                WAIT => {
                    expected += 1;
                    // The sender is ours: it lives as long as this does.
                    count.wait_for(|count| *count >= expected).await.ok();
                }
                _ if message.starts_with(UNTIL) => {
                    let file = message.strip_prefix(UNTIL).unwrap_or_default();
                    while !Path::new(file).exists() {
                        tokio::time::sleep(LOOK_EVERY).await;
                    }
                }
                _ => {
                    let sent = match message.strip_prefix(ASIDE) {
                        Some(aside) => self.standing(&lines.session).await.send(aside.to_owned()).await,
                        None => out.send(message).await,
                    };
                    if sent.is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// The standing stream of a session, as soon as there is one.
    async fn standing(&self, session: &str) -> mpsc::Sender<String> {
        let mut standing = self.standing.subscribe();
        let open = standing.wait_for(|standing| standing.contains_key(session)).await.ok();
        match open.and_then(|standing| standing.get(session).cloned()) {
            Some(open) => open,
            // The sender is ours: it lives as long as this does.
            None => std::future::pending().await,
        }
    }

    fn note(&self, line: &Value) {
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        // One write per line: a reader never sees half of one. A full disk fails the test that reads it.
        journal.write_all(format!("{line}\n").as_bytes()).ok();
    }
}

fn read(script: &Path) -> anyhow::Result<Script> {
    let text =
        std::fs::read_to_string(script).with_context(|| format!("cannot read `{}`", script.display()))?;
    serde_json::from_str(&text).context("no script")
}

/// A line with its places filled in; none if it speaks of a token that was not given.
fn filled(line: &str, id: &str, token: Option<&str>) -> Option<String> {
    let line = line.replace("$ID", id);
    match token {
        Some(token) => Some(line.replace("$TOKEN", token)),
        None => (!line.contains("$TOKEN")).then_some(line),
    }
}
