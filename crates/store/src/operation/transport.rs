//! Transport sessions as they were agreed, so that one that a client names can be taken up again after our own end.

use highwater_core::id::{SessionKey, VirtualServerId};

use super::{Access, Durability, Operation};
use crate::StoreError;
use crate::admin::KeptTransport;
use crate::key::SessionOwner;
use crate::sql::{Tx, Value, first, statement};

/// What stands in place of a conversation while none was entered: the row is a way, and no session of its own.
pub(crate) const NONE_YET: &str = "none";

/// Writes down a transport session.
#[derive(Debug)]
pub(crate) struct KeepTransport {
    pub(crate) key: SessionKey,
    pub(crate) owner: SessionOwner,
    /// Whether it has a label of its own.
    pub(crate) labelled: bool,
    /// What its client said of itself.
    pub(crate) said: String,
    pub(crate) now: i64,
}

/// A transport session that nobody has ended.
#[derive(Debug)]
pub(crate) struct FindTransport {
    pub(crate) key: SessionKey,
    pub(crate) principal: String,
}

// === impl KeepTransport ===

impl Operation for KeepTransport {
    type Output = ();

    const DOING: &'static str = "keep a session";

    fn access(&self) -> Access {
        Access::Write(Durability::Ordinary)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), StoreError> {
        let values = [
            Value::Text(self.key.as_str()),
            Value::Text(self.owner.principal.as_str()),
            Value::Text(self.owner.virtual_server.as_str()),
            Value::Text(self.owner.kind.word()),
            Value::Int(self.now),
            Value::Text(if self.labelled { "" } else { NONE_YET }),
            Value::Text(&self.said),
        ];
        tx.execute(statement::KEEP_TRANSPORT, &values).await.map(|_| ())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) {
        model.keep_transport(self);
    }
}

// === impl FindTransport ===

impl Operation for FindTransport {
    type Output = Option<KeptTransport>;

    const DOING: &'static str = "look up a session";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Option<KeptTransport>, StoreError> {
        let values = [Value::Text(self.key.as_str()), Value::Text(&self.principal)];
        let found = first(tx.query(statement::TRANSPORT, &values).await?);
        let kept = |row: crate::sql::Row| {
            Ok(KeptTransport {
                virtual_server: VirtualServerId::new(row.text(0)?),
                said: row.text(1)?.to_owned(),
                conversation: Some(row.text(2)?)
                    .filter(|key| !key.is_empty() && *key != NONE_YET)
                    .map(SessionKey::new),
            })
        };
        found.map(kept).transpose()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Option<KeptTransport> {
        model.transport(self.key.as_str(), &self.principal)
    }
}
