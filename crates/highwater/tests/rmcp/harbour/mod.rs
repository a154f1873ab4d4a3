//! A harbour: a small server on the SDK, which stands behind the gateway as a foreign one.
//!
//! It runs inside the test, so that the test sees what really arrived. The gateway reaches it over HTTP, or starts a
//! child process that does nothing but carry bytes between its own standard streams and the harbour.

mod answers;

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::model::*;
use rmcp::service::{RequestContext, RoleServer, SubscriptionSink};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{Peer, ServiceExt};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};

use super::client::{model, soon};

/// The log book, which can be read and watched.
pub(crate) const LOG_BOOK: &str = "harbour://log";
/// What the harbour keeps for itself while it waits for an answer.
const STATE: &str = "berth 7 is held";

/// Which versions a harbour speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    /// Every version the SDK knows.
    Everything,
    /// Only those with a handshake.
    Legacy,
}

/// The server. Its clones are one harbour.
#[derive(Clone)]
pub(crate) struct Harbour {
    speaks: Speaks,
    state: Arc<State>,
}

struct State {
    /// What happened, for the test to wait for.
    notes: watch::Sender<Vec<String>>,
    /// A reporter waits for this before it goes.
    thanks: Notify,
    /// Whether there is one tool more.
    has_crane: AtomicBool,
    /// Who watches the log book, in the legacy era.
    watchers: Mutex<Vec<Peer<RoleServer>>>,
    /// Who listens, in the modern era.
    listeners: Mutex<Vec<SubscriptionSink>>,
}

/// What a question leads to: an answer, or the demand for one.
enum Asked {
    Answer(Value),
    Demand(CallToolResponse),
}

// === impl Harbour ===

impl Harbour {
    pub(crate) fn new(speaks: Speaks) -> Self {
        let state = State {
            notes: watch::Sender::default(),
            thanks: Notify::new(),
            has_crane: AtomicBool::new(false),
            watchers: Mutex::default(),
            listeners: Mutex::default(),
        };
        Self { speaks, state: Arc::new(state) }
    }

    /// Opens the harbour to child processes; gives the server's entry in a configuration.
    pub(crate) async fn behind_stdio(&self) -> Value {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let harbour = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let harbour = harbour.clone();
                tokio::spawn(async move {
                    if let Ok(running) = harbour.serve(stream.into_split()).await {
                        running.waiting().await.ok();
                    }
                });
            }
        });
        let carry = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&3 & exec cat >&3");
        json!({ "command": "bash", "args": ["-c", carry] })
    }

    /// Opens the harbour over HTTP; gives the server's entry in a configuration.
    pub(crate) async fn behind_http(&self) -> Value {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let harbour = self.clone();
        let sessions = Arc::new(LocalSessionManager::default());
        let service = StreamableHttpService::new(
            move || Ok(harbour.clone()),
            sessions,
            StreamableHttpServerConfig::default(),
        );
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let service = service.clone();
                let answer = service_fn(move |request| {
                    let service = service.clone();
                    async move { Ok::<_, Infallible>(service.handle(request).await) }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
            }
        });
        json!({ "url": format!("http://127.0.0.1:{port}/mcp") })
    }

    /// Waits until something was noted.
    pub(crate) async fn noted(&self, note: &str) {
        let mut notes = self.state.notes.subscribe();
        let noted = notes.wait_for(|notes| notes.iter().any(|each| each == note));
        soon(&format!("the note `{note}`"), noted).await.unwrap();
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.state.notes.borrow().clone()
    }

    /// Lets a reporter go.
    pub(crate) fn thank(&self) {
        self.state.thanks.notify_one();
    }

    fn note(&self, note: impl Into<String>) {
        self.state.notes.send_modify(|notes| notes.push(note.into()));
    }

    fn tools(&self) -> Vec<Tool> {
        let mut tools = vec![json!({
            "name": "weigh", "title": "Weigh a ship", "description": "Weighs a ship.",
            "inputSchema": {
                "type": "object", "required": ["ship"],
                "properties": { "ship": { "type": "string" }, "tons": { "type": "number" } },
            },
            "outputSchema": { "type": "object", "properties": { "tons": { "type": "number" } } },
            "annotations": { "readOnlyHint": true, "openWorldHint": false },
            "_meta": { "harbour.example/berth": 7 },
        })];
        let plain = ["sail", "drift", "name_ship", "ask_model", "ask_roots", "run_aground", "sink", "report"];
        let crane = self.state.has_crane.load(Ordering::SeqCst).then_some("crane");
        for name in plain.into_iter().chain(["build_crane", "write_log"]).chain(crane) {
            tools.push(json!({ "name": name, "description": name, "inputSchema": { "type": "object" } }));
        }
        tools.into_iter().map(model).collect()
    }

    /// Asks the client: in the modern era by an answer that demands one, in the legacy era by a request.
    async fn ask(
        &self,
        params: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
        question: InputRequest,
    ) -> Result<Asked, ErrorData> {
        if is_modern(context) {
            let answer = params.input_responses.as_ref().and_then(|responses| responses.get("question"));
            let Some(answer) = answer else {
                let questions = [("question".to_owned(), question)].into();
                let demand = InputRequiredResult::new(Some(questions), Some(STATE.to_owned()));
                return Ok(Asked::Demand(demand.into()));
            };
            if params.request_state.as_deref() != Some(STATE) {
                let state = format!("the state came back as {:?}", params.request_state);
                return Err(ErrorData::invalid_params(state, None));
            }
            return Ok(Asked::Answer(answer.clone()));
        }
        let request = match question {
            InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
            InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
            InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
            other => return Err(ErrorData::internal_error(format!("no such question: {other:?}"), None)),
        };
        let answer = context.peer.send_request(request).await;
        let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(Asked::Answer(serde_json::to_value(answer).unwrap()))
    }

    async fn progress(&self, context: &RequestContext<RoleServer>, step: f64, total: f64) {
        let Some(token) = context.meta.get_progress_token() else { return };
        let words = format!("leg {step}");
        let step = ProgressNotificationParam::new(token, step).with_total(total).with_message(words);
        context.peer.notify_progress(step).await.unwrap();
    }

    async fn tell_of_the_crane(&self, context: &RequestContext<RoleServer>) {
        if is_modern(context) {
            let listeners = self.state.listeners.lock().unwrap().clone();
            for listener in listeners {
                // One that left or wants something else is not told.
                listener.notify_tool_list_changed().await.ok();
            }
        } else {
            context.peer.notify_tool_list_changed().await.unwrap();
        }
    }

    async fn tell_of_the_log_book(&self) {
        let listeners = self.state.listeners.lock().unwrap().clone();
        for listener in listeners {
            listener.notify_resource_updated(LOG_BOOK).await.ok();
        }
        let watchers = self.state.watchers.lock().unwrap().clone();
        for watcher in watchers {
            watcher.notify_resource_updated(ResourceUpdatedNotificationParam::new(LOG_BOOK)).await.ok();
        }
    }
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}
