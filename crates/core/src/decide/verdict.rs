//! What a judgement is made of: findings, their effects, and the verdict they add up to.

use serde::{Deserialize, Serialize};

use super::Permit;
use crate::id::DecisionId;
use crate::policy::Effect;

/// The stable dotted name of a gate, as it appears in the audit log and in scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FindingId {
    /// The virtual server does not hold this upstream.
    #[serde(rename = "structural.grant")]
    Grant,
    /// The tool is not on the server's allow-list.
    #[serde(rename = "structural.allow-list")]
    AllowList,
    /// The method is outside MCP and not listed for the server.
    #[serde(rename = "structural.method")]
    Method,
    /// The upstream asked something it may not ask.
    #[serde(rename = "structural.ask")]
    Ask,
    /// The reply is of a form nobody defined.
    #[serde(rename = "structural.reply")]
    Reply,
}

/// Why a gate spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The virtual server does not hold the upstream, or does not exist.
    UpstreamNotHeld,
    /// Nobody configured the upstream.
    UpstreamUnknown,
    /// The operator's allow-list leaves the tool out.
    ToolNotAllowed,
    /// The operator did not list the method.
    MethodNotListed,
    /// The client did not declare that it can be asked this.
    NotDeclared,
    /// No call is in flight that the question could belong to.
    NoCallInFlight,
    /// The `resultType` is none that this protocol has.
    UnknownResultType,
}

/// What one gate found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Which gate.
    pub id: FindingId,
    /// What follows.
    pub effect: Effect,
    /// Why.
    pub reason: Reason,
}

/// All findings and the strictest of their effects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    findings: Vec<Finding>,
}

/// The answer to an action.
#[derive(Debug)]
pub enum Verdict {
    /// It may happen, once, exactly so.
    Allow(Permit),
    /// It does not happen.
    Block(Denial),
}

/// A refusal, with everything that people may know and the model may not.
#[derive(Clone, Debug)]
pub struct Denial {
    decision: DecisionId,
    judgement: Judgement,
}

// === impl Finding ===

impl Finding {
    /// A finding that stops the action.
    pub(super) fn block(id: FindingId, reason: Reason) -> Self {
        Self { id, effect: Effect::Block, reason }
    }
}

// === impl Judgement ===

impl Judgement {
    pub(super) fn of(findings: Vec<Finding>) -> Self {
        Self { findings }
    }

    /// The strictest effect of all findings; an action that nobody objects to is allowed.
    pub fn effect(&self) -> Effect {
        self.findings.iter().map(|finding| finding.effect).max().unwrap_or(Effect::Allow)
    }

    /// Every finding, in the order of the gates.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

// === impl Denial ===

impl Denial {
    pub(super) fn new(decision: DecisionId, judgement: Judgement) -> Self {
        Self { decision, judgement }
    }

    /// The decision's name.
    pub fn decision(&self) -> &DecisionId {
        &self.decision
    }

    /// Every finding that led here. For people and the audit log, never for the model.
    pub fn findings(&self) -> &[Finding] {
        self.judgement.findings()
    }
}
