//! Laws of weighing and narrowing over random claims: a word that may not loosen loosens nothing, order does not
//! matter, one value is a set of one, and what is said of a call stays inside what is known of the tool.

use std::sync::Arc;

use highwater_core::annotation::{
    Accepts, ApprovalWish, ArgumentRole, Authority, Axis, Capability, CapabilityClaim, Claim, Claimed,
    Claims, Confidentiality, Contract, DataClass, Destination, Hints, Outcome, Possible, Reach, ReplyKind,
    Sensitivity, Source, SourceReading, Word, Words,
};
use highwater_core::label::{Label, TextSet};
use highwater_core::session::{label_claims, label_reply};
use highwater_core::trust::{ServerTrust, TrustLevel};
use proptest::prelude::*;

/// How often each law is tried.
const CASES: u32 = 100_000;

const ARGUMENTS: [&str; 3] = ["to", "message", "message/body"];

fn word<T: Word>() -> impl Strategy<Value = T> {
    proptest::sample::select(T::ALL)
}

fn words<T: Word>() -> impl Strategy<Value = Words<T>> {
    proptest::collection::vec(word::<T>(), 1..3).prop_map(|words| words.into_iter().collect())
}

fn possible<T: Word>() -> impl Strategy<Value = Possible<T>> {
    words::<T>().prop_map(|words| Possible::of(words).unwrap_or_else(Possible::any))
}

fn texts() -> impl Strategy<Value = TextSet> {
    proptest::collection::vec(0..4_u8, 0..3)
        .prop_map(|numbers| TextSet::of(numbers.iter().map(u8::to_string)))
}

fn sensitivity() -> impl Strategy<Value = Sensitivity> {
    let one = prop_oneof![
        1 => Just(Sensitivity::none()),
        4 => word::<DataClass>().prop_map(|class| Sensitivity::of([class])),
        1 => proptest::sample::subsequence(vec!["hipaa", "gdpr"], 0..3).prop_map(Sensitivity::regulated),
    ];
    proptest::collection::vec(one, 1..4).prop_map(|all| {
        let mut all = all.iter();
        let first = all.next().cloned().unwrap_or_else(Sensitivity::none);
        all.fold(first, Sensitivity::or)
    })
}

fn hint() -> impl Strategy<Value = Hints> {
    let one = || proptest::option::of(any::<bool>());
    (one(), one(), one(), one()).prop_map(|(read_only, destructive, idempotent, open_world)| Hints {
        read_only,
        destructive,
        idempotent,
        open_world,
    })
}

fn capability() -> impl Strategy<Value = Claim> {
    let reach = prop_oneof![
        Just(Reach::Nothing),
        Just(Reach::All),
        Just(Reach::only(vec![Arc::from("sh")])),
        Just(Reach::only(vec![Arc::from("vim")])),
    ];
    (word::<Capability>(), reach)
        .prop_map(|(capability, reach)| Claim::Capability(CapabilityClaim::new(capability, reach)))
}

/// Everything anybody can say.
fn claim() -> impl Strategy<Value = Claim> {
    let axes = prop_oneof![
        words().prop_map(Claim::AddDestination),
        possible().prop_map(Claim::SetDestination),
        sensitivity().prop_map(Claim::SetAccepts),
        Just(Claim::AcceptsAny),
        words().prop_map(Claim::AddOutcomes),
        possible().prop_map(Claim::SetOutcomes),
        words().prop_map(Claim::AddSource),
        possible().prop_map(Claim::SetSource),
        sensitivity().prop_map(Claim::AddReturns),
        sensitivity().prop_map(Claim::SetReturns),
    ];
    let rest = prop_oneof![
        Just(Claim::Untrusted),
        Just(Claim::OpenWorld),
        Just(Claim::Malicious),
        word().prop_map(Claim::SetIntegrity),
        word().prop_map(Claim::AddApproval),
        word().prop_map(Claim::SetApproval),
        Just(Claim::RequiresVerified),
        texts().prop_map(Claim::AddOrigins),
        hint().prop_map(Claim::Hints),
        possible().prop_map(Claim::ReadConfidentiality),
        possible().prop_map(Claim::WriteConfidentiality),
        capability(),
        (proptest::sample::select(&ARGUMENTS[..]), word())
            .prop_map(|(argument, role)| Claim::Role { argument: argument.into(), role }),
        proptest::sample::subsequence(vec!["self", "user", "host"], 0..3)
            .prop_map(|tokens| Claim::AcceptFrom(tokens.into_iter().map(Arc::from).collect())),
    ];
    prop_oneof![axes, rest]
}

fn authority(may_loosen: bool) -> impl Strategy<Value = Authority> {
    let all: Vec<_> = Authority::ALL.iter().copied().filter(|by| by.may_loosen() == may_loosen).collect();
    proptest::sample::select(all)
}

fn claimed_by(by: impl Strategy<Value = Authority>) -> impl Strategy<Value = Claimed> {
    (claim(), by).prop_map(|(claim, by)| Claimed { claim, by, from: "law" })
}

fn anything() -> impl Strategy<Value = Vec<Claimed>> {
    proptest::collection::vec(claimed_by(word::<Authority>()), 0..7)
}

fn tightening() -> impl Strategy<Value = Vec<Claimed>> {
    proptest::collection::vec(claimed_by(authority(false)), 0..7)
}

fn trust() -> impl Strategy<Value = ServerTrust> {
    (word(), word(), any::<bool>())
        .prop_map(|(server, resource, verified)| ServerTrust::new(server, resource, verified))
}

fn weigh(claims: &[Claimed], trust: &ServerTrust) -> Contract {
    Contract::weigh(&claims.iter().cloned().collect(), trust).0
}

fn claims(of: &[Claimed]) -> Claims {
    of.iter().cloned().collect()
}

/// Every label of every kind of session that a tool's acceptance can be asked about.
fn probes() -> impl Iterator<Item = Label> {
    let scoped = |scopes: TextSet| Label::bottom().with_class(DataClass::Regulated).with_scopes(&scopes);
    DataClass::ALL.iter().map(|class| Label::bottom().with_class(*class)).chain([
        scoped(TextSet::of(["hipaa"])),
        scoped(TextSet::of(["hipaa", "gdpr"])),
        scoped(TextSet::EVERY),
    ])
}

/// The axes on which `one` is milder than `other`. A possible set is milder if something is no longer possible:
/// then some rule that fired does not fire any more.
fn milder(one: &Contract, other: &Contract) -> Vec<&'static str> {
    let mut axes = Vec::new();
    let mut check = |holds: bool, axis| {
        if !holds {
            axes.push(axis);
        }
    };
    check(one.destination().members().covers(other.destination().members()), "destination");
    check(one.outcomes().members().covers(other.outcomes().members()), "outcomes");
    check(one.source().members().covers(other.source().members()), "source");
    check(one.possible_source().members().covers(other.possible_source().members()), "possible source");
    check(one.returns().classes().covers(other.returns().classes()), "returns");
    check(one.returns().scopes().covers(other.returns().scopes()), "scopes");
    check(!one.returns().may_be_none() || other.returns().may_be_none(), "none");
    check(
        probes().all(|label| one.accepts().refused(&label).covers(other.accepts().refused(&label))),
        "accepts",
    );
    check(one.integrity() <= other.integrity(), "integrity");
    check(one.approval() >= other.approval(), "approval");
    check(one.requires_verified() || !other.requires_verified(), "verified approval");
    check(one.malicious() || !other.malicious(), "malicious");
    check(one.attribution().covers(other.attribution()), "attribution");
    check(one.capabilities().effective().covers(other.capabilities().effective()), "capabilities");
    check(one.variant() >= other.variant(), "variant");
    check(ARGUMENTS.iter().all(|argument| one.role(argument) >= other.role(argument)), "roles");
    check(
        match (one.accept_from(), other.accept_from()) {
            (Some(one), Some(other)) => one.iter().all(|token| other.contains(token)),
            (_, None) => true,
            (None, Some(_)) => false,
        },
        "accept from",
    );
    let (hints, others) = (one.hints(), other.hints());
    check(hints.read_only <= others.read_only, "readOnlyHint");
    check(hints.destructive >= others.destructive, "destructiveHint");
    check(hints.idempotent <= others.idempotent, "idempotentHint");
    check(hints.open_world >= others.open_world, "openWorldHint");
    check(one.undeclared().covers(other.undeclared()), "undeclared");
    check(one.read_confidentiality() >= other.read_confidentiality(), "read confidentiality");
    check(one.write_confidentiality() <= other.write_confidentiality(), "write confidentiality");
    for kind in [ReplyKind::Server, ReplyKind::Resource, ReplyKind::ServerWithResource] {
        for reading in [SourceReading::Worst, SourceReading::Samos] {
            check(one.label_of(kind, reading).covers(&other.label_of(kind, reading)), "label");
        }
    }
    axes
}

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
        if !milder(&one, &two).is_empty() {
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
        let contract = weigh(&said, &ServerTrust::new(level, level, false));
        prop_assert_eq!(contract.integrity(), TrustLevel::None);
        let resource = contract.label_of(ReplyKind::Resource, SourceReading::Samos);
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
        if tool.is_declared(Axis::Destination) {
            prop_assert!(bounded(call.destination(), tool.destination()));
        }
        if tool.is_declared(Axis::Outcomes) {
            prop_assert!(bounded(call.outcomes(), tool.outcomes()));
        }
        if tool.is_declared(Axis::Source) {
            prop_assert!(bounded(call.source(), tool.source()));
        }
        if tool.is_declared(Axis::Returns) {
            let (value, bounds) = (call.returns(), tool.returns());
            prop_assert!(
                bounds.classes().covers(value.classes()) || value.classes().covers(bounds.classes()),
                "{:?} for {:?}", value, bounds
            );
            prop_assert!(!value.may_be_none() || bounds.may_be_none());
        }
        if tool.is_declared(Axis::Accepts) {
            for label in probes() {
                prop_assert!(call.accepts().refused(&label).covers(tool.accepts().refused(&label)));
            }
        }
        prop_assert!(call.variant() >= tool.variant());
        prop_assert!(call.requires_verified() || !tool.requires_verified());
        prop_assert!(call.integrity() <= trust.effective());
    }

    #[test]
    fn what_a_reply_says_of_itself_only_adds(
        said in anything(),
        of_itself in anything(),
        trust in trust(),
        marked in word::<DataClass>(),
    ) {
        let contract = weigh(&said, &trust);
        let marks = Label::bottom().with_class(marked);
        for kind in [ReplyKind::Server, ReplyKind::Resource, ReplyKind::ServerWithResource] {
            for reading in [SourceReading::Worst, SourceReading::Samos] {
                let silent = label_reply(&contract, &Claims::new(), &Label::bottom(), kind, reading);
                let label = label_reply(&contract, &claims(&of_itself), &marks, kind, reading);
                prop_assert!(label.covers(&silent));
                prop_assert!(label.covers(&marks));
            }
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
