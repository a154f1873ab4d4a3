//! Laws of the decision, over random policies in every mode and random actions: it is monotone in the label, blind to
//! order, bounded from above by the judgement at the worst; waivers leave a question at least and never reach a
//! structural gate; an approval opens its own action and nothing stricter than a question; nothing worth a passkey happens
//! without a proof of exactly this action for exactly this principal; untrusted text never helps; what a policy
//! overlooks it never sees; who vouches for more of a call makes nothing stricter.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

#[path = "../../../core/tests/dice/mod.rs"]
mod dice;
mod overlook;
mod provenance;
mod rounds;
#[path = "../rule_laws/world.rs"]
#[expect(dead_code, reason = "the laws of the rules look at more")]
mod world;

use std::collections::BTreeSet;

use dice::Dice;
use highwater_core::annotation::{
    ApprovalWish, Authority, Claim, Claims, DataClass, Destination, Sensitivity,
};
use highwater_core::approval::{Grant as Yes, GrantOutcome};
use highwater_core::decide::{
    Answer, Clearance, Demands, Effect, Finding, FlowFloor, FlowMode, FlowPolicy, Judgement, Obligations,
    Proof, Received, ReplyFacts, ReplyVerdict, ResultType, Told, Verdict, decide, decide_approved,
    decide_reply, demands, judge, label_reply,
};
use highwater_core::grant::{Grant, Permissions, ServerScope, ToolScope};
use highwater_core::id::{ApprovalId, Principal, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::policy::{Admission, Fact, Facts, FlowRule, Phase, Policy, RuleSet, Span};
use highwater_notation::Timestamp;
use highwater_passkey::ActionHash;
use highwater_rules::{RuleSource, Spanned, WaiverSource, compile};
use proptest::collection::vec;
use proptest::prelude::*;
use world::World;

/// Policies a law is tried on, and actions each of them judges: a hundred thousand cases a law.
const POLICIES: u32 = 4_000;
const WORLDS: u64 = 25;

// === random policies ===

fn flow(dice: &mut Dice) -> FlowPolicy {
    let mut clearance = Clearance::default();
    if dice.one_in(3) {
        clearance = clearance.with(dice.of(Destination::ALL), dice.words::<DataClass>());
    }
    FlowPolicy { mode: dice.of(FlowMode::ALL), clearance, sole_gateway: dice.one_in(2), beside: None }
}

fn policy(flow: FlowPolicy, rules: RuleSet) -> Policy {
    let (mail, default) = (UpstreamId::new("mail"), VirtualServerId::new("default"));
    Policy::new(
        [(
            mail.clone(),
            Admission { extra_methods: BTreeSet::from(["tools/call".to_owned()]), ..Admission::default() },
        )]
        .into(),
        [(default.clone(), [mail].into())].into(),
    )
    .with_flows([(default, flow)].into())
    .with_rules(rules)
}

fn grant(dice: &mut Dice) -> Grant {
    Grant {
        permissions: Permissions::from_bits(u16::try_from(dice.below(16)).unwrap()),
        servers: if dice.one_in(4) { ServerScope::only([]) } else { ServerScope::All },
        tools: if dice.one_in(4) { ToolScope::only([]) } else { ToolScope::All },
        flow: dice.one_in(2).then(|| dice.of(FlowFloor::ALL)),
        expires: dice.one_in(6).then_some(Timestamp(1)),
        ..Grant::everything().clone()
    }
}

/// Rules for calls and for resources, and waivers of them and of the flow rules.
fn rules(seeds: &[u64], non_monotone: bool, keep: fn(&Fact) -> bool) -> Vec<RuleSource> {
    let phases = [Phase::Call, Phase::Resource, Phase::Result];
    let made = phases.iter().flat_map(|phase| world::rules(seeds, *phase, non_monotone, keep));
    let mut rules: Vec<RuleSource> = made.collect();
    for (number, rule) in rules.iter_mut().enumerate() {
        rule.name.value = format!("r{number}");
    }
    rules
}

fn waivers(seeds: &[u64], rules: &[RuleSource]) -> Vec<WaiverSource> {
    let mut waivers = world::waivers(seeds, Phase::Call, rules);
    for waiver in &mut waivers {
        let dice = &mut Dice::new(waiver.waive.len() as u64);
        let flow = dice.of(FlowRule::ALL).finding().to_owned();
        waiver.waive.push(Spanned::new(flow, Span::default()));
    }
    waivers.retain(|waiver| compile(rules, std::slice::from_ref(waiver)).is_ok());
    waivers
}

fn seeds() -> impl Strategy<Value = Vec<u64>> {
    vec(any::<u64>(), 0..4)
}

fn dice(seed: u64) -> impl Iterator<Item = Dice> {
    (0..WORLDS).map(move |number| Dice::new(seed.wrapping_add(number.wrapping_mul(0x5851_f42d_4c95_7f2d))))
}

/// Adds to a label what one more reply may bring.
fn risen(world: &World, dice: &mut Dice) -> Label {
    world.session.clone().joined(&world::label(dice))
}

fn at_least(stricter: &Demands, milder: &Demands) -> bool {
    stricter.effect >= milder.effect && stricter.redactions.kinds().covers(milder.redactions.kinds())
}

fn structural(judgement: &Judgement) -> Vec<&Finding> {
    judgement.findings().iter().filter(|finding| finding.id.is_structural()).collect()
}

fn grade<R>(verdict: &ReplyVerdict<R>) -> u8 {
    match verdict {
        ReplyVerdict::Pass(_) => 0,
        ReplyVerdict::Hold(_) => 1,
        ReplyVerdict::Withhold(_) => 2,
    }
}

/// Whether the thesis' own mode is asked, in which a session that becomes private may read more.
fn knows_samos(policy: &Policy, facts: &Facts<'_>) -> bool {
    policy.flow_for(facts).mode == FlowMode::Samos
}

// === the laws ===

proptest! {
    #![proptest_config(ProptestConfig { cases: POLICIES, ..ProptestConfig::default() })]

    #[test]
    fn a_grant_only_narrows_and_stays_monotone_in_the_label(made in seeds(), seed: u64) {
        // A rule that looks at permissions may be about having them.
        let rules = rules(&made, false, |fact| fact.path != "agent.permissions");
        let policy = policy(flow(&mut Dice::new(seed)), compile(&rules, &[]).unwrap());
        for mut dice in dice(seed) {
            let world = world::world(&mut dice);
            let grant = grant(&mut dice);
            let granted = Facts { grant: &grant, ..world.facts() };
            let (whole, less) = (demands(&policy, &world.facts()), demands(&policy, &granted));
            prop_assert!(at_least(&less, &whole), "{grant:?} makes {less:?} of {whole:?}: {world:?}");
            let label = risen(&world, &mut dice);
            let risen = demands(&policy, &granted.under(&label));
            prop_assert!(at_least(&risen, &less) || knows_samos(&policy, &granted), "{less:?} became {risen:?}: {world:?}");
            prop_assert_eq!(judge(&policy, &granted).demands(), less);
        }
    }

    #[test]
    fn a_decision_is_monotone_in_the_label(made in seeds(), waived in seeds(), seed: u64) {
        let rules = rules(&made, false, |_| true);
        let set = compile(&rules, &waivers(&waived, &rules)).unwrap();
        prop_assert!(set.monotone());
        let policy = policy(flow(&mut Dice::new(seed)), set);
        for mut dice in dice(seed) {
            let world = world::world(&mut dice);
            let low = world.facts();
            let label = risen(&world, &mut dice);
            let high = low.under(&label);
            let (before, after) = (judge(&policy, &low), judge(&policy, &high));
            let monotone = at_least(&after.demands(), &before.demands());
            prop_assert!(monotone || knows_samos(&policy, &low), "{:?} became {:?}", before, after);
            // So is what the other modes would have done.
            let would = |judgement: &Judgement, mode| judgement.would().map_or(Effect::Allow, |would| would.get(mode));
            for mode in [FlowMode::Balanced, FlowMode::Strict] {
                prop_assert!(would(&before, mode) <= would(&after, mode));
            }
            // The short form says the same.
            prop_assert_eq!(demands(&policy, &low), before.demands());
        }
    }

    #[test]
    fn the_judgement_at_the_worst_is_above_every_label(made in seeds(), waived in seeds(), seed: u64) {
        // Also for rules that may fall silent as the label rises: what is unknown fires.
        let rules = rules(&made, true, |_| true);
        let policy = policy(flow(&mut Dice::new(seed)), compile(&rules, &waivers(&waived, &rules)).unwrap());
        for mut dice in dice(seed) {
            let world = world::world(&mut dice);
            let label = risen(&world, &mut dice);
            let worst = demands(&policy, &world.facts().at_worst());
            prop_assert!(at_least(&worst, &demands(&policy, &world.facts())));
            prop_assert!(at_least(&worst, &demands(&policy, &world.facts().under(&label))));
        }
    }

    #[test]
    fn order_means_nothing(made in seeds(), waived in seeds(), seed: u64) {
        let mut rules = rules(&made, true, |_| true);
        let mut waivers = waivers(&waived, &rules);
        let flow = flow(&mut Dice::new(seed));
        let first = policy(flow.clone(), compile(&rules, &waivers).unwrap());
        rules.reverse();
        waivers.reverse();
        let second = policy(flow, compile(&rules, &waivers).unwrap());
        for mut dice in dice(seed) {
            let world = world::world(&mut dice);
            let (one, other) = (judge(&first, &world.facts()), judge(&second, &world.facts()));
            prop_assert_eq!(one.demands(), other.demands());
            // A finding may be lowered by one of two waivers that both apply; all else is the same.
            let plain = |judgement: &Judgement| -> BTreeSet<String> {
                let lowered = |finding: &Finding| finding.waived.is_some();
                judgement.findings().iter().filter(|finding| !lowered(finding)).map(|finding| format!("{finding:?}")).collect()
            };
            prop_assert_eq!(plain(&one), plain(&other));
            prop_assert_eq!(one.findings().len(), other.findings().len());
        }
    }

    #[test]
    fn a_waiver_leaves_a_question_and_no_structural_gate_hears_of_it(made in seeds(), waived in vec(any::<u64>(), 1..6), seed: u64) {
        let rules = rules(&made, true, |_| true);
        let flow = flow(&mut Dice::new(seed));
        let strict = policy(flow.clone(), compile(&rules, &[]).unwrap());
        let waiving = policy(flow, compile(&rules, &waivers(&waived, &rules)).unwrap());
        for mut dice in dice(seed) {
            let world = world::world(&mut dice);
            let (before, after) = (judge(&strict, &world.facts()), judge(&waiving, &world.facts()));
            prop_assert!(after.effect() >= before.effect().min(Effect::Confirm));
            prop_assert!(after.effect() <= before.effect());
            prop_assert_eq!(structural(&before), structural(&after));
            prop_assert_eq!(before.redactions(), after.redactions());
            prop_assert_eq!(before.findings().len(), after.findings().len());
        }
    }

    #[test]
    fn an_approval_opens_its_own_action_and_nothing_stricter(made in seeds(), seed: u64) {
        let policy = policy(flow(&mut Dice::new(seed)), compile(&rules(&made, true, |_| true), &[]).unwrap());
        let eve = Principal::new("eve");
        for mut dice in dice(seed) {
            let (mine, other) = (world::world(&mut dice), world::world(&mut dice));
            let approve = |world: &World| match decide(&policy, &world.facts()) {
                Verdict::Escalate(escalation) if escalation.grade() == Effect::Confirm => {
                    let question = escalation.question();
                    Some(escalation.answered(question, Answer::Approve).unwrap())
                }
                Verdict::Escalate(_) | Verdict::Allow(_) | Verdict::Block(_) => None,
            };
            let Some(approval) = approve(&mine) else { continue };
            prop_assert!(matches!(decide_approved(&policy, &mine.facts(), approval), Verdict::Allow(_)));
            let label = risen(&mine, &mut dice);
            for elsewhere in [other.facts(), mine.facts().under(&label), Facts { principal: &eve, ..mine.facts() }] {
                let judgement = judge(&policy, &elsewhere);
                let same = elsewhere.action.digest() == mine.facts().action.digest()
                    && elsewhere.principal == mine.facts().principal;
                let known: BTreeSet<_> =
                    judge(&policy, &mine.facts()).findings().iter().map(|finding| finding.id.clone()).collect();
                let told = judgement.findings().iter().all(|finding| finding.effect < Effect::Confirm || known.contains(&finding.id));
                let opened = matches!(decide_approved(&policy, &elsewhere, approve(&mine).unwrap()), Verdict::Allow(_));
                let free = judgement.effect() < Effect::Confirm;
                prop_assert!(!opened || free || same && told && judgement.effect() == Effect::Confirm);
            }
        }
    }

    #[test]
    fn no_permit_worth_a_passkey_without_a_proof_of_exactly_this(made in seeds(), seed: u64) {
        let policy = policy(flow(&mut Dice::new(seed)), compile(&rules(&made, true, |_| true), &[]).unwrap());
        let (mine, other) = (ActionHash::from([1; 32]), ActionHash::from([2; 32]));
        for mut dice in dice(seed) {
            let world = world::world(&mut dice);
            let facts = world.facts();
            let effect = judge(&policy, &facts).effect();
            // Everything below a question is allowed, everything that is one asks, a block is a block.
            match decide(&policy, &facts) {
                Verdict::Allow(_) => prop_assert!(effect < Effect::Confirm),
                Verdict::Escalate(asked) => prop_assert_eq!(asked.grade(), effect),
                Verdict::Block(_) => prop_assert_eq!(effect, Effect::Block),
            }
            let ask = || match decide(&policy, &facts) {
                Verdict::Escalate(asked) if asked.grade() == Effect::Passkey => Some(asked),
                Verdict::Escalate(_) | Verdict::Allow(_) | Verdict::Block(_) => None,
            };
            let Some(asked) = ask() else { continue };
            // A word is never enough, whatever it answers.
            let question = asked.question();
            let told = asked.told();
            prop_assert!(asked.answered(question, Answer::Approve).is_err());
            // A grant is, if principal, action, worth and what was told are right; one of them wrong, and it is not.
            let wrong = dice.below(5);
            let grant = Yes {
                request: ApprovalId::new("apr_1"),
                principal: if wrong == 1 { Principal::new("eve") } else { facts.principal.clone() },
                action: if wrong == 2 { other } else { mine },
                grade: if wrong == 3 { Effect::Confirm } else { Effect::Passkey },
                told: if wrong == 4 { Told::default() } else { told },
            };
            let proof = Proof::Grant(grant.spend(GrantOutcome::Consumed).unwrap());
            let approval = ask().unwrap().signed(proof, mine);
            prop_assert_eq!(approval.is_ok(), wrong == 0, "{}", wrong);
            let Ok(approval) = approval else { continue };
            // And what it opens is this action, under no stricter judgement than the one it answers.
            let label = risen(&world, &mut dice);
            let after = judge(&policy, &facts.under(&label));
            let same = after.findings().iter().all(|finding| {
                finding.effect < Effect::Confirm
                    || judge(&policy, &facts).findings().iter().any(|known| {
                        known.id == finding.id && known.reasons == finding.reasons && known.effect >= Effect::Confirm
                    })
            });
            let opened = matches!(decide_approved(&policy, &facts.under(&label), approval), Verdict::Allow(_));
            let free = after.effect() < Effect::Confirm;
            prop_assert_eq!(opened, free || same && after.effect() <= Effect::Passkey);
        }
    }

    #[test]
    fn untrusted_text_never_helps(made in seeds(), seed: u64) {
        // A rule may look at what a reply says of itself and do as its author wants; the laws are about the rest.
        let rules = rules(&made, false, |fact| !fact.path.starts_with("response."));
        let policy = policy(flow(&mut Dice::new(seed)), compile(&rules, &[]).unwrap());
        for mut dice in dice(seed) {
            let world = world::world(&mut dice);
            let facts = world.facts();
            let mut claims = Claims::new();
            let judged = |claims: Claims, marks: &Label| {
                let known = ReplyFacts { claims, marks: marks.clone(), ..ReplyFacts::new(ResultType::Complete) };
                let labelled = label_reply(&policy, &facts, Received::new((), known));
                let label = labelled.label().clone();
                (grade(&decide_reply(&policy, &facts, Obligations::default(), labelled)), label)
            };
            let (plain, little) = judged(claims.clone(), &Label::bottom());
            let said = [
                Claim::OpenWorld,
                Claim::Malicious,
                Claim::Untrusted,
                Claim::AddReturns(Sensitivity::of(dice.words::<DataClass>().iter())),
                Claim::SetApproval(ApprovalWish::None),
                Claim::AcceptsAny,
                Claim::SetReturns(Sensitivity::none()),
            ];
            // A server that is believed may say that its reply holds nothing.
            let count = if facts.contract.server().is_believed() { said.len() - 1 } else { said.len() };
            for _ in 0..dice.below(3) {
                claims.push(said[dice.below(count)].clone(), Authority::DeclaredVerified, "test");
            }
            let (wordy, more) = judged(claims, &world::label(&mut dice));
            prop_assert!(wordy >= plain && more.covers(&little));
            // And what was read makes nothing milder that comes after it.
            let after = world.session.clone().joined(&more);
            let stricter = at_least(&demands(&policy, &facts.under(&after)), &demands(&policy, &facts));
            prop_assert!(stricter || knows_samos(&policy, &facts));
        }
    }
}

/// Laws about policies that always allow, or never, would say nothing.
#[test]
fn random_decisions_are_worth_looking_at() {
    let mut seen = [0; 5];
    for seed in 0..3_000 {
        let dice = &mut Dice::new(seed);
        let flow = flow(dice);
        let policy = policy(flow, compile(&rules(&[seed], true, |_| true), &[]).unwrap());
        let world = world::world(dice);
        let judgement = judge(&policy, &world.facts());
        seen[judgement.effect() as usize] += 1;
        let told: BTreeSet<_> = judgement.findings().iter().map(|finding| &finding.id).collect();
        assert_eq!(told.len(), judgement.findings().len(), "no gate is told twice: {judgement:?}");
    }
    assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
}
