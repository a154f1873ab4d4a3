//! Signing: a challenge is issued when the person presses the button, and its signature is verified before anything is
//! consumed. Every signature leaves a receipt, written in the transaction that consumes its challenge.

use highwater_audit::ApprovalNote;
use highwater_core::approval::{
    ApprovalCall, ApprovalReason, AuthenticatorClass, CHALLENGE_LIFETIME_MS, ChallengeRecord, Credential,
    Evidence, Issued, Proposal, Rejection, SpentApproval, VerifiedApproval, issue, verify,
};
use highwater_core::id::{ApprovalId, ChallengeId, DecisionId, Principal, UpstreamId, UserId};
use highwater_core::pin::PinDigest;
use highwater_display::render;
use highwater_notation::{CanonicalArguments, to_iso};
use highwater_passkey::{ReservedAction, ToolName};
use highwater_receipts::{ChainLink, Circumstances, Receipt, SignedReceipt};
use highwater_store::{ApprovalRequest, Put, ReceiptDraft, StoredCredential};

use super::options::{ChallengeEnvelope, Descriptor, RequestOptions};
use super::requests::{note, rules_of, told_of};
use super::view::{ApprovalState, ContextView};
use super::{ApprovalFault, ApprovalService, nonce, random_id};
use crate::gateway::now;

/// A call that is signed by its own client, or an act of our own.
pub(crate) struct Proposed<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) user: &'a UserId,
    pub(crate) tool: &'a ToolName,
    pub(crate) gated: bool,
    pub(crate) class: AuthenticatorClass,
    pub(crate) upstream: Option<&'a UpstreamId>,
    pub(crate) definition: Option<PinDigest>,
    pub(crate) arguments: &'a CanonicalArguments,
}

/// What a receipt says beyond what was signed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Around {
    pub(crate) caller: String,
    pub(crate) rules: Vec<String>,
    pub(crate) labels: Vec<String>,
    pub(crate) decision: Option<DecisionId>,
    /// Whether the receipt is for the auditor alone.
    pub(crate) sealed: bool,
}

/// The principal under whose name people sign acts of our own. No token has a name with a slash.
const PAGE: &str = "highwater/page";

// === impl ApprovalService ===

impl ApprovalService {
    /// Issues a challenge because a person pressed the button. `user` is who will sign; the asked person if none.
    pub async fn challenge(
        &self,
        id: &ApprovalId,
        user: Option<&UserId>,
    ) -> Result<ChallengeEnvelope, ApprovalFault> {
        let request = self.pending(id).await?;
        let user = user.unwrap_or(&request.user);
        let is_asked = match &request.need.quorum {
            Some(quorum) => quorum.counts(user, &request.user),
            None => *user == request.user,
        };
        if !is_asked {
            return Err(ApprovalFault::NotAsked);
        }
        self.not_yet_signed(&request, user).await?;
        let proposed = Proposed {
            principal: &request.principal,
            user,
            tool: &request.tool,
            gated: true,
            class: request.need.class,
            upstream: request.upstream.as_ref(),
            definition: request.definition,
            arguments: &request.arguments,
        };
        self.issue(&proposed, Some(id)).await
    }

    /// Of several who must sign each counts once. A second signature would be taken and change nothing, so it is refused.
    async fn not_yet_signed(&self, request: &ApprovalRequest, user: &UserId) -> Result<(), ApprovalFault> {
        let signed = request.need.quorum.is_some() && self.signers(&request.id).await?.contains(user);
        if signed { Err(ApprovalFault::AlreadySigned) } else { Ok(()) }
    }

    /// Issues a challenge for a call that its own client lets sign, or for an act of our own.
    pub(crate) async fn issue(
        &self,
        proposed: &Proposed<'_>,
        request: Option<&ApprovalId>,
    ) -> Result<ChallengeEnvelope, ApprovalFault> {
        let stored = self.store.credentials(Some(proposed.user)).await?;
        let proposal = Proposal {
            principal: proposed.principal,
            user: proposed.user,
            tool: proposed.tool,
            gated: proposed.gated,
            class: proposed.class,
            upstream: proposed.upstream,
            definition: proposed.definition,
            arguments: proposed.arguments,
        };
        let ids = (ChallengeId::new(random_id()?), nonce()?);
        let credentials = stored.iter().map(|stored| &stored.credential);
        let Issued { record, allowed } = issue(&proposal, credentials, self.server(), ids, now())?;
        let allow_credentials = allowed.iter().map(|credential| Descriptor::of(credential)).collect();
        // Stored before anybody can answer it.
        let record = match self.store.put_challenge(&record, request).await? {
            Put::Done(record) => record,
            Put::TooMany => return Err(ApprovalFault::TooMany),
            Put::Resetting => return Err(ApprovalFault::Resetting),
        };
        let upstream = record.upstream.as_ref().map(|upstream| upstream.as_str());
        Ok(ChallengeEnvelope {
            challenge_id: record.id.to_string(),
            display_text: render(&record.tool, upstream, &record.arguments).text,
            expires_at: to_iso(record.expires),
            request_options: RequestOptions {
                challenge: record.wire.to_base64url(),
                rp_id: self.party.rp_id().to_owned(),
                user_verification: "required",
                timeout: CHALLENGE_LIFETIME_MS,
                allow_credentials,
            },
        })
    }

    /// Takes the signature over a challenge of a request: T2.
    pub async fn assertion(
        &self,
        id: &ApprovalId,
        challenge: &ChallengeId,
        response: &str,
    ) -> Result<ApprovalState, ApprovalFault> {
        let request = self.store.request(id).await?.ok_or(ApprovalFault::Unknown)?;
        let evidence = Evidence::of_page(challenge.clone(), response)?;
        if request.need.quorum.is_some()
            && let (Some((record, _)), _) = self.store.challenge_and_credential(challenge, None).await?
        {
            self.not_yet_signed(&request, &record.user).await?;
        }
        let call = ApprovalCall {
            principal: &request.principal,
            tool: &request.tool,
            upstream: request.upstream.as_ref(),
            definition: request.definition,
            class: request.need.class,
            arguments: &request.arguments,
        };
        let context: ContextView = serde_json::from_str(&request.shown).unwrap_or_default();
        let around = Around {
            caller: request.caller.clone(),
            rules: rules_of(&told_of(&request.told)),
            labels: context.labels,
            decision: context.decision.map(DecisionId::new),
            sealed: request.sensitive,
        };
        let signed = self.sign(&evidence, &call, Some(&request), &around).await?;
        self.changed(id);
        let state = signed.state.unwrap_or(ApprovalState::Pending);
        self.tell_decided(&request, state);
        Ok(state)
    }

    /// Takes the evidence that a native client sent with its call: T1. Gives the id of the receipt, too.
    pub(crate) async fn native(
        &self,
        evidence: &Evidence,
        call: &ApprovalCall<'_>,
        around: &Around,
    ) -> Result<(SpentApproval, String), ApprovalFault> {
        let signed = self.sign(evidence, call, None, around).await?;
        Ok((signed.spent, signed.receipt.receipt().id.clone()))
    }

    /// A challenge for an act of our own.
    pub(super) async fn issue_own(
        &self,
        act: ReservedAction,
        user: &UserId,
        arguments: &CanonicalArguments,
    ) -> Result<ChallengeEnvelope, ApprovalFault> {
        let (principal, tool) = (Principal::new(PAGE), ToolName::reserved(act));
        let proposed = Proposed {
            principal: &principal,
            user,
            tool: &tool,
            gated: true,
            // Whoever may approve anything may do this: a person's only passkey may be in the machine.
            class: AuthenticatorClass::Platform,
            upstream: None,
            definition: None,
            arguments,
        };
        self.issue(&proposed, None).await
    }

    /// Takes the signature over an act of our own, and gives who signed what.
    pub(super) async fn sign_own(
        &self,
        act: ReservedAction,
        challenge: &ChallengeId,
        response: &str,
    ) -> Result<OwnAct, ApprovalFault> {
        let evidence = Evidence::of_page(challenge.clone(), response)?;
        let (found, _) = self.store.challenge_and_credential(challenge, evidence.credential()).await?;
        let (record, _) = found.ok_or(ApprovalReason::ChallengeUnknown)?;
        let (principal, tool) = (Principal::new(PAGE), ToolName::reserved(act));
        let call = ApprovalCall {
            principal: &principal,
            tool: &tool,
            upstream: None,
            definition: None,
            class: AuthenticatorClass::Platform,
            arguments: &record.arguments,
        };
        let around = Around { caller: PAGE.to_owned(), ..Around::default() };
        let signed = self.sign(&evidence, &call, None, &around).await?;
        let user = signed.spent.verified().user().clone();
        Ok(OwnAct { user, arguments: record.arguments, receipt: signed.receipt })
    }

    /// Checks 4 to 14, and the receipt.
    async fn sign(
        &self,
        evidence: &Evidence,
        call: &ApprovalCall<'_>,
        request: Option<&ApprovalRequest>,
        around: &Around,
    ) -> Result<Signed, ApprovalFault> {
        // One consistent read of both (G24).
        let (found, credential) =
            self.store.challenge_and_credential(evidence.challenge(), evidence.credential()).await?;
        let asked = request.map(|request| &request.id);
        // A challenge of the page is for the page, and one of a client's own for that client.
        let record = found.filter(|(_, of)| of.as_ref() == asked).map(|(record, _)| record);
        let key = credential.as_ref().map(|stored| &stored.credential);
        let verified = verify(evidence, record.as_ref(), key, call, &self.party, now());
        let verified = verified.inspect_err(|rejection| self.record_rejection(call, request, rejection))?;
        let (Some(record), Some(stored)) = (record, credential) else {
            return Err(ApprovalReason::ChallengeUnknown.into());
        };
        let draft = self.draft(&verified, &record, &stored.credential, request, around)?;
        let used = self.store.consume(&verified, asked, &draft, now()).await?;
        let spent = verified
            .spend(used.outcome)
            .inspect_err(|reason| self.record_rejection(call, request, &(*reason).into()))?;
        let receipt = used.receipt.ok_or(ApprovalFault::Unknown)?;
        self.record_signature(&spent, &stored, request, &receipt, around)?;
        Ok(Signed { spent, receipt: *receipt, state: used.request.map(Into::into) })
    }

    fn draft(
        &self,
        verified: &VerifiedApproval,
        record: &ChallengeRecord,
        credential: &Credential,
        request: Option<&ApprovalRequest>,
        around: &Around,
    ) -> Result<ReceiptDraft, ApprovalFault> {
        let id = format!("rcp_{}", random_id()?);
        let circumstances = Circumstances {
            id: &id,
            // The store gives it its place and its time.
            chain: ChainLink::first(self.key.chain()),
            signed_at: now(),
            caller: &around.caller,
            policy_rules: around.rules.clone(),
            labels: around.labels.clone(),
            approval_id: request.map(|request| request.id.as_str()),
        };
        let receipt = Receipt::of(verified, record, credential, &self.party, circumstances)
            .ok_or(ApprovalReason::ChallengeUnknown)?;
        self.drafted(receipt, around)
    }

    fn record_signature(
        &self,
        spent: &SpentApproval,
        stored: &StoredCredential,
        request: Option<&ApprovalRequest>,
        receipt: &SignedReceipt,
        around: &Around,
    ) -> Result<(), ApprovalFault> {
        let (user, credential) = (spent.verified().user(), stored.credential.id.to_string());
        let digest = receipt.digest();
        let base = match request {
            Some(request) => note("signed", user.as_str(), request),
            None => ApprovalNote { act: "signed", by: user.as_str(), ..ApprovalNote::default() },
        };
        let note = ApprovalNote {
            tool: Some(&receipt.receipt().tool_name),
            credential: Some(&credential),
            receipt: Some(&receipt.receipt().id),
            receipt_digest: Some(&digest),
            ..base
        };
        self.record(around.decision.as_ref(), note)
    }

    fn record_rejection(
        &self,
        call: &ApprovalCall<'_>,
        request: Option<&ApprovalRequest>,
        rejection: &Rejection,
    ) {
        let detail = match rejection.fault {
            Some(fault) => format!("{}: {fault}", rejection.reason),
            None => rejection.reason.to_string(),
        };
        let note = ApprovalNote {
            act: "rejected",
            by: call.principal.as_str(),
            request: request.map(|request| request.id.as_str()),
            tool: Some(call.tool.as_str()),
            detail: Some(&detail),
            ..ApprovalNote::default()
        };
        // Nothing is done either way.
        if let Err(error) = self.record(None, note) {
            tracing::error!(%error, "a rejected approval could not be recorded");
        }
    }
}

/// A signature that counts.
struct Signed {
    spent: SpentApproval,
    receipt: SignedReceipt,
    state: Option<ApprovalState>,
}

/// An act of our own that a person signed.
pub(super) struct OwnAct {
    pub(super) user: UserId,
    pub(super) arguments: CanonicalArguments,
    pub(super) receipt: SignedReceipt,
}

// === impl Descriptor ===

impl Descriptor {
    pub(super) fn of(credential: &Credential) -> Self {
        Self {
            r#type: "public-key",
            id: credential.id.to_string(),
            transports: credential.transports.names().to_vec(),
        }
    }
}
