//! Verified approval: a person's passkey signs one exact call (SEP-2672), and this is where the signature is judged.
//!
//! The order of the checks is the order of the types, so that consuming a challenge before it is verified does not
//! compile: [`Evidence`] is read from what the client sent (checks 1 to 3), [`verify`] makes a [`VerifiedApproval`] of
//! it (4 to 12), the store consumes the challenge and says how that went (11 again, 13, 14), and
//! [`VerifiedApproval::spend`] turns that into the [`SpentApproval`] that something may rest on.
//!
//! Rules are cited by their numbers: S for the server's, G for rulings where the text is silent.

mod challenge;
mod class;
mod credential;
mod enrollment;
mod evidence;
mod grant;
mod mandate;
mod quorum;
mod reason;
mod relay;
mod round;
mod undisturbed;
mod verify;

pub use challenge::{CHALLENGE_LIFETIME_MS, ChallengeRecord, Issued, Proposal, issue};
pub use class::AuthenticatorClass;
pub use credential::{Credential, CredentialStanding, eligible};
pub use enrollment::{ENROLLMENT_LIFETIME_MS, NewCredential, PendingEnrollment, finish};
pub use evidence::{Evidence, METHOD};
pub use grant::{
    GRANT_LIFETIME_MS, Grant, GrantOutcome, MandateOutcome, MandatedCall, SpentGrant, SpentMandate,
};
pub use mandate::{
    DelegatedTool, MAX_MANDATE_MS, Mandate, MandateUse, PermitUse, StandingPermit, TermsFault, Unmandated,
};
pub use quorum::{Partial, PartialAnswer, Quorum, QuorumState};
pub use reason::{ApprovalReason, Rejection};
pub use relay::{RelayedApproval, RelayedCall, RelayedChallenge, relay, resume};
pub use round::{
    Consented, LeftOpen, ROUND_LIFETIME_MS, ResumedRound, Round, RoundCall, RoundFault, RoundOutcome,
    SpentRound,
};
pub use undisturbed::Undisturbed;
pub use verify::{ApprovalCall, ConsumeOutcome, SpentApproval, VerifiedApproval, verify};
