//! Mandates: a person signs what an agent may do by itself, and every use is counted and leaves a receipt of its own.

use std::collections::BTreeMap;

use highwater_core::approval::receipt::{ChainLink, Circumstances, Receipt, UseOf};
use highwater_core::approval::{
    ApprovalReason, CanonicalArguments, Mandate, MandateUse, MandatedCall, ReservedAction, SpentMandate,
    ToolName, Unmandated,
};
use highwater_core::audit::ApprovalNote;
use highwater_core::id::{ChallengeId, Principal, UpstreamId, UserId};
use highwater_core::label::Label;
use highwater_core::pin::PinDigest;
use highwater_store::{ReceiptDraft, StoredMandate};

use super::options::ChallengeEnvelope;
use super::view::MandateView;
use super::{Around, By, Desk, DeskFault, random_id};
use crate::gateway::now;

/// A call that would rest on a mandate.
pub(crate) struct Mandated<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) tool: &'a ToolName,
    pub(crate) upstream: Option<&'a UpstreamId>,
    pub(crate) definition: Option<PinDigest>,
    pub(crate) arguments: &'a CanonicalArguments,
    pub(crate) delegable: bool,
    /// Which arguments say what is acted on and where.
    pub(crate) aims: &'a [&'a str],
    pub(crate) label: &'a Label,
    pub(crate) around: &'a Around,
}

// === impl Desk ===

impl Desk {
    /// A challenge by which a person signs a mandate; `terms` are its JSON text.
    pub async fn mandate_challenge(
        &self,
        user: &UserId,
        terms: &str,
    ) -> Result<ChallengeEnvelope, DeskFault> {
        let terms =
            CanonicalArguments::read(Some(terms)).map_err(|_| DeskFault::Mandate(Unmandated::Malformed))?;
        Mandate::read(&terms).map_err(DeskFault::Mandate)?;
        self.issue_own(ReservedAction::Delegate, user, &terms).await
    }

    /// Takes the signature over it.
    pub async fn mandate_assertion(
        &self,
        challenge: &ChallengeId,
        response: &str,
    ) -> Result<MandateView, DeskFault> {
        let act = self.sign_own(ReservedAction::Delegate, challenge, response).await?;
        let mandate = Mandate::read(&act.arguments).map_err(DeskFault::Mandate)?;
        // It ends when one of its tools changes; a tool that nobody has cannot be delegated.
        let mut definitions = BTreeMap::new();
        for tool in mandate.tools() {
            let digest = self.definition(tool).ok_or(DeskFault::Mandate(Unmandated::Tool))?;
            definitions.insert(tool.as_str().to_owned(), digest.to_string());
        }
        let stored = StoredMandate {
            id: random_id()?,
            receipt: act.receipt.receipt().id.clone(),
            user: act.user,
            agent: mandate.agent().clone(),
            terms: act.arguments,
            definitions: serde_json::to_string(&definitions).unwrap_or_default().into(),
            remaining: mandate.max_calls(),
            not_before: mandate.not_before(),
            expires: mandate.expires(),
            revoked: None,
        };
        if !self.store.put_mandate(&stored).await? {
            return Err(ApprovalReason::ChallengeConsumed.into());
        }
        let note = ApprovalNote {
            act: "mandate-signed",
            by: stored.user.as_str(),
            user: Some(stored.user.as_str()),
            receipt: Some(&stored.receipt),
            detail: Some(&stored.id),
            ..ApprovalNote::default()
        };
        self.record(None, note)?;
        Ok(MandateView::of(stored))
    }

    /// Every mandate.
    pub async fn mandates(&self) -> Result<Vec<MandateView>, DeskFault> {
        Ok(self.store.mandates(None, MOST).await?.into_iter().map(MandateView::of).collect())
    }

    /// Ends a mandate.
    pub async fn revoke_mandate(&self, id: &str, by: By<'_>) -> Result<bool, DeskFault> {
        let by = by.words();
        let note =
            ApprovalNote { act: "mandate-revoked", by: &by, detail: Some(id), ..ApprovalNote::default() };
        self.record(None, note)?;
        Ok(self.store.revoke_mandate(id, &by, "", now()).await?)
    }

    /// Uses a mandate that covers this call once, if there is one: T4. Gives the id of the receipt, too.
    pub(crate) async fn use_mandate(
        &self,
        call: &Mandated<'_>,
    ) -> Result<Option<(StoredMandate, SpentMandate, String)>, DeskFault> {
        for stored in self.store.mandates(Some(call.principal), MOST).await? {
            if stored.revoked.is_some() {
                continue;
            }
            let Some(covered) = self.covered(&stored, call) else { continue };
            let draft = self.draft_use(&stored, call)?;
            let used = self.store.use_mandate(&stored.id, &draft, now()).await?;
            if let (Ok(spent), Some(receipt)) = (covered.spend(used.outcome), &used.receipt) {
                let digest = receipt.digest();
                let note = ApprovalNote {
                    act: "mandate-used",
                    by: call.principal.as_str(),
                    user: Some(stored.user.as_str()),
                    tool: Some(call.tool.as_str()),
                    receipt: Some(&receipt.receipt().id),
                    receipt_digest: Some(&digest),
                    detail: Some(&stored.id),
                    ..ApprovalNote::default()
                };
                self.record(call.around.decision.as_ref(), note)?;
                return Ok(Some((stored, spent, receipt.receipt().id.clone())));
            }
        }
        Ok(None)
    }

    /// The call, if it keeps within a mandate and the tool is still the one that was delegated.
    fn covered(&self, stored: &StoredMandate, call: &Mandated<'_>) -> Option<MandatedCall> {
        let definitions: BTreeMap<String, String> =
            serde_json::from_str(&stored.definitions).unwrap_or_default();
        let (then, now_is) = (definitions.get(call.tool.as_str())?, call.definition?);
        if *then != now_is.to_string() {
            return None;
        }
        let within = MandateUse {
            principal: call.principal,
            tool: call.tool,
            delegable: call.delegable,
            arguments: call.arguments,
            aims: Some(call.aims),
            label: call.label,
            now: now(),
        };
        Mandate::read(&stored.terms).ok()?.call(&within, self.server()).ok()
    }

    fn draft_use(&self, stored: &StoredMandate, call: &Mandated<'_>) -> Result<ReceiptDraft, DeskFault> {
        let id = format!("rcp_{}", random_id()?);
        let circumstances = Circumstances {
            id: &id,
            chain: ChainLink::first(self.key.chain()),
            signed_at: now(),
            caller: &call.around.caller,
            policy_rules: call.around.rules.clone(),
            labels: call.around.labels.clone(),
            approval_id: None,
        };
        let used = UseOf {
            mandate: &stored.receipt,
            user: &stored.user,
            principal: call.principal,
            tool: call.tool,
            upstream: call.upstream,
            definition: call.definition,
            arguments: call.arguments,
        };
        self.drafted(Receipt::of_use(&used, &self.party, circumstances), call.around)
    }
}

/// How many mandates are looked at.
const MOST: u32 = 1000;
