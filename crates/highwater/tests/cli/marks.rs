//! `highwater marks`, against gateways that run.

use serde_json::{Value, json};

use crate::http::Gateway;
use crate::program::{Site, text};

fn said(site: &Site, arguments: &[&str]) -> String {
    let output = site.run(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn failed(site: &Site, arguments: &[&str], code: i32) -> String {
    let output = site.run(arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stdout));
    text(&output.stderr)
}

/// A gateway over a server of files, to which sessions may write whatever they hold.
fn start(site: &Site) -> Gateway {
    let of = |path: &str, sensitivity: &str| {
        let returns = json!({ "source": "internal", "sensitivity": sensitivity });
        json!({ "when": { "arguments.path": { "matches": path } }, "returnMetadata": returns })
    };
    let config = json!({ "approvals": { "listen": "none" }, "servers": { "files": {
        "command": env!("CARGO_BIN_EXE_highwater"),
        "args": ["example-server", "files", "--data", site.home().join("files")],
        "trust": { "server_trust": "tool", "verified": true },
        "labels": {
            "read_file": {
                "roles": { "path": "object" },
                "returnMetadata": { "source": "internal", "sensitivity": ["none", "financial"] },
                "cases": [of("finance/*", "financial"), of("team/*", "none")],
            },
            "write_file": {
                "roles": { "path": "object", "text": "content" },
                "inputMetadata": { "destination": "internal", "sensitivity": "any", "outcomes": "benign" },
            },
        },
    } } });
    let config = site.write("highwater.yaml", &config.to_string());
    Gateway::of(site.start(&["serve", "--listen", "localhost:0", "--config", config.to_str().unwrap()]))
}

/// A gateway whose one agent has read salaries and written them down.
fn having_written(site: &Site) -> Gateway {
    let gateway = start(site);
    for (tool, arguments) in [
        ("files__read_file", json!({ "path": "finance/salaries-2026.csv" })),
        ("files__write_file", json!({ "path": "team/summary.md", "text": "what I found" })),
    ] {
        let done = gateway.call(tool, &arguments);
        assert_ne!(done["isError"], true, "{done}");
    }
    gateway
}

#[test]
fn marks_are_listed_explained_and_taken_off() {
    let site = Site::new();
    let gateway = having_written(&site);
    let list = said(&site, &["marks", "list"]);
    assert!(list.contains("object: team/summary.md, at server `files`"), "{list}");
    assert!(
        list.contains("   = left by `write_file` of agent `agent` in session `presumed/agent`, "),
        "{list}"
    );
    assert!(list.contains("financial"), "{list}");
    assert_eq!(said(&site, &["marks", "list", "--server", "mail"]), "nothing that agents wrote is marked\n");
    let marks: Value = serde_json::from_str(&said(&site, &["marks", "list", "--json"])).unwrap();
    let id = marks[0]["id"].as_str().unwrap();
    assert_eq!(marks[0]["tool"], "write_file");

    // Whoever reads it meets the mark, and `explain` says so, with the way out.
    said(&site, &["session", "reset", "presumed/agent", "--reason", "a new conversation"]);
    let read = gateway.call("files__read_file", &json!({ "path": "team/summary.md" }));
    let label = read["_meta"]["dev.highwater/label"].to_string();
    assert!(label.contains("financial"), "{read}");
    let shown = said(&site, &["session", "show", "presumed/agent"]);
    let met = format!("`files__read_file` met mark {id} on object `team/summary.md` of server `files`");
    assert!(shown.contains(&met), "{shown}");
    assert!(shown.contains("  left by `write_file` of agent `agent`, "), "{shown}");
    assert!(shown.contains(&format!("highwater marks clear {id} --reason TEXT")), "{shown}");

    failed(&site, &["marks", "clear", id], 2);
    assert!(failed(&site, &["marks", "clear", "--reason", "why"], 2).contains("say which marks"));
    assert!(failed(&site, &["marks", "clear", id, "--reason", " "], 1).contains("a reason is needed"));
    assert!(
        failed(&site, &["marks", "clear", "mrk_no", "--reason", "why"], 1).contains("there is no such mark")
    );
    let cleared =
        said(&site, &["marks", "clear", id, "--reason", "nothing of it is in there", "--person", "ada"]);
    assert_eq!(cleared, format!("1 mark is taken off\n  {id}  team/summary.md of server `files`\n"));
    assert_eq!(said(&site, &["marks", "list"]), "nothing that agents wrote is marked\n");
    said(&site, &["session", "reset", "presumed/agent", "--reason", "a new conversation"]);
    let read = gateway.call("files__read_file", &json!({ "path": "team/summary.md" }));
    assert!(!read["_meta"]["dev.highwater/label"].to_string().contains("financial"), "{read}");
}

#[test]
fn a_mark_outlives_a_gateway_that_is_killed() {
    let site = Site::new();
    let mut gateway = having_written(&site);
    let before = said(&site, &["marks", "list", "--json"]);
    gateway.running.signal(rustix::process::Signal::KILL);
    gateway.running.wait();
    site.wait_until_quiet();
    let gateway = start(&site);
    assert_eq!(said(&site, &["marks", "list", "--json"]), before);
    said(&site, &["session", "reset", "presumed/agent", "--reason", "a new conversation"]);
    let read = gateway.call("files__read_file", &json!({ "path": "team/summary.md" }));
    assert!(read["_meta"]["dev.highwater/label"].to_string().contains("financial"), "{read}");
}
