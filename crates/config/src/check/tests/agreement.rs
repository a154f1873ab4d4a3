//! The diagram and the evaluator say the same of every rule and every situation.

use highwater_core::decide::FlowPolicy;
use highwater_core::policy::{Effect, FlowRule, FlowViolations, Phase, RuleSet, Truth};
use proptest::prelude::*;

use super::super::flow::FlowModel;
use super::super::policy::{EFFECTS, PolicyModel};
use super::super::space::Values;
use super::super::world::World;
use super::{NOW, flow, rules, situation, speaks_unmodelled, world};

/// The gates that the model finds violated.
fn violations(world: &World, model: &FlowModel, values: &Values) -> FlowViolations {
    let found = FlowRule::ALL.iter().zip(&model.violated);
    found.filter(|(_, violated)| world.space.value(**violated, values)).map(|(rule, _)| *rule).collect()
}

fn agree(phase: Phase, rules: &RuleSet, flow: &FlowPolicy, coins: &[bool]) {
    let mut world = world(phase, rules);
    let model = world.flow(flow).unwrap();
    let mut rails = Vec::new();
    for rule in rules.rules() {
        rails.push(world.rails(&model, rule.condition(), |slot| rules.subject(slot)).unwrap());
    }
    let (values, situation) = situation(&mut world, coins);
    let violations = violations(&world, &model, &values);
    let facts = situation.facts();
    let hits = rules.read(phase, &facts, violations).hits();
    for (rule, rails) in rules.rules().iter().zip(rails) {
        let truth =
            hits.iter().find(|hit| hit.rule.name() == rule.name()).map_or(Truth::False, |hit| hit.truth);
        let predicted = match (world.space.value(rails.may, &values), world.space.value(rails.must, &values))
        {
            (true, true) => Truth::True,
            (true, false) => Truth::Unknown,
            (false, false) => Truth::False,
            (false, true) => panic!("what certainly holds may hold"),
        };
        assert_eq!(predicted, truth, "{rule:#?}\n{situation:#?}");
    }
}

/// The effect of a whole policy, waivers included, is what the gates say.
fn agree_on_effects(phase: Phase, rules: &RuleSet, flow: FlowPolicy, coins: &[bool]) {
    let mut world = world(phase, rules);
    let policy = PolicyModel::new(&mut world, &flow, rules, NOW).unwrap();
    let exactly = EFFECTS.map(|effect| (effect, policy.exactly(&mut world, effect).unwrap()));
    let model = world.flow(&flow).unwrap();
    let (values, situation) = situation(&mut world, coins);
    if speaks_unmodelled(
        violations(&world, &model, &values).union(situation.judgement(&flow, rules).violations()),
    ) {
        return;
    }
    let predicted: Vec<Effect> = exactly
        .into_iter()
        .filter(|(_, is)| world.space.value(*is, &values))
        .map(|(effect, _)| effect)
        .collect();
    assert_eq!(predicted, [situation.judged(&flow, rules)], "{rules:#?}\n{situation:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn diagram_and_gates_agree_on_calls(
        rules in rules(Phase::Call, 6), flow in flow(), coins in prop::collection::vec(any::<bool>(), 300),
    ) {
        agree_on_effects(Phase::Call, &rules, flow, &coins);
    }

    #[test]
    fn diagram_and_gates_agree_on_reads(
        rules in rules(Phase::Resource, 6), flow in flow(), coins in prop::collection::vec(any::<bool>(), 300),
    ) {
        agree_on_effects(Phase::Resource, &rules, flow, &coins);
    }

    #[test]
    fn diagram_and_evaluator_agree_on_calls(
        rules in rules(Phase::Call, 6), flow in flow(), coins in prop::collection::vec(any::<bool>(), 300),
    ) {
        agree(Phase::Call, &rules, &flow, &coins);
    }

    #[test]
    fn diagram_and_evaluator_agree_on_reads(
        rules in rules(Phase::Resource, 6), flow in flow(), coins in prop::collection::vec(any::<bool>(), 300),
    ) {
        agree(Phase::Resource, &rules, &flow, &coins);
    }

    #[test]
    fn diagram_and_evaluator_agree_on_results(
        rules in rules(Phase::Result, 6), flow in flow(), coins in prop::collection::vec(any::<bool>(), 300),
    ) {
        agree(Phase::Result, &rules, &flow, &coins);
    }

    #[test]
    fn diagram_and_evaluator_agree_on_lists(
        rules in rules(Phase::List, 6), flow in flow(), coins in prop::collection::vec(any::<bool>(), 300),
    ) {
        agree(Phase::List, &rules, &flow, &coins);
    }
}
