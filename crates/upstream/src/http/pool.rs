//! Connections to one server. A connection is driven by whoever uses it, inside the task of the call: a task of its own
//! would cost each call two wake-ups, often of another core.

use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::http::Uri;
use bytes::Bytes;
use highwater_mcp::http1::Rest;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use tokio::runtime::{self, Handle};
use tokio::time::Instant;
use tower_service::Service;

use super::head::AnswerHead;
use super::line::{Broken, Line, Message};
use super::tls;
use crate::apart;
use crate::inlet::{Gathered, Unread};

/// How long an idle connection is kept. Common servers close theirs after five seconds; a call written to one
/// that is being closed is lost, and we may not repeat it.
const IDLE: Duration = Duration::from_secs(4);
/// How often a silent connection is probed, so that a stream whose peer has vanished ends.
const KEEPALIVE: Duration = Duration::from_secs(60);

type BoxError = Box<dyn Error + Send + Sync>;

/// The connections to one origin.
pub(super) struct Pool {
    origin: Uri,
    connector: Connector,
    /// The one used last is at the end.
    idle: Mutex<Idle>,
    most_idle: usize,
    /// Counts connections that the server closed before their time, and those that broke or could not be made.
    breaks: Arc<AtomicU64>,
}

/// TLS is set up only where an URL asks for it.
enum Connector {
    Plain(HttpConnector),
    Tls(HttpsConnector<HttpConnector>),
}

#[derive(Default)]
struct Idle {
    lines: Vec<IdleLine>,
    swept: bool,
}

/// A connection that waits for the next request.
struct IdleLine {
    since: Instant,
    /// The runtime that watches over its socket. Another could use it, at the price of waking this one.
    runtime: Option<runtime::Id>,
    /// Boxed, as everywhere here: a call hands it on a dozen times.
    line: Box<Line>,
}

/// An answer whose head has come.
pub(super) struct Answered {
    pub(super) head: AnswerHead,
    pub(super) body: ServerBody,
}

/// What a server sends after its head. Reading it drives the connection; read to its end, the connection is free for the
/// next request, dropped before, it is closed.
pub(super) struct ServerBody {
    line: Option<Box<Line>>,
    rest: Rest,
    pool: Arc<Pool>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// There was no connection, so nothing was sent.
    Connect(BoxError),
    /// Connections to the server broke, and nothing was sent over another.
    Disconnected,
    /// The connection broke after the request, or a part of it, may have been sent.
    Broken(Broken),
}

/// Why one connection gave no answer.
enum Unanswered {
    /// It was closed before anything was written; here is the request again.
    NotSent(Message),
    Broken(Broken),
}

// === impl Pool ===

impl Pool {
    pub(super) fn new(
        origin: Uri,
        tls: bool,
        connect_timeout: Duration,
        most_idle: usize,
        breaks: &Arc<AtomicU64>,
    ) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(connect_timeout));
        connector.set_keepalive(Some(KEEPALIVE));
        let connector = if tls {
            connector.enforce_http(false);
            let builder = HttpsConnectorBuilder::new().with_tls_config(tls::config());
            Connector::Tls(builder.https_only().enable_http1().wrap_connector(connector))
        } else {
            Connector::Plain(connector)
        };
        Self { origin, connector, idle: Mutex::default(), most_idle, breaks: Arc::clone(breaks) }
    }

    /// Sends a request over an idle connection or a new one.
    pub(super) async fn send(self: &Arc<Self>, message: Message) -> Result<Answered, Failure> {
        match self.send_over_idle(message).await {
            Ok(outcome) => outcome,
            Err(message) => self.send_over_new(message).await,
        }
    }

    /// As `send`, unless an idle connection turns out to be broken: then nothing is sent, since whoever answers a new one
    /// may be another server.
    pub(super) async fn send_to_same(self: &Arc<Self>, message: Message) -> Result<Answered, Failure> {
        let before = self.breaks.load(Ordering::Acquire);
        match self.send_over_idle(message).await {
            Ok(outcome) => outcome,
            Err(_) if self.breaks.load(Ordering::Acquire) != before => Err(Failure::Disconnected),
            Err(message) => self.send_over_new(message).await,
        }
    }

    /// Sends a request over an idle connection; gives it back where there is none.
    async fn send_over_idle(
        self: &Arc<Self>,
        mut message: Message,
    ) -> Result<Result<Answered, Failure>, Message> {
        while let Some(line) = self.take_idle() {
            match self.send_over(line, message).await {
                Ok(answer) => return Ok(Ok(answer)),
                Err(Unanswered::NotSent(back)) => {
                    self.note_break();
                    message = back;
                }
                Err(Unanswered::Broken(broken)) => {
                    self.note_break();
                    return Ok(Err(Failure::Broken(broken)));
                }
            }
        }
        Err(message)
    }

    async fn send_over_new(self: &Arc<Self>, message: Message) -> Result<Answered, Failure> {
        // Boxed: most requests find a line open.
        let line = apart(self.connect()).await.inspect_err(|_| self.note_break())?;
        self.send_over(line, message).await.map_err(|unanswered| {
            self.note_break();
            match unanswered {
                Unanswered::NotSent(_) => Failure::Connect("the connection was closed at once".into()),
                Unanswered::Broken(broken) => Failure::Broken(broken),
            }
        })
    }

    fn note_break(&self) {
        self.breaks.fetch_add(1, Ordering::AcqRel);
    }

    async fn connect(&self) -> Result<Box<Line>, Failure> {
        let origin = self.origin.clone();
        let connected = match &self.connector {
            Connector::Plain(connector) => {
                let stream = connector.clone().call(origin).await;
                MaybeHttpsStream::Http(stream.map_err(|error| Failure::Connect(error.into()))?)
            }
            Connector::Tls(connector) => connector.clone().call(origin).await.map_err(Failure::Connect)?,
        };
        Ok(Box::new(Line::new(connected)))
    }

    async fn send_over(
        self: &Arc<Self>,
        mut line: Box<Line>,
        message: Message,
    ) -> Result<Answered, Unanswered> {
        line.take(message);
        match poll_fn(|context| line.poll_answer(context)).await {
            Ok(mut head) => {
                let rest = std::mem::replace(&mut head.rest, Rest::Over);
                let mut body = ServerBody { line: Some(line), rest, pool: Arc::clone(self) };
                body.settle(true);
                Ok(Answered { head, body })
            }
            Err(broken) => Err(match line.give_back() {
                Some(message) => Unanswered::NotSent(message),
                None => Unanswered::Broken(broken),
            }),
        }
    }

    /// The connection of this runtime that was used last, if it is still open.
    fn take_idle(&self) -> Option<Box<Line>> {
        let here = here();
        loop {
            let mut idle = self.idle();
            let at = idle.lines.iter().rposition(|idle| idle.runtime == here)?;
            let IdleLine { since, mut line, .. } = idle.lines.remove(at);
            drop(idle);
            if since.elapsed() < IDLE {
                if line.is_free() {
                    return Some(line);
                }
                self.note_break();
            }
        }
    }

    fn put_back(self: &Arc<Self>, line: Box<Line>) {
        let mut idle = self.idle();
        if idle.lines.len() >= self.most_idle {
            return;
        }
        idle.lines.push(IdleLine { since: Instant::now(), runtime: here(), line });
        let first = !std::mem::replace(&mut idle.swept, true);
        drop(idle);
        if first && let Ok(runtime) = Handle::try_current() {
            runtime.spawn(sweep(Arc::downgrade(self)));
        }
    }

    /// Closes what was idle for too long. Says whether anything is left.
    fn expire(&self) -> bool {
        let mut idle = self.idle();
        let expired = idle.lines.iter().take_while(|idle| idle.since.elapsed() >= IDLE).count();
        let mut gone: Vec<_> = idle.lines.drain(..expired).collect();
        // What its server closed before the time is known before somebody needs it.
        let closed: Vec<_> = idle.lines.extract_if(.., |idle| !idle.line.is_free()).collect();
        if !closed.is_empty() {
            self.note_break();
            gone.extend(closed);
        }
        idle.swept = !idle.lines.is_empty();
        let left = idle.swept;
        drop(idle);
        drop(gone);
        left
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The runtime that this runs on.
fn here() -> Option<runtime::Id> {
    Handle::try_current().ok().map(|runtime| runtime.id())
}

/// Closes idle connections in time, until there are none.
async fn sweep(pool: std::sync::Weak<Pool>) {
    loop {
        tokio::time::sleep(IDLE / 4).await;
        match pool.upgrade() {
            Some(pool) if pool.expire() => {}
            Some(_) | None => return,
        }
    }
}

// === impl ServerBody ===

impl ServerBody {
    /// The next bytes, or nothing at the end. Nothing is lost if the future is dropped.
    pub(super) async fn next(&mut self) -> Option<Result<Bytes, Unread>> {
        let line = self.line.as_mut()?;
        let next = poll_fn(|context| line.poll_body(context, &mut self.rest)).await;
        self.settle(next.is_ok());
        next.transpose()
    }

    /// The rest in one piece, if it is no longer than `limit`.
    pub(super) async fn whole(&mut self, limit: usize) -> Result<Bytes, Unread> {
        let Some(line) = self.line.as_mut() else { return Ok(Bytes::new()) };
        let mut gathered = Gathered::default();
        let whole = poll_fn(|context| line.poll_whole(context, &mut self.rest, &mut gathered, limit)).await;
        self.settle(whole.is_ok());
        whole
    }

    /// Asks for what there is still to come, of which no more than the end is expected.
    pub(super) fn expect_end(&self) {
        if let Some(line) = &self.line {
            line.acknowledge();
        }
    }

    /// Whether nothing more will come.
    pub(super) fn is_over(&self) -> bool {
        self.rest.is_over() || self.line.is_none()
    }

    /// Gives the connection back if the body is over and nothing went wrong with it.
    fn settle(&mut self, well: bool) {
        if (self.rest.is_over() || !well)
            && let Some(line) = self.line.take_if(|line| !well || line.is_at_rest())
            && well
        {
            self.pool.put_back(line);
        }
    }
}

// === impl Failure ===

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(f, "no connection: {error}"),
            Self::Disconnected => f.write_str("the connections broke"),
            Self::Broken(_) => f.write_str("the connection broke"),
        }
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Connect(error) => Some(&**error),
            Self::Disconnected => None,
            Self::Broken(error) => Some(error),
        }
    }
}
