//! The last look before something is sent: a server that came back since a call was judged may be another, and what was
//! approved then may be refused now.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use highwater_upstream::{Connection, Doorkeeper};

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
    fn admits(&self, connection: &Connection<'_>) -> bool {
        let as_judged = |seen: &_| self.judged.holds_as_judged(seen, self.tool.as_deref());
        match &connection.beside {
            None => self.station.stands_on(connection.number, as_judged),
            Some(beside) => beside.looked_at && self.station.stands(as_judged),
        }
    }

    fn look<'a>(&'a self, connection: &'a Connection<'_>) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        match connection.beside {
            None => Box::pin(async {
                self.station.ensure_current().await;
                true
            }),
            Some(beside) => Box::pin(self.station.look_at_connection(beside)),
        }
    }
}
