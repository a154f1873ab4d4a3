//! From a signature to a permit: what a spent approval opens, and what it does not.

use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::{ApprovalWish, Authority, Claim, Claims, Contract, Outcome, Possible};
use highwater_core::approval::{ApprovalReason, ConsumeOutcome, SpentApproval};
use highwater_core::decide::{
    Effect, Escalation, PermittedAction, Proof, Unapproved, Verdict, decide, decide_approved,
};
use highwater_core::grant::Grant;
use highwater_core::id::{DecisionId, Principal, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::policy::{Admission, Facts, Policy};
use highwater_core::trust::{ServerTrust, TrustLevel};
use highwater_passkey::ActionHash;

use crate::scene::{Scene, party};

/// The call of the scene as the gateway would judge it.
struct Road {
    policy: Policy,
    decision: DecisionId,
    principal: Principal,
    virtual_server: VirtualServerId,
    contract: Contract,
    session: Label,
}

fn contract(wish: ApprovalWish) -> Contract {
    let mut claims = Claims::new();
    for claim in [Claim::SetOutcomes(Possible::only(Outcome::Benign)), Claim::SetApproval(wish)] {
        claims.push(claim, Authority::Operator, "test");
    }
    Contract::weigh(&claims, &ServerTrust::of_verified(TrustLevel::Tool, TrustLevel::Tool)).0
}

fn action(params: &str) -> Action {
    Action::new(ActionKind::CallTool, UpstreamId::new("files"), "tools/call", "delete", params)
}

impl Road {
    fn new(admitted: bool) -> Self {
        let (files, virtual_server) = (UpstreamId::new("files"), VirtualServerId::new("default"));
        let held = if admitted { [files.clone()].into() } else { Default::default() };
        Self {
            policy: Policy::new(
                [(files, Admission::default())].into(),
                [(virtual_server.clone(), held)].into(),
            ),
            decision: DecisionId::new("hwd_1"),
            principal: Principal::new("agent"),
            virtual_server,
            contract: contract(ApprovalWish::Passkey),
            session: Label::bottom(),
        }
    }

    fn facts<'a>(&'a self, action: &'a Action) -> Facts<'a> {
        Facts {
            contract: &self.contract,
            session: &self.session,
            grant: Grant::everything(),
            ..Facts::of(&self.decision, &self.principal, &self.virtual_server, action)
        }
    }

    fn asked(&self, action: &Action) -> Escalation {
        match decide(&self.policy, &self.facts(action)) {
            Verdict::Escalate(asked) => asked,
            other => panic!("{other:?}"),
        }
    }
}

fn spent(scene: &Scene) -> SpentApproval {
    scene.judge().unwrap().spend(ConsumeOutcome::Consumed).unwrap()
}

fn hash(scene: &Scene) -> ActionHash {
    ActionHash::of(&scene.tool, &scene.arguments, party().server())
}

#[test]
fn s55_a_signature_that_is_consumed_opens_its_call_once() {
    let (scene, road, call) = (Scene::new(), Road::new(true), action(r#"{"path":"a"}"#));
    let asked = road.asked(&call);
    assert_eq!(asked.grade(), Effect::Passkey);
    let approval = asked.signed(Proof::Native(spent(&scene)), hash(&scene)).unwrap();
    let Verdict::Allow(permit) = decide_approved(&road.policy, &road.facts(&call), approval) else {
        panic!("approved")
    };
    assert!(permit.obligations().approved());
    assert!(PermittedAction::bind(action(r#"{"path":"b"}"#), permit).is_err(), "for these words alone");
}

#[test]
fn s55_what_is_not_consumed_opens_nothing() {
    for (outcome, reason) in [
        (ConsumeOutcome::AlreadyConsumed, ApprovalReason::ChallengeConsumed),
        (ConsumeOutcome::Expired, ApprovalReason::ChallengeExpired),
        (ConsumeOutcome::CredentialGone, ApprovalReason::UnknownCredential),
        (ConsumeOutcome::CounterRegressed, ApprovalReason::SignatureCounterRegression),
    ] {
        assert_eq!(Scene::new().judge().unwrap().spend(outcome).unwrap_err(), reason);
    }
}

#[test]
fn g04_a_signature_for_another_call_or_another_principal_opens_nothing() {
    let (scene, call) = (Scene::new(), action(r#"{"path":"a"}"#));
    let road = Road::new(true);
    let other = road.asked(&call).signed(Proof::Native(spent(&scene)), ActionHash::from([9; 32]));
    assert!(matches!(other, Err(Unapproved::AnotherQuestion(_))));
    let eve = Road { principal: Principal::new("eve"), ..Road::new(true) };
    let stolen = eve.asked(&call).signed(Proof::Native(spent(&scene)), hash(&scene));
    assert!(matches!(stolen, Err(Unapproved::AnotherQuestion(_))));
}

#[test]
fn g21_native_evidence_answers_every_passkey_and_a_block_still_blocks() {
    let (scene, road, call) = (Scene::new(), Road::new(true), action(r#"{"path":"a"}"#));
    let approve = || road.asked(&call).signed(Proof::Native(spent(&scene)), hash(&scene)).unwrap();
    // The session has read strangers in between: more is found, and a signature answers it.
    let doubtful = Road { session: Label::bottom().with_open_world(), ..Road::new(true) };
    let judged = decide_approved(&doubtful.policy, &doubtful.facts(&call), approve());
    assert!(matches!(judged, Verdict::Allow(_)), "{judged:?}");
    let closed = Road::new(false);
    assert!(matches!(decide_approved(&closed.policy, &closed.facts(&call), approve()), Verdict::Block(_)));
}
