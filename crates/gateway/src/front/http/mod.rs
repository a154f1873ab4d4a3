//! The HTTP front: Streamable HTTP of both eras on one endpoint, and a few pages for people and monitors.

mod api;
mod api_approvals;
mod authenticate;
mod call;
mod legacy;
mod modern;
mod origin;
mod pages;
mod request;
mod response;
mod room;
mod sessions;
mod stream_log;
mod workers;

use std::io;
use std::net::TcpListener;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use highwater_config::Listen;
use highwater_core::id::VirtualServerId;
use highwater_http1::headers::{Headers, plain};
use highwater_mcp::frame::{Frame, FrameKind};
use highwater_upstream::box_cold;
use http::{Method, Response, StatusCode};
use tokio::sync::watch;
use tokio::task::JoinSet;

use self::response::Refused;
use self::room::Room;
use self::sessions::HttpSessions;
pub(crate) use self::workers::Workers;
use crate::front::Serving;
use crate::front::server::{self, Activity, Request, RequestBody, ResponseBody, Router, stopped};
use crate::gateway::Gateway;
use crate::tokens::{BodyBudget, BodyCharge, Slot, Token};
use crate::world::DEFAULT_VIRTUAL_SERVER;

/// A client that was refused may go on sending this many times what a message may have.
const DRAINED_TIMES: usize = 16;
/// How often a connection is looked at. One that is silent is closed after 30 to 45 s.
const LOOK_EVERY: Duration = Duration::from_secs(15);

/// Made once: nearly every request names it.
static DEFAULT: LazyLock<VirtualServerId> = LazyLock::new(|| VirtualServerId::new(DEFAULT_VIRTUAL_SERVER));

/// The front's own state.
struct HttpFront {
    gateway: Arc<Gateway>,
    sessions: HttpSessions,
    room: Arc<Room>,
    /// The bytes of requests that are held.
    bytes: Arc<BodyBudget>,
}

/// Where in the URL space a request of a client goes.
struct Endpoint {
    virtual_server: VirtualServerId,
    /// Partitions the agent session; chosen by whoever set the URL.
    context: Option<String>,
}

/// A message that may be served.
struct Message {
    frame: Frame,
    endpoint: Endpoint,
    token: Arc<Token>,
    slot: Option<Slot>,
}

/// What became of a request once it was read.
type Admitted = server::Admitted<Message>;

/// Opens the listeners: both loopbacks for `localhost`, so that nobody else can own the other one.
pub fn bind(listen: Listen) -> io::Result<Vec<TcpListener>> {
    let mut listeners: Vec<TcpListener> = Vec::new();
    for mut address in listen.addresses() {
        // Port 0 picks one; the second loopback takes the same.
        if address.port() == 0
            && let Some(first) = listeners.first()
        {
            address.set_port(first.local_addr()?.port());
        }
        match TcpListener::bind(address) {
            Ok(listener) => {
                listener.set_nonblocking(true)?;
                listeners.push(listener);
            }
            // A machine without IPv6 has one loopback.
            Err(error) if is_missing_family(&error) && !listeners.is_empty() => {
                tracing::warn!(%address, %error, "not listening there");
            }
            Err(error) => {
                return Err(io::Error::new(error.kind(), format!("cannot listen on {address}: {error}")));
            }
        }
    }
    Ok(listeners)
}

/// Serves clients until told to stop, then lets open requests finish.
pub fn serve(gateway: Arc<Gateway>, listeners: Vec<TcpListener>, stop: watch::Receiver<bool>) -> Serving {
    Box::pin(serve_all(gateway, listeners, stop))
}

async fn serve_all(gateway: Arc<Gateway>, listeners: Vec<TcpListener>, mut stop: watch::Receiver<bool>) {
    let front = Arc::new(HttpFront {
        sessions: HttpSessions::default(),
        room: Room::new(),
        bytes: Arc::default(),
        gateway,
    });
    let mut accepting = JoinSet::new();
    for listener in listeners {
        accepting.spawn(accept(Arc::clone(&front), listener, stop.clone()));
    }
    let sweeping = tokio::spawn(sessions::sweep(Arc::downgrade(&front)));
    stopped(&mut stop).await;
    front.sessions.close_asides();
    front.gateway.registry.close_listeners();
    while accepting.join_next().await.is_some() {}
    sweeping.abort();
}

async fn accept(front: Arc<HttpFront>, listener: TcpListener, mut stop: watch::Receiver<bool>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "a listener could not be used"),
    };
    let workers = front.gateway.workers.get_or_init(Workers::start);
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            () = stopped(&mut stop) => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let activity = Arc::new(Activity::default());
                let Some(place) = front.room.enter(&activity) else {
                    tracing::warn!(%peer, "too many connections are at work; this one is closed");
                    continue;
                };
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "a connection keeps its delay");
                }
                // Taken off this runtime's hands: the one that serves it watches over it.
                match stream.into_std() {
                    Ok(stream) => {
                        let seat = workers.seat();
                        let runtime = seat.runtime.clone();
                        let (front, stop) = (Arc::clone(&front), stop.clone());
                        connections.spawn_on(
                            async move {
                                let (_seat, _place) = (seat, place);
                                match tokio::net::TcpStream::from_std(stream) {
                                    Ok(stream) => server::serve(front, stream, (peer, activity), stop).await,
                                    Err(error) => {
                                        tracing::warn!(%error, %peer, "a connection could not be taken over");
                                    }
                                }
                            },
                            &runtime,
                        );
                    }
                    Err(error) => tracing::warn!(%error, %peer, "a connection could not be handed over"),
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                // Out of file descriptors, mostly: trying again at once would only burn the processor.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    let drain = front.gateway.settings.load().limits.drain;
    let finished = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(drain, finished).await.is_err() {
        tracing::warn!(open = connections.len(), "closing connections that are still open");
    }
}

// === impl HttpFront ===

impl Router for HttpFront {
    type Work = Message;

    async fn admit(&self, request: &Request, body: &mut RequestBody<'_>) -> Admitted {
        let settings = self.gateway.settings.load_full();
        if let Err(refused) = origin::check(&request.head.headers, &settings) {
            return Admitted::Answered(*refused);
        }
        let (path, query) = request.head.path_and_query();
        Admitted::Answered(match endpoint(path) {
            Some(endpoint) => match self.enter(request, body, endpoint, &settings).await {
                Ok(admitted) => return admitted,
                Err(refused) => *refused,
            },
            None if path.starts_with(api::ROOT) => box_cold(self.api(request, path, query, body)).await,
            None => match older_transport(path) {
                Some(endpoint) => refuse_older_transport(request, endpoint),
                None => box_cold(self.page(request, path)).await,
            },
        })
    }

    /// Hands a message to its era.
    async fn respond(self: Arc<Self>, message: Message, headers: &Headers) -> Response<ResponseBody> {
        let Message { frame, endpoint, token, slot } = message;
        if modern::is_modern(headers, &frame) {
            self.modern(headers, frame, &endpoint, token, slot).await
        } else {
            self.legacy(headers, frame, endpoint, token, slot).await
        }
    }

    fn max_drained(&self) -> usize {
        self.gateway.settings.load().limits.max_message.saturating_mul(DRAINED_TIMES)
    }

    fn look_every(&self) -> Duration {
        LOOK_EVERY
    }
}

impl HttpFront {
    async fn enter(
        &self,
        request: &Request,
        body: &mut RequestBody<'_>,
        endpoint: Endpoint,
        settings: &highwater_config::Settings,
    ) -> Result<Admitted, Refused> {
        let token = authenticate::agent(request, settings, &self.gateway)?;
        // One that the token does not open reads as if it did not exist.
        if !token.enters(&endpoint.virtual_server)
            || self.gateway.world.load().virtual_server(&endpoint.virtual_server).is_none()
        {
            let message = format!("there is no virtual server `{}`", endpoint.virtual_server);
            return Err(Box::new(response::text(StatusCode::NOT_FOUND, &message)));
        }
        if let Some(context) = &endpoint.context {
            box_cold(self.check_context(context, &token, &endpoint.virtual_server)).await?;
        }
        Ok(match request.head.method {
            Method::POST => {
                request::check_types(&request.head.headers)?;
                let mut charge = BodyCharge::new(&self.bytes, &token, &settings.limits);
                let frame = request::read_frame(body, settings, &mut charge).await?;
                // A place for as long as the request is served; what is no request takes none.
                let slot = match frame.kind() {
                    FrameKind::Request => {
                        let slot = token.admit().map_err(|busy| Box::new(response::busy(&frame, &busy)))?;
                        Some(slot.holding(Some(charge)))
                    }
                    FrameKind::Notification | FrameKind::Response | FrameKind::Error => None,
                };
                Admitted::Work(Message { frame, endpoint, token, slot })
            }
            Method::GET => {
                Admitted::Answered(box_cold(self.open_stream(&request.head.headers, &endpoint, &token)).await)
            }
            Method::DELETE => {
                Admitted::Answered(box_cold(self.end_session(&request.head.headers, &endpoint, &token)).await)
            }
            _ => Admitted::Answered(response::method_not_allowed()),
        })
    }

    /// A context splits a session, so it must be one that was made here: whoever could make up contexts could leave a
    /// label behind.
    async fn check_context(
        &self,
        context: &str,
        token: &Token,
        virtual_server: &VirtualServerId,
    ) -> Result<(), Refused> {
        match self.gateway.begin_in_context(context, &token.principal, virtual_server).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Box::new(response::text(
                StatusCode::NOT_FOUND,
                "there is no such context; make one with `highwater session new`",
            ))),
            Err(error) => {
                tracing::error!(%error, "a context could not be looked up");
                let message = "the context could not be looked up; try again later";
                Err(Box::new(response::text(StatusCode::SERVICE_UNAVAILABLE, message)))
            }
        }
    }
}

/// Reads `/mcp`, `/mcp/v/NAME` and either with `/c/CONTEXT`.
fn endpoint(path: &str) -> Option<Endpoint> {
    let mut rest = path.strip_prefix("/mcp")?;
    let mut virtual_server = DEFAULT_VIRTUAL_SERVER;
    if let Some(named) = rest.strip_prefix("/v/") {
        let end = named.find('/').unwrap_or(named.len());
        (virtual_server, rest) = named.split_at_checked(end)?;
    }
    let context = rest.strip_prefix("/c/");
    if let Some(context) = context {
        rest = "";
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if context.is_empty() || context.len() > 128 || !context.bytes().all(plain) {
            return None;
        }
    }
    let virtual_server = match virtual_server {
        DEFAULT_VIRTUAL_SERVER => DEFAULT.clone(),
        named => VirtualServerId::new(named),
    };
    matches!(rest, "" | "/").then(|| Endpoint { virtual_server, context: context.map(str::to_owned) })
}

/// The endpoint beside which a path lies that only HTTP+SSE of 2024-11-05 has.
fn older_transport(path: &str) -> Option<&str> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let (beside, last) = path.rsplit_once('/')?;
    let of_older = matches!(last, "sse" | "message" | "messages");
    match beside {
        _ if !of_older => None,
        "" => Some("/mcp"),
        beside => endpoint(beside).map(|_| beside),
    }
}

/// Tells a client of HTTP+SSE, and whoever reads its log, where to connect instead.
fn refuse_older_transport(request: &Request, endpoint: &str) -> Response<ResponseBody> {
    let host = request.head.headers.get("host").and_then(plain).unwrap_or_default();
    // In front of other machines stands something that knows how it is reached.
    let url = if origin::is_loopback(host) {
        format!("http://{host}{endpoint}")
    } else {
        format!("{host}{endpoint}")
    };
    tracing::warn!("refused a client of HTTP+SSE: it should connect to {url} with Streamable HTTP");
    let message = format!(
        "HTTP+SSE (protocol 2024-11-05) is not served here: connect to {url} with Streamable HTTP (in most clients \
         `\"type\": \"http\"`)"
    );
    response::text(StatusCode::GONE, &message)
}

fn is_missing_family(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoints_are_read() {
        let read = |path| endpoint(path).map(|end| (end.virtual_server.to_string(), end.context));
        assert_eq!(read("/mcp"), Some(("default".into(), None)));
        assert_eq!(read("/mcp/"), Some(("default".into(), None)));
        assert_eq!(read("/mcp/v/coding"), Some(("coding".into(), None)));
        assert_eq!(read("/mcp/c/x1"), Some(("default".into(), Some("x1".into()))));
        assert_eq!(read("/mcp/v/coding/c/x1"), Some(("coding".into(), Some("x1".into()))));
        for path in ["/", "/mcpx", "/mcp/x", "/mcp/c/", "/mcp/c/a/b", "/mcp/v/a/b"] {
            assert_eq!(read(path), None, "{path}");
        }
    }

    #[test]
    fn the_paths_of_the_older_transport_lie_beside_an_endpoint() {
        for (path, beside) in [
            ("/sse", "/mcp"),
            ("/messages/", "/mcp"),
            ("/mcp/sse", "/mcp"),
            ("/mcp/message", "/mcp"),
            ("/mcp/v/coding/sse", "/mcp/v/coding"),
        ] {
            assert_eq!(older_transport(path), Some(beside), "{path}");
        }
        for path in ["/", "/sse/x", "/ssee", "/api/v1/messages", "/mcp", "/x/sse"] {
            assert_eq!(older_transport(path), None, "{path}");
        }
    }
}
