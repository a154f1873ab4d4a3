//! The log: where it goes, and that programs can read it.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::http::Gateway;
use crate::program::{Site, text};
use crate::stdio::{count_tools, greet};

/// Each line as the object that it must be.
fn objects(log: &str) -> Vec<Value> {
    let objects: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect();
    for object in &objects {
        for member in ["timestamp", "level", "target"] {
            assert!(object[member].is_string(), "{member} in {object}");
        }
        assert!(object["fields"]["message"].is_string(), "{object}");
    }
    objects
}

#[test]
fn a_gateway_logs_json_if_told_to_and_to_standard_error_alone() {
    let site = Site::new();
    let gateway = Gateway::of(site.start(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--log-format",
        "json",
        "--log-level",
        "debug",
    ]));
    assert!(gateway.tools().len() > 10);
    assert!(!gateway.words.contains("timestamp"), "{}", gateway.words);
    let log = gateway.running.errors_until("\"server\":\"web\"");
    assert!(objects(&log).iter().any(|line| line["fields"]["server"] == "web"), "{log}");
}

#[test]
fn the_gateway_behind_a_pipe_logs_as_the_pipe_is_told_to() {
    let site = Site::new();
    let data = site.data();
    let mut client = site.start(&["stdio", "--log-format", "json", "--data-dir", data.to_str().unwrap()]);
    greet(&mut client);
    assert_eq!(count_tools(&mut client), 20);
    assert_eq!(client.leave().code(), Some(0));
    site.wait_until_quiet();
    let log = std::fs::read_to_string(data.join("gateway.log")).unwrap();
    assert!(!objects(&log).is_empty());
}

#[test]
fn another_format_is_wrong_usage() {
    let output = Site::new().run(&["serve", "--log-format", "xml"]);
    assert_eq!(output.status.code(), Some(2));
}

/// The configuration of eleven servers that the operator has labelled, more mildly than they describe themselves.
fn labelled(site: &Site) -> Value {
    let kinds = ["mail", "files", "repo", "web"];
    let mild = json!({ "inputMetadata": { "destination": "ephemeral", "outcomes": "benign" } });
    let servers: serde_json::Map<String, Value> = (0..11)
        .map(|number| {
            let (name, kind) = (format!("server{number:02}"), kinds[number % kinds.len()]);
            let data = site.home().join(&name);
            let entry = json!({
                "command": env!("CARGO_BIN_EXE_highwater"),
                "args": ["example-server", kind, "--data", data],
                "trust": { "server_trust": "tool", "verified": true },
                "labels": { "*": mild },
            });
            (name, entry)
        })
        .collect();
    json!({ "servers": servers, "approvals": { "listen": "none" } })
}

#[test]
fn a_start_with_eleven_labelled_servers_says_one_line_of_each() {
    let site = Site::new();
    let config = site.write("labelled.json", &labelled(&site).to_string());
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--config", config.to_str().unwrap()];
    let mut gateway = Gateway::of(site.start(&arguments));
    assert!(gateway.tools().len() > 40);
    let inspected: Value =
        serde_json::from_slice(&site.run(&["servers", "inspect", "server00", "--json"]).stdout).unwrap();
    let told = text(&site.run(&["servers", "inspect", "server00"]).stdout);
    gateway.running.signal(Signal::TERM);
    assert_eq!(gateway.running.wait().code(), Some(0));
    let log = gateway.running.rest_of_errors();
    for number in 0..11 {
        let name = format!("server{number:02}");
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(&name)).collect();
        let [line] = lines.as_slice() else { panic!("{name} in {log}") };
        for part in ["INFO", "tools=", "approval=\"approved\"", "notices="] {
            assert!(line.contains(part), "{part} in {line}");
        }
        assert!(line.contains(&format!("`highwater servers inspect {name}`")), "{line}");
    }

    // The detail is where the line leads.
    let items = inspected["items"].as_array().unwrap();
    let notices: Vec<&Value> = items.iter().filter_map(|item| item["notices"].as_array()).flatten().collect();
    assert!(!notices.is_empty(), "{inspected:#}");
    let line = log.lines().find(|line| line.contains("server00")).unwrap();
    assert!(line.contains(&format!("notices={}", notices.len())), "{line}");
    assert_eq!(notices[0]["kind"], "override-below-claim", "{inspected:#}");
    assert_eq!(
        told.matches("  noted: your word is milder than what it says").count(),
        notices.len(),
        "{told}"
    );
}
