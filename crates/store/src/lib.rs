//! Memory that survives: the data directory with its lock and secrets, the audit log, and what we learned
//! about servers. Nothing here decides anything.

mod audit_log;
mod data_dir;
mod remembered;

pub use audit_log::{Appended, AuditError, AuditLog};
pub use data_dir::{DataDir, DataDirError, DataDirLock, Secret};
pub use remembered::RememberedServers;
