//! Enrolling a passkey: one enrollment at a time per asker, finished once, and dormant until a person confirms it.

use highwater_notation::Timestamp;
use highwater_passkey::{
    AttestationDemand, AuthenticatorList, CredentialId, Nonce, PublicKey, Registration, RelyingParty,
    Transports, verify_registration,
};

use super::credential::{Credential, CredentialStanding};
use super::reason::{ApprovalReason, Rejection};
use crate::id::{Principal, UserId};

/// How long an enrollment can be finished (S13).
pub const ENROLLMENT_LIFETIME_MS: u64 = 300_000;

/// An enrollment that was begun. A new one replaces it, and any attempt to finish takes it (G9).
#[derive(Clone, Debug)]
pub struct PendingEnrollment {
    /// Who began it.
    pub principal: Principal,
    /// Whose credential it will be.
    pub user: UserId,
    /// What authenticators call that person.
    pub user_handle: Box<[u8]>,
    /// The bytes to be answered.
    pub challenge: Nonce,
    /// When it ends.
    pub expires: Timestamp,
}

/// A verified new credential, to be stored.
#[derive(Clone, Debug)]
pub struct NewCredential {
    /// Whose it is.
    pub user: UserId,
    /// What authenticators call that person.
    pub user_handle: Box<[u8]>,
    /// Everything that was verified.
    pub registration: Registration,
}

// === impl PendingEnrollment ===

impl PendingEnrollment {
    /// Begins an enrollment; `challenge` is random and used once.
    pub fn begin(
        principal: Principal,
        user: UserId,
        user_handle: impl Into<Box<[u8]>>,
        challenge: Nonce,
        now: Timestamp,
    ) -> Self {
        let expires = Timestamp(now.0.saturating_add(ENROLLMENT_LIFETIME_MS));
        Self { principal, user, user_handle: user_handle.into(), challenge, expires }
    }
}

/// Finishes an enrollment that the store has just taken away, so that it is finished once.
///
/// Where `listed` says which authenticators are let in, somebody listed must vouch for this one.
/// `is_enrolled` is asked last, after everything is verified and before anything is written (S20).
pub fn finish(
    pending: Option<&PendingEnrollment>,
    principal: &Principal,
    response: &str,
    party: &RelyingParty,
    listed: Option<&AuthenticatorList>,
    is_enrolled: impl FnOnce(&CredentialId) -> bool,
    now: Timestamp,
) -> Result<NewCredential, Rejection> {
    let pending = pending
        .filter(|pending| pending.principal == *principal && now < pending.expires)
        .ok_or(ApprovalReason::NoPendingEnrollment)?;
    let demand = listed.map_or(AttestationDemand::Nothing, |list| AttestationDemand::Listed(list, now));
    let registration = verify_registration(response, &pending.challenge.0, party, demand)
        .map_err(|fault| Rejection::with(ApprovalReason::VerificationFailed, fault))?;
    if is_enrolled(&registration.id) {
        return Err(ApprovalReason::CredentialAlreadyEnrolled.into());
    }
    Ok(NewCredential { user: pending.user.clone(), user_handle: pending.user_handle.clone(), registration })
}

// === impl NewCredential ===

impl NewCredential {
    /// The credential as it is stored. Whoever speaks the protocol can get this far, so it approves nothing yet.
    pub fn dormant(&self) -> Credential {
        let Registration { id, key, counter, transports, backup_eligible, .. } = &self.registration;
        let (key, transports): (PublicKey, Transports) = (key.clone(), transports.clone());
        Credential {
            id: id.clone(),
            user: self.user.clone(),
            user_handle: self.user_handle.clone(),
            key,
            counter: *counter,
            transports,
            backup_eligible: *backup_eligible,
            standing: CredentialStanding::Dormant,
        }
    }
}
