//! A raw MCP client for tests: both transports, both eras, and the exact bytes of everything that arrives.
//!
//! ```no_run
//! # async fn story() -> anyhow::Result<()> {
//! use highwater_testkit::client::{Era, Reply, Setup};
//! use serde_json::json;
//!
//! let client = Setup::http("http://127.0.0.1:7411/mcp")
//!     .token("hw_…")
//!     .era(Era::Modern)
//!     .capabilities(json!({ "elicitation": {} }))
//!     .answering(|_question| Reply::accept(json!({ "answer": "yes" })))
//!     .connect()
//!     .await?;
//! let answer = client.call("server__tool", json!({ "a": 1 })).await?;
//! assert_eq!(answer.text()?, "done");
//! # Ok(()) }
//! ```

mod core;
pub mod gateway;
mod http;
mod inbox;
mod message;
pub mod peer;
mod pending;
mod question;
mod request;
mod setup;
mod stdio;

use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::http::Method;
use anyhow::{Context, bail};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokio::task::AbortHandle;

pub use self::http::{HttpEvents, HttpReply};
pub use self::message::{Answer, Message};
pub use self::pending::{Listening, Pending};
pub use self::question::{Handler, Question, Reply};
pub use self::request::Request;
pub use self::setup::Setup;

use self::core::Core;
use self::http::HttpLine;
use self::setup::Way;
use self::stdio::StdioLine;

/// The version a legacy client asks for, unless told otherwise.
pub const LEGACY: &str = "2025-11-25";
/// The version a modern client speaks.
pub const MODERN: &str = "2026-07-28";

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// Which kind of MCP a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    Legacy,
    Modern,
}

/// A connected client.
pub struct Client {
    core: Arc<Core>,
    line: Line,
    era: Era,
    capabilities: Value,
    level: Mutex<Option<String>>,
    ids: AtomicU64,
    patience: Duration,
    /// What runs as long as the client does.
    tasks: Mutex<Vec<AbortHandle>>,
    greeting: Option<Message>,
}

#[derive(Clone)]
enum Line {
    Stdio(Arc<StdioLine>),
    Http(Arc<HttpLine>),
}

// === impl Client ===

impl Client {
    async fn connect(setup: Setup, greet: bool) -> anyhow::Result<Self> {
        let (core, mut outgoing) = Core::new(setup.handler);
        let core = Arc::new(core);
        let line = match setup.way {
            Way::Stdio(command) => Line::Stdio(Arc::new(StdioLine::start(*command, &core)?)),
            Way::Http { url, token } => Line::Http(Arc::new(HttpLine::new(&url, token, setup.era)?)),
        };
        let replying = line.clone();
        let replies = tokio::spawn(async move {
            while let Some(reply) = outgoing.recv().await {
                // A server that is gone needs no answer.
                replying.tell(reply).await.ok();
            }
        });
        let mut client = Self {
            core,
            line,
            era: setup.era,
            capabilities: setup.capabilities,
            level: Mutex::new(None),
            ids: AtomicU64::new(1),
            patience: setup.patience,
            tasks: Mutex::new(vec![replies.abort_handle()]),
            greeting: None,
        };
        if greet {
            client.greeting = Some(client.greet(&setup.version, &setup.name, setup.standing_stream).await?);
        }
        Ok(client)
    }

    async fn greet(&self, version: &str, name: &str, standing_stream: bool) -> anyhow::Result<Message> {
        if self.era == Era::Modern {
            let answer = self.request("server/discover", json!({})).await?;
            answer.ok()?;
            return Ok(answer.message);
        }
        let params = json!({ "protocolVersion": version, "capabilities": self.capabilities,
            "clientInfo": { "name": name, "version": "1" } });
        let answer = self.request("initialize", params).await?;
        answer.ok()?;
        self.notify("notifications/initialized", None).await?;
        if let (Line::Http(line), true) = (&self.line, standing_stream) {
            let stream = self.bounded("the stream", line.open_stream(&self.core)).await??;
            self.keep(tokio::spawn(stream).abort_handle());
        }
        Ok(answer.message)
    }

    pub fn era(&self) -> Era {
        self.era
    }

    /// What the server said of itself: the answer to `initialize` or `server/discover`.
    pub fn greeting(&self) -> Option<&Message> {
        self.greeting.as_ref()
    }

    /// The session id of a legacy client over HTTP.
    pub fn session(&self) -> Option<&str> {
        match &self.line {
            Line::Http(line) => line.session(),
            Line::Stdio(_) => None,
        }
    }

    /// Asks, answers whatever is asked in between, and gives the answer. An error of the other side is an answer.
    pub async fn request(&self, method: &str, params: Value) -> anyhow::Result<Answer> {
        self.send(Request::new(method).params(params)).await
    }

    /// Calls a tool.
    pub async fn call(&self, tool: &str, arguments: Value) -> anyhow::Result<Answer> {
        self.send(Request::call(tool, &arguments)).await
    }

    /// Sends a request and waits for its answer.
    pub async fn send(&self, request: Request) -> anyhow::Result<Answer> {
        self.begin(request).await?.answer().await
    }

    /// Sends a request; the answer can be waited for, or the request cancelled.
    pub async fn begin(&self, request: Request) -> anyhow::Result<Pending<'_>> {
        Pending::begin(self, request).await
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Option<Value>) -> anyhow::Result<()> {
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if let (Some(params), Some(members)) = (params, message.as_object_mut()) {
            members.insert("params".to_owned(), params);
        }
        self.bounded("the notification", self.line.tell(message.to_string())).await?
    }

    /// From which level on log messages are wanted.
    pub async fn set_log_level(&self, level: &str) -> anyhow::Result<()> {
        match self.era {
            Era::Legacy => {
                self.request("logging/setLevel", json!({ "level": level })).await?.ok()?;
            }
            Era::Modern => {
                *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level.to_owned());
            }
        }
        Ok(())
    }

    /// Opens a listen stream, in the modern era, and waits until it is acknowledged.
    pub async fn listen(&self, filter: Value) -> anyhow::Result<Listening<'_>> {
        Listening::open(self, filter).await
    }

    /// The next notification of a method that was not given out yet; waits for it if need be.
    pub async fn next_notification(&self, method: &str) -> anyhow::Result<Message> {
        self.next_notification_where(method, |_| true).await
    }

    /// The next notification of a method that fits and was not given out yet.
    pub async fn next_notification_where(
        &self,
        method: &str,
        fits: impl Fn(&Message) -> bool,
    ) -> anyhow::Result<Message> {
        let ours = |message: &Message| {
            message.is_notification() && message.method() == Some(method) && fits(message)
        };
        let taken = self.core.inbox.take(self.patience, &format!("`{method}`"), ours).await;
        taken.with_context(|| self.errors())
    }

    /// Everything that arrived so far, in order.
    pub fn arrivals(&self) -> Vec<Message> {
        self.core.inbox.all()
    }

    /// The questions the client was asked so far, in either era.
    pub fn asked(&self) -> Vec<Question> {
        self.core.asked()
    }

    /// Sends bytes as they are: over stdio with nothing added, not even a line end.
    pub async fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        match &self.line {
            Line::Stdio(line) => self.bounded("writing", line.write(bytes)).await?,
            Line::Http(_) => bail!("over HTTP use `exchange`"),
        }
    }

    /// The next response, whatever its id, that was not given out yet: the answer to what was written raw.
    pub async fn next_response(&self) -> anyhow::Result<Message> {
        let taken = self.core.inbox.take(self.patience, "response", Message::is_response).await;
        taken.with_context(|| self.errors())
    }

    /// Does one HTTP exchange with the client's own headers, of which `headers` replaces some; an empty value
    /// removes one. Nothing is added to the body.
    pub async fn exchange(
        &self,
        method: Method,
        body: impl Into<Bytes>,
        headers: &[(&str, &str)],
    ) -> anyhow::Result<HttpReply> {
        let Line::Http(line) = &self.line else { bail!("over stdio use `write`") };
        self.bounded("the exchange", line.exchange(method, body.into(), &owned(headers))).await?
    }

    /// The same for an answer that is a stream of events.
    pub async fn open(
        &self,
        method: Method,
        body: impl Into<Bytes>,
        headers: &[(&str, &str)],
    ) -> anyhow::Result<HttpEvents> {
        let Line::Http(line) = &self.line else { bail!("over stdio there are no events") };
        let headers = owned(headers);
        let opening = line.open(method, body.into(), &headers, self.patience);
        self.bounded("the answer", opening).await?
    }

    /// Leaves as the transport wants it: closes the input and waits for the process, or ends the session.
    pub async fn close(self) -> anyhow::Result<Option<ExitStatus>> {
        match &self.line {
            Line::Stdio(line) => {
                line.close().await;
                Ok(Some(line.wait(self.patience).await?))
            }
            Line::Http(line) => {
                if line.session().is_some() {
                    self.bounded("the end of the session", line.end()).await??;
                }
                Ok(None)
            }
        }
    }

    /// The process a stdio client started.
    pub async fn pid(&self) -> Option<u32> {
        match &self.line {
            Line::Stdio(line) => line.pid().await,
            Line::Http(_) => None,
        }
    }

    /// What the process of a stdio client said on standard error.
    pub fn errors(&self) -> String {
        match &self.line {
            Line::Stdio(line) => format!("standard error: {}", line.errors()),
            Line::Http(_) => "over HTTP".to_owned(),
        }
    }

    fn next_id(&self) -> String {
        self.ids.fetch_add(1, Ordering::Relaxed).to_string()
    }

    /// What `_meta` says besides what the request itself does.
    fn meta(&self) -> Map<String, Value> {
        let mut meta = Map::new();
        if self.era == Era::Modern {
            meta.insert(META_VERSION.to_owned(), MODERN.into());
            meta.insert(META_CAPABILITIES.to_owned(), self.capabilities.clone());
            meta.insert(META_CLIENT.to_owned(), json!({ "name": "test", "version": "1" }));
            if let Some(level) = &*self.level.lock().unwrap_or_else(PoisonError::into_inner) {
                meta.insert(META_LOG_LEVEL.to_owned(), level.as_str().into());
            }
        }
        meta
    }

    fn keep(&self, task: AbortHandle) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(task);
    }

    async fn bounded<T>(&self, what: &str, work: impl Future<Output = T>) -> anyhow::Result<T> {
        let done = tokio::time::timeout(self.patience, work).await;
        done.with_context(|| format!("{what} took longer than {:?}", self.patience))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        for task in self.tasks.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            task.abort();
        }
    }
}

fn owned(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

// === impl Line ===

impl Line {
    async fn tell(&self, text: String) -> anyhow::Result<()> {
        match self {
            Self::Stdio(line) => line.write(format!("{text}\n").as_bytes()).await,
            Self::Http(line) => line.tell(text).await,
        }
    }
}
