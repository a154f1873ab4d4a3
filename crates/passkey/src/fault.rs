//! What exactly is wrong with an assertion or a registration. For the audit log and for `data.detail`.

use thiserror::Error;

use super::trust::Unattested;

/// What is wrong. The wire knows one reason for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// A part is missing, too long or not in its form.
    #[error("`{0}` is malformed")]
    Malformed(&'static str),
    /// It was made for the other ceremony.
    #[error("it is of the other ceremony")]
    Type,
    /// Another challenge was signed.
    #[error("another challenge was signed")]
    Challenge,
    /// It was made on a page that is not ours. The port counts.
    #[error("it was made on another origin")]
    Origin,
    /// It was made in a frame of somebody else's page.
    #[error("it was made across origins")]
    CrossOrigin,
    /// It was made for another relying party.
    #[error("it was made for another relying party")]
    RpId,
    /// Nobody was present.
    #[error("nobody was present")]
    NotPresent,
    /// The person was not verified by PIN or biometric.
    #[error("the person was not verified")]
    NotVerified,
    /// What it says of backups contradicts itself or what it said at enrollment.
    #[error("what it says of backups cannot be")]
    Backup,
    /// The key is of an algorithm or a size that is not accepted.
    #[error("the key is not of an accepted kind")]
    Algorithm,
    /// The attestation is of a form that is not accepted, or does not verify.
    #[error("the attestation is not accepted")]
    Attestation,
    /// Somebody who is listed must vouch for the authenticator, and nobody does.
    #[error("{0}")]
    Unattested(Unattested),
    /// It is of another user.
    #[error("it names another user")]
    UserHandle,
    /// The signature does not verify.
    #[error("the signature does not verify")]
    Signature,
}
