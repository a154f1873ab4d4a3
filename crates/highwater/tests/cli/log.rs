//! The log: where it goes, and that programs can read it.

use serde_json::Value;

use crate::http::Gateway;
use crate::program::Site;
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
