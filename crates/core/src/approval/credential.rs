//! Credentials: what is kept of a passkey, and which of a person's may approve.

use std::fmt;

use highwater_notation::{decode_base64url, encode_base64url};

use super::authenticator_data::MAX_CREDENTIAL_ID;
use super::class::{AuthenticatorClass, Transports};
use super::cose::PublicKey;
use super::reason::ApprovalReason;
use crate::id::UserId;

/// The id of a credential: 1 to 1023 bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CredentialId(Box<[u8]>);

/// Whether a credential counts. A row is never deleted, so that receipts stay checkable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialStanding {
    /// It was registered, and no person has confirmed it: it approves nothing.
    Dormant,
    /// A person confirmed it.
    Active,
    /// It was taken back.
    Revoked,
}

/// An enrolled credential.
#[derive(Clone, Debug)]
pub struct Credential {
    /// Its id.
    pub id: CredentialId,
    /// Whose it is.
    pub user: UserId,
    /// What authenticators call that person.
    pub user_handle: Box<[u8]>,
    /// Its public key.
    pub key: PublicKey,
    /// The counter of its last assertion; zero where it keeps none.
    pub counter: u32,
    /// How it can be reached, as the client said at enrollment.
    pub transports: Transports,
    /// Whether it may be copied to other devices, as it said at enrollment.
    pub backup_eligible: bool,
    /// Whether it counts.
    pub standing: CredentialStanding,
}

/// The credentials of a person that may approve a tool of this class, to be offered to the browser (S31, S39).
pub fn eligible<'a>(
    credentials: impl IntoIterator<Item = &'a Credential>,
    user: &UserId,
    class: AuthenticatorClass,
) -> Result<Vec<&'a Credential>, ApprovalReason> {
    let eligible: Vec<_> = credentials
        .into_iter()
        .filter(|credential| credential.is_usable_by(user) && class.admits(&credential.transports))
        .collect();
    if eligible.is_empty() { Err(ApprovalReason::NoEligibleCredential) } else { Ok(eligible) }
}

// === impl CredentialId ===

impl CredentialId {
    /// Takes an id of a length that there is.
    pub fn new(bytes: impl Into<Box<[u8]>>) -> Option<Self> {
        let bytes = bytes.into();
        (1..=MAX_CREDENTIAL_ID).contains(&bytes.len()).then_some(Self(bytes))
    }

    /// Reads the form of the wire.
    pub fn parse(text: &str) -> Option<Self> {
        Self::new(decode_base64url(text)?)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for CredentialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode_base64url(&self.0))
    }
}

impl fmt::Debug for CredentialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// === impl Credential ===

impl Credential {
    /// Whether it is this person's and counts.
    pub fn is_usable_by(&self, user: &UserId) -> bool {
        self.standing == CredentialStanding::Active && self.user == *user
    }

    /// Whether an assertion with this counter may follow: it rises, except where none is kept (S50).
    pub fn counter_may_become(&self, counter: u32) -> bool {
        self.counter == 0 || counter > self.counter
    }
}
