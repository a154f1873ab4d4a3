//! What a reply or a request says of its data: each claim by what it adds to a label.

use highwater_notation::Words;

use super::*;
use crate::label::{Label, TextSet};
use crate::session::{label_claims, label_reply, reply_notices};

fn said(claim: Claim) -> Label {
    label_claims(&claims([(claim, Authority::Declared)]))
}

fn of(classes: &[DataClass]) -> Label {
    Label::bottom().with_classes(classes.iter().copied().collect())
}

#[test]
fn each_claim_of_a_reply_adds_its_part() {
    let untrusted = Label::bottom().with_integrity(TrustLevel::None);
    let both = Possible::only(Confidentiality::Low).with(Confidentiality::High);
    for (claim, label) in [
        (Claim::OpenWorld, Label::bottom().with_open_world()),
        (Claim::Malicious, Label::bottom().with_malicious()),
        (Claim::Untrusted, untrusted.clone()),
        (Claim::AddReturns(Sensitivity::of([DataClass::Pii])), of(&[DataClass::Pii])),
        (Claim::SetReturns(Sensitivity::none()), Label::bottom()),
        (Claim::AddOrigins(TextSet::of(["urn:a"])), Label::bottom().with_origin("urn:a")),
        (Claim::SetIntegrity(TrustLevel::Agent), Label::bottom().with_integrity(TrustLevel::Agent)),
        (
            Claim::AddSource(Words::only(Source::User)),
            of(&[DataClass::User, DataClass::Confidential]).with_source(Source::User),
        ),
        (
            Claim::SetSource(Possible::only(Source::UntrustedPublic)),
            Label::bottom().with_source(Source::UntrustedPublic).with_open_world(),
        ),
        (hints(None, None, Some(true)), Label::bottom().with_open_world()),
        (hints(Some(true), Some(false), Some(false)), Label::bottom()),
        (Claim::ReadConfidentiality(Possible::only(Confidentiality::High)), of(&[DataClass::Confidential])),
        (Claim::ReadConfidentiality(both), of(&[DataClass::Confidential]).joined(&untrusted)),
        (Claim::ReadConfidentiality(Possible::only(Confidentiality::Low)), untrusted),
        (Claim::SetDestination(Possible::only(Destination::Public)), Label::bottom()),
    ] {
        assert_eq!(said(claim.clone()), label, "{claim:?}");
    }
}

#[test]
fn regulated_data_brings_its_scopes() {
    let label = said(Claim::AddReturns(Sensitivity::regulated(["GDPR"])));
    assert_eq!(label.scopes().contains("gdpr"), Some(true));
    let every = said(Claim::AddReturns(Sensitivity::regulated([])));
    assert_eq!(every.scopes().contains("gdpr"), None);
}

#[test]
fn a_reply_carries_the_marks_of_what_it_names() {
    let contract =
        verified([Claim::SetSource(Possible::only(Source::System)), Claim::SetReturns(Sensitivity::none())]);
    let marks = of(&[DataClass::Financial]).with_open_world();
    let label = label_reply(&contract, &Claims::new(), &marks, ReplyKind::Server);
    assert!(label.covers(&marks) && label.covers(contract.reply_label()));
    assert!(label.untrusted());
}

#[test]
fn a_malicious_reply_is_noticed_whatever_was_declared() {
    for contract in [Contract::unknown(), verified([Claim::Malicious])] {
        let notices = reply_notices(&contract, &claims([(Claim::Malicious, Authority::Declared)]));
        assert_eq!(notices.iter().map(|notice| notice.kind).collect::<Vec<_>>(), [NoticeKind::Malicious]);
    }
}

#[test]
fn a_reply_that_doubts_itself_against_its_contract_is_noticed() {
    let contract = verified([Claim::SetSource(Possible::only(Source::System))]);
    let doubt = claims([(Claim::Untrusted, Authority::Declared)]);
    assert_eq!(reply_notices(&contract, &doubt).len(), 1);
    assert_eq!(reply_notices(&Contract::unknown(), &doubt), [], "nobody had promised anything");
}
