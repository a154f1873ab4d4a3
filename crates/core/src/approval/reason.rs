//! The sixteen reasons of SEP-2672, and a rejection: the reason on the wire and what exactly was wrong.

use std::fmt;

use highwater_notation::vocabulary;
use highwater_passkey::Fault;

vocabulary! {
    /// Why an approval was rejected (S56). The words are the wire's and are never translated.
    ApprovalReason {
        /// There is no evidence, or it has another shape.
        MissingEvidence = "missing_evidence",
        /// The evidence is of a method that nobody here knows.
        UnsupportedMethod = "unsupported_method",
        /// No such challenge was issued to whoever asks.
        ChallengeUnknown = "challenge_unknown",
        /// The challenge was used before.
        ChallengeConsumed = "challenge_consumed",
        /// The challenge is too old.
        ChallengeExpired = "challenge_expired",
        /// The challenge was issued for another tool, or for the tool as it was before.
        ChallengeWrongTool = "challenge_wrong_tool",
        /// The credential is not enrolled, not confirmed, revoked, or somebody else's.
        UnknownCredential = "unknown_credential",
        /// The tool does not accept credentials of this class.
        AuthenticatorClassMismatch = "authenticator_class_mismatch",
        /// The assertion does not verify.
        SignatureVerificationFailed = "signature_verification_failed",
        /// The authenticator's counter did not rise: there may be a copy of it.
        SignatureCounterRegression = "signature_counter_regression",
        /// Another action was signed than the one that arrived.
        ArgumentHashMismatch = "argument_hash_mismatch",
        /// A challenge was asked for a tool that needs none.
        ToolNotApprovedRequired = "tool_not_approved_required",
        /// The person has no credential that the tool accepts.
        NoEligibleCredential = "no_eligible_credential",
        /// The credential is enrolled already.
        CredentialAlreadyEnrolled = "credential_already_enrolled",
        /// Nobody began an enrollment, or too long ago.
        NoPendingEnrollment = "no_pending_enrollment",
        /// The registration does not verify.
        VerificationFailed = "verification_failed",
    }
}

/// A rejection: what the wire is told, and what people are told beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The reason on the wire.
    pub reason: ApprovalReason,
    /// What exactly was wrong with an assertion or a registration.
    pub fault: Option<Fault>,
}

// === impl ApprovalReason ===

impl ApprovalReason {
    /// A sentence for the person in front of the client.
    pub const fn message(self) -> &'static str {
        match self {
            Self::MissingEvidence => "this call needs a passkey approval, and none came with it",
            Self::UnsupportedMethod => "the approval was made by a method other than `webauthn`",
            Self::ChallengeUnknown => "the approval belongs to no challenge that was issued here",
            Self::ChallengeConsumed => "the approval was used before; every call needs its own",
            Self::ChallengeExpired => "the approval came too late; ask for a new challenge",
            Self::ChallengeWrongTool => {
                "the approval was asked for another tool, or for an earlier form of it"
            }
            Self::UnknownCredential => "the passkey is not enrolled and confirmed here",
            Self::AuthenticatorClassMismatch => "this tool does not accept passkeys of this kind",
            Self::SignatureVerificationFailed => "the approval could not be verified",
            Self::SignatureCounterRegression => {
                "the counter of the passkey did not rise; there may be a copy of it"
            }
            Self::ArgumentHashMismatch => "other arguments were approved than those of this call",
            Self::ToolNotApprovedRequired => "this tool needs no passkey approval",
            Self::NoEligibleCredential => "no enrolled passkey may approve this tool",
            Self::CredentialAlreadyEnrolled => "this passkey is enrolled already",
            Self::NoPendingEnrollment => {
                "no enrollment is under way; open one with `highwater approvals enroll`"
            }
            Self::VerificationFailed => "the registration could not be verified",
        }
    }
}

// === impl Rejection ===

impl Rejection {
    pub(super) const fn with(reason: ApprovalReason, fault: Fault) -> Self {
        Self { reason, fault: Some(fault) }
    }
}

impl From<ApprovalReason> for Rejection {
    fn from(reason: ApprovalReason) -> Self {
        Self { reason, fault: None }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason.message())?;
        self.fault.map_or(Ok(()), |fault| write!(f, ": {fault}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s56_the_sixteen_reasons_are_spelled_as_the_text_has_them() {
        assert_eq!(
            ApprovalReason::NAMES.join(" "),
            "missing_evidence unsupported_method challenge_unknown challenge_consumed challenge_expired \
             challenge_wrong_tool unknown_credential authenticator_class_mismatch signature_verification_failed \
             signature_counter_regression argument_hash_mismatch tool_not_approved_required \
             no_eligible_credential credential_already_enrolled no_pending_enrollment verification_failed"
        );
        assert_eq!(ApprovalReason::ALL.len(), 16);
    }
}
