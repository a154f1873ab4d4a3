//! Starting over. While all passkeys of a person are being reset they count for nothing but stopping that, in every
//! transaction that a passkey has a part in.

use highwater_core::id::{ApprovalId, UserId};
use highwater_notation::Timestamp;
use highwater_passkey::{ReservedAction, ToolName};

use super::super::{Access, Durability, Operation};
use super::codec::{APPROVALS_HINT, millis, stamp, time};
use crate::StoreError;
use crate::approval::Recovery;
use crate::sql::{Row, Tx, Value, approvals as statement, first};

/// Begins to start over: what is open, and what was granted and not used, is void.
#[derive(Debug)]
pub(crate) struct BeginRecovery {
    pub(crate) user: UserId,
    pub(crate) by: String,
    pub(crate) delay_ms: u64,
    pub(crate) now: Timestamp,
}

/// Stops it.
#[derive(Debug)]
pub(crate) struct CancelRecovery(pub(crate) UserId);

/// Completes it, if it is due: no passkey of that person counts any more, and no mandate signed with one.
#[derive(Debug)]
pub(crate) struct EndRecovery {
    pub(crate) user: UserId,
    pub(crate) by: String,
    pub(crate) now: Timestamp,
}

/// Everybody who starts over.
#[derive(Debug)]
pub(crate) struct ListRecoveries;

/// Why the passkeys and mandates of somebody who starts over do not count any more.
pub(crate) const STARTED_OVER: &str = "all passkeys were lost";

/// Whether all passkeys of a person are being reset. Asked inside the transaction that depends on it, after the rows that
/// a reset changes were taken: a reset that begins at the same time is then seen here, or waits for this transaction.
pub(super) async fn is_under_way<T: Tx>(tx: &mut T, user: &UserId) -> Result<bool, StoreError> {
    Ok(first(tx.query(statement::RECOVERY, &[Value::Text(user.as_str())]).await?).is_some())
}

/// Whether a person's passkey may not sign this now.
pub(super) async fn forbids<T: Tx>(tx: &mut T, user: &UserId, tool: &ToolName) -> Result<bool, StoreError> {
    Ok(!stops_reset(tool) && is_under_way(tx, user).await?)
}

/// Whether this is the one thing that a passkey signs while it is being reset.
pub(crate) fn stops_reset(tool: &ToolName) -> bool {
    *tool == ToolName::reserved(ReservedAction::Recover)
}

// === impl BeginRecovery ===

impl Operation for BeginRecovery {
    type Output = bool;

    const DOING: &'static str = "begin to start over";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        let recovery = self.recovery(tx.now(millis(self.now)).await?);
        let values = [
            Value::Text(self.user.as_str()),
            Value::Text(&self.by),
            time(recovery.begun),
            time(recovery.due),
        ];
        if tx.execute(statement::BEGIN_RECOVERY, &values).await? == 0 {
            return Ok(false);
        }
        let user = Value::Text(self.user.as_str());
        tx.execute(statement::VOID_CHALLENGES_OF, &[user]).await?;
        let void = tx.query(statement::VOID_GRANTS_OF, &[time(recovery.begun), user]).await?;
        for row in &void {
            let id = ApprovalId::new(row.text(0)?);
            tx.announce(&format!("{APPROVALS_HINT}{id}")).await?;
        }
        Ok(true)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.approvals.begin_recovery(self.recovery(millis(self.now)))
    }
}

impl BeginRecovery {
    fn recovery(&self, now: i64) -> Recovery {
        let begun = stamp(now);
        let due = Timestamp(begun.0.saturating_add(self.delay_ms));
        Recovery { user: self.user.clone(), by: self.by.clone(), begun, due }
    }
}

// === impl CancelRecovery ===

impl Operation for CancelRecovery {
    type Output = bool;

    const DOING: &'static str = "stop starting over";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        Ok(tx.execute(statement::CANCEL_RECOVERY, &[Value::Text(self.0.as_str())]).await? > 0)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.approvals.recoveries.remove(&self.0).is_some()
    }
}

// === impl EndRecovery ===

impl Operation for EndRecovery {
    type Output = bool;

    const DOING: &'static str = "start over";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        let (user, now) = (Value::Text(self.user.as_str()), Value::Int(tx.now(millis(self.now)).await?));
        if tx.execute(statement::END_RECOVERY, &[user, now]).await? == 0 {
            return Ok(false);
        }
        let values = [now, Value::Text(&self.by), Value::Text(STARTED_OVER), user];
        tx.execute(statement::REVOKE_ALL, &values).await?;
        tx.execute(statement::REVOKE_MANDATES_OF, &values).await?;
        Ok(true)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.approvals.end_recovery(&self.user, &self.by, self.now)
    }
}

// === impl ListRecoveries ===

impl Operation for ListRecoveries {
    type Output = Vec<Recovery>;

    const DOING: &'static str = "list who starts over";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<Recovery>, StoreError> {
        let recovery = |row: &Row| {
            Ok(Recovery {
                user: UserId::new(row.text(0)?),
                by: row.text(1)?.to_owned(),
                begun: Timestamp(row.count(2)?),
                due: Timestamp(row.count(3)?),
            })
        };
        tx.query(statement::RECOVERIES, &[]).await?.iter().map(recovery).collect()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<Recovery> {
        let mut found: Vec<_> = model.approvals.recoveries.values().cloned().collect();
        found.sort_by_key(|it| (it.due, it.user.clone()));
        found
    }
}
