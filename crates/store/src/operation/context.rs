//! Context ids: names for agent sessions that we hand out and later find in the endpoint's path.

use super::{Access, Durability, Operation};
use crate::StoreError;
use crate::admin::Context;
use crate::sql::{Tx, Value, first, statement};

/// Writes down a new context id.
#[derive(Debug)]
pub(crate) struct MintContext(pub(crate) Context);

/// A context id that is one of ours, and the label it begins with, in words.
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
        let Context { id, created, person, note, label } = &self.0;
        let created = Value::Int(i64::try_from(created.0).unwrap_or(i64::MAX));
        let values = [Value::Text(id), created, Value::Text(person), Value::Text(note), Value::Text(label)];
        tx.execute(statement::MINT_CONTEXT, &values).await.map(|_| ())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) {
        model.contexts.push(self.0.clone());
    }
}

// === impl FindContext ===

impl Operation for FindContext {
    type Output = Option<String>;

    const DOING: &'static str = "look up a context";

    fn access(&self) -> Access {
        Access::Read
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Option<String>, StoreError> {
        let found = first(tx.query(statement::CONTEXT, &[Value::Text(&self.0)]).await?);
        found.map(|row| Ok(row.text(0)?.to_owned())).transpose()
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Option<String> {
        let found = model.contexts.iter().find(|context| context.id == self.0);
        found.map(|context| context.label.clone())
    }
}
