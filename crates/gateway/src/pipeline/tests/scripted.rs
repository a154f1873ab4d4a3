//! Servers that a test scripts, behind the same trait as real ones: nothing reaches them but a permitted action, and what
//! did is in their journal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use highwater_core::decide::PermittedAction;
use highwater_core::id::UpstreamId;
use highwater_mcp::era::{ClientMeta, ClientView, Era, request_params};
use highwater_mcp::frame::Frame;
use highwater_mcp::scan::ScanRules;
use highwater_upstream::control::{ControlMessage, ControlReply, ListKind, Listing};
use highwater_upstream::error::{Cause, UpstreamError};
use highwater_upstream::event::{AnswerSlot, Ask, CallEvent, CallSink, Retry};
use highwater_upstream::{
    CallClient, Greeting, Health, HealthState, Perform, Performing, Reply, ServerSpec, Turn,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// What a scripted server does with a call, step by step.
#[derive(Clone)]
pub(super) enum Step {
    /// Sends a notification of this method and these parameters.
    Notify(&'static str, Value),
    /// Asks the client something (legacy era). The answer is in the journal as `answer`.
    Ask(&'static str, Value),
    /// Waits until the test lets it go on.
    Wait(Arc<Notify>),
    /// Loses the connection, and goes on if the call may be sent again.
    Break {
        /// Whether anything may have arrived.
        sent: bool,
    },
    /// Answers with this result.
    Answer(Value),
    /// Answers with this JSON-RPC error.
    Error(i64, &'static str),
    /// Fails without an answer.
    Fail(Cause, bool),
}

/// One server and what it has heard.
#[derive(Default)]
pub(super) struct Script {
    pub(super) tools: Vec<Value>,
    pub(super) resources: Vec<Value>,
    pub(super) prompts: Vec<Value>,
    pub(super) modern: bool,
    /// The steps of each call, by tool or method; the last of them counts for all that follow.
    pub(super) steps: Mutex<HashMap<String, Vec<Vec<Step>>>>,
    pub(super) journal: Mutex<Vec<Heard>>,
}

/// Something that reached a server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Heard {
    pub(super) method: String,
    pub(super) params: Value,
}

/// A scripted server, as the gateway sees it.
pub(super) struct ScriptedServer {
    spec: ServerSpec,
    script: Arc<Script>,
}

// === impl Script ===

impl Script {
    /// What the next call of a tool, or of a method, does. Several are several calls.
    pub(super) fn on(&self, what: &str, steps: impl Into<Vec<Step>>) {
        self.steps.lock().unwrap().entry(what.to_owned()).or_default().push(steps.into());
    }

    /// Everything that arrived.
    pub(super) fn heard(&self) -> Vec<Heard> {
        self.journal.lock().unwrap().clone()
    }

    /// The parameters of everything that arrived of one method.
    pub(super) fn calls(&self, method: &str) -> Vec<Value> {
        self.heard().into_iter().filter(|heard| heard.method == method).map(|heard| heard.params).collect()
    }

    fn note(&self, method: &str, params: &str) {
        let params = serde_json::from_str(params).unwrap();
        self.journal.lock().unwrap().push(Heard { method: method.to_owned(), params });
    }

    fn next_steps(&self, what: &str, otherwise: &str) -> Vec<Step> {
        let mut steps = self.steps.lock().unwrap();
        let name = if steps.contains_key(what) { what } else { otherwise };
        match steps.get_mut(name) {
            Some(queue) if queue.len() > 1 => queue.remove(0),
            Some(queue) => queue.first().cloned().unwrap_or_default(),
            None => vec![Step::Answer(json!({ "content": [{ "type": "text", "text": "done" }] }))],
        }
    }
}

// === impl ScriptedServer ===

impl ScriptedServer {
    pub(super) fn new(spec: ServerSpec, script: Arc<Script>) -> Self {
        Self { spec, script }
    }

    fn era(&self) -> Era {
        if self.script.modern { Era::Modern } else { Era::Legacy }
    }

    fn failure(&self, cause: Cause, sent: bool) -> UpstreamError {
        UpstreamError { upstream: self.spec.id.clone(), cause, sent }
    }

    fn reply(&self, message: &Value) -> Reply {
        let frame = Frame::parse(Bytes::from(message.to_string()), &ScanRules::FROM_SERVER).unwrap();
        Reply { frame, era: self.era(), number: 1 }
    }

    async fn run(
        &self,
        permitted: PermittedAction,
        client: CallClient<'_>,
        events: &CallSink,
    ) -> Result<Reply, UpstreamError> {
        let action = permitted.action();
        let view = ClientView { capabilities: "{}", client_info: "{}", log_level: client.log_level };
        let meta = client.meta;
        let params = match meta {
            ClientMeta::Kept
            | ClientMeta::Replaced(_)
            | ClientMeta::Formal { .. }
            | ClientMeta::Absent(_) => request_params(Some(action.params()), meta, self.era(), None, &view),
        };
        self.script.note(action.method(), params.as_deref().unwrap_or("{}"));
        for step in self.script.next_steps(action.target(), action.method()) {
            match step {
                Step::Notify(method, params) => {
                    let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
                    let frame =
                        Frame::parse(Bytes::from(message.to_string()), &ScanRules::FROM_SERVER).unwrap();
                    events.send(CallEvent::Notification(frame)).await.ok();
                }
                Step::Ask(method, params) => {
                    let (answer, given) = AnswerSlot::pair();
                    let params = Some(Bytes::from(params.to_string()));
                    events.send(CallEvent::Ask(Ask { method: method.to_owned(), params, answer })).await.ok();
                    let given = given.await;
                    self.script.note("answer", given.as_deref().unwrap_or("null"));
                }
                Step::Wait(signal) => signal.notified().await,
                Step::Break { sent } => {
                    let lost = self.failure(Cause::Gone("lost".to_owned()), sent);
                    let (retry, go) = Retry::new(2, &lost);
                    events.send(CallEvent::Retry(retry)).await.ok();
                    go.await.map_err(|_| lost)?;
                    self.script.note(action.method(), params.as_deref().unwrap_or("{}"));
                }
                Step::Answer(result) => {
                    return Ok(self.reply(&json!({ "jsonrpc": "2.0", "id": 1, "result": result })));
                }
                Step::Error(code, message) => {
                    let error = json!({ "code": code, "message": message });
                    return Ok(self.reply(&json!({ "jsonrpc": "2.0", "id": 1, "error": error })));
                }
                Step::Fail(cause, sent) => return Err(self.failure(cause, sent)),
            }
        }
        std::future::pending().await
    }
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
            era: Some(self.era()),
            version: None,
            in_flight: 0,
            starts: 1,
            last_error: None,
            stderr: Vec::new(),
            pid: None,
        }
    }

    fn connection(&self) -> Option<u64> {
        Some(1)
    }

    fn line_up(&self) -> Result<Option<Turn>, UpstreamError> {
        Ok(None)
    }

    fn greet(&self) -> Performing<'_, Result<Arc<Greeting>, UpstreamError>> {
        let greeting = Greeting {
            era: self.era(),
            version: if self.script.modern { "2026-07-28" } else { "2025-11-25" }.to_owned(),
            capabilities: Bytes::from_static(br#"{"tools":{},"resources":{},"prompts":{}}"#),
            instructions: None,
            server_info: None,
        };
        Box::pin(std::future::ready(Ok(Arc::new(greeting))))
    }

    fn control(&self, message: ControlMessage) -> Performing<'_, Result<ControlReply, UpstreamError>> {
        let items = match message {
            ControlMessage::List(ListKind::Tools) => &self.script.tools,
            ControlMessage::List(ListKind::Resources) => &self.script.resources,
            ControlMessage::List(ListKind::Prompts) => &self.script.prompts,
            _ => return Box::pin(std::future::ready(Ok(ControlReply::Done))),
        };
        let items = items.iter().map(|item| Bytes::from(item.to_string())).collect();
        let listing = ControlReply::Listing(Listing { items, rest: Vec::new() });
        Box::pin(std::future::ready(Ok(listing)))
    }

    fn perform<'a>(
        &'a self,
        permitted: PermittedAction,
        client: CallClient<'a>,
        events: &'a CallSink,
        _turn: Option<Turn>,
    ) -> Performing<'a, Result<Reply, UpstreamError>> {
        Box::pin(self.run(permitted, client, events))
    }

    fn shutdown(&self, _grace: Duration) -> Performing<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
