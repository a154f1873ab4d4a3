//! `flow.act`: untrusted text decides no act.

use super::mode::FlowMode;
use super::{Concern, FlowGate, FlowInput, words};
use crate::annotation::{Axis, Contract, Destination, Outcome};
use crate::decide::{Effect, Finding, Reason, WayOut};
use crate::label::Label;
use crate::profile::LocalAct;
use crate::trust::TrustLevel;

pub(super) static GATE: FlowGate = FlowGate {
    finding: "flow.act",
    concern: Concern::UntrustedText,
    consequence: " It may be they who want this done.",
    rank: 1,
    found: "the session has read text that anybody may have written, and this call acts",
    because: &[(FlowMode::Strict, Effect::Passkey, "wants a passkey for what cannot be undone")],
    reason: Reason::UntrustedActs,
    ways: &[WayOut::NewSession, WayOut::Reset],
    axis: Axis::Outcomes,
    of_replies: false,
    answered_under_way: true,
    judge,
    explain,
    overlooks: trusts,
};

/// An outcome that the session is not trusted enough to decide.
fn judge(input: &FlowInput<'_>) -> Option<Effect> {
    // `strict` asks for what stays here and can be undone, too.
    if input.mode == FlowMode::Balanced && input.facts.local_act == LocalAct::Undoable {
        return None;
    }
    let outcome = outcome(input.mode, input.facts.contract)?;
    (input.facts.session.integrity() < needed(outcome)).then(|| effect(input.mode, outcome))
}

fn explain(input: &FlowInput<'_>, finding: Finding) -> Finding {
    let contract = input.facts.contract;
    finding
        .saw("tool.annotations.inputMetadata.outcomes", words(contract.outcomes().members()))
        .saw("tool.annotations.inputMetadata.destination", words(contract.destination().members()))
}

/// Whether what has this label may decide everything.
fn trusts(label: &Label) -> bool {
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

fn effect(mode: FlowMode, outcome: Outcome) -> Effect {
    match (mode, outcome) {
        (FlowMode::Observe | FlowMode::Samos, _) | (_, Outcome::Benign) => Effect::Allow,
        (FlowMode::Strict, Outcome::Irreversible) => Effect::Passkey,
        (FlowMode::Balanced | FlowMode::Strict, _) => Effect::Confirm,
    }
}
