//! Single hints of several proposals, each a flag. What a hint promises is not believed; what it warns of is.

use highwater_core::annotation::{ApprovalWish, Claim, DataClass, Destination, Outcome};
use highwater_notation::Words;

use super::heard::Heard;
use super::table::{Key, Of, Vocabulary};

pub(super) const VOCABULARY: Vocabulary = Vocabulary {
    name: "hints",
    keys: &[
        // A trusted tool can return untrusted data, so only the opposite says something.
        Key::new("trustedHint", Of::Anything, untrusted_unless),
        Key::new("trusted", Of::Anything, untrusted_unless),
        Key::new("secretHint", Of::Anything, secret),
        Key::new("unsafeOutputHint", Of::Anything, untrusted_if),
        Key::new("safeForContextHint", Of::Anything, untrusted_unless),
        Key::new("verifiedOutputHint", Of::Anything, untrusted_unless),
        Key::new("untrustedContentHint", Of::Anything, untrusted_if),
        Key::new("contains_untrusted_content", Of::Anything, untrusted_if),
        Key::new("consequentialHint", Of::Tools, consequential),
        Key::new("egressHint", Of::Tools, egress),
        Key::new("reversibleHint", Of::Tools, reversible),
        Key::new("agencyHint", Of::Anything, agency),
        Key::new("aiProcessingHint", Of::Anything, untrusted_if),
        Key::new("sensitiveDataHint", Of::Anything, sensitive_data),
        Key::new("privilegedAccessHint", Of::Tools, privileged_access),
        // Known, and without effect: not even on timeouts.
        Key::new("slowExecutionHint", Of::Tools, no_claim),
        Key::new("resourceIntensiveHint", Of::Tools, no_claim),
    ],
};

fn untrusted_if(heard: &mut Heard, raw: &str) {
    if heard.flag(raw, true) {
        heard.say(Claim::Untrusted);
    }
}

fn untrusted_unless(heard: &mut Heard, raw: &str) {
    if !heard.flag(raw, false) {
        heard.say(Claim::Untrusted);
    }
}

fn secret(heard: &mut Heard, raw: &str) {
    if heard.flag(raw, true) {
        heard.returns([DataClass::Confidential, DataClass::Credentials]);
    }
}

fn sensitive_data(heard: &mut Heard, raw: &str) {
    if heard.flag(raw, true) {
        heard.returns([DataClass::Confidential]);
    }
}

fn consequential(heard: &mut Heard, raw: &str) {
    if heard.flag(raw, true) {
        heard.say(Claim::AddOutcomes(Words::only(Outcome::Consequential)));
        // Tied to a confirmation where it comes from.
        heard.say(Claim::AddApproval(ApprovalWish::Confirm));
    }
}

fn egress(heard: &mut Heard, raw: &str) {
    let claim = if heard.flag(raw, true) {
        Claim::AddDestination(Words::only(Destination::Public))
    } else {
        Claim::NotDestination(Words::only(Destination::Public))
    };
    heard.say(claim);
}

fn reversible(heard: &mut Heard, raw: &str) {
    let claim = if heard.flag(raw, false) {
        Claim::NotOutcomes(Words::only(Outcome::Irreversible))
    } else {
        Claim::AddOutcomes(Words::only(Outcome::Irreversible))
    };
    heard.say(claim);
}

/// It plans and acts by itself.
fn agency(heard: &mut Heard, raw: &str) {
    if !heard.flag(raw, true) {
        return;
    }
    heard.say(Claim::Untrusted);
    if !heard.of_data() {
        heard.say(Claim::AddOutcomes(Words::only(Outcome::Irreversible)));
    }
}

fn privileged_access(heard: &mut Heard, raw: &str) {
    if heard.flag(raw, true) {
        heard.say(Claim::AddOutcomes(Words::only(Outcome::Consequential)));
    }
}

fn no_claim(_: &mut Heard, _: &str) {}
