//! Looking at a server again while it is used: once for all who want it, and mostly beside what it is used for.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use highwater_notation::Timestamp;
use highwater_upstream::Transport;

use super::refresh::Due;
use super::server::{CatalogServer, PATIENCE};

/// How long a call waits for a server to be looked at that nobody used for long, and a list for one that a new client
/// gave occasion to look at.
const MOMENT: Duration = Duration::from_secs(1);

// === impl CatalogServer ===

impl CatalogServer {
    /// Takes up how often the operator wants it looked at.
    pub(crate) fn set_refresh(&self, interval: Duration) {
        self.refresh.set_interval(interval);
    }

    /// When it was last looked at.
    pub(crate) fn looked_at(&self) -> Option<Timestamp> {
        self.refresh.looked_at()
    }

    /// Whether it is to be looked at, now that it is used.
    pub(crate) fn is_due(&self) -> bool {
        self.due() != Due::No
    }

    fn due(&self) -> Due {
        let broken = self
            .server_listing
            .load()
            .as_ref()
            .is_some_and(|server_listing| server_listing.breaks != self.upstream.breaks());
        self.refresh.due(broken)
    }

    /// Looks at it again because it is used. Whoever uses it waits a moment if nobody did for long: a server behind an
    /// address may be another by now.
    pub(crate) async fn refresh_in_use(self: &Arc<Self>) {
        let due = self.due();
        if due == Due::No {
            return;
        }
        self.look_in_background();
        if due == Due::AfterPause && !self.is_child() {
            self.looked_within(MOMENT).await;
        }
    }

    /// Looks at it again beside whatever it is used for.
    pub(crate) fn look_in_background(self: &Arc<Self>) {
        if self.refresh.may_look() {
            self.begin_look();
        }
    }

    /// Looks at it again because somebody asked for what it did not have, and waits for that.
    pub(crate) async fn look_for_more(self: &Arc<Self>) {
        self.look_in_background();
        // Where nobody is at it there is nothing to wait for.
        self.looked_within(PATIENCE).await;
    }

    /// Looks at it again because a new client is there, whose first list waits for that.
    pub(crate) fn look_for_new_client(self: &Arc<Self>) {
        if self.server_listing.load().is_some() && self.refresh.may_look() {
            self.for_new_client.store(true, Ordering::Release);
            self.begin_look();
        }
    }

    /// Waits a moment if it is being looked at because of a new client.
    pub(crate) async fn seen_for_new_client(&self) {
        if self.for_new_client.load(Ordering::Acquire) {
            self.looked_within(MOMENT).await;
        }
    }

    /// Has it looked at by a task of its own, unless somebody is at it.
    fn begin_look(self: &Arc<Self>) {
        let Ok(refreshing) = Arc::clone(&self.refreshing).try_lock_owned() else { return };
        let catalog_server = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(error) = catalog_server.load().await {
                tracing::debug!(%error, "it could not be looked at again");
            }
            catalog_server.for_new_client.store(false, Ordering::Release);
            drop(refreshing);
        });
    }

    async fn looked_within(&self, patience: Duration) {
        if tokio::time::timeout(patience, self.refreshing.lock()).await.is_err() {
            tracing::debug!(server = %self.id(), "it takes its time to be looked at again");
        }
    }

    fn is_child(&self) -> bool {
        matches!(self.upstream.spec().transport, Transport::Stdio { .. })
    }
}
