//! `check` and `schema`.

use std::path::Path;

use serde_json::Value;

use crate::program::{Site, text};

const GOOD: &str = "servers: { a: { command: a }, b: { command: b, disabled: true } }\n\
                    virtual_servers: { some: { servers: [a] } }\n";

#[test]
fn a_right_file_is_counted() {
    let site = Site::new();
    site.write("good.yaml", GOOD);
    let output = site.run(&["check", "good.yaml"]);
    assert_eq!(text(&output.stdout), "ok: 2 servers (1 disabled), 1 virtual server, good.yaml\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_wrong_file_is_shown_with_line_and_caret() {
    let site = Site::new();
    site.write("bad.yaml", "servers:\n  a: { comand: x }\n");
    let output = site.run(&["check", "bad.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!("check_a_wrong_file", text(&output.stderr));
}

#[test]
fn every_file_is_checked_before_it_ends() {
    let site = Site::new();
    site.write("bad.yaml", "servers: []\n");
    site.write("good.yaml", GOOD);
    let output = site.run(&["check", "bad.yaml", "good.yaml", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(findings[0]["ok"], false);
    assert_eq!(findings[0]["diagnostics"][0]["line"], 1);
    assert_eq!(findings[1]["servers"], 2);
}

#[test]
fn the_file_that_serve_would_find_is_checked() {
    let site = Site::new();
    assert_eq!(site.run(&["check"]).status.code(), Some(2), "there is none yet");
    std::fs::create_dir_all(site.home().join(".config/highwater")).unwrap();
    site.write(".config/highwater/highwater.yaml", GOOD);
    assert!(text(&site.run(&["check"]).stdout).contains(".config/highwater/highwater.yaml"));
    // The one in the working directory comes first.
    site.write("highwater.yaml", GOOD);
    assert!(text(&site.run(&["check"]).stdout).ends_with(", highwater.yaml\n"));
}

#[test]
fn a_missing_file_is_wrong_usage() {
    let output = Site::new().run(&["check", "--config", "nowhere.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: cannot read `nowhere.yaml`: "));
}

#[test]
fn the_schema_knows_servers() {
    let output = Site::new().run(&["schema"]);
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(schema["properties"]["servers"].is_object());
}

#[test]
fn every_configuration_in_the_documents_is_right() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut checked = 0;
    for document in [
        "README.md",
        "docs/guide/getting-started.md",
        "docs/guide/configuration.md",
        "docs/guide/labels.md",
        "docs/guide/rules.md",
        "docs/concepts/flow-modes.md",
    ] {
        let words = std::fs::read_to_string(root.join(document)).unwrap();
        for block in words.split("```yaml\n").skip(1) {
            let block = block.split("```").next().unwrap();
            let site = Site::new();
            site.write("highwater.yaml", block);
            let output = site.run(&["check"]);
            assert!(output.status.success(), "{document}:\n{block}\n{}", text(&output.stderr));
            checked += 1;
        }
    }
    assert!(checked >= 5, "the documents hold only {checked} configurations");
}
