//! Enrollment, rule by rule.

use highwater_core::approval::{
    ApprovalReason, CredentialStanding, ENROLLMENT_LIFETIME_MS, NewCredential, PendingEnrollment, Rejection,
    finish,
};
use highwater_core::id::{Principal, UserId};
use highwater_notation::Timestamp;
use highwater_passkey::{Algorithm, Fault, Nonce};
use highwater_testkit::passkey::{
    AT, BE, BS, Draft, ED, Passkey, UP, UV, attestation_object, self_attestation,
};
use serde_json::{Value, json};

use crate::scene::{NOW, party};

const CHALLENGE: [u8; 32] = [3; 32];

fn pending() -> PendingEnrollment {
    PendingEnrollment::begin(Principal::new("agent"), UserId::new("ada"), *b"handle", Nonce(CHALLENGE), NOW)
}

fn enroll(response: &Value) -> Result<NewCredential, Rejection> {
    finish(Some(&pending()), &Principal::new("agent"), &response.to_string(), &party(), None, |_| false, NOW)
}

fn fault(response: &Value) -> Option<Fault> {
    let rejection = enroll(response).err()?;
    assert_eq!(rejection.reason, ApprovalReason::VerificationFailed);
    rejection.fault
}

fn signed(change: impl FnOnce(&mut Draft)) -> Option<Fault> {
    fault(&Passkey::new(Algorithm::EdDsa).register(&CHALLENGE, change))
}

#[test]
fn s18_s19_each_algorithm_enrolls_and_everything_is_kept() {
    for algorithm in Algorithm::ALL {
        let mut passkey = Passkey::new(algorithm);
        passkey.transports = vec!["usb", "something-new"];
        let response = passkey.register(&CHALLENGE, |draft| {
            draft.flags |= BE | BS;
            draft.counter = 41;
        });
        let new = enroll(&response).unwrap();
        let (registration, kept) = (&new.registration, new.dormant());
        assert_eq!(kept.id.as_bytes(), passkey.id);
        assert_eq!(kept.key.as_cose(), passkey.cose());
        assert_eq!((kept.counter, &*kept.user_handle, kept.user.as_str()), (41, &b"handle"[..], "ada"));
        assert_eq!(kept.transports.names(), ["usb", "something-new"]);
        assert!(kept.backup_eligible && registration.backed_up);
        assert_eq!(registration.aaguid, [0xaa; 16]);
        // Whoever speaks the protocol gets this far and no further.
        assert_eq!(kept.standing, CredentialStanding::Dormant);
        assert!(!kept.is_usable_by(&UserId::new("ada")));
    }
}

#[test]
fn s16_only_the_challenge_of_this_enrollment_counts() {
    let passkey = Passkey::new(Algorithm::EdDsa);
    assert_eq!(fault(&passkey.register(&[4; 32], |_| ())), Some(Fault::Challenge));
    assert_eq!(signed(|draft| draft.r#type = "webauthn.get"), Some(Fault::Type));
    assert_eq!(signed(|draft| draft.origin.push('/')), Some(Fault::Origin));
    assert_eq!(signed(|draft| draft.rp_id = "example.com".to_owned()), Some(Fault::RpId));
}

#[test]
fn s17_without_a_verified_person_there_is_no_credential() {
    assert_eq!(signed(|draft| draft.flags = UP | AT), Some(Fault::NotVerified));
    assert_eq!(signed(|draft| draft.flags = UV | AT), Some(Fault::NotPresent));
    assert_eq!(signed(|draft| draft.flags |= BS), Some(Fault::Backup));
}

#[test]
fn s18_a_response_must_be_well_formed() {
    let malformed = Some(Fault::Malformed("authenticatorData"));
    assert_eq!(signed(|draft| draft.behind.push(0)), malformed);
    assert_eq!(signed(|draft| draft.flags |= ED), malformed);
    assert_eq!(
        signed(|draft| {
            draft.flags &= !AT;
            draft.behind.clear();
        }),
        malformed
    );
    // The key has a member twice.
    assert_eq!(
        signed(|draft| {
            let key = draft.behind.len() - Passkey::new(Algorithm::EdDsa).cose().len();
            draft.behind[key] += 1;
            draft.behind.extend([0x01, 0x01]);
        }),
        malformed
    );
    let passkey = Passkey::new(Algorithm::EdDsa);
    let good = passkey.register(&CHALLENGE, |_| ());
    for (pointer, value, name) in [
        ("/id", json!("AAAA"), "rawId"),
        ("/rawId", json!("AAAA"), "rawId"),
        ("/type", json!("x"), "type"),
        ("/response", json!([]), "response.response"),
        ("/response/transports", json!([7]), "response.response"),
        ("/response/attestationObject", json!("AA"), "attestationObject"),
        ("/response/attestationObject", json!("A".repeat(90_000)), "attestationObject"),
        ("/response/clientDataJSON", json!("A".repeat(20_000)), "clientDataJSON"),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        assert_eq!(fault(&bad), Some(Fault::Malformed(name)), "{pointer}");
    }
    // Another credential than the response says it is.
    let mut other = Passkey::new(Algorithm::EdDsa);
    other.id = vec![1, 2, 3];
    let mut bad = good.clone();
    bad["response"] = other.register(&CHALLENGE, |_| ())["response"].clone();
    assert_eq!(fault(&bad), Some(Fault::Malformed("id")));
}

#[test]
fn s18_an_attestation_object_has_nothing_behind_it_and_no_key_twice() {
    let passkey = Passkey::new(Algorithm::EdDsa);
    let with = |attest: fn(Vec<u8>) -> Vec<u8>| {
        fault(&passkey.register_with(
            &CHALLENGE,
            |_| (),
            |_, data| attest(attestation_object("none", &[0xa0], data)),
        ))
    };
    assert_eq!(with(|object| object), None);
    for attest in [
        (|object| [object, vec![0]].concat()) as fn(Vec<u8>) -> Vec<u8>,
        |mut object| {
            object[0] = 0xa4;
            [object, b"\x63fmt\x64none".to_vec()].concat()
        },
        |mut object| {
            object[0] = 0xa2;
            object
        },
    ] {
        assert_eq!(with(attest), Some(Fault::Malformed("attestationObject")));
    }
}

/// Makes an attestation of what would be signed and of the authenticator data.
type Attest<'a> = &'a dyn Fn(&[u8], &[u8]) -> Vec<u8>;

#[test]
fn g08_none_and_a_key_that_vouches_for_itself_are_accepted_and_nothing_else() {
    for algorithm in Algorithm::ALL {
        let passkey = Passkey::new(algorithm);
        let with = |attest: Attest<'_>| {
            fault(&passkey.register_with(&CHALLENGE, |_| (), |signed, data| attest(signed, data)))
        };
        let packed = |signed: &[u8], data: &[u8]| {
            attestation_object("packed", &self_attestation(algorithm, &passkey.sign(signed)), data)
        };
        assert_eq!(with(&packed), None, "{algorithm:?}");
        let refused = Some(Fault::Attestation);
        // Over something else, or said to be of another algorithm.
        assert_eq!(with(&|signed, data| packed(&signed[1..], data)), refused);
        let other = Algorithm::ALL.into_iter().find(|other| *other != algorithm).unwrap();
        assert_eq!(
            with(&|signed, data| {
                attestation_object("packed", &self_attestation(other, &passkey.sign(signed)), data)
            }),
            refused
        );
        // With certificates it would be somebody else's word.
        assert_eq!(
            with(&|signed, data| {
                let mut statement = self_attestation(algorithm, &passkey.sign(signed));
                statement[0] = 0xa3;
                attestation_object("packed", &[statement, b"\x63x5c\x80".to_vec()].concat(), data)
            }),
            refused
        );
        assert_eq!(with(&|_, data| attestation_object("none", &[0xa1, 0x00, 0x00], data)), refused);
        assert_eq!(with(&|_, data| attestation_object("fido-u2f", &[0xa0], data)), refused);
        assert_eq!(
            with(&|_, data| attestation_object("none", &[0x80], data)),
            Some(Fault::Malformed("attStmt"))
        );
    }
}

#[test]
fn s20_what_is_enrolled_is_not_enrolled_again_and_that_is_asked_last() {
    let passkey = Passkey::new(Algorithm::EdDsa);
    let principal = Principal::new("agent");
    let finish = |response: &Value| {
        finish(Some(&pending()), &principal, &response.to_string(), &party(), None, |_| true, NOW)
            .map(|_| ())
            .map_err(|rejection| rejection.reason)
    };
    let good = passkey.register(&CHALLENGE, |_| ());
    assert_eq!(finish(&good), Err(ApprovalReason::CredentialAlreadyEnrolled));
    let bad = passkey.register(&[0; 32], |_| ());
    assert_eq!(finish(&bad), Err(ApprovalReason::VerificationFailed));
}

#[test]
fn s21_s13_g09_an_enrollment_that_nobody_began_or_that_ended_cannot_be_finished() {
    let good = Passkey::new(Algorithm::EdDsa).register(&CHALLENGE, |_| ()).to_string();
    let (agent, other) = (Principal::new("agent"), Principal::new("other"));
    let reason = |pending: Option<&PendingEnrollment>, who, response: &str, at| {
        finish(pending, who, response, &party(), None, |_| true, Timestamp(at))
            .err()
            .map(|rejection| rejection.reason)
    };
    let none = Some(ApprovalReason::NoPendingEnrollment);
    let last = NOW.0 + ENROLLMENT_LIFETIME_MS - 1;
    assert_eq!(reason(None, &agent, &good, NOW.0), none);
    assert_eq!(reason(Some(&pending()), &other, &good, NOW.0), none);
    assert_eq!(reason(Some(&pending()), &agent, &good, last + 1), none);
    // Fails two: the earlier is told.
    assert_eq!(reason(Some(&pending()), &agent, "{}", last + 1), none);
    assert_eq!(
        reason(Some(&pending()), &agent, &good, last),
        Some(ApprovalReason::CredentialAlreadyEnrolled)
    );
}

#[test]
fn g23_the_class_of_a_credential_is_not_asked_at_enrollment() {
    for transports in [vec![], vec!["internal"]] {
        let mut passkey = Passkey::new(Algorithm::EdDsa);
        passkey.transports = transports;
        assert!(enroll(&passkey.register(&CHALLENGE, |_| ())).is_ok());
    }
}
