//! `flow.read`: a session that may be hijacked gets no secrets.

use super::mode::FlowMode;
use super::{Concern, FlowGate, FlowInput, words};
use crate::annotation::Axis;
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
        let exposed = input.facts.session.untrusted() && reply(input).private();
        exposed.then(|| effect(input.mode))
    },
    explain: |input, finding| {
        finding.saw("tool.annotations.returnMetadata.sensitivity", words(reply(input).classes()))
    },
    overlooks: |label| !label.untrusted() && !label.private(),
};

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
