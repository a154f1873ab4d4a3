//! Whatever is sent: it is verified or refused, and never a panic.

use std::sync::LazyLock;

use highwater_core::approval::Evidence;
use highwater_notation::{decode_base64url, encode_base64url};
use highwater_passkey::{Algorithm, AttestationDemand, PublicKey, verify_assertion, verify_registration};
use highwater_testkit::passkey::Passkey;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::scene::{credential, party};

static PASSKEY: LazyLock<Passkey> = LazyLock::new(|| Passkey::new(Algorithm::Es256));
static REGISTRATION: LazyLock<Value> = LazyLock::new(|| PASSKEY.register(&[3; 32], |_| ()));
static ASSERTION: LazyLock<Value> = LazyLock::new(|| PASSKEY.assert(&[3; 64], |_| ()));

/// The response with one part replaced by what `change` makes of its bytes.
fn spoiled(response: &Value, part: &str, change: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut response = response.clone();
    let value = &mut response["response"][part];
    let mut bytes = decode_base64url(value.as_str().unwrap()).unwrap();
    change(&mut bytes);
    *value = json!(encode_base64url(&bytes));
    response.to_string()
}

/// Cuts, overwrites and adds.
fn hurt(bytes: &mut Vec<u8>, edits: &[(prop::sample::Index, u8, u8)]) {
    for (at, kind, byte) in edits {
        if bytes.is_empty() {
            bytes.push(*byte);
        }
        let at = at.index(bytes.len());
        match kind % 4 {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, *byte),
            2 => drop(bytes.remove(at)),
            _ => bytes[at] = *byte,
        }
    }
}

fn edits() -> impl Strategy<Value = Vec<(prop::sample::Index, u8, u8)>> {
    proptest::collection::vec(any::<(prop::sample::Index, u8, u8)>(), 1..6)
}

proptest! {
    #[test]
    fn any_bytes_are_an_attestation_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let response = spoiled(&REGISTRATION, "attestationObject", |object| *object = bytes.clone());
        prop_assert!(verify_registration(&response, &[3; 32], &party(), AttestationDemand::Nothing).is_err());
        prop_assert!(PublicKey::from_cose(&bytes).is_err());
    }

    #[test]
    fn a_damaged_attestation_is_still_one_or_refused(edits in edits()) {
        let response = spoiled(&REGISTRATION, "attestationObject", |object| hurt(object, &edits));
        if let Ok(registration) = verify_registration(&response, &[3; 32], &party(), AttestationDemand::Nothing) {
            // Nothing signs it, so the authenticator's make or counter may differ; what is kept can be used.
            prop_assert!(PublicKey::from_cose(registration.key.as_cose()).is_ok());
        }
    }

    #[test]
    fn a_damaged_assertion_is_refused(
        edits in edits(), part in prop::sample::select(vec!["clientDataJSON", "authenticatorData", "signature"]),
    ) {
        let response = spoiled(&ASSERTION, part, |bytes| hurt(bytes, &edits));
        let verified = verify_assertion(&response, &[3; 64], credential(&PASSKEY, "ada").enrolled(), &party());
        prop_assert_eq!(verified.is_ok(), response == ASSERTION.to_string());
    }

    #[test]
    fn any_text_is_evidence_or_refused(text in ".{0,200}") {
        prop_assert!(Evidence::parse(Some(&text)).is_err());
        prop_assert!(verify_registration(&text, &[3; 32], &party(), AttestationDemand::Nothing).is_err());
        prop_assert!(verify_assertion(&text, &[3; 64], credential(&PASSKEY, "ada").enrolled(), &party()).is_err());
    }
}
