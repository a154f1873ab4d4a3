//! One server's endpoint: the pooled client, the headers that every request carries, and how what goes wrong
//! on the way is told.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use ::http::{HeaderMap, Method, Uri};
use highwater_core::id::UpstreamId;

use super::head::Head;
use super::line::Message;
use super::pool::{Answered, Failure, Pool};
use crate::error::{Cause, UpstreamError};

/// The longest wait for a connection; the start-up budget may be shorter.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

const POST_ACCEPT: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const STREAM_ACCEPT: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A server's endpoint.
pub(super) struct Wire {
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
        let pool = Arc::new(Pool::new(uri.clone(), tls, patience.min(CONNECT_TIMEOUT), connections));
        Ok(Self { upstream: upstream.clone(), pool, uri, headers: every })
    }

    pub(super) fn upstream(&self) -> &UpstreamId {
        &self.upstream
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The head of every POST with these headers to `uri`, of which only the path is sent.
    pub(super) fn post_head(uri: &Uri, headers: &HeaderMap) -> Head {
        Head::new(&Method::POST, uri, headers)
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

    pub(super) async fn post(&self, head: &Head, body: Vec<u8>) -> Result<Answered, UpstreamError> {
        self.send(Message::new(head, body)).await
    }

    pub(super) async fn get(&self, headers: &HeaderMap) -> Result<Answered, UpstreamError> {
        self.send(Message::bare(&Head::new(&Method::GET, &self.uri, headers))).await
    }

    pub(super) async fn delete(&self, headers: &HeaderMap) -> Result<Answered, UpstreamError> {
        self.send(Message::bare(&Head::new(&Method::DELETE, &self.uri, headers))).await
    }

    async fn send(&self, message: Message) -> Result<Answered, UpstreamError> {
        self.pool.send(message).await.map_err(|error| self.transport_error(&error))
    }

    /// An error of this server.
    pub(super) fn fail(&self, cause: Cause, sent: bool) -> UpstreamError {
        UpstreamError { upstream: self.upstream.clone(), cause, sent }
    }
    fn transport_error(&self, failure: &Failure) -> UpstreamError {
        tracing::debug!(upstream = %self.upstream, error = %chain(failure), "an HTTP request failed");
        match failure {
            Failure::Connect(_) => self.fail(Cause::Unreachable(connect_reason(failure)), false),
            Failure::Broken(_) => self.fail(Cause::Gone("the connection closed".to_owned()), true),
        }
    }
}

/// Why there is no connection, in words that hold nothing the other side wrote: a certificate's text, for
/// one, would be.
fn connect_reason(error: &Failure) -> String {
    let mut source = error.source();
    let mut resolving = false;
    while let Some(cause) = source {
        resolving |= cause.to_string() == "dns error";
        if let Some(cause) = cause.downcast_ref::<io::Error>() {
            return match cause.kind() {
                _ if resolving => "its host name cannot be resolved".to_owned(),
                io::ErrorKind::InvalidData | io::ErrorKind::Other => "the TLS handshake failed".to_owned(),
                kind => kind.to_string(),
            };
        }
        source = cause.source();
    }
    "the connection failed".to_owned()
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
