//! A tool as its server defines it, as far as the values of its arguments are held against that.

use highwater_mcp::text::{member, string_member};
use serde_json::Value;

/// What a definition says of a tool and its arguments.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) description: Option<String>,
    /// The JSON Schema of the arguments.
    pub(crate) schema: Option<Value>,
    /// Whether it says in so many words that the tool destroys something.
    pub(crate) says_destructive: bool,
}

// === impl Definition ===

impl Definition {
    /// Reads an entry of a list of tools.
    pub(crate) fn read(text: &str) -> Self {
        let hints = member(text, "annotations");
        let destructive = hints.and_then(|hints| member(hints, "destructiveHint"));
        Self {
            description: string_member(text, "description").map(Into::into),
            schema: member(text, "inputSchema").and_then(|schema| serde_json::from_str(schema).ok()),
            says_destructive: destructive == Some("true"),
        }
    }
}
