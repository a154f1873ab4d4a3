//! What is done to the database as a whole: it came from a backup, it is tried, what is old enough goes.

use highwater_core::label::LabelBits;

use super::{Access, Durability, Operation};
use crate::StoreError;
use crate::sql::{Tx, Value, statement};

/// The row that is written to see whether anything can be written.
const PROBED: &str = "probe";

/// The operator says that the database comes from a backup: it is an older truth. Every session has taken in whatever it
/// may have taken in since, and what waited for a person is void.
#[derive(Debug)]
pub(crate) struct Restored;

/// Writes something that means nothing, to see whether the database can be written.
#[derive(Debug)]
pub(crate) struct Probe;

/// Deletes what ended before a time.
#[derive(Debug)]
pub(crate) struct Prune {
    pub(crate) before: i64,
}

// === impl Restored ===

impl Operation for Restored {
    /// How many sessions have the top label now.
    type Output = u64;

    const DOING: &'static str = "begin";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<u64, StoreError> {
        super::approval::void(tx).await?;
        tx.execute(statement::TAINT_ALL, &[Value::Int(LabelBits::TOP.to_i64())]).await
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> u64 {
        model.approvals.void();
        model.taint_all()
    }
}

// === impl Probe ===

impl Operation for Probe {
    type Output = ();

    const DOING: &'static str = "be written to";

    fn access(&self) -> Access {
        Access::Write(Durability::Ordinary)
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), StoreError> {
        tx.execute(statement::PROBE, &[Value::Text(PROBED)]).await.map(|_| ())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, _model: &mut crate::memory::Model) {}
}

// === impl Prune ===

impl Operation for Prune {
    type Output = u64;

    const DOING: &'static str = "forget what is long over";

    fn access(&self) -> Access {
        Access::Write(Durability::Statistic)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<u64, StoreError> {
        let pruned = tx.execute(statement::PRUNE, &[Value::Int(self.before)]).await?;
        if pruned > 0 {
            tx.execute(statement::PRUNE_MEMBERS, &[]).await?;
        }
        Ok(pruned)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> u64 {
        model.prune(self.before)
    }
}
