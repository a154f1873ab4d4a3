//! Reads the file of a data directory from outside, whether a gateway runs on it or not, and leaves no trace: whether a run
//! came to its end is told by the log beside the file.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::connection::{self, at_once, has_log, reading};
use crate::StoreError;
use crate::operation::{Operation, ReadPins};
use crate::pins::StoredPin;

/// What is known of the definitions of these servers; nothing where there is no file.
pub(crate) fn pins(file: &Path, servers: &[&str]) -> Result<BTreeMap<String, Vec<StoredPin>>, StoreError> {
    let mut pins = BTreeMap::new();
    if !file.exists() {
        return Ok(pins);
    }
    let mut connection = open(file)?;
    for server in servers {
        let read = ReadPins((*server).to_owned());
        let found = at_once(read.run(&mut reading(&mut connection)))?;
        pins.insert((*server).to_owned(), found);
    }
    Ok(pins)
}

/// Opens a file that somebody may write to, without emptying the log beside it.
pub(super) fn open_live(file: &Path) -> Result<Connection, StoreError> {
    let failed = |why: rusqlite::Error| StoreError::File { path: file.into(), why: why.to_string().into() };
    let connection = connection::open(file, connection::Purpose::Read)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
    Ok(connection)
}

/// Opens the file so that nothing beside it is made, emptied or removed.
pub(super) fn open(file: &Path) -> Result<Connection, StoreError> {
    let failed = |why: rusqlite::Error| StoreError::File { path: file.into(), why: why.to_string().into() };
    if has_log(file) {
        return open_live(file);
    }
    // Without a log the file is all there is, and a reader that says so needs no files of its own.
    let name: String = file.to_string_lossy().chars().map(escaped).collect();
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(format!("file:{name}?immutable=1"), flags).map_err(failed)
}

/// A character as it stands in the path of a URI.
fn escaped(c: char) -> String {
    match c {
        '%' | '?' | '#' => format!("%{:02X}", u32::from(c)),
        c => c.to_string(),
    }
}
