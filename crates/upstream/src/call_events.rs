//! The way of a call's events to its caller, and the clock that they restart. A call is given up when nothing
//! was heard for too long; while a question waits for a person, nobody is late.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::{Duration, Instant};

use crate::event::{CallEvent, CallSink};

/// Where a link sends the events of one call.
#[derive(Clone, Debug)]
pub(crate) struct CallEvents {
    sink: CallSink,
    clock: Arc<CallClock>,
}

/// When a call last showed life.
#[derive(Debug)]
struct CallClock {
    state: Mutex<ClockState>,
}

#[derive(Debug)]
struct ClockState {
    last: Instant,
    /// Something was handed to the caller.
    spoken: bool,
    open_questions: usize,
}

/// Lives in an unanswered question and stops the clock meanwhile.
#[derive(Debug)]
pub(crate) struct OpenQuestion {
    clock: Arc<CallClock>,
}

// === impl CallEvents ===

impl CallEvents {
    /// The events of a call whose clock has been running since `began`.
    pub(crate) fn new(sink: &CallSink, began: Instant) -> Self {
        let state = ClockState { last: began, spoken: false, open_questions: 0 };
        Self { sink: sink.clone(), clock: Arc::new(CallClock { state: Mutex::new(state) }) }
    }

    /// Hands an event to the caller, waiting for room. An event nobody listens for is dropped; a question
    /// among them answers itself by that.
    pub(crate) async fn send(&self, mut event: CallEvent) {
        self.clock.with(|state| state.spoken = true);
        if let CallEvent::Ask(ask) = &mut event {
            ask.answer.stop_clock(OpenQuestion::new(&self.clock));
        }
        if self.sink.send(event).await.is_err() {
            tracing::debug!("nobody listens for the events of a call");
        }
    }

    /// Hands an event to the caller if there is room, for streams that several calls share: none of them may
    /// wait for the others' callers. A question that finds no room answers itself.
    pub(crate) fn offer(&self, mut event: CallEvent) {
        self.clock.with(|state| state.spoken = true);
        if let CallEvent::Ask(ask) = &mut event {
            ask.answer.stop_clock(OpenQuestion::new(&self.clock));
        }
        if self.sink.try_send(event).is_err() {
            tracing::debug!("an event of a call found no room");
        }
    }

    /// Whether the caller has been told anything.
    pub(crate) fn have_spoken(&self) -> bool {
        self.clock.state.lock().unwrap_or_else(PoisonError::into_inner).spoken
    }

    /// When the call must be given up as things stand, or nothing while a question is open.
    pub(crate) fn deadline(&self, patience: Duration) -> Option<Instant> {
        let state = self.clock.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.open_questions == 0).then(|| state.last + patience)
    }
}

// === impl CallClock ===

impl CallClock {
    fn with(&self, change: impl FnOnce(&mut ClockState)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.last = Instant::now();
        change(&mut state);
    }
}

// === impl OpenQuestion ===

impl OpenQuestion {
    fn new(clock: &Arc<CallClock>) -> Self {
        clock.with(|state| state.open_questions += 1);
        Self { clock: Arc::clone(clock) }
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.clock.with(|state| state.open_questions -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{AnswerSlot, Ask};

    #[tokio::test(start_paused = true)]
    async fn events_restart_the_clock_and_open_questions_stop_it() {
        let (sink, mut received) = tokio::sync::mpsc::channel(4);
        let events = CallEvents::new(&sink, Instant::now());
        let patience = Duration::from_secs(10);
        assert_eq!(events.deadline(patience), Some(Instant::now() + patience));
        tokio::time::advance(Duration::from_secs(7)).await;
        let (answer, _receiver) = AnswerSlot::new();
        events.send(CallEvent::Ask(Ask { method: "roots/list".to_owned(), params: None, answer })).await;
        assert_eq!(events.deadline(patience), None);
        tokio::time::advance(Duration::from_secs(700)).await;
        let Some(CallEvent::Ask(ask)) = received.recv().await else { panic!("a question was sent") };
        ask.answer.refuse(-32601, "no");
        assert_eq!(events.deadline(patience), Some(Instant::now() + patience));
    }
}
