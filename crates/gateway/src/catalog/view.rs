//! What one token is shown of a virtual server: the lists without what it does not grant, and what its servers alone say
//! of themselves. Made once for each token and each state of the lists, and kept as the bytes that are sent.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use highwater_config::Expose;
use highwater_core::approval::AuthenticatorClass;
use highwater_core::grant::Grant;
use highwater_core::id::{Principal, UpstreamId};
use highwater_mcp::era::Era;
use highwater_search::Sight;
use highwater_upstream::control::ListKind;

use super::capabilities;
use super::finder::Finder;
use super::gate::{self, Gate};
use super::known::Known;
use super::list_bytes::ListBytes;
use super::listed::Listed;
use super::merge::{Entry, Merged, Shelf};
use super::own_tool::OwnTool;
use crate::tokens::Standing;

/// How many views of one state of the lists are kept.
const MOST_VIEWS: usize = 256;

/// What a client is shown.
pub(crate) struct View {
    lists: BTreeMap<ListKind, ListBytes>,
    legacy_capabilities: String,
    modern_capabilities: String,
    pub(crate) instructions: Option<String>,
    /// Which rows of tools can be found; of a virtual server that offers no search, none.
    found: Vec<bool>,
    sight: OnceLock<Sight>,
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
    /// Whether a passkey must or may have to approve its calls.
    pub(super) gate: Option<Gate>,
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
    /// What is shown to who is granted everything.
    pub(super) fn whole(
        expose: Expose,
        mut lists: BTreeMap<ListKind, ListBytes>,
        rows: &BTreeMap<ListKind, Vec<Row>>,
        shelves: &[Shelf],
        approvals: bool,
    ) -> Self {
        let tools = rows.get(&ListKind::Tools).map(Vec::as_slice).unwrap_or_default();
        let is_shown = |row: &&Row| row.tool.as_ref().is_some_and(|tool| !tool.is_hidden);
        if expose != Expose::Direct {
            let list = tool_list(expose, Grant::everything(), tools.iter().filter(is_shown), shelves);
            lists.insert(ListKind::Tools, list);
        }
        let found = tools.iter().map(|row| is_shown(&row));
        let found = if expose == Expose::Direct { Vec::new() } else { found.collect() };
        Self::new(lists, shelves, found, approvals)
    }

    fn new(
        lists: BTreeMap<ListKind, ListBytes>,
        shelves: &[Shelf],
        found: Vec<bool>,
        approvals: bool,
    ) -> Self {
        Self {
            lists,
            legacy_capabilities: capabilities::capabilities(Era::Legacy, shelves, approvals),
            modern_capabilities: capabilities::capabilities(Era::Modern, shelves, approvals),
            instructions: capabilities::instructions(shelves),
            found,
            sight: OnceLock::new(),
        }
    }

    fn of(merged: &Merged, listing: &Listed<'_>, grant: &Grant) -> Self {
        let shelves: Vec<Shelf> = merged
            .shelves
            .iter()
            .filter(|(catalog_server, _)| grant.servers.covers(catalog_server.id()))
            .cloned()
            .collect();
        let mut found = Vec::new();
        let lists = merged.rows.iter().map(|(kind, rows)| {
            let shown: Vec<bool> = rows.iter().map(|row| row.is_shown(merged, listing, grant)).collect();
            let those = rows.iter().zip(&shown).filter(|(_, shown)| **shown).map(|(row, _)| row);
            let list = match kind {
                ListKind::Tools => tool_list(merged.expose, grant, those, &shelves),
                ListKind::Prompts | ListKind::Resources | ListKind::ResourceTemplates => {
                    ListBytes::build(*kind, those.filter_map(Row::text), &shelves)
                }
            };
            if *kind == ListKind::Tools && merged.expose != Expose::Direct {
                found = shown;
            }
            (*kind, list)
        });
        let lists = lists.collect();
        Self::new(lists, &shelves, found, merged.approvals)
    }

    /// Whether a tool, by its row, can be found.
    pub(super) fn finds(&self, row: usize) -> bool {
        self.found.get(row).copied().unwrap_or(false)
    }

    /// What can be found, as the index sees it.
    pub(super) fn sight(&self, finder: &Finder) -> &Sight {
        self.sight.get_or_init(|| finder.sight(self))
    }

    /// The capabilities for a client of this era, as JSON text.
    pub(crate) fn capabilities(&self, era: Era) -> &str {
        match era {
            Era::Legacy => &self.legacy_capabilities,
            Era::Modern => &self.modern_capabilities,
        }
    }

    /// Whether this shows of a list what another view shows of it.
    pub(crate) fn is_alike(&self, kind: ListKind, other: &Self) -> bool {
        match (self.lists.get(&kind), other.lists.get(&kind)) {
            (Some(one), Some(other)) => one.is_alike(other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }

    /// A whole list response.
    pub(crate) fn list_response(&self, kind: ListKind, era: Era, id: &str) -> Vec<u8> {
        ListBytes::response(self.lists.get(&kind), era, id)
    }
}

/// The list of tools: ours, where a virtual server offers them, and the servers'.
fn tool_list<'r>(
    expose: Expose,
    grant: &Grant,
    rows: impl Iterator<Item = &'r Row>,
    shelves: &[Shelf],
) -> ListBytes {
    let ours = OwnTool::ALL.into_iter().filter(|tool| expose != Expose::Direct && tool.is_granted(grant));
    let rows: Vec<&Row> = rows.collect();
    // What is called through one of ours is gated, so that one is, too.
    let ours: Vec<String> =
        ours.map(|tool| gate::annotated(tool.definition(), gate_of(tool, &rows))).collect();
    let theirs = rows.iter().filter(|_| expose != Expose::Search).filter_map(|row| row.text());
    ListBytes::build(ListKind::Tools, ours.iter().map(String::as_str).chain(theirs), shelves)
}

/// How one of our own tools is gated: as strictly as anything that can be called through it, if that is called.
fn gate_of(own: OwnTool, rows: &[&Row]) -> Option<Gate> {
    let OwnTool::Call(variant) = own else { return None };
    let tools = rows.iter().filter_map(|row| row.tool.as_ref());
    let reached = tools.filter(|tool| tool.known.contract.variant() <= variant).filter_map(|tool| tool.gate);
    let class = reached.map(|gate| gate.class).reduce(|one, other| match (one, other) {
        (AuthenticatorClass::Platform, AuthenticatorClass::Platform) => AuthenticatorClass::Platform,
        _ => AuthenticatorClass::CrossPlatform,
    });
    class.map(|class| Gate { class, conditional: true })
}

// === impl Row ===

impl Row {
    /// The entry as JSON text.
    pub(super) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.text).ok()
    }

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
