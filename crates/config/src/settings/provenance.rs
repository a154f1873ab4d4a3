//! What vouches for the arguments of a call, as the operator says it.

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
