//! Challenges: one is issued for one call, to one asker, for one person to sign.

use highwater_notation::{CanonicalArguments, Timestamp};
use highwater_passkey::{ActionHash, Nonce, ServerId, ToolName, WireChallenge};

use super::class::AuthenticatorClass;
use super::credential::{Credential, eligible};
use super::reason::ApprovalReason;
use crate::id::{ChallengeId, Principal, UpstreamId, UserId};
use crate::pin::PinDigest;

/// How long a challenge can be signed and used (S30).
pub const CHALLENGE_LIFETIME_MS: u64 = 60_000;

/// An issued challenge, as it is stored (S29).
#[derive(Clone, Debug)]
pub struct ChallengeRecord {
    /// Its id.
    pub id: ChallengeId,
    /// Who asked for it. Nobody else can use it (G4).
    pub principal: Principal,
    /// Who is to sign it.
    pub user: UserId,
    /// The tool, as the client calls it.
    pub tool: ToolName,
    /// The server it is of; none for actions of our own.
    pub upstream: Option<UpstreamId>,
    /// The definition of the tool as it was when the person was asked (G16).
    pub definition: Option<PinDigest>,
    /// The arguments that are signed.
    pub arguments: CanonicalArguments,
    /// The bytes to sign.
    pub wire: WireChallenge,
    /// When it was issued.
    pub issued: Timestamp,
    /// When it ends.
    pub expires: Timestamp,
    /// Whether it was used. Used ones are kept, so that a replay is called one (G5).
    pub consumed: bool,
}

/// A call for which a challenge is asked.
#[derive(Clone, Debug)]
pub struct Proposal<'a> {
    /// Who asks.
    pub principal: &'a Principal,
    /// Who is to sign.
    pub user: &'a UserId,
    /// The tool, as the client calls it.
    pub tool: &'a ToolName,
    /// Whether the policy asks for a passkey, or may (G15).
    pub gated: bool,
    /// Which credentials the tool accepts.
    pub class: AuthenticatorClass,
    /// The server it is of.
    pub upstream: Option<&'a UpstreamId>,
    /// The definition of the tool.
    pub definition: Option<PinDigest>,
    /// The arguments.
    pub arguments: &'a CanonicalArguments,
}

/// A challenge, and the credentials that may sign it.
#[derive(Clone, Debug)]
pub struct Issued<'a> {
    /// What is to be stored before it is answered.
    pub record: ChallengeRecord,
    /// What the browser may offer.
    pub allowed: Vec<&'a Credential>,
}

/// Issues a challenge. `id` and `nonce` are random and used once; whoever draws them answers for that (S28).
pub fn issue<'a>(
    proposal: &Proposal<'_>,
    credentials: impl IntoIterator<Item = &'a Credential>,
    server: &ServerId,
    (id, nonce): (ChallengeId, Nonce),
    now: Timestamp,
) -> Result<Issued<'a>, ApprovalReason> {
    if !proposal.gated {
        return Err(ApprovalReason::ToolNotApprovedRequired);
    }
    let allowed = eligible(credentials, proposal.user, proposal.class)?;
    let action = ActionHash::of(proposal.tool, proposal.arguments, server);
    let record = ChallengeRecord {
        id,
        principal: proposal.principal.clone(),
        user: proposal.user.clone(),
        tool: proposal.tool.clone(),
        upstream: proposal.upstream.cloned(),
        definition: proposal.definition,
        arguments: proposal.arguments.clone(),
        wire: WireChallenge::new(nonce, action),
        issued: now,
        expires: Timestamp(now.0.saturating_add(CHALLENGE_LIFETIME_MS)),
        consumed: false,
    };
    Ok(Issued { record, allowed })
}
