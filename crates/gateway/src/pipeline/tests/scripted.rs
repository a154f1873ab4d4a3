//! Servers that a test scripts, behind the same trait as real ones: nothing reaches them but a permitted action, and what
//! did is in their journal.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use highwater_core::decide::PermittedAction;
use highwater_core::id::UpstreamId;
use highwater_mcp::era::{ClientView, Era, request_params};
use highwater_mcp::frame::Frame;
use highwater_mcp::scan::ScanRules;
use highwater_upstream::control::{ControlMessage, ControlReply, ListKind, Listing};
use highwater_upstream::error::{Cause, UpstreamError};
use highwater_upstream::event::{AnswerSlot, Ask, CallEvent, CallSink, Retry};
use highwater_upstream::{
    CallClient, Connection, Greeting, Health, HealthState, Perform, Performing, Reply, ServerSpec, WriteTurn,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// What a scripted server does with a call, step by step.
#[derive(Clone)]
pub(super) enum Step {
    /// Sends a notification of this method and these parameters.
    Notify(&'static str, Value),
    /// Says how far it is.
    Progress(Value),
    /// Asks the client something (legacy era). The answer is in the journal as `answer`, null if there is none.
    Ask(&'static str, Value),
    /// Waits until the test lets it go on.
    Wait(Arc<Notify>),
    /// Lets the test do something.
    Do(Arc<dyn Fn() + Send + Sync>),
    /// Loses the connection, and goes on if the call may be sent again.
    Break {
        /// Whether anything may have arrived.
        sent: bool,
    },
    /// Answers with this result.
    Answer(Value),
    /// Answers with this JSON-RPC error.
    Error(Value),
    /// Fails without an answer.
    Fail(Cause, bool),
}

/// One server and what it has heard.
pub(super) struct Script {
    pub(super) tools: Mutex<Vec<Value>>,
    resources: Vec<Value>,
    prompts: Vec<Value>,
    capabilities: Value,
    era: Era,
    /// The connection it is on.
    connection: AtomicU64,
    /// How many connections to it have broken.
    breaks: AtomicU64,
    /// How many more places there are in its line of writes.
    places: AtomicUsize,
    /// The steps of each call, by tool or method; the last of them counts for all that follow.
    steps: Mutex<HashMap<String, Vec<Vec<Step>>>>,
    journal: Mutex<Vec<JournalEntry>>,
    arrived: Notify,
}

/// Something that reached a server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JournalEntry {
    pub(super) method: String,
    pub(super) params: Value,
    /// The same byte for byte.
    pub(super) text: String,
}

/// A scripted server, as the gateway sees it.
pub(super) struct ScriptedServer {
    spec: ServerSpec,
    script: Arc<Script>,
}

// === impl Step ===

impl Step {
    /// Answers with a text.
    pub(super) fn say(text: &str) -> Self {
        Self::Answer(json!({ "content": [{ "type": "text", "text": text }] }))
    }

    pub(super) fn run(act: impl Fn() + Send + Sync + 'static) -> Self {
        Self::Do(Arc::new(act))
    }
}

// === impl Script ===

impl Script {
    /// A server of the legacy era with these tools.
    pub(super) fn of(tools: impl Into<Vec<Value>>) -> Self {
        Self {
            tools: Mutex::new(tools.into()),
            resources: Vec::new(),
            prompts: Vec::new(),
            capabilities: json!({ "tools": {}, "resources": {}, "prompts": {}, "completions": {} }),
            era: Era::Legacy,
            connection: AtomicU64::new(1),
            breaks: AtomicU64::new(0),
            places: AtomicUsize::new(usize::MAX),
            steps: Mutex::default(),
            journal: Mutex::default(),
            arrived: Notify::new(),
        }
    }

    /// The same of another era.
    pub(super) fn in_era(self, era: Era) -> Self {
        Self { era, ..self }
    }

    /// The same with this among its capabilities.
    pub(super) fn declaring(mut self, key: &str, value: Value) -> Self {
        self.capabilities[key] = value;
        self
    }

    pub(super) fn with_resources(self, resources: impl Into<Vec<Value>>) -> Self {
        Self { resources: resources.into(), ..self }
    }

    pub(super) fn with_prompts(self, prompts: impl Into<Vec<Value>>) -> Self {
        Self { prompts: prompts.into(), ..self }
    }

    /// What the next call of a tool, or of a method, does. Several are several calls.
    pub(super) fn on(&self, what: &str, steps: impl Into<Vec<Step>>) {
        self.steps.lock().unwrap().entry(what.to_owned()).or_default().push(steps.into());
    }

    /// From now on it is another process.
    pub(super) fn restart(&self) {
        self.connection.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets how many further writes can line up.
    pub(super) fn leave_places(&self, places: usize) {
        self.places.store(places, Ordering::Relaxed);
    }

    /// Everything that arrived.
    pub(super) fn journal(&self) -> Vec<JournalEntry> {
        self.journal.lock().unwrap().clone()
    }

    /// The methods of everything that arrived.
    pub(super) fn methods(&self) -> Vec<String> {
        self.journal().into_iter().map(|heard| heard.method).collect()
    }

    /// The parameters of everything that arrived of one method.
    pub(super) fn of_method(&self, method: &str) -> Vec<Value> {
        self.journal().into_iter().filter(|heard| heard.method == method).map(|heard| heard.params).collect()
    }

    /// How often a tool was run.
    pub(super) fn runs(&self, tool: &str) -> usize {
        self.of_method("tools/call").iter().filter(|params| params["name"] == tool).count()
    }

    /// Waits until the journal has this many entries.
    pub(super) async fn reached(&self, count: usize) {
        loop {
            let next = self.arrived.notified();
            if self.journal.lock().unwrap().len() >= count {
                return;
            }
            next.await;
        }
    }

    fn note(&self, method: &str, text: &str) {
        let params = serde_json::from_str(text).unwrap();
        let heard = JournalEntry { method: method.to_owned(), params, text: text.to_owned() };
        self.journal.lock().unwrap().push(heard);
        self.arrived.notify_waiters();
    }

    fn next_steps(&self, what: &str, otherwise: &str) -> Vec<Step> {
        let mut steps = self.steps.lock().unwrap();
        let name = if steps.contains_key(what) { what } else { otherwise };
        match steps.get_mut(name) {
            Some(queue) if queue.len() > 1 => queue.remove(0),
            Some(queue) => queue.first().cloned().unwrap_or_default(),
            None => vec![Step::say("done")],
        }
    }
}

// === impl ScriptedServer ===

impl ScriptedServer {
    pub(super) fn new(spec: ServerSpec, script: Arc<Script>) -> Self {
        Self { spec, script }
    }

    fn failure(&self, cause: Cause, sent: bool) -> UpstreamError {
        UpstreamError { upstream: self.spec.id.clone(), cause, sent }
    }

    fn reply(&self, message: &Value) -> Reply {
        Reply { frame: said(message), era: self.script.era, number: 1 }
    }

    async fn run(
        &self,
        permitted: PermittedAction,
        client: CallClient<'_>,
        events: &CallSink,
    ) -> Result<Reply, UpstreamError> {
        let connection = || Connection { number: self.connection(), beside: None };
        // A server that came back may be another, and is looked at before it is told anything.
        if let Some(judged_server) =
            client.definition_guard.filter(|judged_server| !judged_server.admits(&connection()))
        {
            judged_server.look(&connection()).await;
            if !judged_server.admits(&connection()) {
                return Err(self.failure(Cause::Changed, false));
            }
        }
        let action = permitted.action();
        let view =
            ClientView { capabilities: client.capabilities, client_info: "{}", log_level: client.log_level };
        let params = request_params(Some(action.params()), client.meta, self.script.era, None, &view);
        let params = params.as_deref().unwrap_or("{}");
        self.script.note(action.method(), params);
        for step in self.script.next_steps(action.target(), action.method()) {
            match step {
                Step::Notify(method, params) => {
                    let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
                    events.send(CallEvent::Notification(said(&message))).await.ok();
                }
                Step::Progress(params) => {
                    let method = "notifications/progress";
                    let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
                    events.send(CallEvent::Progress(said(&message))).await.ok();
                }
                Step::Ask(method, params) => {
                    let (answer, given) = AnswerSlot::pair();
                    let params = Some(Bytes::from(params.to_string()));
                    events.send(CallEvent::Ask(Ask { method: method.to_owned(), params, answer })).await.ok();
                    let given = given.await;
                    self.script.note("answer", given.as_deref().unwrap_or("null"));
                }
                Step::Wait(signal) => signal.notified().await,
                Step::Do(act) => act(),
                Step::Break { sent } => {
                    let lost = self.failure(Cause::Gone("lost".to_owned()), sent);
                    let (retry, go) = Retry::new(2, &lost);
                    events.send(CallEvent::Retry(retry)).await.ok();
                    go.await.map_err(|_| lost)?;
                    self.script.note(action.method(), params);
                }
                Step::Answer(result) => {
                    return Ok(self.reply(&json!({ "jsonrpc": "2.0", "id": 1, "result": result })));
                }
                Step::Error(error) => {
                    return Ok(self.reply(&json!({ "jsonrpc": "2.0", "id": 1, "error": error })));
                }
                Step::Fail(cause, sent) => return Err(self.failure(cause, sent)),
            }
        }
        std::future::pending().await
    }
}

fn said(message: &Value) -> Frame {
    Frame::parse(Bytes::from(message.to_string()), &ScanRules::FROM_SERVER).unwrap()
}

impl Perform for ScriptedServer {
    fn id(&self) -> &UpstreamId {
        &self.spec.id
    }

    fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    fn health(&self) -> Health {
        Health {
            state: HealthState::Up,
            era: Some(self.script.era),
            version: None,
            in_flight: 0,
            starts: 1,
            last_error: None,
            stderr: Vec::new(),
            own_stderr: Vec::new(),
            pid: None,
        }
    }

    fn connection(&self) -> Option<u64> {
        Some(self.script.connection.load(Ordering::Relaxed))
    }

    fn breaks(&self) -> u64 {
        self.script.breaks.load(Ordering::Relaxed)
    }

    fn enqueue(&self) -> Result<Option<WriteTurn>, UpstreamError> {
        let one_less = |places: usize| places.checked_sub(1);
        let taken = self.script.places.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        taken.map(|_| None).map_err(|_| self.failure(Cause::ShuttingDown, false))
    }

    fn greet(&self) -> Performing<'_, Result<Arc<Greeting>, UpstreamError>> {
        let version = match self.script.era {
            Era::Legacy => "2025-11-25",
            Era::Modern => "2026-07-28",
        };
        let greeting = Greeting {
            era: self.script.era,
            version: version.to_owned(),
            capabilities: Bytes::from(self.script.capabilities.to_string()),
            instructions: None,
            server_info: None,
        };
        Box::pin(std::future::ready(Ok(Arc::new(greeting))))
    }

    fn control(&self, message: ControlMessage) -> Performing<'_, Result<ControlReply, UpstreamError>> {
        let items = match message {
            ControlMessage::List(ListKind::Tools) => self.script.tools.lock().unwrap().clone(),
            ControlMessage::List(ListKind::Resources) => self.script.resources.clone(),
            ControlMessage::List(ListKind::Prompts) => self.script.prompts.clone(),
            _ => return Box::pin(std::future::ready(Ok(ControlReply::Done))),
        };
        let items = items.iter().map(|item| Bytes::from(item.to_string())).collect();
        let listing = ControlReply::Listing(Listing { items, ..Listing::default() });
        Box::pin(std::future::ready(Ok(listing)))
    }

    fn perform<'a>(
        &'a self,
        permitted: PermittedAction,
        client: CallClient<'a>,
        events: &'a CallSink,
        _turn: Option<WriteTurn>,
    ) -> Performing<'a, Result<Reply, UpstreamError>> {
        Box::pin(self.run(permitted, client, events))
    }

    fn shutdown(&self, _grace: Duration) -> Performing<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
