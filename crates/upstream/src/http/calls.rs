//! The calls in flight on a link whose server can also speak on a stream that belongs to no call: the GET
//! stream of Streamable HTTP, and the only stream of HTTP+SSE.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use highwater_mcp::frame::{Frame, FrameKind};

use super::message_endpoint::MessageEndpoint;
use super::question::{Questions, pong};
use crate::call_events::CallEvents;
use crate::error::Cause;
use crate::event::{CallEvent, NoticeKind};
use crate::link::LinkWorld;
use crate::notification::{Request, ServerNotification, refusal};

/// The actions in flight. Control messages are not among them: nobody could answer a question for them.
#[derive(Default)]
pub(super) struct Calls {
    open: Mutex<Vec<Call>>,
    garbage: AtomicUsize,
}

struct Call {
    number: u64,
    events: CallEvents,
    questions: Questions,
}

/// Keeps a call among those in flight.
pub(super) struct InFlight<'a> {
    calls: &'a Calls,
    number: u64,
}

// === impl Calls ===

impl Calls {
    /// Counts a call as in flight until the returned value goes.
    pub(super) fn enter(&self, number: u64, events: Option<&CallEvents>) -> Option<InFlight<'_>> {
        let events = events?.clone();
        self.lock().push(Call { number, events, questions: Questions::default() });
        Some(InFlight { calls: self, number })
    }

    /// Takes a notification or request that came on a stream of no call.
    pub(super) fn hear(&self, frame: Frame, world: &LinkWorld, message_endpoint: &Arc<MessageEndpoint>) {
        match frame.kind() {
            FrameKind::Notification => self.hear_notification(frame, world),
            FrameKind::Request => self.hear_request(&frame, world, message_endpoint),
            FrameKind::Response | FrameKind::Error => {
                tracing::debug!(upstream = %world.upstream, "an answer that nobody waits for was dropped");
            }
        }
    }

    /// Logs a message that could not be read and belongs to nobody; more and more rarely, since a server can
    /// send any number of them.
    pub(super) fn heard_garbage(&self, cause: &Cause, world: &LinkWorld) {
        let count = self.garbage.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_power_of_two() {
            tracing::warn!(upstream = %world.upstream, %cause, count, "a message of no call was dropped");
        }
    }

    fn hear_notification(&self, frame: Frame, world: &LinkWorld) {
        let (owner, event) = match ServerNotification::of(&frame) {
            ServerNotification::Notice(kind) => return world.notice(kind),
            ServerNotification::Progress(number) => {
                let owner = number.and_then(|number| self.events_of(number));
                (owner, CallEvent::Progress(frame))
            }
            ServerNotification::Log => match self.only() {
                Some(events) => (Some(events), CallEvent::Notification(frame)),
                None if self.lock().is_empty() => return world.notice(NoticeKind::Log(frame)),
                // One client's, whichever of its calls it is of.
                None if world.session.is_some() => return world.notice(NoticeKind::Log(frame)),
                None => return world.notice(NoticeKind::SomebodysLog(frame)),
            },
            ServerNotification::Completed => return world.notice(NoticeKind::ElicitationComplete(frame)),
            ServerNotification::Other => (self.only(), CallEvent::Notification(frame)),
            ServerNotification::Withdrawn(question) => {
                return self.lock().iter_mut().for_each(|call| call.questions.withdraw(&question));
            }
            ServerNotification::Acknowledged(_) => return,
        };
        match owner {
            Some(events) => events.offer(event),
            None => tracing::debug!(upstream = %world.upstream, "a notification of no call was dropped"),
        }
    }

    fn hear_request(&self, frame: &Frame, world: &LinkWorld, message_endpoint: &Arc<MessageEndpoint>) {
        let Some(id) = frame.id() else { return };
        match Request::of(frame) {
            Request::Ping => return message_endpoint.send_off(pong(id)),
            Request::Unknown => return message_endpoint.send_off(refusal(id)),
            Request::Question => {}
        }
        // It names no call, so it belongs to the only one in flight or to none. What is asked while there is
        // none, such as the roots right after the greeting, says nothing about calls to come.
        let mut open = self.lock();
        if !open.is_empty() {
            world.note_question();
        }
        let raised = match open.as_mut_slice() {
            [only] => only.questions.raise(frame, message_endpoint).map(|ask| (ask, only.events.clone())),
            _ => None,
        };
        drop(open);
        match raised {
            Some((ask, events)) => events.offer(CallEvent::Ask(ask)),
            None => message_endpoint.send_off(refusal(id)),
        }
    }

    fn only(&self) -> Option<CallEvents> {
        match self.lock().as_slice() {
            [only] => Some(only.events.clone()),
            _ => None,
        }
    }

    fn events_of(&self, number: u64) -> Option<CallEvents> {
        self.lock().iter().find(|call| call.number == number).map(|call| call.events.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Call>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl InFlight ===

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let mut open = self.calls.lock();
        let over = open.iter().position(|call| call.number == self.number).map(|at| open.swap_remove(at));
        drop(open);
        drop(over);
    }
}
