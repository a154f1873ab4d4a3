//! Joining a label into a session.

use std::sync::Arc;

use highwater_core::id::SessionKey;
use highwater_core::label::Label;

use super::conversation::pending;
use super::{Access, Durability, Operation};
use crate::key::SessionOwner;
use crate::sql::{Tx, Value, members, only, session_labels, statement};
use crate::{SessionState, StoreError};

/// Joins a label.
#[derive(Debug)]
pub(crate) struct Join {
    pub(crate) key: SessionKey,
    pub(crate) owner: SessionOwner,
    pub(crate) label: Label,
    /// The copy of the caller, which spares reading the sets back while nobody else writes.
    pub(crate) known: Option<Arc<SessionState>>,
    /// Whether the session may have no row yet.
    pub(crate) is_new: bool,
    pub(crate) now: i64,
}

// === impl Join ===

impl Operation for Join {
    type Output = SessionState;

    const DOING: &'static str = "raise a label";

    fn access(&self) -> Access {
        // The boot-id rule taints the rows it finds. A key that comes back after a power cut must find its row.
        let flushed = self.is_new && self.owner.kind.outlives_us();
        Access::Write(if flushed { Durability::Flushed } else { Durability::Ordinary })
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<SessionState, StoreError> {
        join(tx, &self.key, &self.owner, &self.label, self.known.as_deref(), self.now).await
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> SessionState {
        model.join(self)
    }
}

/// Joins a label and gives the session as it is then.
pub(super) async fn join<T: Tx>(
    tx: &mut T,
    key: &SessionKey,
    owner: &SessionOwner,
    added: &Label,
    known: Option<&SessionState>,
    now: i64,
) -> Result<SessionState, StoreError> {
    let values = [
        Value::Text(key.as_str()),
        Value::Text(owner.principal.as_str()),
        Value::Text(owner.virtual_server.as_str()),
        Value::Text(owner.kind.word()),
        Value::Int(now),
        Value::Int(added.bits().to_i64()),
    ];
    let row = only(tx.query(statement::JOIN, &values).await?)?;
    let (epoch, bits, version) = (row.count(0)?, row.bits(1)?, row.count(2)?);
    // Nobody wrote since the caller's copy was made: what it lists is what is stored.
    let current = known.filter(|known| known.epoch == epoch && known.version + 1 == version);
    let is_new = |member: &(&'static str, &str)| {
        current.is_none_or(|known| !members(&known.label).any(|listed| listed == *member))
    };
    join_sets(tx, Value::Text(key.as_str()), members(added).filter(is_new)).await?;
    let (label, pending) = match current {
        Some(known) => {
            let sets = known.label.clone().joined(added);
            let label =
                Label::from_sets(bits, sets.scopes().clone(), sets.names().clone(), sets.origins().clone());
            (label, known.pending.clone())
        }
        None => {
            let rows = tx.query(statement::MEMBERS, &[Value::Text(key.as_str())]).await?;
            let members = rows.iter().map(|row| Ok((row.text(0)?, row.text(1)?)));
            let (label, earlier) = session_labels(bits, row.bits(3)?, members)?;
            (label, pending(earlier, &row, (4, 5))?)
        }
    };
    tx.announce(key.as_str()).await?;
    Ok(SessionState { epoch, version, label, pending })
}

/// Joins members of sets, in the same transaction.
pub(super) async fn join_sets<'m, T: Tx>(
    tx: &mut T,
    session: Value<'_>,
    members: impl Iterator<Item = (&'static str, &'m str)>,
) -> Result<(), StoreError> {
    for (kind, value) in members {
        tx.execute(statement::JOIN_MEMBER, &[session, Value::Text(kind), Value::Text(value)]).await?;
    }
    Ok(())
}
