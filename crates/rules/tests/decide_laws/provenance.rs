//! Where the arguments of a call come from can only lift questions about this one call, and never what is gravest; the
//! laws of the decision hold for every evidence.

use highwater_core::annotation::{ArgumentRole, DataClass};
use highwater_core::decide::{
    Demands, Effect, FlowMode, FlowRule, Otherwise, Verdict, decide, demands, judge,
};
use highwater_core::policy::Facts;
use highwater_core::provenance::{CallProvenance, Carries, Standing};
use highwater_notation::Words;
use highwater_rules::compile;
use proptest::prelude::*;

use crate::dice::Dice;
use crate::{POLICIES, WORLDS, at_least, flow, policy, rules, seeds, world};

/// The same call, of which more is vouched for.
fn vouched(given: &CallProvenance, dice: &mut Dice) -> CallProvenance {
    let mut more = given.clone();
    if dice.one_in(2) {
        more.lacks.truncate(dice.below(2));
    }
    if dice.one_in(2) {
        more.lacks_strictly.truncate(dice.below(2));
    }
    more.audience_wanted |= dice.one_in(2);
    more.carries = match (given.carries, dice.below(3)) {
        (_, 0) | (Carries::Nothing, _) => Carries::Nothing,
        (Carries::Things(classes), 1) => Carries::Things(classes.intersection(dice.words())),
        (Carries::Anything, 1) => Carries::Things(dice.words()),
        (unchanged, _) => unchanged,
    };
    for argument in &mut more.arguments {
        argument.standing = argument.standing.max(dice.of(Standing::ALL));
    }
    more
}

/// Rules may look at the standing of a call and do as their author wants; these laws are about the gates.
fn looks_elsewhere(fact: &highwater_core::policy::Fact) -> bool {
    fact.path != "call.standing" && fact.path != "flow.violations"
}

proptest! {
    #![proptest_config(ProptestConfig { cases: POLICIES, ..ProptestConfig::default() })]

    #[test]
    fn more_that_is_vouched_for_is_never_stricter(made in seeds(), seed: u64) {
        let rules = rules(&made, true, looks_elsewhere);
        let policy = policy(flow(&mut Dice::new(seed)), compile(&rules, &[]).unwrap());
        for mut dice in crate::dice(seed) {
            let world = world::world(&mut dice);
            let Some(given) = &world.provenance else { continue };
            let more = vouched(given, &mut dice);
            let (less, lifted) = (demands(&policy, &world.facts()), demands(&policy, &Facts { provenance: Some(&more), ..world.facts() }));
            prop_assert!(at_least(&less, &lifted), "{:?} became {:?}: {:?}, {:?}", less, lifted, world, more);
        }
    }

    #[test]
    fn in_a_conversation_that_tells_no_words_the_label_alone_is_judged(made in seeds(), seed: u64) {
        let rules = rules(&made, true, looks_elsewhere);
        let policy = policy(flow(&mut Dice::new(seed)), compile(&rules, &[]).unwrap());
        for mut dice in crate::dice(seed) {
            let world = world::world(&mut dice);
            let silent = CallProvenance { has_words: false, ..world::provenance(&mut dice) };
            let (with, without) = (
                Facts { provenance: Some(&silent), ..world.facts() },
                Facts { provenance: None, ..world.facts() },
            );
            prop_assert_eq!(judge(&policy, &with), judge(&policy, &without));
        }
    }

    #[test]
    fn no_standing_lets_credentials_or_regulated_data_out_or_anything_after_an_attack(seed: u64) {
        let policy = policy(flow(&mut Dice::new(seed)), compile(&[], &[]).unwrap());
        for mut dice in crate::dice(seed) {
            let world = world::world(&mut dice);
            let grave = Words::only(DataClass::Credentials).with(DataClass::Regulated);
            let is_grave = !world.session.classes().intersection(grave).is_empty() || world.session.malicious();
            let given = world.provenance.clone().unwrap_or_else(|| world::provenance(&mut dice));
            let (with, without) = (
                Facts { provenance: Some(&given), ..world.facts() },
                Facts { provenance: None, ..world.facts() },
            );
            let refused = |facts: &Facts<'_>| {
                let judgement = judge(&policy, facts);
                let finding = judgement.findings().iter().find(|finding| finding.id.flow() == Some(FlowRule::Write));
                let effect = finding.map_or(Effect::Allow, |finding| finding.effect);
                (effect, judgement.violations().contains(FlowRule::Write))
            };
            let is_samos = policy.flow_for(&with).mode == FlowMode::Samos;
            // What is refused for its gravity stays so; in `samos` everything does.
            if is_samos || world.session.malicious() {
                prop_assert_eq!(refused(&with), refused(&without));
            } else if is_grave && refused(&without).0 == Effect::Block && policy.flow_for(&with).mode == FlowMode::Balanced {
                prop_assert_eq!(refused(&with).0, Effect::Block);
            }
        }
    }

    #[test]
    fn what_would_have_helped_is_what_the_request_lacked(seed: u64) {
        let policy = policy(flow(&mut Dice::new(seed)), compile(&[], &[]).unwrap());
        for mut dice in crate::dice(seed) {
            let world = world::world(&mut dice);
            let facts = world.facts();
            let told = match decide(&policy, &facts) {
                Verdict::Escalate(asked) => asked.judgement().what_if().to_vec(),
                Verdict::Block(denial) => denial.judgement().what_if().to_vec(),
                Verdict::Allow(_) => continue,
            };
            let Some(asked_for) = told.iter().find(|known| known.otherwise == Otherwise::AskedFor) else { continue };
            let given = facts.by_words().unwrap();
            let lacking = given.lacks.iter().chain(&given.lacks_strictly);
            let pointers: Vec<_> = lacking.filter_map(|lack| lack.pointer.clone()).collect();
            prop_assert!(asked_for.arguments.iter().all(|argument| pointers.contains(argument)));
            let named = |pointer: &_, standing| standing == Standing::Wanted || asked_for.arguments.contains(pointer);
            let targets: Vec<_> = given.arguments.iter().filter(|argument| argument.role == ArgumentRole::Target).collect();
            let wanted = CallProvenance {
                lacks: Vec::new(),
                lacks_strictly: Vec::new(),
                audience_wanted: !targets.is_empty() && targets.iter().all(|argument| named(&argument.pointer, argument.standing)),
                ..given.clone()
            };
            let Demands { effect, .. } = demands(&policy, &Facts { provenance: Some(&wanted), ..facts });
            prop_assert!(effect == asked_for.effect && effect < judge(&policy, &facts).effect());
        }
    }
}

/// A law about what never happens says nothing.
#[test]
fn random_evidence_lifts_some_questions_and_raises_some() {
    let (mut lifted, mut raised) = (0, 0);
    for seed in 0..2_000 {
        let policy = policy(flow(&mut Dice::new(seed)), compile(&[], &[]).unwrap());
        for mut dice in crate::dice(seed) {
            let world = world::world(&mut dice);
            let (with, without) = (world.facts(), Facts { provenance: None, ..world.facts() });
            let (with, without) = (demands(&policy, &with).effect, demands(&policy, &without).effect);
            lifted += u64::from(with < without);
            raised += u64::from(with > without);
        }
    }
    let all = 2_000 * WORLDS;
    assert!(lifted > all / 100 && raised > all / 500, "{lifted} lifted and {raised} raised of {all}");
}
