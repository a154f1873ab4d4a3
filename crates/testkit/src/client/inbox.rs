//! Everything that arrived at a client, in order, and who waits for what.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::bail;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::message::{Message, shown};

/// Which HTTP exchange a message came on; none for stdio and the standing stream.
pub(super) type Stream = Option<u64>;

/// What ended the wait for a response.
pub(super) type End = Result<Arrived, String>;

/// A response, and where in the order of things it came.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) message: Message,
    pub(super) position: usize,
    pub(super) status: Option<u16>,
}

pub(super) struct Inbox {
    state: Mutex<State>,
    count: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    log: Vec<Entry>,
    waiting: HashMap<String, oneshot::Sender<End>>,
    /// Why nothing will arrive any more.
    closed: Option<String>,
}

struct Entry {
    message: Message,
    stream: Stream,
    taken: bool,
}

// === impl Inbox ===

impl Inbox {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), count: watch::Sender::new(0) }
    }

    /// Waits, from now on, for the response with this id.
    pub(super) fn expect(&self, id: &str) -> (usize, oneshot::Receiver<End>) {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.lock();
        match &state.closed {
            Some(why) => {
                sender.send(Err(why.clone())).ok();
            }
            None => {
                state.waiting.insert(id.to_owned(), sender);
            }
        }
        (state.log.len(), receiver)
    }

    /// Notes an arrival; a response also ends the wait for it.
    pub(super) fn arrived(&self, message: Message, stream: Stream) {
        let mut state = self.lock();
        let position = state.log.len();
        state.log.push(Entry { message: message.clone(), stream, taken: false });
        let waiter = match message.is_response() {
            true => message.id().and_then(|id| state.waiting.remove(id)),
            false => None,
        };
        drop(state);
        if let Some(waiter) = waiter {
            waiter.send(Ok(Arrived { message, position, status: None })).ok();
        }
        self.count.send_replace(position + 1);
    }

    /// Ends the wait for one response, with the message if there is one.
    pub(super) fn settle(&self, id: &str, end: Result<(Message, u16), String>) {
        let mut state = self.lock();
        let Some(waiter) = state.waiting.remove(id) else { return };
        let position = state.log.len();
        drop(state);
        let end = end.map(|(message, status)| Arrived { message, position, status: Some(status) });
        waiter.send(end).ok();
    }

    /// Nothing will arrive any more.
    pub(super) fn close(&self, why: &str) {
        let mut state = self.lock();
        state.closed.get_or_insert_with(|| why.to_owned());
        let waiting = std::mem::take(&mut state.waiting);
        let length = state.log.len();
        drop(state);
        for waiter in waiting.into_values() {
            waiter.send(Err(why.to_owned())).ok();
        }
        self.count.send_replace(length);
    }

    /// The notifications and questions between two positions, of one exchange or of all.
    pub(super) fn between(&self, from: usize, to: usize, stream: Stream) -> Vec<Message> {
        let state = self.lock();
        let entries = state.log.get(from..to).unwrap_or_default();
        let ours = entries.iter().filter(|entry| stream.is_none() || entry.stream == stream);
        ours.filter(|entry| !entry.message.is_response()).map(|entry| entry.message.clone()).collect()
    }

    /// Everything so far.
    pub(super) fn all(&self) -> Vec<Message> {
        self.lock().log.iter().map(|entry| entry.message.clone()).collect()
    }

    /// Takes the first message that fits, waiting for it if need be.
    pub(super) async fn take(
        &self,
        patience: Duration,
        what: &str,
        fits: impl Fn(&Message) -> bool,
    ) -> anyhow::Result<Message> {
        let deadline = Instant::now() + patience;
        let mut count = self.count.subscribe();
        loop {
            count.mark_unchanged();
            let closed = {
                let mut state = self.lock();
                let found = state.log.iter_mut().find(|entry| !entry.taken && fits(&entry.message));
                if let Some(entry) = found {
                    entry.taken = true;
                    return Ok(entry.message.clone());
                }
                state.closed.clone()
            };
            if let Some(why) = closed {
                bail!("no {what} came: {why}; {}", self.story());
            }
            if tokio::time::timeout_at(deadline, count.changed()).await.is_err() {
                bail!("no {what} came within {patience:?}; {}", self.story());
            }
        }
    }

    /// What arrived, for whoever has to find out why something did not.
    pub(super) fn story(&self) -> String {
        const LAST: usize = 12;
        let state = self.lock();
        let from = state.log.len().saturating_sub(LAST);
        let last = state.log.get(from..).unwrap_or_default();
        let lines: Vec<String> =
            last.iter().map(|entry| format!("  {}", shown(entry.message.raw()))).collect();
        format!("the last that arrived:\n{}", lines.join("\n"))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
