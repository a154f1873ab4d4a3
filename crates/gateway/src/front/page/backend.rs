//! What the page needs of the approval service behind it. The page shows and forwards; whether something is approved is decided
//! behind this line alone.

use std::future::Future;
use std::net::IpAddr;

use highwater_core::id::{ApprovalId, UserId};
use highwater_core::profile::Profile;
use http::StatusCode;
use serde::Deserialize;
use tokio::sync::broadcast;

use crate::approvals::{ApprovalState, By, CredentialView, InboxView, RememberScope, RequestView};
use crate::describe::WhatItIs;

/// Why something was not done.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// A word for the module to go by.
    pub(super) reason: Option<&'static str>,
    /// For the person in front of the page.
    pub(super) words: String,
}

/// What is not about a call and needs a signature all the same.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "act", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum SignedAct {
    /// Makes a passkey count that was registered.
    ConfirmKey { id: String },
    /// Stops a reset.
    CancelReset { user: UserId },
    /// Lets an agent do some things without asking; the terms are JSON text.
    Mandate { terms: String },
}

/// What needs a page session and no signature: it makes things stricter, or lets people be asked again.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "act", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum PlainAct {
    ResumeTool {
        principal: String,
        tool: String,
    },
    RevokeMandate {
        id: String,
    },
    Forget {
        id: String,
    },
    /// Changes nothing but what people read.
    RenameKey {
        id: String,
        name: String,
    },
    /// The one that loosens nothing and tightens nothing: the person does without a second passkey.
    AcceptOnePasskey {},
}

/// The approval service, as the page sees it. JSON that belongs to WebAuthn goes through as text, unmodified (C8).
pub(super) trait PageBackend: Send + Sync + 'static {
    /// Whether this is the operator's token. An agent's never is.
    fn is_operator(&self, shown: &[u8]) -> bool;

    /// Puts on record that the operator signed in, by which way. Without the record nobody is let in.
    fn signed_in(&self, how: &str, from: IpAddr) -> Result<(), Refusal>;

    /// Puts on record that somebody showed a token that opens nothing.
    fn turned_away(&self, from: IpAddr);

    /// Requests that have changed.
    fn changes(&self) -> broadcast::Receiver<ApprovalId>;

    fn view(&self, id: &ApprovalId) -> impl Future<Output = Result<Option<RequestView>, Refusal>> + Send;

    fn inbox(&self) -> impl Future<Output = Result<InboxView, Refusal>> + Send;

    /// A challenge envelope for this person to sign, or for whoever is asked.
    fn challenge(
        &self,
        id: &ApprovalId,
        user: Option<&UserId>,
    ) -> impl Future<Output = Result<String, Refusal>> + Send;

    fn assertion(
        &self,
        id: &ApprovalId,
        challenge: &str,
        response: &str,
    ) -> impl Future<Output = Result<ApprovalState, Refusal>> + Send;

    fn confirm(
        &self,
        id: &ApprovalId,
        by: By<'_>,
        remember: Option<RememberScope>,
    ) -> impl Future<Output = Result<ApprovalState, Refusal>> + Send;

    /// What a server is, as far as anybody said.
    fn what_it_is(&self, server: &str) -> Option<WhatItIs>;

    /// Keeps what a person says a server is.
    fn describe(
        &self,
        server: &str,
        profile: Profile,
        person: &UserId,
    ) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// Begins a new conversation in place of the one that the request was asked in.
    fn begin_conversation(
        &self,
        id: &ApprovalId,
        by: By<'_>,
    ) -> impl Future<Output = Result<(), Refusal>> + Send;

    fn decline(&self, id: &ApprovalId, by: By<'_>) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// A challenge envelope that any passkey may sign, which shows whose it is and approves nothing.
    fn sign_in_challenge(&self) -> impl Future<Output = Result<String, Refusal>> + Send;

    /// Whose passkey signed.
    fn sign_in(
        &self,
        challenge: &str,
        response: &str,
    ) -> impl Future<Output = Result<UserId, Refusal>> + Send;

    /// Uses up a ticket by which a program of the operator's lets the browser in that it opens.
    fn sign_in_by_ticket(&self, ticket: &str) -> Result<(), Refusal>;

    /// Uses up a ticket for the code of an enrollment.
    fn code_of_ticket(&self, ticket: &str) -> Result<String, Refusal>;

    /// The options for the browser. What was begun under a ticket is finished under it.
    fn enroll_begin(
        &self,
        user: &UserId,
        ticket: &str,
        signed_in: bool,
    ) -> impl Future<Output = Result<String, Refusal>> + Send;

    /// A passkey that waits to be confirmed, under the name that it is given.
    fn enroll_finish(
        &self,
        ticket: &str,
        response: &str,
        name: Option<&str>,
    ) -> impl Future<Output = Result<CredentialView, Refusal>> + Send;

    /// Makes a person's first passkey count, by the code that was printed for them.
    fn confirm_by_code(
        &self,
        credential: &str,
        code: &str,
    ) -> impl Future<Output = Result<CredentialView, Refusal>> + Send;

    fn credentials(&self) -> impl Future<Output = Result<Vec<CredentialView>, Refusal>> + Send;

    /// A challenge envelope for something that is not about a call. `user` is who is signed in.
    fn act_challenge(
        &self,
        act: &SignedAct,
        user: Option<&UserId>,
    ) -> impl Future<Output = Result<String, Refusal>> + Send;

    /// Does it. Who signed, where that lets them in.
    fn act_assertion(
        &self,
        act: &SignedAct,
        challenge: &str,
        response: &str,
    ) -> impl Future<Output = Result<Option<UserId>, Refusal>> + Send;

    fn act(&self, act: &PlainAct, by: By<'_>) -> impl Future<Output = Result<(), Refusal>> + Send;
}

// === impl Refusal ===

impl Refusal {
    pub(super) fn new(status: StatusCode, words: impl Into<String>) -> Self {
        Self { status, reason: None, words: words.into() }
    }
}
