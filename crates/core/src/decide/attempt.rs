//! Sending a permitted action, and sending it again. One decision allows one action; how often its request may leave is
//! part of what was decided, because it depends on what the action does.

use std::sync::Arc;

use super::permit::PermittedAction;
use crate::action::{Action, ActionKind};
use crate::annotation::Contract;
use crate::id::DecisionId;

/// How an allowed action may be carried out. Taken from the effective contract for its arguments: what an unverified
/// server says of itself has not loosened that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conduct {
    /// It changes nothing: it may run beside others, and again.
    Reads,
    /// It changes something, and a second time changes nothing more.
    Idempotent,
    /// Done twice, it may be done twice.
    Once,
    /// It belongs to a call that is under way already: it waits for nobody, and nobody repeats it.
    Step,
}

/// One sending of a permitted action. There is only ever one of it:
///
/// ```compile_fail
/// use highwater_core::decide::{Attempt, PermittedAction};
/// fn twice(permitted: PermittedAction) -> (Attempt, Attempt) {
///     (permitted.begin(), permitted.begin())
/// }
/// ```
///
/// The next one is made of the one that failed, which is used up by that:
///
/// ```compile_fail
/// use highwater_core::decide::{Attempt, Spent};
/// fn twice(attempt: Attempt) -> [Result<Attempt, Spent>; 2] {
///     [attempt.again(true), attempt.again(true)]
/// }
/// ```
///
/// and it cannot be made by hand:
///
/// ```compile_fail
/// use highwater_core::decide::{Attempt, PermittedAction};
/// fn forged(permitted: PermittedAction) -> Attempt {
///     Attempt { permitted, number: 1 }
/// }
/// ```
#[derive(Debug)]
pub struct Attempt {
    permitted: PermittedAction,
    number: u32,
}

/// The action may not be sent again: it may have been carried out, and twice would be once too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent;

// === impl Conduct ===

impl Conduct {
    /// How this action may be carried out under this contract.
    pub fn of(action: &Action, contract: &Contract) -> Self {
        match action.kind() {
            ActionKind::Answer | ActionKind::TaskStep | ActionKind::Subscribe => Self::Step,
            // What was approved is used up by the first sending: a second would be a replay.
            ActionKind::CallTool if contract.requires_verified() => Self::Once,
            ActionKind::CallTool
            | ActionKind::ResolveTool
            | ActionKind::CreateChallenge
            | ActionKind::ReadResource
            | ActionKind::GetPrompt
            | ActionKind::Complete
            | ActionKind::ExtraMethod => {
                let hints = contract.hints();
                match (hints.read_only, hints.idempotent) {
                    (true, _) => Self::Reads,
                    (false, true) => Self::Idempotent,
                    (false, false) => Self::Once,
                }
            }
        }
    }

    /// Whether the action may be sent again although it may have been carried out.
    pub fn is_repeatable(self) -> bool {
        matches!(self, Self::Reads | Self::Idempotent)
    }

    /// Whether the action may change something at the server, so that its place among others matters.
    pub fn writes(self) -> bool {
        matches!(self, Self::Idempotent | Self::Once)
    }
}

// === impl PermittedAction ===

impl PermittedAction {
    /// Uses the permission up for the first sending.
    pub fn begin(self) -> Attempt {
        Attempt { permitted: self, number: 1 }
    }
}

// === impl Attempt ===

impl Attempt {
    /// What is done.
    pub fn action(&self) -> &Arc<Action> {
        self.permitted.action()
    }

    /// The decision that allowed it.
    pub fn decision(&self) -> &DecisionId {
        self.permitted.decision()
    }

    /// Which attempt this is, the first being 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The next attempt after this one failed. `left` is whether any of it may have reached the server: what never left
    /// may be sent whatever it does, and what may have arrived only if a second time does no more.
    pub fn again(self, left: bool) -> Result<Self, Spent> {
        if left && !self.permitted.conduct().is_repeatable() {
            return Err(Spent);
        }
        Ok(Self { number: self.number.saturating_add(1), ..self })
    }

    /// The same attempt over another connection, the first having been closed before anything was written.
    pub fn elsewhere(self, left: bool) -> Result<Self, Spent> {
        if left { Err(Spent) } else { Ok(self) }
    }
}
