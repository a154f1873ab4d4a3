//! The configuration Highwater is measured with: the whole road on, and a hundred rules that are evaluated for
//! every call and match none.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Map, Value, json};

/// Writes the configuration file. JSON is YAML, so nothing needs to be quoted by hand.
pub(super) fn write_config(
    file: &Path,
    servers: &[(String, String)],
    rules: usize,
    auth_none: bool,
) -> anyhow::Result<()> {
    let mut entries = Map::new();
    for (name, url) in servers {
        // Verified, so that what is first seen is approved and pinned: nobody is here to approve it.
        let trust = json!({ "server_trust": "tool", "resource_trust": "none", "verified": true });
        entries.insert(name.clone(), json!({ "url": url, "trust": trust }));
    }
    let mut config = json!({ "servers": entries, "rules": (0..rules).map(rule).collect::<Vec<_>>() });
    if let (true, Some(config)) = (auth_none, config.as_object_mut()) {
        config.insert("auth".to_owned(), Value::from("none"));
    }
    let text = serde_json::to_string_pretty(&config).context("the configuration cannot be written")?;
    fs::write(file, text).with_context(|| format!("cannot write `{}`", file.display()))
}

/// One of five kinds of rule that operators write. Each is guarded by a name the benchmark does not use, so
/// that it is evaluated, is known, and is false.
fn rule(index: usize) -> Value {
    let (effect, conditions) = match index % 5 {
        0 => (
            "confirm",
            json!([
                { "fact": "tool.name", "matches": format!("send_{index:03}_*") },
                { "fact": "tool.annotations.inputMetadata.destination", "equals": "public" },
            ]),
        ),
        1 => (
            "passkey",
            json!([
                { "fact": "tool.id", "matches": format!("desk{index:03}__*") },
                { "fact": "session.sensitivity", "contains": "financial" },
            ]),
        ),
        2 => (
            "escalate",
            json!([
                { "fact": "server.id", "equals": format!("ledger-{index:03}") },
                { "fact": "tool.annotations.inputMetadata.outcomes", "equals": "irreversible" },
            ]),
        ),
        3 => (
            "confirm",
            json!([
                { "fact": "tool.name", "equals": format!("write_row_{index:03}") },
                { "fact": "arguments.amount", "greaterThan": 1_000 + index },
            ]),
        ),
        _ => (
            "block",
            json!([
                { "fact": "tool.name", "matches": format!("read_{index:03}_*") },
                { "fact": "response.annotations.maliciousActivityHint", "equals": true },
            ]),
        ),
    };
    json!({ "name": format!("bench-{index:03}"), "effect": effect, "conditions": { "and": conditions } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<String> =
            (0..100).map(|index| rule(index)["name"].to_string()).collect();
        assert_eq!(names.len(), 100);
    }
}
