//! A person with a passkey, who answers through the same calls as the page.

use std::sync::Arc;

use highwater_core::id::{ApprovalId, ChallengeId, UserId};
use highwater_notation::{Timestamp, to_iso};
use highwater_passkey::Algorithm;
use highwater_testkit::passkey::Passkey;
use serde_json::{Value, json};

use super::Stage;
use crate::approvals::{
    ApprovalFault, ApprovalService, ApprovalState, By, EnrollFrom, RememberScope, RequestView,
};
use crate::gateway::now;

/// The owner, who agents belong to by default.
pub(super) struct Approver {
    pub(super) approval_service: Arc<ApprovalService>,
    user: UserId,
    passkey: Passkey,
}

// === impl Approver ===

impl Approver {
    /// Enrolls a passkey that counts.
    pub(super) async fn enrolled(stage: &Stage) -> Self {
        let approval_service = Arc::clone(stage.gateway.approval_service().unwrap());
        let user = UserId::new("owner");
        let opened = approval_service.open_window(&user, "test").await.unwrap();
        let from = EnrollFrom::Page { session: "s", signed_in: false };
        let options = approval_service.enroll_begin(Some(&user), from).await.unwrap();
        let mut passkey = Passkey::fresh(Algorithm::Es256, approval_service.origin());
        let response = passkey.create(&value(&options)).unwrap();
        let stored = approval_service.enroll_finish(from, &response.to_string()).await.unwrap();
        approval_service.confirm_by_code(&stored.id, &opened.code.unwrap()).await.unwrap();
        Self { approval_service, user, passkey }
    }

    /// The request that waits, as soon as one does.
    pub(super) async fn asked(&self) -> RequestView {
        let mut changes = self.approval_service.changes();
        loop {
            if let Some(request) = self.approval_service.list(true, 8).await.unwrap().pop() {
                return request;
            }
            changes.recv().await.unwrap();
        }
    }

    /// How many requests wait.
    pub(super) async fn waiting(&self) -> usize {
        self.approval_service.list(true, 8).await.unwrap().len()
    }

    /// How many receipts there are.
    pub(super) async fn receipts(&self) -> usize {
        self.approval_service.receipts(0, 100).await.unwrap().len()
    }

    /// Signs a request.
    pub(super) async fn sign(&self, id: &ApprovalId) -> Result<ApprovalState, ApprovalFault> {
        let envelope = value(&self.approval_service.challenge(id, Some(&self.user)).await?);
        let (challenge, response) = self.signed(&envelope);
        self.approval_service.assertion(id, &challenge, &response).await
    }

    /// Presses the button.
    pub(super) async fn confirm(
        &self,
        id: &ApprovalId,
        remember: Option<RememberScope>,
    ) -> Result<ApprovalState, ApprovalFault> {
        self.approval_service.confirm(id, By::User(&self.user), remember).await
    }

    /// Says no.
    pub(super) async fn decline(&self, id: &ApprovalId) {
        assert!(self.approval_service.decline(id, By::User(&self.user)).await.unwrap());
    }

    /// Signs a mandate for this number of calls of a tool, with paths below `build/`.
    pub(super) async fn delegate(&self, tool: &str, calls: u64) {
        let (from, until) = (Timestamp(now().0 - 1000), Timestamp(now().0 + 600_000));
        let terms = json!({
            "tools": [tool], "arguments": { "path": { "prefix": "build/" } }, "max_calls": calls,
            "not_before": to_iso(from), "expires": to_iso(until), "agent": "agent",
        });
        let envelope = self.approval_service.mandate_challenge(&self.user, &terms.to_string()).await.unwrap();
        let (challenge, response) = self.signed(&value(&envelope));
        self.approval_service.mandate_assertion(&challenge, &response).await.unwrap();
    }

    /// The evidence for a challenge that an agent was given.
    pub(super) fn evidence(&self, challenge: &Value) -> Value {
        let response = self.passkey.get(&challenge["requestOptions"]).unwrap();
        json!({ "method": "webauthn", "challengeId": challenge["challengeId"], "response": response })
    }

    fn signed(&self, envelope: &Value) -> (ChallengeId, String) {
        let response = self.passkey.get(&envelope["requestOptions"]).unwrap().to_string();
        (ChallengeId::new(envelope["challengeId"].as_str().unwrap()), response)
    }
}

fn value(of: &impl serde::Serialize) -> Value {
    serde_json::to_value(of).unwrap()
}
