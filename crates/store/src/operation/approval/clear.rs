//! What ends by itself: requests and grants whose time ran out, clear text that nobody needs, rows that are long over.

use highwater_core::id::{ApprovalId, ChallengeId};
use highwater_notation::Timestamp;

use super::super::{Access, Durability, Operation};
use super::codec::{APPROVALS_HINT, millis};
use crate::StoreError;
use crate::approval::granted_since;
use crate::sql::{Row, Tx, Value, approvals as statement};

/// Consumed and expired challenges are kept for a day, so that a replay is called one (G5).
pub(crate) const KEPT_CHALLENGES_MS: i64 = 24 * 60 * 60 * 1000 + 60_000;

/// Requests that are over are kept for people to look at.
pub(crate) const KEPT_REQUESTS_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// That a round was taken is kept for an hour after it could have been brought again, whatever a clock does.
pub(crate) const KEPT_ROUNDS_MS: i64 = 60 * 60 * 1000;

/// Writes down what has ended, clears what is sensitive and deletes what is long over; gives what has ended.
#[derive(Debug)]
pub(crate) struct Expire {
    pub(crate) decline_memory_ms: u64,
    pub(crate) now: Timestamp,
}

/// Clears the arguments of a challenge that is over.
#[derive(Debug)]
pub(crate) struct ClearChallenge {
    pub(crate) id: ChallengeId,
    pub(crate) now: Timestamp,
}

/// Clears a request that is used up, with all challenges of it. Nothing happens to one that is not sensitive.
pub(super) async fn clear<T: Tx>(tx: &mut T, id: &ApprovalId) -> Result<(), StoreError> {
    let id = Value::Text(id.as_str());
    if tx.execute(statement::CLEAR_REQUEST, &[id]).await? > 0 {
        tx.execute(statement::CLEAR_CHALLENGES, &[id]).await?;
        tx.scrub();
    }
    Ok(())
}

/// After a start that may have lost something, nothing outstanding counts.
pub(crate) async fn void<T: Tx>(tx: &mut T) -> Result<(), StoreError> {
    for text in [
        statement::VOID_REQUESTS,
        statement::VOID_CHALLENGES,
        statement::VOID_ENROLLMENTS,
        statement::VOID_WINDOWS,
    ] {
        tx.execute(text, &[]).await?;
    }
    Ok(())
}

// === impl Expire ===

impl Operation for Expire {
    type Output = Vec<ApprovalId>;

    const DOING: &'static str = "end what has run out";

    fn access(&self) -> Access {
        Access::Write(Durability::Ordinary)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<ApprovalId>, StoreError> {
        let now = tx.now(millis(self.now)).await?;
        let values = [Value::Int(now), Value::Int(granted_since(now))];
        let rows = tx.query(statement::EXPIRE_REQUESTS, &values).await?;
        let ended: Vec<ApprovalId> = rows
            .iter()
            .map(|row: &Row| Ok(ApprovalId::new(row.text(0)?)))
            .collect::<Result<_, StoreError>>()?;
        for id in &ended {
            tx.announce(&format!("{APPROVALS_HINT}{id}")).await?;
        }
        let memory = i64::try_from(self.decline_memory_ms).unwrap_or(i64::MAX);
        let cleared = tx.query(statement::CLEAR_REQUESTS, &[Value::Int(now.saturating_sub(memory))]).await?;
        for row in &cleared {
            tx.execute(statement::CLEAR_CHALLENGES, &[Value::Text(row.text(0)?)]).await?;
        }
        let over = tx.execute(statement::CLEAR_OVER, &[Value::Int(now)]).await?;
        if !cleared.is_empty() || over > 0 {
            tx.scrub();
        }
        tx.execute(statement::PRUNE_CHALLENGES, &[Value::Int(now.saturating_sub(KEPT_CHALLENGES_MS))])
            .await?;
        tx.execute(statement::PRUNE_REQUESTS, &[Value::Int(now.saturating_sub(KEPT_REQUESTS_MS))]).await?;
        tx.execute(statement::PRUNE_REMEMBERED, &[Value::Int(now)]).await?;
        tx.execute(statement::PRUNE_ROUNDS, &[Value::Int(now.saturating_sub(KEPT_ROUNDS_MS))]).await?;
        Ok(ended)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<ApprovalId> {
        model.approvals.expire(self)
    }
}

// === impl ClearChallenge ===

impl Operation for ClearChallenge {
    type Output = bool;

    const DOING: &'static str = "clear a challenge";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        let now = tx.now(millis(self.now)).await?;
        let values = [Value::Text(self.id.as_str()), Value::Int(now)];
        tx.scrub();
        Ok(tx.execute(statement::CLEAR_CHALLENGE, &values).await? > 0)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.approvals.clear_challenge(&self.id, millis(self.now))
    }
}
