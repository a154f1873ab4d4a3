//! Remembered answers: a yes to a question without a passkey that stands for a while.

use highwater_core::id::{Principal, SessionKey};
use highwater_notation::Timestamp;
use highwater_passkey::ToolName;

use super::super::{Access, Durability, Operation};
use super::codec::{self, digest_text, millis, rebased, time, upstream_text};
use crate::StoreError;
use crate::approval::RememberedAnswer;
use crate::sql::{Tx, Value, approvals as statement};

/// Keeps an answer.
#[derive(Debug)]
pub(crate) struct Remember(pub(crate) RememberedAnswer);

/// The answers for a principal and a tool, or all.
#[derive(Debug)]
pub(crate) struct ListRemembered {
    pub(crate) of: Option<(Principal, ToolName)>,
    pub(crate) now: Timestamp,
}

/// Forgets an answer.
#[derive(Debug)]
pub(crate) struct Forget(pub(crate) String);

// === impl Remember ===

impl Operation for Remember {
    type Output = ();

    const DOING: &'static str = "remember an answer";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), StoreError> {
        let it = &self.0;
        let now = tx.now(millis(it.created)).await?;
        let definition = digest_text(it.definition);
        let values = [
            Value::Text(&it.id),
            Value::Text(it.user.as_str()),
            Value::Text(it.principal.as_str()),
            Value::Text(it.session.as_ref().map_or("", SessionKey::as_str)),
            Value::Text(it.tool.as_str()),
            Value::Text(upstream_text(it.upstream.as_ref())),
            Value::Text(&definition),
            Value::Text(it.targets.as_deref().unwrap_or_default()),
            Value::Text(&it.label),
            Value::Text(&it.told),
            time(codec::stamp(now)),
            Value::Int(rebased(it.until, it.created, now)),
        ];
        tx.execute(statement::REMEMBER, &values).await.map(|_| ())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) {
        model.approvals.remembered.insert(self.0.id.clone(), self.0.clone());
    }
}

// === impl ListRemembered ===

impl Operation for ListRemembered {
    type Output = Vec<RememberedAnswer>;

    const DOING: &'static str = "list remembered answers";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<RememberedAnswer>, StoreError> {
        let now = Value::Int(tx.now(millis(self.now)).await?);
        let rows = match &self.of {
            None => tx.query(statement::ALL_REMEMBERED, &[now]).await?,
            Some((principal, tool)) => {
                let values = [Value::Text(principal.as_str()), Value::Text(tool.as_str()), now];
                tx.query(statement::REMEMBERED, &values).await?
            }
        };
        rows.iter().map(codec::remembered).collect()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Vec<RememberedAnswer> {
        model.approvals.list_remembered(self.of.as_ref(), self.now)
    }
}

// === impl Forget ===

impl Operation for Forget {
    type Output = bool;

    const DOING: &'static str = "forget an answer";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        Ok(tx.execute(statement::FORGET, &[Value::Text(&self.0)]).await? > 0)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.approvals.remembered.remove(&self.0).is_some()
    }
}
