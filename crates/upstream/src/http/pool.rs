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
use highwater_http1::body::{BodyBuffer, BodyDecoder};
use highwater_http1::conn::{Conn, ReadError, ResponseError};
use highwater_http1::outgoing::Outgoing;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use tokio::runtime::{self, Handle};
use tokio::time::Instant;
use tower_service::Service;

use super::answer_head::AnswerHead;
use super::stream::Stream;
use super::tls;
use crate::box_cold;

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
    connections: Vec<IdleConnection>,
    swept: bool,
}

/// A connection that waits for the next request.
struct IdleConnection {
    since: Instant,
    /// The runtime that watches over its socket. Another could use it, at the price of waking this one.
    runtime: Option<runtime::Id>,
    /// Boxed, as everywhere here: a call hands it on a dozen times.
    conn: Box<Conn<Stream>>,
}

/// An answer whose head has come.
pub(super) struct Answered {
    pub(super) head: AnswerHead,
    pub(super) body: ServerBody,
}

/// What a server sends after its head. Reading it drives the connection; read to its end, the connection is free for the
/// next request, dropped before, it is closed.
pub(super) struct ServerBody {
    conn: Option<Box<Conn<Stream>>>,
    body: BodyDecoder,
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
    Broken(ResponseError),
}

/// Why one connection gave no answer.
enum Unanswered {
    /// It was closed before anything was written; here is the request again.
    NotSent(Outgoing),
    Broken(ResponseError),
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
    pub(super) async fn send(self: &Arc<Self>, request: Outgoing) -> Result<Answered, Failure> {
        match self.send_over_idle(request).await {
            Ok(outcome) => outcome,
            Err(request) => self.send_over_new(request).await,
        }
    }

    /// As `send`, unless an idle connection turns out to be broken: then nothing is sent, since whoever answers a new one
    /// may be another server.
    pub(super) async fn send_to_same(self: &Arc<Self>, request: Outgoing) -> Result<Answered, Failure> {
        let before = self.breaks.load(Ordering::Acquire);
        match self.send_over_idle(request).await {
            Ok(outcome) => outcome,
            Err(_) if self.breaks.load(Ordering::Acquire) != before => Err(Failure::Disconnected),
            Err(request) => self.send_over_new(request).await,
        }
    }

    /// Sends a request over an idle connection; gives it back where there is none.
    async fn send_over_idle(
        self: &Arc<Self>,
        mut request: Outgoing,
    ) -> Result<Result<Answered, Failure>, Outgoing> {
        while let Some(conn) = self.take_idle() {
            match self.send_over(conn, request).await {
                Ok(answer) => return Ok(Ok(answer)),
                Err(Unanswered::NotSent(back)) => {
                    self.note_break();
                    request = back;
                }
                Err(Unanswered::Broken(broken)) => {
                    self.note_break();
                    return Ok(Err(Failure::Broken(broken)));
                }
            }
        }
        Err(request)
    }

    async fn send_over_new(self: &Arc<Self>, request: Outgoing) -> Result<Answered, Failure> {
        // Boxed: most requests find a connection open.
        let conn = box_cold(self.connect()).await.inspect_err(|_| self.note_break())?;
        self.send_over(conn, request).await.map_err(|unanswered| {
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

    async fn connect(&self) -> Result<Box<Conn<Stream>>, Failure> {
        let origin = self.origin.clone();
        let connected = match &self.connector {
            Connector::Plain(connector) => {
                let stream = connector.clone().call(origin).await;
                MaybeHttpsStream::Http(stream.map_err(|error| Failure::Connect(error.into()))?)
            }
            Connector::Tls(connector) => connector.clone().call(origin).await.map_err(Failure::Connect)?,
        };
        Ok(Box::new(Conn::new(Stream::from(connected))))
    }

    async fn send_over(
        self: &Arc<Self>,
        mut conn: Box<Conn<Stream>>,
        request: Outgoing,
    ) -> Result<Answered, Unanswered> {
        conn.queue(request);
        match poll_fn(|context| conn.poll_response_head(context)).await {
            Ok(response) => {
                let head = AnswerHead::of(&response);
                let mut body = ServerBody { conn: Some(conn), body: response.body, pool: Arc::clone(self) };
                body.settle(true);
                Ok(Answered { head, body })
            }
            Err(broken) => Err(match conn.take_back() {
                Some(request) => Unanswered::NotSent(request),
                None => Unanswered::Broken(broken),
            }),
        }
    }

    /// The connection of this runtime that was used last, if it is still open.
    fn take_idle(&self) -> Option<Box<Conn<Stream>>> {
        let here = here();
        loop {
            let mut idle = self.idle();
            let at = idle.connections.iter().rposition(|idle| idle.runtime == here)?;
            let IdleConnection { since, mut conn, .. } = idle.connections.remove(at);
            drop(idle);
            if since.elapsed() < IDLE {
                if is_free(&mut conn) {
                    return Some(conn);
                }
                self.note_break();
            }
        }
    }

    fn put_back(self: &Arc<Self>, conn: Box<Conn<Stream>>) {
        let mut idle = self.idle();
        if idle.connections.len() >= self.most_idle {
            return;
        }
        idle.connections.push(IdleConnection { since: Instant::now(), runtime: here(), conn });
        let first = !std::mem::replace(&mut idle.swept, true);
        drop(idle);
        if first && let Ok(runtime) = Handle::try_current() {
            runtime.spawn(sweep(Arc::downgrade(self)));
        }
    }

    /// Closes what was idle for too long. Says whether anything is left.
    fn expire(&self) -> bool {
        let mut idle = self.idle();
        let expired = idle.connections.iter().take_while(|idle| idle.since.elapsed() >= IDLE).count();
        let mut gone: Vec<_> = idle.connections.drain(..expired).collect();
        // What its server closed before the time is known before somebody needs it.
        let closed: Vec<_> = idle.connections.extract_if(.., |idle| !is_free(&mut idle.conn)).collect();
        if !closed.is_empty() {
            self.note_break();
            gone.extend(closed);
        }
        idle.swept = !idle.connections.is_empty();
        let left = idle.swept;
        drop(idle);
        drop(gone);
        left
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a connection can take a request now: the server has neither closed it nor said anything unasked.
fn is_free(conn: &mut Conn<Stream>) -> bool {
    (conn.stream().is_known_silent() || conn.is_silent()) && conn.is_at_rest()
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
    pub(super) async fn next(&mut self) -> Option<Result<Bytes, ReadError>> {
        let conn = self.conn.as_mut()?;
        let next = poll_fn(|context| conn.poll_body(context, &mut self.body)).await;
        self.settle(next.is_ok());
        next.transpose()
    }

    /// The rest in one piece, if it is no longer than `limit`.
    pub(super) async fn whole(&mut self, limit: usize) -> Result<Bytes, ReadError> {
        let Some(conn) = self.conn.as_mut() else { return Ok(Bytes::new()) };
        let mut read = BodyBuffer::default();
        let whole = poll_fn(|context| conn.poll_whole_body(context, &mut self.body, &mut read, limit)).await;
        self.settle(whole.is_ok());
        whole
    }

    /// Asks for what there is still to come, of which no more than the end is expected.
    pub(super) fn expect_end(&self) {
        if let Some(conn) = &self.conn {
            conn.stream().acknowledge();
        }
    }

    /// Whether nothing more will come.
    pub(super) fn is_over(&self) -> bool {
        self.body.is_done() || self.conn.is_none()
    }

    /// Gives the connection back if the body is over and nothing went wrong with it.
    fn settle(&mut self, well: bool) {
        if (self.body.is_done() || !well)
            && let Some(conn) = self.conn.take_if(|conn| !well || conn.is_at_rest())
            && well
        {
            self.pool.put_back(conn);
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
