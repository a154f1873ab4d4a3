//! T1 and T2: a verified signature uses up its challenge, stores its counter, leaves its receipt and, on the page,
//! approves its request. All of it or nothing.

use highwater_core::approval::{ConsumeOutcome, Partial, PartialAnswer, QuorumState};
use highwater_core::id::{ApprovalId, ChallengeId, Principal, UserId};
use highwater_notation::Timestamp;
use highwater_passkey::{ActionHash, CredentialId, ToolName};

use super::super::{Access, Durability, Operation};
use super::codec::{self, APPROVALS_HINT, millis};
use super::{receipt, recovery};
use crate::StoreError;
use crate::approval::{ApprovalRequest, ChallengeUsed, ReceiptDraft, RequestState};
use crate::sql::{Tx, Value, approvals as statement, first};

/// What a signature says, and what is to be recorded of it.
#[derive(Debug)]
pub(crate) struct Consume {
    pub(crate) challenge: ChallengeId,
    pub(crate) principal: Principal,
    pub(crate) user: UserId,
    pub(crate) credential: CredentialId,
    pub(crate) action: ActionHash,
    pub(crate) counter: u32,
    pub(crate) backed_up: bool,
    /// The request of the page; none for a native call.
    pub(crate) approval: Option<ApprovalId>,
    pub(crate) draft: ReceiptDraft,
    pub(crate) now: Timestamp,
}

// === impl ChallengeUsed ===

impl ChallengeUsed {
    pub(crate) fn refused(outcome: ConsumeOutcome, request: Option<RequestState>) -> Self {
        Self { outcome, receipt: None, request }
    }

    /// What a signature for a request is worth that waits no more.
    pub(crate) fn too_late(request: Option<RequestState>) -> Self {
        let outcome = match request {
            Some(RequestState::Approved | RequestState::Consumed) => ConsumeOutcome::AlreadyConsumed,
            Some(RequestState::Pending | RequestState::Declined | RequestState::Expired) | None => {
                ConsumeOutcome::Expired
            }
        };
        Self::refused(outcome, request)
    }
}

// === impl Consume ===

impl Operation for Consume {
    type Output = ChallengeUsed;

    const DOING: &'static str = "consume a challenge";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<ChallengeUsed, StoreError> {
        let now = tx.now(millis(self.now)).await?;
        // The challenge comes first: whoever loses the race for it is told that it is consumed, not that the counter
        // of the winner is higher (S57, G6).
        let tool = match self.consume(tx, now).await? {
            Ok(tool) => tool,
            Err(outcome) => {
                tx.give_up();
                return Ok(ChallengeUsed::refused(outcome, None));
            }
        };
        // After the challenge, which a reset voids: one that begins now waits for this or is seen here.
        if recovery::forbids(tx, &self.user, &tool).await? {
            tx.give_up();
            return Ok(ChallengeUsed::refused(ConsumeOutcome::CredentialGone, None));
        }
        if let Some(outcome) = self.raise(tx).await? {
            tx.give_up();
            return Ok(ChallengeUsed::refused(outcome, None));
        }
        let mut request = None;
        if let Some(approval) = &self.approval {
            match self.approve(tx, approval, now).await? {
                Ok(state) => request = Some(state),
                Err(used) => {
                    tx.give_up();
                    return Ok(used);
                }
            }
        }
        let approval = self.approval.as_ref().map_or("", ApprovalId::as_str);
        let receipt = Some(receipt::file(tx, &self.draft, approval, now).await?);
        if self.draft.is_sealed() {
            let values = [Value::Text(self.challenge.as_str()), Value::Int(now)];
            tx.execute(statement::CLEAR_CHALLENGE, &values).await?;
            tx.scrub();
        }
        if let Some(approval) = &self.approval {
            tx.announce(&format!("{APPROVALS_HINT}{approval}")).await?;
        }
        Ok(ChallengeUsed { outcome: ConsumeOutcome::Consumed, receipt, request })
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> ChallengeUsed {
        model.approvals.consume(self)
    }
}

impl Consume {
    /// Uses up the challenge and gives what it is for, or says why not.
    async fn consume<T: Tx>(
        &self,
        tx: &mut T,
        now: i64,
    ) -> Result<Result<ToolName, ConsumeOutcome>, StoreError> {
        let (credential, action) = (self.credential.to_string(), self.action.to_string());
        let id = Value::Text(self.challenge.as_str());
        let (text, whose) = match &self.approval {
            None => (statement::CONSUME_CHALLENGE, Value::Text(self.principal.as_str())),
            Some(approval) => (statement::CONSUME_FOR_REQUEST, Value::Text(approval.as_str())),
        };
        let values = [Value::Int(now), Value::Text(&credential), id, whose, Value::Text(&action)];
        if let Some(row) = first(tx.query(text, &values).await?) {
            return codec::tool(&row, 0).map(Ok);
        }
        let state = first(tx.query(statement::CHALLENGE_STATE, &[id]).await?);
        let consumed = state.map(|row| row.int(0)).transpose()?.is_some_and(|consumed| consumed > 0);
        Ok(Err(if consumed { ConsumeOutcome::AlreadyConsumed } else { ConsumeOutcome::Expired }))
    }

    /// Stores the counter, or says why not.
    async fn raise<T: Tx>(&self, tx: &mut T) -> Result<Option<ConsumeOutcome>, StoreError> {
        let id = self.credential.to_string();
        let values = [
            Value::Int(i64::from(self.counter)),
            Value::Int(i64::from(self.backed_up)),
            Value::Text(&id),
            Value::Text(self.user.as_str()),
        ];
        if tx.execute(statement::RAISE_COUNTER, &values).await? == 1 {
            return Ok(None);
        }
        let found = first(tx.query(statement::CREDENTIAL, &[Value::Text(&id)]).await?);
        let found = found.map(|row| codec::credential(&row, 0)).transpose()?;
        let counts = found.is_some_and(|found| found.credential.is_usable_by(&self.user));
        Ok(Some(if counts { ConsumeOutcome::CounterRegressed } else { ConsumeOutcome::CredentialGone }))
    }

    /// Approves the request if there are enough signatures now; otherwise it goes on waiting.
    async fn approve<T: Tx>(
        &self,
        tx: &mut T,
        approval: &ApprovalId,
        now: i64,
    ) -> Result<Result<RequestState, ChallengeUsed>, StoreError> {
        // Takes the row: of two who sign at once the second counts the first.
        let id = Value::Text(approval.as_str());
        let found = first(tx.query(statement::TAKE_REQUEST, &[id]).await?);
        let Some(found) = found.map(|row| codec::request(&row, now)).transpose()? else {
            return Ok(Err(ChallengeUsed::too_late(None)));
        };
        if let Some(refused) = self.refuses(&found) {
            return Ok(Err(refused));
        }
        let quorum = ApprovalRequest::quorum(&found.user, &found.need);
        let signed = signatures(tx, approval).await?;
        if quorum.state(&found.user, &signed) != QuorumState::Reached {
            return Ok(Ok(RequestState::Pending));
        }
        let by = who_signed(&signed);
        if tx.execute(statement::APPROVE, &[Value::Int(now), Value::Text(&by), id]).await? != 1 {
            return Ok(Err(ChallengeUsed::too_late(Some(RequestState::Expired))));
        }
        let asked = [Value::Text(found.principal.as_str()), Value::Text(found.tool.as_str())];
        tx.execute(statement::FORGET_DECLINES, &asked).await?;
        Ok(Ok(RequestState::Approved))
    }

    /// Why this signature does nothing for the request.
    pub(crate) fn refuses(&self, found: &ApprovalRequest) -> Option<ChallengeUsed> {
        if found.state != RequestState::Pending || found.action != self.action {
            return Some(ChallengeUsed::too_late(Some(found.state)));
        }
        // Somebody else's credential is as good as none (G4).
        let quorum = ApprovalRequest::quorum(&found.user, &found.need);
        (!quorum.counts(&self.user, &found.user))
            .then(|| ChallengeUsed::refused(ConsumeOutcome::CredentialGone, Some(found.state)))
    }
}

/// Who signed for a request, and whether it still counts.
pub(super) async fn signatures<T: Tx>(tx: &mut T, of: &ApprovalId) -> Result<Vec<Partial>, StoreError> {
    let rows = tx.query(statement::SIGNATURES, &[Value::Text(of.as_str())]).await?;
    let mut signed = Vec::with_capacity(rows.len());
    for row in &rows {
        let user = UserId::new(row.text(0)?);
        let said = if row.int(1)? > 0 {
            PartialAnswer::Revoked
        } else if recovery::is_under_way(tx, &user).await? {
            PartialAnswer::Resetting
        } else {
            PartialAnswer::Signed
        };
        signed.push(Partial { user, said });
    }
    Ok(signed)
}

/// The names of those whose signature counts.
pub(crate) fn who_signed(signed: &[Partial]) -> String {
    let counts = signed.iter().filter(|partial| partial.said == PartialAnswer::Signed);
    let mut names: Vec<&str> = counts.map(|partial| partial.user.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}
