//! What resolution and the operator's cases do to a contract: inside its bounds they decide, outside they add.

use highwater_notation::Words;

use super::*;

const DRIFT: &[NoticeKind] = &[NoticeKind::Drift];

/// One tool for public and private repositories, as an operator labels it.
fn repository(by: Authority) -> Contract {
    let said = claims([
        (Claim::SetSource(set([Source::Internal, Source::UntrustedPublic])), by),
        (Claim::SetReturns(Sensitivity::none().or(&Sensitivity::of([DataClass::User]))), by),
        (Claim::SetOutcomes(set([Outcome::Benign, Outcome::Irreversible])), by),
        (Claim::SetDestination(set([Destination::Ephemeral, Destination::Public])), by),
    ]);
    Contract::weigh(&said, &VERIFIED).0
}

fn public() -> [Claim; 2] {
    [Claim::SetSource(Possible::only(Source::UntrustedPublic)), Claim::SetReturns(Sensitivity::none())]
}

fn narrowed(
    contract: &Contract,
    by: Authority,
    said: impl IntoIterator<Item = Claim>,
) -> (Contract, Vec<NoticeKind>) {
    let (contract, notices) = contract.narrowed(&claims(said.into_iter().map(|claim| (claim, by))));
    (contract, notices.iter().map(|notice| notice.kind).collect())
}

#[test]
fn a_value_inside_the_bounds_decides() {
    for by in [Authority::Operator, Authority::ResolvedVerified] {
        let (contract, notices) = narrowed(&repository(Authority::Operator), by, public());
        assert!(!contract.reply_label().private(), "{by}");
        assert!(contract.reply_label().untrusted());
        assert_eq!(notices, []);
        let private = [Claim::SetSource(Possible::only(Source::Internal))];
        let (contract, _) = narrowed(&repository(Authority::Operator), by, private);
        assert_eq!(contract.integrity(), TrustLevel::Tool);
        assert_eq!(
            contract.reply_label().classes(),
            Words::only(DataClass::User),
            "the rest stays at its worst"
        );
    }
}

#[test]
fn an_unverified_server_narrows_nothing() {
    let bounds = repository(Authority::Operator);
    let (contract, _) = narrowed(&bounds, Authority::Resolved, public());
    assert_eq!(contract.source(), bounds.source());
    assert_eq!(contract.returns().classes(), bounds.returns().classes());
    let (contract, notices) = narrowed(
        &bounds,
        Authority::Resolved,
        [Claim::SetDestination(Possible::only(Destination::Internal))],
    );
    assert!(contract.destination().contains(Destination::Internal), "what it adds is added");
    assert_eq!(notices, DRIFT);
}

#[test]
fn a_value_outside_the_bounds_is_added_to_them() {
    let bounds = repository(Authority::DeclaredVerified);
    for (by, noticed) in [(Authority::Operator, &[][..]), (Authority::ResolvedVerified, DRIFT)] {
        let (contract, notices) = narrowed(&bounds, by, [Claim::SetSource(Possible::only(Source::System))]);
        assert_eq!(contract.source(), bounds.source().with(Source::System), "{by}");
        assert_eq!(notices, noticed);
        let (contract, notices) =
            narrowed(&bounds, by, [Claim::SetReturns(Sensitivity::of([DataClass::Pii]))]);
        assert_eq!(contract.returns().classes(), Words::only(DataClass::User).with(DataClass::Pii), "{by}");
        assert_eq!(notices, noticed);
    }
}

#[test]
fn none_is_inside_the_bounds_only_where_it_was_possible() {
    let pii = verified([Claim::SetReturns(Sensitivity::of([DataClass::Pii]))]);
    let (contract, notices) =
        narrowed(&pii, Authority::ResolvedVerified, [Claim::SetReturns(Sensitivity::none())]);
    assert_eq!(contract.returns().classes(), Words::only(DataClass::Pii));
    assert_eq!(notices, DRIFT);
}

#[test]
fn what_is_said_of_one_call_makes_no_write_of_a_tool_that_reads() {
    let tool = verified([Claim::Hints(Hints { read_only: Some(true), ..Hints::default() })]);
    assert_eq!(tool.variant(), CallVariant::Read);
    for by in [Authority::Operator, Authority::ResolvedVerified, Authority::Resolved] {
        for claim in [Claim::SetReturns(Sensitivity::none()), Claim::Untrusted] {
            let (call, _) = narrowed(&tool, by, [claim]);
            assert_eq!(call.variant(), CallVariant::Read, "{by}");
        }
        let acts = [Claim::SetOutcomes(Possible::only(Outcome::Consequential))];
        assert_eq!(narrowed(&tool, by, acts).0.variant(), CallVariant::Write, "{by}");
        let destroys = [Claim::SetOutcomes(Possible::only(Outcome::Irreversible))];
        assert_eq!(narrowed(&tool, by, destroys).0.variant(), CallVariant::Destructive, "{by}");
    }
}

#[test]
fn where_nobody_spoke_there_are_no_bounds() {
    let (contract, notices) = narrowed(&verified([]), Authority::ResolvedVerified, public());
    assert!(!contract.reply_label().private());
    assert_eq!(notices, []);
    let (contract, _) = narrowed(&stranger([]), Authority::Operator, public());
    assert!(!contract.reply_label().private());
    let (contract, _) = narrowed(&stranger([]), Authority::Resolved, public());
    assert!(contract.reply_label().classes().contains(DataClass::Unclassified));
}

#[test]
fn resolved_hints_stay_inside_the_declared_ones() {
    // Static declaration, resolution, and the worst outcome and destination that remain.
    let hints = |read_only: bool, destructive: bool, open: bool| {
        Claim::Hints(Hints {
            read_only: Some(read_only),
            destructive: Some(destructive),
            open_world: Some(open),
            idempotent: Some(true),
        })
    };
    for (fixed, resolved, outcome, destination, noticed) in [
        (
            hints(true, false, false),
            hints(false, false, false),
            Outcome::Consequential,
            Destination::User,
            DRIFT,
        ),
        (
            hints(false, false, false),
            hints(false, true, false),
            Outcome::Irreversible,
            Destination::User,
            DRIFT,
        ),
        (hints(true, false, false), hints(true, false, true), Outcome::Benign, Destination::Public, DRIFT),
        (hints(false, true, true), hints(true, false, false), Outcome::Benign, Destination::Ephemeral, &[]),
        (hints(true, false, true), hints(true, false, true), Outcome::Benign, Destination::Public, &[]),
    ] {
        let (contract, mut notices) =
            narrowed(&verified([fixed.clone()]), Authority::ResolvedVerified, [resolved.clone()]);
        notices.dedup();
        let said = format!("{fixed:?} then {resolved:?}");
        assert_eq!(contract.outcomes().worst(), outcome, "{said}");
        assert_eq!(contract.destination().worst(), destination, "{said}");
        assert_eq!(notices, noticed, "{said}");
        assert!(contract.hints().idempotent);
    }
}

#[test]
fn a_closed_world_means_the_closed_part_of_the_bounds() {
    let bounds = repository(Authority::DeclaredVerified);
    let (contract, notices) =
        narrowed(&bounds, Authority::ResolvedVerified, [hints(None, None, Some(false))]);
    assert_eq!(contract.destination(), Possible::only(Destination::Ephemeral));
    assert_eq!(contract.source(), Possible::only(Source::Internal));
    assert_eq!(notices, []);
    let said = [hints(None, None, Some(false)), Claim::SetDestination(Possible::only(Destination::System))];
    let (contract, notices) = narrowed(&bounds, Authority::ResolvedVerified, said);
    assert!(contract.destination().contains(Destination::System), "a place that was named counts as named");
    assert_eq!(notices, DRIFT);
    let open = verified([Claim::SetDestination(Possible::only(Destination::Public))]);
    let (contract, notices) = narrowed(&open, Authority::ResolvedVerified, [hints(None, None, Some(false))]);
    assert_eq!(contract.destination().worst(), Destination::Public);
    assert_eq!(notices, DRIFT);
}

#[test]
fn a_tool_accepts_no_more_for_one_call_than_it_does_for_any() {
    let pii = verified([Claim::SetAccepts(Sensitivity::of([DataClass::Pii, DataClass::User]))]);
    let (contract, notices) = narrowed(
        &pii,
        Authority::ResolvedVerified,
        [Claim::SetAccepts(Sensitivity::of([DataClass::Pii, DataClass::Credentials]))],
    );
    assert_eq!(*contract.accepts(), Accepts::Only(Sensitivity::of([DataClass::Pii])));
    assert_eq!(notices, DRIFT);
}

#[test]
fn untrusted_stays_unless_the_operator_names_the_source() {
    let bounds = verified([Claim::SetSource(set([Source::Internal, Source::System])), Claim::Untrusted]);
    let internal = || [Claim::SetSource(Possible::only(Source::Internal))];
    assert!(narrowed(&bounds, Authority::ResolvedVerified, internal()).0.reply_label().untrusted());
    assert!(!narrowed(&bounds, Authority::Operator, internal()).0.reply_label().untrusted());
    let (doubted, _) = weighed([(Claim::Untrusted, Authority::Operator)]);
    assert!(
        narrowed(&doubted, Authority::Operator, internal()).0.reply_label().untrusted(),
        "the operator's own"
    );
    let (contract, _) = narrowed(&verified(internal()), Authority::Resolved, [Claim::Untrusted]);
    assert!(contract.reply_label().untrusted());
}

#[test]
fn an_operators_case_may_lift_the_wish_for_a_person_and_a_server_may_not() {
    let wishes = verified([Claim::AddApproval(ApprovalWish::Confirm)]);
    let none = || [Claim::SetApproval(ApprovalWish::None)];
    assert_eq!(narrowed(&wishes, Authority::Operator, none()).0.approval(), ApprovalWish::None);
    assert_eq!(narrowed(&wishes, Authority::ResolvedVerified, none()).0.approval(), ApprovalWish::Confirm);
    let (raised, _) = narrowed(&wishes, Authority::Resolved, [Claim::AddApproval(ApprovalWish::Passkey)]);
    assert_eq!(raised.approval(), ApprovalWish::Passkey);
}

#[test]
fn the_class_of_a_call_is_raised_and_never_lowered() {
    let writes = verified([]);
    let (contract, _) = narrowed(&writes, Authority::ResolvedVerified, [hints(Some(true), None, None)]);
    assert_eq!(contract.variant(), CallVariant::Write);
    let (contract, _) = narrowed(&writes, Authority::Resolved, [hints(None, Some(true), None)]);
    assert_eq!(contract.variant(), CallVariant::Destructive);
}

#[test]
fn nothing_said_changes_nothing() {
    let bounds = repository(Authority::Operator);
    assert_eq!(bounds.narrowed(&Claims::new()), (bounds.clone(), Vec::new()));
}
