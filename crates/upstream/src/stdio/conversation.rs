//! The talk with one child: requests out, answers back to their callers, and everything else that it says
//! sorted by whom it concerns.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use highwater_mcp::era::{Era, notification_params};
use highwater_mcp::error_code::{notification, request, result_response};
use highwater_mcp::frame::{Frame, FrameKind};
use highwater_mcp::scan::ScanRules;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::calls::{Calls, Heard, Owner};
use super::heartbeat::Heartbeat;
use super::lines::Line;
use super::message_owner::{MessageOwner, whose};
use super::stderr::{Quota, readable};
use super::writer::Writer;
use crate::error::{Cause, UpstreamError};
use crate::event::{AnswerSlot, Ask, CallEvent, NoticeKind};
use crate::link::{LinkWorld, Outbound};
use crate::notification::{Request, ServerNotification, refusal, unanswered, words};

/// How many unreadable lines are logged in each second.
const LOGGED_GARBAGE: u32 = 5;
/// How much of an unreadable line is logged.
const SHOWN_GARBAGE: usize = 200;
/// How many questions of one server may be open at once.
const MAX_QUESTIONS: usize = 16;

/// The talk with one child.
pub(super) struct Conversation {
    pub(super) wire: LinkWorld,
    pub(super) calls: Calls,
    pub(super) writer: Arc<Writer>,
    /// Known once the greeting is over.
    pub(super) era: OnceLock<Era>,
    /// The number of the listen request, or zero.
    pub(super) listening: AtomicU64,
    /// Who waits for the first word on which listen stream.
    pub(super) acknowledged: Mutex<Option<(u64, oneshot::Sender<()>)>>,
    /// When the child last said anything.
    pub(super) heard: Arc<Heartbeat>,
    rules: ScanRules,
    garbage: Mutex<Quota>,
    questions: Mutex<Vec<OpenQuestion>>,
}

/// A question of the server whose answer is awaited.
struct OpenQuestion {
    /// JSON text.
    id: String,
    answering: AbortHandle,
}

/// A request in flight. Dropped, it is cancelled if the child can have seen it.
struct OpenCall<'a> {
    conversation: &'a Conversation,
    number: u64,
}

/// A request in flight that is never cancelled: the greeting, which legacy servers must be able to finish.
pub(super) struct Greeted<'a> {
    conversation: &'a Conversation,
    number: u64,
}

// === impl Conversation ===

impl Conversation {
    pub(super) fn new(wire: LinkWorld, writer: Arc<Writer>, max_reply: usize) -> Self {
        Self {
            wire,
            calls: Calls::new(max_reply),
            writer,
            era: OnceLock::new(),
            listening: AtomicU64::new(0),
            acknowledged: Mutex::default(),
            heard: Arc::default(),
            rules: ScanRules { max_bytes: max_reply, ..ScanRules::FROM_SERVER },
            garbage: Mutex::new(Quota::new(LOGGED_GARBAGE)),
            questions: Mutex::default(),
        }
    }

    /// Sends a request and waits for its answer, handing on what comes before it.
    pub(super) async fn exchange(&self, outbound: Outbound<'_>) -> Result<Frame, UpstreamError> {
        let number = outbound.number;
        self.send(number, outbound.method, outbound.params, outbound.events.is_some())
            .map_err(|cause| self.wire.fail(cause, false))?;
        let call = OpenCall { conversation: self, number };
        loop {
            match (poll_fn(|context| self.calls.poll(number, context)).await, outbound.events) {
                (Heard::Event(event), Some(events)) => events.send(event).await,
                (Heard::Event(_), None) => {}
                (Heard::Outcome(outcome), _) => {
                    drop(call);
                    // What is still waiting to be written was never seen.
                    return outcome.map_err(|cause| self.wire.fail(cause, !self.writer.withdraw(number)));
                }
            }
        }
    }

    /// Sends a request of the greeting.
    pub(super) fn negotiate(&self, method: &str, params: &str) -> Result<Greeted<'_>, Cause> {
        let number = self.wire.next_number();
        self.send(number, method, Some(params), false)?;
        Ok(Greeted { conversation: self, number })
    }

    /// Sends a notification.
    pub(super) fn notify(&self, method: &str, params: Option<&str>) {
        self.say(notification(method, params));
    }

    fn send(&self, number: u64, method: &str, params: Option<&str>, is_action: bool) -> Result<(), Cause> {
        let text = request(&number.to_string(), method, params);
        self.calls.open(number, is_action)?;
        self.writer.send(Some(number), text).inspect_err(|_| {
            self.calls.forget(number);
        })
    }

    fn say(&self, text: Vec<u8>) {
        if let Err(cause) = self.writer.send(None, text) {
            tracing::debug!(upstream = %self.wire.upstream, %cause, "a message could not be sent");
        }
    }

    /// Takes one line of the child.
    pub(super) fn hear(self: &Arc<Self>, line: Line) {
        let line = match line {
            Line::Whole(line) => line,
            Line::Last(line) => return self.hear_last(line),
            Line::TooLong { head, tail } => return self.hear_too_much(&head, &tail),
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match Frame::parse(line.clone(), &self.rules) {
            Ok(frame) => self.hear_frame(frame),
            Err(error) => match whose(&line, &line) {
                MessageOwner::Answer(number) => self.settle(number, Err(Cause::from(&error))),
                MessageOwner::NoAnswer | MessageOwner::Unknown => self.log_garbage(&line, &error.to_string()),
            },
        }
    }

    /// What stands at the end of the output. A message that was cut off there is none: whoever waits for it learns that
    /// the child is gone, and not that it spoke nonsense.
    fn hear_last(self: &Arc<Self>, line: Bytes) {
        match Frame::parse(line, &self.rules) {
            Ok(frame) => self.hear_frame(frame),
            Err(error) => {
                tracing::debug!(upstream = %self.wire.upstream, %error, "the output ended in the middle of a line");
            }
        }
    }

    fn hear_frame(self: &Arc<Self>, frame: Frame) {
        match frame.kind() {
            FrameKind::Response | FrameKind::Error => match frame.id().and_then(|id| id.parse().ok()) {
                Some(number) => self.settle(number, Ok(frame)),
                None => self.log_garbage(frame.bytes(), "an answer to nothing we asked"),
            },
            FrameKind::Notification => self.hear_notification(frame),
            FrameKind::Request => self.hear_request(&frame),
        }
    }

    fn hear_too_much(&self, head: &Bytes, tail: &Bytes) {
        let cause = Cause::TooLarge { limit: self.rules.max_bytes };
        tracing::warn!(upstream = %self.wire.upstream, limit = self.rules.max_bytes, "a message was too long and was skipped");
        match whose(head, tail) {
            MessageOwner::Answer(number) => self.settle(number, Err(cause)),
            MessageOwner::NoAnswer => {}
            // It may have been the answer to any of them. Who waits on would wait in vain.
            MessageOwner::Unknown => self.calls.settle_all(&cause),
        }
    }

    fn settle(&self, number: u64, outcome: Result<Frame, Cause>) {
        if !self.calls.settle(number, outcome) {
            tracing::trace!(upstream = %self.wire.upstream, number, "an answer that nobody waits for");
        }
    }

    fn hear_notification(&self, frame: Frame) {
        let (owner, event) = match ServerNotification::of(&frame) {
            ServerNotification::Notice(kind) => return self.wire.notice(kind),
            ServerNotification::Progress(number) => (number, CallEvent::Progress(frame)),
            ServerNotification::Log => match self.calls.owner() {
                Owner::Call(number) => (Some(number), CallEvent::Notification(frame)),
                Owner::Nobody => return self.wire.notice(NoticeKind::Log(frame)),
                Owner::Anybody => return self.wire.notice(NoticeKind::SomebodysLog(frame)),
            },
            ServerNotification::Acknowledged(number) => return self.note_acknowledged(number),
            ServerNotification::Withdrawn(id) => return self.note_withdrawn(&id),
            ServerNotification::Completed => return self.wire.notice(NoticeKind::ElicitationComplete(frame)),
            ServerNotification::Other => match self.calls.owner() {
                Owner::Call(number) => (Some(number), CallEvent::Notification(frame)),
                Owner::Nobody | Owner::Anybody => (None, CallEvent::Notification(frame)),
            },
        };
        if owner.is_none_or(|number| self.calls.deliver(number, event).is_err()) {
            tracing::debug!(upstream = %self.wire.upstream, "a notification was dropped");
        }
    }

    fn note_acknowledged(&self, number: Option<u64>) {
        let mut waiting = self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, acknowledged)) =
            waiting.take_if(|(waited, _)| number.is_none_or(|number| number == *waited))
            && acknowledged.send(()).is_err()
        {
            tracing::trace!("nobody waits for the acknowledgement");
        }
    }

    /// The server takes a question back, or ends a listen stream by taking our request back. Its ids may look
    /// like ours, so of ours only that one is meant.
    fn note_withdrawn(&self, id: &str) {
        let mut questions = self.questions();
        if let Some(index) = questions.iter().position(|question| question.id == id) {
            questions.swap_remove(index).answering.abort();
            return;
        }
        drop(questions);
        let listening = self.listening.load(Ordering::Relaxed);
        if listening != 0 && id == listening.to_string() {
            self.settle(listening, Err(Cause::Gone("the server ended the stream".to_owned())));
        }
    }

    /// Whether the child waits for the answer to a question.
    pub(super) fn asks(&self) -> bool {
        !self.questions().is_empty()
    }

    fn questions(&self) -> MutexGuard<'_, Vec<OpenQuestion>> {
        let mut questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        questions.retain(|question| !question.answering.is_finished());
        questions
    }

    fn hear_request(self: &Arc<Self>, frame: &Frame) {
        let (Some(id), Some(method)) = (frame.id(), frame.method()) else { return };
        match Request::of(frame) {
            Request::Ping => return self.say(result_response(id, "{}")),
            Request::Unknown => return self.say(refusal(id)),
            Request::Question if self.era.get() == Some(&Era::Modern) => {
                return self.say(refusal(id));
            }
            Request::Question => {}
        }
        let (answer, answered) = AnswerSlot::new();
        let ask = Ask {
            method: method.to_owned(),
            params: frame.params().map(|params| frame.slice(params)),
            answer,
        };
        let owner = self.calls.owner();
        // A server that asks in the course of calls gets one at a time; one that asks outside of them, as some do right
        // after the greeting, has not shown that it needs this.
        if !matches!(owner, Owner::Nobody) {
            self.wire.note_question();
        }
        let put = match owner {
            Owner::Call(number) if self.questions().len() < MAX_QUESTIONS => {
                self.calls.deliver(number, CallEvent::Ask(ask)).is_ok()
            }
            Owner::Call(_) | Owner::Nobody | Owner::Anybody => false,
        };
        if !put {
            return self.say(refusal(id));
        }
        let id = id.to_owned();
        let (conversation, asked) = (Arc::clone(self), id.clone());
        let answering = tokio::spawn(async move {
            let text = match answered.await {
                Ok(answer) => words(&asked, &answer),
                Err(_) => unanswered(&asked),
            };
            conversation.say(text);
        });
        self.questions().push(OpenQuestion { id, answering: answering.abort_handle() });
    }

    fn log_garbage(&self, line: &[u8], why: &str) {
        let admitted = self.garbage.lock().unwrap_or_else(PoisonError::into_inner).admit();
        if let Some(suppressed) = admitted {
            let line = readable(line.get(..SHOWN_GARBAGE).unwrap_or(line));
            tracing::warn!(upstream = %self.wire.upstream, suppressed, why, line, "a line on stdout is no message for us");
        }
    }
}

// === impl OpenCall ===

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        let Self { conversation, number } = self;
        if !conversation.calls.forget(*number) || conversation.writer.withdraw(*number) {
            return;
        }
        let era = conversation.era.get().copied().unwrap_or(Era::Legacy);
        let params = format!(r#"{{"requestId":{number}}}"#);
        conversation.notify("notifications/cancelled", notification_params(Some(&params), era).as_deref());
    }
}

// === impl Greeted ===

impl Greeted<'_> {
    /// Waits for the answer. It may be asked again after its future was dropped.
    pub(super) async fn answer(&self) -> Result<Frame, Cause> {
        loop {
            match poll_fn(|context| self.conversation.calls.poll(self.number, context)).await {
                Heard::Outcome(outcome) => return outcome,
                Heard::Event(_) => {}
            }
        }
    }
}

impl Drop for Greeted<'_> {
    fn drop(&mut self) {
        self.conversation.calls.forget(self.number);
    }
}
