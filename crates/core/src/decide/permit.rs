//! The proof that one action was allowed, and the only thing that opens an upstream.

use thiserror::Error;

use crate::action::{Action, ActionDigest};
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
    action: Action,
    decision: DecisionId,
}

/// The permit was made for another action.
#[derive(Debug, Error)]
#[error("the permit {decision} belongs to another action")]
pub struct Mismatch {
    decision: DecisionId,
}

// === impl Permit ===

impl Permit {
    pub(super) fn mint(facts: &Facts<'_>) -> Self {
        Self { decision: facts.decision.clone(), digest: facts.action.digest() }
    }

    /// The decision this permit came from.
    pub fn decision(&self) -> &DecisionId {
        &self.decision
    }
}

// === impl PermittedAction ===

impl PermittedAction {
    /// Spends the permit on the action it was made for.
    pub fn bind(action: Action, permit: Permit) -> Result<Self, Mismatch> {
        if action.digest() == permit.digest {
            Ok(Self { action, decision: permit.decision })
        } else {
            Err(Mismatch { decision: permit.decision })
        }
    }

    /// What may be done.
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// The decision that allowed it.
    pub fn decision(&self) -> &DecisionId {
        &self.decision
    }
}
