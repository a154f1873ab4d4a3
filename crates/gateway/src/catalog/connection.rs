//! Whether what a server listed counts for the connection that is used: a server that came back may be another.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use highwater_mcp::text::string_member;
use highwater_upstream::{Beside, Greeting};
use tokio::time::Instant;

use super::server::{CatalogServer, PATIENCE};
use super::server_listing::ServerListing;
use crate::pins::Observed;

/// How long what was listed counts for connections that clients open beside the shared one.
const LATELY: Duration = Duration::from_secs(30);

// === impl CatalogServer ===

impl CatalogServer {
    /// Whether what is listed was listed by the process or on the connection that is used, and nothing broke since.
    pub(crate) fn is_current(&self) -> bool {
        self.stands_on(self.upstream.connection(), |_| true)
    }

    /// Whether what is listed was listed on this connection and this is true of what was approved of it.
    pub(crate) fn stands_on(
        &self,
        connection: Option<u64>,
        is_true: impl FnOnce(&Arc<Observed>) -> bool,
    ) -> bool {
        let server_listing = self.server_listing.load();
        let listed = server_listing
            .as_ref()
            .filter(|server_listing| connection.is_some() && server_listing.connection == connection);
        let unbroken = |server_listing: &&Arc<ServerListing>| {
            server_listing.breaks == self.upstream.breaks() || self.refresh.is_fresh()
        };
        listed.filter(unbroken).is_some_and(|server_listing| is_true(&server_listing.observed))
    }

    /// Whether this is true of what was approved of what is listed.
    pub(crate) fn stands(&self, is_true: impl FnOnce(&Arc<Observed>) -> bool) -> bool {
        self.server_listing.load().as_ref().is_some_and(|server_listing| is_true(&server_listing.observed))
    }

    /// Looks at the server again because a client's own connection to it was opened. Not for each of them: what was listed
    /// a moment ago counts, as long as the server says that it is the same. Whether it does in the end.
    pub(crate) async fn look_at_connection(self: &Arc<Self>, beside: Beside<'_>) -> bool {
        let is_seen = || self.listed_from().is_some_and(|from| from >= beside.opened);
        let counts = |server_listing: &ServerListing| {
            let lately = !beside.again && self.listed_from().is_some_and(|from| from.elapsed() < LATELY);
            is_seen() || lately && says_the_same(&server_listing.greeting, beside.greeting)
        };
        if !self.seen().as_deref().is_some_and(counts) {
            let look = async {
                let _refreshing = self.refreshing.lock().await;
                // Of several who waited one has looked for all of them.
                if !is_seen()
                    && let Err(error) = self.load().await
                {
                    tracing::warn!(%error, "a new connection to it was opened and it could not be looked at again");
                }
            };
            if tokio::time::timeout(PATIENCE, look).await.is_err() {
                tracing::warn!(server = %self.id(), "it could not be looked at again in time");
            }
        }
        let is_it =
            |server_listing: &ServerListing| is_called_the_same(&server_listing.greeting, beside.greeting);
        self.seen().as_deref().is_some_and(|server_listing| counts(server_listing) && is_it(server_listing))
    }

    fn listed_from(&self) -> Option<Instant> {
        *self.listed_from.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes sure that what is listed was listed by the process or on the connection that is used: a server that came
    /// back may not be what it was. Gives up when patience ends; what follows then fails by itself.
    pub(crate) async fn ensure_current(self: &Arc<Self>) {
        if !self.is_seen() {
            return self.ensure_listed().await;
        }
        let again = async {
            let _refreshing = self.refreshing.lock().await;
            if !self.is_current()
                && let Err(error) = self.load().await
            {
                tracing::warn!(%error, "it came back and could not be looked at again");
            }
        };
        if tokio::time::timeout(PATIENCE, again).await.is_err() {
            tracing::warn!(server = %self.id(), "it came back and could not be looked at again in time");
        }
    }
}

/// Whether a server that greeted twice says the same of itself, as far as that does not hang on the era.
fn says_the_same(one: &Greeting, other: &Greeting) -> bool {
    let version = |greeting: &Greeting| told(greeting, "version");
    is_called_the_same(one, other) && version(one) == version(other) && one.instructions == other.instructions
}

/// Whether a server that greeted twice goes by the same name, where it says one.
fn is_called_the_same(one: &Greeting, other: &Greeting) -> bool {
    match (told(one, "name"), told(other, "name")) {
        (Some(one), Some(other)) => one == other,
        (None, _) | (_, None) => true,
    }
}

fn told(greeting: &Greeting, member: &str) -> Option<String> {
    let info = std::str::from_utf8(greeting.server_info.as_ref()?).ok()?;
    string_member(info, member).map(std::borrow::Cow::into_owned)
}
