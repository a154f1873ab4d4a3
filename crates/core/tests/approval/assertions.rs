//! Check 10: the whole of the WebAuthn procedure for assertions (S49, G3), for each algorithm and each way to be wrong.

use highwater_core::approval::ApprovalReason;
use highwater_notation::{decode_base64url, encode_base64url};
use highwater_passkey::{Algorithm, Fault};
use highwater_testkit::passkey::{AT, BE, BS, Draft, ED, Passkey, UP, UV};
use serde_json::{Value, json};

use crate::scene::Scene;

fn fault(scene: &Scene) -> Option<Fault> {
    let rejection = scene.judge().err()?;
    assert_eq!(rejection.reason, ApprovalReason::SignatureVerificationFailed);
    rejection.fault
}

fn signed(change: impl FnOnce(&mut Draft)) -> Option<Fault> {
    let mut scene = Scene::new();
    scene.sign(change);
    fault(&scene)
}

fn sent(pointer: &str, value: Value) -> Option<Fault> {
    let mut scene = Scene::new();
    *scene.evidence.pointer_mut(pointer).unwrap() = value;
    fault(&scene)
}

#[test]
fn s49_each_algorithm_verifies_and_none_for_another_key() {
    for algorithm in Algorithm::ALL {
        let mut scene = Scene::with(Passkey::new(algorithm));
        assert_eq!(scene.reason(), None, "{algorithm:?}");
        scene.passkey = Passkey::new(algorithm);
        scene.sign(|_| ());
        assert_eq!(fault(&scene), Some(Fault::Signature), "{algorithm:?}");
    }
}

#[test]
fn s49_the_response_never_chooses_the_algorithm() {
    let mut scene = Scene::with(Passkey::new(Algorithm::Es256));
    scene.passkey = Passkey::new(Algorithm::EdDsa);
    scene.sign(|_| ());
    assert_eq!(fault(&scene), Some(Fault::Signature));
}

#[test]
fn g03_what_the_browser_says_must_fit() {
    assert_eq!(signed(|draft| draft.r#type = "webauthn.create"), Some(Fault::Type));
    assert_eq!(signed(|draft| draft.challenge[0] ^= 1), Some(Fault::Challenge));
    assert_eq!(signed(|draft| draft.challenge.truncate(32)), Some(Fault::Challenge));
    assert_eq!(signed(|draft| draft.origin = "http://localhost:3000".to_owned()), Some(Fault::Origin));
    assert_eq!(signed(|draft| draft.origin = "http://127.0.0.1:7412".to_owned()), Some(Fault::Origin));
    assert_eq!(
        signed(|draft| draft.more = r#","topOrigin":"http://evil""#.to_owned()),
        Some(Fault::CrossOrigin)
    );
    assert_eq!(signed(|draft| draft.more = r#","other_keys_can_be_added_here":"x""#.to_owned()), None);
}

#[test]
fn g03_what_the_authenticator_says_must_fit() {
    assert_eq!(signed(|draft| draft.rp_id = "example.com".to_owned()), Some(Fault::RpId));
    assert_eq!(signed(|draft| draft.flags = UV), Some(Fault::NotPresent));
    assert_eq!(signed(|draft| draft.flags = UP), Some(Fault::NotVerified));
    assert_eq!(signed(|draft| draft.flags = UP | UV | BS), Some(Fault::Backup));
    // It was not eligible for backup when it was enrolled, and that never changes.
    assert_eq!(signed(|draft| draft.flags = UP | UV | BE), Some(Fault::Backup));
    let malformed = Some(Fault::Malformed("authenticatorData"));
    assert_eq!(signed(|draft| draft.behind = vec![0]), malformed);
    assert_eq!(signed(|draft| draft.flags |= ED), malformed);
    assert_eq!(
        signed(|draft| {
            draft.flags |= ED;
            draft.behind = vec![0xa0];
        }),
        None
    );
    let attested = Passkey::new(Algorithm::Es256).attested();
    assert_eq!(
        signed(|draft| {
            draft.flags |= AT;
            draft.behind = attested;
        }),
        malformed
    );
}

#[test]
fn g03_a_passkey_that_is_backed_up_may_be_so_today_and_not_tomorrow() {
    for flags in [UP | UV | BE, UP | UV | BE | BS] {
        let mut scene = Scene::new();
        scene.credential().backup_eligible = true;
        scene.sign(|draft| draft.flags = flags);
        assert_eq!(scene.judge().unwrap().assertion().backed_up, flags & BS != 0);
    }
}

#[test]
fn g03_the_user_handle_is_the_persons_or_absent() {
    assert_eq!(sent("/response/response/userHandle", Value::Null), None);
    assert_eq!(sent("/response/response/userHandle", json!("AAAA")), Some(Fault::UserHandle));
    assert_eq!(sent("/response/response/userHandle", json!("")), Some(Fault::UserHandle));
    let mut scene = Scene::new();
    scene.evidence["response"]["response"].as_object_mut().unwrap().remove("userHandle");
    assert_eq!(scene.reason(), None);
}

#[test]
fn s49_a_response_with_a_part_missing_or_malformed_does_not_verify() {
    for part in ["clientDataJSON", "authenticatorData", "signature"] {
        let pointer = format!("/response/response/{part}");
        for bad in [json!(7), json!(null), json!({}), json!("+/+/"), json!("A"), json!("x".repeat(70_000))] {
            assert!(sent(&pointer, bad.clone()).is_some(), "{part} {bad}");
        }
        let mut scene = Scene::new();
        scene.evidence["response"]["response"].as_object_mut().unwrap().remove(part);
        assert!(fault(&scene).is_some(), "{part} is absent");
    }
    assert_eq!(sent("/response/type", json!("password")), Some(Fault::Malformed("type")));
    assert_eq!(sent("/response/rawId", json!("AAAA")), Some(Fault::Malformed("rawId")));
    assert_eq!(sent("/response/response", json!([])), Some(Fault::Malformed("response.response")));
}

#[test]
fn a_response_with_padding_verifies() {
    let mut scene = Scene::new();
    let padded = |text: &str| format!("{text}{}", "=".repeat((4 - text.len() % 4) % 4));
    for part in ["clientDataJSON", "authenticatorData", "signature", "userHandle"] {
        let value = &mut scene.evidence["response"]["response"][part];
        *value = json!(padded(value.as_str().unwrap()));
    }
    assert_eq!(scene.reason(), None);
}

#[test]
fn s49_no_bit_of_what_is_signed_can_be_flipped() {
    for algorithm in [Algorithm::Es256, Algorithm::EdDsa] {
        for part in ["clientDataJSON", "authenticatorData", "signature"] {
            let mut scene = Scene::with(Passkey::new(algorithm));
            let pointer = format!("/response/response/{part}");
            let good = decode_base64url(scene.evidence.pointer(&pointer).unwrap().as_str().unwrap()).unwrap();
            for bit in 0..good.len() * 8 {
                let mut bytes = good.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                *scene.evidence.pointer_mut(&pointer).unwrap() = json!(encode_base64url(&bytes));
                assert!(fault(&scene).is_some(), "{algorithm:?}: bit {bit} of {part}");
            }
        }
    }
}
