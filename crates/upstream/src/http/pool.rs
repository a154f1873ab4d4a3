//! Connections to one server. A connection is driven by whoever uses it, inside the task of the call: a task of its own
//! would cost each call two wake-ups, often of another core.

use std::error::Error;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use ::http::{Request, Response, Uri};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::{self, Handle};
use tokio::time::Instant;
use tower_service::Service;

/// How long an idle connection is kept. Common servers close theirs after five seconds; a call written to one
/// that is being closed is lost, and we may not repeat it.
const IDLE: Duration = Duration::from_secs(4);
/// How often a silent connection is probed, so that a stream whose peer has vanished ends.
const KEEPALIVE: Duration = Duration::from_secs(60);

type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;
type BoxError = Box<dyn Error + Send + Sync>;

/// The connections to one origin.
pub(super) struct Pool {
    origin: Uri,
    connector: Connector,
    /// The one used last is at the end.
    idle: Mutex<Idle>,
    most_idle: usize,
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
    line: Box<Line>,
}

/// One connection: where requests go in, and the work that moves bytes.
struct Line {
    requests: SendRequest<Full<Bytes>>,
    work: http1::Connection<Stream, Full<Bytes>>,
}

/// What a server sends after its head. Reading it drives the connection; read to its end, the connection is free for the
/// next request, dropped before, it is closed.
pub(super) struct ServerBody {
    incoming: Incoming,
    line: Option<Box<Line>>,
    pool: Arc<Pool>,
}

/// Why there is no response.
#[derive(Debug)]
pub(super) enum Failure {
    /// There was no connection, so nothing was sent.
    Connect(BoxError),
    /// The connection broke after the request, or a part of it, may have been sent.
    Broken(hyper::Error),
}

/// Why one connection gave no response.
enum Unanswered {
    /// It was closed before anything was written; here is the request again.
    NotSent(Box<Request<Full<Bytes>>>),
    Broken(hyper::Error),
}

// === impl Pool ===

impl Pool {
    pub(super) fn new(origin: Uri, tls: bool, connect_timeout: Duration, most_idle: usize) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(connect_timeout));
        connector.set_keepalive(Some(KEEPALIVE));
        let connector = if tls {
            connector.enforce_http(false);
            let builder = HttpsConnectorBuilder::new().with_webpki_roots().https_only().enable_http1();
            Connector::Tls(builder.wrap_connector(connector))
        } else {
            Connector::Plain(connector)
        };
        Self { origin, connector, idle: Mutex::default(), most_idle }
    }

    /// Sends a request over an idle connection or a new one. Its URI is a path.
    pub(super) async fn send(
        self: &Arc<Self>,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<ServerBody>, Failure> {
        while let Some(line) = self.take_idle() {
            match self.send_over(line, request).await {
                Ok(response) => return Ok(response),
                Err(Unanswered::NotSent(back)) => request = *back,
                Err(Unanswered::Broken(error)) => return Err(Failure::Broken(error)),
            }
        }
        // Boxed: most requests find a line open.
        let line = Box::pin(self.connect()).await?;
        self.send_over(line, request).await.map_err(|unanswered| match unanswered {
            Unanswered::NotSent(_) => Failure::Connect("the connection was closed at once".into()),
            Unanswered::Broken(error) => Failure::Broken(error),
        })
    }

    async fn connect(&self) -> Result<Box<Line>, Failure> {
        let origin = self.origin.clone();
        let stream = match &self.connector {
            Connector::Plain(connector) => {
                let stream = connector.clone().call(origin).await;
                MaybeHttpsStream::Http(stream.map_err(|error| Failure::Connect(error.into()))?)
            }
            Connector::Tls(connector) => connector.clone().call(origin).await.map_err(Failure::Connect)?,
        };
        let (requests, work) = http1::handshake(stream).await.map_err(Failure::Broken)?;
        let mut line = Box::new(Line { requests, work });
        if line.is_free() {
            Ok(line)
        } else {
            Err(Failure::Connect("the connection was closed at once".into()))
        }
    }

    async fn send_over(
        self: &Arc<Self>,
        mut line: Box<Line>,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<ServerBody>, Unanswered> {
        let mut response = pin!(line.requests.try_send_request(request));
        let work = &mut line.work;
        let mut over = false;
        let answered = std::future::poll_fn(|context| {
            // Only the work makes the response ready, and it wakes this task itself: the response needs no waker.
            over = over || Pin::new(&mut *work).poll(context).is_ready();
            response.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        });
        match answered.await {
            Ok(response) => {
                let line = (!over).then_some(line);
                Ok(response.map(|incoming| ServerBody { incoming, line, pool: Arc::clone(self) }))
            }
            Err(mut refused) => Err(match refused.take_message() {
                Some(request) => Unanswered::NotSent(Box::new(request)),
                None => Unanswered::Broken(refused.into_error()),
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
            if since.elapsed() < IDLE && line.is_free() {
                return Some(line);
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
        let gone: Vec<_> = idle.lines.drain(..expired).collect();
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

// === impl Line ===

impl Line {
    /// Whether it can take a request now: the server has not closed it meanwhile.
    fn is_free(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        Pin::new(&mut self.work).poll(&mut context).is_pending() && self.requests.is_ready()
    }
}

// === impl ServerBody ===

impl ServerBody {
    fn release(&mut self) {
        if let Some(line) = self.line.take() {
            self.pool.put_back(line);
        }
    }
}

impl Body for ServerBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let frame = match &mut this.line {
            Some(line) => {
                let over = Pin::new(&mut line.work).poll(context).is_ready();
                if over {
                    this.line = None;
                }
                let mut unwoken = Context::from_waker(Waker::noop());
                let frame =
                    Pin::new(&mut this.incoming).poll_frame(if over { context } else { &mut unwoken });
                ready!(frame)
            }
            None => ready!(Pin::new(&mut this.incoming).poll_frame(context)),
        };
        if frame.is_none() {
            this.release();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl Drop for ServerBody {
    fn drop(&mut self) {
        if self.incoming.is_end_stream() {
            self.release();
        }
    }
}

// === impl Failure ===

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(f, "no connection: {error}"),
            Self::Broken(error) => error.fmt(f),
        }
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Connect(error) => Some(&**error),
            Self::Broken(error) => error.source(),
        }
    }
}
