//! The start and the end of a node: was anything lost since the last time, and what is old enough to go.

use highwater_core::label::LabelBits;

use super::{Access, Durability, Operation};
use crate::StoreError;
use crate::sql::{Tx, Value, first, statement};

/// Whose row it is. A database file has one node.
const NODE: &str = "this";

/// Reads what the last run left and takes the row over.
#[derive(Debug)]
pub(crate) struct Start {
    /// Which start of the machine this is; empty where that cannot be told.
    pub(crate) boot_id: String,
    /// The operator says that the file comes from a backup.
    pub(crate) restored: bool,
}

/// Says that the node ended in order.
#[derive(Debug)]
pub(crate) struct Close;

/// Deletes what ended before a time.
#[derive(Debug)]
pub(crate) struct Prune {
    pub(crate) before: i64,
}

// === impl Start ===

impl Operation for Start {
    /// How many sessions have the top label now, because commits may be missing. What waited for a person is void.
    type Output = Option<u64>;

    const DOING: &'static str = "begin";

    fn access(&self) -> Access {
        // The cleared mark must be on disk before any commit that a power cut could take.
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Option<u64>, StoreError> {
        let last = self.last(tx).await?;
        let lost = self.may_have_lost(last.as_ref());
        let tainted = if lost {
            super::approval::void(tx).await?;
            Some(tx.execute(statement::TAINT_ALL, &[Value::Int(LabelBits::TOP.to_i64())]).await?)
        } else {
            None
        };
        if last.is_none_or(|(boot_id, clean)| clean || boot_id != self.boot_id) {
            tx.execute(statement::START_NODE, &[Value::Text(NODE), Value::Text(&self.boot_id)]).await?;
        }
        Ok(tainted)
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) -> Option<u64> {
        let tainted = self.may_have_lost(model.node.as_ref()).then(|| {
            model.approvals.void();
            model.taint_all()
        });
        model.node = Some((self.boot_id.clone(), false));
        tainted
    }
}

impl Start {
    /// What the last run left: its boot id, and whether it ended in order.
    pub(crate) async fn last<T: Tx>(&self, tx: &mut T) -> Result<Option<(String, bool)>, StoreError> {
        let node = first(tx.query(statement::NODE, &[Value::Text(NODE)]).await?);
        node.map(|row| Ok((row.text(0)?.to_owned(), row.int(1)? != 0))).transpose()
    }

    /// Whether commits may be missing: another start of the machine without a clean end, or an older file.
    pub(crate) fn may_have_lost(&self, last: Option<&(String, bool)>) -> bool {
        let same_boot = |boot_id: &String| !boot_id.is_empty() && *boot_id == self.boot_id;
        self.restored || last.is_some_and(|(boot_id, clean)| !clean && !same_boot(boot_id))
    }
}

// === impl Close ===

impl Operation for Close {
    type Output = ();

    const DOING: &'static str = "end in order";

    fn access(&self) -> Access {
        Access::Write(Durability::Flushed)
    }

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), StoreError> {
        tx.execute(statement::CLEAN_NODE, &[Value::Text(NODE)]).await.map(|_| ())
    }

    #[cfg(any(test, feature = "testing"))]
    fn model(&self, model: &mut crate::memory::Model) {
        if let Some((_, clean)) = &mut model.node {
            *clean = true;
        }
    }
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
