//! The lists of several upstreams in one, under the names clients see, kept as the bytes that are sent.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, hash_map};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use highwater_config::{Expose, Prefix};
use highwater_core::decide::FlowPolicies;
use highwater_core::grant::Permission;
use highwater_core::id::UpstreamId;
use highwater_mcp::annotations::emit;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::reply::without_ours;
use highwater_mcp::schema_headers::{ParamHeader, param_headers};
use highwater_mcp::text::{member, pointer, quote, string_member};
use highwater_pins::PinKind;
use highwater_upstream::control::{ListKind, Listing};

use super::contracts::Contracts;
use super::finder::Finder;
use super::gate::{self, Gate};
use super::known::Known;
use super::list_bytes::ListBytes;
use super::listed::Listed;
use super::names::assign;
use super::own_tool::OwnTool;
use super::resource_list::ResourcePart;
use super::server::CatalogServer;
use super::server_listing::ServerListing;
use super::standing::Standings;
use super::uris::Schemes;
use super::view::{Row, ToolRow, View, Viewer, Views};

/// Everything a virtual server shows, and the way back from each name.
pub(crate) struct Merged {
    /// The stamps of the servers this was made from.
    pub(super) stamps: Vec<u64>,
    pub(crate) tools: HashMap<Arc<str>, ToolEntry>,
    pub(crate) prompts: HashMap<Arc<str>, Entry>,
    /// What is known of everything each server offers.
    contracts: BTreeMap<UpstreamId, Arc<Contracts>>,
    /// Listed resources by the URI clients see.
    pub(super) resources: HashMap<Arc<str>, Entry>,
    /// What the list of them is, server by server, once somebody wanted it.
    pub(super) resource_parts: OnceLock<Vec<ResourcePart>>,
    templates: Vec<(UpstreamId, String)>,
    pub(crate) schemes: Schemes,
    upstreams: Vec<UpstreamId>,
    /// What it was made from.
    pub(super) shelves: Vec<Shelf>,
    /// What clients are offered of its tools.
    pub(super) expose: Expose,
    /// Every tool that can be listed, as the bytes of a list.
    tools_list: Bytes,
    /// The words of its tools, once somebody has searched.
    finder: OnceLock<Finder>,
    /// Every entry of every list.
    pub(super) rows: BTreeMap<ListKind, Vec<Row>>,
    /// What is shown to who is granted everything.
    whole: Arc<View>,
    views: Views,
    /// Whether calls can be approved here.
    pub(super) approvals: bool,
}

/// A server and what it lists, if it is up.
pub(super) type Shelf = (Arc<CatalogServer>, Option<Arc<ServerListing>>);

/// Where a name leads.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) upstream: UpstreamId,
    /// The upstream's own name.
    pub(crate) name: Arc<str>,
}

/// Where a tool's name leads, and what a caller has to know about it.
#[derive(Clone, Debug)]
pub(crate) struct ToolEntry {
    pub(crate) entry: Entry,
    /// Which of its arguments are repeated as headers.
    pub(crate) headers: Vec<ParamHeader>,
    /// Whether it can be called as a task of 2025-11-25 only.
    pub(crate) needs_task: bool,
    /// All that is known of it.
    pub(crate) known: Arc<Known>,
    /// Whether a passkey must or may have to approve its calls.
    pub(crate) gate: Option<Gate>,
    /// The tool as clients are shown it; nothing for one that is not listed.
    shown: Range<usize>,
}

// === impl Merged ===

impl Merged {
    pub(super) fn build(
        (prefix, expose): (Prefix, Expose),
        listing: &Listed<'_>,
        standings: &Standings,
        shelves: Vec<Shelf>,
        stamps: Vec<u64>,
    ) -> Self {
        let approvals = listing.terms.is_some();
        let shelves_held = shelves;
        let shelves = &*shelves_held;
        let contracts: BTreeMap<_, _> = shelves
            .iter()
            .filter_map(|(server, server_listing)| {
                let standing = standings.get(server.id())?.clone();
                Some((server.id().clone(), Arc::new(Contracts::weigh(standing, server_listing.as_deref()))))
            })
            .collect();
        let hold = |upstream: &UpstreamId| contracts.get(upstream).and_then(|of| of.hold());
        // What a server says that nobody approved is for people alone.
        let approved: Vec<(Arc<CatalogServer>, Option<Arc<ServerListing>>)> = shelves
            .iter()
            .map(|(server, server_listing)| {
                let shown = server_listing.clone().filter(|_| hold(server.id()).is_none());
                let shown = shown.map(|server_listing| match &server_listing.greeting.instructions {
                    Some(said) => {
                        let of = contracts.get(server.id());
                        let approved = of.and_then(|of| of.instructions(said));
                        if approved.as_ref() == Some(said) {
                            server_listing
                        } else {
                            server_listing.with_instructions(approved)
                        }
                    }
                    None => server_listing,
                });
                let shown = shown.map(|server_listing| match contracts.get(server.id()) {
                    Some(of) => server_listing.saying_beside(|kind, listing| of.shown_beside(kind, listing)),
                    None => server_listing,
                });
                (Arc::clone(server), shown)
            })
            .collect();
        let all = shelves;
        let shelves = approved.as_slice();
        let schemes =
            Schemes::new(prefix, shelves.iter().map(|(server, _)| server.id()), colliding_uris(shelves));
        let (mut lists, mut rows) = (BTreeMap::new(), BTreeMap::new());

        // A tool that is held because it is not what was approved keeps its place, as it was approved: whoever calls it is
        // told why it may not be.
        let (mut tools, mut hidden) = (Vec::new(), Vec::new());
        for (upstream, name, item) in collect(all, |server_listing| &server_listing.tools) {
            let admitted =
                listing.policy.admission(&upstream).is_some_and(|admission| admission.admits_tool(&name));
            match as_approved(&contracts, PinKind::Tool, &upstream, &name, item).filter(|_| admitted) {
                Some(text) => tools.push((upstream, name, text)),
                None => hidden.push((upstream, name, Cow::Borrowed(item))),
            }
        }
        let ours = if expose == Expose::Direct { &OwnTool::HIDDEN[..] } else { &OwnTool::RESERVED[..] };
        let named = rename(prefix, tools, "tool", ours);
        let mut tool_map = HashMap::new();
        let known =
            |entry: &Entry| contracts.get(&entry.upstream).map(|all| Arc::clone(all.tool(&entry.name)));
        let mut items = Vec::with_capacity(named.len());
        let (mut tools_shown, mut tools_hidden) = (Vec::new(), Vec::new());
        // Where each row stands in its server's own order, the hidden ones among them: some callers are shown those.
        let (mut shown_at, mut hidden_at) = (Vec::new(), Vec::new());
        let mut place = ListBytes::start(ListKind::Tools).len();
        for (position, (client_name, entry, item)) in named.iter().enumerate() {
            let (Some(known), Some(of)) = (known(entry), contracts.get(&entry.upstream)) else { continue };
            // Lists never depend on a label: what is shown of a tool is what holds in every session.
            let shown = emit::shown_tool(item, client_name, &known.contract);
            let gate = listing.gate(client_name, entry, &known, of.server());
            // What a server says of its own gate stands, since that is the one that opens for whoever calls.
            let theirs = known.contract.requires_verified() || (known.gated && gate.is_none());
            let shown = if approvals && !theirs { gate::annotated(&shown, gate) } else { shown };
            let is_hidden = listing.hides(client_name, entry, &known, of.server());
            let tool = ToolRow {
                client_name: Arc::clone(client_name),
                own: Arc::clone(&entry.name),
                known: Arc::clone(&known),
                is_hidden,
                gate,
            };
            if is_hidden {
                hidden_at.push(position);
                tools_hidden.push(Row {
                    upstream: entry.upstream.clone(),
                    text: Bytes::from(shown),
                    tool: Some(tool),
                });
                let hidden = ToolEntry { gate, ..ToolEntry::new(entry.clone(), item, known, 0..0) };
                tool_map.insert(Arc::clone(client_name), hidden);
                continue;
            }
            shown_at.push(position);
            tools_shown.push((entry.upstream.clone(), Some(tool)));
            let range = place..place + shown.len();
            place = range.end + 1;
            let listed = ToolEntry { gate, ..ToolEntry::new(entry.clone(), item, known, range) };
            tool_map.insert(Arc::clone(client_name), listed);
            items.push(shown);
        }
        // What the allow-list leaves out, or nobody approved, is not listed and takes no name from what is, but a call to it is still
        // judged and goes on record.
        for (client_name, entry, item) in rename(prefix, hidden, "tool", ours) {
            let Some(known) = known(&entry) else { continue };
            tool_map.entry(client_name).or_insert_with(|| ToolEntry::new(entry, &item, known, 0..0));
        }
        let list = ListBytes::build(ListKind::Tools, items.iter().map(String::as_str), shelves);
        let mut placed: Vec<(usize, Row)> = shown_at.into_iter().zip(list.rows(tools_shown)).collect();
        placed.extend(hidden_at.into_iter().zip(tools_hidden));
        placed.sort_by_key(|(position, _)| *position);
        rows.insert(ListKind::Tools, placed.into_iter().map(|(_, row)| row).collect());
        let tools_list = list.bytes.clone();
        lists.insert(ListKind::Tools, list);

        let (mut prompts, mut hidden) = (Vec::new(), Vec::new());
        for (upstream, name, item) in collect(all, |server_listing| &server_listing.prompts) {
            match as_approved(&contracts, PinKind::Prompt, &upstream, &name, item) {
                Some(text) => prompts.push((upstream, name, text)),
                None => hidden.push((upstream, name, Cow::Borrowed(item))),
            }
        }
        let named = rename(prefix, prompts, "prompt", &[]);
        let mut prompts: HashMap<Arc<str>, Entry> =
            named.iter().map(|(name, entry, _)| (Arc::clone(name), entry.clone())).collect();
        for (name, entry, _) in rename(prefix, hidden, "prompt", &[]) {
            prompts.entry(name).or_insert(entry);
        }
        let items: Vec<String> = named
            .iter()
            .map(|(name, _, item)| edit_object(&without_ours(item), &[("name", Edit::Set(&quote(name)))]))
            .collect();
        let list = ListBytes::build(ListKind::Prompts, items.iter().map(String::as_str), shelves);
        let of = named.iter().map(|(_, entry, _)| (entry.upstream.clone(), None));
        rows.insert(ListKind::Prompts, list.rows(of).collect());
        lists.insert(ListKind::Prompts, list);

        let mut resources = HashMap::new();
        let mut seen = Vec::new();
        for (upstream, uri, item) in listed(shelves, |server_listing| &server_listing.resources, "uri") {
            // Resources come and go: a new one is shown, and the list of them is a reply. One that was there when its server
            // was approved says what it said then.
            let Some(item) = contracts.get(&upstream).and_then(|of| of.shown_resource(&uri, item)) else {
                tracing::warn!(server = %upstream, "a resource is not shown: its description holds hidden text");
                continue;
            };
            let outward: Arc<str> = schemes.outward(&upstream, &uri).into();
            let shown = schemes.uri_of(&upstream, &without_ours(&item)).into_owned();
            // Without prefixes the first server that lists a URI has it.
            if let hash_map::Entry::Vacant(place) = resources.entry(outward) {
                seen.push((upstream.clone(), shown));
                place.insert(Entry { upstream, name: uri.into() });
            }
        }
        let items = seen.iter().map(|(_, shown)| shown.as_str());
        let list = ListBytes::build(ListKind::Resources, items, shelves);
        let of = seen.iter().map(|(upstream, _)| (upstream.clone(), None));
        rows.insert(ListKind::Resources, list.rows(of).collect());
        lists.insert(ListKind::Resources, list);

        let templates: Vec<_> =
            listed(shelves, |server_listing| &server_listing.templates, "uriTemplate").collect();
        let (mut items, mut owners) = (Vec::new(), Vec::new());
        for (upstream, template, item) in &templates {
            let Some(text) = as_approved(&contracts, PinKind::Template, upstream, template, item) else {
                continue;
            };
            let text = schemes.text_member(upstream, &without_ours(&text), "uriTemplate").into_owned();
            items.push(text);
            owners.push((upstream.clone(), None));
        }
        let list = ListBytes::build(ListKind::ResourceTemplates, items.iter().map(String::as_str), shelves);
        rows.insert(ListKind::ResourceTemplates, list.rows(owners).collect());
        lists.insert(ListKind::ResourceTemplates, list);
        let templates = templates.into_iter().map(|(upstream, template, _)| (upstream, template)).collect();

        Self {
            stamps,
            tools: tool_map,
            prompts,
            resources,
            resource_parts: OnceLock::new(),
            templates,
            schemes,
            upstreams: all.iter().map(|(server, _)| server.id().clone()).collect(),
            whole: Arc::new(View::whole(expose, lists, &rows, shelves, approvals)),
            expose,
            tools_list,
            finder: OnceLock::new(),
            rows,
            views: Views::default(),
            shelves: approved.clone(),
            contracts,
            approvals,
        }
    }

    /// What a caller is shown.
    pub(super) fn view(&self, listing: &Listed<'_>, viewer: &Viewer<'_>) -> Arc<View> {
        let grant = &viewer.standing.grant;
        let searches = self.expose == Expose::Direct || grant.permits(Permission::Retrieve);
        if grant.shows_everything() && searches && !listing.looks_at_caller() {
            return Arc::clone(&self.whole);
        }
        self.views.view(self, listing, viewer)
    }

    /// What is known of everything a server offers.
    pub(crate) fn contracts(&self, upstream: &UpstreamId) -> Option<&Arc<Contracts>> {
        self.contracts.get(upstream)
    }

    /// Whether some server may ask whose data it gets.
    pub(crate) fn flow_policies(&self) -> FlowPolicies {
        let stated = |contracts: &Arc<Contracts>| contracts.flow_policies() == FlowPolicies::Stated;
        if self.contracts.values().any(stated) { FlowPolicies::Stated } else { FlowPolicies::Unstated }
    }

    /// What clients call a tool.
    pub(crate) fn shown_tool(&self, upstream: &UpstreamId, own: &str) -> Option<Arc<str>> {
        let is = |tool: &ToolEntry| tool.entry.upstream == *upstream && *tool.entry.name == *own;
        self.tools.iter().find(|(_, tool)| is(tool)).map(|(name, _)| Arc::clone(name))
    }

    /// A tool as it stands in the list, as JSON text.
    pub(crate) fn listed_tool(&self, tool: &ToolEntry) -> Option<&str> {
        let item = self.tools_list.get(tool.shown.clone()).filter(|item| !item.is_empty())?;
        std::str::from_utf8(item).ok()
    }

    /// The words of its tools. Made for who asks first: a server that keeps changing its list costs a search nobody made
    /// nothing.
    pub(super) fn finder(&self) -> &Finder {
        self.finder.get_or_init(|| Finder::new(self))
    }

    /// Reads the words of its tools.
    pub(crate) fn index(&self) {
        self.finder();
    }

    /// Whether they have been read.
    pub(crate) fn is_indexed(&self) -> bool {
        self.finder.get().is_some()
    }

    /// The rows of its tools, those that a rule hides among them.
    pub(super) fn tool_rows(&self) -> &[Row] {
        self.rows.get(&ListKind::Tools).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whose resource this is, and what its owner calls it.
    ///
    /// A prefix decides; then the listed resources; then a template whose fixed beginning fits; and where there is one
    /// server alone, it is asked.
    pub(crate) fn resource(&self, uri: &str) -> Option<Entry> {
        if let Some((upstream, own)) = self.schemes.inward(uri) {
            return Some(Entry { upstream, name: own.into() });
        }
        if let Some(entry) = self.resources.get(uri) {
            return Some(entry.clone());
        }
        let by_template = || {
            let mut fitting = self
                .templates
                .iter()
                .filter(|(_, template)| fits(template, uri))
                .map(|(upstream, _)| upstream);
            let first = fitting.next()?;
            // Two servers that both could own it: neither is guessed.
            fitting.all(|other| other == first).then(|| first.clone())
        };
        let alone = || match self.upstreams.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        };
        // With prefixes everywhere a URI without one belongs to nobody.
        if self.schemes.outward(self.upstreams.first()?, uri) != uri {
            return None;
        }
        let upstream = by_template().or_else(alone)?;
        Some(Entry { upstream, name: uri.into() })
    }

    /// Whose resource template this is, by the text clients see.
    pub(crate) fn template(&self, shown: &str) -> Option<Entry> {
        self.templates
            .iter()
            .find(|(upstream, template)| self.schemes.outward(upstream, template) == shown)
            .map(|(upstream, template)| Entry { upstream: upstream.clone(), name: template.as_str().into() })
    }
}

// === impl ToolEntry ===

impl ToolEntry {
    fn new(entry: Entry, item: &str, known: Arc<Known>, shown: Range<usize>) -> Self {
        let headers = member(item, "inputSchema").map(param_headers).and_then(Result::ok).unwrap_or_default();
        let needs_task = pointer(item, &["execution", "taskSupport"]) == Some(r#""required""#);
        Self { entry, headers, needs_task, known, gate: None, shown }
    }
}

/// What clients are shown of something that a server lists like this; nothing while nobody approved it.
fn as_approved<'t>(
    contracts: &BTreeMap<UpstreamId, Arc<Contracts>>,
    kind: PinKind,
    upstream: &UpstreamId,
    name: &str,
    listed: &'t str,
) -> Option<Cow<'t, str>> {
    contracts.get(upstream)?.shown(kind, name, listed)
}

/// Every item with a usable text under `key`, in the order of servers and lists.
fn listed<'a>(
    shelves: &'a [(Arc<CatalogServer>, Option<Arc<ServerListing>>)],
    listing: impl Fn(&ServerListing) -> &Arc<Listing> + 'a,
    key: &'static str,
) -> impl Iterator<Item = (UpstreamId, String, &'a str)> {
    shelves.iter().filter_map(|(server, server_listing)| Some((server, server_listing.as_ref()?))).flat_map(
        move |(server, server_listing)| {
            let listing: &'a Listing = listing(server_listing);
            listing.items.iter().filter_map(move |item| {
                let item = std::str::from_utf8(item).ok()?;
                Some((server.id().clone(), string_member(item, key)?.into_owned(), item))
            })
        },
    )
}

fn collect<'a>(
    shelves: &'a [(Arc<CatalogServer>, Option<Arc<ServerListing>>)],
    listing: impl Fn(&ServerListing) -> &Arc<Listing> + 'a,
) -> Vec<(UpstreamId, String, &'a str)> {
    let mut seen = BTreeSet::new();
    let mut items = Vec::new();
    for (upstream, name, item) in listed(shelves, listing, "name") {
        if seen.insert((upstream.clone(), name.clone())) {
            items.push((upstream, name, item));
        } else {
            tracing::warn!(server = %upstream, "lists `{name}` twice; the first counts");
        }
    }
    items
}

/// Gives every item its client-visible name. The order stays: servers as the configuration has them, and what each of them
/// lists as it lists it.
fn rename<'a>(
    prefix: Prefix,
    items: Vec<(UpstreamId, String, Cow<'a, str>)>,
    what: &str,
    taken: &[&str],
) -> Vec<(Arc<str>, Entry, Cow<'a, str>)> {
    let pairs: Vec<(&str, &str)> =
        items.iter().map(|(upstream, name, _)| (upstream.as_str(), name.as_str())).collect();
    let names = assign(prefix, &pairs, taken);
    let mut named = Vec::with_capacity(items.len());
    for (client_name, (upstream, name, item)) in names.into_iter().zip(items) {
        match client_name {
            Some(client_name) => {
                let entry = Entry { upstream, name: name.into() };
                named.push((Arc::<str>::from(client_name), entry, item));
            }
            None => tracing::error!(
                server = %upstream,
                "{what} `{name}` is not shown: its name is outside MCP, or another server has it and `prefix` is `never`"
            ),
        }
    }
    named
}

fn colliding_uris(shelves: &[(Arc<CatalogServer>, Option<Arc<ServerListing>>)]) -> BTreeSet<String> {
    let mut owners: BTreeMap<String, UpstreamId> = BTreeMap::new();
    let mut collisions = BTreeSet::new();
    for (upstream, uri, _) in listed(shelves, |server_listing| &server_listing.resources, "uri") {
        match owners.get(&uri) {
            Some(owner) if *owner != upstream => {
                collisions.insert(uri);
            }
            Some(_) => {}
            None => {
                owners.insert(uri, upstream);
            }
        }
    }
    collisions
}

/// Whether a URI can come from a template: it begins with what stands before the first variable.
fn fits(template: &str, uri: &str) -> bool {
    let fixed = template.split('{').next().unwrap_or_default();
    !fixed.is_empty() && uri.starts_with(fixed)
}
