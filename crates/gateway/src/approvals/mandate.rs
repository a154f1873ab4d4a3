//! Mandates: a person signs what an agent may do by itself, and every use is counted and leaves a receipt of its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use highwater_audit::ApprovalNote;
use highwater_core::annotation::ArgumentRole;
use highwater_core::approval::{
    ApprovalReason, DelegatedTool, Mandate, MandateUse, MandatedCall, SpentMandate, TermsFault, Unmandated,
};
use highwater_core::grant::CallVariant;
use highwater_core::id::{ChallengeId, Principal, SessionKey, UpstreamId, UserId};
use highwater_core::label::Label;
use highwater_core::pin::PinDigest;
use highwater_notation::{ArgumentTypes, CanonicalArguments};
use highwater_passkey::{ReservedAction, ToolName};
use highwater_receipts::{ChainLink, Circumstances, Receipt, UseOf};
use highwater_store::{ReceiptDraft, StoredMandate};

use super::kept_label::{is_nothing_new, predicted};
use super::options::ChallengeEnvelope;
use super::scope::is_content;
use super::view::MandateView;
use super::{ApprovalFault, ApprovalService, Around, By, random_id};
use crate::gateway::now;

/// A call that would rest on a mandate.
pub(crate) struct Mandated<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) tool: &'a ToolName,
    pub(crate) upstream: Option<&'a UpstreamId>,
    pub(crate) definition: Option<PinDigest>,
    pub(crate) arguments: &'a CanonicalArguments,
    /// The types that the tool's definition names.
    pub(crate) types: &'a ArgumentTypes,
    pub(crate) delegable: bool,
    /// Which arguments say what is acted on and where.
    pub(crate) aims: &'a [String],
    pub(crate) session: &'a SessionKey,
    pub(crate) label: &'a Label,
    /// The label that its reply is predicted to have.
    pub(crate) reply: &'a Label,
    pub(crate) around: &'a Around,
}

/// The sessions in which mandates were used here. What the calls themselves answered, as it was predicted, is nothing new to
/// a mandate; otherwise it would end with its first use. What is forgotten asks again.
#[derive(Debug, Default)]
pub(super) struct MandateSessions(Mutex<HashMap<(String, SessionKey), UsedSession>>);

/// A session before a mandate was used in it, and what the calls were predicted to answer.
#[derive(Debug)]
struct UsedSession {
    was: Label,
    own: Vec<Label>,
}

/// How many of them are remembered.
const MOST_SESSIONS: usize = 1024;

// === impl MandateSessions ===

impl MandateSessions {
    /// What a session holds, without what calls under this mandate have answered in it, where that is all that came.
    fn without_own(&self, mandate: &str, session: &SessionKey, now: &Label) -> Label {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(&(mandate.to_owned(), session.clone())) {
            Some(used) if is_nothing_new(&used.was, &used.own, now) => used.was.clone(),
            _ => now.clone(),
        }
    }

    /// Notes a use, in a session that held this apart from answers to others.
    fn note(&self, mandate: &str, session: &SessionKey, was: Label, reply: &Label) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (mandate.to_owned(), session.clone());
        if !known.contains_key(&key) && known.len() >= MOST_SESSIONS {
            let any = known.keys().next().cloned();
            any.map(|key| known.remove(&key));
        }
        let used = known.entry(key).or_insert_with(|| UsedSession { was: was.clone(), own: Vec::new() });
        if used.was != was {
            *used = UsedSession { was, own: Vec::new() };
        }
        used.own.extend(predicted(reply).filter(|reply| !used.own.contains(reply)));
    }
}

// === impl ApprovalService ===

impl ApprovalService {
    /// A challenge by which a person signs a mandate; `terms` are its JSON text.
    pub async fn mandate_challenge(
        &self,
        user: &UserId,
        terms: &str,
    ) -> Result<ChallengeEnvelope, ApprovalFault> {
        let terms = CanonicalArguments::read(Some(terms))
            .map_err(|_| ApprovalFault::Mandate(Unmandated::Malformed))?;
        self.checked(&Mandate::read(&terms).map_err(ApprovalFault::Mandate)?)?;
        self.issue_own(ReservedAction::Delegate, user, &terms).await
    }

    /// Takes the signature over it.
    pub async fn mandate_assertion(
        &self,
        challenge: &ChallengeId,
        response: &str,
    ) -> Result<MandateView, ApprovalFault> {
        let act = self.sign_own(ReservedAction::Delegate, challenge, response).await?;
        let mandate = Mandate::read(&act.arguments).map_err(ApprovalFault::Mandate)?;
        // It ends when one of its tools changes.
        let definitions = self.checked(&mandate)?;
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

    /// The definitions of a mandate's tools, where its use would not be refused for what is known now.
    fn checked(&self, mandate: &Mandate) -> Result<BTreeMap<String, String>, ApprovalFault> {
        let refused =
            |place: &str, why: String| ApprovalFault::Terms(TermsFault { place: place.to_owned(), why });
        if !self.is_agent(mandate.agent()) {
            let why = format!("there is no token `{}`; `highwater token list` names all", mandate.agent());
            return Err(refused("agent", why));
        }
        let settings = self.settings();
        let mut definitions = BTreeMap::new();
        for name in mandate.tools() {
            let Some(tool) = self.tool(name) else {
                return Err(refused("tools", format!("no server offers `{}` now", name.as_str())));
            };
            let said = settings.tool(&tool.upstream, &tool.own);
            let destructive = tool.contract.variant() == CallVariant::Destructive;
            let is_aim = |argument: &str| {
                let role = tool.contract.role(&argument.replace('~', "~0").replace('/', "~1"));
                role != ArgumentRole::Scalar && !is_content(&tool.contract, &tool.shape, argument, "\"\"")
            };
            let delegated = DelegatedTool {
                types: tool.shape.types(),
                is_aim: &is_aim,
                delegable: said.and_then(|said| said.delegable).unwrap_or(!destructive),
                quorum: said.is_some_and(|said| said.quorum.is_some()),
                verified_by_server: tool.gated,
            };
            mandate.check(name, &delegated).map_err(ApprovalFault::Terms)?;
            definitions.insert(name.as_str().to_owned(), tool.definition.to_string());
        }
        Ok(definitions)
    }

    /// Every mandate.
    pub async fn mandates(&self) -> Result<Vec<MandateView>, ApprovalFault> {
        Ok(self.store.mandates(None, MOST).await?.into_iter().map(MandateView::of).collect())
    }

    /// Ends a mandate.
    pub async fn revoke_mandate(&self, id: &str, by: By<'_>) -> Result<bool, ApprovalFault> {
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
    ) -> Result<Option<(StoredMandate, SpentMandate, String)>, ApprovalFault> {
        for (stored, held, covered) in self.covering(call).await? {
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
                self.mandate_sessions.note(&stored.id, call.session, held, call.reply);
                return Ok(Some((stored, spent, receipt.receipt().id.clone())));
            }
        }
        Ok(None)
    }

    /// Whether a mandate covers the call. None is used.
    pub(crate) async fn has_mandate(&self, call: &Mandated<'_>) -> Result<bool, ApprovalFault> {
        Ok(!self.covering(call).await?.is_empty())
    }

    /// The mandates that cover the call, each with what the session held apart from what it was used for.
    async fn covering(
        &self,
        call: &Mandated<'_>,
    ) -> Result<Vec<(StoredMandate, Label, MandatedCall)>, ApprovalFault> {
        let stored = self.store.mandates(Some(call.principal), MOST).await?.into_iter();
        Ok(stored
            .filter(|stored| stored.revoked.is_none())
            .filter_map(|stored| {
                let held = self.mandate_sessions.without_own(&stored.id, call.session, call.label);
                let covered = self.covered(&stored, call, &held)?;
                Some((stored, held, covered))
            })
            .collect())
    }

    /// The call, if it keeps within a mandate and the tool is still the one that was delegated.
    fn covered(&self, stored: &StoredMandate, call: &Mandated<'_>, held: &Label) -> Option<MandatedCall> {
        let definitions: BTreeMap<String, String> =
            serde_json::from_str(&stored.definitions).unwrap_or_default();
        let (then, now_is) = (definitions.get(call.tool.as_str())?, call.definition?);
        if *then != now_is.to_string() {
            return None;
        }
        let aims: Vec<&str> = call.aims.iter().map(String::as_str).collect();
        let within = MandateUse {
            principal: call.principal,
            tool: call.tool,
            delegable: call.delegable,
            arguments: call.arguments,
            types: call.types,
            aims: Some(&aims),
            label: held,
            now: now(),
        };
        Mandate::read(&stored.terms).ok()?.call(&within, self.server()).ok()
    }

    fn draft_use(&self, stored: &StoredMandate, call: &Mandated<'_>) -> Result<ReceiptDraft, ApprovalFault> {
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
