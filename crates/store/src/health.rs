//! Whether the store works, as far as is known. What a call brings could not be kept while it does not, so nobody should
//! send one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::operation::{Access, Operation, Probe};
use crate::store::Inner;
use crate::{Store, StoreError};

/// For how long a store that could not be written is not tried again.
const AGAIN: Duration = Duration::from_millis(250);

/// How long a try may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is known of how a store does.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// Something failed, and nothing was written since.
    failing: AtomicBool,
    /// It could not even be read.
    silent: AtomicBool,
    /// It answers again after it was silent, so it is worth another try at once.
    answered: AtomicBool,
    /// When it was last tried in vain, and why that failed.
    tried: Mutex<Option<(Instant, StoreError)>>,
}

// === impl Health ===

impl Health {
    pub(crate) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    /// Something is amiss: whoever asks next finds out.
    pub(crate) fn doubt(&self) {
        self.failing.store(true, Ordering::Relaxed);
    }

    /// Takes note of how something ended. A disk without room can still be read, so only a write shows that all is well.
    pub(crate) fn note(&self, writes: bool, error: Option<&StoreError>) {
        match error {
            Some(error) if error.is_outage() => {
                self.doubt();
                self.silent.fetch_or(!writes, Ordering::Relaxed);
            }
            Some(_) => {}
            None if writes && self.is_failing() => self.failing.store(false, Ordering::Relaxed),
            None if self.is_failing() && self.silent.swap(false, Ordering::Relaxed) => {
                self.answered.store(true, Ordering::Relaxed);
            }
            None => {}
        }
    }
}

// === impl Store ===

impl Store {
    /// Whether something failed and nothing was written since, so that it may be away.
    pub fn is_failing(&self) -> bool {
        self.0.health.is_failing() || self.0.backend.presence().is_err()
    }

    /// Whether it can be written, where that is in doubt. Whoever asks while somebody finds out waits for the same answer.
    pub async fn available(&self) -> Result<(), StoreError> {
        self.0.available().await
    }
}

// === impl Inner ===

impl Inner {
    /// Does one thing and waits for it, and notes how it ended.
    pub(crate) async fn perform<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        let writes = operation.access() != Access::Read;
        let done = self.backend.perform(operation).await;
        self.health.note(writes, done.as_ref().err());
        done
    }

    /// Whether the store can be written, where that is in doubt. One finds out for all who ask meanwhile.
    pub(crate) async fn available(&self) -> Result<(), StoreError> {
        self.backend.presence()?;
        if !self.health.is_failing() {
            return Ok(());
        }
        let mut tried = self.health.tried.lock().await;
        if !self.health.is_failing() {
            return Ok(());
        }
        let answered = self.health.answered.swap(false, Ordering::Relaxed);
        if let Some((_, error)) = tried.as_ref().filter(|(at, _)| !answered && at.elapsed() < AGAIN) {
            return Err(error.clone());
        }
        let timed_out = StoreError::TimedOut { doing: Probe::DOING };
        let probed = timeout(PATIENCE, self.perform(Probe)).await.unwrap_or(Err(timed_out));
        *tried = probed.as_ref().err().map(|error| (Instant::now(), error.clone()));
        probed
    }
}
