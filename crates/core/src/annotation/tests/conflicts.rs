//! Claims that disagree: the severe one wins, unless the operator has spoken.

use highwater_notation::Words;

use super::*;
use crate::label::Label;
use crate::session::{label_reply, reply_notices};

fn returns(classes: impl IntoIterator<Item = DataClass>) -> Claim {
    Claim::SetReturns(Sensitivity::of(classes))
}

fn replied(contract: &Contract, said: &Claims) -> Label {
    label_reply(contract, said, &Label::bottom(), ReplyKind::Server)
}

#[test]
fn a_closed_world_with_an_untrusted_source_is_untrusted() {
    let contract =
        verified([hints(None, None, Some(false)), Claim::SetSource(Possible::only(Source::UntrustedPublic))]);
    assert!(contract.reply_label().untrusted());
}

#[test]
fn a_read_only_tool_with_consequences_has_consequences() {
    let contract =
        verified([hints(Some(true), None, None), Claim::SetOutcomes(Possible::only(Outcome::Consequential))]);
    assert_eq!(contract.outcomes().worst(), Outcome::Consequential);
    assert!(!contract.hints().read_only);
    assert_eq!(contract.variant(), CallVariant::Write);
}

#[test]
fn the_operators_source_stands_against_untrusted_content_and_somebody_hears_of_it() {
    let (contract, notices) = weighed([
        (Claim::SetSource(Possible::only(Source::Internal)), Authority::Operator),
        (Claim::Untrusted, Authority::DeclaredVerified),
    ]);
    assert_eq!(contract.integrity(), TrustLevel::Tool);
    assert_eq!(notices, [NoticeKind::OverrideBelowClaim]);
}

#[test]
fn the_operators_own_untrusted_stays() {
    let (contract, _) = weighed([
        (Claim::SetSource(Possible::only(Source::Internal)), Authority::Operator),
        (Claim::Untrusted, Authority::Operator),
    ]);
    assert!(contract.reply_label().untrusted());
}

#[test]
fn the_operators_other_labels_leave_untrusted_content_untrusted() {
    let (contract, _) = weighed([
        (Claim::SetOutcomes(Possible::only(Outcome::Benign)), Authority::Operator),
        (Claim::SetSource(Possible::only(Source::Internal)), Authority::DeclaredVerified),
        (Claim::Untrusted, Authority::Declared),
    ]);
    assert!(contract.reply_label().untrusted());
}

#[test]
fn no_label_lifts_the_cap_of_an_unverified_server() {
    let said = claims([
        (Claim::SetSource(Possible::only(Source::Internal)), Authority::Operator),
        (Claim::SetIntegrity(TrustLevel::Owner), Authority::Operator),
    ]);
    let (contract, _) = Contract::weigh(&said, &STRANGER);
    assert_eq!(contract.integrity(), TrustLevel::None);
}

#[test]
fn a_silent_reply_of_a_possible_set_is_the_worst_of_it() {
    let contract = verified([Claim::SetReturns(Sensitivity::none().or(&Sensitivity::of([DataClass::Pii])))]);
    assert_eq!(contract.reply_label().classes(), Words::only(DataClass::Pii));
    assert!(contract.returns().may_be_none());
}

#[test]
fn a_reply_adds_and_never_takes_away() {
    let contract = verified([
        Claim::SetReturns(Sensitivity::none().or(&Sensitivity::of([DataClass::Pii]))),
        Claim::SetSource(Possible::only(Source::TrustedPublic)),
    ]);
    let financial = claims([(returns([DataClass::Financial]), Authority::DeclaredVerified)]);
    assert_eq!(
        replied(&contract, &financial).classes(),
        Words::only(DataClass::Pii).with(DataClass::Financial)
    );
    let drift = reply_notices(&contract, &financial);
    assert_eq!(drift.iter().map(|notice| notice.kind).collect::<Vec<_>>(), [NoticeKind::Drift]);
    let harmless = claims([
        (Claim::SetReturns(Sensitivity::none()), Authority::DeclaredVerified),
        (Claim::SetSource(Possible::only(Source::System)), Authority::DeclaredVerified),
        (Claim::SetIntegrity(TrustLevel::Owner), Authority::DeclaredVerified),
        (hints(Some(true), Some(false), Some(false)), Authority::DeclaredVerified),
    ]);
    assert!(replied(&contract, &harmless).covers(contract.reply_label()));
    assert_eq!(replied(&contract, &harmless).classes(), Words::only(DataClass::Pii));
    assert_eq!(reply_notices(&contract, &harmless), []);
}

#[test]
fn a_strangers_warning_counts_against_the_catalogue() {
    let said = claims([
        (Claim::SetOutcomes(Possible::only(Outcome::Benign)), Authority::Catalogue),
        (hints(None, Some(true), None), Authority::Declared),
    ]);
    let (contract, _) = Contract::weigh(&said, &STRANGER);
    assert_eq!(contract.outcomes().worst(), Outcome::Irreversible);
    assert_eq!(contract.basis(Axis::Outcomes), Authority::Catalogue);
}

#[test]
fn the_operators_value_is_the_value_on_every_axis() {
    let (contract, notices) = weighed([
        (Claim::SetDestination(Possible::only(Destination::Internal)), Authority::Operator),
        (Claim::SetOutcomes(Possible::only(Outcome::Benign)), Authority::Operator),
        (Claim::SetReturns(Sensitivity::none()), Authority::Operator),
        (Claim::SetApproval(ApprovalWish::None), Authority::Operator),
        (Claim::SetAccepts(Sensitivity::of([DataClass::Pii])), Authority::Operator),
        (Claim::AddDestination(Words::only(Destination::Public)), Authority::Declared),
        (Claim::AddOutcomes(Words::only(Outcome::Irreversible)), Authority::Declared),
        (Claim::AddReturns(Sensitivity::of([DataClass::Credentials])), Authority::Declared),
        (Claim::AddApproval(ApprovalWish::Passkey), Authority::Declared),
        (Claim::SetAccepts(Sensitivity::none()), Authority::Declared),
    ]);
    assert_eq!(contract.destination(), Possible::only(Destination::Internal));
    assert_eq!(contract.outcomes(), Possible::only(Outcome::Benign));
    assert!(contract.returns().classes().is_empty());
    assert_eq!(contract.approval(), ApprovalWish::None);
    assert_eq!(*contract.accepts(), Accepts::Only(Sensitivity::of([DataClass::Pii])));
    assert_eq!(notices, [NoticeKind::OverrideBelowClaim; 5]);
    for axis in [Axis::Destination, Axis::Outcomes, Axis::Returns, Axis::Approval, Axis::Accepts] {
        assert_eq!(contract.basis(axis), Authority::Operator, "{axis}");
    }
}

#[test]
fn an_operator_who_is_no_milder_overrides_nothing() {
    for stricter in [Destination::Public, Destination::Internal] {
        let (_, notices) = weighed([
            (Claim::SetDestination(Possible::only(stricter)), Authority::Operator),
            (Claim::SetDestination(Possible::only(Destination::Internal)), Authority::DeclaredVerified),
        ]);
        assert_eq!(notices, [], "{stricter}");
    }
}

#[test]
fn only_the_operator_lifts_what_the_source_adds() {
    let internal = || Claim::SetSource(Possible::only(Source::Internal));
    let none = || Claim::SetReturns(Sensitivity::none());
    for by in [Authority::DeclaredVerified, Authority::Manifest, Authority::Catalogue] {
        let (contract, _) = weighed([(internal(), by), (none(), by)]);
        assert_eq!(contract.reply_label().classes(), Words::only(DataClass::Confidential), "{by}");
    }
    let (contract, notices) =
        weighed([(internal(), Authority::DeclaredVerified), (none(), Authority::Operator)]);
    assert!(!contract.reply_label().private());
    assert_eq!(notices, [NoticeKind::FloorLifted]);
}

#[test]
fn nobody_lifts_an_upstreams_own_approval() {
    let (contract, _) = weighed([
        (Claim::RequiresVerified, Authority::Declared),
        (Claim::SetApproval(ApprovalWish::None), Authority::Operator),
    ]);
    assert_eq!(contract.approval(), ApprovalWish::Passkey);
    assert!(contract.requires_verified());
}

#[test]
fn a_tool_that_may_report_attacks_is_not_punished_for_saying_so() {
    let contract = verified([Claim::SetSource(Possible::only(Source::System)), Claim::Malicious]);
    assert!(contract.malicious(), "rules may look at it");
    assert_eq!(contract.approval(), ApprovalWish::None);
    assert!(!contract.reply_label().untrusted() && !contract.reply_label().malicious());
}
