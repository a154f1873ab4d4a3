//! Trust and sensitivity annotations (SEP-1913), with the spelling of SEP-2061 and the hints of first drafts.

use highwater_core::annotation::{
    Axis, Claim, DataClass, Destination, NoticeKind, Outcome, Sensitivity, Source,
};
use highwater_notation::{Words, same_word};

use super::heard::Heard;
use super::shape::{Meaning, either};
use super::table::{Key, Of, Vocabulary};
use crate::text::{is_false, is_true, unquote};

pub(super) const VOCABULARY: Vocabulary = Vocabulary {
    name: "sep-1913",
    keys: &[
        Key::new("maliciousActivityHint", Of::Anything, malicious),
        Key::new("attribution", Of::Anything, Heard::attribution),
        Key::new("inputMetadata", Of::Tools, input_metadata),
        Key::new("InputMetadata", Of::Tools, input_metadata),
        Key::new("returnMetadata", Of::Anything, return_metadata),
        Key::new("ReturnMetadata", Of::Anything, return_metadata),
        Key::new("sensitivity", Of::Anything, sensitivity_of_a_reply),
        Key::new("sensitiveHint", Of::Anything, sensitive),
        Key::new("privateHint", Of::Anything, private),
    ],
};

fn malicious(heard: &mut Heard, raw: &str) {
    if heard.flag(raw, true) {
        heard.say(Claim::Malicious);
    }
}

fn input_metadata(heard: &mut Heard, raw: &str) {
    let Some(block) = heard.block(raw) else { return worst_input(heard) };
    for raw in either(block, "destination", "Destination") {
        heard.destination(raw, |word| Destination::parse(word).map(Meaning::Is));
    }
    for raw in either(block, "sensitivity", "Sensitivity") {
        heard.accepts(raw, |_| None);
    }
    for raw in either(block, "outcomes", "Outcomes") {
        heard.outcomes(raw, |word| Outcome::parse(word).map(Meaning::Is));
    }
}

fn return_metadata(heard: &mut Heard, raw: &str) {
    let Some(block) = heard.block(raw) else { return worst_return(heard) };
    for raw in either(block, "source", "Source") {
        heard.source(raw, |word| Source::parse(word).map(Meaning::Is));
    }
    for raw in either(block, "sensitivity", "Sensitivity") {
        heard.sensitivity(raw, |_| None);
    }
}

/// What a block that cannot be read says of inputs.
pub(super) fn worst_input(heard: &mut Heard) {
    heard.say(Claim::AddDestination(Words::only(Destination::Public)));
    heard.say(Claim::SetAccepts(Sensitivity::none()));
    heard.say(Claim::AddOutcomes(Words::only(Outcome::Irreversible)));
}

/// What a block that cannot be read says of replies.
pub(super) fn worst_return(heard: &mut Heard) {
    heard.say(Claim::AddSource(Words::only(Source::UntrustedPublic)));
    heard.returns([DataClass::Unclassified]);
}

/// The reference SDK's word on a reply. Of a tool the two blocks speak, and a bare `sensitivity` could be meant
/// either way.
fn sensitivity_of_a_reply(heard: &mut Heard, raw: &str) {
    if heard.of_data() {
        heard.sensitivity(raw, |_| None);
    }
}

fn sensitive(heard: &mut Heard, raw: &str) {
    let word = unquote(raw);
    let is = |grade: &str| word.as_deref().is_some_and(|word| same_word(word, grade));
    if is_false(raw) {
        return;
    }
    if is("low") {
        return heard.returns([DataClass::User]);
    }
    heard.returns([DataClass::Confidential]);
    if is("high") || is("medium") || is_true(raw) {
        return;
    }
    heard.returns([DataClass::Unclassified]);
    match word {
        Some(word) => heard.notice(NoticeKind::UnknownWord, Some(Axis::Returns), &word),
        None => heard.notice(NoticeKind::WrongType, Some(Axis::Returns), heard.key),
    }
}

fn private(heard: &mut Heard, raw: &str) {
    if heard.flag(raw, true) {
        heard.returns([DataClass::Confidential]);
    }
}
