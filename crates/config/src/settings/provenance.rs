//! What vouches for the arguments of a call, as the operator says it.

use schemars::JsonSchema;
use serde::Deserialize;

/// An entry of the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectoryEntry {
    /// Somebody whom the operator deals with.
    Person {
        /// What the operator calls them.
        name: String,
        /// Where they are reached; at least one.
        addresses: Vec<String>,
    },
    /// A tool whose replies list such people.
    Tool {
        /// Its server.
        server: String,
        /// Its name there.
        tool: String,
    },
}

/// Who vouches for the addresses of people whom the user names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "people")]
pub enum People {
    /// The directory alone.
    #[default]
    Directory,
    /// Fields that a server itself writes, too, also where strangers may have made the thing: then somebody who calls
    /// himself by the name of a person whom you mean may be taken for them.
    Attested,
}

/// The things that a tool's replies list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordLabel {
    /// What they are.
    pub kind: String,
    /// The fields that tell one from another; `None` for the usual ones.
    pub id: Option<Vec<String>>,
    /// The fields that hold what people call them; `None` for the usual ones.
    pub names: Option<Vec<String>>,
    /// The fields that the server itself writes.
    pub attested: Vec<String>,
}
