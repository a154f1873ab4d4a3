//! Background work of a link: it ends with its owner, and waits longer and longer while it fails.

use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::Instant;

/// The first wait after a failure.
const FIRST: Duration = Duration::from_secs(1);
/// The longest wait that we choose ourselves.
const LONGEST: Duration = Duration::from_secs(60);
/// The shortest wait that a server can ask for: it must not make us spin.
const SHORTEST: Duration = Duration::from_millis(50);
/// The longest wait that a server can ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(300);

/// A stream that was open this long was no failure, even if nothing was said on it: proxies end quiet ones.
const LIVED: Duration = Duration::from_secs(10);

/// Work in the background, stopped when its owner goes.
#[derive(Debug)]
pub(super) struct Task {
    handle: AbortHandle,
}

/// How long to wait before trying again.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

// === impl Task ===

impl Task {
    pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { handle: tokio::spawn(work).abort_handle() }
    }

    pub(super) fn stop(&self) {
        self.handle.abort();
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.stop();
    }
}

// === impl Backoff ===

impl Backoff {
    /// The next wait: what the server asked for, or twice as long as the last time.
    pub(super) fn next(&mut self, asked: Option<Duration>) -> Duration {
        let doubled = FIRST.saturating_mul(1 << self.failures.min(10)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        asked.map_or(doubled, asked_wait)
    }

    /// Takes into account a stream that was open since then and has ended.
    pub(super) fn note_stream(&mut self, since: Instant, said_anything: bool) {
        if said_anything || since.elapsed() >= LIVED {
            self.failures = 0;
        }
    }
}

/// A wait that a server asked for, within reason.
pub(super) fn asked_wait(asked: Duration) -> Duration {
    asked.clamp(SHORTEST, LONGEST_ASKED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_grow_until_a_stream_has_lived() {
        let mut backoff = Backoff::default();
        let waits: Vec<u64> = (0..8).map(|_| backoff.next(None).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        let opened = Instant::now();
        backoff.note_stream(opened, false);
        assert_eq!(backoff.next(None).as_secs(), 60);
        tokio::time::advance(LIVED).await;
        backoff.note_stream(opened, false);
        assert_eq!(backoff.next(None).as_secs(), 1);
        assert_eq!(backoff.next(None).as_secs(), 2);
        backoff.note_stream(Instant::now(), true);
        assert_eq!(backoff.next(None).as_secs(), 1);
    }

    #[test]
    fn a_server_is_not_obeyed_beyond_reason() {
        let mut backoff = Backoff::default();
        for (asked, waited) in [(0, 50), (50, 50), (700, 700), (u64::MAX, 300_000)] {
            let wait = backoff.next(Some(Duration::from_millis(asked)));
            assert_eq!(wait.as_millis(), waited);
        }
    }
}
