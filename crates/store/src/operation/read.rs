//! Reading a session: first whether a copy is still current, and only if it is not, the whole.

use std::sync::Arc;

use highwater_core::id::SessionKey;
use highwater_core::label::Label;

use super::{Access, Operation};
use crate::sql::{Tx, Value, first, label, statement};
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
    State {
        state: SessionState,
        /// Whether the session was folded into the principal's own.
        folded: bool,
    },
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
        Ok(match read(tx, &self.key).await? {
            Some((state, folded)) => Found::State { state, folded },
            None => Found::State { state: SessionState::unborn(), folded: false },
        })
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Found {
        model.read(self)
    }
}

/// A session as one snapshot, with its sets.
pub(super) async fn read<T: Tx>(
    tx: &mut T,
    key: &SessionKey,
) -> Result<Option<(SessionState, bool)>, StoreError> {
    let rows = tx.query(statement::SESSION, &[Value::Text(key.as_str())]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let (epoch, bits, version, folded) = (row.count(0)?, row.bits(1)?, row.count(2)?, row.int(3)? != 0);
    let label: Label = label(bits, rows.iter().map(|row| Ok((row.text(4)?, row.text(5)?))))?;
    Ok(Some((SessionState { epoch, version, label }, folded)))
}
