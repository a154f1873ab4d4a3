//! The approval service behind the page.

use std::net::IpAddr;
use std::sync::Arc;

use highwater_audit::Access;
use highwater_core::id::{ApprovalId, ChallengeId, SessionKey, UpstreamId, UserId};
use highwater_core::label::Label;
use highwater_core::profile::Profile;
use http::StatusCode;
use serde::Serialize;
use tokio::sync::broadcast;

use super::backend::{PageBackend, PlainAct, Refusal, SignedAct};
use crate::approvals::{
    ApprovalFault, ApprovalService, ApprovalState, By, CredentialView, EnrollFrom, InboxView, RememberScope,
    RequestView, parse_passkey_name,
};
use crate::describe::WhatItIs;
use crate::gateway::Gateway;
use crate::session_admin::Reset;

/// The approval service, and the one who can tell an operator.
pub(super) struct ServiceBackend {
    pub(super) gateway: Arc<Gateway>,
    pub(super) approval_service: Arc<ApprovalService>,
}

impl PageBackend for ServiceBackend {
    fn is_operator(&self, shown: &[u8]) -> bool {
        self.gateway.is_operator(shown)
    }

    fn signed_in(&self, how: &str, from: IpAddr) -> Result<(), Refusal> {
        let from = from.to_string();
        let (principal, from) = (Some("operator"), Some(from.as_str()));
        let access = Access { act: "signed-in", principal, from, what: Some(how), ..Access::default() };
        self.gateway.access.must(access).map_err(|error| {
            tracing::error!(%error, "a sign-in could not be recorded, so it is refused");
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "this could not be recorded; try again later")
        })
    }

    fn turned_away(&self, from: IpAddr) {
        let from = from.to_string();
        let access = Access { from: Some(&from), what: Some("page"), ..Access::default() };
        self.gateway.access.note("wrong-token", access);
    }

    fn changes(&self) -> broadcast::Receiver<ApprovalId> {
        self.approval_service.changes()
    }

    async fn view(&self, id: &ApprovalId) -> Result<Option<RequestView>, Refusal> {
        Ok(self.approval_service.view(id).await?)
    }

    async fn inbox(&self) -> Result<InboxView, Refusal> {
        Ok(self.approval_service.inbox().await?)
    }

    async fn challenge(&self, id: &ApprovalId, user: Option<&UserId>) -> Result<String, Refusal> {
        written(&self.approval_service.challenge(id, user).await?)
    }

    async fn assertion(
        &self,
        id: &ApprovalId,
        challenge: &str,
        response: &str,
    ) -> Result<ApprovalState, Refusal> {
        Ok(self.approval_service.assertion(id, &ChallengeId::new(challenge), response).await?)
    }

    fn what_it_is(&self, server: &str) -> Option<WhatItIs> {
        self.gateway.what_it_is(&UpstreamId::new(server))
    }

    async fn describe(&self, server: &str, profile: Profile, person: &UserId) -> Result<(), Refusal> {
        let server = UpstreamId::new(server);
        let said =
            self.gateway.describe(&server, Some(profile), person.as_str(), "answered on the page").await;
        match said.map(|said| said.refusal()) {
            Ok(None) => Ok(()),
            Ok(Some(why)) => Err(Refusal::new(StatusCode::CONFLICT, why)),
            Err(error) => Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())),
        }
    }

    async fn confirm(
        &self,
        id: &ApprovalId,
        by: By<'_>,
        remember: Option<RememberScope>,
    ) -> Result<ApprovalState, Refusal> {
        Ok(self.approval_service.confirm(id, by, remember).await?)
    }

    async fn begin_conversation(&self, id: &ApprovalId, by: By<'_>) -> Result<(), Refusal> {
        let (request, conversation) = self.approval_service.conversation_of(id, by).await?;
        let (key, way) = (SessionKey::new(conversation.key.as_str()), conversation.way.map(SessionKey::new));
        let (person, label) = (by.words(), Label::bottom());
        let reason = "answered on the page: this is a new conversation";
        let said = (person.as_str(), reason);
        let epoch = Some(conversation.epoch);
        match self.gateway.new_conversation(&key, way.as_ref(), epoch, &label, said).await {
            Ok(Reset::Done(_)) => {}
            // The call is judged again, and asked about anew if it must be.
            Ok(Reset::Changed(_) | Reset::Unknown | Reset::NoReason) => {
                self.approval_service.end(&request, "the conversation has changed since").await?;
                let words = "the conversation has changed since; the agent may ask again";
                return Err(Refusal::new(StatusCode::CONFLICT, words));
            }
            Err(error) => return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())),
        }
        Ok(self.approval_service.end(&request, "a new conversation has begun").await?)
    }

    async fn decline(&self, id: &ApprovalId, by: By<'_>) -> Result<(), Refusal> {
        done(self.approval_service.decline(id, by).await?)
    }

    async fn sign_in_challenge(&self) -> Result<String, Refusal> {
        written(&self.approval_service.sign_in_challenge().await?)
    }

    async fn sign_in(&self, challenge: &str, response: &str) -> Result<UserId, Refusal> {
        Ok(self.approval_service.sign_in(challenge, response).await?)
    }

    fn sign_in_by_ticket(&self, ticket: &str) -> Result<(), Refusal> {
        Ok(self.approval_service.sign_in_by_ticket(ticket)?)
    }

    fn code_of_ticket(&self, ticket: &str) -> Result<String, Refusal> {
        Ok(self.approval_service.code_of_ticket(ticket)?)
    }

    async fn enroll_begin(&self, user: &UserId, ticket: &str, signed_in: bool) -> Result<String, Refusal> {
        let from = EnrollFrom::Page { session: ticket, signed_in };
        written(&self.approval_service.enroll_begin(Some(user), from).await?)
    }

    async fn enroll_finish(
        &self,
        ticket: &str,
        response: &str,
        name: Option<&str>,
    ) -> Result<CredentialView, Refusal> {
        // Whether somebody is signed in counted when it was begun.
        let from = EnrollFrom::Page { session: ticket, signed_in: false };
        let name = name.map(parse_passkey_name).transpose()?;
        let mut made = self.approval_service.enroll_finish(from, response).await?;
        if let Some(name) = name {
            self.approval_service.rename_credential(&made.id, &name, By::User(&made.user)).await?;
            made.name = name;
        }
        Ok(made)
    }

    async fn confirm_by_code(&self, credential: &str, code: &str) -> Result<CredentialView, Refusal> {
        Ok(self.approval_service.confirm_by_code(credential, code).await?)
    }

    async fn credentials(&self) -> Result<Vec<CredentialView>, Refusal> {
        Ok(self.approval_service.credentials().await?)
    }

    async fn act_challenge(&self, act: &SignedAct, user: Option<&UserId>) -> Result<String, Refusal> {
        let envelope = match act {
            SignedAct::ConfirmKey { id } => self.approval_service.confirm_challenge(id).await?,
            SignedAct::CancelReset { user } => self.approval_service.cancel_reset_challenge(user).await?,
            SignedAct::Mandate { terms } => {
                let user = user.ok_or_else(|| Refusal::new(StatusCode::FORBIDDEN, "sign in first"))?;
                self.approval_service.mandate_challenge(user, terms).await?
            }
        };
        written(&envelope)
    }

    async fn act_assertion(
        &self,
        act: &SignedAct,
        challenge: &str,
        response: &str,
    ) -> Result<Option<UserId>, Refusal> {
        let challenge = ChallengeId::new(challenge);
        match act {
            SignedAct::ConfirmKey { id } => {
                Ok(Some(self.approval_service.confirm_assertion(id, &challenge, response).await?.user))
            }
            SignedAct::CancelReset { .. } => {
                self.approval_service.cancel_reset(&challenge, response).await?;
                Ok(None)
            }
            SignedAct::Mandate { .. } => {
                self.approval_service.mandate_assertion(&challenge, response).await?;
                Ok(None)
            }
        }
    }

    async fn act(&self, act: &PlainAct, by: By<'_>) -> Result<(), Refusal> {
        match act {
            PlainAct::ResumeTool { principal, tool } => {
                Ok(self.approval_service.resume(principal, tool, by).await?)
            }
            PlainAct::RevokeMandate { id } => done(self.approval_service.revoke_mandate(id, by).await?),
            PlainAct::Forget { id } => done(self.approval_service.forget(id, by).await?),
            PlainAct::RenameKey { id, name } => {
                done(self.approval_service.rename_credential(id, name, by).await?)
            }
            PlainAct::AcceptOnePasskey {} => match by {
                By::User(user) => Ok(self.approval_service.accept_one_passkey(user).await?),
                // Nobody accepts that for somebody else.
                By::Operator(_) | By::Client(_) => Err(ApprovalFault::NotAsked.into()),
            },
        }
    }
}

impl From<ApprovalFault> for Refusal {
    fn from(fault: ApprovalFault) -> Self {
        let status = match &fault {
            ApprovalFault::Unknown => StatusCode::NOT_FOUND,
            ApprovalFault::NotAsked => StatusCode::FORBIDDEN,
            ApprovalFault::TooMany => StatusCode::TOO_MANY_REQUESTS,
            ApprovalFault::Unsealable
            | ApprovalFault::NoEntropy
            | ApprovalFault::Store(_)
            | ApprovalFault::Audit(_) => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::CONFLICT,
        };
        if status == StatusCode::SERVICE_UNAVAILABLE {
            tracing::error!(%fault, "the approval page could not be served");
        }
        Self { status, reason: Some(fault.word()), words: fault.to_string() }
    }
}

fn written(value: &impl Serialize) -> Result<String, Refusal> {
    serde_json::to_string(value)
        .map_err(|_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the answer could not be written"))
}

fn done(done: bool) -> Result<(), Refusal> {
    if done { Ok(()) } else { Err(Refusal::new(StatusCode::CONFLICT, "it was answered or over already")) }
}
