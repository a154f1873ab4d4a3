//! Cedar as a second opinion: random rules, translated, must say of random actions what our own engine says.
//!
//! Each rule becomes two prohibitions, one for *may hold* and one for *must hold*, so that all three truth values
//! are compared, the restricting and the loosening reading with them. Phases are Cedar's actions, and its schema is
//! made from the fact table. What the analysis says of rules is held against Cedar's verdicts, too.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot be set up has failed"
)]

mod analysis;
mod context;
#[path = "../../../core/tests/dice/mod.rs"]
mod dice;
mod policy;
mod schema;
// The same random rules and actions that the laws of the engine are tried on.
#[path = "../../../rules/tests/rule_laws/world.rs"]
#[expect(dead_code, reason = "the laws use more of it")]
mod world;

use std::collections::BTreeSet;

use cedar_policy::{Authorizer, Decision, Entities, PolicySet, ValidationMode, Validator};
use dice::Dice;
use highwater_core::policy::{Effect, Phase, Truth};
use highwater_rules::{RuleSource, compile};

const SETS: u64 = 600;
const WORLDS: u64 = 175;
const RULES: u64 = 5;

/// Rules that Cedar can say: it has no glob with a single-character wildcard, and cannot look for a member of a
/// set by pattern.
fn rules(set: u64, phase: Phase) -> Vec<RuleSource> {
    let seeds: Vec<u64> = (0..RULES).map(|rule| set * RULES + rule).collect();
    let mut rules = world::rules(&seeds, phase, true, |_| true);
    rules.retain(|rule| policy::can_say(&rule.condition));
    rules
}

/// How much was compared, and how often each truth value came up.
#[derive(Default)]
struct Count {
    judged: u64,
    truths: [u64; 3],
}

#[test]
fn cedar_agrees_on_random_rules_and_actions() {
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    let counts: Vec<Count> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| scope.spawn(move || compare((0..SETS).filter(|set| set % threads == worker))))
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let judged: u64 = counts.iter().map(|count| count.judged).sum();
    let truths = [0, 1, 2].map(|truth| counts.iter().map(|count| count.truths[truth]).sum::<u64>());
    println!("{judged} actions judged; rules false, unknown, true: {truths:?}");
    assert!(judged >= 100_000);
    let compared: u64 = truths.iter().sum();
    assert!(truths.iter().all(|count| *count > compared / 20), "{truths:?}");
}

/// Asks both engines about every action of these sets.
fn compare(sets: impl Iterator<Item = u64>) -> Count {
    let schema = schema::schema();
    let validator = Validator::new(schema.clone());
    let (authorizer, no_entities) = (Authorizer::new(), Entities::empty());
    let mut count = Count::default();
    for set in sets {
        let phase = Phase::ALL[usize::try_from(set % 4).unwrap()];
        let rules = rules(set, phase);
        let ours = compile(&rules, &[]).unwrap();
        let theirs = policy::policies(&rules, phase);
        let checked = validator.validate(&theirs, ValidationMode::Strict);
        assert!(checked.validation_passed(), "set {set}: {checked}");
        for number in 0..WORLDS {
            let world = world::world(&mut Dice::new(set * WORLDS + number));
            let facts = world.facts();
            // The first of each set shows that the schema describes what we ask.
            let typed = (number == 0).then_some(&schema);
            let request = context::request(
                &facts,
                world.flow,
                phase,
                |path| ours.subjects().iter().any(|subject| subject.path() == path),
                typed,
            );
            let answer = authorizer.is_authorized(&request, &theirs, &no_entities);
            // Cedar skips a policy that fails, so a failure is a difference.
            let errors: Vec<String> = answer.diagnostics().errors().map(ToString::to_string).collect();
            assert!(errors.is_empty(), "set {set}, world {number}: {errors:?}");
            let reasons: BTreeSet<String> = answer.diagnostics().reason().map(ToString::to_string).collect();
            let mut reading = ours.read(phase, &facts, world.flow);
            let hits = reading.hits();
            for rule in &rules {
                let name = &rule.name.value;
                let hit = hits.iter().find(|hit| **hit.rule.name() == **name);
                let ours = hit.map_or(Truth::False, |hit| hit.truth);
                assert_eq!(ours, truth(&reasons, name), "set {set}, world {number}: {rule:#?}\n{world:#?}");
                count.truths[ours as usize] += 1;
            }
            let strictest = hits.iter().map(|hit| hit.effect).max().unwrap_or(Effect::Allow);
            assert_eq!(strictest, effect(&theirs, &reasons), "set {set}, world {number}");
            assert_eq!(strictest == Effect::Allow, answer.decision() == Decision::Allow);
            count.judged += 1;
        }
    }
    count
}

fn truth(reasons: &BTreeSet<String>, rule: &str) -> Truth {
    match (reasons.contains(&format!("{rule}.may")), reasons.contains(&format!("{rule}.must"))) {
        (true, true) => Truth::True,
        (true, false) => Truth::Unknown,
        (false, false) => Truth::False,
        (false, true) => panic!("what must hold may hold"),
    }
}

fn effect(policies: &PolicySet, reasons: &BTreeSet<String>) -> Effect {
    let effects = reasons.iter().filter_map(|id| policies.policy(&id.parse().unwrap())?.annotation("effect"));
    effects.filter_map(Effect::of_rule_word).max().unwrap_or(Effect::Allow)
}
