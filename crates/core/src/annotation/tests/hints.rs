//! The core hints: what each combination means, and what the contract lets stand of them.

use super::*;
use Outcome::{Benign, Consequential, Irreversible};

const YES: Option<bool> = Some(true);
const NO: Option<bool> = Some(false);

/// Read-only, destructive, open world; then the outcomes for a server whose word counts.
type Row = (Option<bool>, Option<bool>, Option<bool>, &'static [Outcome]);

const OUTCOMES: &[Row] = &[
    (None, None, None, &[Benign, Consequential, Irreversible]),
    (YES, None, None, &[Benign]),
    (YES, NO, None, &[Benign]),
    (YES, NO, YES, &[Benign]),
    (NO, None, None, &[Benign, Consequential, Irreversible]),
    (None, YES, None, &[Benign, Consequential, Irreversible]),
    (None, NO, NO, &[Consequential]),
    (NO, NO, NO, &[Consequential]),
    // Additive in the open world is sending.
    (None, NO, None, &[Benign, Consequential, Irreversible]),
    (None, NO, YES, &[Benign, Consequential, Irreversible]),
    (NO, NO, YES, &[Benign, Consequential, Irreversible]),
    // A contradiction is read at its worst.
    (YES, YES, None, &[Benign, Irreversible]),
    (YES, YES, NO, &[Benign, Irreversible]),
];

#[test]
fn hints_of_a_verified_server_say_what_a_call_does() {
    for (read_only, destructive, open_world, outcomes) in OUTCOMES {
        let contract = verified([hints(*read_only, *destructive, *open_world)]);
        let said = format!("{read_only:?} {destructive:?} {open_world:?}");
        assert_eq!(contract.outcomes(), set(outcomes.iter().copied()), "{said}");
    }
}

#[test]
fn hints_of_a_stranger_leave_the_worst_standing() {
    for (read_only, destructive, open_world, _) in OUTCOMES {
        let contract = stranger([hints(*read_only, *destructive, *open_world)]);
        assert_eq!(contract.outcomes(), Possible::any());
        assert_eq!(contract.destination(), Possible::any());
        assert!(contract.source().contains(Source::UntrustedPublic));
        assert_eq!(contract.integrity(), TrustLevel::None);
        assert!(!contract.is_declared(Axis::Outcomes) && !contract.is_declared(Axis::Destination));
    }
}

#[test]
fn a_mail_tool_that_destroys_nothing_cannot_be_recalled() {
    let contract = verified([hints(None, NO, None)]);
    assert_eq!(contract.outcomes().worst(), Irreversible);
    assert_eq!(contract.variant(), CallVariant::Write, "nobody said that it destroys");
}

#[test]
fn a_contradiction_is_noticed() {
    let (_, notices) = weighed([(hints(YES, YES, None), Authority::DeclaredVerified)]);
    assert_eq!(notices, [NoticeKind::Contradiction]);
}

#[test]
fn the_open_world_is_a_public_sink_and_an_untrusted_source() {
    let contract = verified([
        hints(None, None, YES),
        Claim::SetDestination(Possible::only(Destination::Internal)),
        Claim::SetSource(Possible::only(Source::System)),
    ]);
    assert_eq!(contract.destination(), set([Destination::Internal, Destination::Public]));
    assert_eq!(contract.source(), set([Source::System, Source::UntrustedPublic]));
    assert!(contract.reply_label().open_world());
}

#[test]
fn a_closed_world_is_not_harmless() {
    let contract = verified([hints(None, None, NO)]);
    assert_eq!(contract.destination(), Possible::only(Destination::Internal));
    assert_eq!(contract.source(), set([Source::Internal, Source::User, Source::System]));
    assert_eq!(contract.integrity(), TrustLevel::Tool);
    assert!(contract.reply_label().classes().contains(DataClass::Confidential));
}

#[test]
fn a_default_is_never_a_claim() {
    let contract = verified([Claim::SetSource(Possible::only(Source::Internal)), hints(YES, None, None)]);
    assert!(!contract.reply_label().untrusted(), "open world is a default here, and nobody claimed it");
    let contract = verified([Claim::SetSource(Possible::only(Source::Internal)), hints(YES, None, YES)]);
    assert!(contract.reply_label().untrusted(), "here somebody did");
}

#[test]
fn no_hint_speaks_of_sensitivity() {
    let contract = verified([hints(YES, NO, NO)]);
    assert!(contract.returns().classes().contains(DataClass::Unclassified));
    assert!(contract.undeclared().contains(Axis::Returns));
}

#[test]
fn effective_hints_are_never_milder_than_the_contract() {
    let lying = stranger([hints(YES, NO, NO)]).hints();
    assert_eq!(
        lying,
        EffectiveHints { read_only: false, destructive: true, idempotent: false, open_world: true }
    );
    let honest = verified([hints(YES, NO, NO)]).hints();
    assert_eq!(
        honest,
        EffectiveHints { read_only: true, destructive: false, idempotent: false, open_world: false }
    );
    assert_eq!(Contract::unknown().hints(), lying);
}

#[test]
fn idempotence_needs_a_word_that_counts_and_no_word_against_it() {
    let idempotent = |said| Claim::Hints(Hints { idempotent: Some(said), ..Hints::default() });
    assert!(verified([idempotent(true)]).hints().idempotent);
    assert!(!stranger([idempotent(true)]).hints().idempotent);
    let (denied, _) =
        weighed([(idempotent(true), Authority::Catalogue), (idempotent(false), Authority::Declared)]);
    assert!(!denied.hints().idempotent);
    let (operator, _) =
        weighed([(idempotent(true), Authority::Operator), (idempotent(false), Authority::Declared)]);
    assert!(operator.hints().idempotent);
}

#[test]
fn the_class_of_a_call_is_made_of_claims() {
    let irreversible = || Claim::SetOutcomes(Possible::only(Irreversible));
    let benign = || Claim::SetOutcomes(Possible::only(Benign));
    for (said, by, class) in [
        (vec![], Authority::DeclaredVerified, CallVariant::Write),
        (vec![hints(YES, None, None)], Authority::DeclaredVerified, CallVariant::Read),
        (vec![hints(YES, None, None)], Authority::Declared, CallVariant::Write),
        (vec![hints(YES, None, None)], Authority::Inferred, CallVariant::Write),
        (vec![hints(YES, YES, None)], Authority::DeclaredVerified, CallVariant::Destructive),
        (vec![hints(None, YES, None)], Authority::Declared, CallVariant::Destructive),
        (vec![hints(YES, None, None), irreversible()], Authority::DeclaredVerified, CallVariant::Destructive),
        (vec![irreversible()], Authority::Declared, CallVariant::Destructive),
        (vec![benign()], Authority::DeclaredVerified, CallVariant::Write),
        (vec![hints(None, NO, NO)], Authority::DeclaredVerified, CallVariant::Write),
    ] {
        let (contract, _) = weighed(said.iter().map(|claim| (claim.clone(), by)));
        assert_eq!(contract.variant(), class, "{said:?} by {by}");
    }
}

#[test]
fn the_operators_outcomes_decide_the_class() {
    let (contract, _) = weighed([
        (hints(None, YES, None), Authority::Declared),
        (hints(YES, None, None), Authority::Operator),
    ]);
    assert_eq!(contract.variant(), CallVariant::Read);
    let (contract, _) = weighed([
        (hints(YES, None, None), Authority::DeclaredVerified),
        (Claim::SetOutcomes(Possible::only(Irreversible)), Authority::Operator),
    ]);
    assert_eq!(contract.variant(), CallVariant::Destructive);
}
