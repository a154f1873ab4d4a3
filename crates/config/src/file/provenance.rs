//! The keys that say what vouches for the arguments of a call.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::read::{Field, OneOrMany, Written};

/// Somebody whom you deal with, or a tool whose replies list such people.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "directory_entry")]
pub(crate) struct DirectoryFile {
    /// The tool, as `SERVER:TOOL`, by its server's own name. It must only read, and nobody but you and its server may
    /// decide what it lists.
    #[schemars(extend("examples" = ["mail:list_contacts"]))]
    pub(crate) tool: Field<String>,

    /// What you call somebody.
    #[schemars(extend("examples" = ["Grace Hopper"]))]
    pub(crate) name: Field<String>,

    /// Where they are reached: one address or account, or a list.
    #[schemars(extend("examples" = ["grace@example.com"]))]
    pub(crate) address: Field<OneOrMany<String>>,
}

/// The things that a tool's replies list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "records")]
pub(crate) struct RecordsFile {
    /// What they are, the same word for every tool that lists them. A reply that is a list of texts lists things of this
    /// kind by name. Without this key the tool's own name says it, and a list of texts lists nothing.
    #[schemars(extend("examples" = ["mail"]))]
    pub(crate) kind: Field<String>,

    /// The field that tells one from another. Without this key `id` and what ends in `_id`.
    #[schemars(extend("examples" = ["message_id"]))]
    pub(crate) id: Field<String>,

    /// The fields that hold what people call them. Without this key `name`, `title`, `subject`, `filename` and what ends
    /// in `_name`.
    #[schemars(extend("examples" = [["subject"]]))]
    pub(crate) names: Field<Vec<Written<String>>>,

    /// The fields that the server itself writes, whoever made the thing: the sender of a mail, the owner of a file, the
    /// account behind a transaction. Without this key none is.
    #[schemars(extend("default" = [], "examples" = [["sender", "participants"]]))]
    pub(crate) attested: Field<Vec<Written<String>>>,
}
