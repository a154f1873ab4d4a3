//! A round of an approved execution goes on once (G25). Nothing is kept of rounds that nobody has taken: they are with
//! their clients, sealed. That one was taken is kept for longer than it could be brought again.

use highwater_core::approval::RoundOutcome;
use highwater_notation::Timestamp;

use super::super::{Access, Durability, Operation};
use super::codec::{millis, time};
use crate::StoreError;
use crate::sql::{Tx, Value, approvals as statement};

/// Takes a round, if nobody has and its time is not over.
#[derive(Debug)]
pub(crate) struct TakeRound {
    pub(crate) id: String,
    pub(crate) ends: Timestamp,
    pub(crate) now: Timestamp,
}

// === impl TakeRound ===

impl Operation for TakeRound {
    type Output = RoundOutcome;

    const DOING: &'static str = "take a round";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<RoundOutcome, StoreError> {
        if millis(self.ends) <= tx.now(millis(self.now)).await? {
            return Ok(RoundOutcome::Expired);
        }
        let taken = tx.execute(statement::TAKE_ROUND, &[Value::Text(&self.id), time(self.ends)]).await?;
        Ok(if taken > 0 { RoundOutcome::Taken } else { RoundOutcome::AlreadyTaken })
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> RoundOutcome {
        model.approvals.take_round(self)
    }
}
