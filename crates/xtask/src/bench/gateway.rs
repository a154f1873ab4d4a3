//! The configuration Highwater is measured with: the whole road on, and a hundred rules that are evaluated for
//! every call and match none.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use serde_json::{Map, Value, json};

use super::stand::WORDS;

/// How Highwater is configured for a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Profile {
    /// Agents need no token.
    pub(super) auth_none: bool,
    /// How many rules are evaluated for every call.
    pub(super) rules: usize,
    /// Servers are declared verified, so that what is first seen is approved and pinned: nobody is here to do it.
    pub(super) trust: bool,
}

impl Profile {
    /// The profile for this build of Highwater: what its own schema does not know is left out, and said.
    pub(super) fn for_build(
        program: &Path,
        rules: usize,
        auth_none: bool,
        notices: &mut Vec<String>,
    ) -> Self {
        let schema = Command::new(program).arg("schema").output().ok();
        let schema: Value =
            schema.and_then(|output| serde_json::from_slice(&output.stdout).ok()).unwrap_or_default();
        let mut profile = Self { auth_none, rules, trust: has_key(&schema, "url", "trust") };
        if rules > 0 && !has_key(&schema, "servers", "rules") {
            profile.rules = 0;
            notices.push("this build takes no `rules`: it was measured without them".to_owned());
        }
        if !profile.trust {
            notices.push("this build takes no `trust` on servers: it was measured without labels".to_owned());
        }
        profile
    }
}

/// Whether some object of the schema has both keys among its properties.
fn has_key(schema: &Value, beside: &str, key: &str) -> bool {
    match schema {
        Value::Object(members) => {
            let properties = members.get("properties").and_then(Value::as_object);
            properties.is_some_and(|known| known.contains_key(beside) && known.contains_key(key))
                || members.values().any(|member| has_key(member, beside, key))
        }
        Value::Array(members) => members.iter().any(|member| has_key(member, beside, key)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Writes the configuration file. JSON is YAML, so nothing needs to be quoted by hand.
pub(super) fn write_config(
    file: &Path,
    servers: &[(String, String)],
    profile: Profile,
) -> anyhow::Result<()> {
    let mut entries = Map::new();
    for (name, url) in servers {
        let mut entry = Map::from_iter([("url".to_owned(), Value::from(url.as_str()))]);
        if profile.trust {
            let trust = json!({ "server_trust": "tool", "resource_trust": "none", "verified": true });
            entry.insert("trust".to_owned(), trust);
            let labels = if name == WORDS {
                json!({ "echo": strangers_label(), "keep": acting_label() })
            } else {
                json!({ "echo": label(), "upload": label(), "keep": keeping_label() })
            };
            entry.insert("labels".to_owned(), labels);
        }
        entries.insert(name.clone(), Value::from(entry));
    }
    let mut config = Map::from_iter([("servers".to_owned(), Value::from(entries))]);
    if profile.rules > 0 {
        config.insert("rules".to_owned(), (0..profile.rules).map(rule).collect());
    }
    if profile.auth_none {
        config.insert("auth".to_owned(), Value::from("none"));
    }
    let text = serde_json::to_string_pretty(&config).context("the configuration cannot be written")?;
    fs::write(file, text).with_context(|| format!("cannot write `{}`", file.display()))
}

/// A label under which a session can go on for ever: the flow rules look at every call and find nothing.
fn label() -> Value {
    json!({
        "inputMetadata": { "destination": "ephemeral", "sensitivity": ["user", "pii"], "outcomes": "benign" },
        "returnMetadata": { "source": "internal", "sensitivity": "user" },
    })
}

/// The same for a tool that keeps what it is given: each call of it leaves the session's label on what it names, and
/// meets what was left there.
fn keeping_label() -> Value {
    json!({
        "inputMetadata": { "destination": "user", "sensitivity": ["user", "pii"], "outcomes": "benign" },
        "returnMetadata": { "source": "internal", "sensitivity": "user" },
    })
}

/// A tool that reads what strangers write.
fn strangers_label() -> Value {
    json!({
        "inputMetadata": { "destination": "ephemeral", "sensitivity": ["user", "pii"], "outcomes": "benign" },
        "returnMetadata": { "source": "untrustedPublic" },
    })
}

/// A tool that acts. Its reply is strangers' text too: after the first call nothing but the user's words lets it run.
fn acting_label() -> Value {
    json!({
        "inputMetadata": { "destination": "user", "sensitivity": ["user", "pii"], "outcomes": "consequential" },
        "returnMetadata": { "source": "untrustedPublic" },
        "roles": { "path": "object", "text": "content" },
    })
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
    fn a_key_is_looked_for_beside_another() {
        let schema = json!({ "$defs": { "server": { "properties": { "url": {}, "trust": {} } } },
                             "properties": { "servers": {}, "auth": {} } });
        assert!(has_key(&schema, "url", "trust"));
        assert!(!has_key(&schema, "servers", "rules"));
        assert!(!has_key(&schema, "servers", "trust"));
        assert!(!has_key(&Value::Null, "url", "trust"));
    }

    #[test]
    fn every_rule_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<String> =
            (0..100).map(|index| rule(index)["name"].to_string()).collect();
        assert_eq!(names.len(), 100);
    }
}
