//! What is known when a decision is made: the operator's standing word (`Policy`) and this action's `Facts`.

mod effect;
mod error;
mod kind;
pub mod limits;
mod source;

use std::collections::{BTreeMap, BTreeSet};

pub use effect::Effect;
pub use error::{RuleError, RuleErrorCode};
pub use kind::{Kind, Phase, Phases, Rises, Truth};
pub use source::{ConditionSource, RuleSource, Span, Spanned, ValueSource, WaiverSource, Written};

use crate::action::Action;
use crate::id::{DecisionId, Principal, UpstreamId, VirtualServerId};

/// The operator's standing word, compiled from the configuration and replaced as a whole.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    admissions: BTreeMap<UpstreamId, Admission>,
    virtual_servers: BTreeMap<VirtualServerId, BTreeSet<UpstreamId>>,
}

/// What of one server may be used at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// `None` admits every tool, an empty set none.
    pub allowed_tools: Option<BTreeSet<String>>,
    /// Methods outside MCP that the operator listed for this server.
    pub extra_methods: BTreeSet<String>,
}

/// Everything a gate can see of one action.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The name this decision will have everywhere.
    pub decision: &'a DecisionId,
    /// Who asks.
    pub principal: &'a Principal,
    /// Through which virtual server.
    pub virtual_server: &'a VirtualServerId,
    /// What is asked.
    pub action: &'a Action,
}

// === impl Policy ===

impl Policy {
    /// Builds a policy from what each server admits and which servers each virtual server holds.
    pub fn new(
        admissions: BTreeMap<UpstreamId, Admission>,
        virtual_servers: BTreeMap<VirtualServerId, BTreeSet<UpstreamId>>,
    ) -> Self {
        Self { admissions, virtual_servers }
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
