//! What the gateway currently consists of: policy, stations and virtual servers, replaced as a whole when the
//! configuration changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater_core::id::{UpstreamId, VirtualServerId};
use highwater_core::policy::Policy;

use crate::catalog::{Station, VirtualServer};

/// The virtual server at `/mcp`.
pub(crate) const DEFAULT_VIRTUAL_SERVER: &str = "default";

/// One consistent state of the gateway. A request keeps the one it began with.
pub(crate) struct World {
    pub(crate) policy: Arc<Policy>,
    pub(crate) stations: BTreeMap<UpstreamId, Arc<Station>>,
    pub(crate) virtual_servers: BTreeMap<VirtualServerId, Arc<VirtualServer>>,
}

// === impl World ===

impl World {
    /// The virtual server of this name.
    pub(crate) fn virtual_server(&self, id: &VirtualServerId) -> Option<&Arc<VirtualServer>> {
        self.virtual_servers.get(id)
    }

    /// The virtual servers that hold an upstream.
    pub(crate) fn holding<'a>(
        &'a self,
        upstream: &'a UpstreamId,
    ) -> impl Iterator<Item = &'a Arc<VirtualServer>> {
        self.virtual_servers
            .values()
            .filter(move |server| server.stations().iter().any(|station| station.id() == upstream))
    }
}
