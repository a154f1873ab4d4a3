//! What a server turned out to speak, kept over restarts so that it need not be probed each time.
//!
//! An entry counts only while the server's configuration is the same; it is a guess that the connection
//! checks, so losing the file costs one probe and nothing else.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::DataDir;
use crate::data_dir::write_atomically;

/// The memory of servers, backed by one file.
#[derive(Debug)]
pub struct RememberedServers {
    path: PathBuf,
    entries: Mutex<BTreeMap<String, Entry>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// A fingerprint of the configured entry.
    of: String,
    /// The era, in the caller's own word.
    era: String,
}

// === impl RememberedServers ===

impl RememberedServers {
    /// Reads the memory. A file that cannot be read is an empty memory.
    pub fn load(dir: &DataDir) -> Self {
        let path = dir.path().join("servers.json");
        let entries = std::fs::read_to_string(&path)
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        Self { path, entries: Mutex::new(entries) }
    }

    /// The era remembered for this server with this fingerprint.
    pub fn era(&self, server: &str, fingerprint: &str) -> Option<String> {
        let entries = self.entries.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        entries.get(server).filter(|entry| entry.of == fingerprint).map(|entry| entry.era.clone())
    }

    /// Remembers an era. A failure to write is logged: the next start probes again.
    pub fn remember(&self, server: &str, fingerprint: &str, era: &str) {
        let mut entries = self.entries.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let entry = Entry { of: fingerprint.to_owned(), era: era.to_owned() };
        if entries.get(server) == Some(&entry) {
            return;
        }
        entries.insert(server.to_owned(), entry);
        let written = serde_json::to_vec_pretty(&*entries)
            .map_err(|error| error.to_string())
            .and_then(|text| write_atomically(&self.path, &text).map_err(|error| error.to_string()));
        if let Err(error) = written {
            tracing::warn!(%error, "the era of server `{server}` could not be remembered");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_era_is_remembered_for_the_same_configuration_only() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path().join("data")).unwrap();
        RememberedServers::load(&dir).remember("mail", "f1", "modern");
        let again = RememberedServers::load(&dir);
        assert_eq!(again.era("mail", "f1").as_deref(), Some("modern"));
        assert_eq!(again.era("mail", "f2"), None);
        assert_eq!(again.era("files", "f1"), None);
    }

    #[test]
    fn a_broken_file_is_an_empty_memory() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path().join("data")).unwrap();
        std::fs::write(dir.path().join("servers.json"), "{").unwrap();
        assert_eq!(RememberedServers::load(&dir).era("mail", "f1"), None);
    }
}
