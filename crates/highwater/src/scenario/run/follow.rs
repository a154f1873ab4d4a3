//! Files of JSON lines that others append to: the journals of servers and the audit log.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use serde_json::Value;

/// A file, and how far it was read.
pub(super) struct Followed {
    path: PathBuf,
    offset: u64,
}

// === impl Followed ===

impl Followed {
    /// From the beginning. The file need not be there yet.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, offset: 0 }
    }

    /// The lines that were added since the last look.
    pub(super) fn fresh(&mut self) -> io::Result<Vec<Value>> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        file.seek(SeekFrom::Start(self.offset))?;
        let mut added = String::new();
        file.read_to_string(&mut added)?;
        // A line that is still being written is read the next time.
        let whole = added.rfind('\n').map_or("", |end| added.get(..=end).unwrap_or_default());
        self.offset += whole.len() as u64;
        Ok(whole.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }
}
