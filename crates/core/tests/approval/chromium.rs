//! Registrations and assertions that a real browser made, for each algorithm.

use highwater_core::approval::{Credential, CredentialStanding};
use highwater_core::id::UserId;
use highwater_notation::{CanonicalArguments, decode_base64url, encode_base64url};
use highwater_passkey::{
    ActionHash, AttestationDemand, Fault, Nonce, PublicKey, RelyingParty, ServerId, ToolName, WireChallenge,
    verify_assertion, verify_registration,
};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vector {
    name: String,
    alg: i32,
    id: String,
    registration_challenge: String,
    registration_client_data: String,
    attestation_object: String,
    nonce: String,
    assertion_client_data: String,
    authenticator_data: String,
    signature: String,
}

fn vectors() -> Vec<Vector> {
    serde_json::from_str(include_str!("chromium.json")).unwrap()
}

fn party(origin: &str) -> RelyingParty {
    RelyingParty::new("localhost", [origin], ServerId::new("3f1c1f2e-9d0a-4d53-8a6e-6f0f6b7e0001").unwrap())
}

const ORIGIN: &str = "http://localhost:18651";

impl Vector {
    fn register(&self, party: &RelyingParty) -> Result<Credential, Fault> {
        let response = json!({
            "id": self.id, "rawId": self.id, "type": "public-key",
            "response": {
                "clientDataJSON": self.registration_client_data,
                "attestationObject": self.attestation_object,
                "transports": ["usb"],
            },
        });
        let challenge = decode_base64url(&self.registration_challenge).unwrap();
        let registration =
            verify_registration(&response.to_string(), &challenge, party, AttestationDemand::Nothing)?;
        assert_eq!(registration.key.algorithm().cose(), self.alg);
        assert_eq!((registration.counter, &*registration.format), (1, "none"));
        Ok(Credential {
            id: registration.id,
            user: UserId::new("user-1"),
            user_handle: decode_base64url("dXNlci0x").unwrap().into(),
            key: registration.key,
            counter: registration.counter,
            transports: registration.transports,
            backup_eligible: registration.backup_eligible,
            standing: CredentialStanding::Active,
        })
    }

    fn assert(
        &self,
        credential: &Credential,
        party: &RelyingParty,
        challenge: &[u8],
        signature: &str,
    ) -> Result<u32, Fault> {
        let response = json!({
            "id": self.id, "rawId": self.id, "type": "public-key",
            "response": {
                "clientDataJSON": self.assertion_client_data,
                "authenticatorData": self.authenticator_data,
                "signature": signature,
                "userHandle": "dXNlci0x",
            },
        });
        verify_assertion(&response.to_string(), challenge, credential.enrolled(), party)
            .map(|assertion| assertion.counter)
    }

    fn challenge(&self, tool: &str, arguments: &str) -> [u8; 64] {
        let nonce = Nonce(decode_base64url(&self.nonce).unwrap().try_into().unwrap());
        let action = ActionHash::of(
            &ToolName::exposed(tool).unwrap(),
            &CanonicalArguments::read(Some(arguments)).unwrap(),
            party(ORIGIN).server(),
        );
        *WireChallenge::new(nonce, action).as_bytes()
    }
}

const ARGUMENTS: &str = r#"{"resourceId":"abc123"}"#;

#[test]
fn s49_s18_what_chromium_made_verifies() {
    for vector in vectors() {
        let party = party(ORIGIN);
        let credential = vector.register(&party).unwrap();
        let challenge = vector.challenge("delete_resource", ARGUMENTS);
        let counter = vector.assert(&credential, &party, &challenge, &vector.signature);
        assert!(counter.is_ok_and(|counter| credential.counter_may_become(counter)), "{}", vector.name);
    }
}

#[test]
fn s49_another_page_another_tool_other_arguments_and_any_flipped_bit_do_not() {
    for vector in vectors() {
        let here = party(ORIGIN);
        let credential = vector.register(&here).unwrap();
        let challenge = vector.challenge("delete_resource", ARGUMENTS);
        for origin in ["http://localhost:18652", "http://localhost", "https://localhost:18651"] {
            assert_eq!(vector.register(&party(origin)).err(), Some(Fault::Origin));
            assert_eq!(
                vector.assert(&credential, &party(origin), &challenge, &vector.signature),
                Err(Fault::Origin)
            );
        }
        for other in [
            vector.challenge("delete_resources", ARGUMENTS),
            vector.challenge("delete_resource", r#"{"resourceId":"abc124"}"#),
        ] {
            assert_eq!(vector.assert(&credential, &here, &other, &vector.signature), Err(Fault::Challenge));
        }
        let good = decode_base64url(&vector.signature).unwrap();
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let flipped = encode_base64url(&bytes);
            assert_eq!(
                vector.assert(&credential, &here, &challenge, &flipped),
                Err(Fault::Signature),
                "{}: bit {bit}",
                vector.name
            );
        }
    }
}

#[test]
fn a_key_of_chromium_reads_back_from_its_own_bytes() {
    for vector in vectors() {
        let credential = vector.register(&party(ORIGIN)).unwrap();
        assert_eq!(PublicKey::from_cose(credential.key.as_cose()).unwrap(), credential.key);
    }
}
