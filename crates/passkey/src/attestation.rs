//! What an authenticator says of the key it made. Usually nothing is asked for, and a key that vouches for itself is
//! checked (G8); where the operator lists authenticators, somebody who is listed must vouch for this one.

use highwater_notation::Timestamp;

use super::authenticators::{Aaguid, AuthenticatorList};
use super::cbor::{self, Item};
use super::certificate::Certificate;
use super::cose::{Algorithm, PublicKey};
use super::fault::Fault;
use super::trust::{Shown, Unattested};

/// What is asked of an attestation.
#[derive(Clone, Copy, Debug)]
pub enum AttestationDemand<'a> {
    /// Nothing.
    Nothing,
    /// That a listed root vouches for a listed make at this time.
    Listed(&'a AuthenticatorList, Timestamp),
}

/// An attestation as it is judged.
pub(super) struct Attestation<'a> {
    pub(super) format: &'a str,
    pub(super) statement: &'a Item<'a>,
    /// The new key.
    pub(super) key: &'a PublicKey,
    pub(super) aaguid: Aaguid,
    /// What it would be over.
    pub(super) signed: &'a [u8],
}

/// The formats that exist and that nobody here reads, so that a refusal can name them. All others are `other`.
const UNREAD: [&str; 6] = ["tpm", "apple", "android-key", "android-safetynet", "fido-u2f", "compound"];

/// Who vouches for a credential, by its stored attestation: the issuer of the last certificate. Credentials with
/// certificates are stored only after somebody listed has vouched for them, so this needs no second look.
pub fn attested_by(object: &[u8]) -> Option<String> {
    let object = cbor::read_all(object)?;
    let statement = object.named("attStmt")?;
    let last = match statement.named("x5c")? {
        Item::Array(chain) => chain.last()?.bytes()?,
        _ => return None,
    };
    Certificate::read(last).map(|read| read.issuer.words().to_owned())
}

// === impl Attestation ===

impl Attestation<'_> {
    pub(super) fn check(&self, demand: AttestationDemand<'_>) -> Result<(), Fault> {
        let Item::Map(members) = self.statement else { return Err(Fault::Malformed("attStmt")) };
        let is_empty = members.is_empty();
        match demand {
            AttestationDemand::Nothing => match self.format {
                "none" if is_empty => Ok(()),
                // With a chain of certificates it would be somebody else's word, and nobody here knows whose.
                "packed" if self.is_its_own() => self.vouches_for_itself(),
                _ => Err(Fault::Attestation),
            },
            AttestationDemand::Listed(list, now) => self.is_listed(list, now).map_err(Fault::Unattested),
        }
    }

    fn is_its_own(&self) -> bool {
        self.statement.named("x5c").is_none() && self.statement.named("ecdaaKeyId").is_none()
    }

    fn vouches_for_itself(&self) -> Result<(), Fault> {
        let signature = self.statement.named("sig").and_then(Item::bytes).ok_or(Fault::Attestation)?;
        if self.algorithm() != Some(self.key.algorithm()) {
            return Err(Fault::Attestation);
        }
        self.key.verify(self.signed, signature).map_err(|_| Fault::Attestation)
    }

    fn algorithm(&self) -> Option<Algorithm> {
        self.statement.named("alg").and_then(Item::whole).and_then(Algorithm::of_cose)
    }

    /// Whether somebody listed vouches for it (WebAuthn, section 8.2).
    fn is_listed(&self, list: &AuthenticatorList, now: Timestamp) -> Result<(), Unattested> {
        match self.format {
            "none" => return Err(Unattested::Nobody),
            "packed" if self.is_its_own() => return Err(Unattested::Itself),
            "packed" => {}
            other => {
                let name = UNREAD.into_iter().find(|known| *known == other);
                return Err(Unattested::Format(name.unwrap_or("other")));
            }
        }
        if self.aaguid.is_zero() {
            return Err(Unattested::Nameless);
        }
        let roots = list.roots_of(self.aaguid).ok_or(Unattested::Unlisted(self.aaguid))?;
        let chain: Option<Vec<&[u8]>> = match self.statement.named("x5c") {
            Some(Item::Array(chain)) => chain.iter().map(Item::bytes).collect(),
            _ => None,
        };
        let shown = Shown {
            chain: &chain.filter(|chain| !chain.is_empty()).ok_or(Unattested::Statement("x5c"))?,
            algorithm: self.algorithm().ok_or(Unattested::Statement("alg"))?,
            signature: self
                .statement
                .named("sig")
                .and_then(Item::bytes)
                .ok_or(Unattested::Statement("sig"))?,
            signed: self.signed,
            aaguid: self.aaguid,
        };
        shown.check(&roots, now)
    }
}
