//! The way by which requests come to a presumed conversation: a transport session, a connection, or neither. What was
//! read through a way stays with it, so that an id that comes back is never clean.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use highwater_core::id::{Principal, SessionKey};

use crate::entry::SEEN_EVERY;
use crate::key::SessionOwner;

/// One way, as long as somebody holds it.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) key: SessionKey,
    pub(crate) owner: SessionOwner,
    /// One more than the epoch of the conversation that it is in; `0` before it is in any.
    entered: AtomicU64,
    /// How long a silence ends the conversation, in milliseconds.
    quiet: AtomicI64,
    /// When it was last used here; `0` before it ever was.
    seen: AtomicI64,
}

/// The ways that are known here, by key: two requests of one client know of one way.
#[derive(Debug, Default)]
pub(crate) struct Ways(Mutex<HashMap<SessionKey, Arc<Way>>>);

/// How many ways are kept before those that nobody holds are dropped. What is dropped is entered again.
const KEPT: usize = 4096;

// === impl Ways ===

impl Ways {
    pub(crate) fn way(&self, key: &SessionKey, owner: &SessionOwner) -> Arc<Way> {
        let mut ways = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(way) = ways.get(key) {
            return Arc::clone(way);
        }
        if ways.len() >= KEPT {
            ways.retain(|_, way| Arc::strong_count(way) > 1);
        }
        let way = Arc::new(Way::new(key.clone(), owner.clone()));
        ways.insert(key.clone(), Arc::clone(&way));
        way
    }
}

impl Ways {
    /// The way of a principal that was used last, as far as that is known here: what is written down is older.
    pub(crate) fn last_used(&self, principal: &Principal) -> Option<SessionKey> {
        let ways = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let used = ways.values().filter(|way| way.owner.principal == *principal);
        let last = used.max_by_key(|way| way.seen.load(Ordering::Relaxed))?;
        (last.seen.load(Ordering::Relaxed) > 0).then(|| last.key.clone())
    }
}

// === impl Way ===

impl Way {
    pub(crate) fn new(key: SessionKey, owner: SessionOwner) -> Self {
        Self {
            key,
            owner,
            entered: AtomicU64::new(0),
            quiet: AtomicI64::new(i64::MAX),
            seen: AtomicI64::new(0),
        }
    }

    /// Whether its requests are counted in the conversation as it is in this epoch.
    pub(crate) fn is_in(&self, epoch: u64) -> bool {
        self.entered.load(Ordering::Acquire) == epoch + 1
    }

    pub(crate) fn enter(&self, epoch: u64) {
        self.entered.store(epoch + 1, Ordering::Release);
    }

    pub(crate) fn set_quiet(&self, quiet: i64) {
        self.quiet.store(quiet, Ordering::Relaxed);
    }

    pub(crate) fn note_use(&self, now: i64) {
        self.seen.store(now, Ordering::Relaxed);
    }

    /// How often a use is written down: often enough that a short silence is not taken for a long one.
    pub(crate) fn noted_every(&self) -> i64 {
        noted_every(self.quiet.load(Ordering::Relaxed))
    }
}

/// How long a use need not be written down again if silences of this length count.
pub(crate) fn noted_every(quiet: i64) -> i64 {
    (quiet / 4).clamp(1, SEEN_EVERY)
}

pub(crate) fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
