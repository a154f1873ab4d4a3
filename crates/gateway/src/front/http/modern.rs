//! Streamable HTTP of the modern era: no sessions, every request says who asks, headers repeat the body, and closing the
//! response is how a client cancels.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use highwater_core::id::Principal;
use highwater_mcp::era::LEGACY_VERSIONS;
use highwater_mcp::error_code::{self, INVALID_REQUEST};
use highwater_mcp::frame::{Frame, FrameKind};
use highwater_mcp::headers::{self, HeaderMismatch, PROTOCOL_VERSION};
use highwater_mcp::text::unquote;
use highwater_mcp::{schema_headers, sse};
use http::header::HeaderMap;
use http::{Response, StatusCode};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, Sleep};

use super::response::{self, ResponseBody};
use super::{Endpoint, HttpFront, request, spawn};
use crate::client::{Client, Outbound};
use crate::greet;

/// How many messages of a call, or of an open subscription, may wait for its client.
const CALL_BUFFER: usize = 256;

/// How often a silent stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Whether a message is of the modern era, by its header or by its body. If only one says so, that is a modern error
/// and never a reason to fall back.
pub(super) fn is_modern(headers: &HeaderMap, frame: &Frame) -> bool {
    let version = headers.get(PROTOCOL_VERSION).and_then(|version| version.to_str().ok());
    // A version we do not know at all is answered in the modern manner: with the list of those we do.
    version.is_some_and(|version| !LEGACY_VERSIONS.contains(&version)) || greet::is_modern(frame)
}

impl HttpFront {
    /// Handles a posted message of a modern client.
    pub(super) async fn modern(
        &self,
        headers: &HeaderMap,
        frame: Frame,
        endpoint: &Endpoint,
        principal: Principal,
    ) -> Response<ResponseBody> {
        match frame.kind() {
            FrameKind::Request => {}
            // A modern client cancels by closing; nothing else it could notify us of concerns us.
            FrameKind::Notification => return response::empty(StatusCode::ACCEPTED),
            FrameKind::Response | FrameKind::Error => {
                let bytes = error_code::error_response(
                    None,
                    INVALID_REQUEST,
                    "a modern client sends no responses",
                    None,
                );
                return response::json(StatusCode::BAD_REQUEST, bytes);
            }
        }
        // Header against body comes first: what the two disagree on is not looked at any further.
        if let Err(mismatch) = self.check_headers(headers, &frame, endpoint) {
            let bytes = error_code::error_response(frame.id(), mismatch.code(), &mismatch.to_string(), None);
            return response::json(StatusCode::BAD_REQUEST, bytes);
        }
        let client = match greet::modern_client(&frame, endpoint.caller(principal, None)) {
            Ok(client) => client,
            Err(unmet) => return response::json(StatusCode::BAD_REQUEST, unmet.response(frame.id())),
        };
        let (outlet, mut messages) = mpsc::channel(CALL_BUFFER);
        let running = spawn(Arc::clone(&self.gateway).serve(Client::Modern(Arc::new(client)), frame, outlet));
        let cancel = CancelOnDrop(running);
        let stream = |first, messages, ended| {
            let silence = Box::pin(tokio::time::sleep(KEEP_ALIVE));
            response::events(Box::pin(CallStream {
                first: Some(first),
                messages,
                ended,
                silence,
                _cancel: cancel,
            }))
        };
        match messages.recv().await {
            Some(Outbound::Last { bytes, code }) => match status(code) {
                StatusCode::OK if request::prefers_events(headers) => stream(bytes, messages, true),
                status => response::json(status, bytes),
            },
            Some(Outbound::Message(first)) => stream(first, messages, false),
            None => response::text(StatusCode::INTERNAL_SERVER_ERROR, "the request ended without an answer"),
        }
    }

    /// The headers that repeat the body must say what it says.
    fn check_headers(
        &self,
        headers: &HeaderMap,
        frame: &Frame,
        endpoint: &Endpoint,
    ) -> Result<(), HeaderMismatch> {
        // A value that is no text matches nothing that a body could say.
        let get = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("\u{0}"));
        headers::check(frame, get)?;
        if frame.method() != Some("tools/call") {
            return Ok(());
        }
        let world = self.gateway.world.load();
        let Some(server) = world.virtual_server(&endpoint.virtual_server) else { return Ok(()) };
        let known = server.known();
        let tool = frame.param("name").and_then(unquote).and_then(|name| known.tools.get(&*name));
        match tool {
            Some(tool) if !tool.headers.is_empty() => {
                schema_headers::check_values(&tool.headers, frame.param("arguments"), get)
            }
            _ => Ok(()),
        }
    }
}

/// Cancels a request when its response is dropped: that is how a modern client cancels.
struct CancelOnDrop(AbortHandle);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The messages of one call as events.
struct CallStream {
    first: Option<Bytes>,
    messages: mpsc::Receiver<Outbound>,
    ended: bool,
    silence: Pin<Box<Sleep>>,
    _cancel: CancelOnDrop,
}

impl Stream for CallStream {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(event(&first)));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        match self.messages.poll_recv(context) {
            Poll::Ready(Some(message)) => {
                let bytes = match message {
                    Outbound::Message(bytes) => bytes,
                    Outbound::Last { bytes, .. } => {
                        self.ended = true;
                        bytes
                    }
                };
                self.silence.as_mut().reset(Instant::now() + KEEP_ALIVE);
                Poll::Ready(Some(event(&bytes)))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => {
                if self.silence.as_mut().poll(context).is_ready() {
                    self.silence.as_mut().reset(Instant::now() + KEEP_ALIVE);
                    let mut comment = Vec::new();
                    sse::encode_comment(&mut comment, "");
                    return Poll::Ready(Some(comment.into()));
                }
                Poll::Pending
            }
        }
    }
}

fn event(message: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(message.len() + 16);
    sse::encode(&mut out, None, message);
    out.into()
}

/// The HTTP status that goes with an answer.
fn status(code: Option<i64>) -> StatusCode {
    match code {
        Some(error_code::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(
            error_code::HEADER_MISMATCH
            | error_code::MISSING_CLIENT_CAPABILITY
            | error_code::UNSUPPORTED_PROTOCOL_VERSION
            | error_code::INVALID_REQUEST,
        ) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
