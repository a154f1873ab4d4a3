//! What holds of approval for any bytes at all. The corpus test and the fuzz targets share it.
//!
//! The first byte says which of the browser's vectors is played with, the second which part of it the rest replaces.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use highwater_core::approval::{Credential, CredentialStanding, Evidence};
use highwater_core::id::UserId;
use highwater_notation::{CanonicalArguments, MAX_ARGUMENTS, decode_base64url, encode_base64url};
use highwater_passkey::{
    ActionHash, AttestationDemand, Nonce, PublicKey, RelyingParty, ServerId, ToolName, WireChallenge,
    verify_assertion, verify_registration,
};
use serde_json::{Value, json};

type Vector = BTreeMap<String, Value>;

static VECTORS: LazyLock<Vec<Vector>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../approval/chromium.json")).expect("it is JSON"));

fn party(origin: &str) -> RelyingParty {
    let server = ServerId::new("3f1c1f2e-9d0a-4d53-8a6e-6f0f6b7e0001").expect("it is an id");
    RelyingParty::new("localhost", [origin], server)
}

const HERE: &str = "http://localhost:18651";
const ELSEWHERE: &str = "http://localhost:18652";

fn part<'v>(vector: &'v Vector, name: &str) -> &'v str {
    vector.get(name).and_then(Value::as_str).expect("a vector has it")
}

fn bytes(vector: &Vector, name: &str) -> Vec<u8> {
    decode_base64url(part(vector, name)).expect("it is base64url")
}

/// The vector, the part and the rest.
fn split(data: &[u8]) -> Option<(&'static Vector, u8, &[u8])> {
    let [which, what, rest @ ..] = data else { return None };
    Some((VECTORS.get(usize::from(*which) % VECTORS.len())?, *what, rest))
}

fn registration(vector: &Vector, object: &[u8], client: &[u8]) -> String {
    json!({
        "id": part(vector, "id"), "rawId": part(vector, "id"), "type": "public-key",
        "response": {
            "clientDataJSON": encode_base64url(client),
            "attestationObject": encode_base64url(object),
            "transports": ["usb"],
        },
    })
    .to_string()
}

/// What is accepted as a registration has a key that can be used, and is for one challenge and one page.
pub(crate) fn registration_holds(data: &[u8]) {
    let Some((vector, what, rest)) = split(data) else { return };
    let (object, client) = (bytes(vector, "attestationObject"), bytes(vector, "registrationClientData"));
    let response = match what % 3 {
        0 => String::from_utf8_lossy(rest).into_owned(),
        1 => registration(vector, rest, &client),
        _ => registration(vector, &object, rest),
    };
    let challenge = bytes(vector, "registrationChallenge");
    if let Ok(accepted) = verify_registration(&response, &challenge, &party(HERE), AttestationDemand::Nothing)
    {
        assert_eq!(PublicKey::from_cose(accepted.key.as_cose()).as_ref(), Ok(&accepted.key));
        assert!(verify_registration(&response, &[0; 32], &party(HERE), AttestationDemand::Nothing).is_err());
        assert!(
            verify_registration(&response, &challenge, &party(ELSEWHERE), AttestationDemand::Nothing)
                .is_err()
        );
    }
}

/// What is accepted as an assertion is the browser's own: its signature is over every byte.
pub(crate) fn assertion_holds(data: &[u8]) {
    let Some((vector, what, rest)) = split(data) else { return };
    let object = bytes(vector, "attestationObject");
    let registered = registration(vector, &object, &bytes(vector, "registrationClientData"));
    let registered = verify_registration(
        &registered,
        &bytes(vector, "registrationChallenge"),
        &party(HERE),
        AttestationDemand::Nothing,
    )
    .expect("a vector verifies");
    let credential = Credential {
        id: registered.id,
        user: UserId::new("user-1"),
        user_handle: b"user-1".as_slice().into(),
        key: registered.key,
        counter: registered.counter,
        transports: registered.transports,
        backup_eligible: registered.backup_eligible,
        standing: CredentialStanding::Active,
    };
    let mut parts = ["assertionClientData", "authenticatorData", "signature"].map(|name| bytes(vector, name));
    let genuine = parts.clone();
    let mut response = String::from_utf8_lossy(rest).into_owned();
    if let Some(replaced) = usize::from(what % 4).checked_sub(1).and_then(|at| parts.get_mut(at)) {
        *replaced = rest.to_vec();
        let [client, authenticator, signature] = parts.each_ref().map(|bytes| encode_base64url(bytes));
        response = json!({
            "id": part(vector, "id"), "rawId": part(vector, "id"), "type": "public-key",
            "response": { "clientDataJSON": client, "authenticatorData": authenticator, "signature": signature },
        })
        .to_string();
    }
    let nonce = Nonce(bytes(vector, "nonce").try_into().expect("a nonce has 32 bytes"));
    let tool = ToolName::exposed("delete_resource").expect("it is a name");
    let arguments = CanonicalArguments::read(Some(r#"{"resourceId":"abc123"}"#)).expect("they can be signed");
    let challenge = WireChallenge::new(nonce, ActionHash::of(&tool, &arguments, party(HERE).server()));
    if let Ok(accepted) =
        verify_assertion(&response, challenge.as_bytes(), credential.enrolled(), &party(HERE))
    {
        assert_eq!([&*accepted.client_data, &*accepted.authenticator_data], [&*genuine[0], &*genuine[1]]);
        assert!(verify_assertion(&response, &[0; 64], credential.enrolled(), &party(HERE)).is_err());
        assert!(
            verify_assertion(&response, challenge.as_bytes(), credential.enrolled(), &party(ELSEWHERE))
                .is_err()
        );
    }
}

/// What can be signed has one spelling, which means the same and reads back as itself.
pub(crate) fn arguments_hold(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(read) = CanonicalArguments::read(Some(text)) else { return };
    let canonical = read.as_str();
    assert!(canonical.len() <= MAX_ARGUMENTS && !canonical.contains('\0'));
    assert_eq!(CanonicalArguments::read(Some(canonical)).expect("it was read before").as_str(), canonical);
    let (received, signed): (Value, Value) = (
        serde_json::from_str(text).expect("it is JSON"),
        serde_json::from_str(canonical).expect("it is JSON"),
    );
    assert!(same(&received, &signed), "{text} became {canonical}");
}

/// Numbers are equal if they are the same double: `1` and `1.0` are one.
fn same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => one.as_f64() == two.as_f64(),
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| same(one, two))
        }
        (Value::Object(one), Value::Object(two)) => {
            one.len() == two.len()
                && one.iter().all(|(key, value)| two.get(key).is_some_and(|other| same(value, other)))
        }
        (one, two) => one == two,
    }
}

/// What is evidence is an object with its three members, and names the one method there is.
pub(crate) fn evidence_holds(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if Evidence::parse(Some(text)).is_ok() {
        let value: Value = serde_json::from_str(text).expect("it is JSON");
        assert_eq!(value.get("method"), Some(&json!("webauthn")));
        assert!(value.get("challengeId").is_some_and(Value::is_string));
        assert!(value.get("response").is_some_and(Value::is_object));
    }
}
