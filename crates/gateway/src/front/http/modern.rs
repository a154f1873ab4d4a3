//! Streamable HTTP of the modern era: no sessions, every request says who asks, headers repeat the body, and closing the
//! response is how a client cancels.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use highwater_http1::headers::{Headers, plain};
use highwater_mcp::era::LEGACY_VERSIONS;
use highwater_mcp::error_code::{self, INVALID_REQUEST};
use highwater_mcp::frame::{Frame, FrameKind};
use highwater_mcp::headers::{self, CLIENT_SESSION_ID, HeaderMismatch, PROTOCOL_VERSION};
use highwater_mcp::text::unquote;
use highwater_mcp::{schema_headers, sse};
use http::{Response, StatusCode};
use tokio::time::{Instant, Sleep};

use super::call::{Call, Orphan, Step};
use super::response;
use super::{Endpoint, HttpFront, request};
use crate::client::Client;
use crate::front::LISTEN;
use crate::front::server::ResponseBody;
use crate::handshake;
use crate::session::{Place, client_session_id};
use crate::tokens::{Slot, Token};

/// A call that takes longer than this is answered as a stream, whose head tells clients and proxies that it goes on.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often a silent stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Whether a message is of the modern era, by its header or by its body. If only one says so, that is a modern error
/// and never a reason to fall back.
pub(super) fn is_modern(headers: &Headers, frame: &Frame) -> bool {
    // A version we do not know at all is answered in the modern manner: with the list of those we do.
    let says_so = |version: &[u8]| !LEGACY_VERSIONS.iter().any(|legacy| legacy.as_bytes() == version);
    headers.get_all(PROTOCOL_VERSION).any(says_so) || handshake::is_modern(frame)
}

impl HttpFront {
    /// Handles a posted message of a modern client.
    pub(super) async fn modern(
        &self,
        headers: &Headers,
        frame: Frame,
        endpoint: &Endpoint,
        token: Arc<Token>,
        slot: Option<Slot>,
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
        let named = headers.text(CLIENT_SESSION_ID);
        let caller = self.gateway.caller(
            token,
            endpoint.virtual_server.clone(),
            endpoint.context.as_deref(),
            Place::Anywhere,
            client_session_id(named, &frame).as_deref(),
        );
        let client = match handshake::modern_client(&frame, caller) {
            Ok(client) => client,
            Err(unmet) => return response::json(StatusCode::BAD_REQUEST, unmet.response(frame.id())),
        };
        let gateway = Arc::clone(&self.gateway);
        // An open ear takes no place: it would be taken for ever.
        let slot = slot.filter(|_| frame.method() != Some(LISTEN));
        let mut call = Call::new(Orphan::Ends, |outlet| {
            Box::pin(async move {
                let _slot = slot;
                Some(gateway.serve(Client::Modern(Arc::new(client)), None, frame, outlet).await)
            })
        });
        let step = tokio::select! {
            biased;
            step = call.next() => Some(step),
            () = tokio::time::sleep(PATIENCE) => None,
        };
        match step {
            Some(Step::Answer(answer)) => match status(answer.code) {
                StatusCode::OK if request::prefers_events(headers) => {
                    CallStream::response(Some(answer.bytes), None)
                }
                status => response::json(status, answer.bytes),
            },
            Some(Step::Message(first)) => CallStream::response(Some(first), Some(call)),
            Some(Step::Cancelled) => {
                response::text(StatusCode::INTERNAL_SERVER_ERROR, "the request ended without an answer")
            }
            None => CallStream::response(None, Some(call)),
        }
    }

    /// The headers that repeat the body must say what it says.
    fn check_headers(
        &self,
        sent: &Headers,
        frame: &Frame,
        endpoint: &Endpoint,
    ) -> Result<(), HeaderMismatch> {
        // A value that is no text, or stands there twice, matches nothing that a body could say: others on the path
        // might read it differently.
        let get = |name: &str| {
            let mut values = sent.get_all(name);
            let value = values.next()?;
            Some(if values.next().is_none() { plain(value).unwrap_or("\u{0}") } else { "\u{0}" })
        };
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

/// The messages of one call as events. The call goes with the stream: that is how a modern client cancels.
struct CallStream {
    first: Option<Bytes>,
    call: Option<Call>,
    silence: Pin<Box<Sleep>>,
}

impl CallStream {
    fn response(first: Option<Bytes>, call: Option<Call>) -> Response<ResponseBody> {
        let silence = Box::pin(tokio::time::sleep(KEEP_ALIVE));
        response::events(Box::pin(Self { first, call, silence }))
    }
}

impl Stream for CallStream {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(event(&first)));
        }
        let Some(call) = &mut self.call else { return Poll::Ready(None) };
        let message = match call.poll_next(context) {
            Poll::Ready(Step::Message(message)) => message,
            Poll::Ready(Step::Answer(answer)) => {
                self.call = None;
                answer.bytes
            }
            Poll::Ready(Step::Cancelled) => {
                self.call = None;
                return Poll::Ready(None);
            }
            Poll::Pending => {
                if self.silence.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                self.silence.as_mut().reset(Instant::now() + KEEP_ALIVE);
                let mut comment = Vec::new();
                sse::encode_comment(&mut comment, "");
                return Poll::Ready(Some(comment.into()));
            }
        };
        self.silence.as_mut().reset(Instant::now() + KEEP_ALIVE);
        Poll::Ready(Some(event(&message)))
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

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use tokio::sync::oneshot;

    use super::*;
    use crate::client::Answer;

    #[tokio::test(start_paused = true)]
    async fn a_stream_without_a_message_shows_that_it_lives_until_the_answer_comes() {
        let (end, ended) = oneshot::channel::<()>();
        let call = Call::new(Orphan::Ends, |_| {
            Box::pin(async move {
                ended.await.ok()?;
                Some(Answer { bytes: Bytes::from_static(b"{}"), code: None, _joined: None })
            })
        });
        let ResponseBody::Events(mut events) = CallStream::response(None, Some(call)).into_body() else {
            panic!("a stream of events");
        };
        let start = Instant::now();
        for times in 1..=3 {
            assert!(events.next().await.unwrap().starts_with(b":"), "a comment");
            assert_eq!(start.elapsed(), KEEP_ALIVE * times);
        }
        end.send(()).unwrap();
        assert_eq!(events.next().await.unwrap(), event(b"{}"));
        assert!(events.next().await.is_none());
    }
}
