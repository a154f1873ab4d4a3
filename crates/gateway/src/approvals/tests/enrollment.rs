//! Who may make a passkey count.

use highwater_core::approval::ApprovalReason;
use highwater_core::decide::Effect;
use highwater_core::id::{ChallengeId, Principal, UserId};
use highwater_passkey::Algorithm;
use highwater_testkit::passkey::Passkey;

use super::{Call, ORIGIN, Room, json};
use crate::approvals::{ApprovalFault, EnrollFrom};

fn reason(fault: ApprovalFault) -> ApprovalReason {
    match fault {
        ApprovalFault::Rejected(rejection) => rejection.reason,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn g20_nothing_is_enrolled_over_the_protocol_while_no_person_opened_an_enrollment() {
    let room = Room::new().await;
    let principal = Principal::new("agent");
    let begun =
        room.approval_service.enroll_begin(Some(&UserId::new("owner")), EnrollFrom::Mcp(&principal)).await;
    assert_eq!(reason(begun.unwrap_err()), ApprovalReason::NoPendingEnrollment);
    let finished = room.approval_service.enroll_finish(EnrollFrom::Mcp(&principal), "{}").await;
    assert_eq!(reason(finished.unwrap_err()), ApprovalReason::NoPendingEnrollment);
}

#[tokio::test]
async fn a_software_key_enrolled_over_the_protocol_approves_nothing() {
    let room = Room::new().await;
    let (owner, principal) = (UserId::new("owner"), Principal::new("agent"));
    room.approval_service.open_window(&owner, "test").await.unwrap();
    let from = EnrollFrom::Mcp(&principal);
    let options = json(&room.approval_service.enroll_begin(Some(&owner), from).await.unwrap());
    let mut rogue = Passkey::fresh(Algorithm::Es256, ORIGIN);
    let response = rogue.create(&options).unwrap().to_string();
    let stored = room.approval_service.enroll_finish(from, &response).await.unwrap();
    assert_eq!(stored.standing, "dormant");
    // It is not offered, and a challenge for it is not issued.
    let request = room.open(&Call::new(Effect::Passkey)).await;
    let issued = room.approval_service.challenge(&request.id, None).await;
    assert_eq!(reason(issued.unwrap_err()), ApprovalReason::NoEligibleCredential);
    // Guessing the code ends the enrollment.
    for left in (0..5).rev() {
        match room.approval_service.confirm_by_code(&stored.id, "AAAA-AAAA-AAAA").await.unwrap_err() {
            ApprovalFault::WrongCode { left: told } => assert_eq!(told, left),
            other => panic!("{other}"),
        }
    }
    assert!(matches!(
        room.approval_service.confirm_by_code(&stored.id, "AAAA-AAAA-AAAA").await.unwrap_err(),
        ApprovalFault::NoWindow
    ));
    // The same response a second time finds nothing to finish (G9).
    let again = room.approval_service.enroll_finish(from, &response).await;
    assert_eq!(reason(again.unwrap_err()), ApprovalReason::NoPendingEnrollment);
}

#[tokio::test]
async fn s10_s12_s14_options_are_new_each_time_and_name_what_is_there() {
    let room = Room::new().await;
    let owner = UserId::new("owner");
    room.approval_service.open_window(&owner, "test").await.unwrap();
    let from = EnrollFrom::Page { session: "s", signed_in: false };
    let first = json(&room.approval_service.enroll_begin(Some(&owner), from).await.unwrap());
    let second = json(&room.approval_service.enroll_begin(Some(&owner), from).await.unwrap());
    assert_ne!(first["challenge"], second["challenge"]);
    assert_eq!(first["user"]["id"], second["user"]["id"]);
    assert_eq!(first["excludeCredentials"], serde_json::json!([]));
    assert_eq!(first["authenticatorSelection"]["userVerification"], "required");
    assert_eq!(
        first["pubKeyCredParams"].as_array().unwrap().iter().map(|it| it["alg"].clone()).collect::<Vec<_>>(),
        [-7, -8, -257]
    );
    // The first challenge was replaced (G9).
    let mut passkey = Passkey::fresh(Algorithm::EdDsa, ORIGIN);
    let response = passkey.create(&first).unwrap().to_string();
    let finished = room.approval_service.enroll_finish(from, &response).await;
    assert_eq!(reason(finished.unwrap_err()), ApprovalReason::VerificationFailed);
    let (_, id) = room.register(&owner).await;
    let third = json(&room.approval_service.enroll_begin(Some(&owner), from).await.unwrap());
    assert_eq!(third["excludeCredentials"][0]["id"], id.as_str());
}

#[tokio::test]
async fn a_further_passkey_is_confirmed_by_an_existing_one_and_by_no_code() {
    let room = Room::new().await;
    let owner = UserId::new("owner");
    let first = room.first_passkey("owner").await;
    let opened = room.approval_service.open_window(&owner, "test").await.unwrap();
    assert_eq!(opened.code, None, "an existing passkey confirms");
    let (_, id) = room.register(&owner).await;
    assert!(matches!(
        room.approval_service.confirm_by_code(&id, "AAAA-AAAA-AAAA").await.unwrap_err(),
        ApprovalFault::NeedsPasskey
    ));
    let envelope = json(&room.approval_service.confirm_challenge(&id).await.unwrap());
    assert!(envelope["displayText"].as_str().unwrap().contains(&id), "what is signed names the new one");
    let response = first.get(&envelope["requestOptions"]).unwrap().to_string();
    let challenge = ChallengeId::new(envelope["challengeId"].as_str().unwrap());
    // Signed for one passkey, it confirms no other.
    let (_, other) = room.register(&owner).await;
    let mismatch = room.approval_service.confirm_assertion(&other, &challenge, &response).await.unwrap_err();
    assert_eq!(reason(mismatch), ApprovalReason::ArgumentHashMismatch);
    let envelope = json(&room.approval_service.confirm_challenge(&id).await.unwrap());
    let response = first.get(&envelope["requestOptions"]).unwrap().to_string();
    let challenge = ChallengeId::new(envelope["challengeId"].as_str().unwrap());
    let confirmed = room.approval_service.confirm_assertion(&id, &challenge, &response).await.unwrap();
    assert_eq!(confirmed.standing, "active");
    for act in ["window-opened", "enrolled", "confirmed-passkey", "signed"] {
        assert!(room.log().contains(&format!(r#""act":"{act}""#)), "{act}");
    }
}

#[tokio::test]
async fn a_signature_to_sign_in_says_who_and_approves_nothing() {
    let room = Room::new().await;
    let passkey = room.first_passkey("owner").await;
    let request = room.open(&Call::new(Effect::Passkey)).await;
    let envelope = json(&room.approval_service.sign_in_challenge().await.unwrap());
    let response = passkey.get(&envelope["requestOptions"]).unwrap().to_string();
    let challenge = envelope["challengeId"].as_str().unwrap();
    let taken = room.approval_service.assertion(&request.id, &ChallengeId::new(challenge), &response).await;
    assert_eq!(reason(taken.unwrap_err()), ApprovalReason::ChallengeUnknown);
    assert_eq!(room.approval_service.sign_in(challenge, &response).await.unwrap(), UserId::new("owner"));
    let again = room.approval_service.sign_in(challenge, &response).await;
    assert_eq!(reason(again.unwrap_err()), ApprovalReason::ChallengeUnknown);
}
