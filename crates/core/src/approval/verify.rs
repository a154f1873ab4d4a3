//! Checks 4 to 12, in their order, and what comes of them. Nothing is consumed here, and nothing is consumed before.

use highwater_notation::{CanonicalArguments, Timestamp};
use highwater_passkey::{ActionHash, Assertion, CredentialId, RelyingParty, ToolName, verify_assertion};

use super::challenge::ChallengeRecord;
use super::class::AuthenticatorClass;
use super::credential::Credential;
use super::evidence::Evidence;
use super::reason::{ApprovalReason, Rejection};
use crate::id::{ChallengeId, Principal, UpstreamId, UserId};
use crate::pin::PinDigest;

/// The call that arrived, as it would be executed now.
#[derive(Clone, Debug)]
pub struct ApprovalCall<'a> {
    /// Who makes it.
    pub principal: &'a Principal,
    /// The tool, as the client calls it.
    pub tool: &'a ToolName,
    /// The server it goes to.
    pub upstream: Option<&'a UpstreamId>,
    /// The definition of the tool now.
    pub definition: Option<PinDigest>,
    /// Which credentials the tool accepts now.
    pub class: AuthenticatorClass,
    /// The arguments that would be sent.
    pub arguments: &'a CanonicalArguments,
}

/// Evidence that holds. The challenge is still unused: only [`VerifiedApproval::spend`] makes something of it.
///
/// It cannot be made without the checks:
///
/// ```compile_fail
/// use highwater_core::approval::VerifiedApproval;
/// let forged = VerifiedApproval { challenge: todo!() };
/// ```
///
/// and it cannot be spent twice:
///
/// ```compile_fail
/// use highwater_core::approval::{ConsumeOutcome, VerifiedApproval};
/// fn twice(verified: VerifiedApproval) {
///     let _ = verified.spend(ConsumeOutcome::Consumed);
///     let _ = verified.spend(ConsumeOutcome::Consumed);
/// }
/// ```
#[derive(Debug)]
pub struct VerifiedApproval {
    challenge: ChallengeId,
    principal: Principal,
    user: UserId,
    credential: CredentialId,
    action: ActionHash,
    assertion: Assertion,
}

/// How consuming the challenge went, in the one transaction that also raises the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsumeOutcome {
    /// It is consumed, and the counter is stored.
    Consumed,
    /// Somebody was faster (G6).
    AlreadyConsumed,
    /// It ended in between.
    Expired,
    /// The credential was revoked in between, or all of its person's are being reset.
    CredentialGone,
    /// Another assertion of the credential was stored in between, with a counter at least as high (G26).
    CounterRegressed,
}

/// An approval whose challenge is consumed: one execution of one action may rest on it.
///
/// ```compile_fail
/// use highwater_core::approval::{SpentApproval, VerifiedApproval};
/// fn unspent(verified: VerifiedApproval) -> SpentApproval {
///     SpentApproval(verified)
/// }
/// ```
#[derive(Debug)]
pub struct SpentApproval(VerifiedApproval);

/// Checks 4 to 12. Challenge and credential come from one consistent read (G24); absent means not found.
pub fn verify(
    evidence: &Evidence,
    challenge: Option<&ChallengeRecord>,
    credential: Option<&Credential>,
    call: &ApprovalCall<'_>,
    party: &RelyingParty,
    now: Timestamp,
) -> Result<VerifiedApproval, Rejection> {
    // 4: a challenge of somebody else is as unknown as none.
    let challenge = challenge
        .filter(|known| known.id == *evidence.challenge() && known.principal == *call.principal)
        .ok_or(ApprovalReason::ChallengeUnknown)?;
    // 5
    if challenge.consumed {
        return Err(ApprovalReason::ChallengeConsumed.into());
    }
    // 6
    if now >= challenge.expires {
        return Err(ApprovalReason::ChallengeExpired.into());
    }
    // 7: a tool that changed since is another tool.
    if challenge.tool != *call.tool
        || challenge.upstream.as_ref() != call.upstream
        || challenge.definition != call.definition
    {
        return Err(ApprovalReason::ChallengeWrongTool.into());
    }
    // 8
    let credential = credential
        .filter(|known| evidence.credential() == Some(&known.id) && known.is_usable_by(&challenge.user))
        .ok_or(ApprovalReason::UnknownCredential)?;
    // 9
    if !call.class.admits(&credential.transports) {
        return Err(ApprovalReason::AuthenticatorClassMismatch.into());
    }
    // 10
    let assertion =
        verify_assertion(evidence.response(), challenge.wire.as_bytes(), credential.enrolled(), party)
            .map_err(|fault| Rejection::with(ApprovalReason::SignatureVerificationFailed, fault))?;
    // 11
    if !credential.counter_may_become(assertion.counter) {
        return Err(ApprovalReason::SignatureCounterRegression.into());
    }
    // 12
    let action = ActionHash::of(call.tool, call.arguments, party.server());
    if action != challenge.wire.action() {
        return Err(ApprovalReason::ArgumentHashMismatch.into());
    }
    Ok(VerifiedApproval {
        challenge: challenge.id.clone(),
        principal: challenge.principal.clone(),
        user: challenge.user.clone(),
        credential: credential.id.clone(),
        action,
        assertion,
    })
}

// === impl VerifiedApproval ===

impl VerifiedApproval {
    /// The challenge to consume.
    pub fn challenge(&self) -> &ChallengeId {
        &self.challenge
    }

    /// Whose call it is.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Who signed.
    pub fn user(&self) -> &UserId {
        &self.user
    }

    /// The credential whose counter is to be stored.
    pub fn credential(&self) -> &CredentialId {
        &self.credential
    }

    /// What was signed.
    pub fn action(&self) -> ActionHash {
        self.action
    }

    /// The signature, its counter and the bytes it is over.
    pub fn assertion(&self) -> &Assertion {
        &self.assertion
    }

    /// Takes what the store says of consuming it.
    pub fn spend(self, outcome: ConsumeOutcome) -> Result<SpentApproval, ApprovalReason> {
        match outcome {
            ConsumeOutcome::Consumed => Ok(SpentApproval(self)),
            ConsumeOutcome::AlreadyConsumed => Err(ApprovalReason::ChallengeConsumed),
            ConsumeOutcome::Expired => Err(ApprovalReason::ChallengeExpired),
            ConsumeOutcome::CredentialGone => Err(ApprovalReason::UnknownCredential),
            ConsumeOutcome::CounterRegressed => Err(ApprovalReason::SignatureCounterRegression),
        }
    }
}

// === impl SpentApproval ===

impl SpentApproval {
    /// What was approved, by whom, for whom.
    pub fn verified(&self) -> &VerifiedApproval {
        &self.0
    }
}
