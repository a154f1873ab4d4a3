//! Credentials: what is kept of a passkey, and which of a person's may approve.

use highwater_passkey::{CredentialId, Enrolled, PublicKey, Transports};

use super::class::AuthenticatorClass;
use super::reason::ApprovalReason;
use crate::id::UserId;

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

// === impl Credential ===

impl Credential {
    /// What its signatures are held against.
    pub fn enrolled(&self) -> Enrolled<'_> {
        Enrolled {
            id: &self.id,
            user_handle: &self.user_handle,
            key: &self.key,
            backup_eligible: self.backup_eligible,
        }
    }

    /// Whether it is this person's and counts.
    pub fn is_usable_by(&self, user: &UserId) -> bool {
        self.standing == CredentialStanding::Active && self.user == *user
    }

    /// Whether an assertion with this counter may follow: it rises, except where none is kept (S50).
    pub fn counter_may_become(&self, counter: u32) -> bool {
        self.counter == 0 || counter > self.counter
    }
}
