//! A virtual server: some upstreams under one endpoint, and their merged lists, made anew when one of them changes.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};
use highwater_config::{ApprovalSettings, Expose, Prefix};
use highwater_core::grant::Grant;
use highwater_core::id::{Principal, VirtualServerId};
use highwater_core::policy::Policy;
use highwater_upstream::box_cold;

use super::CatalogServer;
use super::listed::Listed;
use super::merge::{Merged, ToolEntry};
use super::standing::Standings;
use super::view::{View, Viewer};

/// One endpoint's view of the upstreams.
pub(crate) struct VirtualServer {
    pub(crate) id: VirtualServerId,
    prefix: Prefix,
    pub(crate) expose: Expose,
    policy: Arc<Policy>,
    standings: Arc<Standings>,
    catalog_servers: Vec<Arc<CatalogServer>>,
    /// What the operator says of approving tools; nothing where none can be approved.
    terms: Option<Arc<ApprovalSettings>>,
    merged: ArcSwapOption<Merged>,
}

// === impl VirtualServer ===

impl VirtualServer {
    pub(crate) fn new(
        id: VirtualServerId,
        (prefix, expose): (Prefix, Expose),
        (policy, terms): (Arc<Policy>, Option<Arc<ApprovalSettings>>),
        standings: Arc<Standings>,
        catalog_servers: Vec<Arc<CatalogServer>>,
    ) -> Arc<Self> {
        let merged = ArcSwapOption::empty();
        Arc::new(Self { id, prefix, expose, policy, terms, standings, catalog_servers, merged })
    }

    pub(crate) fn catalog_servers(&self) -> &[Arc<CatalogServer>] {
        &self.catalog_servers
    }

    /// What is known now. Starts nothing.
    pub(crate) fn known(&self) -> Arc<Merged> {
        if let Some(merged) = &*self.merged.load()
            && merged
                .stamps
                .iter()
                .copied()
                .eq(self.catalog_servers.iter().map(|catalog_server| catalog_server.stamp()))
        {
            return Arc::clone(merged);
        }
        // The stamps are read before the listing: a change in between makes the result stale, never wrong.
        let stamps = self.catalog_servers.iter().map(|catalog_server| catalog_server.stamp()).collect();
        let shelves: Vec<_> = self
            .catalog_servers
            .iter()
            .map(|catalog_server| (Arc::clone(catalog_server), catalog_server.server_listing()))
            .collect();
        let nobody = Principal::new("");
        let listing = self.listed(&nobody, Grant::everything());
        let merged =
            Arc::new(Merged::build((self.prefix, self.expose), &listing, &self.standings, shelves, stamps));
        self.merged.store(Some(Arc::clone(&merged)));
        merged
    }

    fn listed<'a>(&'a self, principal: &'a Principal, grant: &'a Grant) -> Listed<'a> {
        let terms = self.terms.as_deref();
        Listed { policy: &self.policy, virtual_server: &self.id, principal, grant, terms }
    }

    /// Whether a rule of the list phase hides a tool from this caller.
    pub(crate) fn hides(&self, viewer: &Viewer<'_>, names: &Merged, shown: &str, tool: &ToolEntry) -> bool {
        let listing = self.listed(viewer.principal, &viewer.standing.grant);
        let contracts = names.contracts(&tool.entry.upstream);
        contracts.is_none_or(|of| listing.hides(shown, &tool.entry, &tool.known, of.server()))
    }

    /// What a caller is shown once every server had its chance to start.
    pub(crate) async fn view(&self, viewer: &Viewer<'_>) -> Arc<View> {
        self.look(viewer).await.1
    }

    /// What a caller is shown of what is known now. Starts nothing.
    pub(crate) fn view_now(&self, viewer: &Viewer<'_>) -> Arc<View> {
        self.known().view(&self.listed(viewer.principal, &viewer.standing.grant), viewer)
    }

    /// What a caller is shown once every server had its chance to start, with what it was made of.
    pub(crate) async fn look(&self, viewer: &Viewer<'_>) -> (Arc<Merged>, Arc<View>) {
        let listing = self.listed(viewer.principal, &viewer.standing.grant);
        let merged = self.complete().await;
        let view = merged.view(&listing, viewer);
        (merged, view)
    }

    /// Looks at every server again: a client is new here.
    pub(crate) fn look_for_new_client(&self) {
        self.catalog_servers.iter().for_each(|catalog_server| catalog_server.look_for_new_client());
    }

    /// What is known once every server had its chance to start. Servers of which something was approved in an earlier run
    /// are not waited for, and where there are such, nobody else is either: what comes later is announced.
    pub(crate) async fn complete(&self) -> Arc<Merged> {
        if self.catalog_servers.iter().any(|catalog_server| !catalog_server.is_seen()) {
            self.gather().await;
        }
        join_all(self.catalog_servers.iter().map(|catalog_server| catalog_server.seen_for_new_client()))
            .await;
        for catalog_server in self.catalog_servers.iter().filter(|catalog_server| catalog_server.is_due()) {
            // What comes of it is announced; a list waits for nobody.
            catalog_server.look_in_background();
        }
        self.known()
    }

    /// Starts every server that has listed nothing yet, and waits for none.
    pub(crate) async fn start(&self) {
        join_all(self.catalog_servers.iter().map(|catalog_server| catalog_server.start())).await;
    }

    async fn gather(&self) {
        join_all(self.catalog_servers.iter().map(|catalog_server| catalog_server.offer_kept())).await;
        if self.catalog_servers.iter().any(|catalog_server| catalog_server.was_offered()) {
            self.catalog_servers.iter().for_each(CatalogServer::start_loading);
        } else {
            join_all(self.catalog_servers.iter().map(|catalog_server| catalog_server.ensure_stocked())).await;
        }
    }

    /// The same as `look`, once servers that still start have listed their resources, which are not kept.
    pub(crate) async fn look_with_resources(&self, viewer: &Viewer<'_>) -> (Arc<Merged>, Arc<View>) {
        self.complete().await;
        if self.catalog_servers.iter().any(|catalog_server| !catalog_server.is_seen()) {
            box_cold(join_all(
                self.catalog_servers.iter().map(|catalog_server| catalog_server.ensure_resources()),
            ))
            .await;
        }
        self.look(viewer).await
    }

    /// Looks something up in what is known and, only if it is not there, waits for servers that are not up yet: one after
    /// the other as they come up, so that a server that hangs delays nobody else's first call.
    pub(crate) async fn find<T: Send>(
        &self,
        look: impl Fn(&Merged) -> Option<T> + Send + Sync,
    ) -> Option<(T, Arc<Merged>)> {
        let known = self.known();
        if let Some(found) = look(&known) {
            return Some((found, known));
        }
        self.find_in_time(look).await
    }

    async fn find_in_time<T>(&self, look: impl Fn(&Merged) -> Option<T>) -> Option<(T, Arc<Merged>)> {
        join_all(self.catalog_servers.iter().map(|catalog_server| catalog_server.offer_kept())).await;
        let known = self.known();
        if let Some(found) = look(&known) {
            return Some((found, known));
        }
        let missing = self.catalog_servers.iter().filter(|catalog_server| !catalog_server.is_seen());
        let mut coming: FuturesUnordered<_> =
            missing.map(|catalog_server| catalog_server.ensure_listed()).collect();
        while coming.next().await.is_some() {
            let known = self.known();
            if let Some(found) = look(&known) {
                return Some((found, known));
            }
        }
        // It may be new.
        let stamps =
            || self.catalog_servers.iter().map(|catalog_server| catalog_server.stamp()).collect::<Vec<_>>();
        let before = stamps();
        join_all(self.catalog_servers.iter().map(|catalog_server| catalog_server.look_for_more())).await;
        if stamps() == before {
            return None;
        }
        let known = self.known();
        look(&known).map(|found| (found, known))
    }
}
