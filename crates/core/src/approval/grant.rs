//! Grants and mandates: a yes that was given before the call that rests on it, and what the store says of using it up.
//!
//! As with a signature that comes with its call, the order of the types is the order of what has to happen: a [`Grant`]
//! permits nothing, the store uses it up, and only what was used up is a [`SpentGrant`].

use highwater_passkey::ActionHash;

use crate::decide::Told;
use crate::id::{ApprovalId, Principal};
use crate::policy::Effect;

/// How long a grant can be used after it was given.
pub const GRANT_LIFETIME_MS: u64 = 120_000;

/// How using up a grant went, in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantOutcome {
    /// It is used up, and this call may rest on it.
    Consumed,
    /// Another call was faster.
    AlreadyConsumed,
    /// Nobody has answered yet.
    Pending,
    /// A person said no.
    Declined,
    /// It ended before it was used.
    Expired,
    /// The tool is not the one that the person was shown (G16).
    Changed,
    /// Too few of those who signed still count.
    Short,
    /// There is none for this principal and this action.
    Unknown,
}

/// How using a mandate once went, in the one transaction that counts the uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MandateOutcome {
    /// One use is taken.
    Used {
        /// How many are left.
        left: u64,
    },
    /// None was left.
    Exhausted,
    /// It was taken back.
    Revoked,
    /// All credentials of the person who signed it are being reset.
    Resetting,
    /// It has not begun, or it has ended.
    Outside,
    /// There is none of that id.
    Unknown,
}

/// A yes that a person gave to a request, before a call rests on it. Whoever reads it from the store answers for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The request that was answered.
    pub request: ApprovalId,
    /// Whose call it is for.
    pub principal: Principal,
    /// What was approved.
    pub action: ActionHash,
    /// What it is worth: [`Effect::Passkey`] where passkeys signed, otherwise [`Effect::Confirm`].
    pub grade: Effect,
    /// What the person was told.
    pub told: Told,
}

/// A grant that is used up: one execution of one action may rest on it.
///
/// It is not made without asking the store:
///
/// ```compile_fail
/// use highwater_core::approval::{Grant, SpentGrant};
/// fn unspent(grant: Grant) -> SpentGrant {
///     SpentGrant(grant)
/// }
/// ```
///
/// and it is not used twice:
///
/// ```compile_fail
/// use highwater_core::approval::{ActionHash, SpentGrant};
/// use highwater_core::decide::{Escalation, Proof};
/// fn twice(first: Escalation, second: Escalation, action: ActionHash, spent: SpentGrant) {
///     let _ = first.signed(Proof::Grant(spent), action);
///     let _ = second.signed(Proof::Grant(spent), action);
/// }
/// ```
#[derive(Debug)]
pub struct SpentGrant(Grant);

/// A call that a mandate covers, before one of its uses is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MandatedCall {
    principal: Principal,
    action: ActionHash,
}

/// A mandate of which one use is taken: one execution of one action may rest on it.
///
/// ```compile_fail
/// use highwater_core::approval::{MandatedCall, SpentMandate};
/// fn unspent(call: MandatedCall) -> SpentMandate {
///     SpentMandate(call)
/// }
/// ```
#[derive(Debug)]
pub struct SpentMandate(MandatedCall);

// === impl Grant ===

impl Grant {
    /// Takes what the store says of using it up.
    pub fn spend(self, outcome: GrantOutcome) -> Result<SpentGrant, GrantOutcome> {
        match outcome {
            GrantOutcome::Consumed => Ok(SpentGrant(self)),
            GrantOutcome::AlreadyConsumed
            | GrantOutcome::Pending
            | GrantOutcome::Declined
            | GrantOutcome::Expired
            | GrantOutcome::Changed
            | GrantOutcome::Short
            | GrantOutcome::Unknown => Err(outcome),
        }
    }
}

// === impl SpentGrant ===

impl SpentGrant {
    /// What was granted.
    pub fn grant(&self) -> &Grant {
        &self.0
    }
}

// === impl MandatedCall ===

impl MandatedCall {
    pub(super) fn new(principal: Principal, action: ActionHash) -> Self {
        Self { principal, action }
    }

    /// Takes what the store says of using the mandate.
    pub fn spend(self, outcome: MandateOutcome) -> Result<SpentMandate, MandateOutcome> {
        match outcome {
            MandateOutcome::Used { .. } => Ok(SpentMandate(self)),
            MandateOutcome::Exhausted
            | MandateOutcome::Revoked
            | MandateOutcome::Resetting
            | MandateOutcome::Outside
            | MandateOutcome::Unknown => Err(outcome),
        }
    }
}

// === impl SpentMandate ===

impl SpentMandate {
    /// Whose call it is.
    pub fn principal(&self) -> &Principal {
        &self.0.principal
    }

    /// What may be executed.
    pub fn action(&self) -> ActionHash {
        self.0.action
    }
}
