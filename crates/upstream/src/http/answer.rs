//! From a server's response to the answer of a request: a whole body, or the stream of the request.

use std::sync::Arc;

use highwater_mcp::frame::{Frame, FrameKind};

use super::answer_head::Content;
use super::body::{Events, MAX_ERROR_BODY, Resumption, collect, is_no_answer, message, scan};
use super::message_endpoint::MessageEndpoint;
use super::pool::Answered;
use super::question::{Questions, pong};
use crate::call_events::CallEvents;
use crate::error::Cause;
use crate::event::{CallEvent, NoticeKind};
use crate::link::LinkWorld;
use crate::notification::{Request, ServerNotification, refusal};

/// What a response to a request turned out to be.
pub(super) enum Opened {
    /// The answer.
    Answer(Frame),
    /// A stream on which the answer will come.
    Stream(Box<Events>),
}

/// A request whose answer is awaited on a stream of its own.
pub(super) struct OwnStream<'a> {
    /// JSON text.
    pub(super) id: &'a str,
    pub(super) number: u64,
    pub(super) events: Option<&'a CallEvents>,
    pub(super) world: &'a LinkWorld,
    pub(super) limit: usize,
    /// Where answers to the server's questions go; nothing in the modern era, which has no such questions.
    pub(super) message_endpoint: Option<&'a Arc<MessageEndpoint>>,
    pub(super) questions: Questions,
}

/// Reads the response to the request `id`. An error status whose body is a JSON-RPC error is an answer like
/// any other; one without such a body is none, nor is a redirect or a status about access.
pub(super) async fn open(answered: Answered, id: &str, limit: usize) -> Result<Opened, Cause> {
    let Answered { head, body } = answered;
    let (status, content, nothing) = (head.status, head.content, head.no_answer());
    if status.is_success() {
        return match content {
            Content::Json => {
                let frame = scan(collect(body, limit).await?, limit)?;
                if !answers(&frame, id) {
                    return Err(Cause::Malformed("the answer is not to the request".to_owned()));
                }
                Ok(Opened::Answer(frame))
            }
            Content::Events => Ok(Opened::Stream(Box::new(Events::new(body, limit)))),
            Content::Html => Err(Cause::WebPage),
            Content::Other => {
                Err(Cause::Malformed("a request was answered with neither JSON nor events".to_owned()))
            }
        };
    }
    if is_no_answer(status) || content != Content::Json {
        return Err(nothing);
    }
    let Ok(body) = collect(body, MAX_ERROR_BODY).await else { return Err(nothing) };
    match scan(body, MAX_ERROR_BODY) {
        Ok(frame) if frame.kind() == FrameKind::Error && answers(&frame, id) => Ok(Opened::Answer(frame)),
        Ok(_) | Err(_) => Err(nothing),
    }
}

/// Whether a message answers the request `id`. A server that could not read the id answers without one.
fn answers(frame: &Frame, id: &str) -> bool {
    match frame.kind() {
        FrameKind::Response => frame.id() == Some(id),
        FrameKind::Error => frame.id().is_none_or(|answered| answered == id),
        FrameKind::Request | FrameKind::Notification => false,
    }
}

// === impl OwnStream ===

impl OwnStream<'_> {
    /// Reads on until the answer comes, passing on what the server says meanwhile. Nothing if the stream ends
    /// before.
    pub(super) async fn until_answer(
        &mut self,
        events: &mut Events,
        resumption: &mut Resumption,
    ) -> Result<Option<Frame>, Cause> {
        while let Some(event) = events.next(self.limit).await? {
            resumption.note(&event);
            let Some(data) = message(event) else { continue };
            let frame = scan(data, self.limit)?;
            match frame.kind() {
                FrameKind::Response | FrameKind::Error if answers(&frame, self.id) => return Ok(Some(frame)),
                FrameKind::Response | FrameKind::Error => {
                    tracing::debug!(upstream = %self.world.upstream, "an answer to another request was dropped");
                }
                FrameKind::Notification => self.told(frame).await,
                FrameKind::Request => self.asked(&frame).await,
            }
        }
        Ok(None)
    }

    /// The server says something in the middle of the call. A caller that does not read slows its own call.
    async fn told(&mut self, frame: Frame) {
        let event = match ServerNotification::of(&frame) {
            ServerNotification::Notice(kind) => return self.world.notice(kind),
            ServerNotification::Withdrawn(question) => return self.questions.withdraw(&question),
            ServerNotification::Progress(token) if token != Some(self.number) => {
                tracing::debug!(upstream = %self.world.upstream, "progress that is not this call's was dropped");
                return;
            }
            ServerNotification::Log if self.events.is_none() => {
                return self.world.notice(NoticeKind::Log(frame));
            }
            ServerNotification::Acknowledged(_) => return,
            ServerNotification::Progress(_) => CallEvent::Progress(frame),
            ServerNotification::Log | ServerNotification::Completed | ServerNotification::Other => {
                CallEvent::Notification(frame)
            }
        };
        if let Some(events) = self.events {
            events.send(event).await;
        }
    }

    /// The server asks back in the middle of the call.
    async fn asked(&mut self, frame: &Frame) {
        let Some(id) = frame.id() else { return };
        let Some(message_endpoint) = self.message_endpoint else {
            tracing::debug!(upstream = %self.world.upstream, "a request that cannot be answered was dropped");
            return;
        };
        let ask = match (Request::of(frame), self.events) {
            (Request::Ping, _) => return message_endpoint.send_off(pong(id)),
            (Request::Question, Some(events)) => {
                self.questions.raise(frame, message_endpoint).map(|ask| (ask, events))
            }
            (Request::Question, None) | (Request::Unknown, _) => None,
        };
        match ask {
            Some((ask, events)) => events.send(CallEvent::Ask(ask)).await,
            None => message_endpoint.send_off(refusal(id)),
        }
    }
}
