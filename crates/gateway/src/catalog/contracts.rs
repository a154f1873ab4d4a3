//! What is known of each tool, resource and prompt of one server, weighed when it lists them: its own words for what
//! they are worth, the operator's above them. A call finds its contract and the label of its reply ready.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use highwater_core::annotation::{
    Authority, Claim, Claims, Contract, Destination, Notice, OperatorLabel, Possible,
};
use highwater_core::decide::FlowPolicies;
use highwater_core::id::UpstreamId;
use highwater_core::label::Label;
use highwater_core::pin::{Hold, PinDigest};
use highwater_core::policy::{Admission, ServerFacts};
use highwater_core::profile::Profile;
use highwater_core::trust::ServerTrust;
use highwater_mcp::annotations::emit::Share;
use highwater_mcp::annotations::{
    Reading, ServerSays, asks_approval, declares_approval, pinned, resolvable, server_says, tool_claims,
};
use highwater_mcp::parameters;
use highwater_mcp::schema_headers::param_headers;
use highwater_mcp::text::{member, string_member};
use highwater_notation::{Parameters, Words};
use highwater_pins::PinKind;
use highwater_profile::ToolShape;
use highwater_store::Described;
use highwater_upstream::control::{ListKind, Listing};

use super::declared::{prompts, says_open_world};
use super::known::Known;
use super::naming::name_things;
use super::server_listing::ServerListing;
use super::standing::Standing;
use crate::pins::{Item, Observed};
use crate::pipeline::may_keep;

/// What people should know of how a server describes its tools.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    /// Of each tool of which there is something to say.
    pub(crate) notices: BTreeMap<Arc<str>, Vec<Notice>>,
    /// Tools that are refused: they need an approval that the server verifies, and it does not say that it verifies any.
    pub(crate) unverifiable: Vec<Arc<str>>,
}

/// Everything known of what one server offers.
#[derive(Debug)]
pub(crate) struct Contracts {
    pub(super) standing: Standing,
    /// Whether it says whose data it takes, and so wants to know whose it gets.
    has_flow_policy: bool,
    /// Whether whose data it takes may be a question for some call of it: one of its tools says so, or it may say so when
    /// it is asked about a call, or nothing of it is known yet.
    flow_policies: FlowPolicies,
    /// Whether the server has said what it offers.
    is_stocked: bool,
    pub(super) tools: HashMap<Arc<str>, Arc<Known>>,
    /// What each prompt declares of its arguments, where that can be told.
    prompts: HashMap<Arc<str>, Parameters>,
    /// A resource, a prompt or a completion of which the operator says nothing.
    reading: Arc<Known>,
    /// Asking it about a call.
    resolving: Arc<Known>,
    /// A method, a tool or a task of which nothing is known.
    unknown: Arc<Known>,
    /// Everything that any of its tools may say: for messages that belong to no call.
    anything: Label,
    /// Why nothing of it may be used until a person has looked at it.
    hold: Option<Hold>,
    /// Whether it declares that it verifies approvals itself.
    verifies: bool,
    /// What was approved of it; `None` while it is not known what it has.
    observed: Option<Arc<Observed>>,
}

// === impl Contracts ===

impl Contracts {
    /// Weighs everything a server lists. Without a listing nothing is known of its tools.
    pub(crate) fn weigh(standing: Standing, server_listing: Option<&ServerListing>) -> Self {
        Self::noting(standing, server_listing).0
    }

    /// The same, with what there is to say about it.
    pub(crate) fn noting(standing: Standing, server_listing: Option<&ServerListing>) -> (Self, Noted) {
        let capabilities = server_listing
            .and_then(|server_listing| std::str::from_utf8(&server_listing.greeting.capabilities).ok())
            .unwrap_or("{}");
        let says = server_says(capabilities);
        let verifies = declares_approval(capabilities);
        let observed = server_listing.map(|server_listing| Arc::clone(&server_listing.observed));
        let (wanted, standing) = (standing.wanted, standing.observing(observed.as_deref()));
        let hold = match &observed {
            Some(observed) => observed.server_hold(wanted),
            // What was never seen was never approved.
            None => wanted.quarantine.then_some(Hold::ServerNew),
        };
        let item = |kind, name: &str| match &observed {
            Some(observed) => observed.item(kind, name, wanted),
            None => Item::unseen(hold),
        };
        let items = server_listing.map_or(&[][..], |server_listing| &server_listing.tools.items);
        let items = items.iter().filter_map(|item| std::str::from_utf8(item).ok());
        let (mut tools, mut noted) = (HashMap::new(), Noted::default());
        for text in items {
            let Some(name) = string_member(text, "name") else { continue };
            let name: Arc<str> = name.into();
            // The first of a name counts, as it does in the list.
            if tools.contains_key(&name) {
                continue;
            }
            let (known, notices) = tool(&standing, &name, text, &says, item(PinKind::Tool, &name));
            // C4
            if known.contract.requires_verified() && !verifies {
                noted.unverifiable.push(Arc::clone(&name));
            }
            if !notices.is_empty() {
                noted.notices.insert(Arc::clone(&name), notices);
            }
            tools.insert(name, known);
        }
        name_things(&mut tools, standing.keeps.len() == 1);
        let tools: HashMap<Arc<str>, Arc<Known>> =
            tools.into_iter().map(|(name, known)| (name, Arc::new(known))).collect();
        let destination = tools
            .values()
            .fold(Words::EMPTY, |all, tool: &Arc<Known>| all.union(tool.contract.destination().members()));
        let destination = Possible::of(destination).unwrap_or_else(Possible::any);
        let mut anything = Label::bottom();
        for tool in tools.values() {
            anything.join(tool.contract.reply_label());
        }
        // What nobody described is the worst, whoever's it is.
        let unknown = Known::of(
            Contract::unknown()
                .weighed(&Claims::new(), &ServerTrust::default())
                .0
                .with_origin(standing.origin("?")),
            hold,
            &standing,
        );
        if tools.is_empty() {
            anything.join(unknown.contract.reply_label());
        }
        let reading = reading(&standing, destination, None, "resources", hold);
        let resolving = Contract::resolving(tools.values().map(|tool| &tool.contract))
            .weighed(&Claims::new(), &standing.trust())
            .0;
        let states = |tool: &Arc<Known>| tool.contract.accept_from().is_some() || tool.resolve.is_some();
        let stated = server_listing.is_none() || says.accept_from.is_some() || tools.values().any(states);
        let contracts = Self {
            has_flow_policy: says.accept_from.is_some(),
            is_stocked: server_listing.is_some(),
            flow_policies: if stated { FlowPolicies::Stated } else { FlowPolicies::Unstated },
            tools,
            prompts: server_listing.map(prompts).unwrap_or_default(),
            reading: Arc::new(reading),
            resolving: Arc::new(Known::of(resolving, hold, &standing)),
            unknown: Arc::new(unknown),
            anything,
            hold,
            verifies,
            observed,
            standing,
        };
        (contracts, noted)
    }

    /// What the server is, in one word.
    pub(crate) fn profile(&self) -> Profile {
        self.standing.profile
    }

    /// Whether people may say what the server is: the file does not.
    pub(crate) fn may_be_described(&self) -> bool {
        self.standing.said.is_none()
    }

    /// What a person said that the server is, where that counts.
    pub(crate) fn described(&self) -> Option<&Described> {
        let observed = self.observed.as_ref().filter(|_| self.may_be_described())?;
        observed.described()
    }

    /// Why nothing of the server may be used; `None` if that hangs on each thing.
    pub(crate) fn hold(&self) -> Option<Hold> {
        self.hold
    }

    /// Whether the server declares that it verifies approvals itself.
    pub(crate) fn verifies(&self) -> bool {
        self.verifies
    }

    /// Whether what it says is held until somebody approved it.
    pub(crate) fn is_kept_to_its_word(&self) -> bool {
        self.standing.wanted.quarantine
    }

    /// Why a prompt may not be used, by its server's own name.
    pub(crate) fn prompt_hold(&self, own: &str) -> Option<Hold> {
        self.item_hold(PinKind::Prompt, own)
    }

    /// Why a resource template may not be used, by its server's own text.
    pub(crate) fn template_hold(&self, own: &str) -> Option<Hold> {
        self.item_hold(PinKind::Template, own)
    }

    /// Something of the server as clients are shown it, which is listed like this: as it was approved, whole, until a
    /// person approves what it is now. Nothing while nobody approved anything of the kind.
    pub(super) fn shown<'t>(&self, kind: PinKind, own: &str, listed: &'t str) -> Option<Cow<'t, str>> {
        let wanted = self.standing.wanted;
        let item = match &self.observed {
            Some(observed) => observed.item(kind, own, wanted),
            None => Item::unseen(self.hold),
        };
        match (item.hold, item.pinned) {
            (None | Some(Hold::Changed), Some(pinned)) => {
                Some(Cow::Owned(pinned::shown(pinned.text()).into_owned()))
            }
            (None, None) if wanted.quarantine => Some(pinned::shown(listed)),
            (None, None) => Some(Cow::Borrowed(listed)),
            (Some(_), _) => None,
        }
    }

    /// A resource as clients are shown it, which is listed like this.
    pub(super) fn shown_resource<'t>(&self, uri: &str, listed: &'t str) -> Option<Cow<'t, str>> {
        match &self.observed {
            Some(observed) if self.standing.wanted.quarantine => observed.shown_resource(uri, listed),
            Some(_) | None => Some(Cow::Borrowed(listed)),
        }
    }

    /// What a list of the server says besides its entries as clients are shown it, where that is not what it says now.
    pub(super) fn shown_beside(&self, kind: ListKind, listing: &Listing) -> Option<Vec<(String, Bytes)>> {
        let observed = self.observed.as_ref().filter(|_| self.standing.wanted.quarantine)?;
        observed.shown_beside(kind, listing)
    }

    /// The server's instructions as clients are shown them, as a JSON string.
    pub(super) fn instructions(&self, said: &Bytes) -> Option<Bytes> {
        match self.shown(PinKind::Instructions, "", std::str::from_utf8(said).ok()?)? {
            Cow::Borrowed(_) => Some(said.clone()),
            Cow::Owned(approved) => Some(Bytes::from(approved)),
        }
    }

    /// Whether a call that was judged by this may still be made, to a server of which this is seen now.
    pub(crate) fn holds_as_judged(&self, seen: &Arc<Observed>, tool: Option<&str>) -> bool {
        let Some(judged) = &self.observed else { return false };
        Arc::ptr_eq(judged, seen) || judged.stands_alike(seen, tool, self.standing.wanted)
    }

    fn item_hold(&self, kind: PinKind, own: &str) -> Option<Hold> {
        match &self.observed {
            Some(observed) => observed.item(kind, own, self.standing.wanted).hold,
            None => self.hold,
        }
    }

    /// The digest of a definition as it is seen now, by the server's own name.
    pub(crate) fn definition(&self, kind: PinKind, own: &str) -> Option<PinDigest> {
        self.observed.as_ref()?.definition(kind, own)
    }

    /// What rules may know of the server.
    pub(crate) fn server(&self) -> &ServerFacts {
        &self.standing.facts
    }

    /// How much the server is told of the context of a call.
    pub(crate) fn share(&self) -> Share {
        self.standing.share
    }

    /// Whether the server wants to know who contributed to the context of a call.
    pub(crate) fn has_flow_policy(&self) -> bool {
        self.has_flow_policy
    }

    /// Whether whose data it takes may be a question for some call of it.
    pub(crate) fn flow_policies(&self) -> FlowPolicies {
        self.flow_policies
    }

    /// Whether no tool that the server may be called for keeps anything of what it is given, as far as is known; an
    /// admission says which those are. What sessions read there was never written by one.
    pub(crate) fn keeps_nothing(&self, admission: &Admission) -> bool {
        let keeps =
            |(name, tool): (&Arc<str>, &Arc<Known>)| admission.admits_tool(name) && may_keep(&tool.contract);
        self.is_stocked && admission.extra_methods.is_empty() && !self.tools.iter().any(keeps)
    }

    /// The servers whose marks are on what this one keeps: itself, and those that keep the same things.
    pub(crate) fn keeps(&self) -> &Arc<[UpstreamId]> {
        &self.standing.keeps
    }

    /// A tool, by its server's own name.
    pub(crate) fn tool(&self, own: &str) -> &Arc<Known> {
        self.tools.get(own).unwrap_or(&self.unknown)
    }

    /// A resource, by its server's own URI. Where its server may take that for another, the strictest of all that it may
    /// be counts, and no case of any.
    pub(crate) fn resource(&self, own: &str) -> Arc<Known> {
        let destination = self.reading.contract.destination();
        let labelled = |label| reading(&self.standing, destination, Some(label), "resources", self.hold);
        let possible = self.standing.labels.resource(own);
        match possible.as_slice() {
            [] | [None] => Arc::clone(&self.reading),
            [Some(label)] => Arc::new(labelled(label)),
            several => {
                let contracts = several.iter().map(|label| match label {
                    Some(label) => labelled(label).contract,
                    None => self.reading.contract.clone(),
                });
                let contract = contracts.reduce(|strictest, other| strictest.strictest(&other));
                match contract {
                    Some(contract) => Arc::new(Known::of(contract, self.hold, &self.standing)),
                    None => Arc::clone(&self.reading),
                }
            }
        }
    }

    /// A prompt, by its server's own name.
    pub(crate) fn prompt(&self, own: &str) -> Arc<Known> {
        let label = self.standing.labels.prompt(own);
        let hold = self.prompt_hold(own);
        let known = reading(&self.standing, self.reading.contract.destination(), label, own, hold);
        Arc::new(Known { parameters: self.prompts.get(own).cloned(), ..known })
    }

    /// A completion, for a prompt or a template that is held or not.
    pub(crate) fn completion(&self, hold: Option<Hold>) -> Arc<Known> {
        match hold {
            None => Arc::clone(&self.reading),
            hold => {
                let destination = self.reading.contract.destination();
                Arc::new(reading(&self.standing, destination, None, "resources", hold))
            }
        }
    }

    /// Asking the server about a call.
    pub(crate) fn resolving(&self) -> &Arc<Known> {
        &self.resolving
    }

    /// Something of which nothing is known.
    pub(crate) fn unknown(&self) -> &Arc<Known> {
        &self.unknown
    }

    /// The label of a message of the server that belongs to no call.
    pub(crate) fn anything(&self) -> &Label {
        &self.anything
    }
}

/// One tool, and what there is to say about its claims. Where they are not those that were approved, the strictest of both
/// counts.
pub(super) fn tool(
    standing: &Standing,
    name: &str,
    text: &str,
    says: &ServerSays,
    item: Item,
) -> (Known, Vec<Notice>) {
    let by = match (item.believed, item.signed) {
        (true, true) => Authority::Manifest,
        (true, false) => Authority::DeclaredVerified,
        (false, _) => Authority::Declared,
    };
    let trust = standing.trust().believed_if(item.believed);
    let shape = Arc::new(ToolShape::read(standing.upstream.as_str(), name, member(text, "inputSchema")));
    let (seen, notices) = weighed(standing, trust, &shape, name, text, tool_claims(text, says, by));
    let (contract, hold) = match &item.pinned {
        None => (seen, item.hold),
        Some(pinned) => {
            let (approved, _) = weighed(standing, trust, &shape, name, text, pinned::claims(pinned, by));
            // More to touch than was approved is a request that somebody has to grant.
            let asks_more = seen.capabilities().asks_beyond(approved.capabilities());
            (seen.strictest(&approved), item.hold.or(asks_more.then_some(Hold::Changed)))
        }
    };
    let label = standing.labels.tool(name);
    let known = Known {
        gated: contract.requires_verified() || asks_approval(text),
        contract: contract.with_origin(standing.origin(name)),
        cases: label.filter(|label| has_cases(label)).cloned(),
        // What changed since it was approved is not asked what it would do.
        resolve: resolvable(text, says).filter(|_| item.pinned.is_none()),
        hold,
        status: item.status,
        believed: item.believed,
        shape,
        says_open_world: says_open_world(text),
        display: standing.labels.display(name).cloned(),
        undescribed: standing.is_undescribed(),
        profile: standing.profile,
        parameters: parameters::of_tool(text),
        namings: Arc::default(),
        records: standing.labels.records(name).cloned(),
        definition: OnceLock::new(),
    };
    (known, notices)
}

/// The contract of a tool's claims with what we and the operator have to say, and what there is to say about the claims.
fn weighed(
    standing: &Standing,
    trust: ServerTrust,
    shape: &ToolShape,
    name: &str,
    item: &str,
    reading: Reading,
) -> (Contract, Vec<Notice>) {
    let Reading { mut claims, mut notices } = reading;
    // Every hop on the way sees what stands in a header.
    let in_headers = member(item, "inputSchema").map(param_headers).and_then(Result::ok).unwrap_or_default();
    if standing.over_http && !in_headers.is_empty() {
        let claim = Claim::AddDestination(Words::only(Destination::Internal));
        claims.push(claim, Authority::Inferred, "x-mcp-header");
    }
    if let Some(label) = standing.labels.tool(name) {
        claims.extend(label.claims());
    }
    let (contract, weighed) = Contract::profiled(standing.profile, shape.acts()).weighed(&claims, &trust);
    notices.extend(weighed);
    (contract, notices)
}

fn reading(
    standing: &Standing,
    destination: Possible<Destination>,
    label: Option<&Arc<OperatorLabel>>,
    origin: &str,
    hold: Option<Hold>,
) -> Known {
    let nothing = Claims::new();
    let claims = label.map_or(&nothing, |label| label.claims());
    let contract = Contract::reading_at(standing.profile, destination).weighed(claims, &standing.trust()).0;
    let known = Known::of(contract.with_origin(standing.origin(origin)), hold, standing);
    Known { cases: label.filter(|label| has_cases(label)).cloned(), ..known }
}

fn has_cases(label: &OperatorLabel) -> bool {
    !label.cases().is_empty() || !label.results().is_empty() || !label.caps().is_empty()
}
