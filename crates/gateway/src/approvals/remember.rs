//! Remembered answers: a yes given in advance, never for a passkey. What it covers is chosen by the person (`scope.rs`); it
//! ends when the tool changes, and when the session holds more than it did, beyond what the tool's own replies were
//! predicted to bring (`kept_label.rs`).

use highwater_audit::ApprovalNote;
use highwater_core::decide::Effect;
use highwater_core::id::{Principal, SessionKey, UpstreamId, UserId};
use highwater_core::pin::PinDigest;
use highwater_notation::Timestamp;
use highwater_passkey::{ActionHash, ToolName};
use highwater_store::{ApprovalRequest, RememberedAnswer, RequestFilter, RequestState};

use super::fetched_pages::Pages;
use super::folder::Folder;
use super::kept_label::KeptLabel;
use super::listed_things::ListedThings;
use super::requests::told_of;
use super::scope::{AskedCall, Rememberable, Surface, Values};
use super::view::{ContextView, RememberScope};
use super::{ApprovalFault, ApprovalService, By, random_id};
use crate::gateway::now;

const HOUR_MS: u64 = 60 * 60 * 1000;

/// More answers than anybody gives within the time that they hold.
const MOST_GRANTS: u32 = 256;

/// What would be kept of a yes, whichever scope is chosen for it.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) user: UserId,
    pub(crate) principal: Principal,
    pub(crate) session: SessionKey,
    pub(crate) tool: ToolName,
    pub(crate) upstream: Option<UpstreamId>,
    pub(crate) definition: PinDigest,
    pub(crate) same: Rememberable,
    pub(crate) told: Box<str>,
}

/// A call that may rest on what was said before.
pub(crate) struct Recalled<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) session: &'a SessionKey,
    pub(crate) tool: &'a ToolName,
    pub(crate) upstream: Option<&'a UpstreamId>,
    pub(crate) definition: Option<PinDigest>,
    pub(crate) call: AskedCall<'a>,
}

// === impl Offer ===

impl Offer {
    /// What may be remembered of an answer to this request, if anything.
    fn of(request: &ApprovalRequest, context: &ContextView) -> Option<Self> {
        if request.kind != Effect::Confirm {
            return None;
        }
        Some(Self {
            user: request.user.clone(),
            principal: request.principal.clone(),
            session: request.session.clone(),
            tool: request.tool.clone(),
            upstream: request.upstream.clone(),
            definition: request.definition?,
            same: context.rememberable.clone()?,
            told: request.told.clone(),
        })
    }

    /// What a form may offer, each with its sentence.
    pub(crate) fn for_form(&self) -> Vec<(RememberScope, String)> {
        let scopes = self.same.scopes(Surface::Form).into_iter();
        scopes.map(|scope| (scope, self.same.words(scope))).collect()
    }

    /// The answer as it is kept for this scope, where it is offered there.
    fn taken(self, scope: RememberScope, surface: Surface) -> Result<RememberedAnswer, ApprovalFault> {
        let created = now();
        let targets = self.same.kept(scope, surface).ok_or(ApprovalFault::NotRememberable)?;
        let lasts = match scope {
            RememberScope::Session | RememberScope::Host | RememberScope::Folder | RememberScope::Listed => {
                24 * HOUR_MS
            }
            RememberScope::ToolWithTargets => 30 * 24 * HOUR_MS,
            RememberScope::UntilDefinitionChanges => 10 * 365 * 24 * HOUR_MS,
        };
        let told = told_of(&self.told);
        let told = match self.same.told_with_reply() {
            Some(with_reply) => told.joined(with_reply.clone()),
            None => told,
        };
        Ok(RememberedAnswer {
            id: random_id()?,
            user: self.user,
            principal: self.principal,
            session: scope.ends_with_conversation().then_some(self.session),
            tool: self.tool,
            upstream: self.upstream,
            definition: Some(self.definition),
            targets: Some(targets),
            label: serde_json::to_string(self.same.label()).unwrap_or_default().into(),
            told: serde_json::to_string(&told).unwrap_or_default().into(),
            created,
            until: Timestamp(created.0.saturating_add(lasts)),
        })
    }
}

// === impl ApprovalService ===

impl ApprovalService {
    /// For how long an answer to this request may be remembered.
    pub(super) fn scopes(&self, request: &ApprovalRequest, context: &ContextView) -> Vec<RememberScope> {
        match Offer::of(request, context) {
            Some(offer) => offer.same.scopes(Surface::Page),
            None => Vec::new(),
        }
    }

    /// The answer as it would be kept.
    pub(super) fn to_remember(
        &self,
        request: &ApprovalRequest,
        scope: RememberScope,
    ) -> Result<RememberedAnswer, ApprovalFault> {
        let context: ContextView = serde_json::from_str(&request.shown).unwrap_or_default();
        Offer::of(request, &context).ok_or(ApprovalFault::NotRememberable)?.taken(scope, Surface::Page)
    }

    /// Keeps an answer that was given in a form, exactly as one that was given on the page.
    pub(crate) async fn take_offer(
        &self,
        offer: Offer,
        scope: RememberScope,
        by: By<'_>,
    ) -> Result<(), ApprovalFault> {
        self.keep(&offer.taken(scope, Surface::Form)?, &by.words()).await
    }

    /// Keeps an answer.
    pub(super) async fn keep(&self, answer: &RememberedAnswer, by: &str) -> Result<(), ApprovalFault> {
        let note = ApprovalNote {
            act: "remembered",
            by,
            user: Some(answer.user.as_str()),
            tool: Some(answer.tool.as_str()),
            detail: Some(&answer.id),
            ..ApprovalNote::default()
        };
        self.record(None, note)?;
        Ok(self.store.remember(answer).await?)
    }

    /// A yes that was given before and covers this call. Whatever is more than it was then asks again.
    pub(crate) async fn recall(
        &self,
        recalled: &Recalled<'_>,
    ) -> Result<Option<RememberedAnswer>, ApprovalFault> {
        let call = &recalled.call;
        if call.label.malicious() || recalled.definition.is_none() {
            return Ok(None);
        }
        let values = Values::of(call);
        let pages = call.page.and_then(|url| Pages::of(call.arguments, url)).map(|pages| pages.kept());
        let (targets, others) = (values.digest(), values.folder_digest());
        let at = now();
        let known = self.store.remembered(Some((recalled.principal, recalled.tool)), at).await?;
        Ok(known.into_iter().find(|answer| {
            let label: KeptLabel = serde_json::from_str(&answer.label).unwrap_or_default();
            let is_file =
                |kept: &str| others.as_deref().is_some_and(|others| Folder::covers(kept, others, call.files));
            let is_listed =
                |kept: &str| call.listed.is_some_and(|listed| ListedThings::covers(kept, listed, &values));
            answer.until > at
                && answer.principal == *recalled.principal
                && answer.session.as_ref().is_none_or(|session| session == recalled.session)
                && answer.tool == *recalled.tool
                && answer.upstream.as_ref() == recalled.upstream
                && answer.definition == recalled.definition
                && match answer.targets.as_deref() {
                    None => false,
                    Some(kept) if pages.as_deref() == Some(kept) => label.covers_data(call.label),
                    Some(kept) if kept == targets && answer.session.is_none() => label.covers(call.label),
                    Some(kept) => {
                        (kept == targets || is_file(kept) || is_listed(kept))
                            && label.covers_conversation(call.label)
                    }
                }
                && told_of(&answer.told).covers(call.told)
        }))
    }

    /// Uses up the answer that was remembered when it was given, if no call has rested on it: whoever said yes once and
    /// for later has not said it once more.
    pub(crate) async fn use_beside(
        &self,
        call: &Recalled<'_>,
        action: ActionHash,
    ) -> Result<(), ApprovalFault> {
        let filter = RequestFilter {
            principal: Some(call.principal.clone()),
            state: Some(RequestState::Approved),
            ..RequestFilter::default()
        };
        for request in self.store.requests(&filter, MOST_GRANTS).await? {
            if request.action == action && request.kind == Effect::Confirm {
                self.use_grant(&request, (call.principal, call.session), action, call.definition).await?;
            }
        }
        Ok(())
    }

    /// Forgets a remembered answer.
    pub async fn forget(&self, id: &str, by: By<'_>) -> Result<bool, ApprovalFault> {
        let by = by.words();
        let note = ApprovalNote { act: "forgotten", by: &by, detail: Some(id), ..ApprovalNote::default() };
        self.record(None, note)?;
        Ok(self.store.forget(id).await?)
    }
}
