//! Laws of the rule engine over random rules and random facts.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot be set up has failed")]

#[path = "../../../core/tests/dice/mod.rs"]
mod dice;
mod inputs;
mod world;

use dice::Dice;
use highwater_core::policy::{Effect, Facts, FlowViolations, Phase, RuleSet, Truth};
use highwater_rules::compile;
use proptest::collection::vec;
use proptest::prelude::*;

/// Rule sets a law is tried on, and actions each of them judges: more than a hundred thousand cases a law.
const SETS: u32 = 2_500;
const WORLDS: u64 = 45;

/// What a set says of an action: each rule that fires, with its effect and its truth.
fn said(
    set: &RuleSet,
    phase: Phase,
    facts: &Facts<'_>,
    flow: FlowViolations,
) -> Vec<(String, Effect, Truth)> {
    let mut reading = set.read(phase, facts, flow);
    reading.hits().iter().map(|hit| (hit.rule.name().to_string(), hit.effect, hit.truth)).collect()
}

fn strictest(said: &[(String, Effect, Truth)]) -> Effect {
    said.iter().map(|(_, effect, _)| *effect).max().unwrap_or(Effect::Allow)
}

fn truth_of(said: &[(String, Effect, Truth)], rule: &str) -> Truth {
    said.iter().find(|(name, ..)| name == rule).map_or(Truth::False, |(_, _, truth)| *truth)
}

fn phase() -> impl Strategy<Value = Phase> {
    proptest::sample::select(&Phase::ALL[..])
}

/// The numbers that rules are made from.
fn seeds() -> impl Strategy<Value = Vec<u64>> {
    vec(any::<u64>(), 1..6)
}

fn worlds(seed: u64) -> impl Iterator<Item = Dice> {
    (0..WORLDS).map(move |number| Dice::new(seed.wrapping_add(number.wrapping_mul(0x5851_f42d_4c95_7f2d))))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: SETS, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_rules_means_nothing(seeds in seeds(), phase in phase(), turn in 0_usize..6, seed: u64) {
        let mut rules = world::rules(&seeds, phase, true, |_| true);
        let first = compile(&rules, &[]).unwrap();
        let turned = turn % rules.len().max(1);
        rules.rotate_left(turned);
        rules.reverse();
        let second = compile(&rules, &[]).unwrap();
        for mut dice in worlds(seed) {
            let world = world::world(&mut dice);
            let facts = world.facts();
            prop_assert_eq!(said(&first, phase, &facts, world.flow), said(&second, phase, &facts, world.flow));
        }
    }

    #[test]
    fn a_rule_more_never_loosens(seeds in seeds(), phase in phase(), seed: u64) {
        let rules = world::rules(&seeds, phase, true, |_| true);
        let (more, fewer) = (compile(&rules, &[]).unwrap(), compile(rules.get(1..).unwrap_or_default(), &[]).unwrap());
        for mut dice in worlds(seed) {
            let world = world::world(&mut dice);
            let all = said(&more, phase, &world.facts(), world.flow);
            let some = said(&fewer, phase, &world.facts(), world.flow);
            prop_assert!(strictest(&some) <= strictest(&all));
            prop_assert!(some.iter().all(|one| all.contains(one)));
        }
    }

    #[test]
    fn a_decision_is_monotone_in_the_label(
        seeds in seeds(),
        waivers in vec(any::<u64>(), 0..4),
        phase in proptest::sample::select(vec![Phase::Call, Phase::Resource, Phase::Result]),
        seed: u64,
    ) {
        let rules = world::rules(&seeds, phase, false, |_| true);
        let waivers = world::waivers(&waivers, phase, &rules);
        let set = compile(&rules, &waivers).unwrap();
        prop_assert!(set.monotone());
        for mut dice in worlds(seed) {
            let world = world::world(&mut dice);
            let low = world.facts();
            let risen = world.session.clone().joined(&world::label(&mut dice));
            let before = said(&set, phase, &low, world.flow);
            let after = said(&set, phase, &low.under(&risen), world.flow_with(world::flow(&mut dice)));
            for (name, effect, _) in &before {
                let later = after.iter().find(|(other, ..)| other == name);
                prop_assert!(later.is_some_and(|(_, later, _)| later >= effect), "{} fell silent or milder", name);
            }
            // And the judgement at the worst is above both.
            let worst = said(&set, phase, &low.at_worst(), FlowViolations::all());
            prop_assert!(strictest(&after) <= strictest(&worst));
        }
    }

    #[test]
    fn unknown_is_bracketed_by_every_completion(seeds in seeds(), phase in phase(), seed: u64) {
        let rules = world::rules(&seeds, phase, true, world::narrows);
        let set = compile(&rules, &[]).unwrap();
        for mut dice in worlds(seed) {
            let partial = world::world(&mut dice);
            let complete = partial.completed(&mut dice);
            let before = said(&set, phase, &partial.facts().at_worst(), partial.flow);
            let after = said(&set, phase, &complete.facts(), complete.flow);
            for rule in &rules {
                let (before, after) = (truth_of(&before, &rule.name.value), truth_of(&after, &rule.name.value));
                prop_assert!(before == Truth::Unknown || before == after, "{:?} became {:?}: {:?}", before, after, rule);
            }
        }
    }

    #[test]
    fn nothing_written_and_nothing_known_makes_it_panic(seeds in seeds(), phase in phase(), seed: u64) {
        let nonsense: Vec<_> = seeds.iter().map(|seed| world::nonsense(&mut Dice::new(*seed))).collect();
        let _either = compile(&nonsense, &[]).map(|set| set.rules().len());
        let set = compile(&world::rules(&seeds, phase, true, |_| true), &[]).unwrap();
        for mut dice in worlds(seed).take(12) {
            let world = world::world(&mut dice);
            let facts = world.facts();
            for phase in Phase::ALL {
                let mut reading = set.read(phase, &facts, world.flow);
                for hit in &reading.hits() {
                    prop_assert!(!reading.explain(hit).is_empty());
                }
            }
        }
    }
}

/// A law about rules that never load, or always fire, would say nothing.
#[test]
fn random_rules_are_worth_looking_at() {
    let (mut loaded, mut seen) = (0, [0; 3]);
    for seed in 0..2_000 {
        let rules = world::rules(&[seed], Phase::Call, true, |_| true);
        let Some(rule) = rules.first() else { continue };
        loaded += 1;
        let set = compile(&rules, &[]).unwrap();
        let world = world::world(&mut Dice::new(seed));
        seen[truth_of(&said(&set, Phase::Call, &world.facts(), world.flow), &rule.name.value) as usize] += 1;
    }
    assert!(loaded > 1_500, "{loaded}");
    assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
}
