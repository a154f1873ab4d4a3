//! What is known when a decision is made: the operator's standing word (`Policy`) and this action's `Facts`.

mod case;
mod condition;
mod effect;
mod evaluate;
mod explain;
mod fact_table;
mod facts;
mod guard;
mod kind;
mod overlook;
mod polarity;
mod rule;
mod span;
mod spellings;
mod value;
mod waiver;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

pub use case::{Case, CaseSet};
pub use condition::{Check, Condition, Slot, Subject, Test, by_length};
pub use effect::Effect;
pub use evaluate::{Hit, Reading};
pub use explain::{Seen, SeenValue};
pub use fact_table::{FACTS, Fact, FactName};
pub use facts::{
    Facts, ManifestState, RequestFacts, ResponseFacts, ServerFacts, ServerTransport, SightingKind, ToolStatus,
};
pub use kind::{Input, Kind, Phase, Phases, Rises, Truth};
pub use polarity::Moves;
pub use rule::{CheckedRule, Rule, RuleSet};
pub use span::Span;
pub use spellings::{Likeness, PathGlob, Spellings};
pub use value::{Because, Val};
pub use waiver::Waiver;

use crate::decide::{FlowMode, FlowPolicy};
pub use crate::decide::{FlowRule, FlowViolations};
use crate::id::{UpstreamId, VirtualServerId};
use crate::session::Contributor;

/// The operator's standing word, compiled from the configuration and replaced as a whole.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    admissions: BTreeMap<UpstreamId, Admission>,
    virtual_servers: BTreeMap<VirtualServerId, BTreeSet<UpstreamId>>,
    rules: RuleSet,
    flows: BTreeMap<VirtualServerId, FlowPolicy>,
    contributors: BTreeMap<UpstreamId, Contributor>,
    /// What records call each server, as it stands between the quotes of a JSON text: every record says it, so it is
    /// escaped once.
    on_record: BTreeMap<UpstreamId, Box<str>>,
    /// What the operator calls a server (seed 001's `trust.label`), escaped in the same way.
    trust_labels: BTreeMap<UpstreamId, Box<str>>,
    digest: PolicyDigest,
}

/// What of one server may be used at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// `None` admits every tool, an empty set none.
    pub allowed_tools: Option<BTreeSet<String>>,
    /// Methods outside MCP that the operator listed for this server.
    pub extra_methods: BTreeSet<String>,
}

/// SHA-256 of what a policy was compiled from, in hexadecimal; nothing for a policy made by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyDigest(Option<Box<str>>);

// === impl PolicyDigest ===

impl PolicyDigest {
    /// The digest of these bytes.
    pub fn of(text: &[u8]) -> Self {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text);
        Self(Some(highwater_notation::to_hex(digest.as_ref()).into()))
    }

    /// The hexadecimal form.
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

// === impl Policy ===

impl Policy {
    /// Builds a policy from what each server admits and which servers each virtual server holds.
    pub fn new(
        admissions: BTreeMap<UpstreamId, Admission>,
        virtual_servers: BTreeMap<VirtualServerId, BTreeSet<UpstreamId>>,
    ) -> Self {
        Self { admissions, virtual_servers, ..Self::default() }
    }

    /// With the flow rules of each virtual server; one that is not named has the default.
    #[must_use]
    pub fn with_flows(self, flows: BTreeMap<VirtualServerId, FlowPolicy>) -> Self {
        Self { flows, ..self }
    }

    /// The same, with all flow rules enforced as in this mode: to find out what it would do.
    #[must_use]
    pub fn in_mode(mut self, mode: FlowMode) -> Self {
        for flow in self.flows.values_mut() {
            (flow.mode, flow.beside) = (mode, None);
        }
        self
    }

    /// With what is known of each server as one who contributes to sessions (SEP-3193).
    #[must_use]
    pub fn with_contributors(self, contributors: BTreeMap<UpstreamId, Contributor>) -> Self {
        let on_record = contributors.iter().map(|(id, server)| {
            let name = server.principal.as_deref().unwrap_or(id.as_str());
            (id.clone(), escaped(name))
        });
        Self { on_record: on_record.collect(), contributors, ..self }
    }

    /// With what the operator calls servers, which every record about them says.
    #[must_use]
    pub fn with_trust_labels<'a>(self, labels: impl IntoIterator<Item = (UpstreamId, &'a str)>) -> Self {
        let trust_labels = labels.into_iter().map(|(id, label)| (id, escaped(label))).collect();
        Self { trust_labels, ..self }
    }

    /// With the digest of the text it was compiled from, which every decision puts on record.
    #[must_use]
    pub fn with_digest(self, digest: PolicyDigest) -> Self {
        Self { digest, ..self }
    }

    /// The flow rules of a virtual server.
    pub fn flow(&self, virtual_server: &VirtualServerId) -> &FlowPolicy {
        static DEFAULT: LazyLock<FlowPolicy> = LazyLock::new(FlowPolicy::default);
        self.flows.get(virtual_server).unwrap_or(&DEFAULT)
    }

    /// The flow rules that an action is judged by: those of its virtual server, and at least what its token demands.
    pub fn flow_for(&self, facts: &Facts<'_>) -> FlowPolicy {
        self.flow(facts.virtual_server).clone().raised(facts.grant.flow)
    }

    /// A server as one who contributes to sessions.
    pub fn contributor(&self, upstream: &UpstreamId) -> Option<&Contributor> {
        self.contributors.get(upstream)
    }

    /// What records call a server: its address, or its name where it has none. As it stands in JSON, without quotes.
    pub fn on_record(&self, upstream: &UpstreamId) -> Option<&str> {
        self.on_record.get(upstream).map(|name| &**name)
    }

    /// What the operator calls a server, as it stands in JSON, without quotes.
    pub fn trust_label(&self, upstream: &UpstreamId) -> Option<&str> {
        self.trust_labels.get(upstream).map(|label| &**label)
    }

    /// The server that an origin `mcp:SERVER:TOOL` speaks of.
    pub fn contributor_of(&self, origin: &str) -> Option<(&UpstreamId, &Contributor)> {
        let (server, _) = origin.strip_prefix("mcp:")?.split_once(':')?;
        self.contributors.get_key_value(&UpstreamId::new(server))
    }

    /// The digest of the text it was compiled from.
    pub fn digest(&self) -> &PolicyDigest {
        &self.digest
    }

    /// With the operator's rules and waivers.
    #[must_use]
    pub fn with_rules(self, rules: RuleSet) -> Self {
        Self { rules, ..self }
    }

    /// The operator's rules and waivers.
    pub fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// What this server admits; nothing for a server the operator did not name.
    pub fn admission(&self, upstream: &UpstreamId) -> Option<&Admission> {
        self.admissions.get(upstream)
    }

    /// Whether the virtual server exists and holds the upstream.
    pub fn holds(&self, virtual_server: &VirtualServerId, upstream: &UpstreamId) -> bool {
        self.virtual_servers.get(virtual_server).is_some_and(|held| held.contains(upstream))
    }
}

/// A text as it stands in JSON, without quotes.
fn escaped(text: &str) -> Box<str> {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().into()
}

// === impl Admission ===

impl Admission {
    /// Whether the tool, by the upstream's own name, is on the allow-list.
    pub fn admits_tool(&self, name: &str) -> bool {
        self.allowed_tools.as_ref().is_none_or(|allowed| allowed.contains(name))
    }
}
