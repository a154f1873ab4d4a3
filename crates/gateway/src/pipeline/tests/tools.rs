//! A server with one tool of each kind that matters to the judgement.

use serde_json::{Value, json};

use super::scripted::Script;

/// Looks at what anybody may know.
pub(super) const LOOK: &str = "up__look";
/// Reads what strangers wrote.
pub(super) const FETCH: &str = "up__fetch";
/// Reads what is private.
pub(super) const INBOX: &str = "up__inbox";
/// Acts inside the organisation, and keeps what it is given.
pub(super) const ACT: &str = "up__act";
/// Sends something to the public for ever.
pub(super) const SEND: &str = "up__send";

/// A tool that takes any data and keeps none of it.
pub(super) fn reader(name: &str, source: &str, sensitivity: &str) -> Value {
    let mut tool = tool(name, "ephemeral", "benign", json!({ "source": source, "sensitivity": sensitivity }));
    tool["annotations"]["readOnlyHint"] = json!(true);
    tool
}

/// A tool that does something.
pub(super) fn doer(name: &str, destination: &str, outcomes: &str) -> Value {
    tool(name, destination, outcomes, json!({ "source": "system", "sensitivity": "none" }))
}

fn tool(name: &str, destination: &str, outcomes: &str, returns: Value) -> Value {
    let classes = ["user", "pii", "financial", "credentials"];
    json!({
        "name": name,
        "inputSchema": { "type": "object" },
        "annotations": {
            "inputMetadata": { "destination": destination, "sensitivity": classes, "outcomes": outcomes },
            "returnMetadata": returns,
        },
    })
}

/// The same with an argument that is known to be a text.
fn with_path(mut tool: Value) -> Value {
    tool["inputSchema"]["properties"] = json!({ "path": { "type": "string" } });
    tool
}

/// The server with all of them.
pub(super) fn stocked() -> Script {
    Script::of([
        reader("look", "system", "none"),
        reader("fetch", "untrustedPublic", "none"),
        reader("inbox", "user", "pii"),
        with_path(doer("act", "internal", "consequential")),
        doer("send", "public", "irreversible"),
    ])
}
