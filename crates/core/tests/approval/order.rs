//! The order of the checks: whatever fails two of them is told the earlier (S54).

use highwater_core::approval::{ApprovalReason, AuthenticatorClass, ConsumeOutcome, CredentialStanding};
use highwater_core::id::{ChallengeId, Principal, UpstreamId, UserId};
use highwater_passkey::ToolName;
use serde_json::{Value, json};

use crate::scene::{Scene, arguments, definition, transports};

type Spoil = fn(&mut Scene);

/// One way to fail each check, in their order.
const CHECKS: [(ApprovalReason, Spoil); 12] = [
    (ApprovalReason::MissingEvidence, |scene| scene.evidence = Value::Null),
    (ApprovalReason::MissingEvidence, |scene| {
        if let Some(evidence) = scene.evidence.as_object_mut() {
            evidence.remove("challengeId");
        }
    }),
    (ApprovalReason::UnsupportedMethod, |scene| {
        if let Some(evidence) = scene.evidence.as_object_mut() {
            evidence.insert("method".to_owned(), json!("password"));
        }
    }),
    (ApprovalReason::ChallengeUnknown, |scene| scene.principal = Principal::new("other")),
    (ApprovalReason::ChallengeConsumed, |scene| scene.challenge().consumed = true),
    (ApprovalReason::ChallengeExpired, |scene| scene.now = scene.challenge().expires),
    (ApprovalReason::ChallengeWrongTool, |scene| scene.tool = ToolName::exposed("files__read").unwrap()),
    (ApprovalReason::UnknownCredential, |scene| scene.credential().standing = CredentialStanding::Revoked),
    (ApprovalReason::AuthenticatorClassMismatch, |scene| {
        scene.credential().transports = transports(&["internal"]);
    }),
    (ApprovalReason::SignatureVerificationFailed, |scene| {
        if let Some(signature) = scene.evidence.pointer_mut("/response/response/signature") {
            *signature = json!("AAAA");
        }
    }),
    (ApprovalReason::SignatureCounterRegression, |scene| scene.credential().counter = 2),
    (ApprovalReason::ArgumentHashMismatch, |scene| scene.arguments = arguments(r#"{"path":"b","n":1}"#)),
];

#[test]
fn s54_each_check_fails_with_its_own_reason() {
    assert_eq!(Scene::new().reason(), None);
    for (index, (reason, spoil)) in CHECKS.into_iter().enumerate() {
        let mut scene = Scene::new();
        spoil(&mut scene);
        assert_eq!(scene.reason(), Some(reason), "check {}", index + 1);
    }
}

#[test]
fn s54_of_two_checks_that_fail_the_earlier_is_told() {
    for (earlier, (reason, first)) in CHECKS.into_iter().enumerate() {
        for (later, (_, second)) in CHECKS.into_iter().enumerate().skip(earlier + 1) {
            for spoils in [[first, second], [second, first]] {
                let mut scene = Scene::new();
                spoils.into_iter().for_each(|spoil| spoil(&mut scene));
                assert_eq!(scene.reason(), Some(reason), "checks {} and {}", earlier + 1, later + 1);
            }
        }
    }
}

#[test]
fn s54_whatever_fails_everything_is_told_the_first() {
    for (from, (reason, _)) in CHECKS.into_iter().enumerate() {
        let mut scene = Scene::new();
        CHECKS.iter().skip(from).rev().for_each(|(_, spoil)| spoil(&mut scene));
        assert_eq!(scene.reason(), Some(reason));
    }
}

#[test]
fn s43_g04_a_challenge_of_nobody_or_of_somebody_else_is_unknown() {
    let mut scene = Scene::new();
    scene.challenge = None;
    assert_eq!(scene.reason(), Some(ApprovalReason::ChallengeUnknown));
    let mut scene = Scene::new();
    scene.challenge().principal = Principal::new("other");
    assert_eq!(scene.reason(), Some(ApprovalReason::ChallengeUnknown));
    // A store that returns another row than was asked for opens nothing.
    let mut scene = Scene::new();
    scene.challenge().id = ChallengeId::new("c-2");
    assert_eq!(scene.reason(), Some(ApprovalReason::ChallengeUnknown));
}

#[test]
fn s44_g05_a_used_challenge_is_called_used_even_when_it_has_ended() {
    let mut scene = Scene::new();
    scene.challenge().consumed = true;
    scene.now = scene.challenge().expires;
    assert_eq!(scene.reason(), Some(ApprovalReason::ChallengeConsumed));
}

#[test]
fn s45_a_challenge_ends_at_its_time_and_not_before() {
    let mut scene = Scene::new();
    scene.now.0 = scene.challenge().expires.0 - 1;
    assert_eq!(scene.reason(), None);
    scene.now.0 += 1;
    assert_eq!(scene.reason(), Some(ApprovalReason::ChallengeExpired));
}

#[test]
fn s46_g16_a_tool_that_changed_or_moved_is_another_tool() {
    let mut scene = Scene::new();
    scene.definition = definition('b');
    assert_eq!(scene.reason(), Some(ApprovalReason::ChallengeWrongTool));
    let mut scene = Scene::new();
    scene.upstream = UpstreamId::new("elsewhere");
    assert_eq!(scene.reason(), Some(ApprovalReason::ChallengeWrongTool));
}

#[test]
fn s47_g04_a_credential_must_be_enrolled_confirmed_and_the_persons_own() {
    let spoils: [Spoil; 5] = [
        |scene| scene.credential = None,
        |scene| scene.credential().standing = CredentialStanding::Dormant,
        |scene| scene.credential().standing = CredentialStanding::Revoked,
        |scene| scene.credential().user = UserId::new("eve"),
        // The id cannot be read: nothing is enrolled under it.
        |scene| *scene.evidence.pointer_mut("/response/id").unwrap() = json!(7),
    ];
    for spoil in spoils {
        let mut scene = Scene::new();
        spoil(&mut scene);
        assert_eq!(scene.reason(), Some(ApprovalReason::UnknownCredential));
    }
}

#[test]
fn s48_s39_the_class_is_asked_again_when_the_call_comes() {
    let mut scene = Scene::new();
    scene.credential().transports = transports(&["internal"]);
    assert_eq!(scene.reason(), Some(ApprovalReason::AuthenticatorClassMismatch));
    scene.class = AuthenticatorClass::Platform;
    assert_eq!(scene.reason(), None);
}

#[test]
fn s50_a_counter_rises_unless_none_is_kept() {
    for (stored, shown, reason) in [
        (0, 0, None),
        (0, 9, None),
        (5, 6, None),
        (5, 5, Some(ApprovalReason::SignatureCounterRegression)),
        (5, 4, Some(ApprovalReason::SignatureCounterRegression)),
        (5, 0, Some(ApprovalReason::SignatureCounterRegression)),
        (u32::MAX - 1, u32::MAX, None),
        (u32::MAX, 0, Some(ApprovalReason::SignatureCounterRegression)),
    ] {
        let mut scene = Scene::new();
        scene.credential().counter = stored;
        scene.sign(|draft| draft.counter = shown);
        assert_eq!(scene.reason(), reason, "{stored} then {shown}");
    }
}

#[test]
fn s51_other_arguments_than_those_signed_are_refused() {
    let mut scene = Scene::new();
    scene.arguments = arguments(r#"{"path":"a","n":2}"#);
    assert_eq!(scene.reason(), Some(ApprovalReason::ArgumentHashMismatch));
    // Another spelling of the same arguments is the same.
    scene.arguments = arguments(r#" { "n" : 1.0, "path" : "\u0061" } "#);
    assert_eq!(scene.reason(), None);
}

#[test]
fn s52_a_bad_signature_leaves_the_challenge_as_it_was() {
    let mut scene = Scene::new();
    let good = scene.evidence.clone();
    *scene.evidence.pointer_mut("/response/response/signature").unwrap() = json!("AAAA");
    assert_eq!(scene.reason(), Some(ApprovalReason::SignatureVerificationFailed));
    scene.evidence = good;
    assert!(scene.judge().unwrap().spend(ConsumeOutcome::Consumed).is_ok());
}

#[test]
fn s53_s55_what_is_verified_says_what_to_store_before_anything_runs() {
    let scene = Scene::new();
    let verified = scene.judge().unwrap();
    assert_eq!(verified.assertion().counter, 2);
    assert_eq!(verified.credential(), &scene.credential.as_ref().unwrap().id);
    assert_eq!(verified.challenge().as_str(), "c-1");
    assert_eq!((verified.user().as_str(), verified.principal().as_str()), ("ada", "agent"));
    let spent = verified.spend(ConsumeOutcome::Consumed).unwrap();
    assert_eq!(spent.verified().action(), scene.challenge.unwrap().wire.action());
}

#[test]
fn s57_g06_g26_a_lost_race_opens_nothing_and_says_why() {
    for (outcome, reason) in [
        (ConsumeOutcome::AlreadyConsumed, ApprovalReason::ChallengeConsumed),
        (ConsumeOutcome::Expired, ApprovalReason::ChallengeExpired),
        (ConsumeOutcome::CredentialGone, ApprovalReason::UnknownCredential),
        (ConsumeOutcome::CounterRegressed, ApprovalReason::SignatureCounterRegression),
    ] {
        assert_eq!(Scene::new().judge().unwrap().spend(outcome).err(), Some(reason));
    }
}
