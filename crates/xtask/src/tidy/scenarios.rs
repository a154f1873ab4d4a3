//! Whether the scenarios speak of everything there is: a fact, a finding or a key that no story names is one that
//! nobody has seen at work.

use serde_json::Value;

use super::files::Files;

/// The reference page that is made from the fact table.
const FACTS: &str = "docs/reference/facts.md";

/// What the page says of a fact that no scenario can use.
const UNPRODUCED: &str = "Never known:";

/// Where the names of findings are: those of structural gates in one table, those of flow gates in their rows.
const FINDINGS: &str = "crates/core/src/decide/";

/// The schema of the configuration, in which every key stands.
const SCHEMA: &str = "highwater.schema.json";

/// Findings that no client can bring about, because what they refuse is not even listed; the laws of the core do.
const UNREACHABLE: [&str; 3] = ["structural.grant", "structural.intent", "structural.method"];

/// Keys that a scenario cannot use, because it brings its own servers, listener and token; tests of the program do.
const UNTOLD: &[&str] = &[
    "aaguids",
    "allow_plain_http",
    "allowed_hosts",
    "allowed_origins",
    "args",
    "attestation",
    "auditor_key",
    "auth",
    "authenticators",
    "command",
    "cwd",
    "extra_origins",
    "file",
    "headers",
    "keys",
    "listen",
    "manifest",
    "mcpServers",
    "postgres",
    "public_url",
    "roots",
    "rules_files",
    "server",
    "timeout",
    "type",
    "url",
];

/// Facts that no scenario names.
pub(super) fn facts(files: &Files) -> Vec<String> {
    let rows = lines(files, FACTS).filter(|line| !line.contains(UNPRODUCED));
    let rows: Vec<&str> = rows.filter_map(|line| first_text(line, "- `", '`')).collect();
    unnamed(files, "fact", &rows, FACTS)
}

/// Findings that no scenario names.
pub(super) fn findings(files: &Files) -> Vec<String> {
    let structural = lines(files, FINDINGS).filter_map(|line| first_text(line, "(\"", '"'));
    let structural = structural.filter(|name| name.starts_with("structural."));
    let flow = lines(files, FINDINGS).filter_map(|line| first_text(line, "finding: \"", '"'));
    let rows: Vec<&str> = structural.chain(flow).filter(|id| !UNREACHABLE.contains(id)).collect();
    unnamed(files, "finding", &rows, FINDINGS)
}

/// Keys of the configuration that no scenario uses.
pub(super) fn keys(files: &Files) -> Vec<String> {
    let Some(schema) = files.files.iter().find(|file| file.name == SCHEMA) else {
        return vec![format!("{SCHEMA}: is missing")];
    };
    let Ok(schema) = serde_json::from_str::<Value>(&schema.text) else {
        return vec![format!("{SCHEMA}: is no JSON")];
    };
    let mut keys = Vec::new();
    collect(&schema, &mut keys);
    keys.sort();
    keys.dedup();
    let mut problems = Vec::new();
    for key in &keys {
        let told = stories(files).any(|text| uses_key(text, key));
        if !told && !UNTOLD.contains(&key.as_str()) {
            problems.push(format!("scenarios: no file uses the key `{key}`"));
        }
    }
    for excused in UNTOLD.iter().filter(|excused| !keys.iter().any(|key| key == *excused)) {
        problems.push(format!("scenarios: the key `{excused}` is excused and does not exist"));
    }
    problems
}

fn unnamed(files: &Files, what: &str, names: &[&str], table: &str) -> Vec<String> {
    if names.is_empty() {
        return vec![format!("{table}: no {what} was found here; the check reads another shape")];
    }
    let is_told = |name: &&&str| !stories(files).any(|text| names_it(text, name));
    names.iter().filter(is_told).map(|name| format!("scenarios: no file names the {what} `{name}`")).collect()
}

fn stories(files: &Files) -> impl Iterator<Item = &str> {
    files.ending_in(".yaml").filter(|file| file.name.starts_with("scenarios/")).map(|file| file.text.as_str())
}

/// The lines of a file, or of all files in a folder.
fn lines<'a>(files: &'a Files, name: &'a str) -> impl Iterator<Item = &'a str> {
    files
        .files
        .iter()
        .filter(move |file| file.name.starts_with(name))
        .flat_map(|file| file.text.lines())
        .map(str::trim_start)
}

/// The text that a line begins with, behind `start` and up to `end`.
fn first_text<'a>(line: &'a str, start: &str, end: char) -> Option<&'a str> {
    line.strip_prefix(start)?.split_once(end).map(|(text, _)| text)
}

/// Every name of a property, at any depth.
fn collect(schema: &Value, keys: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Object(properties)) = members.get("properties") {
                keys.extend(properties.keys().cloned());
            }
            members.values().for_each(|member| collect(member, keys));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, keys)),
        _ => {}
    }
}

/// Whether a name stands in a text, and not only a longer one that holds it.
fn names_it(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    text.match_indices(name).any(|(at, _)| {
        let (before, behind) = text.split_at(at);
        let behind = behind.strip_prefix(name).and_then(|rest| rest.chars().next());
        !before.chars().next_back().is_some_and(part) && !behind.is_some_and(part)
    })
}

/// Whether a key stands in a text, with its colon.
fn uses_key(text: &str, key: &str) -> bool {
    let start = |c: char| c.is_whitespace() || matches!(c, '{' | ',' | '"');
    text.match_indices(&format!("{key}:"))
        .any(|(at, _)| text.get(..at).is_some_and(|before| before.chars().next_back().is_none_or(start)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_longer_name_does_not_count() {
        assert!(names_it("findings: [flow.write]", "flow.write"));
        assert!(!names_it("findings: [flow.writes, rule.flow.write]", "flow.write"));
        assert!(names_it("{ session.private: true }", "session.private"));
    }

    #[test]
    fn a_key_stands_with_its_colon() {
        assert!(uses_key("config: { flow: strict }", "flow"));
        assert!(!uses_key("overflow: 1, flow", "flow"));
    }

    #[test]
    fn keys_are_found_at_any_depth() {
        let schema = json!({ "properties": { "a": { "anyOf": [{ "properties": { "b": {} } }] } }, "$defs": { "x": { "properties": { "c": {} } } } });
        let mut keys = Vec::new();
        collect(&schema, &mut keys);
        keys.sort();
        assert_eq!(keys, ["a", "b", "c"]);
    }

    #[test]
    fn rows_are_read_from_the_tables() {
        assert_eq!(first_text("- `session.risk` ↑: How much.", "- `", '`'), Some("session.risk"));
        assert_eq!(
            first_text("(\"structural.grant\", FindingId::Grant),", "(\"", '"'),
            Some("structural.grant")
        );
        assert_eq!(first_text("finding: \"flow.act\",", "finding: \"", '"'), Some("flow.act"));
    }
}
