//! Registering a credential: is this what our page asked an authenticator for, and can the key be used?

use aws_lc_rs::digest::{SHA256, digest};
use serde::Deserialize;

use super::attestation::{Attestation, AttestationDemand, attested_by};
use super::authenticator_data::AuthenticatorData;
use super::authenticators::Aaguid;
use super::cbor::{self, Item};
use super::client_data::{self, Ceremony};
use super::cose::PublicKey;
use super::credential_id::CredentialId;
use super::fault::Fault;
use super::relying_party::RelyingParty;
use super::response::{bytes_of, object};
use super::transports::Transports;

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
    /// Who vouches for the authenticator, where somebody who is listed does.
    pub attested_by: Option<Box<str>>,
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
    demand: AttestationDemand<'_>,
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

    let object = Object::read(&attestation_object)?;
    object.data.check(party)?;
    let (aaguid, key) = object.judge(Some(&id), &client_hash, demand)?;
    Ok(Registration {
        id,
        key,
        counter: object.data.counter,
        transports: Transports::new(inner.transports)?,
        aaguid: aaguid.0,
        backup_eligible: object.data.backup_eligible(),
        backed_up: object.data.backed_up(),
        format: object.format.into(),
        attested_by: attested_by(&attestation_object).map(Into::into),
        client_data: client_data.into(),
        attestation_object: attestation_object.clone().into(),
    })
}

/// Judges the attestation of a stored credential anew: what was listed when it was made may not be any more.
pub fn verify_stored_attestation(
    attestation_object: &[u8],
    client_data: &[u8],
    demand: AttestationDemand<'_>,
) -> Result<(), Fault> {
    let client_hash = digest(&SHA256, client_data);
    Object::read(attestation_object)?.judge(None, client_hash.as_ref(), demand).map(|_| ())
}

/// An attestation object, taken apart.
struct Object<'a> {
    format: &'a str,
    statement: Item<'a>,
    raw: &'a [u8],
    data: AuthenticatorData<'a>,
}

// === impl Object ===

impl<'a> Object<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, Fault> {
        let object = cbor::read_all(bytes).ok_or(Fault::Malformed("attestationObject"))?;
        let part = |name| object.named(name).ok_or(Fault::Malformed("attestationObject"));
        let format = part("fmt")?.text().ok_or(Fault::Malformed("fmt"))?;
        let raw = part("authData")?.bytes().ok_or(Fault::Malformed("authData"))?;
        let statement = part("attStmt")?.clone();
        Ok(Self { format, statement, raw, data: AuthenticatorData::parse(raw)? })
    }

    /// Judges the attestation, and says of which make and with which key the credential is.
    fn judge(
        &self,
        id: Option<&CredentialId>,
        client_hash: &[u8],
        demand: AttestationDemand<'_>,
    ) -> Result<(Aaguid, PublicKey), Fault> {
        let attested = self.data.attested.as_ref().ok_or(Fault::Malformed("authenticatorData"))?;
        if id.is_some_and(|id| attested.id != id.as_bytes()) {
            return Err(Fault::Malformed("id"));
        }
        let (aaguid, key) = (Aaguid(attested.aaguid), PublicKey::from_cose(attested.cose)?);
        let attestation = Attestation {
            format: self.format,
            statement: &self.statement,
            key: &key,
            aaguid,
            signed: &[self.raw, client_hash].concat(),
        };
        attestation.check(demand)?;
        Ok((aaguid, key))
    }
}
