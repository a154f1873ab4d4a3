//! The core hints: what each combination means, and what the contract lets stand of them.

use highwater_notation::Words;

use super::*;
use crate::label::Label;
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
    (NO, None, NO, &[Consequential]),
    (NO, None, YES, &[Benign, Consequential, Irreversible]),
    (None, YES, None, &[Benign, Consequential, Irreversible]),
    (NO, YES, NO, &[Benign, Consequential, Irreversible]),
    (None, NO, NO, &[Consequential]),
    (NO, NO, NO, &[Consequential]),
    (None, NO, None, &[Consequential]),
    (None, NO, YES, &[Consequential]),
    (NO, NO, YES, &[Consequential]),
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
fn what_is_sent_and_destroys_nothing_is_an_act_towards_the_public() {
    let contract = verified([hints(NO, NO, YES)]);
    assert_eq!(contract.outcomes(), Possible::only(Consequential));
    assert!(contract.destination().contains(Destination::Public));
    assert_eq!(contract.variant(), CallVariant::Write, "nobody said that it destroys");
    assert!(!contract.destroys() && !contract.hints().destructive, "one meaning on every surface");
}

/// Read-only, destructive; then where arguments go in a closed world.
#[test]
fn in_a_closed_world_a_look_passes_nothing_on_and_a_write_stays_with_the_user() {
    for (read_only, destructive, destination) in [
        (YES, None, Destination::Ephemeral),
        (YES, NO, Destination::Ephemeral),
        (NO, None, Destination::User),
        (NO, YES, Destination::User),
        (None, NO, Destination::User),
    ] {
        let contract = verified([hints(read_only, destructive, NO)]);
        assert_eq!(contract.destination(), Possible::only(destination), "{read_only:?} {destructive:?}");
    }
    let writes = verified([hints(NO, NO, NO)]);
    let held = |class| Label::bottom().with_class(class);
    assert!(writes.accepts().refused(&held(DataClass::Pii)).is_empty());
    assert!(!writes.accepts().refused(&held(DataClass::Credentials)).is_empty());
}

#[test]
fn a_closed_world_is_a_bound_on_what_else_is_said() {
    let ephemeral = Claim::SetDestination(Possible::only(Destination::Ephemeral));
    let closed = verified([hints(None, None, NO), ephemeral]);
    assert_eq!(closed.destination(), Possible::only(Destination::Ephemeral));
    let system = [
        Claim::SetSource(Possible::only(Source::System)),
        Claim::SetReturns(Sensitivity::none()),
        hints(None, None, NO),
    ];
    assert!(!verified(system).reply_label().private(), "a bound adds nothing");
    let either = Claim::SetDestination(set([Destination::Internal, Destination::Public]));
    assert_eq!(
        verified([hints(None, None, NO), either]).destination(),
        Possible::only(Destination::Internal)
    );
    let public = || Claim::SetDestination(Possible::only(Destination::Public));
    let (contradicted, notices) = weighed([
        (hints(None, None, NO), Authority::DeclaredVerified),
        (public(), Authority::DeclaredVerified),
    ]);
    assert_eq!(contradicted.destination(), Possible::only(Destination::Public));
    assert_eq!(notices, [NoticeKind::Contradiction]);
}

#[test]
fn what_can_be_undone_is_no_write_beside_what_only_looks() {
    let reversible = || Claim::NotOutcomes(Words::only(Irreversible));
    let looks = verified([hints(YES, None, None), reversible()]);
    assert_eq!((looks.outcomes(), looks.variant()), (Possible::only(Benign), CallVariant::Read));
    assert_eq!(verified([reversible()]).outcomes(), set([Benign, Consequential]));
    assert_eq!(stranger([reversible()]).outcomes(), Possible::any());
}

#[test]
fn where_a_believed_server_names_no_source_its_replies_are_worth_what_it_is() {
    assert_eq!(verified([]).integrity(), TrustLevel::Tool);
    assert_eq!(verified([hints(YES, None, None)]).integrity(), TrustLevel::Tool);
    assert!(verified([hints(YES, None, YES)]).reply_label().untrusted(), "the open world lowers it");
    assert_eq!(stranger([]).integrity(), TrustLevel::None);
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
    assert_eq!(contract.destination().worst(), Destination::Internal);
    assert_eq!(contract.source(), set([Source::Internal, Source::User, Source::System]));
    assert_eq!(contract.integrity(), TrustLevel::Tool);
    assert_eq!(
        contract.reply_label().classes(),
        Words::only(DataClass::Unclassified),
        "nobody said what is in it"
    );
}

#[test]
fn a_default_is_never_a_claim() {
    let contract = verified([Claim::SetSource(Possible::only(Source::Internal)), hints(YES, None, None)]);
    assert!(!contract.reply_label().untrusted(), "open world is a default here, and nobody claimed it");
    let contract = verified([Claim::SetSource(Possible::only(Source::Internal)), hints(YES, None, YES)]);
    assert!(contract.reply_label().untrusted(), "here somebody did");
}

/// Who says what something cannot be has not said what it is.
#[test]
fn a_closed_world_names_no_source_and_so_no_class_of_data() {
    let nothing = Claim::SetReturns(Sensitivity::none());
    let said = [nothing.clone(), hints(YES, NO, NO)];
    let contract = verified(said.clone());
    assert!(!contract.reply_label().private(), "{:?}", contract.reply_label());
    assert_eq!(contract.reply_label().sources(), Words::EMPTY);
    assert!(!contract.source().contains(Source::UntrustedPublic), "and it is a bound all the same");
    assert!(!contract.names_source());
    // What somebody adds is said.
    let added = Claim::AddSource(Words::only(Source::User));
    let contract = verified([nothing.clone(), hints(YES, NO, NO), added.clone()]);
    assert_eq!(contract.reply_label().sources(), Words::only(Source::User));
    // Of the call, too: within the bound, and with nothing that nobody said.
    let (call, _) = verified(said).narrowed(&claims([(added, Authority::Resolved)]));
    assert_eq!(call.reply_label().sources(), Words::only(Source::User));
    // A stranger's bound bounds nothing.
    assert!(stranger([nothing, hints(YES, NO, NO)]).reply_label().open_world());
}

/// A drifted definition is judged with the one that was approved: what either may be is possible.
#[test]
fn a_bound_that_only_one_of_two_definitions_has_bounds_nothing() {
    let said = |by| claims([(hints(YES, NO, NO), by)]);
    let operator = Contract::weigh(&said(Authority::Operator), &STRANGER).0;
    let profile = Contract::weigh(&said(Authority::Profile), &STRANGER).0;
    for (one, two) in [(&operator, &profile), (&profile, &operator)] {
        let both = one.strictest(two);
        assert!(both.reply_label().covers(one.reply_label()) && both.reply_label().covers(two.reply_label()));
    }
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
