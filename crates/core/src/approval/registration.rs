//! Registering a credential: is this what our page asked an authenticator for, and can the key be used?

use serde::Deserialize;

use super::attestation;
use super::authenticator_data::AuthenticatorData;
use super::cbor::{self, Item};
use super::class::Transports;
use super::client_data::{self, Ceremony};
use super::cose::PublicKey;
use super::credential::CredentialId;
use super::evidence::{bytes_of, object};
use super::fault::Fault;
use super::relying_party::RelyingParty;

/// The longest attestation object.
const MAX_ATTESTATION: usize = 64 * 1024;

/// A verified registration: everything that is kept of it.
#[derive(Clone, Debug)]
pub struct Registration {
    /// The id of the credential.
    pub id: CredentialId,
    /// Its public key.
    pub key: PublicKey,
    /// Where its counter stands.
    pub counter: u32,
    /// How it can be reached, as the client says.
    pub transports: Transports,
    /// The make of the authenticator, as it says.
    pub aaguid: [u8; 16],
    /// Whether it may be copied to other devices.
    pub backup_eligible: bool,
    /// Whether it is copied now.
    pub backed_up: bool,
    /// The format of the attestation.
    pub format: Box<str>,
    /// The attestation as received.
    pub attestation_object: Box<[u8]>,
    /// What the browser said, as received.
    pub client_data: Box<[u8]>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shape<'a> {
    id: String,
    raw_id: String,
    r#type: String,
    #[serde(borrow)]
    response: &'a serde_json::value::RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Inner {
    #[serde(rename = "clientDataJSON")]
    client_data: String,
    attestation_object: String,
    #[serde(default)]
    transports: Vec<String>,
}

/// Verifies a `RegistrationResponseJSON` against the challenge that its enrollment began with.
pub fn verify_registration(
    response: &str,
    challenge: &[u8],
    party: &RelyingParty,
) -> Result<Registration, Fault> {
    let outer: Shape<'_> = object(response).ok_or(Fault::Malformed("response"))?;
    let inner: Inner = object(outer.response.get()).ok_or(Fault::Malformed("response.response"))?;
    let id = CredentialId::parse(&outer.id).ok_or(Fault::Malformed("id"))?;
    if CredentialId::parse(&outer.raw_id).as_ref() != Some(&id) {
        return Err(Fault::Malformed("rawId"));
    }
    if outer.r#type != "public-key" {
        return Err(Fault::Malformed("type"));
    }
    let client_data = bytes_of(&inner.client_data, client_data::MAX_CLIENT_DATA, "clientDataJSON")?;
    let attestation_object = bytes_of(&inner.attestation_object, MAX_ATTESTATION, "attestationObject")?;
    let (_, client_hash) = client_data::check(&client_data, Ceremony::Create, challenge, party)?;

    let object = cbor::read_all(&attestation_object).ok_or(Fault::Malformed("attestationObject"))?;
    let part = |name| object.named(name).ok_or(Fault::Malformed("attestationObject"));
    let format = part("fmt")?.text().ok_or(Fault::Malformed("fmt"))?;
    let raw = part("authData")?.bytes().ok_or(Fault::Malformed("authData"))?;
    let statement: &Item<'_> = part("attStmt")?;
    let data = AuthenticatorData::parse(raw)?;
    data.check(party)?;
    let attested = data.attested.as_ref().ok_or(Fault::Malformed("authenticatorData"))?;
    if attested.id != id.as_bytes() {
        return Err(Fault::Malformed("id"));
    }
    let key = PublicKey::from_cose(attested.cose)?;
    attestation::check(format, statement, &key, &[raw, &client_hash].concat())?;
    Ok(Registration {
        id,
        key,
        counter: data.counter,
        transports: Transports::new(inner.transports)?,
        aaguid: attested.aaguid,
        backup_eligible: data.backup_eligible(),
        backed_up: data.backed_up(),
        format: format.into(),
        client_data: client_data.into(),
        attestation_object: attestation_object.clone().into(),
    })
}
