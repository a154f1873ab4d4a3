//! The extension `io.modelcontextprotocol/action-metadata`: the blocks of SEP-1913 with words of its own.

use highwater_core::annotation::{ApprovalWish, Claim, DataClass, Destination, Outcome, Sensitivity, Source};

use super::heard::Heard;
use super::sep_1913::{worst_input, worst_return};
use super::shape::Meaning::{Adds, Is};
use super::shape::{Meaning, either, look_up};
use super::table::{Key, Of, Vocabulary};
use crate::text::member;

pub(super) const VOCABULARY: Vocabulary = Vocabulary {
    name: "action-metadata",
    keys: &[Key::new("io.modelcontextprotocol/action-metadata", Of::Anything, read)],
};

/// Who shares the machine is unclear, so `local` is not the user's alone.
const DESTINATIONS: &[(&str, Meaning<Destination>)] =
    &[("local", Is(Destination::Internal)), ("external", Adds(Destination::Public))];

const SOURCES: &[(&str, Meaning<Source>)] =
    &[("first-party", Is(Source::Internal)), ("open-world", Adds(Source::UntrustedPublic))];

const CLASSES: &[(&str, &[DataClass])] = &[("public", &[]), ("personal", &[DataClass::Pii])];

fn read(heard: &mut Heard, raw: &str) {
    let Some(block) = heard.block(raw) else {
        worst_input(heard);
        worst_return(heard);
        return heard.say(Claim::AddApproval(ApprovalWish::Confirm));
    };
    for input in either(block, "inputMetadata", "InputMetadata") {
        match heard.block(input) {
            Some(input) => read_input(heard, input),
            None => worst_input(heard),
        }
    }
    for returned in either(block, "returnMetadata", "ReturnMetadata") {
        match heard.block(returned) {
            Some(returned) => read_return(heard, returned),
            None => worst_return(heard),
        }
    }
    outcomes(heard, block);
    if member(block, "requiresReview").is_some_and(|raw| heard.flag(raw, true)) {
        heard.say(Claim::AddApproval(ApprovalWish::Confirm));
    }
}

fn read_input(heard: &mut Heard, block: &str) {
    for raw in either(block, "destination", "Destination") {
        heard.destination(raw, destination);
    }
    for raw in either(block, "sensitivity", "Sensitivity") {
        heard.accepts(raw, class);
    }
    outcomes(heard, block);
}

fn read_return(heard: &mut Heard, block: &str) {
    for raw in either(block, "source", "Source") {
        heard.source(raw, source);
    }
    for raw in either(block, "sensitivity", "Sensitivity") {
        heard.sensitivity(raw, class);
    }
}

fn outcomes(heard: &mut Heard, block: &str) {
    for raw in either(block, "outcome", "Outcome").chain(either(block, "outcomes", "Outcomes")) {
        heard.outcomes(raw, |word| Outcome::parse(word).map(Is));
    }
}

fn destination(word: &str) -> Option<Meaning<Destination>> {
    look_up(DESTINATIONS)(word).or_else(|| Destination::parse(word).map(Is))
}

fn source(word: &str) -> Option<Meaning<Source>> {
    look_up(SOURCES)(word).or_else(|| Source::parse(word).map(Is))
}

fn class(word: &str) -> Option<Sensitivity> {
    let classes: &[DataClass] = look_up(CLASSES)(word)?;
    Some(if classes.is_empty() { Sensitivity::none() } else { Sensitivity::of(classes.iter().copied()) })
}
