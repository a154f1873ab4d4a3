//! Background work of a link: it ends with its owner, and waits longer and longer while it fails.

use std::time::Duration;

use tokio::task::AbortHandle;

/// The first wait after a failure.
const FIRST: Duration = Duration::from_secs(1);
/// The longest wait that we choose ourselves.
const LONGEST: Duration = Duration::from_secs(60);
/// The shortest wait that a server can ask for: it must not make us spin.
const SHORTEST: Duration = Duration::from_millis(50);
/// The longest wait that a server can ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(300);

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

    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }
}

/// A wait that a server asked for, within reason.
pub(super) fn asked_wait(asked: Duration) -> Duration {
    asked.clamp(SHORTEST, LONGEST_ASKED)
}
