//! `flow.read`: a session that may be hijacked gets no secrets.

use super::mode::FlowMode;
use super::{Concern, FlowGate, FlowInput, words};
use crate::annotation::{Authority, Axis};
use crate::decide::{Effect, Reason, WayOut};
use crate::label::Label;

pub(super) static GATE: FlowGate = FlowGate {
    finding: "flow.read",
    concern: Concern::UntrustedText,
    consequence: " Now it would get private data.",
    rank: 1,
    found: "the session has read text that anybody may have written, and would now read private data",
    because: &[(
        FlowMode::Balanced,
        Effect::Allow,
        "lets this in; the label rises with it, and `flow.write` closes the exits",
    )],
    reason: Reason::UntrustedReads,
    ways: &[WayOut::ReadFirst, WayOut::Reset],
    axis: Axis::Returns,
    of_replies: true,
    answered_under_way: false,
    judge: |input| {
        let violated = is_doubtful(input) && reply(input).private() && !is_left_to_reply(input);
        violated.then(|| effect(input.mode))
    },
    explain: |input, finding| {
        finding.saw("tool.annotations.returnMetadata.sensitivity", words(reply(input).classes()))
    },
    overlooks: |label| !label.untrusted() && !label.private(),
};

/// Whether the session should not get secrets. The thesis knows one level: a session that has certainly read something
/// private is high, whatever else it has read, and may read more of it.
fn is_doubtful(input: &FlowInput<'_>) -> bool {
    let session = input.facts.session;
    let certainly = input.facts.session_floor.unwrap_or(session);
    match input.mode {
        FlowMode::Samos => session.untrusted() && !certainly.private(),
        FlowMode::Observe | FlowMode::Balanced | FlowMode::Strict => session.untrusted(),
    }
}

/// Whether the reply will show. The thesis takes the level of what is read from the outcome: a tool that somebody says may
/// return something private or nothing of the kind is called, and its reply is judged.
fn is_left_to_reply(input: &FlowInput<'_>) -> bool {
    let contract = input.facts.contract;
    input.mode == FlowMode::Samos
        && input.reply.is_none()
        && contract.returns().may_be_none()
        && contract.basis(Axis::Returns) != Authority::Nothing
        && !contract.acts()
}

/// What the reply is, or may be by its contract.
fn reply<'a>(input: &FlowInput<'a>) -> &'a Label {
    input.reply.unwrap_or(input.facts.contract.reply_label())
}

/// In `balanced` the reply is let in: the label rises with it, and `flow.write` closes the exits.
fn effect(mode: FlowMode) -> Effect {
    match mode {
        FlowMode::Observe | FlowMode::Balanced => Effect::Allow,
        FlowMode::Strict | FlowMode::Samos => Effect::Block,
    }
}
