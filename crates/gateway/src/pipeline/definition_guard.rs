//! The last look before something is sent: a server that came back since a call was judged may be another, and what was
//! approved then may be refused now.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use highwater_upstream::{Connection, DefinitionGuard};

use super::arrival::Route;
use crate::catalog::{CatalogServer, Contracts};

/// A server as a call was judged by it.
pub(super) struct JudgedServer {
    catalog_server: Arc<CatalogServer>,
    judged: Arc<Contracts>,
    /// The tool that is called, by its server's own name.
    tool: Option<Arc<str>>,
}

// === impl JudgedServer ===

impl JudgedServer {
    /// Where this call goes; `None` if its server may say what it likes.
    pub(super) fn of(route: &Route) -> Option<Self> {
        route.contracts.is_kept_to_its_word().then(|| Self {
            catalog_server: Arc::clone(&route.catalog_server),
            judged: Arc::clone(&route.contracts),
            tool: route.tool.as_ref().map(|tool| Arc::clone(&tool.own)),
        })
    }
}

impl fmt::Debug for JudgedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the door to `{}`", self.catalog_server.id())
    }
}

impl DefinitionGuard for JudgedServer {
    fn admits(&self, connection: &Connection<'_>) -> bool {
        let as_judged = |seen: &_| self.judged.holds_as_judged(seen, self.tool.as_deref());
        match &connection.beside {
            None => self.catalog_server.stands_on(connection.number, as_judged),
            Some(beside) => beside.looked_at && self.catalog_server.stands(as_judged),
        }
    }

    fn look<'a>(&'a self, connection: &'a Connection<'_>) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        match connection.beside {
            None => Box::pin(async {
                self.catalog_server.ensure_current().await;
                true
            }),
            Some(beside) => Box::pin(self.catalog_server.look_at_connection(beside)),
        }
    }
}
