//! Random claims, and what it means that one contract is milder than another.

use std::sync::Arc;

use highwater_core::annotation::{
    Authority, Capability, CapabilityClaim, Claim, Claimed, Claims, Contract, DataClass, Destination, Hints,
    Outcome, Possible, Reach, ReplyKind, Sensitivity, Severe, Source,
};
use highwater_core::label::{Label, TextSet};
use highwater_core::trust::ServerTrust;
use highwater_notation::{Word, Words};
use proptest::prelude::*;

pub(super) const ARGUMENTS: [&str; 3] = ["to", "message", "message/body"];

pub(super) fn word<T: Word>() -> impl Strategy<Value = T> {
    proptest::sample::select(T::ALL)
}

pub(super) fn words<T: Word>() -> impl Strategy<Value = Words<T>> {
    proptest::collection::vec(word::<T>(), 1..3).prop_map(|words| words.into_iter().collect())
}

pub(super) fn possible<T: Word>() -> impl Strategy<Value = Possible<T>> {
    words::<T>().prop_map(|words| Possible::of(words).unwrap_or_else(Possible::any))
}

pub(super) fn texts() -> impl Strategy<Value = TextSet> {
    proptest::collection::vec(0..4_u8, 0..3)
        .prop_map(|numbers| TextSet::of(numbers.iter().map(u8::to_string)))
}

pub(super) fn sensitivity() -> impl Strategy<Value = Sensitivity> {
    let one = prop_oneof![
        1 => Just(Sensitivity::none()),
        4 => word::<DataClass>().prop_map(|class| Sensitivity::of([class])),
        1 => proptest::sample::subsequence(vec!["hipaa", "gdpr"], 0..3).prop_map(Sensitivity::regulated),
        1 => proptest::sample::select(vec!["com.example.x", "com.example.y"]).prop_map(Sensitivity::named),
    ];
    proptest::collection::vec(one, 1..4).prop_map(|all| {
        let mut all = all.iter();
        let first = all.next().cloned().unwrap_or_else(Sensitivity::none);
        all.fold(first, Sensitivity::or)
    })
}

pub(super) fn hint() -> impl Strategy<Value = Hints> {
    let one = || proptest::option::of(any::<bool>());
    (one(), one(), one(), one()).prop_map(|(read_only, destructive, idempotent, open_world)| Hints {
        read_only,
        destructive,
        idempotent,
        open_world,
    })
}

pub(super) fn capability() -> impl Strategy<Value = Claim> {
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
pub(super) fn claim() -> impl Strategy<Value = Claim> {
    let axes = prop_oneof![
        words().prop_map(Claim::AddDestination),
        possible().prop_map(Claim::SetDestination),
        sensitivity().prop_map(Claim::SetAccepts),
        Just(Claim::AcceptsAny),
        words().prop_map(Claim::NotDestination),
        words().prop_map(Claim::NotOutcomes),
        words().prop_map(Claim::NotSource),
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

/// Everything that is worse than some word: a bound that promises something.
pub(super) fn the_worse_than<T: Severe>() -> impl Strategy<Value = Words<T>> {
    word::<T>().prop_map(|mild| T::ALL.iter().copied().filter(|word| *word > mild).collect())
}

/// What is said of the four axes that are possible sets, in so many words.
pub(super) fn plain_claim() -> impl Strategy<Value = Claim> {
    prop_oneof![
        words().prop_map(Claim::AddDestination),
        possible().prop_map(Claim::SetDestination),
        the_worse_than().prop_map(Claim::NotDestination),
        words().prop_map(Claim::AddOutcomes),
        possible().prop_map(Claim::SetOutcomes),
        the_worse_than().prop_map(Claim::NotOutcomes),
        words().prop_map(Claim::AddSource),
        possible().prop_map(Claim::SetSource),
        the_worse_than().prop_map(Claim::NotSource),
        sensitivity().prop_map(Claim::AddReturns),
        sensitivity().prop_map(Claim::SetReturns),
    ]
}

/// The hints, with one that was not said before.
pub(super) fn with_one_more(fewer: Hints, more: Hints) -> Hints {
    let mut all = fewer;
    if all.read_only.is_none() && more.read_only.is_some() {
        all.read_only = more.read_only;
    } else if all.destructive.is_none() && more.destructive.is_some() {
        all.destructive = more.destructive;
    } else if all.open_world.is_none() {
        all.open_world = more.open_world;
    }
    all
}

/// What one thing more that is said names itself, on each axis.
#[derive(Default)]
pub(super) struct Named {
    pub(super) destination: Words<Destination>,
    pub(super) outcomes: Words<Outcome>,
    pub(super) source: Words<Source>,
    pub(super) returns: Words<DataClass>,
}

impl Named {
    pub(super) fn by(claim: Option<&Claim>, before: Hints, after: Hints) -> Self {
        let mut named = Self::default();
        match claim {
            Some(Claim::AddDestination(words)) => named.destination = *words,
            Some(Claim::SetDestination(words)) => named.destination = words.members(),
            Some(Claim::AddOutcomes(words)) => named.outcomes = *words,
            Some(Claim::SetOutcomes(words)) => named.outcomes = words.members(),
            Some(Claim::AddSource(words)) => named.source = *words,
            Some(Claim::SetSource(words)) => named.source = words.members(),
            Some(Claim::AddReturns(classes) | Claim::SetReturns(classes)) => {
                named.returns = classes.classes()
            }
            _ => {}
        }
        if before.open_world != after.open_world && after.open_world == Some(true) {
            named.destination = named.destination.with(Destination::Public);
            named.source = named.source.with(Source::UntrustedPublic);
        }
        if before.destructive != after.destructive && after.destructive == Some(true) {
            named.outcomes = named.outcomes.with(Outcome::Irreversible);
        }
        named
    }
}

/// Whether the worst that is possible is no worse than it was, or than what was named.
pub(super) fn no_worse<T: Severe>(after: Possible<T>, before: Possible<T>, named: Words<T>) -> bool {
    after.worst() <= before.or(named).worst()
}

pub(super) fn authority(may_loosen: bool) -> impl Strategy<Value = Authority> {
    let all: Vec<_> = Authority::ALL.iter().copied().filter(|by| by.may_loosen() == may_loosen).collect();
    proptest::sample::select(all)
}

pub(super) fn claimed_by(by: impl Strategy<Value = Authority>) -> impl Strategy<Value = Claimed> {
    (claim(), by).prop_map(|(claim, by)| Claimed { claim, by, from: "law" })
}

pub(super) fn anything() -> impl Strategy<Value = Vec<Claimed>> {
    proptest::collection::vec(claimed_by(word::<Authority>()), 0..7)
}

pub(super) fn tightening() -> impl Strategy<Value = Vec<Claimed>> {
    proptest::collection::vec(claimed_by(authority(false)), 0..7)
}

pub(super) fn trust() -> impl Strategy<Value = ServerTrust> {
    let maybe = || proptest::option::of(any::<bool>());
    (proptest::option::of(word()), word(), maybe(), any::<bool>()).prop_map(
        |(server, resource, verified, believed)| {
            ServerTrust::new(server, resource, verified).believed_if(believed)
        },
    )
}

pub(super) fn weigh(claims: &[Claimed], trust: &ServerTrust) -> Contract {
    Contract::weigh(&claims.iter().cloned().collect(), trust).0
}

pub(super) fn claims(of: &[Claimed]) -> Claims {
    of.iter().cloned().collect()
}

/// Every label of every kind of session that a tool's acceptance can be asked about.
pub(super) fn probes() -> impl Iterator<Item = Label> {
    let scoped = |scopes: TextSet| Label::bottom().with_class(DataClass::Regulated).with_scopes(&scopes);
    DataClass::ALL.iter().map(|class| Label::bottom().with_class(*class)).chain([
        scoped(TextSet::of(["hipaa"])),
        scoped(TextSet::of(["hipaa", "gdpr"])),
        scoped(TextSet::EVERY),
        Label::bottom().with_names(&TextSet::of(["com.example.x"])),
        Label::bottom().with_names(&TextSet::of(["com.example.x", "com.example.y"])),
    ])
}

/// The axes on which `one` is milder than `other`. A possible set is milder if something is no longer possible:
/// then some rule that fired does not fire any more.
pub(super) fn milder(one: &Contract, other: &Contract) -> Vec<&'static str> {
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
        check(one.label_of(kind).covers(&other.label_of(kind)), "label");
    }
    axes
}
