//! The calls in flight on a conversation that all of them share. What is heard is put into the inbox of the
//! call it belongs to, and the call's own task takes it out: a caller that does not read delays nobody else.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use highwater_mcp::frame::Frame;
use tokio::time::Instant;

use crate::error::Cause;
use crate::event::CallEvent;

/// How many events may wait for one caller. Progress beyond it tells nobody anything.
const MAX_WAITING: usize = 256;

/// The calls in flight.
pub(super) struct Calls {
    table: Mutex<Table>,
    /// How many bytes of events may wait for one caller.
    max_waiting_bytes: usize,
}

#[derive(Default)]
struct Table {
    inboxes: HashMap<u64, Inbox>,
    /// Why there will be no more calls, once there will be none.
    over: Option<Cause>,
}

#[derive(Default)]
struct Inbox {
    /// Whether the server may ask back in the course of it.
    is_action: bool,
    /// When the request was made.
    opened: Option<Instant>,
    events: VecDeque<CallEvent>,
    bytes: usize,
    outcome: Option<Result<Frame, Cause>>,
    waker: Option<Waker>,
}

/// What a call hears next.
pub(super) enum Heard {
    /// Something before the answer.
    Event(CallEvent),
    /// The answer, or why there is none. Nothing follows.
    Outcome(Result<Frame, Cause>),
}

/// Whose a message is that names no call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// No action is in flight.
    Nobody,
    /// The only action in flight.
    Call(u64),
    /// Several are in flight, and nothing says which.
    Anybody,
}

// === impl Calls ===

impl Calls {
    pub(super) fn new(max_waiting_bytes: usize) -> Self {
        Self { table: Mutex::default(), max_waiting_bytes }
    }

    /// Opens an inbox, unless the conversation is over.
    pub(super) fn open(&self, number: u64, is_action: bool) -> Result<(), Cause> {
        let mut table = self.table();
        if let Some(cause) = &table.over {
            return Err(cause.clone());
        }
        let opened = Some(Instant::now());
        table.inboxes.insert(number, Inbox { is_action, opened, ..Inbox::default() });
        Ok(())
    }

    /// Takes what has come for a call, events first, in their order.
    pub(super) fn poll(&self, number: u64, context: &mut Context<'_>) -> Poll<Heard> {
        let mut table = self.table();
        let Some(inbox) = table.inboxes.get_mut(&number) else {
            let cause = table.over.clone().unwrap_or_else(|| Cause::Gone("the call was given up".to_owned()));
            return Poll::Ready(Heard::Outcome(Err(cause)));
        };
        if let Some(event) = inbox.events.pop_front() {
            inbox.bytes = inbox.bytes.saturating_sub(weight(&event));
            return Poll::Ready(Heard::Event(event));
        }
        if let Some(outcome) = inbox.outcome.take() {
            table.inboxes.remove(&number);
            return Poll::Ready(Heard::Outcome(outcome));
        }
        match &mut inbox.waker {
            Some(waker) => waker.clone_from(context.waker()),
            None => inbox.waker = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    /// Closes an inbox. True if its answer had not come yet.
    pub(super) fn forget(&self, number: u64) -> bool {
        self.table().inboxes.remove(&number).is_some_and(|inbox| inbox.outcome.is_none())
    }

    /// Puts the answer, or the reason why there is none, into a call's inbox. False if nobody waits for it.
    pub(super) fn settle(&self, number: u64, outcome: Result<Frame, Cause>) -> bool {
        let mut table = self.table();
        let waker = match table.inboxes.get_mut(&number) {
            Some(inbox) if inbox.outcome.is_none() => {
                inbox.outcome = Some(outcome);
                inbox.waker.take()
            }
            Some(_) | None => return false,
        };
        drop(table);
        wake(waker);
        true
    }

    /// Fails every call in flight.
    pub(super) fn settle_all(&self, cause: &Cause) {
        let mut wakers = Vec::new();
        for inbox in self.table().inboxes.values_mut() {
            if inbox.outcome.is_none() {
                inbox.outcome = Some(Err(cause.clone()));
                wakers.extend(inbox.waker.take());
            }
        }
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Ends the conversation: fails every call in flight and every later one. The first reason stays.
    pub(super) fn end(&self, cause: &Cause) {
        self.table().over.get_or_insert_with(|| cause.clone());
        self.settle_all(cause);
    }

    /// Why the conversation is over, if it is.
    pub(super) fn over(&self) -> Option<Cause> {
        self.table().over.clone()
    }

    pub(super) fn is_over(&self) -> bool {
        self.table().over.is_some()
    }

    /// Puts an event into a call's inbox; hands it back if there is no such call or no room.
    pub(super) fn deliver(&self, number: u64, event: CallEvent) -> Result<(), CallEvent> {
        let weight = weight(&event);
        let mut table = self.table();
        let waker = match table.inboxes.get_mut(&number) {
            Some(inbox)
                if inbox.is_action
                    && inbox.outcome.is_none()
                    && inbox.events.len() < MAX_WAITING
                    && inbox.bytes.saturating_add(weight) <= self.max_waiting_bytes =>
            {
                inbox.bytes += weight;
                inbox.events.push_back(event);
                inbox.waker.take()
            }
            Some(_) | None => return Err(event),
        };
        drop(table);
        wake(waker);
        Ok(())
    }

    /// When the oldest request was made that waits for an answer; `but` is one that stays open.
    pub(super) fn oldest(&self, but: u64) -> Option<Instant> {
        let table = self.table();
        let waiting =
            table.inboxes.iter().filter(|(number, inbox)| **number != but && inbox.outcome.is_none());
        waiting.filter_map(|(_, inbox)| inbox.opened).min()
    }

    /// Whose a message is that names no call.
    pub(super) fn owner(&self) -> Owner {
        let table = self.table();
        let mut actions = table
            .inboxes
            .iter()
            .filter(|(_, inbox)| inbox.is_action && inbox.outcome.is_none())
            .map(|(number, _)| *number);
        match (actions.next(), actions.next()) {
            (None, _) => Owner::Nobody,
            (Some(number), None) => Owner::Call(number),
            (Some(_), Some(_)) => Owner::Anybody,
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

fn weight(event: &CallEvent) -> usize {
    match event {
        CallEvent::Progress(frame) | CallEvent::Notification(frame) => frame.bytes().len(),
        CallEvent::Ask(ask) => ask.params.as_ref().map_or(0, bytes::Bytes::len),
        CallEvent::Retry(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use bytes::Bytes;
    use highwater_mcp::scan::ScanRules;

    use super::*;

    fn frame(text: &'static str) -> Frame {
        Frame::parse(Bytes::from_static(text.as_bytes()), &ScanRules::FROM_SERVER).unwrap()
    }

    fn progress() -> CallEvent {
        CallEvent::Progress(frame(r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#))
    }

    async fn next(calls: &Calls, number: u64) -> Heard {
        poll_fn(|context| calls.poll(number, context)).await
    }

    #[tokio::test]
    async fn events_come_before_the_answer_and_nothing_after_it() {
        let calls = Calls::new(1 << 20);
        calls.open(1, true).unwrap();
        calls.deliver(1, progress()).unwrap();
        assert!(calls.settle(1, Ok(frame(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#))));
        assert!(!calls.settle(1, Err(Cause::Gone("late".to_owned()))));
        assert!(calls.deliver(1, progress()).is_err());
        assert!(matches!(next(&calls, 1).await, Heard::Event(_)));
        assert!(matches!(next(&calls, 1).await, Heard::Outcome(Ok(_))));
        assert!(!calls.settle(1, Err(Cause::Gone("later".to_owned()))));
    }

    #[test]
    fn a_message_without_a_name_belongs_to_the_only_action() {
        let calls = Calls::new(1 << 20);
        calls.open(1, false).unwrap();
        assert_eq!(calls.owner(), Owner::Nobody);
        calls.open(2, true).unwrap();
        assert_eq!(calls.owner(), Owner::Call(2));
        calls.open(3, true).unwrap();
        assert_eq!(calls.owner(), Owner::Anybody);
        assert!(calls.forget(2));
        assert_eq!(calls.owner(), Owner::Call(3));
    }

    #[test]
    fn what_waits_for_a_caller_is_bounded() {
        let calls = Calls::new(120);
        calls.open(1, true).unwrap();
        let accepted = (0..10).take_while(|_| calls.deliver(1, progress()).is_ok()).count();
        assert_eq!(accepted, 2);
    }

    #[tokio::test]
    async fn an_ended_conversation_fails_every_call_in_flight_and_later() {
        let calls = Calls::new(1 << 20);
        calls.open(1, true).unwrap();
        let gone = Cause::Gone("exit code 1".to_owned());
        calls.end(&gone);
        calls.end(&Cause::ShuttingDown);
        assert!(matches!(next(&calls, 1).await, Heard::Outcome(Err(cause)) if cause == gone));
        assert_eq!(calls.open(2, true), Err(gone));
    }
}
