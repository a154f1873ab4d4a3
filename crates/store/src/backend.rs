//! The databases a store can lie in, behind one door.

use crate::StoreError;
#[cfg(any(test, feature = "testing"))]
use crate::memory::Memory;
use crate::operation::Operation;
use crate::postgres::Postgres;
use crate::sqlite::Sqlite;

/// Where the rows are.
#[derive(Debug)]
pub(crate) enum Backend {
    Sqlite(Sqlite),
    Postgres(Postgres),
    #[cfg(any(test, feature = "testing"))]
    Memory(Memory),
}

// === impl Backend ===

impl Backend {
    /// Does one thing and waits for it.
    pub(crate) async fn perform<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.perform(operation).await,
            Self::Postgres(postgres) => postgres.perform(operation).await,
            #[cfg(any(test, feature = "testing"))]
            Self::Memory(memory) => memory.perform(operation).await,
        }
    }

    /// Does one thing for people, beside the road.
    pub(crate) async fn list<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.list(operation).await,
            Self::Postgres(postgres) => postgres.perform(operation).await,
            #[cfg(any(test, feature = "testing"))]
            Self::Memory(memory) => memory.perform(operation).await,
        }
    }

    /// Queues one thing without waiting, or gives it back to be waited for.
    pub(crate) fn queue<O: Operation>(&self, operation: O) -> Result<(), O> {
        match self {
            Self::Sqlite(sqlite) => sqlite.queue(operation),
            Self::Postgres(_) => Err(operation),
            #[cfg(any(test, feature = "testing"))]
            Self::Memory(_) => Err(operation),
        }
    }

    /// Whether the files of the database are the ones that were opened, where it has any of its own.
    pub(crate) fn presence(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.presence(),
            Self::Postgres(_) => Ok(()),
            #[cfg(any(test, feature = "testing"))]
            Self::Memory(_) => Ok(()),
        }
    }

    /// Whether other gateways write to it as well.
    pub(crate) fn is_shared(&self) -> bool {
        match self {
            Self::Sqlite(_) => false,
            Self::Postgres(_) => true,
            #[cfg(any(test, feature = "testing"))]
            Self::Memory(memory) => memory.is_shared(),
        }
    }
}
