//! What a policy overlooks it never sees: with such a label or without it, every decision about every action and every
//! reply is the same, in every mode and for rules of any kind.

use std::collections::BTreeSet;
use std::sync::Arc;

use highwater_core::annotation::{Authority, Claim, Claims, Contract, DataClass, Source};
use highwater_core::decide::{
    Demands, Effect, FindingId, FlowMode, FlowPolicies, Judgement, Obligations, Received, ReplyFacts,
    ResultType, decide_reply, demands, judge, label_reply,
};
use highwater_core::label::{Label, TextSet};
use highwater_core::policy::{Fact, Facts, Policy};
use highwater_core::trust::TrustLevel;
use highwater_rules::{RuleSource, compile};
use proptest::prelude::*;

use crate::dice::Dice;
use crate::world::{self, World};
use crate::{POLICIES, WORLDS, flow, grade, policy, rules, seeds, waivers};

/// Labels mostly of what is known and public, with something more in one of a few.
fn faint(dice: &mut Dice) -> Label {
    const TRUSTED: &[TrustLevel] =
        &[TrustLevel::Tool, TrustLevel::Agent, TrustLevel::System, TrustLevel::User, TrustLevel::Owner];
    let mut label = Label::bottom().with_integrity(dice.of(TRUSTED));
    if dice.one_in(2) {
        label = label.with_source(dice.of(Source::ALL));
    }
    if dice.one_in(2) {
        label = label.with_origin(dice.of(&["t000", "t001", "mcp:mail:send"]));
    }
    if dice.one_in(4) {
        label = label.with_wrote_externally();
    }
    if dice.one_in(6) { label.joined(&world::label(dice)) } else { label }
}

/// The contract of the action, and whose data its server takes, if it says so.
fn accepting(world: &World, dice: &mut Dice) -> Contract {
    const TOKENS: &[&str] = &["self", "user", "host", "verified", "tofu", "unverified", "t000"];
    let tokens: Arc<[Arc<str>]> = (0..dice.below(6)).map(|_| Arc::from(dice.of(TOKENS))).collect();
    let mut claims = Claims::new();
    claims.push(Claim::AcceptFrom(tokens), Authority::DeclaredVerified, "test");
    let facts = world.facts();
    facts.contract.clone().weighed(&claims, &facts.server.trust).0
}

/// Everything that somebody could notice of a judgement.
fn noticed(
    policy: &Policy,
    facts: &Facts<'_>,
) -> (Demands, BTreeSet<(FindingId, Effect)>, Vec<Effect>, Demands) {
    let judgement = judge(policy, facts);
    let found = judgement.findings().iter().map(|finding| (finding.id.clone(), finding.effect)).collect();
    let would =
        |judgement: &Judgement, mode| judgement.would().map_or(Effect::Allow, |would| would.get(mode));
    let would = FlowMode::ENFORCING.map(|mode| would(&judgement, mode)).to_vec();
    (judgement.demands(), found, would, demands(policy, &facts.at_worst()))
}

/// What becomes of a reply that brings this.
fn of_reply(policy: &Policy, facts: &Facts<'_>, brings: &Label) -> u8 {
    let known = ReplyFacts { marks: brings.clone(), ..ReplyFacts::new(ResultType::Complete) };
    let labelled = label_reply(policy, facts, Received::new((), known));
    grade(&decide_reply(policy, facts, Obligations::default(), labelled))
}

/// Plays the cases of one policy, and says how many labels it overlooked.
fn hold(policy: &Policy, seed: u64) -> Result<u64, TestCaseError> {
    let mut overlooked = 0;
    for mut dice in crate::dice(seed) {
        let label = faint(&mut dice);
        let world = world::world(&mut dice);
        let stated = accepting(&world, &mut dice);
        let brings = world::label(&mut dice);
        for (flows, contract) in
            [(FlowPolicies::Unstated, world.facts().contract), (FlowPolicies::Stated, &stated)]
        {
            let Some(proof) = policy.overlooks(&label, flows) else { continue };
            overlooked += 1;
            let facts = Facts { contract, ..world.facts() };
            let with = world.session.clone().joined(proof.label());
            prop_assert_eq!(noticed(policy, &facts), noticed(policy, &facts.under(&with)), "{:?}", &label);
            prop_assert_eq!(
                of_reply(policy, &facts, &brings),
                of_reply(policy, &facts.under(&with), &brings)
            );
            // What was written in a session that has taken it in is marked with it.
            let marked = brings.clone().joined(proof.label());
            prop_assert_eq!(of_reply(policy, &facts, &brings), of_reply(policy, &facts, &marked));
        }
    }
    Ok(overlooked)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: POLICIES, ..ProptestConfig::default() })]

    #[test]
    fn what_a_policy_overlooks_it_never_sees(made in seeds(), waived in seeds(), seed: u64) {
        let rules = rules(&made, true, |_| true);
        let set = compile(&rules, &waivers(&waived, &rules)).unwrap();
        hold(&policy(flow(&mut Dice::new(seed)), set), seed)?;
    }
}

/// A law about what never happens says nothing.
#[test]
fn a_policy_overlooks_much_and_not_everything() {
    let count = |keep: fn(&Fact) -> bool| -> u64 {
        (0..400)
            .map(|seed| {
                let rules: Vec<RuleSource> = rules(&[seed, seed + 1, seed + 2], true, keep);
                hold(&policy(flow(&mut Dice::new(seed)), compile(&rules, &[]).unwrap()), seed).unwrap()
            })
            .sum()
    };
    let all = 400 * WORLDS * 2;
    let (plain, seeing) = (count(|fact| !fact.path.starts_with("session.")), count(|_| true));
    assert!(plain > all / 3, "{plain} of {all}");
    assert!(seeing > all / 50 && seeing < plain, "{seeing} of {all}, {plain} without rules about sessions");
}

#[test]
fn what_gates_look_at_is_never_overlooked() {
    let lax = policy(flow(&mut Dice::new(0)), compile(&[], &[]).unwrap());
    let known = Label::bottom().with_integrity(TrustLevel::Tool).with_source(Source::System);
    assert!(lax.overlooks(&known, FlowPolicies::Stated).is_some());
    let named = known.clone().with_origin("mcp:mail:send");
    assert!(lax.overlooks(&named, FlowPolicies::Unstated).is_some());
    assert!(lax.overlooks(&named, FlowPolicies::Stated).is_none());
    for seen in [
        known.clone().with_integrity(TrustLevel::None),
        known.clone().with_open_world(),
        known.clone().with_malicious(),
        known.clone().with_class(DataClass::User),
        known.clone().with_scopes(&TextSet::of(["gdpr"])),
        known.clone().with_scopes(&TextSet::EVERY),
        Label::top(),
    ] {
        assert!(lax.overlooks(&seen, FlowPolicies::Unstated).is_none(), "{seen:?}");
    }
}

/// A rule that looks at part of a label sees it, and only that.
#[test]
fn what_a_rule_looks_at_is_not_overlooked() {
    let tool = Label::bottom().with_integrity(TrustLevel::Tool);
    let system = Label::bottom().with_integrity(TrustLevel::System);
    let read = Label::bottom().with_source(Source::System);
    let wrote = Label::bottom().with_wrote_externally();
    let named = Label::bottom().with_origin("mcp:mail:send");
    let all = [&tool, &system, &read, &wrote, &named];
    for (fact, unseen) in [
        ("session.integrity", vec![&read, &wrote, &named]),
        ("session.risk", vec![&system, &read, &named]),
        ("session.sources", vec![&tool, &system, &wrote, &named]),
        ("session.wroteExternally", vec![&tool, &system, &read, &named]),
        ("session.attribution", vec![&tool, &system, &read, &wrote]),
        ("request.annotations.attribution", vec![&tool, &system, &read, &wrote]),
        ("session.sensitivity", all.to_vec()),
        ("flow.violations", all.to_vec()),
        ("session.untrusted", all.to_vec()),
    ] {
        let made = (0..).map(|seed| rules(&[seed], true, |_| true)).map(|mut rules| {
            rules.retain(|rule| {
                compile(std::slice::from_ref(rule), &[])
                    .unwrap()
                    .subjects()
                    .iter()
                    .all(|of| of.path() == fact)
            });
            rules
        });
        let rules = made.into_iter().find(|rules| !rules.is_empty()).unwrap();
        let policy = policy(flow(&mut Dice::new(0)), compile(&rules, &[]).unwrap());
        for label in all {
            let overlooked = policy.overlooks(label, FlowPolicies::Unstated).is_some();
            assert_eq!(overlooked, unseen.contains(&label), "{fact}: {label:?}");
        }
    }
}
