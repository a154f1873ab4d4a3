//! Joining a label into a session.

use std::sync::Arc;

use highwater_core::id::SessionKey;
use highwater_core::label::Label;

use super::conversation::pending;
use super::{Access, Durability, Operation};
use crate::key::SessionOwner;
use crate::sql::{Tx, Value, is_pending, members, only, session_labels, statement};
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

// === impl Join ===

impl Operation for Join {
    type Output = SessionState;

    const DOING: &'static str = "raise a label";

    fn access(&self) -> Access {
        Access::Write(self.durability)
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
    let rows = match current {
        Some(_) => Vec::new(),
        None => tx.query(statement::MEMBERS, &[Value::Text(key.as_str())]).await?,
    };
    let rows = rows.iter().map(|row| Ok((row.text(0)?, row.text(1)?)));
    let rows = rows.collect::<Result<Vec<_>, StoreError>>()?;
    let stored: Vec<(&str, &str)> = match current {
        Some(known) => members(&known.label).collect(),
        None => rows,
    };
    let (label, pending) = match current {
        Some(known) => {
            let sets = known.label.clone().joined(added);
            let label =
                Label::from_sets(bits, sets.scopes().clone(), sets.names().clone(), sets.origins().clone());
            (label, known.pending.clone())
        }
        // The bits speak of what is added already, so its members belong to them.
        None => {
            let added = members(added).map(|(kind, value)| -> (&str, &str) { (kind, value) });
            let members = stored.iter().copied().chain(added).map(Ok);
            let (label, earlier) = session_labels(bits, row.bits(3)?, members)?;
            (label, pending(earlier, &row, (4, 5))?)
        }
    };
    // What is pending is kept beside the label, and has room of its own.
    let own: Vec<_> = stored.into_iter().filter(|(kind, _)| !is_pending(kind)).collect();
    keep_members(tx, key, &own, added, &label).await?;
    if label.bits() != bits {
        let values = [Value::Int(label.bits().to_i64()), Value::Text(key.as_str())];
        tx.execute(statement::RAISE_BITS, &values).await?;
    }
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

/// Stores the members that are new in a label, and no longer those for which it has no room.
async fn keep_members<T: Tx>(
    tx: &mut T,
    key: &SessionKey,
    stored: &[(&str, &str)],
    added: &Label,
    label: &Label,
) -> Result<(), StoreError> {
    let listed: Vec<_> = members(label).collect();
    let values = |kind, value| [Value::Text(key.as_str()), Value::Text(kind), Value::Text(value)];
    let mut kept = stored.len();
    for member in members(added).filter(|member| !stored.contains(member) && listed.contains(member)) {
        tx.execute(statement::JOIN_MEMBER, &values(member.0, member.1)).await?;
        kept += 1;
    }
    if kept > listed.len() {
        for member in stored.iter().filter(|member| !listed.contains(member)) {
            tx.execute(statement::FORGET_MEMBER, &values(member.0, member.1)).await?;
        }
    }
    Ok(())
}
