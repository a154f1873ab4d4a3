//! One attempt to list everything that a server has. Whoever comes while it is under way waits for the same one.

use highwater_upstream::error::Cause;
use tokio::sync::watch;
use tokio::time::Instant;

/// An attempt.
pub(super) struct Loading {
    pub(super) done: watch::Receiver<Loaded>,
    pub(super) begun: Instant,
}

/// What came of it, once it is over.
pub(super) type Loaded = Option<Result<(), Cause>>;

impl Loading {
    /// Whether something may still come of it. Where its task is gone, nothing will.
    pub(super) fn is_under_way(&self) -> bool {
        self.done.borrow().is_none() && self.done.has_changed().is_ok()
    }
}
