//! A list of the calls that reached an example server, kept beside its data: whether a call ran is read
//! here, not from what somebody on the way answered.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// When the list grows past this, it becomes `NAME.calls.old.jsonl` and a new one begins.
const MAX_BYTES: u64 = 1 << 20;

/// The list of calls of one server.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    previous: PathBuf,
}

// === impl Journal ===

impl Journal {
    /// The list `DIRECTORY/NAME.calls.jsonl`.
    pub(crate) fn new(directory: &Path, name: &str) -> Self {
        Self {
            path: directory.join(format!("{name}.calls.jsonl")),
            previous: directory.join(format!("{name}.calls.old.jsonl")),
        }
    }

    /// Adds one entry. An example that cannot write its list still answers.
    pub(crate) fn record(&self, entry: &Value) {
        if let Err(error) = self.try_record(entry) {
            tracing::warn!(%error, path = %self.path.display(), "a call could not be recorded");
        }
    }

    fn try_record(&self, entry: &Value) -> std::io::Result<()> {
        if fs::metadata(&self.path).is_ok_and(|file| file.len() > MAX_BYTES) {
            fs::rename(&self.path, &self.previous)?;
        }
        // One write a line, so that processes sharing the directory do not mix their lines.
        let line = format!("{entry}\n");
        File::options().create(true).append(true).open(&self.path)?.write_all(line.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::{Journal, MAX_BYTES};
    use serde_json::json;

    #[test]
    fn a_long_list_gives_way_to_a_new_one() {
        let directory = tempfile::tempdir().unwrap();
        let list = directory.path().join("mail.calls.jsonl");
        std::fs::write(&list, vec![b'\n'; usize::try_from(MAX_BYTES).unwrap() + 1]).unwrap();
        let journal = Journal::new(directory.path(), "mail");
        journal.record(&json!(1));
        journal.record(&json!(2));
        assert_eq!(std::fs::read_to_string(&list).unwrap(), "1\n2\n");
        let old = std::fs::metadata(directory.path().join("mail.calls.old.jsonl")).unwrap();
        assert_eq!(old.len(), MAX_BYTES + 1);
    }
}
