//! Names in the configuration that name no tool: told in the log and by `servers`, with the name that was probably meant.

use serde_json::{Value, json};

use crate::http::Gateway;
use crate::program::{Site, text};

/// A configuration in which every place that takes the name of a tool has one that is misspelt.
fn misspelt(site: &Site) -> Value {
    json!({
        "servers": { "files": {
            "command": env!("CARGO_BIN_EXE_highwater"),
            "args": ["example-server", "files", "--data", site.home().join("files")],
            "trust": { "server_trust": "tool", "verified": true },
            "labels": {
                "*": { "returnMetadata": { "source": "internal" } },
                "read_flie": { "returnMetadata": { "sensitivity": "none" } },
                "read_file": { "display": "Read {pth}" },
                "list_files": { "returnMetadata": { "sensitivity": "none" } },
            },
            "prompt_labels": { "summarise_nothing": { "returnMetadata": { "source": "system" } } },
            "allowed_tools": ["read_file", "list_files", "wirte_file"],
        } },
        "agent_tokens": { "bot": {
            "permissions": ["call_tool_read"], "servers": ["files"], "tools": ["list_*", "read_fil", "mail:*"],
        } },
        "approvals": { "tools": { "files:delet_file": { "delegable": false }, "*": { "delegable": false } } },
    })
}

const TOLD: [&str; 6] = [
    "`read_flie` in `labels` of server `files` names no tool; did you mean `read_file`?",
    "`wirte_file` in `allowed_tools` of server `files` names no tool; did you mean `write_file`?",
    "`pth` in `display` of `read_file` of server `files` names no argument; did you mean `path`?",
    "`read_fil` in `tools` of token `bot` names no tool; did you mean `read_file`?",
    "`mail:*` in `tools` of token `bot` names no tool",
    "`files:delet_file` in `approvals.tools` names no tool; did you mean `files:delete_file`?",
];

/// Newcomer F13: `labels: { read_flie: … }` was silent everywhere.
#[test]
fn a_name_that_names_no_tool_is_told_once_with_the_nearest_one() {
    let site = Site::new();
    let config = site.write("misspelt.json", &misspelt(&site).to_string());
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--config", config.to_str().unwrap()];
    let mut gateway = Gateway::of(site.start(&arguments));
    assert_eq!(gateway.tools().len(), 2);
    assert_eq!(gateway.tools().len(), 2, "listed again");
    let table = text(&site.run(&["servers"]).stdout);
    let shown: Value = serde_json::from_slice(&site.run(&["servers", "list", "--json"]).stdout).unwrap();
    gateway.running.signal(rustix::process::Signal::TERM);
    assert_eq!(gateway.running.wait().code(), Some(0));
    let log = gateway.running.rest_of_errors();
    for sentence in TOLD {
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(sentence)).collect();
        assert_eq!(lines.len(), 1, "{sentence} in {log}");
        assert!(lines[0].contains("WARN"), "{}", lines[0]);
        assert_eq!(table.matches(&format!("warning: {sentence}\n")).count(), 1, "{sentence} in {table}");
    }
    assert!(
        log.contains("`summarise_nothing` in `prompt_labels` of server `files` names no prompt"),
        "{log}"
    );
    assert_eq!(log.lines().filter(|line| line.contains("names no ")).count(), TOLD.len() + 1, "{log}");
    let unknown = shown[0]["unknown_names"].as_array().unwrap();
    assert_eq!(unknown[0]["name"], "read_flie", "{shown:#}");
    assert_eq!(unknown[0]["nearest"], "read_file", "{shown:#}");
}
