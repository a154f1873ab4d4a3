//! The files made from the schema are the ones committed.

use std::path::Path;

use highwater_config::{reference_markdown, schema};

fn committed(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap_or_default()
}

#[test]
fn the_committed_schema_is_current() {
    let made = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
    assert!(committed("highwater.schema.json") == made, "stale: run `cargo xtask codegen`");
}

#[test]
fn the_committed_reference_is_current() {
    assert!(
        committed("docs/reference/configuration.md") == reference_markdown(),
        "stale: run `cargo xtask codegen`"
    );
}

#[test]
fn every_key_is_documented() {
    fn undocumented(path: &str, value: &serde_json::Value, found: &mut Vec<String>) {
        for (key, member) in value["properties"].as_object().into_iter().flatten() {
            if member["description"].as_str().is_none_or(str::is_empty) {
                found.push(format!("{path}.{key}"));
            }
        }
    }
    let schema = schema();
    let mut found = Vec::new();
    undocumented("top", &schema, &mut found);
    for (name, shape) in schema["$defs"].as_object().unwrap() {
        undocumented(name, shape, &mut found);
        for choice in shape["oneOf"].as_array().into_iter().flatten() {
            if choice["description"].as_str().is_none_or(str::is_empty) {
                found.push(format!("{name}: {}", choice["const"]));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    let reference = reference_markdown();
    for key in ["servers.NAME.timeouts.probe", "limits.drain", "virtual_servers.NAME.prefix", "mcpServers"] {
        assert!(reference.contains(&format!("### `{key}`\n")), "{key}");
    }
}
