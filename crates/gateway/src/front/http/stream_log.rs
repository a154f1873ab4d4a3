//! The events of one stream towards a legacy client, kept so that a client whose connection broke can have them again.
//!
//! Writers append, one reader at a time follows. While somebody reads, a full log makes its writers wait; while nobody
//! does, the oldest events give way and a reader who comes back for them is told that they are gone.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use highwater_mcp::sse;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::front::server::Events;

/// How much a log keeps.
const MAX_EVENTS: usize = 256;
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// How long a client whose stream ended early should wait before it comes back.
const COME_BACK_AFTER: Duration = Duration::from_millis(250);

/// For how long a client that was sent away counts as one that waits.
const COMES_BACK_WITHIN: Duration = Duration::from_secs(10);

/// How often a silent stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// One stream's events.
pub(super) struct StreamLog {
    name: String,
    state: Mutex<LogState>,
    /// Something was written, read or closed.
    moved: Notify,
}

#[derive(Default)]
struct LogState {
    events: VecDeque<(u64, Bytes)>,
    bytes: usize,
    /// The number of the next event; the first is 1.
    next: u64,
    /// The number of the last event the reader took.
    taken: u64,
    closed: bool,
    /// Counts readers; only the newest follows.
    reader: u64,
    reading: bool,
    /// When the last reader was hung up on, which it comes back from.
    sent_away: Option<Instant>,
}

/// Marks that nobody reads any more when the reader's connection is gone.
struct Reader {
    log: Arc<StreamLog>,
    number: u64,
    position: u64,
    greeting: Option<Bytes>,
    /// Hang up after this much silence; the client comes back for the rest.
    hang_up_after: Option<Duration>,
}

/// How a reader wants to be served.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Manner {
    /// Begin with an event that has an id and nothing else, so that the client can come back from the start.
    pub(super) priming: bool,
    /// Hang up after this much silence instead of holding the connection.
    pub(super) hang_up_after: Option<Duration>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.log.state();
        if state.reader == self.number {
            state.reading = false;
        }
        drop(state);
        self.log.moved.notify_waiters();
    }
}

// === impl StreamLog ===

impl StreamLog {
    pub(super) fn new(name: String) -> Arc<Self> {
        let state = LogState { next: 1, ..LogState::default() };
        Arc::new(Self { name, state: Mutex::new(state), moved: Notify::new() })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Appends an event, waiting for a reader that is behind.
    pub(super) async fn push(&self, message: Bytes) {
        loop {
            let moved = self.moved.notified();
            {
                let mut state = self.state();
                if !(state.reading && state.is_full() && state.has_unread()) {
                    state.append(message);
                    break;
                }
            }
            moved.await;
        }
        self.moved.notify_waiters();
    }

    /// Appends an event without waiting: the oldest give way.
    pub(super) fn push_now(&self, message: Bytes) {
        self.state().append(message);
        self.moved.notify_waiters();
    }

    /// Nothing more will come.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.moved.notify_waiters();
    }

    /// Whether somebody reads, or was sent away a moment ago to come back.
    pub(super) fn is_awaited(&self) -> bool {
        let state = self.state();
        state.reading || state.sent_away.is_some_and(|when| when.elapsed() < COMES_BACK_WITHIN)
    }

    pub(super) fn is_read(&self) -> bool {
        self.state().reading
    }

    /// Whether everything was taken and nothing more will come.
    pub(super) fn is_done(&self) -> bool {
        let state = self.state();
        state.closed && !state.reading && !state.has_unread()
    }

    /// The event after which the unread ones begin, as far as they are still there.
    pub(super) fn unread(&self) -> u64 {
        let state = self.state();
        let oldest = state.events.front().map_or(state.next, |(number, _)| *number);
        state.taken.max(oldest.saturating_sub(1))
    }

    /// Follows the log from after this event, as encoded events. `None` if events after it are gone already.
    pub(super) fn follow(self: &Arc<Self>, after: u64, manner: Manner) -> Option<Events> {
        let mut state = self.state();
        let oldest = state.events.front().map_or(state.next, |(number, _)| *number);
        if after + 1 < oldest || after >= state.next {
            return None;
        }
        state.reader += 1;
        state.reading = true;
        state.sent_away = None;
        state.taken = after;
        let number = state.reader;
        drop(state);
        self.moved.notify_waiters();
        let greeting = manner.priming.then(|| self.greeting(after));
        let hang_up_after = manner.hang_up_after;
        let reader = Reader { log: Arc::clone(self), number, position: after, greeting, hang_up_after };
        Some(Box::pin(stream::unfold(reader, |mut reader| async move {
            let bytes = reader.next().await?;
            Some((bytes, reader))
        })))
    }

    /// Tells the client where it is and when to come back.
    fn greeting(&self, number: u64) -> Bytes {
        let wait = COME_BACK_AFTER.as_millis();
        Bytes::from(format!("retry: {wait}\nid: {}-{number}\ndata: \n\n", self.name))
    }

    fn encode(&self, number: u64, message: &[u8]) -> Bytes {
        let mut out = Vec::with_capacity(message.len() + 48);
        sse::encode(&mut out, Some(&format!("{}-{number}", self.name)), message);
        out.into()
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl LogState ===

impl LogState {
    fn is_full(&self) -> bool {
        self.events.len() >= MAX_EVENTS || self.bytes >= MAX_BYTES
    }

    fn has_unread(&self) -> bool {
        self.taken + 1 < self.next
    }

    fn append(&mut self, message: Bytes) {
        // At least the new event is kept, however large it is.
        while self.is_full() {
            match self.events.pop_front() {
                Some((_, old)) => self.bytes -= old.len(),
                None => break,
            }
        }
        self.bytes += message.len();
        self.events.push_back((self.next, message));
        self.next += 1;
    }
}

// === impl Reader ===

impl Reader {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(greeting) = self.greeting.take() {
            return Some(greeting);
        }
        loop {
            let log = Arc::clone(&self.log);
            let moved = log.moved.notified();
            {
                let mut state = self.log.state();
                if state.reader != self.number {
                    return None;
                }
                let found = state.events.iter().find(|(number, _)| *number > self.position).cloned();
                if let Some((number, message)) = found {
                    self.position = number;
                    state.taken = number;
                    drop(state);
                    self.log.moved.notify_waiters();
                    return Some(self.log.encode(number, &message));
                }
                if state.closed {
                    return None;
                }
            }
            let patience = self.hang_up_after.unwrap_or(KEEP_ALIVE);
            if tokio::time::timeout(patience, moved).await.is_err() {
                if self.hang_up_after.is_some() {
                    self.log.state().sent_away = Some(Instant::now());
                    return None;
                }
                let mut out = Vec::new();
                sse::encode_comment(&mut out, "");
                return Some(out.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt;

    fn text(bytes: Bytes) -> String {
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn a_client_that_comes_back_gets_what_it_missed() {
        let log = StreamLog::new("s".into());
        log.push("one".into()).await;
        let mut first = log.follow(0, Manner::default()).unwrap();
        assert_eq!(text(first.next().await.unwrap()), "id: s-1\ndata: one\n\n");
        drop(first);
        log.push("two".into()).await;
        log.close();
        assert!(!log.is_done());
        let mut again = log.follow(1, Manner::default()).unwrap();
        assert_eq!(text(again.next().await.unwrap()), "id: s-2\ndata: two\n\n");
        assert!(again.next().await.is_none());
        drop(again);
        assert!(log.is_done());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_hangs_up_says_when_to_come_back_and_loses_nothing() {
        let log = StreamLog::new("s".into());
        let manner = Manner { priming: true, hang_up_after: Some(Duration::from_millis(100)) };
        let mut first = log.follow(0, manner).unwrap();
        assert_eq!(text(first.next().await.unwrap()), "retry: 250\nid: s-0\ndata: \n\n");
        assert!(first.next().await.is_none());
        drop(first);
        log.push("one".into()).await;
        let mut again = log.follow(0, Manner::default()).unwrap();
        assert_eq!(text(again.next().await.unwrap()), "id: s-1\ndata: one\n\n");
    }

    #[tokio::test]
    async fn a_second_reader_replaces_the_first() {
        let log = StreamLog::new("s".into());
        let mut first = log.follow(0, Manner::default()).unwrap();
        let mut second = log.follow(0, Manner::default()).unwrap();
        log.push("one".into()).await;
        assert!(first.next().await.is_none());
        drop(first);
        assert!(log.is_read());
        assert!(second.next().await.is_some());
    }

    #[tokio::test]
    async fn events_that_are_gone_are_not_passed_over_in_silence() {
        let log = StreamLog::new("s".into());
        for _ in 0..MAX_EVENTS + 1 {
            log.push_now("x".into());
        }
        assert!(log.follow(0, Manner::default()).is_none());
        assert!(log.follow(1, Manner::default()).is_some());
        assert!(log.follow(10_000, Manner::default()).is_none());
    }

    #[tokio::test]
    async fn a_slow_reader_slows_the_writer_and_loses_nothing() {
        let log = StreamLog::new("s".into());
        let mut reader = log.follow(0, Manner::default()).unwrap();
        let writer = tokio::spawn({
            let log = Arc::clone(&log);
            async move {
                for number in 0..MAX_EVENTS * 3 {
                    log.push(number.to_string().into()).await;
                }
                log.close();
            }
        });
        let mut seen = 0;
        while let Some(event) = reader.next().await {
            assert!(text(event).contains(&format!("data: {seen}\n")));
            seen += 1;
        }
        assert_eq!(seen, MAX_EVENTS * 3);
        writer.await.unwrap();
    }
}
