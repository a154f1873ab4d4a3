//! The protocol around an example server: one message in, the messages it causes out. Legacy clients
//! shake hands first, modern ones describe every request; both may share a process.

use std::io::{BufRead, Read, Write};

use serde_json::{Value, json};

use super::journal::Journal;
use super::story::{Level, Story};
use super::subscription::Subscriptions;
use super::wire::{BATCHING, Cache, Era, Request, RpcError, notification, result_message};

/// The longest line that is read. The largest argument a tool accepts is a quarter of this.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// What a message may hold when it is an array of messages.
const MAX_BATCH: usize = 64;

/// An example server with its protocol.
pub(crate) struct Server {
    pub(super) story: Box<dyn Story>,
    pub(super) options: Options,
    /// The handshake of the legacy client, once there was one.
    pub(super) legacy: Option<LegacyClient>,
    pub(super) subscriptions: Subscriptions,
    pub(super) journal: Option<Journal>,
}

/// What the command line decides about a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Whether replies carry annotations about their data.
    pub(crate) result_labels: bool,
    /// Whether `tools/resolve` is offered.
    pub(crate) resolve: bool,
}

/// What a legacy client said, which holds until it says something else.
#[derive(Debug)]
pub(super) struct LegacyClient {
    pub(super) version: &'static str,
    /// Nothing is logged until the client asks for a level.
    pub(super) log_level: Option<Level>,
}

/// The answer to a request, before its era has completed it.
pub(super) struct Answer {
    /// Notifications that belong before the result.
    pub(super) before: Vec<Value>,
    /// The result; a listening stream has none until it ends.
    pub(super) result: Option<(Value, Cache)>,
}

// === impl Answer ===

impl Answer {
    pub(super) fn new(result: Value, cache: Cache) -> Self {
        Self { before: Vec::new(), result: Some((result, cache)) }
    }
}

// === impl Server ===

impl Server {
    /// Puts the protocol around a story.
    pub(crate) fn new(story: Box<dyn Story>, options: Options, journal: Option<Journal>) -> Self {
        Self { story, options, legacy: None, subscriptions: Subscriptions::default(), journal }
    }

    /// Serves lines until the input ends. A client that no longer reads ends it, too.
    pub(crate) fn serve(&mut self, mut input: impl BufRead, mut output: impl Write) -> anyhow::Result<()> {
        while let Some(line) = next_line(&mut input)? {
            let messages = match line {
                InputLine::Text(text) if text.trim_ascii().is_empty() => continue,
                InputLine::Text(text) => self.receive(&text),
                InputLine::TooLong => vec![too_long()],
            };
            if !write_lines(&mut output, &messages)? {
                return Ok(());
            }
        }
        write_lines(&mut output, &self.close())?;
        Ok(())
    }

    /// Takes one line in and gives back the messages it causes, in order.
    pub(crate) fn receive(&mut self, line: &[u8]) -> Vec<Value> {
        match serde_json::from_slice(line) {
            Ok(Value::Array(batch)) => self.batch(batch),
            Ok(message) => self.message(message),
            Err(error) => {
                tracing::warn!(%error, "a line that is not JSON");
                vec![RpcError::parse("the line is not JSON").into_message(None)]
            }
        }
    }

    /// Ends every open stream, as a server does that is about to leave.
    pub(crate) fn close(&mut self) -> Vec<Value> {
        let info = self.server_info();
        self.subscriptions.end_all(&info)
    }

    fn batch(&mut self, batch: Vec<Value>) -> Vec<Value> {
        if self.legacy.as_ref().is_none_or(|client| client.version != BATCHING) {
            return vec![RpcError::invalid("batches belong to version `2025-03-26`").into_message(None)];
        }
        if batch.is_empty() || batch.len() > MAX_BATCH {
            let why = format!("a batch holds 1 to {MAX_BATCH} messages");
            return vec![RpcError::invalid(why).into_message(None)];
        }
        let messages: Vec<Value> = batch.into_iter().flat_map(|message| self.message(message)).collect();
        let (answers, mut lines): (Vec<_>, Vec<_>) =
            messages.into_iter().partition(|message| message.get("method").is_none());
        if !answers.is_empty() {
            lines.push(Value::Array(answers));
        }
        lines
    }

    fn message(&mut self, message: Value) -> Vec<Value> {
        let Value::Object(mut message) = message else {
            return vec![RpcError::invalid("a message is an object").into_message(None)];
        };
        let id = message.remove("id");
        let sound_id = id.clone().filter(|id| id.is_string() || id.is_number());
        let refuse = |why: &str| vec![RpcError::invalid(why).into_message(sound_id.clone())];
        if message.get("jsonrpc") != Some(&json!("2.0")) {
            return refuse("`jsonrpc` must be `2.0`");
        }
        let Some(method) = message.get("method") else {
            // This server asks nothing, so an answer has no question; answering it could start a storm.
            let answer = message.contains_key("result") || message.contains_key("error");
            return if answer { Vec::new() } else { refuse("`method` is missing") };
        };
        let Some(method) = method.as_str().map(str::to_owned) else {
            return refuse("`method` must be a string");
        };
        let params = message.remove("params");
        match (id, sound_id.clone()) {
            (None, _) => {
                self.notice(&method, params.as_ref());
                Vec::new()
            }
            (Some(_), None) => refuse("`id` must be a string or a number"),
            (Some(_), Some(id)) => self.request(id, &method, params),
        }
    }

    /// Hears a notification. Calls are answered before the next line is read, so what can still be
    /// cancelled is a listening stream.
    fn notice(&mut self, method: &str, params: Option<&Value>) {
        if method == "notifications/cancelled"
            && let Some(id) = params.and_then(|params| params.get("requestId"))
        {
            self.subscriptions.cancel(id);
        }
    }

    fn request(&mut self, id: Value, method: &str, params: Option<Value>) -> Vec<Value> {
        let request = match Request::new(id.clone(), method, params) {
            Ok(request) => request,
            Err(error) => return vec![error.into_message(Some(id))],
        };
        let outcome = match request.era {
            Era::Modern => request.check_modern().and_then(|()| self.answer_modern(&request)),
            Era::Legacy => self.answer_legacy(&request),
        };
        match outcome {
            Ok(answer) => {
                let mut messages = answer.before;
                if let Some((result, cache)) = answer.result {
                    messages.push(result_message(&id, request.era, result, cache, &self.server_info()));
                }
                messages
            }
            Err(error) => vec![error.into_message(Some(id))],
        }
    }

    /// Name and version, for display.
    pub(super) fn server_info(&self) -> Value {
        let about = self.story.definition();
        json!({
            "name": format!("highwater-example-{}", about.name),
            "title": about.title,
            "version": env!("CARGO_PKG_VERSION")
        })
    }

    /// Log messages of this server go out under its name.
    pub(super) fn log_message(&self, level: Level, text: &str) -> Value {
        let logger = &self.story.definition().name;
        notification("notifications/message", json!({ "level": level, "logger": logger, "data": text }))
    }
}

/// One line of input.
enum InputLine {
    Text(Vec<u8>),
    TooLong,
}

/// Reads a line of bounded length; a longer one is skipped to its end.
fn next_line(input: &mut impl BufRead) -> anyhow::Result<Option<InputLine>> {
    let mut line = Vec::new();
    if input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.ends_with(b"\n") || (line.len() as u64) < MAX_LINE_BYTES {
        return Ok(Some(InputLine::Text(line)));
    }
    loop {
        line.clear();
        let read = input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        if read == 0 || line.ends_with(b"\n") {
            return Ok(Some(InputLine::TooLong));
        }
    }
}

fn too_long() -> Value {
    RpcError::invalid(format!("a line is at most {MAX_LINE_BYTES} bytes long")).into_message(None)
}

/// Writes messages; `false` means that nobody reads them any more.
fn write_lines(output: &mut impl Write, messages: &[Value]) -> anyhow::Result<bool> {
    let mut bytes = Vec::new();
    for message in messages {
        serde_json::to_writer(&mut bytes, message)?;
        bytes.push(b'\n');
    }
    match output.write_all(&bytes).and_then(|()| output.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error.into()),
    }
}
