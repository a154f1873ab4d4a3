//! The last look before something is sent: a server that came back since a call was judged may be another, and what was
//! approved then may be refused now.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use highwater_upstream::Doorkeeper;

use super::arrival::Route;
use crate::catalog::{Contracts, Station};

/// A server as a call was judged by it.
pub(super) struct Door {
    station: Arc<Station>,
    judged: Arc<Contracts>,
    /// The tool that is called, by its server's own name.
    tool: Option<Arc<str>>,
}

// === impl Door ===

impl Door {
    /// Where this call goes; `None` if its server may say what it likes.
    pub(super) fn of(route: &Route) -> Option<Self> {
        route.contracts.is_kept_to_its_word().then(|| Self {
            station: Arc::clone(&route.station),
            judged: Arc::clone(&route.contracts),
            tool: route.tool.as_ref().map(|tool| Arc::clone(&tool.own)),
        })
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the door to `{}`", self.station.id())
    }
}

impl Doorkeeper for Door {
    fn admits(&self, connection: Option<u64>) -> bool {
        self.station.stands_on(connection, |seen| self.judged.holds_as_judged(seen, self.tool.as_deref()))
    }

    fn look(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.station.ensure_current())
    }
}
