//! The HTTP server behind every listener: it reads requests from connections and sends the answers of a router. MCP and
//! the approval page are a router each.

mod connection;
mod request_body;

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use highwater_http1::headers::Headers;
use highwater_http1::request_head::RequestHead;
use http::{Response, StatusCode};
use tokio::sync::{Notify, watch};

pub(super) use self::connection::serve;
pub(super) use self::request_body::{BodyPatience, NoBody, RequestBody};

/// What answers the requests of connections.
pub(super) trait Router: Send + Sync + 'static {
    /// A request that is read, and whose answer takes its time.
    type Work: Send;

    /// Reads a request as far as it is welcome.
    fn admit(
        &self,
        request: &Request,
        body: &mut RequestBody<'_>,
    ) -> impl Future<Output = Admitted<Self::Work>> + Send;

    /// Answers a request that was read. Dropped if the client goes away.
    fn respond(
        self: Arc<Self>,
        work: Self::Work,
        headers: &Headers,
    ) -> impl Future<Output = Response<ResponseBody>> + Send;

    /// How many bytes a client may go on sending after it was refused, to read why.
    fn max_drained(&self) -> usize;

    /// How often a connection is looked at; one that is silent for some looks is closed.
    fn look_every(&self) -> Duration;
}

/// A client's request without its body.
pub(super) struct Request {
    pub(super) head: RequestHead,
    /// Who asks, as far as the connection tells.
    pub(super) peer: IpAddr,
}

/// What became of a request once it was read.
pub(super) enum Admitted<W> {
    /// It is to be worked on.
    Work(W),
    /// It is answered already.
    Answered(Response<ResponseBody>),
}

/// The events of a stream, encoded.
pub(super) type Events = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// A response's body. What it is, it says itself: hardly any response has a header beside that.
pub(super) enum ResponseBody {
    Nothing,
    /// All of it, and its media type.
    Whole(&'static str, Bytes),
    Events(Events),
}

/// What a connection is doing, as seen by those who may have to end it.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// How many requests have begun.
    pub(super) begun: AtomicU64,
    /// A request is being served, or its answer sent.
    pub(super) busy: AtomicBool,
    /// The request that is being served is the last one.
    pub(super) last: AtomicBool,
    /// Somebody was let in on it.
    pub(super) known: AtomicBool,
    /// Told when it has to give way.
    pub(super) give_way: Notify,
}

// === impl ResponseBody ===

impl ResponseBody {
    /// A sentence for a person.
    pub(super) fn text(message: &str) -> Self {
        Self::Whole("text/plain; charset=utf-8", Bytes::from(format!("{message}\n")))
    }

    /// The value of `content-type`.
    fn content_type(&self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Whole(media_type, _) => Some(media_type),
            Self::Events(_) => Some("text/event-stream"),
        }
    }
}

/// A response of which nothing but this is to be said.
pub(super) fn response(status: StatusCode, body: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

/// Waits until the front is told to stop.
pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that whoever could stop us is gone, which is a reason to stop.
    if stop.wait_for(|stop| *stop).await.is_err() {
        tracing::debug!("stopping, since nobody could say so any more");
    }
}
