//! `flow.write`: nothing private to an audience that may not have it.

use super::mode::FlowMode;
use super::{Concern, FlowGate, FlowInput, words};
use crate::annotation::{Axis, ClassSet, Confidentiality, Destination, Words};
use crate::decide::{Effect, Finding, Reason, WayOut};
use crate::label::Label;

pub(super) static GATE: FlowGate = FlowGate {
    finding: "flow.write",
    concern: Concern::PrivateData,
    consequence: ", and the call may send it where it should not go.",
    rank: 0,
    found: "private data could go where it may not",
    because: &[
        (
            FlowMode::Balanced,
            Effect::Block,
            "asks a person while the session is trusted; this one is not, so it refuses",
        ),
        (FlowMode::Balanced, Effect::Confirm, "asks a person, because the session is trusted"),
    ],
    reason: Reason::NotCleared,
    ways: &[WayOut::NewSession, WayOut::Reset],
    axis: Axis::Destination,
    of_replies: false,
    answered_under_way: false,
    judge: |input| leak(input).map(|_| effect(input.mode, input.facts.session)),
    explain,
    overlooks: |label| !label.private() && label.scopes().is_empty() && !label.untrusted(),
};

/// What would go where it may not.
struct Leak {
    /// Classes that may not go to some destination of the call.
    at_destination: ClassSet,
    /// Classes that the tool is not built to receive.
    not_accepted: ClassSet,
}

/// The classes of the session that the destination, or the tool, does not admit. Both must.
fn leak(input: &FlowInput<'_>) -> Option<Leak> {
    let (session, contract) = (input.facts.session, input.facts.contract);
    let held = session.classes();
    if held.is_empty() {
        return None;
    }
    let leak = match input.mode {
        // The thesis knows two grades: what is private goes to what is not public, and nothing more is asked.
        FlowMode::Samos => {
            let low = contract.write_confidentiality() == Confidentiality::Low;
            Leak { at_destination: if low { held } else { Words::EMPTY }, not_accepted: Words::EMPTY }
        }
        FlowMode::Observe | FlowMode::Balanced | FlowMode::Strict => Leak {
            at_destination: held.minus(input.policy.clearance.admits_at_all(contract.destination())),
            // A tool that keeps nothing and passes nothing on receives nothing: a search of the inbox says `none`
            // here, and may be made twice.
            not_accepted: if contract.destination().is_only(Destination::Ephemeral) {
                Words::EMPTY
            } else {
                contract.accepts().refused(session)
            },
        },
    };
    (!leak.at_destination.is_empty() || !leak.not_accepted.is_empty()).then_some(leak)
}

fn explain(input: &FlowInput<'_>, mut finding: Finding) -> Finding {
    if let Some(leak) = leak(input) {
        let reasons = [
            (Reason::NotCleared, leak.at_destination.is_empty()),
            (Reason::NotAccepted, leak.not_accepted.is_empty()),
        ];
        finding.reasons = reasons.into_iter().filter(|(_, empty)| !empty).map(|(reason, _)| reason).collect();
    }
    let destination = input.facts.contract.destination();
    finding
        .saw("session.sensitivity", words(input.facts.session.classes()))
        .saw("tool.annotations.inputMetadata.destination", words(destination.members()))
        .saw("clearance", words(input.policy.clearance.admits_at_all(destination)))
}

/// A trusted session may have been asked by its user to send this; a doubtful one may have been asked by anybody.
fn effect(mode: FlowMode, session: &Label) -> Effect {
    match mode {
        FlowMode::Observe => Effect::Allow,
        FlowMode::Balanced if session.untrusted() => Effect::Block,
        FlowMode::Balanced => Effect::Confirm,
        FlowMode::Strict | FlowMode::Samos => Effect::Block,
    }
}
