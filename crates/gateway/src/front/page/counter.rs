//! What the page needs of the desk behind it. The page shows and forwards; whether something is approved is decided
//! behind this line alone.

use std::future::Future;

use http::StatusCode;
use tokio::sync::broadcast;

use super::view::{CredentialView, InboxView, NoticeAct, RememberScope, RequestView, State};

/// Why something was not done.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub status: StatusCode,
    /// One of the sixteen words of the wire, where one fits.
    pub reason: Option<&'static str>,
    /// For the person in front of the page.
    pub words: String,
}

/// The desk, as the page sees it. JSON that belongs to WebAuthn goes through as text, unmodified (C8).
pub trait Counter: Send + Sync + 'static {
    /// Whether this is the operator's token. An agent's never is.
    fn is_operator(&self, shown: &[u8]) -> bool;

    /// Time, in milliseconds since 1970.
    fn now(&self) -> u64;

    /// Ids of requests that have changed.
    fn changes(&self) -> broadcast::Receiver<String>;

    fn view(&self, id: &str) -> impl Future<Output = Result<Option<RequestView>, Refusal>> + Send;

    /// Of one person, or of all.
    fn inbox(&self, user: Option<&str>) -> impl Future<Output = Result<InboxView, Refusal>> + Send;

    /// A challenge envelope for this person to sign.
    fn challenge(&self, id: &str, user: &str) -> impl Future<Output = Result<String, Refusal>> + Send;

    fn assertion(
        &self,
        id: &str,
        user: &str,
        challenge: &str,
        response: &str,
    ) -> impl Future<Output = Result<State, Refusal>> + Send;

    fn confirm(
        &self,
        id: &str,
        user: &str,
        remember: Option<RememberScope>,
    ) -> impl Future<Output = Result<State, Refusal>> + Send;

    fn decline(&self, id: &str, user: &str) -> impl Future<Output = Result<State, Refusal>> + Send;

    /// A challenge envelope that any passkey may sign, which shows whose it is and approves nothing.
    fn sign_in_challenge(&self) -> impl Future<Output = Result<String, Refusal>> + Send;

    /// Whose passkey signed.
    fn sign_in(
        &self,
        challenge: &str,
        response: &str,
    ) -> impl Future<Output = Result<String, Refusal>> + Send;

    /// The options for the browser. What was begun under a ticket is finished under it.
    fn enroll_begin(
        &self,
        user: &str,
        ticket: &str,
        signed_in: bool,
    ) -> impl Future<Output = Result<String, Refusal>> + Send;

    /// A passkey that waits to be confirmed.
    fn enroll_finish(
        &self,
        ticket: &str,
        response: &str,
    ) -> impl Future<Output = Result<CredentialView, Refusal>> + Send;

    /// Makes a person's first passkey count, by the code that was printed for them.
    fn confirm_by_code(
        &self,
        credential: &str,
        code: &str,
    ) -> impl Future<Output = Result<CredentialView, Refusal>> + Send;

    /// A challenge envelope by which a passkey of the same person makes another count.
    fn confirm_challenge(&self, credential: &str) -> impl Future<Output = Result<String, Refusal>> + Send;

    fn confirm_assertion(
        &self,
        credential: &str,
        challenge: &str,
        response: &str,
    ) -> impl Future<Output = Result<CredentialView, Refusal>> + Send;

    /// The passkeys of one person, or of all.
    fn credentials(
        &self,
        user: Option<&str>,
    ) -> impl Future<Output = Result<Vec<CredentialView>, Refusal>> + Send;

    fn act(&self, act: NoticeAct, user: &str) -> impl Future<Output = Result<(), Refusal>> + Send;
}

// === impl Refusal ===

impl Refusal {
    pub fn new(status: StatusCode, words: impl Into<String>) -> Self {
        Self { status, reason: None, words: words.into() }
    }
}
