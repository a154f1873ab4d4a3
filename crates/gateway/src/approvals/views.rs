//! What people see of the approval service: one request, and the inbox.

use highwater_core::approval::CredentialStanding;
use highwater_core::decide::Effect;
use highwater_core::id::{ApprovalId, UserId};
use highwater_display::{Rendered, render};
use highwater_passkey::{Aaguid, attested_by};
use highwater_receipts::SignedReceipt;
use highwater_store::{
    ApprovalRequest, AskLimits, Recovery, RememberedAnswer, RequestState, StoredCredential, StoredMandate,
};

use super::passkey_name::name;
use super::view::{
    ContextView, CredentialView, InboxView, MandateView, NeedView, PausedView, RememberedView, RequestKind,
    RequestView, ResetView, WindowView,
};
use super::{ApprovalFault, ApprovalService};
use crate::gateway::now;

/// How many requests an inbox shows of each kind.
const MOST_PENDING: u32 = 200;
const MOST_RECENT: u32 = 50;

/// In place of the arguments of a call that is over.
const CLEARED: &str = "What it was given may be sensitive, so it is not kept here.";

// === impl ApprovalService ===

impl ApprovalService {
    /// One request, with everything that the page shows.
    pub async fn view(&self, id: &ApprovalId) -> Result<Option<RequestView>, ApprovalFault> {
        match self.store.request(id).await? {
            Some(request) => self.shown(request).await.map(Some),
            None => Ok(None),
        }
    }

    /// Requests, the newest first; those that wait alone, or all.
    pub async fn list(&self, pending: bool, most: u32) -> Result<Vec<RequestView>, ApprovalFault> {
        let mut shown = Vec::new();
        for request in self.requests(pending.then_some(RequestState::Pending), most).await? {
            shown.push(self.shown(request).await?);
        }
        Ok(shown)
    }

    /// What waits, what was answered lately, and what else people should hear of.
    pub async fn inbox(&self) -> Result<InboxView, ApprovalFault> {
        let pending = self.list(true, MOST_PENDING).await?;
        let mut recent = self.list(false, MOST_RECENT).await?;
        recent.retain(|request| request.state != super::ApprovalState::Pending);
        let credentials = self.store.credentials(None).await?.iter().map(CredentialView::of).collect();
        let mut windows = Vec::new();
        for user in self.store.approvers().await? {
            windows.extend(self.store.window(&user, now()).await?.map(|window| WindowView {
                user: window.user,
                opened_by: window.opened_by,
                expires: window.expires,
                by_code: window.code_hash.is_some(),
            }));
        }
        let mandates = self.mandates().await?;
        let remembered = self.store.remembered(None, now()).await?;
        let remembered = remembered.into_iter().map(RememberedView::of).collect();
        let paused = self.store.paused_tools(&AskLimits::default()).await?;
        let paused = paused
            .into_iter()
            .map(|paused| PausedView {
                principal: paused.principal.to_string(),
                tool: paused.tool.as_str().to_owned(),
            })
            .collect();
        let resets = self.store.resets().await?.into_iter().map(ResetView::of).collect();
        Ok(InboxView { pending, recent, credentials, windows, mandates, remembered, paused, resets })
    }

    /// Who has signed a request so far: without those whose passkeys are being reset, and without passkeys that were taken
    /// back since, whose owners may sign again with another.
    pub(super) async fn signers(&self, id: &ApprovalId) -> Result<Vec<UserId>, ApprovalFault> {
        let receipts = self.store.receipts_of(id).await?;
        let resets = self.store.resets().await?;
        let known = self.store.credentials(None).await?;
        let counts = |receipt: &SignedReceipt| {
            receipt.receipt().signed.as_ref().is_none_or(|signed| {
                known.iter().any(|stored| {
                    stored.credential.standing == CredentialStanding::Active
                        && stored.credential.id.to_string() == signed.credential_id
                })
            })
        };
        let read = receipts.iter().filter_map(|stored| SignedReceipt::parse(&stored.text)).filter(counts);
        let users = read.map(|receipt| UserId::new(receipt.receipt().user_ref.as_str()));
        Ok(users.filter(|user| resets.iter().all(|reset| reset.user != *user)).collect())
    }

    async fn shown(&self, request: ApprovalRequest) -> Result<RequestView, ApprovalFault> {
        let server = request.upstream.as_ref().map(|upstream| upstream.as_str().to_owned());
        let (rendered, arguments) = if request.cleared {
            let text = format!("{}\n\n{CLEARED}", request.tool.as_str());
            (Rendered { text, ..Rendered::default() }, String::new())
        } else {
            let rendered = render(&request.tool, server.as_deref(), &request.arguments);
            (rendered, request.arguments.as_str().to_owned())
        };
        let context: ContextView = serde_json::from_str(&request.shown).unwrap_or_default();
        let signed = match &request.need.quorum {
            Some(_) => self.signers(&request.id).await?,
            None => Vec::new(),
        };
        let remember = self.scopes(&request, &context);
        let asked = request.user.clone();
        Ok(RequestView {
            url: self.url(&request.id),
            kind: match request.kind {
                Effect::Confirm => RequestKind::Confirm,
                Effect::Allow | Effect::Redact | Effect::Passkey | Effect::Block => RequestKind::Passkey,
            },
            state: request.state.into(),
            user: request.user,
            principal: request.principal.to_string(),
            caller: request.caller,
            tool: request.tool.as_str().to_owned(),
            server,
            display_text: rendered.text,
            hidden: rendered.hidden,
            mixed: rendered.mixed,
            arguments,
            created: request.created,
            expires: request.expires,
            decided: request.decided,
            decided_by: request.decided_by,
            need: NeedView {
                class: request.need.class,
                n: request.need.quorum.as_ref().map_or(1, |quorum| quorum.n.max(1)),
                approvers: request
                    .need
                    .quorum
                    .iter()
                    .flat_map(|quorum| {
                        quorum.approvers.iter().filter(|user| quorum.counts(user, &asked)).cloned()
                    })
                    .collect::<Vec<UserId>>(),
                signed,
            },
            remember,
            context,
            id: request.id,
        })
    }
}

// === impl CredentialView ===

impl CredentialView {
    pub(super) fn of(stored: &StoredCredential) -> Self {
        let credential = &stored.credential;
        Self {
            id: credential.id.to_string(),
            name: name(&stored.name, credential.transports.names(), stored.created),
            user: credential.user.clone(),
            standing: match credential.standing {
                CredentialStanding::Dormant => "dormant",
                CredentialStanding::Active => "active",
                CredentialStanding::Revoked => "revoked",
            }
            .to_owned(),
            transports: credential.transports.names().to_vec(),
            aaguid: Aaguid(stored.aaguid).to_string(),
            attested_by: attested_by(&stored.attestation),
            algorithm: format!("{:?}", credential.key.algorithm()),
            backup_eligible: credential.backup_eligible,
            created: stored.created,
            enrolled_by: stored.enrolled_by.clone(),
            confirmed: stored.confirmed.as_ref().map(|(at, _)| *at),
            revoked: stored.revoked.as_ref().map(|revoked| revoked.at),
        }
    }
}

// === impl MandateView ===

impl MandateView {
    pub(super) fn of(mandate: StoredMandate) -> Self {
        Self {
            id: mandate.id,
            user: mandate.user,
            terms: mandate.terms.as_str().to_owned(),
            remaining: mandate.remaining,
            expires: mandate.expires,
            revoked: mandate.revoked.map(|revoked| revoked.at),
        }
    }
}

// === impl RememberedView ===

impl RememberedView {
    fn of(answer: RememberedAnswer) -> Self {
        Self {
            id: answer.id,
            user: answer.user,
            principal: answer.principal.to_string(),
            tool: answer.tool.as_str().to_owned(),
            until: answer.until,
        }
    }
}

// === impl ResetView ===

impl ResetView {
    pub(super) fn of(reset: Recovery) -> Self {
        Self { user: reset.user, begun_by: reset.by, due: reset.due }
    }
}
