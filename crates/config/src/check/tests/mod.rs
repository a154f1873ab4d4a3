//! What the tests of the analysis share: random rules, flow policies and situations.

mod agreement;
mod answers;
mod unmodelled;

use highwater_core::annotation::{DataClass, Destination};
use highwater_core::decide::{Clearance, FlowMode, FlowPolicy};
use highwater_core::policy::{FACTS, FlowViolations, Kind, Phase, RuleSet, Span};
use highwater_notation::{Timestamp, Words};
use highwater_rules::{ConditionSource, RuleSource, Spanned, ValueSource, Written, compile};
use proptest::prelude::*;

use super::flow::modelled;
use super::situation::Situation;
use super::space::Values;
use super::world::{Questions, World};

const NOW: Timestamp = Timestamp(1_800_000_000_000);
/// As many as in use.
const NODES: usize = 1_000_000;

fn spanned(text: &str) -> Spanned<String> {
    Spanned::new(text.to_owned(), Span::default())
}

fn value(value: Written) -> ValueSource {
    ValueSource { span: Span::default(), value }
}

fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["send", "send_mail", "read", "a", "b", "ab", "default", "hipaa", "gdpr"])
        .prop_map(str::to_owned)
}

fn glob() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["send_*", "*", "a*", "*b", "?", "*a*", "read", "s*d*"]).prop_map(str::to_owned)
}

/// Texts that are one thing in one spelling and another in another.
fn path() -> impl Strategy<Value = String> {
    let paths = vec!["private/a", "Private/a", "/srv/private/a", "a", "/a", "https://h/a", "~/a", "a/../b"];
    prop_oneof![word(), prop::sample::select(paths).prop_map(str::to_owned)]
}

fn path_glob() -> impl Strategy<Value = String> {
    let globs =
        vec!["private/*", "PRIVATE/*", "/srv/private/*", "/srv/*.key", "*/a", "https://h/*", "~/*", "c:/a*"];
    prop_oneof![glob(), prop::sample::select(globs).prop_map(str::to_owned)]
}

/// A test of a fact of this kind.
fn test_of(path: &'static str, kind: Kind) -> BoxedStrategy<ConditionSource> {
    let make = move |operator: &str, written: Written| ConditionSource::Test {
        fact: spanned(path),
        operator: spanned(operator),
        value: value(written),
    };
    let text = |text: String| Written::Text(text);
    match kind {
        Kind::Bool => any::<bool>().prop_map(move |flag| make("equals", Written::Bool(flag))).boxed(),
        Kind::Int(..) => (-5i64..105, prop::sample::select(vec!["greaterThan", "lessThan", "equals"]))
            .prop_map(move |(number, operator)| make(operator, Written::Int(number)))
            .boxed(),
        Kind::Str if path == "resource.uri" => prop_oneof![
            self::path().prop_map(move |path| make("equals", text(path))),
            path_glob().prop_map(move |glob| make("matches", text(glob))),
        ]
        .boxed(),
        Kind::Str => prop_oneof![
            word().prop_map(move |word| make("equals", text(word))),
            glob().prop_map(move |glob| make("matches", text(glob))),
            prop::collection::vec(word(), 1..4).prop_map(move |words| {
                make("in", Written::List(words.into_iter().map(|word| value(text(word))).collect()))
            }),
        ]
        .boxed(),
        Kind::Open { .. } => prop_oneof![
            word().prop_map(move |word| make("contains", text(word))),
            glob().prop_map(move |glob| make("matches", text(glob))),
            any::<bool>().prop_map(move |flag| make("exists", Written::Bool(flag))),
        ]
        .boxed(),
        Kind::Enum { words, .. } | Kind::Set(words) | Kind::OneOf(words) => prop_oneof![
            prop::sample::select(words.to_vec()).prop_map(move |word| make("equals", text(word.to_owned()))),
            prop::collection::vec(prop::sample::select(words.to_vec()), 1..4).prop_map(move |words| {
                let words = words.into_iter().map(|word| value(text(word.to_owned())));
                make("in", Written::List(words.collect()))
            }),
        ]
        .boxed(),
    }
}

fn argument_test() -> BoxedStrategy<ConditionSource> {
    let pointer = prop::sample::select(vec!["to", "amount", "message", "message/to", "items/0/id"]);
    let operator = prop_oneof![
        path().prop_map(|path| ("equals", Written::Text(path))),
        path_glob().prop_map(|glob| ("matches", Written::Text(glob))),
        (0i64..20).prop_map(|number| ("greaterThan", Written::Int(number))),
        (0i64..20).prop_map(|number| ("lessThan", Written::Int(number))),
        (0i64..20).prop_map(|number| ("equals", Written::Int(number))),
        any::<bool>().prop_map(|flag| ("equals", Written::Bool(flag))),
        any::<bool>().prop_map(|flag| ("exists", Written::Bool(flag))),
    ];
    (pointer, operator)
        .prop_map(|(pointer, (operator, written))| ConditionSource::Test {
            fact: spanned(&format!("arguments.{pointer}")),
            operator: spanned(operator),
            value: value(written),
        })
        .boxed()
}

/// A condition over facts that are known in one phase, and to the analysis: what others are, it does not predict.
fn condition(phase: Phase) -> BoxedStrategy<ConditionSource> {
    let facts: Vec<_> = FACTS.iter().filter(|fact| fact.phases.has(phase) && fact.name.is_some()).collect();
    let test = prop::sample::select(facts).prop_flat_map(|fact| test_of(fact.path, fact.kind));
    let test = if phase == Phase::List {
        test.boxed()
    } else {
        prop_oneof![4 => test, 1 => argument_test()].boxed()
    };
    let span = Span::default();
    test.prop_recursive(3, 8, 3, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(move |of| ConditionSource::All { span, of }),
            prop::collection::vec(inner.clone(), 1..4).prop_map(move |of| ConditionSource::Any { span, of }),
            inner.prop_map(move |of| ConditionSource::Not { span, of: Box::new(of) }),
        ]
    })
    .boxed()
}

/// Rules that compile; those that do not are left out.
fn rules(phase: Phase, most: usize) -> impl Strategy<Value = RuleSet> {
    let effect = prop::sample::select(vec!["redact", "confirm", "passkey", "block"]);
    let dry_run = prop::bool::weighted(0.1);
    prop::collection::vec((effect, dry_run, condition(phase)), 0..most).prop_map(move |written| {
        let sources =
            written.into_iter().enumerate().map(|(index, (effect, dry_run, condition))| RuleSource {
                name: spanned(&format!("r{index}")),
                effect: spanned(effect),
                condition,
                message: None,
                phase: Some(spanned(phase.as_str())),
                non_monotone: true,
                dry_run,
            });
        let sound: Vec<_> =
            sources.filter(|source| compile(std::slice::from_ref(source), &[]).is_ok()).collect();
        compile(&sound, &[]).unwrap()
    })
}

fn flow() -> impl Strategy<Value = FlowPolicy> {
    let mode = prop::sample::select(FlowMode::ALL.to_vec());
    let classes = prop::collection::vec(any::<u16>().prop_map(Words::<DataClass>::from_bits), 5);
    (mode, classes, any::<bool>()).prop_map(|(mode, classes, usual)| {
        let tables = Destination::ALL.iter().zip(classes);
        let clearance = tables.fold(Clearance::default(), |table, (to, classes)| table.with(*to, classes));
        let clearance = if usual { Clearance::default() } else { clearance };
        FlowPolicy { mode, clearance, ..FlowPolicy::default() }
    })
}

fn world(phase: Phase, rules: &RuleSet) -> World {
    let mut questions = Questions::default();
    for rule in rules.rules() {
        questions.note(rule.condition(), |slot| rules.subject(slot));
    }
    World::new(phase, &["default", "other"], questions, NODES).unwrap()
}

/// Whether one of these gates has no model. What it says is then not predicted.
fn speaks_unmodelled(violations: FlowViolations) -> bool {
    violations.iter().any(|rule| modelled(rule).is_none())
}

/// A situation that these coins choose.
fn situation(world: &mut World, coins: &[bool]) -> (Values, Situation) {
    let mut coins = coins.iter().copied().cycle();
    let values = world.space.example_like(super::diagram::ALWAYS, &mut |_| coins.next().unwrap_or(false));
    let values = values.unwrap().unwrap();
    let situation = Situation::new(world, &values, NOW);
    (values, situation)
}
