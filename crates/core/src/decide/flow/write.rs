//! `flow.write`: nothing private to an audience that may not have it.

use std::borrow::Cow;

use highwater_notation::Words;

use super::mode::FlowMode;
use super::{Concern, FlowGate, FlowInput, words};
use crate::annotation::{Axis, ClassSet, Confidentiality, DataClass, Destination};
use crate::decide::{Effect, Finding, Reason, WayOut};
use crate::label::Label;
use crate::provenance::{CallProvenance, Carries};

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
            "refuses where credentials or regulated data would go, or something malicious was read; it asks a person otherwise",
        ),
        (FlowMode::Balanced, Effect::Confirm, "asks a person, who can tell whether this was wanted"),
    ],
    reason: Reason::NotCleared,
    ways: &[WayOut::NewSession, WayOut::Reset],
    axis: Axis::Destination,
    of_replies: false,
    answered_under_way: false,
    judge: |input| leak(input).map(|leak| effect(input, &leak)),
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
    if session.classes().is_empty() {
        return None;
    }
    let leak = match input.mode {
        // The thesis knows two grades: what is private goes to what is not public, and nothing more is asked.
        FlowMode::Samos => {
            let low = contract.write_confidentiality() == Confidentiality::Low;
            let held = if low { session.classes() } else { Words::EMPTY };
            Leak { at_destination: held, not_accepted: Words::EMPTY }
        }
        FlowMode::Observe | FlowMode::Balanced | FlowMode::Strict => {
            let carried = carried(input);
            let refused = input.policy.clearance.refuses(watched(input), &carried);
            let is_named = excusing(input).is_some_and(|provenance| provenance.audience_wanted);
            Leak {
                // Whom the user named may have it. What is graver than that nobody meant by a name.
                at_destination: if is_named { refused.intersection(grave()) } else { refused },
                // A tool that keeps nothing and passes nothing on receives nothing: a search of the inbox says `none`
                // here, and may be made twice.
                not_accepted: if contract.destination().is_only(Destination::Ephemeral) {
                    Words::EMPTY
                } else {
                    contract.accepts().refused(&carried)
                },
            }
        }
    };
    (!leak.at_destination.is_empty() || !leak.not_accepted.is_empty()).then_some(leak)
}

/// Where the arguments come from, if that may excuse anything: after somebody reported an attack it does not.
fn excusing<'a>(input: &FlowInput<'a>) -> Option<&'a CallProvenance> {
    input.facts.by_words().filter(|_| !input.facts.session.malicious())
}

/// What of the session the call could take along, as far as gates look at it.
fn carried<'a>(input: &FlowInput<'a>) -> Cow<'a, Label> {
    let session = input.facts.session;
    match excusing(input).map(|provenance| provenance.carries) {
        None | Some(Carries::Anything) => Cow::Borrowed(session),
        Some(Carries::Things(classes)) => Cow::Owned(part(session, classes.union(grave()))),
        Some(Carries::Nothing) => Cow::Owned(part(session, grave())),
    }
}

/// What a label holds of these classes.
fn part(label: &Label, classes: ClassSet) -> Label {
    let mut part = Label::bottom();
    if classes.contains(DataClass::Named) {
        part = part.with_names(label.names());
    }
    if classes.contains(DataClass::Regulated) {
        part = part.with_scopes(label.scopes());
    }
    part.with_classes(label.classes().intersection(classes))
}

fn explain(input: &FlowInput<'_>, mut finding: Finding) -> Finding {
    let destination = input.facts.contract.destination();
    let mut cleared = input.policy.clearance.admits_at_all(destination.members());
    if let Some(leak) = leak(input) {
        // A class that is cleared in part is not cleared for what this session holds of it.
        cleared = cleared.minus(leak.at_destination);
        let reasons = [
            (Reason::NotCleared, leak.at_destination.is_empty()),
            (Reason::NotAccepted, leak.not_accepted.is_empty()),
        ];
        finding.reasons = reasons.into_iter().filter(|(_, empty)| !empty).map(|(reason, _)| reason).collect();
    }
    finding
        .saw("session.sensitivity", words(input.facts.session.classes()))
        .saw("tool.annotations.inputMetadata.destination", words(destination.members()))
        .saw("clearance", words(cleared))
}

/// The destinations that are looked at. Fetching a page is a message to whoever serves it, but to ask at every page
/// would teach people to say yes: in a session that no stranger has spoken to, only `strict` looks at it.
fn watched(input: &FlowInput<'_>) -> Words<Destination> {
    let (session, contract) = (input.facts.session, input.facts.contract);
    let all = contract.destination().members();
    if input.mode == FlowMode::Strict || session.untrusted() || contract.acts() {
        all
    } else {
        all.without(Destination::Public)
    }
}

/// What no answer to a question should let out unsigned by a rule of the operator's, and no standing of an argument.
fn grave() -> ClassSet {
    Words::only(DataClass::Credentials).with(DataClass::Regulated)
}

/// A person can tell whether sending this was wanted. Where strangers may have asked for credentials, or where somebody
/// reported an attack, a yes would more likely be a slip.
fn effect(input: &FlowInput<'_>, leak: &Leak) -> Effect {
    let classes = leak.at_destination.union(leak.not_accepted);
    let is_grave = !classes.intersection(grave()).is_empty() || input.facts.session.malicious();
    match input.mode {
        FlowMode::Observe => Effect::Allow,
        FlowMode::Balanced if is_grave => Effect::Block,
        FlowMode::Balanced => Effect::Confirm,
        FlowMode::Strict | FlowMode::Samos => Effect::Block,
    }
}
