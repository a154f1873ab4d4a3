//! Laws of weighing and narrowing over random claims: a word that may not loosen loosens nothing, order does not
//! matter, one value is a set of one, and what is said of a call stays inside what is known of the tool.

mod claims;

use highwater_core::annotation::{
    Accepts, ApprovalWish, ArgumentRole, Authority, Axis, Claim, Claimed, Claims, Confidentiality, Contract,
    DataClass, Destination, Hints, NoticeKind, Outcome, Possible, ReplyBounds, ReplyKind, Source,
};
use highwater_core::label::Label;
use highwater_core::session::{label_claims, label_reply, reply_contract};
use highwater_core::trust::{ServerTrust, TrustLevel};
use highwater_notation::Word;
use proptest::prelude::*;

use claims::*;

/// How often each law is tried.
const CASES: u32 = 100_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn a_word_that_may_not_loosen_loosens_nothing(
        said in anything(),
        more in claimed_by(authority(false)),
        trust in trust(),
    ) {
        let before = weigh(&said, &trust);
        let after = weigh(&[said, vec![more]].concat(), &trust);
        prop_assert_eq!(milder(&after, &before), Vec::<&str>::new());
    }

    /// What is seen beside what was pinned: nothing is milder than either.
    #[test]
    fn the_strictest_of_two_is_no_milder_than_either(one in anything(), two in anything(), trust in trust()) {
        let (one, two) = (weigh(&one, &trust), weigh(&two, &trust));
        let both = one.strictest(&two);
        prop_assert_eq!(milder(&both, &one), Vec::<&str>::new());
        prop_assert_eq!(milder(&both, &two), Vec::<&str>::new());
        prop_assert!(both.milder_than(&one).is_empty(), "{:?}", both.milder_than(&one));
        prop_assert!(both.milder_than(&two).is_empty(), "{:?}", both.milder_than(&two));
        prop_assert_eq!(milder(&one.strictest(&one), &one), Vec::<&str>::new());
        prop_assert_eq!(milder(&one, &one.strictest(&one)), Vec::<&str>::new());
    }

    /// What is milder in any way is called so.
    #[test]
    fn every_way_to_be_milder_is_on_some_axis(one in anything(), two in anything(), trust in trust()) {
        let (one, two) = (weigh(&one, &trust), weigh(&two, &trust));
        // Whether a call may be repeated is said apart: it decides about sending again alone.
        if milder(&one, &two).iter().any(|way| *way != "idempotentHint") {
            prop_assert!(!one.milder_than(&two).is_empty(), "{:?}", milder(&one, &two));
        }
        prop_assert!(one.milder_than(&one).is_empty());
    }

    #[test]
    fn a_stranger_gains_nothing_by_any_annotation(said in tightening(), trust in trust()) {
        let nothing = weigh(&[], &trust);
        prop_assert_eq!(milder(&weigh(&said, &trust), &nothing), Vec::<&str>::new());
    }

    #[test]
    fn an_unverified_server_is_worth_nothing_whatever_anybody_says(said in anything(), level in word::<TrustLevel>()) {
        let contract = weigh(&said, &ServerTrust::new(Some(level), level, Some(false)));
        prop_assert_eq!(contract.integrity(), TrustLevel::None);
        let resource = contract.label_of(ReplyKind::Resource);
        prop_assert_eq!(resource.integrity(), TrustLevel::None);
    }

    #[test]
    fn a_reply_is_worth_no_more_than_its_server(said in anything(), trust in trust()) {
        let contract = weigh(&said, &trust);
        prop_assert!(contract.integrity() <= trust.effective());
    }

    #[test]
    fn order_and_repetition_do_not_matter(
        (said, shuffled) in anything().prop_flat_map(|said| (Just(said.clone()), Just(said).prop_shuffle())),
        trust in trust(),
        bounds in anything(),
    ) {
        prop_assert_eq!(Contract::weigh(&claims(&said), &trust).0, Contract::weigh(&claims(&shuffled), &trust).0);
        let twice = [said.clone(), shuffled.clone()].concat();
        prop_assert_eq!(weigh(&said, &trust), weigh(&twice, &trust));
        let bounds = weigh(&bounds, &trust);
        prop_assert_eq!(bounds.narrowed(&claims(&said)).0, bounds.narrowed(&claims(&shuffled)).0);
        prop_assert_eq!(label_claims(&claims(&said)), label_claims(&claims(&twice)));
    }

    /// Two places that each say a part say the same as one place that says both, for whoever may loosen.
    #[test]
    fn a_set_said_in_parts_is_the_set(
        destination in possible::<Destination>(),
        outcomes in possible::<Outcome>(),
        source in possible::<Source>(),
        by in word::<Authority>(),
        trust in trust(),
    ) {
        let whole = [Claim::SetDestination(destination), Claim::SetOutcomes(outcomes), Claim::SetSource(source)];
        let parts = destination.members().iter().map(|one| Claim::SetDestination(Possible::only(one)))
            .chain(outcomes.members().iter().map(|one| Claim::SetOutcomes(Possible::only(one))))
            .chain(source.members().iter().map(|one| Claim::SetSource(Possible::only(one))));
        let said = |claim: Claim| Claimed { claim, by, from: "law" };
        let whole: Vec<_> = whole.into_iter().map(said).collect();
        let parts: Vec<_> = parts.map(said).collect();
        prop_assert_eq!(weigh(&whole, &trust), weigh(&parts, &trust));
    }

    #[test]
    fn what_a_stranger_says_of_a_call_loosens_nothing(bounds in anything(), said in tightening(), trust in trust()) {
        let bounds = weigh(&bounds, &trust);
        let (call, _) = bounds.narrowed(&claims(&said));
        prop_assert_eq!(milder(&call, &bounds), Vec::<&str>::new());
    }

    /// On each axis: inside the bounds, or the bounds and something more.
    #[test]
    fn what_is_said_of_a_call_is_bounded_by_what_was_said_of_the_tool(
        bounds in anything(),
        said in anything(),
        trust in trust(),
    ) {
        fn bounded<T: Word>(value: Possible<T>, bounds: Possible<T>) -> bool {
            let (value, bounds) = (value.members(), bounds.members());
            bounds.covers(value) || value.covers(bounds)
        }
        let tool = weigh(&bounds, &trust);
        let (call, _) = tool.narrowed(&claims(&said));
        if tool.basis(Axis::Destination) > Authority::Profile {
            prop_assert!(bounded(call.destination(), tool.destination()));
        }
        if tool.basis(Axis::Outcomes) > Authority::Profile {
            prop_assert!(bounded(call.outcomes(), tool.outcomes()));
        }
        if tool.basis(Axis::Source) > Authority::Profile {
            prop_assert!(bounded(call.source(), tool.source()));
        }
        if tool.basis(Axis::Returns) > Authority::Profile {
            let (value, bounds) = (call.returns(), tool.returns());
            prop_assert!(
                bounds.classes().covers(value.classes()) || value.classes().covers(bounds.classes()),
                "{:?} for {:?}", value, bounds
            );
            prop_assert!(!value.may_be_none() || bounds.may_be_none());
        }
        if tool.basis(Axis::Accepts) > Authority::Profile {
            for label in probes() {
                prop_assert!(call.accepts().refused(&label).covers(tool.accepts().refused(&label)));
            }
        }
        prop_assert!(call.variant() >= tool.variant());
        prop_assert!(call.requires_verified() || !tool.requires_verified());
        prop_assert!(call.integrity() <= trust.effective());
    }

    /// Of what one authority says: one thing more is no worse than what it names itself.
    #[test]
    fn who_says_more_is_not_worse_off_than_who_says_less(
        said in proptest::collection::vec(plain_claim(), 0..6),
        fewer in hint(),
        more in prop_oneof![plain_claim().prop_map(Ok), hint().prop_map(Err)],
        by in authority(true),
        trust in trust(),
    ) {
        let (also, hints) = match more {
            Ok(claim) => (Some(claim), fewer),
            Err(more) => (None, with_one_more(fewer, more)),
        };
        let weigh_all = |hints: Hints, also: Option<Claim>| {
            let all = said.iter().cloned().chain([Claim::Hints(hints)]).chain(also);
            let all: Claims = all.map(|claim| Claimed { claim, by, from: "law" }).collect();
            Contract::weigh(&all, &trust)
        };
        let ((before, _), (after, notices)) = (weigh_all(fewer, None), weigh_all(hints, also.clone()));
        // Who says two things that cannot both be is taken at the worse.
        if notices.iter().any(|notice| notice.kind == NoticeKind::Contradiction) {
            return Ok(());
        }
        let named = Named::by(also.as_ref(), fewer, hints);
        prop_assert!(no_worse(after.destination(), before.destination(), named.destination));
        prop_assert!(no_worse(after.outcomes(), before.outcomes(), named.outcomes));
        prop_assert!(no_worse(after.possible_source(), before.possible_source(), named.source));
        prop_assert!(before.returns().classes().union(named.returns).covers(after.returns().classes()));
    }

    /// A believed reply chooses inside what was declared, or adds to it; what it says of itself is always in its label.
    #[test]
    fn a_believed_reply_chooses_within_what_was_declared(
        said in anything(),
        of_itself in anything(),
        trust in trust(),
        marked in word::<DataClass>(),
    ) {
        let (tool, says) = (weigh(&said, &trust), claims(&of_itself));
        let marks = Label::bottom().with_class(marked);
        let chosen = reply_contract(&tool, &says, ReplyBounds::Declared);
        prop_assert_eq!(chosen.is_some(), trust.is_believed() && !says.is_empty());
        let contract = chosen.as_ref().unwrap_or(&tool);
        let label = label_reply(contract, &says, &marks, ReplyKind::Server);
        prop_assert!(label.covers(&label_claims(&says)) && label.covers(&marks));
        let (value, bounds) = (contract.source().members(), tool.source().members());
        if tool.basis(Axis::Source) > Authority::Profile {
            prop_assert!(bounds.covers(value) || value.covers(bounds));
        }
        let (value, bounds) = (contract.returns().classes(), tool.returns().classes());
        if tool.basis(Axis::Returns) > Authority::Profile {
            prop_assert!(bounds.covers(value) || value.covers(bounds));
        }
        prop_assert!(contract.integrity() <= trust.effective());
    }

    #[test]
    fn what_a_reply_of_a_stranger_says_of_itself_only_adds(
        said in anything(),
        of_itself in anything(),
        trust in trust(),
        marked in word::<DataClass>(),
    ) {
        let contract = weigh(&said, &trust);
        let marks = Label::bottom().with_class(marked);
        for kind in [ReplyKind::Server, ReplyKind::Resource, ReplyKind::ServerWithResource] {
            let silent = label_reply(&contract, &Claims::new(), &Label::bottom(), kind);
            let label = label_reply(&contract, &claims(&of_itself), &marks, kind);
            prop_assert!(label.covers(&silent));
            prop_assert!(label.covers(&marks));
        }
    }

    #[test]
    fn the_hints_never_read_milder_than_the_contract(said in anything(), trust in trust()) {
        let contract = weigh(&said, &trust);
        let hints = contract.hints();
        prop_assert_eq!(hints.read_only, contract.outcomes().is_only(Outcome::Benign));
        prop_assert_eq!(hints.destructive, contract.outcomes().contains(Outcome::Irreversible));
        prop_assert!(hints.open_world || contract.write_confidentiality() == Confidentiality::High);
        prop_assert!(hints.open_world || !contract.source().contains(Source::UntrustedPublic));
        prop_assert_eq!(hints.destructive, contract.destroys());
    }

    /// With nobody else speaking, the operator's value is the value, milder or not.
    #[test]
    fn the_operators_value_replaces_every_other(
        said in proptest::collection::vec(
            claimed_by(word::<Authority>().prop_filter("not the operator", |by| *by != Authority::Operator)), 0..7),
        destination in possible::<Destination>(),
        outcomes in possible::<Outcome>(),
        source in possible::<Source>(),
        returns in sensitivity(),
        accepts in sensitivity(),
        approval in word::<ApprovalWish>(),
        role in word::<ArgumentRole>(),
        trust in trust(),
    ) {
        let operator = [
            Claim::SetDestination(destination),
            Claim::SetOutcomes(outcomes),
            Claim::SetSource(source),
            Claim::SetReturns(returns.clone()),
            Claim::SetAccepts(accepts.clone()),
            Claim::SetApproval(approval),
            Claim::Role { argument: "to".into(), role },
        ];
        let operator = operator.map(|claim| Claimed { claim, by: Authority::Operator, from: "labels" });
        let contract = weigh(&[said, operator.to_vec()].concat(), &trust);
        prop_assert_eq!(contract.destination(), destination);
        prop_assert_eq!(contract.outcomes(), outcomes);
        prop_assert_eq!(contract.source(), source);
        prop_assert_eq!(contract.returns(), &returns);
        prop_assert_eq!(contract.accepts(), &Accepts::Only(accepts));
        prop_assert_eq!(contract.role("to"), role);
        if !contract.requires_verified() {
            prop_assert_eq!(contract.approval(), approval);
        }
    }
}
