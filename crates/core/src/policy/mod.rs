//! What is known when a decision is made: the operator's standing word (`Policy`) and this action's `Facts`.

pub(crate) mod arguments;
mod compile;
mod condition;
mod effect;
mod error;
mod evaluate;
mod explain;
mod fact_table;
mod facts;
mod glob;
mod kind;
pub mod limits;
mod rule;
mod source;
mod value;
mod waiver;

use std::collections::{BTreeMap, BTreeSet};

pub use arguments::{Arguments, Pointer};
pub(crate) use arguments::{Found, Wanted};
pub use compile::{Case, CaseSet, Operator, compile};
pub use condition::{Check, Condition, Slot, Subject, Test};
pub use effect::Effect;
pub use error::{RuleError, RuleErrorCode};
pub use evaluate::{Hit, Reading};
pub use explain::{Seen, SeenValue};
pub use fact_table::{FACTS, Fact, FactId};
pub use facts::{
    Facts, ManifestState, Permission, RequestFacts, ResponseFacts, ServerFacts, ServerTransport,
    SightingKind, ToolStatus, risk,
};
pub use glob::Glob;
pub use kind::{Kind, Phase, Phases, Rises, Truth};
pub use rule::{Rule, RuleSet};
pub use source::{ConditionSource, RuleSource, Span, Spanned, ValueSource, WaiverSource, Written};
pub use value::{Because, Val};
pub use waiver::{FlowRule, FlowViolations, Waiver};

use crate::id::{UpstreamId, VirtualServerId};

/// The operator's standing word, compiled from the configuration and replaced as a whole.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    admissions: BTreeMap<UpstreamId, Admission>,
    virtual_servers: BTreeMap<VirtualServerId, BTreeSet<UpstreamId>>,
    rules: RuleSet,
}

/// What of one server may be used at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// `None` admits every tool, an empty set none.
    pub allowed_tools: Option<BTreeSet<String>>,
    /// Methods outside MCP that the operator listed for this server.
    pub extra_methods: BTreeSet<String>,
}

// === impl Policy ===

impl Policy {
    /// Builds a policy from what each server admits and which servers each virtual server holds.
    pub fn new(
        admissions: BTreeMap<UpstreamId, Admission>,
        virtual_servers: BTreeMap<VirtualServerId, BTreeSet<UpstreamId>>,
    ) -> Self {
        Self { admissions, virtual_servers, rules: RuleSet::empty() }
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

// === impl Admission ===

impl Admission {
    /// Whether the tool, by the upstream's own name, is on the allow-list.
    pub fn admits_tool(&self, name: &str) -> bool {
        self.allowed_tools.as_ref().is_none_or(|allowed| allowed.contains(name))
    }
}
