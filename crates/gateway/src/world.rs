//! What the gateway currently consists of: policy, servers and virtual servers, replaced as a whole when the
//! configuration changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use highwater_core::approval::StandingPermit;
use highwater_core::decide::{FlowPolicies, Overlooked};
use highwater_core::id::{UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::policy::Policy;
use highwater_profile::Places;

use crate::catalog::{CatalogServer, VirtualServer};

/// The virtual server at `/mcp`.
pub(crate) const DEFAULT_VIRTUAL_SERVER: &str = "default";

/// The state of the gateway that new requests see.
pub(crate) type CurrentWorld = ArcSwap<World>;

/// One consistent state of the gateway. A request keeps the one it began with.
pub(crate) struct World {
    pub(crate) policy: Arc<Policy>,
    /// By the configuration alone a decision may hang on where a session's data came from.
    pub(crate) origins_matter: bool,
    /// Some virtual server offers tools of our own.
    pub(crate) offers_search: bool,
    /// Some server gets its writes in the order in which they came.
    pub(crate) ordered_writes: bool,
    /// The virtual servers whose calls are judged by the label alone.
    pub(crate) without_provenance: BTreeSet<VirtualServerId>,
    /// The folders that the operator calls projects, and our own files.
    pub(crate) places: Arc<Places>,
    /// What agents may do that nobody watches.
    pub(crate) permits: Arc<[StandingPermit]>,
    pub(crate) catalog_servers: BTreeMap<UpstreamId, Arc<CatalogServer>>,
    pub(crate) virtual_servers: BTreeMap<VirtualServerId, Arc<VirtualServer>>,
}

// === impl World ===

impl World {
    /// The virtual server of this name.
    pub(crate) fn virtual_server(&self, id: &VirtualServerId) -> Option<&Arc<VirtualServer>> {
        self.virtual_servers.get(id)
    }

    /// Whether some decision may look at where a session's data came from.
    pub(crate) fn looks_at_origins(&self) -> bool {
        self.origins_matter || self.flow_policies() == FlowPolicies::Stated
    }

    /// The proof that no decision could ever be another because a session has taken this in, if so it is.
    pub(crate) fn overlooks<'l>(&self, label: &'l Label) -> Option<Overlooked<'l>> {
        self.policy.overlooks(label, self.flow_policies())
    }

    /// Whether a server keeps nothing of what is sent to it, as far as is known of it everywhere.
    pub(crate) fn keeps_nothing(&self, upstream: &UpstreamId) -> bool {
        let Some(admission) = self.policy.admission(upstream) else { return false };
        self.holding(upstream).all(|server| {
            server.known().contracts(upstream).is_some_and(|contracts| contracts.keeps_nothing(admission))
        })
    }

    fn flow_policies(&self) -> FlowPolicies {
        let stated = |server: &Arc<VirtualServer>| server.known().flow_policies() == FlowPolicies::Stated;
        if self.virtual_servers.values().any(stated) { FlowPolicies::Stated } else { FlowPolicies::Unstated }
    }

    /// The virtual servers that hold an upstream.
    pub(crate) fn holding<'a>(
        &'a self,
        upstream: &'a UpstreamId,
    ) -> impl Iterator<Item = &'a Arc<VirtualServer>> {
        self.virtual_servers.values().filter(move |server| {
            server.catalog_servers().iter().any(|catalog_server| catalog_server.id() == upstream)
        })
    }
}
