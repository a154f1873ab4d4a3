//! T3: a call uses up a grant, once.

use highwater_core::approval::{GrantOutcome, QuorumState};
use highwater_core::decide::Effect;
use highwater_core::id::{ApprovalId, Principal, SessionKey};
use highwater_core::pin::PinDigest;
use highwater_notation::Timestamp;
use highwater_passkey::ActionHash;

use super::super::{Access, Durability, Operation};
use super::codec::{self, APPROVALS_HINT, millis};
use super::consume::signatures;
use crate::StoreError;
use crate::approval::{ApprovalRequest, RequestState, granted_since};
use crate::sql::{Tx, Value, approvals as statement, first};

/// Uses up a grant for exactly this action of exactly this principal, in the conversation that asked for it.
#[derive(Debug)]
pub(crate) struct ConsumeGrant {
    pub(crate) id: ApprovalId,
    pub(crate) principal: Principal,
    pub(crate) session: SessionKey,
    pub(crate) action: ActionHash,
    /// The definition of the tool now (G16).
    pub(crate) definition: Option<PinDigest>,
    pub(crate) now: Timestamp,
}

// === impl ConsumeGrant ===

impl Operation for ConsumeGrant {
    type Output = GrantOutcome;

    const DOING: &'static str = "use up a grant";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<GrantOutcome, StoreError> {
        let now = tx.now(millis(self.now)).await?;
        let action = self.action.to_string();
        let id = Value::Text(self.id.as_str());
        let (principal, session) = (self.principal.as_str(), self.session.as_str());
        let values = [
            id,
            Value::Text(principal),
            Value::Text(&action),
            Value::Text(session),
            Value::Int(granted_since(now)),
        ];
        let Some(row) = first(tx.query(statement::CONSUME_GRANT, &values).await?) else {
            let found = first(tx.query(statement::REQUEST, &[id]).await?);
            let found = found.map(|row| codec::request(&row, now)).transpose()?;
            return Ok(self.missed(found.as_ref()));
        };
        let found = codec::request(&row, now)?;
        let outcome = self.judge(&found, &signatures(tx, &self.id).await?);
        if outcome != GrantOutcome::Consumed {
            tx.execute(statement::VOID_GRANT, &[Value::Int(now), id]).await?;
        }
        // No retry finds it again.
        if found.sensitive {
            super::clear::clear(tx, &self.id).await?;
        }
        tx.announce(&format!("{APPROVALS_HINT}{}", self.id)).await?;
        Ok(outcome)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> GrantOutcome {
        model.approvals.consume_grant(self)
    }
}

impl ConsumeGrant {
    /// Whether a grant that was there still counts: for this definition, with signatures that still count.
    pub(crate) fn judge(
        &self,
        found: &ApprovalRequest,
        signed: &[highwater_core::approval::Partial],
    ) -> GrantOutcome {
        if found.definition != self.definition {
            return GrantOutcome::Changed;
        }
        let quorum = ApprovalRequest::quorum(&found.user, &found.need);
        if found.kind == Effect::Passkey && quorum.state(&found.user, signed) != QuorumState::Reached {
            return GrantOutcome::Short;
        }
        GrantOutcome::Consumed
    }

    /// Why there was none.
    pub(crate) fn missed(&self, found: Option<&ApprovalRequest>) -> GrantOutcome {
        let mine = |found: &&ApprovalRequest| {
            (&found.principal, &found.session) == (&self.principal, &self.session)
                && (found.cleared || found.action == self.action)
        };
        match found.filter(mine).map(|found| found.state) {
            None => GrantOutcome::Unknown,
            Some(RequestState::Pending) => GrantOutcome::Pending,
            Some(RequestState::Consumed) => GrantOutcome::AlreadyConsumed,
            Some(RequestState::Declined) => GrantOutcome::Declined,
            Some(RequestState::Approved | RequestState::Expired) => GrantOutcome::Expired,
        }
    }
}
