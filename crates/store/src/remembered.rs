//! What a server turned out to speak, kept over restarts so that it need not be probed each time; and what it could do
//! and in which order it listed things, so that it can be offered again before it has started.
//!
//! An entry counts only while the server's configuration is the same; it is a guess that the connection
//! checks, so losing the file costs one probe and nothing else.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::DataDir;
use crate::data_dir::write_atomically;

/// How many bytes are remembered of one server.
const MAX_OFFER: usize = 1 << 20;

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
    /// What it said when it was last met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offer: Option<RememberedOffer>,
}

/// What a server said that is no definition: nobody approves it, and no model reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RememberedOffer {
    /// Its capabilities as JSON text.
    pub capabilities: String,
    /// The names of what it listed, by the kind of the list, in its own order.
    pub order: BTreeMap<String, Vec<String>>,
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

    /// What this server with this fingerprint said when it was last met.
    pub fn offer(&self, server: &str, fingerprint: &str) -> Option<RememberedOffer> {
        let entries = self.entries.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        entries.get(server).filter(|entry| entry.of == fingerprint)?.offer.clone()
    }

    /// Remembers an era. A failure to write is logged: the next start probes again.
    pub fn remember(&self, server: &str, fingerprint: &str, era: &str) {
        self.change(server, fingerprint, |entry| era.clone_into(&mut entry.era));
    }

    /// Remembers what a server of which the era is known says. What is longer than is kept is forgotten.
    pub fn remember_offer(&self, server: &str, fingerprint: &str, offer: RememberedOffer) {
        let names = offer.order.values().flatten().map(String::len).sum::<usize>();
        let offer = Some(offer).filter(|offer| names.saturating_add(offer.capabilities.len()) <= MAX_OFFER);
        self.change(server, fingerprint, |entry| entry.offer = offer);
    }

    fn change(&self, server: &str, fingerprint: &str, change: impl FnOnce(&mut Entry)) {
        let mut entries = self.entries.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let known = entries.get(server).filter(|entry| entry.of == fingerprint);
        let nothing = || Entry { of: fingerprint.to_owned(), era: String::new(), offer: None };
        let mut entry = known.cloned().unwrap_or_else(nothing);
        change(&mut entry);
        if entries.get(server) == Some(&entry) {
            return;
        }
        entries.insert(server.to_owned(), entry);
        let written = serde_json::to_vec_pretty(&*entries)
            .map_err(|error| error.to_string())
            .and_then(|text| write_atomically(&self.path, &text).map_err(|error| error.to_string()));
        if let Err(error) = written {
            tracing::warn!(%error, "what was learned of server `{server}` could not be remembered");
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
    fn what_a_server_said_is_remembered_beside_its_era() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path().join("data")).unwrap();
        let memory = RememberedServers::load(&dir);
        let order = BTreeMap::from([("tools".to_owned(), vec!["b".to_owned(), "a".to_owned()])]);
        let offer = RememberedOffer { capabilities: r#"{"tools":{}}"#.to_owned(), order };
        memory.remember("mail", "f1", "modern");
        memory.remember_offer("mail", "f1", offer.clone());
        memory.remember("mail", "f1", "legacy");
        let again = RememberedServers::load(&dir);
        assert_eq!(again.era("mail", "f1").as_deref(), Some("legacy"));
        assert_eq!(again.offer("mail", "f1"), Some(offer.clone()));
        assert_eq!(again.offer("mail", "f2"), None);
        again.remember("mail", "f2", "modern");
        assert_eq!(again.offer("mail", "f2"), None, "another server has said nothing yet");
        let long = RememberedOffer { capabilities: "x".repeat(MAX_OFFER + 1), ..offer };
        again.remember_offer("mail", "f2", long);
        assert_eq!(again.offer("mail", "f2"), None);
    }

    #[test]
    fn a_broken_file_is_an_empty_memory() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path().join("data")).unwrap();
        std::fs::write(dir.path().join("servers.json"), "{").unwrap();
        assert_eq!(RememberedServers::load(&dir).era("mail", "f1"), None);
    }
}
