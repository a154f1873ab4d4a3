//! A round of an approved execution (G25) opens exactly its own action for exactly its own principal, once, and nothing
//! that the person was not told of; whatever of it is wrong, it opens nothing. Strangers' words are excused where they are
//! the asking server's, and nobody else's.

use highwater_core::action::Action;
use highwater_core::approval::{
    Grant as Yes, GrantOutcome, LeftOpen, ROUND_LIFETIME_MS, Round, RoundCall, RoundFault, RoundOutcome,
};
use highwater_core::decide::{
    Effect, Escalation, FindingId, Judgement, Permit, Proof, Verdict, decide, decide_approved, judge,
};
use highwater_core::id::{ApprovalId, Principal, SessionKey, UpstreamId};
use highwater_core::label::{Label, TextSet};
use highwater_core::pin::PinDigest;
use highwater_core::policy::{Facts, FlowRule, Policy};
use highwater_core::seal::{Purpose, Seal};
use highwater_notation::Timestamp;
use highwater_passkey::ActionHash;
use highwater_rules::compile;
use proptest::prelude::*;

use crate::dice::Dice;
use crate::world;
use crate::{POLICIES, dice, flow, policy, risen, rules, seeds};

const NOW: Timestamp = Timestamp(1_000);

fn asked(policy: &Policy, facts: &Facts<'_>) -> Option<Escalation> {
    match decide(policy, facts) {
        Verdict::Escalate(asked) => Some(asked),
        Verdict::Allow(_) | Verdict::Block(_) => None,
    }
}

/// The permit of an action that a person agreed to on the page.
fn approved(policy: &Policy, facts: &Facts<'_>, hash: ActionHash) -> Option<Permit> {
    let escalation = asked(policy, facts)?;
    let grant = Yes {
        request: ApprovalId::new("apr_1"),
        principal: facts.principal.clone(),
        action: hash,
        grade: escalation.grade(),
        told: escalation.told(),
    };
    let proof = Proof::Grant(grant.spend(GrantOutcome::Consumed).unwrap());
    match decide_approved(policy, facts, escalation.signed(proof, hash).unwrap()) {
        Verdict::Allow(permit) => Some(permit),
        Verdict::Escalate(_) | Verdict::Block(_) => None,
    }
}

/// What is asked of an action; where its own server alone has spoken, without what it is not asked again.
fn questions(judgement: &Judgement, undisturbed: bool) -> Vec<String> {
    let act = FindingId::Flow(FlowRule::Act);
    let asks = judgement.findings().iter().filter(|finding| {
        finding.effect >= Effect::Confirm
            && (!undisturbed || finding.id != act || finding.effect > Effect::Confirm)
    });
    asks.map(|finding| format!("{} {:?}", finding.id, finding.reasons)).collect()
}

/// What the asking server's words may bring into the session.
fn said(world: &world::World, dice: &mut Dice) -> Label {
    match dice.below(4) {
        0 => Label::bottom(),
        1 => risen(world, dice),
        _ => Label::bottom().with_open_world().with_origin("mcp:mail:send"),
    }
}

/// The session with something else in it: one bit, one scope, one origin, more than are listed, or less than there was.
fn disturbed(session: &Label, world: &world::World, dice: &mut Dice) -> Label {
    let session = session.clone();
    match dice.below(7) {
        0 => session.with_origin("mcp:web:fetch"),
        1 => session.with_scopes(&TextSet::of(["hipaa"])),
        2 => session.with_malicious(),
        3 => session.with_origins(&TextSet::EVERY),
        4 => Label::bottom().with_open_world(),
        5 => Label::top(),
        _ => session.joined(&risen(world, dice)),
    }
}

fn retried(first: &Action, params: &str) -> Action {
    let (method, target) = (first.method().clone(), first.target().clone());
    Action::new(first.kind(), first.upstream().clone(), method, target, params)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(POLICIES))]

    #[test]
    fn g25_a_round_goes_on_with_its_own_call_alone_and_with_what_was_told(made in seeds(), seed: u64) {
        let policy = policy(flow(&mut Dice::new(seed)), compile(&rules(&made, true, |_| true), &[]).unwrap());
        let (mine, other) = (ActionHash::from([1; 32]), ActionHash::from([2; 32]));
        let (seal, foreign) = (Seal::new(&[3; 32]).unwrap(), Seal::new(&[4; 32]).unwrap());
        let session = SessionKey::new("s");
        for mut dice in dice(seed) {
            let world = world::world(&mut dice);
            let facts = world.facts();
            let Some(permit) = approved(&policy, &facts, mine) else { continue };
            let consented = permit.consented().unwrap();
            let upstream = facts.action.upstream();
            let said = said(&world, &mut dice);
            let open = LeftOpen {
                id: "rnd_1", by: "receipt", session: &session, upstream, action: mine, definition: None,
                state: "server's \"own\"", said: &said, now: NOW,
            };
            for wrong in [LeftOpen { action: other, ..open }, LeftOpen { id: "", ..open }] {
                prop_assert!(consented.leave_open(&seal, &wrong).is_none());
            }
            let text = consented.leave_open(&seal, &open).unwrap();
            prop_assert!(Round::open(&foreign, &text).is_none());
            prop_assert!(Purpose::Round.claims(&text) && seal.open::<serde_json::Value>(Purpose::RequestState, &text).is_none());
            let opened = || Round::open(&seal, &text).unwrap();

            // The retry: the same call with answers, and the state of the server.
            let action = retried(facts.action, r#"{"inputResponses":{"a":1},"requestState":"server's \u0022own\""}"#);
            let call = RoundCall {
                principal: facts.principal, session: &session, action: &action, hash: mine, definition: None, now: NOW,
            };
            let (eve, elsewhere) = (Principal::new("eve"), SessionKey::new("t"));
            let stateless = retried(facts.action, r#"{"inputResponses":{"a":1}}"#);
            let stated = retried(facts.action, r#"{"requestState":"another"}"#);
            let far = Action::new(action.kind(), UpstreamId::new("far"), "tools/call", "x", action.params());
            let pulled = PinDigest::parse(&"0".repeat(64));
            let late = Timestamp(NOW.0 + ROUND_LIFETIME_MS);
            for (wrong, fault) in [
                (RoundCall { principal: &eve, ..call }, RoundFault::Foreign),
                (RoundCall { session: &elsewhere, ..call }, RoundFault::Foreign),
                (RoundCall { hash: other, ..call }, RoundFault::Foreign),
                (RoundCall { action: &stateless, ..call }, RoundFault::Foreign),
                (RoundCall { action: &stated, ..call }, RoundFault::Foreign),
                (RoundCall { action: &far, ..call }, RoundFault::Foreign),
                (RoundCall { now: late, ..call }, RoundFault::Expired),
                (RoundCall { definition: pulled, ..call }, RoundFault::Changed),
            ] {
                prop_assert_eq!(opened().resume(&wrong).unwrap_err(), fault);
            }
            let last = RoundCall { now: Timestamp(late.0 - 1), ..call };
            prop_assert!(opened().resume(&last).is_ok());
            for outcome in [RoundOutcome::AlreadyTaken, RoundOutcome::Expired] {
                prop_assert_eq!(opened().resume(&call).unwrap().spend(outcome).unwrap_err(), outcome);
            }

            // Under the label of then, with what the server said, and with anything else: what was told is not asked
            // again, everything else is, and strangers' words are excused where they are the server's own.
            let expected = facts.session.clone().joined(&said);
            let known = !facts.session.untrusted() && !expected.bits().origins_open();
            let labels = [facts.session.clone(), expected.clone(), disturbed(&expected, &world, &mut dice)];
            for label in &labels {
                let now = Facts { action: &action, ..facts }.under(label);
                let Some(escalation) = asked(&policy, &now) else { continue };
                let grade = judge(&policy, &facts).effect();
                let told = questions(&judge(&policy, &facts), false);
                let found = judge(&policy, &now);
                let undisturbed = known && *label == expected;
                let covered = found.effect() <= grade
                    && questions(&found, undisturbed).iter().all(|one| told.contains(one));
                let resumed = opened().resume(&call).unwrap();
                prop_assert_eq!(escalation.goes_on_with(&resumed), covered);
                let proof = || Proof::Round(opened().resume(&call).unwrap().spend(RoundOutcome::Taken).unwrap());
                let again = |facts: &Facts<'_>| asked(&policy, facts).unwrap();
                // For this action as it would be sent, as whoever it was for, and as what was signed.
                prop_assert!(again(&now).signed(proof(), other).is_err());
                let twin = retried(facts.action, r#"{"requestState":"server's \"own\"","inputResponses":{"a":2}}"#);
                if let Some(twin) = asked(&policy, &Facts { action: &twin, ..now }) {
                    prop_assert!(twin.signed(proof(), mine).is_err());
                }
                if let Some(hers) = asked(&policy, &Facts { principal: &eve, ..now }) {
                    prop_assert!(hers.signed(proof(), mine).is_err());
                }
                let approval = again(&now).signed(proof(), mine);
                prop_assert_eq!(approval.is_ok(), covered);
                let Ok(approval) = approval else { continue };
                let Verdict::Allow(permit) = decide_approved(&policy, &now, approval) else {
                    return Err(TestCaseError::fail("covered"));
                };
                // The next round rests on the same approval, and its time is not counted anew.
                let next = permit.consented().unwrap();
                for wrong in [LeftOpen { now: late, ..open }, LeftOpen { action: other, ..open }] {
                    prop_assert!(next.leave_open(&seal, &wrong).is_none());
                }
                // Whoever was heard once is not forgotten: only from where nobody else was heard can that go on.
                prop_assert_eq!(next.heard().is_disturbed(label), label.untrusted() && !undisturbed);
                let text = next.leave_open(&seal, &open).unwrap();
                let later = label.clone().joined(&said);
                let later = Facts { action: &action, ..facts }.under(&later);
                if let Some(escalation) = asked(&policy, &later) {
                    let found = judge(&policy, &later);
                    let undisturbed = undisturbed && !later.session.bits().origins_open();
                    let covered = found.effect() <= grade
                        && questions(&found, undisturbed).iter().all(|one| told.contains(one));
                    let resumed = Round::open(&seal, &text).unwrap().resume(&call).unwrap();
                    prop_assert_eq!(escalation.goes_on_with(&resumed), covered);
                }
                // An approval that was given for this moment is none for a moment in which somebody else has spoken.
                let louder = label.clone().with_open_world().with_origin("mcp:web:fetch");
                let louder = Facts { action: &action, ..facts }.under(&louder);
                let approval = again(&now).signed(proof(), mine).unwrap();
                let found = judge(&policy, &louder);
                let opens = matches!(decide_approved(&policy, &louder, approval), Verdict::Allow(_));
                let told_all = found.effect() <= grade
                    && questions(&found, false).iter().all(|one| told.contains(one));
                prop_assert!(!opens || told_all || found.effect() <= Effect::Redact);
            }
            // A seal that says nothing of the session excuses nothing.
            let mut bare: serde_json::Value = seal.open(Purpose::Round, &text).unwrap();
            bare.as_object_mut().unwrap().remove("heard").unwrap();
            let bare = seal.close(Purpose::Round, &bare).unwrap();
            let now = Facts { action: &action, ..facts }.under(&expected);
            if let Some(escalation) = asked(&policy, &now) {
                let told = questions(&judge(&policy, &facts), false);
                let found = judge(&policy, &now);
                let covered = found.effect() <= judge(&policy, &facts).effect()
                    && questions(&found, false).iter().all(|one| told.contains(one));
                let resumed = Round::open(&seal, &bare).unwrap().resume(&call).unwrap();
                prop_assert_eq!(escalation.goes_on_with(&resumed), covered);
            }
        }
    }
}
