//! The local copy of one session: on a single node the truth, on a shared store a guess to be checked.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use highwater_core::id::SessionKey;
use highwater_core::label::Label;
use highwater_notation::Timestamp;
use serde::Serialize;

use crate::gate::Gate;
use crate::key::SessionOwner;

/// A session at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionState {
    /// How often it was declassified. Within an epoch a label only rises.
    pub epoch: u64,
    /// Moves with every join and declassification, and with nothing else.
    pub version: u64,
    /// Everything the session has taken in.
    pub label: Label,
    /// What was read before a silence, while nobody has said whether this is still that conversation.
    pub pending: Option<Arc<Pending>>,
}

/// What a presumed conversation may still hold of what was read before a silence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pending {
    /// What was read.
    pub label: Label,
    /// When that began.
    pub since: Timestamp,
    /// When it was last used.
    pub until: Timestamp,
}

/// One session as it is known here.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: SessionKey,
    pub(crate) owner: SessionOwner,
    pub(crate) gate: Gate,
    /// `None` until it was read or joined for the first time.
    state: ArcSwapOption<SessionState>,
    adopting: Mutex<()>,
    /// One more than the last epoch in which this replica joined; `0` before it ever did.
    joined_in: AtomicU64,
    /// When it was last used here; `0` before it ever was.
    seen: AtomicI64,
    /// When that was last written down.
    noted: AtomicI64,
    /// Whether it was looked up since the cache last made room.
    pub(crate) used: AtomicBool,
}

/// How long a use is not written down again, in milliseconds.
pub(crate) const SEEN_EVERY: i64 = 60_000;

// === impl SessionState ===

impl SessionState {
    /// A session that nothing was joined into yet.
    pub fn unborn() -> Self {
        Self { epoch: 0, version: 0, label: Label::bottom(), pending: None }
    }

    /// Everything that the conversation may hold: its label, and what is pending.
    pub fn possible(&self) -> Label {
        match &self.pending {
            Some(pending) => self.label.clone().joined(&pending.label),
            None => self.label.clone(),
        }
    }
}

// === impl Entry ===

impl Entry {
    pub(crate) fn new(key: SessionKey, owner: SessionOwner) -> Self {
        Self {
            key,
            owner,
            gate: Gate::default(),
            state: ArcSwapOption::empty(),
            adopting: Mutex::new(()),
            joined_in: AtomicU64::new(0),
            seen: AtomicI64::new(0),
            noted: AtomicI64::new(0),
            used: AtomicBool::new(true),
        }
    }

    /// The copy, if there is one.
    pub(crate) fn state(&self) -> Option<Arc<SessionState>> {
        self.state.load_full()
    }

    /// Takes over what the store said, unless the copy is newer. Gives the newer of the two.
    pub(crate) fn adopt(&self, state: SessionState) -> Arc<SessionState> {
        let _one_at_a_time = self.adopting.lock().unwrap_or_else(PoisonError::into_inner);
        match self.state.load_full() {
            Some(known) if known.version >= state.version => known,
            Some(_) | None => {
                let state = Arc::new(state);
                self.state.store(Some(Arc::clone(&state)));
                state
            }
        }
    }

    /// Adds to the copy what is queued to be written and decides nothing. Gives the copy.
    pub(crate) fn add_to_copy(&self, label: &Label) -> Arc<SessionState> {
        let _one_at_a_time = self.adopting.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.state.load_full().unwrap_or_else(|| Arc::new(SessionState::unborn()));
        let label = known.label.clone().joined(label);
        let state = Arc::new(SessionState { label, ..(*known).clone() });
        // A copy that was dropped meanwhile is not made again from this alone.
        if self.state.load().is_some() {
            self.state.store(Some(Arc::clone(&state)));
        }
        state
    }

    /// Drops the copy: somebody else may have written.
    pub(crate) fn forget(&self) {
        let _one_at_a_time = self.adopting.lock().unwrap_or_else(PoisonError::into_inner);
        self.state.store(None);
    }

    /// Whether this replica has joined in this epoch. Before it has, it may not skip a join: the person who
    /// began the epoch may still be waiting to lower the label.
    pub(crate) fn has_joined_in(&self, epoch: u64) -> bool {
        self.joined_in.load(Ordering::Acquire) == epoch + 1
    }

    pub(crate) fn note_joined_in(&self, epoch: u64) {
        self.joined_in.fetch_max(epoch + 1, Ordering::AcqRel);
    }

    /// When it was last used here, if it was.
    pub(crate) fn seen(&self) -> Option<i64> {
        Some(self.seen.load(Ordering::Relaxed)).filter(|seen| *seen != 0)
    }

    /// Notes a use that is written down already.
    pub(crate) fn note_written(&self, now: i64) {
        self.seen.store(now, Ordering::Relaxed);
        self.noted.store(now, Ordering::Relaxed);
    }

    /// Notes a use, and says whether it is to be written down.
    pub(crate) fn note_use(&self, now: i64, every: i64) -> bool {
        self.seen.store(now, Ordering::Relaxed);
        let is_due = now - self.noted.load(Ordering::Relaxed) >= every;
        if is_due {
            self.noted.store(now, Ordering::Relaxed);
        }
        is_due
    }
}
