//! One signature of a credential: is it over our challenge, on our page, by a verified person, under the enrolled key?

use serde::Deserialize;

use super::authenticator_data::{AuthenticatorData, MAX_AUTHENTICATOR_DATA};
use super::client_data::{self, Ceremony};
use super::cose::PublicKey;
use super::credential_id::CredentialId;
use super::fault::Fault;
use super::relying_party::RelyingParty;
use super::response::{bytes_of, object};

/// The longest signature: RSA of 8192 bits has 1024 bytes.
const MAX_SIGNATURE: usize = 2 * 1024;

/// A verified assertion: the bytes that were signed, for the receipt, and what they say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// The origin of the page, as the browser says.
    pub origin: Box<str>,
    /// What the browser said, as received.
    pub client_data: Box<[u8]>,
    /// What the authenticator said, as received.
    pub authenticator_data: Box<[u8]>,
    /// The signature over both.
    pub signature: Box<[u8]>,
    /// Where the counter stands now.
    pub counter: u32,
    /// Whether the credential is copied to other devices now.
    pub backed_up: bool,
}

/// An enrolled credential, as far as its signatures are held against it.
#[derive(Clone, Copy, Debug)]
pub struct Enrolled<'a> {
    /// Its id.
    pub id: &'a CredentialId,
    /// What authenticators call its person.
    pub user_handle: &'a [u8],
    /// Its public key.
    pub key: &'a PublicKey,
    /// Whether it may be copied to other devices, as it said at enrollment.
    pub backup_eligible: bool,
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
    authenticator_data: String,
    signature: String,
    #[serde(default)]
    user_handle: Option<String>,
}

/// Verifies an `AuthenticationResponseJSON` under the credential it names (G3). Counters are compared elsewhere: that
/// is a check of its own, after this one.
pub fn verify_assertion(
    response: &str,
    challenge: &[u8],
    credential: Enrolled<'_>,
    party: &RelyingParty,
) -> Result<Assertion, Fault> {
    let outer: Shape<'_> = object(response).ok_or(Fault::Malformed("response"))?;
    let inner: Inner = object(outer.response.get()).ok_or(Fault::Malformed("response.response"))?;
    for (text, name) in [(&outer.id, "id"), (&outer.raw_id, "rawId")] {
        if CredentialId::parse(text).as_ref() != Some(credential.id) {
            return Err(Fault::Malformed(name));
        }
    }
    if outer.r#type != "public-key" {
        return Err(Fault::Malformed("type"));
    }
    let client_data = bytes_of(&inner.client_data, client_data::MAX_CLIENT_DATA, "clientDataJSON")?;
    let raw = bytes_of(&inner.authenticator_data, MAX_AUTHENTICATOR_DATA, "authenticatorData")?;
    let signature = bytes_of(&inner.signature, MAX_SIGNATURE, "signature")?;
    if let Some(handle) = &inner.user_handle
        && highwater_notation::decode_base64url(handle).as_deref() != Some(credential.user_handle)
    {
        return Err(Fault::UserHandle);
    }
    let (origin, counter, backed_up) =
        check_signed(&client_data, &raw, &signature, challenge, credential, party)?;
    Ok(Assertion {
        origin: origin.into(),
        client_data: client_data.into(),
        authenticator_data: raw.into(),
        signature: signature.into(),
        counter,
        backed_up,
    })
}

fn check_signed(
    client_data: &[u8],
    raw: &[u8],
    signature: &[u8],
    challenge: &[u8],
    credential: Enrolled<'_>,
    party: &RelyingParty,
) -> Result<(String, u32, bool), Fault> {
    let (origin, client_hash) = client_data::check(client_data, Ceremony::Get, challenge, party)?;
    let data = AuthenticatorData::parse(raw)?;
    if data.attested.is_some() {
        return Err(Fault::Malformed("authenticatorData"));
    }
    data.check(party)?;
    if data.backup_eligible() != credential.backup_eligible {
        return Err(Fault::Backup);
    }
    credential.key.verify(&[raw, &client_hash].concat(), signature)?;
    Ok((origin, data.counter, data.backed_up()))
}
