//! One server's endpoint: the pooled client, the headers that every request carries, and how what goes wrong
//! on the way is told.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use ::http::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use ::http::{HeaderMap, Method, Uri};
use highwater_core::id::UpstreamId;
use highwater_http1::outgoing::Outgoing;
use highwater_http1::request_head::RequestTemplate;

use super::pool::{Answered, Failure, Pool};
use super::tls;
use crate::error::{Cause, NoConnection, UpstreamError};

/// The longest wait for a connection; the start-up budget may be shorter.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

const POST_ACCEPT: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const STREAM_ACCEPT: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A server's endpoint.
pub(crate) struct Wire {
    upstream: UpstreamId,
    pool: Arc<Pool>,
    uri: Uri,
    /// `Host` and the operator's headers.
    headers: HeaderMap,
}

// === impl Wire ===

impl Wire {
    pub(super) fn new(
        upstream: &UpstreamId,
        url: &str,
        headers: &[(String, String)],
        patience: Duration,
        connections: usize,
        breaks: &Arc<AtomicU64>,
    ) -> Result<Self, UpstreamError> {
        let refuse = |text: &str| refusal(upstream, text);
        let uri: Uri = url.parse().map_err(|_| refuse("its URL is not valid"))?;
        let authority = uri.authority().ok_or_else(|| refuse("its URL names no host"))?;
        if authority.as_str().contains('@') {
            return Err(refuse("its URL holds a user name, which belongs into `headers`"));
        }
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            Some(_) | None => return Err(refuse("its URL is neither `http` nor `https`")),
        };
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| refuse("its URL is not valid"))?;
        let mut every = HeaderMap::with_capacity(headers.len() + 8);
        every.insert(HOST, host);
        for (name, value) in headers {
            let name: HeaderName =
                name.parse().map_err(|_| refuse("one of its `headers` has a name that is not valid"))?;
            let mut value = HeaderValue::from_str(value)
                .map_err(|_| refuse("one of its `headers` has a value that is not valid"))?;
            // Operators put credentials here: no debug output may show them.
            value.set_sensitive(true);
            if name == HOST {
                every.insert(name, value);
            } else {
                every.append(name, value);
            }
        }
        let pool = Arc::new(Pool::new(uri.clone(), tls, patience.min(CONNECT_TIMEOUT), connections, breaks));
        Ok(Self { upstream: upstream.clone(), pool, uri, headers: every })
    }

    pub(super) fn upstream(&self) -> &UpstreamId {
        &self.upstream
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The head of every POST with these headers to `uri`, of which only the path is sent.
    pub(super) fn post_head(uri: &Uri, headers: &HeaderMap) -> RequestTemplate {
        RequestTemplate::new(&Method::POST, uri, headers)
    }

    /// The headers of a POST, to which the caller adds those of its era.
    pub(super) fn post_headers(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT, POST_ACCEPT);
        headers.insert(CONTENT_TYPE, JSON);
        headers
    }

    /// The headers of a GET that asks for a stream.
    pub(super) fn stream_headers(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT, STREAM_ACCEPT);
        headers
    }

    pub(super) async fn post(
        &self,
        head: &RequestTemplate,
        body: Vec<u8>,
    ) -> Result<Answered, UpstreamError> {
        self.send(Outgoing::request(head, body)).await
    }

    /// As `post`, but only to the server that answered last: where a connection turns out to be broken, nothing is sent.
    pub(super) async fn post_to_same(
        &self,
        head: &RequestTemplate,
        body: Vec<u8>,
    ) -> Result<Answered, UpstreamError> {
        let outcome = self.pool.send_to_same(Outgoing::request(head, body)).await;
        outcome.map_err(|error| self.transport_error(&error))
    }

    pub(super) async fn get(&self, headers: &HeaderMap) -> Result<Answered, UpstreamError> {
        self.send(Outgoing::request_without_body(&RequestTemplate::new(&Method::GET, &self.uri, headers)))
            .await
    }

    pub(super) async fn delete(&self, headers: &HeaderMap) -> Result<Answered, UpstreamError> {
        self.send(Outgoing::request_without_body(&RequestTemplate::new(&Method::DELETE, &self.uri, headers)))
            .await
    }

    async fn send(&self, request: Outgoing) -> Result<Answered, UpstreamError> {
        self.pool.send(request).await.map_err(|error| self.transport_error(&error))
    }

    /// An error of this server.
    pub(super) fn fail(&self, cause: Cause, sent: bool) -> UpstreamError {
        UpstreamError { upstream: self.upstream.clone(), cause, sent }
    }
    fn transport_error(&self, failure: &Failure) -> UpstreamError {
        tracing::debug!(upstream = %self.upstream, error = %chain(failure), "an HTTP request failed");
        match failure {
            Failure::Connect(_) => self.fail(Cause::NoConnection(connect_reason(failure)), false),
            Failure::Disconnected => self.fail(Cause::Disconnected, false),
            Failure::Broken(_) => self.fail(Cause::Gone("the connection closed".to_owned()), true),
        }
    }
}

/// What Linux and other systems call it when a process, or the machine, has as many open files as it may.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// Why there is no connection, in words that hold nothing the other side wrote: a certificate's text, for
/// one, would be.
fn connect_reason(error: &Failure) -> NoConnection {
    let mut source = error.source();
    let mut resolving = false;
    while let Some(cause) = source {
        resolving |= cause.to_string() == "dns error";
        if let Some(cause) = cause.downcast_ref::<io::Error>() {
            return match cause.kind() {
                _ if matches!(cause.raw_os_error(), Some(EMFILE | ENFILE)) => NoConnection::NoDescriptor,
                _ if resolving => NoConnection::NoName,
                io::ErrorKind::ConnectionRefused => NoConnection::Refused,
                io::ErrorKind::TimedOut => NoConnection::TimedOut,
                io::ErrorKind::InvalidData | io::ErrorKind::Other => tls::reason(cause),
                kind => NoConnection::Other(kind.to_string()),
            };
        }
        source = cause.source();
    }
    NoConnection::Other("the connection failed".to_owned())
}

/// The whole story of an error, for the operator's log.
fn chain(error: &Failure) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
fn refusal(upstream: &UpstreamId, text: &str) -> UpstreamError {
    UpstreamError { upstream: upstream.clone(), cause: Cause::Unreachable(text.to_owned()), sent: false }
}
