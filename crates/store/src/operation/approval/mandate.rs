//! Mandates: made from a receipt, used so often, taken back. T4 is one use.

use highwater_core::approval::MandateOutcome;
use highwater_core::id::{Principal, UserId};
use highwater_notation::Timestamp;

use super::super::{Access, Durability, Operation};
use super::codec::{self, millis, time};
use super::{receipt, recovery};
use crate::StoreError;
use crate::approval::{MandateUsed, ReceiptDraft, StoredMandate};
use crate::sql::{Tx, Value, approvals as statement, first};

/// Keeps a mandate that a person signed; its receipt is there, and made no other.
#[derive(Debug)]
pub(crate) struct PutMandate(pub(crate) StoredMandate);

/// The mandates of an agent, or of all.
#[derive(Debug)]
pub(crate) struct ListMandates {
    pub(crate) agent: Option<Principal>,
    pub(crate) most: u32,
}

/// Takes a mandate back.
#[derive(Debug)]
pub(crate) struct RevokeMandate {
    pub(crate) id: String,
    pub(crate) by: String,
    pub(crate) reason: String,
    pub(crate) now: Timestamp,
}

/// Uses a mandate once, with the receipt of that use.
#[derive(Debug)]
pub(crate) struct UseMandate {
    pub(crate) id: String,
    pub(crate) draft: ReceiptDraft,
    pub(crate) now: Timestamp,
}

// === impl PutMandate ===

impl Operation for PutMandate {
    type Output = bool;

    const DOING: &'static str = "keep a mandate";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        let it = &self.0;
        let values = [
            Value::Text(&it.id),
            Value::Text(&it.receipt),
            Value::Text(it.user.as_str()),
            Value::Text(it.agent.as_str()),
            Value::Text(it.terms.as_str()),
            Value::Text(&it.definitions),
            Value::Int(i64::try_from(it.remaining).unwrap_or(i64::MAX)),
            time(it.not_before),
            time(it.expires),
        ];
        Ok(tx.execute(statement::PUT_MANDATE, &values).await? > 0)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.approvals.put_mandate(&self.0)
    }
}

// === impl ListMandates ===

impl Operation for ListMandates {
    type Output = Vec<StoredMandate>;

    const DOING: &'static str = "list mandates";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<StoredMandate>, StoreError> {
        let agent = Value::Text(self.agent.as_ref().map_or("", Principal::as_str));
        let rows = tx.query(statement::MANDATES, &[agent, Value::Int(i64::from(self.most))]).await?;
        rows.iter().map(codec::mandate).collect()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<StoredMandate> {
        model.approvals.list_mandates(self.agent.as_ref(), self.most)
    }
}

// === impl RevokeMandate ===

impl Operation for RevokeMandate {
    type Output = bool;

    const DOING: &'static str = "revoke a mandate";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        let now = tx.now(millis(self.now)).await?;
        let values =
            [Value::Int(now), Value::Text(&self.by), Value::Text(&self.reason), Value::Text(&self.id)];
        Ok(tx.execute(statement::REVOKE_MANDATE, &values).await? > 0)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.approvals.revoke_mandate(&self.id, &self.by, &self.reason, self.now)
    }
}

// === impl UseMandate ===

impl Operation for UseMandate {
    type Output = MandateUsed;

    const DOING: &'static str = "use a mandate";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<MandateUsed, StoreError> {
        let now = tx.now(millis(self.now)).await?;
        let id = Value::Text(&self.id);
        let Some(row) = first(tx.query(statement::USE_MANDATE, &[id, Value::Int(now)]).await?) else {
            let found = first(tx.query(statement::MANDATE, &[id]).await?);
            let found = found.as_ref().map(codec::mandate).transpose()?;
            return Ok(MandateUsed { outcome: refusal(found.as_ref()), receipt: None });
        };
        if recovery::is_under_way(tx, &UserId::new(row.text(1)?)).await? {
            tx.give_up();
            return Ok(MandateUsed { outcome: MandateOutcome::Resetting, receipt: None });
        }
        let outcome = MandateOutcome::Used { left: row.count(0)? };
        Ok(MandateUsed { outcome, receipt: Some(receipt::file(tx, &self.draft, "", now).await?) })
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> MandateUsed {
        model.approvals.use_mandate(self)
    }
}

/// Why a mandate could not be used.
pub(crate) fn refusal(found: Option<&StoredMandate>) -> MandateOutcome {
    match found {
        None => MandateOutcome::Unknown,
        Some(found) if found.revoked.is_some() => MandateOutcome::Revoked,
        Some(found) if found.remaining == 0 => MandateOutcome::Exhausted,
        Some(_) => MandateOutcome::Outside,
    }
}
