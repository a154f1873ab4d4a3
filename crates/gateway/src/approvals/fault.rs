//! Why the approval service did not do what it was asked.

use highwater_core::approval::{ApprovalReason, Rejection, TermsFault, Unmandated};
use highwater_store::{AuditError, StoreError};
use thiserror::Error;

use super::view::ApprovalState;

/// Why nothing was done.
#[derive(Debug, Error)]
pub enum ApprovalFault {
    /// The signature, the registration or what they belong to does not hold.
    #[error("{0}")]
    Rejected(Rejection),
    /// There is no such request, credential, mandate or window.
    #[error("there is no such thing here")]
    Unknown,
    /// The request is answered or over already.
    #[error("this was answered already, or its time is over")]
    Over(ApprovalState),
    /// A button cannot answer what asks for a passkey.
    #[error("this needs a passkey")]
    NeedsPasskey,
    /// The person is none of those who are asked.
    #[error("this person is not asked")]
    NotAsked,
    /// One signature of each person counts.
    #[error("this person has signed already; it waits for the others")]
    AlreadySigned,
    /// The code is wrong; so many attempts are left.
    #[error("the code is wrong; {left} attempts are left")]
    WrongCode {
        /// How many.
        left: u32,
    },
    /// The name of a passkey does not fit.
    #[error("a passkey is named in one line of at most {most} characters")]
    BadName {
        /// How many.
        most: usize,
    },
    /// There is no open enrollment for this person.
    #[error("no enrollment is open; open one with `highwater approvals enroll`")]
    NoWindow,
    /// The answer cannot be remembered for that long.
    #[error("this answer cannot be remembered in that way")]
    NotRememberable,
    /// A yes to the call is no answer: with what was read before a silence it would be refused.
    #[error("this asks whether it is a new conversation, which only that word answers")]
    NeedsWord,
    /// Nobody need say which conversation it is.
    #[error("which conversation this is, is known already")]
    NotPresumed,
    /// Too often.
    #[error("too many attempts; wait a little")]
    TooMany,
    /// All passkeys of the person are being reset.
    #[error("all passkeys of this person are being reset, and sign nothing until that is done or stopped")]
    Resetting,
    /// The reset is not due before this time.
    #[error("the reset is not due yet")]
    NotDue(highwater_notation::Timestamp),
    /// The mandate is none.
    #[error("{0}")]
    Mandate(Unmandated),
    /// The mandate would be refused when it is used.
    #[error("{0}")]
    Terms(TermsFault),
    /// What is to be sealed cannot be, so there would be no receipt.
    #[error("its receipt cannot be sealed: no auditor's key is configured any more")]
    Unsealable,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoEntropy,
    /// The store could not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It could not be recorded, so it was not done.
    #[error(transparent)]
    Audit(#[from] AuditError),
}

// === impl ApprovalFault ===

impl ApprovalFault {
    /// The word for it, for programs: the reason of SEP-2672 where it is one.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Rejected(rejection) => rejection.reason.as_str(),
            Self::Unknown => "unknown",
            Self::Over(_) => "over",
            Self::NeedsPasskey => "needs_passkey",
            Self::NotAsked => "not_asked",
            Self::WrongCode { .. } => "wrong_code",
            Self::AlreadySigned => "already_signed",
            Self::BadName { .. } => "bad_name",
            Self::NoWindow => "no_window",
            Self::NotRememberable => "not_rememberable",
            Self::NeedsWord => "needs_word",
            Self::NotPresumed => "not_presumed",
            Self::TooMany => "too_many",
            Self::Resetting => "resetting",
            Self::NotDue(_) => "not_due",
            Self::Mandate(_) | Self::Terms(_) => "mandate",
            Self::Unsealable | Self::NoEntropy | Self::Store(_) | Self::Audit(_) => "unavailable",
        }
    }
}

impl From<Rejection> for ApprovalFault {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<ApprovalReason> for ApprovalFault {
    fn from(reason: ApprovalReason) -> Self {
        Self::Rejected(reason.into())
    }
}
