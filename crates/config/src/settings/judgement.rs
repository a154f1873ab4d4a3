//! How calls are judged and where the record of it is kept, as the operator decided.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

/// Where labels of sessions and marks of objects are kept. `Debug` shows no user, password or query of the URL.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum StoreSettings {
    /// In the data directory of this gateway.
    #[default]
    Sqlite,
    /// In a PostgreSQL database that several gateways share.
    Postgres {
        /// The connection URL, `postgres://…` or `postgresql://…`.
        url: String,
        /// How long a call waits for the database, if the operator says.
        timeout: Option<Duration>,
    },
}

/// What tells one agent session from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "partition")]
pub enum Partition {
    /// Nothing: whatever an agent does is presumed to be one conversation, until it was silent for `sessions.quiet`.
    #[default]
    Auto,
    /// Transport sessions. Write this only for a host that keeps one session for each conversation.
    Session,
    /// The conversation ids that the client sends, within its sessions. Write this only for a host that gives
    /// each context window an id of its own.
    Client,
    /// The agent: all its conversations share one label.
    Principal,
}

/// How much a server is told about what the agent has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "share_context")]
pub enum ShareContext {
    /// Nothing.
    None,
    /// Whether the agent has read untrusted text.
    Hints,
    /// Also where from.
    Full,
}

// === impl StoreSettings ===

impl fmt::Debug for StoreSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreSettings::Sqlite => f.write_str("Sqlite"),
            StoreSettings::Postgres { url, timeout } => {
                let place = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
                let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
                let place = place.split_once('?').map_or(place, |(place, _)| place);
                write!(f, "Postgres {{ url: …{place}, timeout: {timeout:?} }}")
            }
        }
    }
}

/// What is kept of the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditSettings {
    /// How long.
    pub keep: Duration,
    /// How many bytes at most.
    pub max: u64,
    /// Whether what is closed is compressed.
    pub compress: bool,
}

// === impl AuditSettings ===

impl Default for AuditSettings {
    fn default() -> Self {
        Self { keep: Duration::from_secs(90 * 24 * 60 * 60), max: 10 << 30, compress: true }
    }
}
