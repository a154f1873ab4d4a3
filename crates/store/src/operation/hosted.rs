//! Conversations that a host tells of: with which label one begins, and what counts beside it until a person has said that
//! the conversation is theirs.

use highwater_core::id::SessionKey;
use highwater_core::label::Label;

use super::conversation::set_pending;
use super::join::join;
use super::read::read;
use super::{Access, Durability, Operation};
use crate::key::SessionOwner;
use crate::sql::{Tx, Value, statement};
use crate::{SessionState, StoreError};

/// Writes a conversation down, so that it is found again after a restart, and raises its label.
#[derive(Debug)]
pub(crate) struct BeginHosted {
    pub(crate) key: SessionKey,
    pub(crate) owner: SessionOwner,
    /// What is part of its label.
    pub(crate) label: Label,
    /// What counts beside its label until a person has said that the conversation is theirs.
    pub(crate) beside: Option<Label>,
    pub(crate) now: i64,
}

/// The conversation as it is then.
#[derive(Debug)]
pub(crate) struct BegunHosted {
    pub(crate) state: SessionState,
    /// Whether it was written down before.
    pub(crate) was_known: bool,
}

// === impl BeginHosted ===

impl Operation for BeginHosted {
    type Output = BegunHosted;

    const DOING: &'static str = "begin a conversation";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    fn is_repeatable(&self) -> bool {
        // The second time it would be known.
        false
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<BegunHosted, StoreError> {
        let was_known = read(tx, &self.key).await?.is_some();
        let owner = &self.owner;
        let values = [
            Value::Text(self.key.as_str()),
            Value::Text(owner.principal.as_str()),
            Value::Text(owner.virtual_server.as_str()),
            Value::Text(owner.kind.word()),
            Value::Int(self.now),
        ];
        tx.query(statement::OPEN_CONVERSATION, &values).await?;
        // One that has read nothing is told by its version from one that has.
        if self.beside.is_some() || self.label != Label::bottom() {
            let joined = join(tx, &self.key, owner, &self.label, None, self.now).await?;
            if let Some(beside) = &self.beside {
                let (beside, since) = match &joined.pending {
                    Some(earlier) => (earlier.label.clone().joined(beside), number(earlier.since.0)),
                    None => (beside.clone(), self.now),
                };
                set_pending(tx, &self.key, &beside, (since, self.now)).await?;
            }
        }
        let state = read(tx, &self.key).await?;
        let state = state.ok_or(StoreError::Foreign { what: "a conversation without its row" })?;
        Ok(BegunHosted { state, was_known })
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> BegunHosted {
        model.begin_hosted(self)
    }
}

fn number(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}
