//! What a list of resources names, server by server: each part is labelled and judged by itself, and a part that may not
//! be shown costs no other.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater_core::id::UpstreamId;
use highwater_core::label::Label;
use highwater_core::session::label_claims;
use highwater_mcp::annotations::result_says;
use highwater_mcp::era::Era;
use highwater_mcp::text::quote;
use highwater_upstream::control::ListKind;

use super::contracts::Contracts;
use super::known::Known;
use super::list_bytes::ListBytes;
use super::merge::{Merged, Shelf};
use super::view::Row;

/// The member of `_meta` that names the servers whose resources are left out of a list.
const LEFT_OUT: &str = "dev.highwater/leftOut";

/// The resources of one server in a list.
#[derive(Debug)]
pub(crate) struct ResourcePart {
    pub(crate) upstream: UpstreamId,
    /// What holds of all that it names.
    pub(crate) known: Arc<Known>,
    /// What its entries say of themselves. One of many may make the list no milder, so it only adds.
    pub(crate) said: Label,
    /// Its resources, by their server's own URIs.
    pub(crate) uris: Vec<Arc<str>>,
}

// === impl Contracts ===

impl Contracts {
    /// A list of resources, by their server's own URIs: what it says is as strict as anything that it names. Nothing is
    /// asked of the server for it, so nothing goes anywhere.
    fn resource_list<'u>(&self, uris: impl Iterator<Item = &'u str>) -> Arc<Known> {
        let mut named: Vec<Arc<Known>> = Vec::new();
        for uri in uris {
            let known = self.resource(uri);
            if !named.iter().any(|other| Arc::ptr_eq(other, &known) || other.contract == known.contract) {
                named.push(known);
            }
        }
        let contracts = named.iter().map(|known| known.contract.clone());
        match contracts.reduce(|strictest, other| strictest.strictest(&other)) {
            Some(contract) => Arc::new(Known::of(contract.kept_here(), self.hold(), &self.standing)),
            None => Arc::clone(self.unknown()),
        }
    }
}

// === impl Merged ===

impl Merged {
    /// The parts of the list of resources. A server that lists nothing has none. Made for who asks first.
    pub(crate) fn resource_parts(&self) -> &[ResourcePart] {
        self.resource_parts.get_or_init(|| {
            let mut uris: BTreeMap<&UpstreamId, Vec<Arc<str>>> = BTreeMap::new();
            for entry in self.resources.values() {
                uris.entry(&entry.upstream).or_default().push(Arc::clone(&entry.name));
            }
            let parts = uris.into_iter().filter_map(|(upstream, uris)| {
                let known = self.contracts(upstream)?.resource_list(uris.iter().map(|uri| &**uri));
                let rows = self.resource_rows().iter().filter(|row| row.upstream == *upstream);
                let said = rows.fold(Label::bottom(), |said, row| {
                    said.joined(&label_claims(&result_says(row.text().unwrap_or_default()).claims))
                });
                Some(ResourcePart { upstream: upstream.clone(), known, said, uris })
            });
            parts.collect()
        })
    }

    /// The list of resources of some servers alone, as it is sent but for its end.
    fn resources_of(&self, shown: impl Fn(&UpstreamId) -> bool) -> ListBytes {
        let shelves: Vec<Shelf> =
            self.shelves.iter().filter(|(catalog_server, _)| shown(catalog_server.id())).cloned().collect();
        let rows = self.resource_rows().iter().filter(|row| shown(&row.upstream));
        ListBytes::build(ListKind::Resources, rows.filter_map(Row::text), &shelves)
    }

    /// A whole response without the resources of some servers, which names them.
    pub(crate) fn resources_without(
        &self,
        shown: impl Fn(&UpstreamId) -> bool,
        left_out: &[&UpstreamId],
        (era, id): (Era, &str),
    ) -> Vec<u8> {
        let list = self.resources_of(|upstream| shown(upstream) && !left_out.contains(&upstream));
        let names: Vec<String> = left_out.iter().map(|upstream| quote(upstream.as_str())).collect();
        let names = format!("[{}]", names.join(","));
        ListBytes::response(Some(&list.with_meta(LEFT_OUT, &names)), era, id)
    }

    fn resource_rows(&self) -> &[Row] {
        self.rows.get(&ListKind::Resources).map(Vec::as_slice).unwrap_or_default()
    }
}
