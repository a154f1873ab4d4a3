//! Every answer of the analysis is held against situations that nobody chose.

use highwater_core::action::ActionKind;
use highwater_core::decide::FlowPolicy;
use highwater_core::policy::{Effect, Phase, RuleSet};
use highwater_rules::{ConditionSource, RuleSource, compile};
use proptest::prelude::*;

use super::super::analyse::{Useless, questions, useless};
use super::super::diagram::Function;
use super::super::leak::ways;
use super::super::policy::PolicyModel;
use super::super::situation::Situation;
use super::super::space::Values;
use super::super::world::World;
use super::{NODES, NOW, condition, flow, rules, spanned, speaks_unmodelled};

/// How many situations an answer is held against.
const SAMPLES: usize = 12;

/// A question as a rule of its own, if it compiles.
fn question(condition: ConditionSource) -> Option<RuleSet> {
    let rule = RuleSource {
        name: spanned("question"),
        effect: spanned("block"),
        condition,
        message: None,
        phase: Some(spanned("call")),
        non_monotone: true,
        dry_run: false,
    };
    compile(&[rule], &[]).ok()
}

/// Situations in which the function holds, each chosen by other coins.
fn samples(world: &mut World, function: Function, coins: &[bool]) -> Vec<(Values, Situation)> {
    let mut coins = coins.iter().copied().cycle();
    let mut found = Vec::new();
    for _ in 0..SAMPLES {
        let example = world.space.example_like(function, &mut |_| coins.next().unwrap_or(false));
        let Ok(Some(values)) = example else { break };
        let situation = Situation::new(world, &values, NOW);
        found.push((values, situation));
    }
    found
}

fn coins() -> impl Strategy<Value = Vec<bool>> {
    // Of no length that fits the number of variables, so that every sample meets others.
    prop::collection::vec(any::<bool>(), 997)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// A way that is shown is one, and where none is shown there is none among many.
    #[test]
    fn a_leak_is_shown_exactly_where_there_is_one(
        rules in rules(Phase::Call, 6), flow in flow(), asked in condition(Phase::Call), coins in coins(),
    ) {
        let Some(asked) = question(asked) else { return Ok(()) };
        let found = ways(&asked, &rules, &[(flow.clone(), vec!["default"])], NOW, NODES).unwrap();
        for way in &found {
            let judged = way.situation.judgement(&flow, &rules);
            let is_open = judged.effect() <= Effect::Redact || speaks_unmodelled(judged.violations());
            prop_assert!(is_open, "{:#?}", way.situation);
        }
        if found.is_empty() {
            let mut world = World::new(Phase::Call, &["default"], questions(&[&rules, &asked]), NODES).unwrap();
            let model = world.flow(&flow).unwrap();
            let wanted = asked.rules().first().unwrap().condition();
            let wanted = world.rails(&model, wanted, |slot| asked.subject(slot)).unwrap();
            for (_, situation) in samples(&mut world, wanted.may, &coins) {
                prop_assert!(situation.judged(&flow, &rules) >= Effect::Confirm, "{situation:#?}");
            }
        }
    }

    /// An example names the method of what it does.
    #[test]
    fn what_an_example_reads_it_reads_by_the_method_for_it(rules in rules(Phase::Resource, 4), coins in coins()) {
        let mut world = super::world(Phase::Resource, &rules);
        for (_, situation) in samples(&mut world, super::super::diagram::ALWAYS, &coins) {
            let (kind, method) = (situation.action().kind(), &**situation.action().method());
            let methods: &[&str] = match kind {
                ActionKind::ReadResource => &["resources/read", "resources/subscribe"],
                ActionKind::GetPrompt => &["prompts/get"],
                ActionKind::Complete => &["completion/complete"],
                other => panic!("{other:?}"),
            };
            prop_assert!(methods.contains(&method), "{:?} by {}", kind, method);
        }
    }

    /// A dead rule fires nowhere, and a shadowed one decides nowhere.
    #[test]
    fn what_is_called_useless_is_of_no_use(
        rules in rules(Phase::Call, 8), flow in flow(), coins in coins(),
    ) {
        // Of a thousand sets of rules one is too entangled; then nothing is said of it.
        let Ok(found) = useless(&rules, &[(flow.clone(), vec!["default"])], NOW, NODES) else { return Ok(()) };
        let gone: Vec<usize> = found.iter().map(|(index, _)| *index).collect();
        let mut world = World::new(Phase::Call, &["default"], questions(&[&rules]), NODES).unwrap();
        let policy = PolicyModel::new(&mut world, &flow, &rules, NOW).unwrap();
        for (index, verdict) in &found {
            let finding = policy.findings.iter().find(|finding| finding.rule == Some(*index)).unwrap();
            let (name, fires) = (rules.rules().get(*index).unwrap().name(), finding.fires);
            match verdict {
                Useless::Dead => {
                    for (_, situation) in samples(&mut world, super::super::diagram::ALWAYS, &coins) {
                        let facts = situation.facts();
                        let violations = situation.judgement(&flow, &RuleSet::empty()).violations();
                        let hits = rules.read(Phase::Call, &facts, violations).hits();
                        prop_assert!(hits.iter().all(|hit| hit.rule.name() != name), "{situation:#?}");
                    }
                }
                Useless::Shadowed { .. } => {
                    for (values, _) in samples(&mut world, fires, &coins) {
                        let others = policy.enforced().filter(|other| {
                            other.rule.is_none_or(|index| !gone.contains(&index))
                                && world.space.value(other.fires, &values)
                        });
                        prop_assert!(others.map(|other| other.effect).max() >= Some(finding.effect), "{name}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_later_of_two_equal_rules_is_the_one_too_many() {
    let rule =
        |name: &str, text: &str| format!("  - {{ name: {name}, effect: block, when: {{ {text} }} }}\n");
    let text = format!(
        "servers: {{ a: {{ command: x }} }}\nrules:\n{}{}{}",
        rule("first", "server.id: a"),
        rule("again", "server.id: { in: [a] }"),
        rule("wider", "server.id: { in: [a, b] }"),
    );
    let settings = crate::load("f", &text, &|_| None).unwrap();
    let set = settings.rules.set();
    let flows = [(FlowPolicy::default(), vec!["default"])];
    let found = useless(set, &flows, NOW, NODES).unwrap();
    let by = |name: &str| Useless::Shadowed { by: Some(format!("rule.{name}")) };
    assert_eq!(found, [(0, by("wider")), (1, by("first"))]);
}
