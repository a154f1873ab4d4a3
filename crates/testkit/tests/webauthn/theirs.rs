//! What a foreign authenticator makes through a foreign client, before both verifiers.

use highwater_notation::{decode_base64url, encode_base64url};
use highwater_testkit::passkey::{ORIGIN, RP_ID};
use passkey::authenticator::{Authenticator, UiHint, UserCheck, UserValidationMethod};
use passkey::client::{Client, DefaultClientData};
use passkey::crypto::iana;
use passkey::crypto::rust_crypto::RustCryptoBackend;
use passkey::types::ctap2::{Aaguid, Ctap2Error};
use passkey::types::webauthn::{CredentialCreationOptions, CredentialRequestOptions};
use serde_json::{Value, json};
use url::Url;

use crate::judge::Judge;
use crate::{assertion, challenge, enrolled, registration};

/// Somebody who is there and says yes.
struct Person;

#[async_trait::async_trait]
impl UserValidationMethod for Person {
    type PasskeyItem = passkey::types::Passkey;

    async fn check_user<'a>(
        &self,
        _: UiHint<'a, Self::PasskeyItem>,
        _: bool,
        _: bool,
    ) -> Result<UserCheck, Ctap2Error> {
        Ok(UserCheck { presence: true, verification: true })
    }

    fn is_verification_enabled(&self) -> Option<bool> {
        Some(true)
    }

    fn is_presence_enabled(&self) -> bool {
        true
    }
}

/// What `approval/enroll/begin` answers, with a challenge of the test.
fn creation(challenge: &[u8], algorithm: i64) -> Value {
    json!({
        "rp": { "id": RP_ID, "name": "Highwater" },
        "user": { "id": encode_base64url(&[7; 32]), "name": "ada", "displayName": "ada" },
        "challenge": encode_base64url(challenge),
        "pubKeyCredParams": [{ "type": "public-key", "alg": algorithm }],
        "timeout": 300_000,
        "attestation": "none",
        "excludeCredentials": [],
        "authenticatorSelection": { "residentKey": "preferred", "userVerification": "required" },
    })
}

/// What `approval/challenge/create` answers.
fn request(challenge: &[u8], id: &str) -> Value {
    json!({
        "challenge": encode_base64url(challenge),
        "rpId": RP_ID,
        "userVerification": "required",
        "timeout": 60_000,
        "allowCredentials": [{ "type": "public-key", "id": id, "transports": ["usb"] }],
    })
}

#[tokio::test]
async fn s15_s18_s27_s49_a_foreign_authenticator_understands_us_and_we_it() {
    let (mut judge, page) = (Judge::new(), Url::parse(ORIGIN).unwrap());
    for (algorithm, number) in [(iana::Algorithm::ES256, -7), (iana::Algorithm::EdDSA, -8)] {
        for counting in [false, true] {
            let store: Option<passkey::types::Passkey> = None;
            let mut authenticator = Authenticator::new(Aaguid::new_empty(), store, Person, RustCryptoBackend);
            authenticator.set_algorithms(&[algorithm]).unwrap();
            authenticator.set_make_credentials_with_signature_counter(counting);
            let mut client = Client::new(authenticator).allows_insecure_localhost(true);

            // Their options and ours mean the same to them.
            let their_options =
                judge.ask(&json!({ "kind": "create", "rpId": RP_ID, "algorithms": [number] })).unwrap();
            for options in [their_options, creation(&challenge(1), number)] {
                let asked = decode_base64url(options["challenge"].as_str().unwrap()).unwrap();
                let handle = decode_base64url(options["user"]["id"].as_str().unwrap()).unwrap();
                let options: CredentialCreationOptions =
                    serde_json::from_value(json!({ "publicKey": options })).unwrap();
                let made = client.register(&page, options, DefaultClientData).await.unwrap();
                let response = serde_json::to_value(&made).unwrap();
                let ours = registration(&response, &asked).unwrap();
                let theirs = judge.registration(&response, &asked).unwrap();
                assert_eq!(theirs["publicKey"], encode_base64url(ours.key.as_cose()));
                assert_eq!(theirs["id"], ours.id.to_string());

                let id = ours.id.to_string();
                let mut credential = enrolled(&ours, &handle);
                let question = json!({ "kind": "get", "rpId": RP_ID, "challenge": encode_base64url(&challenge(2)), "id": id });
                for options in [judge.ask(&question).unwrap(), request(&challenge(2), &id)] {
                    let options: CredentialRequestOptions =
                        serde_json::from_value(json!({ "publicKey": options })).unwrap();
                    let signed = client.authenticate(&page, options, DefaultClientData).await.unwrap();
                    let response = serde_json::to_value(&signed).unwrap();
                    let verified = assertion(&response, &challenge(2), &credential).unwrap();
                    judge.assertion(&response, &challenge(2), &theirs).unwrap();
                    assert_eq!(verified.counter > credential.counter, counting);
                    credential.counter = verified.counter;

                    // Of another challenge, and changed on the way, both refuse it.
                    assert!(assertion(&response, &challenge(3), &credential).is_err());
                    assert!(judge.assertion(&response, &challenge(3), &theirs).is_err());
                    let mut changed = response.clone();
                    changed["response"]["signature"] = encode_base64url(&[0x30, 0]).into();
                    assert!(assertion(&changed, &challenge(2), &credential).is_err());
                    assert!(judge.assertion(&changed, &challenge(2), &theirs).is_err());
                }
            }
        }
    }
}

/// The page's port is in what they sign, and neither of us takes another.
#[tokio::test]
async fn g03_a_foreign_client_on_another_port_is_refused_by_both() {
    let mut judge = Judge::new();
    let store: Option<passkey::types::Passkey> = None;
    let authenticator = Authenticator::new(Aaguid::new_empty(), store, Person, RustCryptoBackend);
    let mut client = Client::new(authenticator).allows_insecure_localhost(true);
    let options = serde_json::from_value(json!({ "publicKey": creation(&challenge(1), -7) })).unwrap();
    let elsewhere = Url::parse("http://localhost:7413").unwrap();
    let made = client.register(&elsewhere, options, DefaultClientData).await.unwrap();
    let response = serde_json::to_value(&made).unwrap();
    assert!(registration(&response, &challenge(1)).is_err());
    assert!(judge.registration(&response, &challenge(1)).is_err());
}
