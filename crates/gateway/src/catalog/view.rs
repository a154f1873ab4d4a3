//! What one token is shown of a virtual server: the lists without what it does not grant, and what its servers alone say
//! of themselves. Made once for each token and each state of the lists, and kept as the bytes that are sent.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use highwater_core::grant::Grant;
use highwater_core::id::{Principal, UpstreamId};
use highwater_mcp::era::Era;
use highwater_upstream::control::ListKind;

use super::capabilities;
use super::contracts::Known;
use super::listed::Listed;
use super::merge::{Entry, ListBytes, Merged, Shelf};
use crate::tokens::Standing;

/// How many views of one state of the lists are kept.
const MOST_VIEWS: usize = 256;

/// What a client is shown.
pub(crate) struct View {
    lists: BTreeMap<ListKind, ListBytes>,
    legacy_capabilities: String,
    modern_capabilities: String,
    pub(crate) instructions: Option<String>,
}

/// One entry of a list, as clients see it.
pub(super) struct Row {
    pub(super) upstream: UpstreamId,
    pub(super) text: Bytes,
    /// What else decides about a tool.
    pub(super) tool: Option<ToolRow>,
}

pub(super) struct ToolRow {
    pub(super) client_name: Arc<str>,
    pub(super) own: Arc<str>,
    pub(super) known: Arc<Known>,
    /// A rule of the list phase hides it from whoever has no token of their own.
    pub(super) is_hidden: bool,
}

/// The views that were made, by principal.
#[derive(Default)]
pub(super) struct Views(Mutex<HashMap<Principal, Made>>);

/// A view, and the standing it was made for.
struct Made {
    standing: Arc<Standing>,
    view: Arc<View>,
}

/// Who looks.
pub(crate) struct Viewer<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) standing: &'a Arc<Standing>,
}

// === impl View ===

impl View {
    pub(super) fn new(lists: BTreeMap<ListKind, ListBytes>, shelves: &[Shelf]) -> Self {
        Self {
            lists,
            legacy_capabilities: capabilities::capabilities(Era::Legacy, shelves),
            modern_capabilities: capabilities::capabilities(Era::Modern, shelves),
            instructions: capabilities::instructions(shelves),
        }
    }

    fn of(merged: &Merged, listing: &Listed<'_>, grant: &Grant) -> Self {
        let shelves: Vec<Shelf> = merged
            .shelves
            .iter()
            .filter(|(station, _)| grant.servers.covers(station.id()))
            .cloned()
            .collect();
        let lists = merged.rows.iter().map(|(kind, rows)| {
            let shown = rows.iter().filter(|row| row.is_shown(merged, listing, grant));
            let texts = shown.filter_map(|row| std::str::from_utf8(&row.text).ok());
            (*kind, ListBytes::build(*kind, texts, &shelves))
        });
        Self::new(lists.collect(), &shelves)
    }

    /// The capabilities for a client of this era, as JSON text.
    pub(crate) fn capabilities(&self, era: Era) -> &str {
        match era {
            Era::Legacy => &self.legacy_capabilities,
            Era::Modern => &self.modern_capabilities,
        }
    }

    /// A whole list response.
    pub(crate) fn list_response(&self, kind: ListKind, era: Era, id: &str) -> Vec<u8> {
        ListBytes::response(self.lists.get(&kind), era, id)
    }

    pub(super) fn list(&self, kind: ListKind) -> Option<&ListBytes> {
        self.lists.get(&kind)
    }
}

// === impl Row ===

impl Row {
    fn is_shown(&self, merged: &Merged, listing: &Listed<'_>, grant: &Grant) -> bool {
        let Some(tool) = &self.tool else { return grant.shows_data_of(&self.upstream) };
        if !grant.shows_tool(&self.upstream, &tool.own, tool.known.contract.variant()) {
            return false;
        }
        if !listing.looks_at_caller() {
            return !tool.is_hidden;
        }
        let entry = Entry { upstream: self.upstream.clone(), name: Arc::clone(&tool.own) };
        let Some(contracts) = merged.contracts(&self.upstream) else { return false };
        !listing.hides(&tool.client_name, &entry, &tool.known, contracts.server())
    }
}

// === impl Views ===

impl Views {
    /// What this caller is shown.
    pub(super) fn view(&self, merged: &Merged, listing: &Listed<'_>, viewer: &Viewer<'_>) -> Arc<View> {
        let mut views = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) =
            views.get(viewer.principal).filter(|made| Arc::ptr_eq(&made.standing, viewer.standing))
        {
            return Arc::clone(&made.view);
        }
        let view = Arc::new(View::of(merged, listing, &viewer.standing.grant));
        if !views.contains_key(viewer.principal) && views.len() >= MOST_VIEWS {
            // Whichever: it is made again when it is wanted.
            let any = views.keys().next().cloned();
            any.map(|principal| views.remove(&principal));
        }
        let made = Made { standing: Arc::clone(viewer.standing), view: Arc::clone(&view) };
        views.insert(viewer.principal.clone(), made);
        view
    }
}
