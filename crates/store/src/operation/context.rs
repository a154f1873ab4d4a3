//! Context ids: names for agent sessions that we hand out and later find in the endpoint's path.

use super::{Access, Durability, Operation};
use crate::StoreError;
use crate::people::Context;
use crate::sql::{Tx, Value, statement};

/// Writes down a new context id.
#[derive(Debug)]
pub(crate) struct MintContext(pub(crate) Context);

/// Whether a context id is one of ours.
#[derive(Debug)]
pub(crate) struct FindContext(pub(crate) String);

// === impl MintContext ===

impl Operation for MintContext {
    type Output = ();

    const DOING: &'static str = "make a context";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), StoreError> {
        let Context { id, created, person, note } = &self.0;
        let created = Value::Int(i64::try_from(created.0).unwrap_or(i64::MAX));
        let values = [Value::Text(id), created, Value::Text(person), Value::Text(note)];
        tx.execute(statement::MINT_CONTEXT, &values).await.map(|_| ())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) {
        model.contexts.push(self.0.clone());
    }
}

// === impl FindContext ===

impl Operation for FindContext {
    type Output = bool;

    const DOING: &'static str = "look up a context";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, StoreError> {
        Ok(!tx.query(statement::CONTEXT, &[Value::Text(&self.0)]).await?.is_empty())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> bool {
        model.contexts.iter().any(|context| context.id == self.0)
    }
}
