//! What findings add up to: a judgement, and the verdict that follows from it.

use highwater_notation::Words;

use super::escalation::Escalation;
use super::finding::{Finding, PerMode, Reason};
use super::permit::Permit;
use super::what_if::WhatIf;
use crate::id::DecisionId;
use crate::policy::{Effect, FlowViolations, SightingKind};

/// The kinds of sighting that must be removed from the reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Redactions(Words<SightingKind>);

/// All findings, and what they add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    findings: Vec<Finding>,
    redactions: Redactions,
    violations: FlowViolations,
    what_if: Vec<WhatIf>,
}

/// What a judgement asks of the caller. Two that demand the same are the same decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demands {
    /// What has to happen before the action may.
    pub effect: Effect,
    /// What has to happen to the reply.
    pub redactions: Redactions,
}

/// The answer to an action.
#[derive(Debug)]
pub enum Verdict {
    /// It may happen, once, exactly so.
    Allow(Permit),
    /// It may happen if a person says so.
    Escalate(Escalation),
    /// It does not happen.
    Block(Denial),
}

/// A refusal, with everything that people may know and the model may not.
#[derive(Clone, Debug)]
pub struct Denial {
    decision: DecisionId,
    judgement: Judgement,
}

// === impl Redactions ===

impl Redactions {
    /// Nothing is to be removed.
    pub const NONE: Self = Self(Words::EMPTY);

    /// Everything of these kinds.
    pub const fn of(kinds: Words<SightingKind>) -> Self {
        Self(kinds)
    }

    /// The kinds.
    pub const fn kinds(self) -> Words<SightingKind> {
        self.0
    }

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0.union(other.0))
    }

    /// Whether nothing is to be removed.
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}

// === impl Demands ===

impl Demands {
    /// The action is allowed as it is.
    pub const NOTHING: Self = Self { effect: Effect::Allow, redactions: Redactions::NONE };
}

// === impl Judgement ===

impl Judgement {
    /// What follows from these findings alone.
    pub(super) fn of(findings: Vec<Finding>) -> Self {
        Self { findings, ..Self::default() }
    }

    pub(super) fn new(findings: Vec<Finding>, redactions: Redactions, violations: FlowViolations) -> Self {
        Self { findings, redactions, violations, what_if: Vec::new() }
    }

    pub(super) fn push(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    pub(super) fn changed_by(self, what_if: Vec<WhatIf>) -> Self {
        Self { what_if, ..self }
    }

    /// Whether there is nothing to say: no finding, nothing to remove, no flow rule violated.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty() && self.redactions.is_empty() && self.violations.is_empty()
    }

    /// What would have made the decision milder, where it is not simply to allow.
    pub fn what_if(&self) -> &[WhatIf] {
        &self.what_if
    }

    /// The strictest effect of all findings; an action that nobody objects to is allowed.
    pub fn effect(&self) -> Effect {
        self.findings.iter().map(|finding| finding.effect).max().unwrap_or(Effect::Allow)
    }

    /// Whether the upstream itself requires a verified approval, and nothing goes to it that it could verify.
    pub(super) fn is_closed_by_its_server(&self) -> bool {
        self.findings.iter().any(|finding| finding.reasons.contains(&Reason::VerifiedApprovalRequired))
    }

    /// Every finding, in the order of the gates.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What must be removed from the reply, whatever else is decided.
    pub fn redactions(&self) -> Redactions {
        self.redactions
    }

    /// Which flow rules are violated, enforced or not.
    pub fn violations(&self) -> FlowViolations {
        self.violations
    }

    /// What the caller has to do.
    pub fn demands(&self) -> Demands {
        Demands { effect: self.effect(), redactions: self.redactions }
    }

    /// What each mode would have done, if some finding was only recorded. No mode enforces a dry run.
    pub fn would(&self) -> Option<PerMode> {
        let findings = || self.findings.iter().filter(|finding| !finding.dry_run);
        findings().any(|finding| finding.would.is_some()).then(|| {
            findings().fold(PerMode::all(Effect::Allow), |strictest, finding| {
                strictest.max(finding.would.unwrap_or(PerMode::all(finding.effect)))
            })
        })
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

    /// Everything that was judged. For people and the audit log, never for the model.
    pub fn judgement(&self) -> &Judgement {
        &self.judgement
    }

    /// Every finding that led here. For people and the audit log, never for the model.
    pub fn findings(&self) -> &[Finding] {
        self.judgement.findings()
    }
}
