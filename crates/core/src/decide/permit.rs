//! The proof that one action was allowed, and the only thing that opens an upstream.

use std::sync::Arc;

use thiserror::Error;

use super::attempt::Conduct;
use super::escalation::{Agreement, Approval};
use super::finding::Finding;
use super::flow::FlowViolations;
use super::verdict::{Judgement, Redactions};
use crate::action::{Action, ActionDigest};
use crate::approval::Consented;
use crate::id::DecisionId;
use crate::policy::Facts;

/// Proof of one decision for one action.
///
/// It cannot be built outside the decision:
///
/// ```compile_fail
/// use highwater_core::decide::Permit;
/// let forged = Permit { decision: todo!(), digest: todo!() };
/// ```
///
/// and it cannot be used twice:
///
/// ```compile_fail
/// use highwater_core::{action::Action, decide::{Permit, PermittedAction}};
/// fn twice(first: Action, second: Action, permit: Permit) {
///     let _ = PermittedAction::bind(first, permit);
///     let _ = PermittedAction::bind(second, permit);
/// }
/// ```
#[derive(Debug)]
pub struct Permit {
    decision: DecisionId,
    digest: ActionDigest,
    judgement: Judgement,
    obligations: Obligations,
    conduct: Conduct,
    consented: Option<Arc<Consented>>,
    /// Rare, and not carried along by every call.
    agreement: Option<Box<Agreement>>,
}

/// What the decision about an action leaves for the judgement of its reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Obligations {
    pub(super) redactions: Redactions,
    /// A person said yes to exactly this action.
    pub(super) approved: bool,
    /// The violations that they knew of.
    pub(super) agreed: FlowViolations,
}

/// An action together with the decision that allowed it: the only argument an upstream takes.
///
/// ```compile_fail
/// use highwater_core::{action::Action, decide::PermittedAction};
/// fn smuggle(action: Action) -> PermittedAction {
///     PermittedAction { action, decision: todo!() }
/// }
/// ```
#[derive(Debug)]
pub struct PermittedAction {
    action: Arc<Action>,
    decision: DecisionId,
    conduct: Conduct,
}

/// The permit was made for another action.
#[derive(Debug, Error)]
#[error("the permit {decision} belongs to another action")]
pub struct Mismatch {
    decision: DecisionId,
}

// === impl Permit ===

impl Permit {
    pub(super) fn mint(facts: &Facts<'_>, judgement: Judgement, approval: Option<&Approval>) -> Self {
        let obligations = Obligations {
            redactions: judgement.redactions(),
            approved: approval.is_some(),
            agreed: approval.map(Approval::violations).unwrap_or_default(),
        };
        let conduct = Conduct::of(facts.action, facts.contract);
        let consented = approval.map(|approval| Arc::new(approval.consented(facts, &judgement)));
        Self {
            decision: facts.decision.clone(),
            digest: facts.action.digest(),
            judgement,
            obligations,
            conduct,
            consented,
            agreement: approval.map(|approval| Box::new(approval.agreement())),
        }
    }

    /// What a person agreed to, if one was asked.
    pub fn agreement(&self) -> Option<&Agreement> {
        self.agreement.as_deref()
    }

    /// The decision this permit came from.
    pub fn decision(&self) -> &DecisionId {
        &self.decision
    }

    /// Everything that was judged. An allowed action may have findings: what a person agreed to, and what is only
    /// recorded.
    pub fn judgement(&self) -> &Judgement {
        &self.judgement
    }

    /// Every finding.
    pub fn findings(&self) -> &[Finding] {
        self.judgement.findings()
    }

    /// What a person agreed to, if the action needed that. Its server may ask for more before it is done.
    pub fn consented(&self) -> Option<&Arc<Consented>> {
        self.consented.as_ref()
    }

    /// What is left to do when the reply comes.
    pub fn obligations(&self) -> Obligations {
        self.obligations
    }
}

// === impl Obligations ===

impl Obligations {
    /// What must be removed from the reply.
    pub fn redactions(self) -> Redactions {
        self.redactions
    }

    /// Whether a person said yes to exactly this action.
    pub fn approved(self) -> bool {
        self.approved
    }
}

// === impl PermittedAction ===

impl PermittedAction {
    /// Spends the permit on the action it was made for.
    pub fn bind(action: impl Into<Arc<Action>>, permit: Permit) -> Result<Self, Mismatch> {
        let action = action.into();
        if action.digest() == permit.digest {
            Ok(Self { action, decision: permit.decision, conduct: permit.conduct })
        } else {
            Err(Mismatch { decision: permit.decision })
        }
    }

    /// What may be done.
    pub fn action(&self) -> &Arc<Action> {
        &self.action
    }

    /// The decision that allowed it.
    pub fn decision(&self) -> &DecisionId {
        &self.decision
    }

    /// How it may be carried out.
    pub fn conduct(&self) -> Conduct {
        self.conduct
    }
}
