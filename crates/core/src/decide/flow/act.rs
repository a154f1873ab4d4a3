//! `flow.act`: untrusted text decides no act, and where the user's words are told, nothing else than they does.

use super::mode::FlowMode;
use super::{Concern, FlowGate, FlowInput, words};
use crate::annotation::{Axis, Destination, Outcome};
use crate::decide::{Effect, Finding, Reason, WayOut};
use crate::label::Label;
use crate::profile::LocalAct;
use crate::provenance::{CallProvenance, Lack, Need};
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

/// An outcome that neither the session is trusted enough to decide nor the user has asked for.
fn judge(input: &FlowInput<'_>) -> Option<Effect> {
    // `strict` asks for what stays here and can be undone, too.
    if input.mode == FlowMode::Balanced && input.facts.local_act == LocalAct::Undoable {
        return None;
    }
    let outcome = outcome(input)?;
    let is_violated = match input.facts.by_words() {
        None => is_doubtful(input),
        // What cannot be undone takes a passkey in a session that strangers may steer, whoever asked for it.
        Some(_) if is_doubtful(input) && effect(input.mode, outcome) == Effect::Passkey => true,
        Some(provenance) => {
            (is_doubtful(input) || is_judged_anywhere(input)) && !lacks(input.mode, provenance).is_empty()
        }
    };
    is_violated.then(|| effect(input.mode, outcome))
}

/// Whether the session has read too much to decide an act.
fn is_doubtful(input: &FlowInput<'_>) -> bool {
    input.facts.session.integrity() < NEEDED
}

/// Whether the user must have asked for it in whatever session: labels may be wrong, and what has left cannot be fetched
/// back.
fn is_judged_anywhere(input: &FlowInput<'_>) -> bool {
    let contract = input.facts.contract;
    let is_lasting = input.mode == FlowMode::Strict && contract.outcomes().worst() == Outcome::Irreversible;
    is_lasting || contract.destination().contains(Destination::Public)
}

/// What is missing for the call to count as asked for.
fn lacks(mode: FlowMode, provenance: &CallProvenance) -> &[Lack] {
    match mode {
        FlowMode::Strict => &provenance.lacks_strictly,
        FlowMode::Observe | FlowMode::Balanced | FlowMode::Samos => &provenance.lacks,
    }
}

fn explain(input: &FlowInput<'_>, mut finding: Finding) -> Finding {
    let contract = input.facts.contract;
    if let Some(provenance) = input.facts.by_words() {
        finding.lacks = lacks(input.mode, provenance).to_vec();
        if !is_doubtful(input) {
            finding.reasons.clear();
        }
        for lack in &finding.lacks {
            let reason = reason(lack.need);
            if !finding.reasons.contains(&reason) {
                finding.reasons.push(reason);
            }
        }
        finding.reasons.sort_unstable();
    }
    finding
        .saw("tool.annotations.inputMetadata.outcomes", words(contract.outcomes().members()))
        .saw("tool.annotations.inputMetadata.destination", words(contract.destination().members()))
}

/// Why it is asked. A yes to one of these is none to another: who said to whom something goes has not said what.
fn reason(need: Need) -> Reason {
    match need {
        Need::Value | Need::Name | Need::Secret | Need::Proof => Reason::ValueNotAskedFor,
        Need::Carrier => Reason::ContentNotAskedFor,
        Need::Act | Need::Destroys | Need::Widens | Need::Amount | Need::Bare => Reason::ActNotAskedFor,
    }
}

/// Whether what has this label may decide everything.
fn trusts(label: &Label) -> bool {
    label.integrity() >= NEEDED
}

/// What the call counts as; nothing where it is no act. The URL of a page is a message to whoever serves it, but to ask
/// at every page after the first would teach people to say yes: so where nobody tells the user's words only `strict`
/// counts a benign call to the public as an act.
fn outcome(input: &FlowInput<'_>) -> Option<Outcome> {
    let contract = input.facts.contract;
    let worst = contract.outcomes().worst();
    let counts_pages = match input.mode {
        FlowMode::Samos => return None,
        FlowMode::Strict => true,
        FlowMode::Observe | FlowMode::Balanced => input.facts.by_words().is_some() && is_doubtful(input),
    };
    let is_page = counts_pages && contract.destination().contains(Destination::Public);
    let counted = if is_page { worst.max(Outcome::Consequential) } else { worst };
    (counted > Outcome::Benign).then_some(counted)
}

/// The least trust in everything read that deciding an act takes.
const NEEDED: TrustLevel = TrustLevel::Tool;

fn effect(mode: FlowMode, outcome: Outcome) -> Effect {
    match (mode, outcome) {
        (FlowMode::Observe | FlowMode::Samos, _) | (_, Outcome::Benign) => Effect::Allow,
        (FlowMode::Strict, Outcome::Irreversible) => Effect::Passkey,
        (FlowMode::Balanced | FlowMode::Strict, _) => Effect::Confirm,
    }
}
