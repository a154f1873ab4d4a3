//! Challenges and signatures of requests.

use std::collections::HashSet;

use highwater_core::approval::{ApprovalReason, GrantOutcome, Quorum};
use highwater_core::decide::Effect;
use highwater_core::id::{ChallengeId, Principal, UserId};
use highwater_receipts::{Expected, check_chain};

use super::{Call, Room, digest, json, open};
use crate::approvals::{ApprovalFault, ApprovalState};

fn reason(fault: ApprovalFault) -> ApprovalReason {
    match fault {
        ApprovalFault::Rejected(rejection) => rejection.reason,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_signed_request_is_a_grant_for_one_call() {
    let room = Room::new().await;
    let passkey = room.first_passkey("owner").await;
    let call = Call::new(Effect::Passkey);
    let request = room.open(&call).await;
    assert_eq!(room.sign(&request.id, "owner", &passkey).await.unwrap(), ApprovalState::Approved);
    let agent = Principal::new("agent");
    let (hash, definition) = (room.hash(&call), Some(digest(1)));
    let spend = |principal: Principal, hash, definition| {
        let (room, request) = (&room, &request);
        async move {
            room.approval_service
                .use_grant(request, (&principal, &request.session), hash, definition)
                .await
                .unwrap()
        }
    };
    assert_eq!(spend(Principal::new("other"), hash, definition).await, GrantOutcome::Unknown);
    let other = room.hash(&Call::new(Effect::Passkey).with(|call| call.arguments = "{}".to_owned()));
    assert_eq!(spend(agent.clone(), other, definition).await, GrantOutcome::Unknown);
    assert_eq!(spend(agent.clone(), hash, definition).await, GrantOutcome::Consumed);
    assert_eq!(spend(agent, hash, definition).await, GrantOutcome::AlreadyConsumed);
}

#[tokio::test]
async fn s28_challenges_never_repeat_and_ten_are_enough() {
    let room = Room::new().await;
    let _passkey = room.first_passkey("owner").await;
    let request = room.open(&Call::new(Effect::Passkey)).await;
    let mut seen = HashSet::new();
    for _ in 0..10 {
        let envelope = json(&room.approval_service.challenge(&request.id, None).await.unwrap());
        let challenge = envelope["requestOptions"]["challenge"].as_str().unwrap().to_owned();
        assert_eq!(challenge.len(), 86);
        assert_eq!(envelope["requestOptions"]["userVerification"], "required");
        assert!(seen.insert(challenge));
    }
    assert!(matches!(
        room.approval_service.challenge(&request.id, None).await.unwrap_err(),
        ApprovalFault::TooMany
    ));
}

#[tokio::test]
async fn s52_a_bad_signature_leaves_the_challenge_for_a_good_one() {
    let room = Room::new().await;
    let passkey = room.first_passkey("owner").await;
    let request = room.open(&Call::new(Effect::Passkey)).await;
    let envelope = json(&room.approval_service.challenge(&request.id, None).await.unwrap());
    let challenge = ChallengeId::new(envelope["challengeId"].as_str().unwrap());
    let good = passkey.get(&envelope["requestOptions"]).unwrap();
    let mut bad = good.clone();
    bad["response"]["signature"] = "AAAA".into();
    let rejected =
        room.approval_service.assertion(&request.id, &challenge, &bad.to_string()).await.unwrap_err();
    assert_eq!(reason(rejected), ApprovalReason::SignatureVerificationFailed);
    // A challenge of one request answers no other.
    let other = room.open(&Call::new(Effect::Passkey).with(|call| call.arguments = "{}".to_owned())).await;
    let rejected =
        room.approval_service.assertion(&other.id, &challenge, &good.to_string()).await.unwrap_err();
    assert_eq!(reason(rejected), ApprovalReason::ChallengeUnknown);
    let state = room.approval_service.assertion(&request.id, &challenge, &good.to_string()).await.unwrap();
    assert_eq!(state, ApprovalState::Approved);
    let again =
        room.approval_service.assertion(&request.id, &challenge, &good.to_string()).await.unwrap_err();
    assert_eq!(reason(again), ApprovalReason::ChallengeConsumed);
    assert!(room.log().contains("signature_verification_failed"), "what was rejected is on record");
}

#[tokio::test]
async fn a_button_never_answers_what_asks_for_a_passkey() {
    let room = Room::new().await;
    let request = room.open(&Call::new(Effect::Passkey)).await;
    let by = crate::approvals::By::Operator("op");
    assert!(matches!(
        room.approval_service.confirm(&request.id, by, None).await.unwrap_err(),
        ApprovalFault::NeedsPasskey
    ));
    let other = UserId::new("somebody");
    assert!(matches!(
        room.approval_service.challenge(&request.id, Some(&other)).await.unwrap_err(),
        ApprovalFault::NotAsked
    ));
}

#[tokio::test]
async fn several_people_sign_and_each_leaves_a_receipt() {
    let room = Room::new().await;
    let mut keys = Vec::new();
    for user in ["ada", "ben", "owner"] {
        keys.push((user, room.first_passkey(user).await));
    }
    let approvers = ["ada", "ben", "owner"].map(UserId::new).into();
    let quorum = Quorum { n: 2, approvers, requester_counts: false };
    let call = Call::new(Effect::Passkey).with(|call| call.quorum = Some(quorum));
    let request = room.open(&call).await;
    let signs = |place: usize| {
        let (user, key) = keys.get(place).unwrap();
        room.sign(&request.id, user, key)
    };
    // The one who asks does not count.
    assert!(matches!(signs(2).await.unwrap_err(), ApprovalFault::NotAsked));
    assert_eq!(signs(0).await.unwrap(), ApprovalState::Pending);
    // One person is one: a second signature is refused before it is made, and one that was made before is not taken.
    assert!(matches!(signs(0).await.unwrap_err(), ApprovalFault::AlreadySigned));
    let view = room.approval_service.view(&request.id).await.unwrap().unwrap();
    assert_eq!(
        view.need.approvers,
        ["ada", "ben"].map(UserId::new),
        "the one who asks is not among those who may"
    );
    assert!(view.need.signed.contains(&UserId::new("ada")));
    assert_eq!(signs(1).await.unwrap(), ApprovalState::Approved);
    let receipts = room.approval_service.receipts(0, 100).await.unwrap();
    let of_request = |it: &&highwater_receipts::SignedReceipt| {
        it.receipt().approval_id.as_deref() == Some(request.id.as_str())
    };
    assert_eq!(receipts.iter().filter(of_request).count(), 2);
}

#[tokio::test]
async fn d16_a_second_signature_of_the_same_person_is_answered_honestly() {
    let room = Room::new().await;
    let (ada, key) = (UserId::new("ada"), room.first_passkey("ada").await);
    let approvers = ["ada", "ben"].map(UserId::new).into();
    let quorum = Quorum { n: 2, approvers, requester_counts: false };
    let request = room.open(&Call::new(Effect::Passkey).with(|call| call.quorum = Some(quorum))).await;
    // Two challenges are open at once, as in two tabs.
    let mut signed = Vec::new();
    for _ in 0..2 {
        let envelope = json(&room.approval_service.challenge(&request.id, Some(&ada)).await.unwrap());
        let response = key.get(&envelope["requestOptions"]).unwrap().to_string();
        signed.push((ChallengeId::new(envelope["challengeId"].as_str().unwrap()), response));
    }
    let take = async |at: usize| {
        let (challenge, response): &(ChallengeId, String) = signed.get(at).unwrap();
        room.approval_service.assertion(&request.id, challenge, response).await
    };
    assert_eq!(take(0).await.unwrap(), ApprovalState::Pending);
    assert!(matches!(take(1).await.unwrap_err(), ApprovalFault::AlreadySigned));
    assert_eq!(room.approval_service.receipts(0, 10).await.unwrap().len(), 1);
    // A passkey that was taken back has not signed, and its owner may again with another.
    let [only] = &*room.approval_service.credentials().await.unwrap() else { panic!("one passkey") };
    room.approval_service.revoke_credential(&only.id, "ada", "lost").await.unwrap();
    let another = room.first_passkey("ada").await;
    assert_eq!(room.sign(&request.id, "ada", &another).await.unwrap(), ApprovalState::Pending);
    let view = room.approval_service.view(&request.id).await.unwrap().unwrap();
    assert_eq!(view.need.signed, [ada]);
}

#[tokio::test]
async fn receipts_are_chained_signed_and_hold_by_themselves() {
    let room = Room::new().await;
    let passkey = room.first_passkey("owner").await;
    for path in ["a", "b"] {
        let call = Call::new(Effect::Passkey).with(|call| call.arguments = format!(r#"{{"path":"{path}"}}"#));
        let request = room.open(&call).await;
        room.sign(&request.id, "owner", &passkey).await.unwrap();
    }
    let receipts = room.approval_service.receipts(0, 100).await.unwrap();
    let texts: Vec<String> = receipts.iter().map(|receipt| receipt.to_text()).collect();
    assert_eq!(texts.len(), 2);
    assert_eq!(check_chain(&receipts), []);
    let expected = Expected {
        rp_id: "localhost",
        origins: &[super::ORIGIN],
        gateway_key: Some(room.approval_service.receipt_key()),
        enrollments: None,
        auditor: None,
        opened: &[],
    };
    for text in &texts {
        let report = highwater_receipts::check(text, &expected);
        assert!(report.holds(), "{report:?}");
    }
}

#[tokio::test]
async fn s36_the_installation_is_the_same_after_a_restart() {
    let room = Room::new().await;
    let passkey = room.first_passkey("owner").await;
    let before = room.approval_service.server().clone();
    let Room { approval_service, folder } = room;
    drop(approval_service);
    let approval_service = open(&folder, highwater_config::ApprovalSettings::default()).await;
    assert_eq!(*approval_service.server(), before);
    let view = approval_service.credentials().await.unwrap();
    assert_eq!(view.len(), 1);
    drop(passkey);
}
