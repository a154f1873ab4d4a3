//! What a running gateway says of itself in its data directory, for commands that look for it.
//!
//! The file is a hint: who holds the directory is known by its lock alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The gateway of a data directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Running {
    /// Its process.
    pub(crate) pid: u32,
    /// Where it answers over HTTP, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) endpoint: Option<String>,
    /// Where it answers on this machine.
    pub(crate) socket: PathBuf,
    /// Its configuration file; none for the built-in example.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) config: Option<PathBuf>,
}

/// Takes the file away again when the gateway ends.
#[derive(Debug)]
pub(crate) struct Posted {
    file: PathBuf,
}

// === impl Running ===

impl Running {
    /// What the file says, if there is one that can be understood.
    pub(crate) fn read(data: &Path) -> Option<Self> {
        serde_json::from_str(&fs::read_to_string(file(data)).ok()?).ok()
    }

    /// Writes the file, so that whoever reads it sees all of it.
    pub(crate) fn post(&self, data: &Path) -> io::Result<Posted> {
        let file = file(data);
        let beside = file.with_extension("new");
        fs::write(&beside, format!("{}\n", serde_json::to_string_pretty(self)?))?;
        fs::rename(&beside, &file)?;
        Ok(Posted { file })
    }
}

// === impl Posted ===

impl Drop for Posted {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.file) {
            tracing::debug!(%error, "`{}` stays", self.file.display());
        }
    }
}

fn file(data: &Path) -> PathBuf {
    data.join("gateway.json")
}
