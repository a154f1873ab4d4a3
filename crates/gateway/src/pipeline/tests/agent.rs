//! Clients that are values: of either era, in a session of their choice, with a token of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use highwater_core::id::VirtualServerId;
use highwater_mcp::era::Era;
use highwater_mcp::frame::Frame;
use highwater_mcp::method::Method;
use highwater_mcp::scan::ScanRules;
use highwater_store::SessionHandle;
use highwater_upstream::control::LogLevel;
use serde_json::{Value, json};
use tokio::sync::mpsc as channel;
use tokio::task::JoinHandle;

use crate::client::{Caller, Client, LegacySession, ModernClient, Said};
use crate::gateway::Gateway;
use crate::pipeline::Arrival;
use crate::session::Place;
use crate::tokens::Token;

/// ClientOptions a client is.
pub(super) struct ClientOptions<'a> {
    pub(super) era: Era,
    pub(super) capabilities: Value,
    /// The context in its address, which is a session of its own.
    pub(super) context: Option<&'a str>,
    /// The operator's own agent if nothing is said.
    pub(super) token: Option<Arc<Token>>,
    pub(super) virtual_server: &'a str,
    pub(super) name: &'a str,
    /// Whether it lets calls be signed by itself.
    pub(super) speaks_approval: bool,
    pub(super) log_level: Option<LogLevel>,
}

/// A client of the gateway.
pub(super) struct Agent {
    gateway: Arc<Gateway>,
    client: Client,
    next: AtomicU64,
}

/// One request and what came of it.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) answer: Value,
    /// What preceded the answer.
    pub(super) before: Vec<Value>,
}

/// A request under way.
pub(super) struct PendingRequest {
    client: Client,
    task: JoinHandle<Bytes>,
    messages: channel::Receiver<Bytes>,
    /// Whether the stream of the request is read.
    present: Arc<AtomicBool>,
}

// === impl ClientOptions ===

impl Default for ClientOptions<'_> {
    fn default() -> Self {
        Self {
            era: Era::Modern,
            capabilities: json!({}),
            context: None,
            token: None,
            virtual_server: "default",
            name: "test",
            speaks_approval: false,
            log_level: None,
        }
    }
}

// === impl Agent ===

impl Agent {
    pub(super) fn new(gateway: &Arc<Gateway>, who: ClientOptions<'_>) -> Self {
        let token = who.token.unwrap_or_else(|| Arc::clone(&gateway.tokens.agent));
        let virtual_server = VirtualServerId::new(who.virtual_server);
        let caller = gateway.caller(token, virtual_server, who.context, Place::Anywhere, None);
        let (capabilities, speaks_approval) = (who.capabilities.to_string(), who.speaks_approval);
        let client = match who.era {
            Era::Legacy => {
                let announced = capabilities.clone();
                let said = Said { capabilities, announced, speaks_approval, name: who.name.to_owned() };
                let out = (Box::new(|_: Bytes| ()) as _, Box::new(|| ()) as _);
                let session = LegacySession::new("s1".into(), caller, "2025-11-25", said, out);
                if let Some(level) = who.log_level {
                    session.set_log_level(level);
                }
                Client::Legacy(session)
            }
            Era::Modern => Client::Modern(Arc::new(ModernClient {
                caller,
                capabilities,
                speaks_approval,
                log_level: who.log_level,
            })),
        };
        Self { gateway: Arc::clone(gateway), client, next: AtomicU64::new(1) }
    }

    pub(super) fn caller(&self) -> &Caller {
        self.client.caller()
    }

    /// The agent session it belongs to.
    pub(super) fn session(&self) -> &SessionHandle {
        &self.caller().session
    }

    /// Calls a tool and waits for the answer.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.start_call(tool, arguments).finish().await.answer
    }

    /// Sends a request and waits for the answer.
    pub(super) async fn send(&self, method: &str, params: Value) -> Outcome {
        self.start(method, params).finish().await
    }

    /// The same with parameters as JSON text.
    pub(super) async fn send_text(&self, method: &str, params: &str) -> Outcome {
        self.start_text(method, params).finish().await
    }

    /// Sends a request once more that was answered with a question, and brings these answers.
    pub(super) async fn answer(&self, method: &str, params: &Value, asked: &Value, answers: Value) -> Value {
        let mut params = params.clone();
        params["requestState"] = asked["result"]["requestState"].clone();
        params["inputResponses"] = answers;
        self.send(method, params).await.answer
    }

    /// Begins to call a tool.
    pub(super) fn start_call(&self, tool: &str, arguments: Value) -> PendingRequest {
        self.start("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// A request as it arrives on the road, attended or not. It is awaited as long as the receiver is held.
    pub(super) fn arrival(
        &self,
        method: &str,
        params: &Value,
        attended: bool,
    ) -> (Arrival, channel::Receiver<Bytes>) {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let (outlet, messages) = channel::channel(64);
        let arrival = Arrival {
            client: self.client.clone(),
            session: self.session().clone(),
            host: None,
            method: Method::parse(method),
            frame: Frame::parse(Bytes::from(message), &ScanRules::FROM_CLIENT).unwrap(),
            outlet,
            attended,
            variant: None,
            world: self.gateway.world.load_full(),
        };
        (arrival, messages)
    }

    /// Sends a request.
    pub(super) fn start(&self, method: &str, mut params: Value) -> PendingRequest {
        if let Client::Modern(client) = &self.client {
            let capabilities: Value = serde_json::from_str(&client.capabilities).unwrap();
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        }
        self.start_text(method, &params.to_string())
    }

    /// The same with parameters as JSON text.
    pub(super) fn start_text(&self, method: &str, params: &str) -> PendingRequest {
        let id = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        let frame = Frame::parse(Bytes::from(message), &ScanRules::FROM_CLIENT).unwrap();
        let (outlet, messages) = channel::channel(64);
        let present = Arc::new(AtomicBool::new(true));
        if let Client::Legacy(session) = &self.client {
            let here = Arc::clone(&present);
            assert!(session.begin(&id).is_some());
            session.watch(&id, Box::new(move || here.load(Ordering::Relaxed)));
        }
        let (gateway, client) = (Arc::clone(&self.gateway), self.client.clone());
        let task = tokio::spawn(async move { gateway.serve(client, None, frame, outlet).await.bytes });
        PendingRequest { client: self.client.clone(), task, messages, present }
    }
}

// === impl PendingRequest ===

impl PendingRequest {
    /// The next thing that is said before the answer.
    pub(super) async fn next(&mut self) -> Value {
        let message = self.messages.recv().await.expect("the request is under way");
        serde_json::from_slice(&message).unwrap()
    }

    /// Answers a question that a legacy client was asked.
    pub(super) fn reply(&self, question: &Value, result: &Value) {
        self.respond(question, "result", result);
    }

    /// Answers with an error.
    pub(super) fn reply_error(&self, question: &Value, error: &Value) {
        self.respond(question, "error", error);
    }

    fn respond(&self, question: &Value, how: &str, what: &Value) {
        let Client::Legacy(session) = &self.client else { panic!("a modern client answers by its retry") };
        let message = json!({ "jsonrpc": "2.0", "id": question["id"], how: what }).to_string();
        session.answered(Frame::parse(Bytes::from(message), &ScanRules::FROM_CLIENT).unwrap());
    }

    /// Nobody reads the stream of the request any more.
    pub(super) fn leave(&self) {
        self.present.store(false, Ordering::Relaxed);
    }

    /// Gives the request up, as a client that cancels it.
    pub(super) async fn cancel(self) {
        self.task.abort();
        assert!(self.task.await.is_err_and(|error| error.is_cancelled()), "it was under way");
    }

    /// Whether it is answered.
    pub(super) fn is_over(&self) -> bool {
        self.task.is_finished()
    }

    /// Waits for the answer. Questions are left unanswered.
    pub(super) async fn finish(self) -> Outcome {
        self.finish_answering(|_, _| None).await
    }

    /// The same, answering what is asked on the way: method and parameters to a result.
    pub(super) async fn finish_answering(
        mut self,
        answering: impl Fn(&str, &Value) -> Option<Value>,
    ) -> Outcome {
        let mut before = Vec::new();
        // It is closed when the request is over.
        while let Some(message) = self.messages.recv().await {
            let message: Value = serde_json::from_slice(&message).unwrap();
            if let Some(method) = message["method"].as_str().filter(|_| message["id"].is_u64())
                && let Some(result) = answering(method, &message["params"])
            {
                self.reply(&message, &result);
            }
            before.push(message);
        }
        let answer = self.task.await.unwrap();
        Outcome { answer: serde_json::from_slice(&answer).unwrap(), before }
    }
}
