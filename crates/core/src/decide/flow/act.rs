//! `flow.act`: untrusted text decides no act.

use super::mode::FlowMode;
use crate::annotation::{Contract, Destination, Outcome};
use crate::decide::Effect;
use crate::label::Label;
use crate::trust::TrustLevel;

/// The outcome that the session is not trusted enough to decide, if there is one.
pub(super) fn decided(mode: FlowMode, contract: &Contract, session: &Label) -> Option<Outcome> {
    let outcome = outcome(mode, contract)?;
    (session.integrity() < needed(outcome)).then_some(outcome)
}

/// Whether what has this label may decide everything.
pub(super) fn trusts(label: &Label) -> bool {
    Outcome::ALL.iter().all(|outcome| label.integrity() >= needed(*outcome))
}

/// What the call counts as. The URL of a page is a message to whoever serves it, but to ask at every page after the
/// first would teach people to say yes; so only `strict` counts a benign call to the public as an act.
fn outcome(mode: FlowMode, contract: &Contract) -> Option<Outcome> {
    let worst = contract.outcomes().worst();
    match mode {
        FlowMode::Samos => None,
        FlowMode::Strict if contract.destination().contains(Destination::Public) => {
            Some(worst.max(Outcome::Consequential))
        }
        FlowMode::Observe | FlowMode::Balanced | FlowMode::Strict => Some(worst),
    }
}

/// The least trust in everything read that an outcome takes.
fn needed(outcome: Outcome) -> TrustLevel {
    match outcome {
        Outcome::Benign => TrustLevel::None,
        Outcome::Consequential | Outcome::Irreversible => TrustLevel::Tool,
    }
}

pub(super) fn effect(mode: FlowMode, outcome: Outcome) -> Effect {
    match (mode, outcome) {
        (FlowMode::Observe | FlowMode::Samos, _) | (_, Outcome::Benign) => Effect::Allow,
        (FlowMode::Strict, Outcome::Irreversible) => Effect::Passkey,
        (FlowMode::Balanced | FlowMode::Strict, _) => Effect::Confirm,
    }
}
