//! A consistent copy of a database, made beside whoever writes to it.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rusqlite::Connection;

use super::{connection, inspect};
use crate::StoreError;

/// Copies the database of a file into another, which must not exist: one moment of it. `is_live` says whether somebody may
/// write to it meanwhile.
pub(crate) fn copy(file: &Path, to: &Path, is_live: bool) -> Result<(), StoreError> {
    let connection = if is_live { inspect::open_live(file)? } else { inspect::open(file)? };
    connection::batch(&connection, DOING, "PRAGMA query_only=OFF")?;
    into(&connection, to)
}

/// The same over a connection that is open.
pub(super) fn into(connection: &Connection, to: &Path) -> Result<(), StoreError> {
    let failed = |why: String| StoreError::File { path: to.into(), why: why.into() };
    // An empty file is taken for a new database, and this one is private from the beginning.
    let made = OpenOptions::new().create_new(true).write(true).mode(0o600).open(to);
    let made = made.map_err(|error| failed(error.to_string()))?;
    let name = to.to_str().ok_or_else(|| failed("its name is no text".to_owned()))?;
    connection.execute("VACUUM INTO ?1", [name]).map_err(|error| failed(error.to_string()))?;
    made.sync_all().map_err(|error| failed(error.to_string()))
}

const DOING: &str = "be copied";
