//! A round of an approved execution (G25) opens exactly its own action for exactly its own principal, once, and nothing
//! that the person was not told of; whatever of it is wrong, it opens nothing.

use highwater_core::action::Action;
use highwater_core::approval::{
    ActionHash, Grant as Yes, GrantOutcome, LeftOpen, ROUND_LIFETIME_MS, Round, RoundCall, RoundFault,
    RoundOutcome,
};
use highwater_core::decide::{
    Effect, Escalation, FindingId, Judgement, Permit, Proof, Verdict, decide, decide_approved, judge,
};
use highwater_core::id::{ApprovalId, Principal, SessionKey, Timestamp, UpstreamId};
use highwater_core::pin::PinDigest;
use highwater_core::policy::{Facts, FlowRule, Policy, compile};
use highwater_core::seal::{Purpose, Seal};
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

/// What is asked of an action, without what an action that is under way is not asked again.
fn questions(judgement: &Judgement) -> Vec<String> {
    let act = FindingId::Flow(FlowRule::Act);
    let asks = judgement.findings().iter().filter(|finding| {
        finding.effect >= Effect::Confirm && (finding.id != act || finding.effect > Effect::Confirm)
    });
    asks.map(|finding| format!("{} {:?}", finding.id, finding.reasons)).collect()
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
            let open = LeftOpen {
                id: "rnd_1", by: "receipt", session: &session, upstream, action: mine, definition: None,
                state: "server's \"own\"", now: NOW,
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

            // Under the label of then, and under a higher one: what was told is not asked again, everything else is.
            let label = risen(&world, &mut dice);
            for now in [Facts { action: &action, ..facts }, Facts { action: &action, ..facts }.under(&label)] {
                let Some(escalation) = asked(&policy, &now) else { continue };
                let grade = judge(&policy, &facts).effect();
                let told = questions(&judge(&policy, &facts));
                let found = judge(&policy, &now);
                let covered = found.effect() <= grade && questions(&found).iter().all(|one| told.contains(one));
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
                prop_assert!(next.leave_open(&seal, &open).is_some());
            }
        }
    }
}
