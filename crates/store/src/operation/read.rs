//! Reading a session: first whether a copy is still current, and only if it is not, the whole.

use std::sync::Arc;

use highwater_core::id::SessionKey;

use super::conversation::pending;
use super::{Access, Operation};
use crate::sql::{Tx, Value, first, session_labels, statement};
use crate::{SessionState, StoreError};

/// Reads a session.
#[derive(Debug)]
pub(crate) struct ReadSession {
    pub(crate) key: SessionKey,
    /// The caller's copy.
    pub(crate) known: Option<Arc<SessionState>>,
}

/// What was found.
#[derive(Debug)]
pub(crate) enum Found {
    /// The caller's copy is the newest there is.
    Same,
    /// This is.
    State(SessionState),
}

// === impl ReadSession ===

impl Operation for ReadSession {
    type Output = Found;

    const DOING: &'static str = "read a label";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Found, StoreError> {
        let key = Value::Text(self.key.as_str());
        if let Some(known) = &self.known {
            let row = first(tx.query(statement::VERSION, &[key]).await?);
            let current = row.map_or(Ok((0, 0)), |row| Ok((row.count(0)?, row.count(1)?)))?;
            if current == (known.epoch, known.version) {
                return Ok(Found::Same);
            }
        }
        Ok(Found::State(read(tx, &self.key).await?.unwrap_or_else(SessionState::unborn)))
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Found {
        model.read(self)
    }
}

/// A session as one snapshot, with its sets.
pub(super) async fn read<T: Tx>(tx: &mut T, key: &SessionKey) -> Result<Option<SessionState>, StoreError> {
    let rows = tx.query(statement::SESSION, &[Value::Text(key.as_str())]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let members = rows.iter().map(|row| Ok((row.text(3)?, row.text(4)?)));
    let (label, earlier) = session_labels(row.bits(1)?, row.bits(5)?, members)?;
    let pending = pending(earlier, row, (6, 7))?;
    Ok(Some(SessionState { epoch: row.count(0)?, version: row.count(2)?, label, pending }))
}
