//! The proof that a label is in the store, without which nothing is delivered.

use std::sync::Arc;
use std::time::Duration;

use highwater_core::decide::Overlooked;
use highwater_core::label::Label;
use tokio::time::Instant;

use crate::entry::{Entry, SessionState};
use crate::{SessionHandle, StoreError};

/// Proof that a label is in the label of its session, in the store; or that the store fails, and the label is one that
/// no decision could see. Only the store can make it.
///
/// On a single node it also keeps the session from being declassified, so hold it until the first byte of
/// what was labelled is handed to the transport, and never while waiting for an upstream. On a shared store it
/// is good for a limited time: [`Joined::renewed`] right before the first byte.
///
/// ```compile_fail
/// use highwater_store::Joined;
/// fn forged(state: std::sync::Arc<highwater_store::SessionState>) -> Joined {
///     Joined { state, hold: todo!() }
/// }
/// ```
#[derive(Debug)]
pub struct Joined {
    state: Arc<SessionState>,
    hold: Lease,
}

/// What keeps the label from going down before the release.
#[derive(Debug)]
enum Lease {
    /// Nobody lowers while this is held.
    Gate { _release: Release },
    /// Nobody lowers before this much later.
    Time { handle: SessionHandle, label: Label, since: Instant, within: Duration },
    /// Nothing was to be joined.
    Nothing,
    /// It is joined when the store is back: there is nothing in it that anybody could lower.
    Later,
}

/// One release is inside the gate of its session.
#[derive(Debug)]
pub(crate) struct Release(Arc<Entry>);

// === impl Joined ===

impl Joined {
    pub(crate) fn held(state: Arc<SessionState>, release: Release) -> Self {
        Self { state, hold: Lease::Gate { _release: release } }
    }

    pub(crate) fn for_a_while(
        state: Arc<SessionState>,
        handle: SessionHandle,
        label: Label,
        since: Instant,
        within: Duration,
    ) -> Self {
        Self { state, hold: Lease::Time { handle, label, since, within } }
    }

    /// For a label that adds nothing to any. A session that is not known counts as having read everything.
    pub(crate) fn nothing(known: Option<Arc<SessionState>>) -> Self {
        Self { state: known.unwrap_or_else(unknown), hold: Lease::Nothing }
    }

    /// For a label that waits for the store to come back.
    pub(crate) fn later(known: Option<Arc<SessionState>>, label: &Label) -> Self {
        let mut state = known.unwrap_or_else(unknown);
        Arc::make_mut(&mut state).label.join(label);
        Self { state, hold: Lease::Later }
    }

    /// Whether the label waits for the store to come back.
    pub fn is_postponed(&self) -> bool {
        matches!(self.hold, Lease::Later)
    }

    /// The session with the label in it.
    pub fn state(&self) -> &Arc<SessionState> {
        &self.state
    }

    /// Whether this label was among what was joined or was there already.
    pub fn covers(&self, label: &Label) -> bool {
        self.state.label.covers(label)
    }

    /// Whether the proof still holds. On a single node it always does.
    pub fn is_fresh(&self) -> bool {
        match &self.hold {
            Lease::Gate { .. } | Lease::Nothing | Lease::Later => true,
            Lease::Time { since, within, .. } => since.elapsed() < *within,
        }
    }

    /// The proof, made again if it took too long from the join to the first byte. If the store fails meanwhile, a label
    /// that no decision could see may be released all the same.
    pub async fn renewed(
        mut self,
        overlooked: impl for<'l> Fn(&'l Label) -> Option<Overlooked<'l>>,
    ) -> Result<Self, StoreError> {
        while !self.is_fresh() {
            match self.hold {
                // A join and not a look: it must move the version, or a declassification would not see it.
                Lease::Time { handle, label, .. } => {
                    self = match Box::pin(handle.write(&label)).await {
                        Ok(joined) => joined,
                        Err(error) => {
                            overlooked(&label).and_then(|proof| handle.postpone(&proof)).ok_or(error)?
                        }
                    }
                }
                Lease::Gate { .. } | Lease::Nothing | Lease::Later => return Ok(self),
            }
        }
        Ok(self)
    }
}

/// A session that is not known counts as having read everything.
fn unknown() -> Arc<SessionState> {
    Arc::new(SessionState { label: Label::top(), ..SessionState::unborn() })
}

// === impl Release ===

impl Release {
    /// Goes in, unless the gate is shut.
    pub(crate) fn try_new(entry: &Arc<Entry>) -> Option<Self> {
        entry.gate.try_enter().then(|| Self(Arc::clone(entry)))
    }

    /// Goes in as soon as the gate is open.
    pub(crate) async fn new(entry: &Arc<Entry>) -> Self {
        entry.gate.enter().await;
        Self(Arc::clone(entry))
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        self.0.gate.leave();
    }
}
