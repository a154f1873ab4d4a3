//! Where the store lies, and how it is opened.

use std::time::Duration;

use crate::data_dir::DataDir;

/// Where the store lies.
#[derive(Clone, Debug)]
pub enum StorePlace {
    /// In a file of the data directory, for this gateway alone.
    Sqlite(DataDir),
    /// In a PostgreSQL database that several gateways share.
    Postgres {
        /// The connection URL.
        url: String,
        /// How long a call waits for it, in place of 1 s for what it reads and 3 s for what it writes.
        timeout: Option<Duration>,
    },
}

/// How to open the store.
#[derive(Clone, Debug, Default)]
pub struct StoreOptions {
    /// The operator says that the database comes from a backup: labels may be missing.
    pub restored: bool,
    /// In place of [`GRACE`](crate::GRACE).
    pub grace: Option<Duration>,
}
