//! The trust block of signed declarations (SEP-3140). Unsigned, it is a plain declaration.

use highwater_core::annotation::{
    Axis, Capability, CapabilityClaim, Claim, DataClass, Destination, Outcome, Reach, Sensitivity,
};
use highwater_notation::Words;

use super::dependencies::reach;
use super::heard::Heard;
use super::shape::Meaning::{Adds, Is};
use super::shape::{Meaning, look_up};
use super::table::{Key, Of, Vocabulary};
use crate::text::{is_object, member};

pub(super) const VOCABULARY: Vocabulary =
    Vocabulary { name: "declarations", keys: &[Key::new("trust", Of::Tools, read)] };

const EFFECTS: &[(&str, Meaning<Outcome>)] = &[
    ("read-only", Is(Outcome::Benign)),
    ("writes-data", Is(Outcome::Consequential)),
    ("destructive", Adds(Outcome::Irreversible)),
];

const EGRESS: &[(&str, Meaning<Destination>)] = &[
    ("none", Is(Destination::User)),
    ("internal", Is(Destination::Internal)),
    ("external", Adds(Destination::Public)),
];

/// Speaks of replies, not of what is accepted.
const SENSITIVITIES: &[(&str, &[DataClass])] = &[
    ("public", &[]),
    ("internal", &[DataClass::Confidential]),
    ("confidential", &[DataClass::Confidential]),
    ("secret", &[DataClass::Confidential, DataClass::Credentials]),
];

fn read(heard: &mut Heard, raw: &str) {
    let Some(block) = heard.block(raw) else {
        heard.say(Claim::AddOutcomes(Words::only(Outcome::Irreversible)));
        heard.say(Claim::AddDestination(Words::only(Destination::Public)));
        return heard.returns([DataClass::Unclassified]);
    };
    if let Some(raw) = member(block, "effect") {
        heard.outcomes(raw, look_up(EFFECTS));
    }
    if let Some(raw) = member(block, "egress") {
        heard.destination(raw, look_up(EGRESS));
    }
    if let Some(raw) = member(block, "dataSensitivity") {
        data_sensitivity(heard, raw);
    }
    if member(block, "reversible").is_some_and(|raw| !heard.flag(raw, false)) {
        heard.say(Claim::AddOutcomes(Words::only(Outcome::Irreversible)));
    }
    if let Some(raw) = member(block, "capabilities") {
        capabilities(heard, raw);
    }
}

fn data_sensitivity(heard: &mut Heard, raw: &str) {
    heard.each_word(raw, Axis::Returns, look_up(SENSITIVITIES), |heard, classes| match classes {
        Some([]) => heard.say(Claim::SetReturns(Sensitivity::none())),
        Some(classes) => heard.returns(classes.iter().copied()),
        None => heard.returns([DataClass::Unclassified]),
    });
}

fn capabilities(heard: &mut Heard, raw: &str) {
    let named = [
        ("network", Capability::Network),
        ("subprocess", Capability::Execution),
        ("env", Capability::Environment),
    ];
    let Some(block) = heard.block(raw) else {
        for (_, capability) in named {
            heard.say(Claim::Capability(CapabilityClaim::new(capability, Reach::All)));
        }
        return heard.say(Claim::Capability(CapabilityClaim::new(Capability::Filesystem, Reach::All)));
    };
    for (name, capability) in named {
        if let Some(raw) = member(block, name) {
            let reach = reach(heard, raw);
            heard.say(Claim::Capability(CapabilityClaim::new(capability, reach)));
        }
    }
    if let Some(raw) = member(block, "filesystem") {
        filesystem(heard, raw);
    }
}

fn filesystem(heard: &mut Heard, raw: &str) {
    if !is_object(raw) {
        let reach = reach(heard, raw);
        return heard.say(Claim::Capability(CapabilityClaim::new(Capability::Filesystem, reach)));
    }
    for (name, writes) in [("read", false), ("write", true)] {
        if let Some(raw) = member(raw, name) {
            let reach = reach(heard, raw);
            let capability = Capability::Filesystem;
            heard.say(Claim::Capability(CapabilityClaim { capability, reach, reads: !writes, writes }));
        }
    }
}
