//! Joining a label into a session, and into the principal's own where the session was folded into it.

use std::sync::Arc;

use highwater_core::id::SessionKey;
use highwater_core::label::Label;

use super::{Access, Durability, Operation};
use crate::key::SessionOwner;
use crate::sql::{Tx, Value, label, members, only, statement};
use crate::{SessionState, StoreError};

/// Joins a label.
#[derive(Debug)]
pub(crate) struct Join {
    pub(crate) key: SessionKey,
    pub(crate) owner: SessionOwner,
    pub(crate) label: Label,
    /// The copy of the caller, which spares reading the sets back while nobody else writes.
    pub(crate) known: Option<Arc<SessionState>>,
    /// How safe it must be before it is answered.
    pub(crate) durability: Durability,
    pub(crate) now: i64,
}

/// What the session is after a join.
#[derive(Debug)]
pub(crate) struct JoinedRows {
    pub(crate) state: SessionState,
    /// The principal's own session, if this one was folded into it.
    pub(crate) widest: Option<SessionState>,
}

// === impl Join ===

impl Operation for Join {
    type Output = JoinedRows;

    const DOING: &'static str = "raise a label";

    fn access(&self) -> Access {
        Access::Write(self.durability)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<JoinedRows, StoreError> {
        let known = self.known.as_deref();
        let (state, folded) = join(tx, &self.key, &self.owner, &self.label, known, self.now).await?;
        let widest = if folded {
            let key = self.owner.widest_key();
            Some(join(tx, &key, &self.owner.widest(), &self.label, None, self.now).await?.0)
        } else {
            None
        };
        Ok(JoinedRows { state, widest })
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> JoinedRows {
        model.join(self)
    }
}

/// Joins a label and gives the session as it is then, and whether it was folded.
pub(super) async fn join<T: Tx>(
    tx: &mut T,
    key: &SessionKey,
    owner: &SessionOwner,
    added: &Label,
    known: Option<&SessionState>,
    now: i64,
) -> Result<(SessionState, bool), StoreError> {
    let values = [
        Value::Text(key.as_str()),
        Value::Text(owner.principal.as_str()),
        Value::Text(owner.virtual_server.as_str()),
        Value::Text(owner.kind.word()),
        Value::Int(now),
        Value::Int(added.bits().to_i64()),
    ];
    let row = only(tx.query(statement::JOIN, &values).await?)?;
    let (epoch, bits, version, folded) = (row.count(0)?, row.bits(1)?, row.count(2)?, row.int(3)? != 0);
    // Nobody wrote since the caller's copy was made: what it lists is what is stored.
    let current = known.filter(|known| known.epoch == epoch && known.version + 1 == version);
    for (kind, value) in members(added) {
        if current.is_none_or(|known| !members(&known.label).any(|listed| listed == (kind, value))) {
            let values = [Value::Text(key.as_str()), Value::Text(kind), Value::Text(value)];
            tx.execute(statement::JOIN_MEMBER, &values).await?;
        }
    }
    let label = match current {
        Some(known) => {
            let sets = known.label.clone().joined(added);
            Label::from_sets(bits, sets.scopes().clone(), sets.names().clone(), sets.origins().clone())
        }
        None => {
            let rows = tx.query(statement::MEMBERS, &[Value::Text(key.as_str())]).await?;
            label(bits, rows.iter().map(|row| Ok((row.text(0)?, row.text(1)?))))?
        }
    };
    tx.announce(key.as_str()).await?;
    Ok((SessionState { epoch, version, label }, folded))
}
