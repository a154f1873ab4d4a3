//! The configuration changes while the gateway runs.

use rustix::process::Signal;
use serde_json::json;

use crate::http::Gateway;
use crate::program::{Site, text};

fn config(servers: &[&str]) -> String {
    let program = env!("CARGO_BIN_EXE_highwater");
    let entries = servers
        .iter()
        .map(|name| ((*name).to_owned(), json!({ "command": program, "args": ["example-server", name] })));
    json!({ "quarantine": false, "servers": serde_json::Map::from_iter(entries) }).to_string()
}

fn servers_with_tools(gateway: &Gateway) -> Vec<String> {
    let mut names: Vec<String> =
        gateway.tools().iter().map(|tool| tool.split("__").next().unwrap().to_owned()).collect();
    names.dedup();
    names
}

#[test]
fn a_changed_file_is_taken_up_by_itself() {
    let site = Site::new();
    site.write("highwater.yaml", &config(&["mail", "web"]));
    let gateway = Gateway::of(site.start(&["serve", "--listen", "127.0.0.1:0"]));
    assert!(gateway.words.contains("highwater.yaml, 2 servers"), "{}", gateway.words);
    assert_eq!(servers_with_tools(&gateway), ["mail", "web"]);

    site.write("highwater.yaml", &config(&["files", "web"]));
    let said = gateway.running.errors_until("was read again");
    assert!(
        said.contains("`highwater.yaml` was read again: added server `files`, removed server `mail`"),
        "{said}"
    );
    assert_eq!(servers_with_tools(&gateway), ["files", "web"]);
}

#[test]
fn a_file_that_does_not_compile_leaves_the_old_one_running_and_says_why() {
    let site = Site::new();
    site.write("highwater.yaml", &config(&["web"]));
    let gateway = Gateway::of(site.start(&["serve", "--listen", "127.0.0.1:0"]));
    assert_eq!(servers_with_tools(&gateway), ["web"]);

    site.write("highwater.yaml", "servers:\n  web: { comand: x }\n");
    gateway.running.signal(Signal::HUP);
    let said = gateway.running.errors_until("keeps running");
    assert!(said.contains("--> highwater.yaml:2:10"), "{said}");
    assert!(said.contains("help: did you mean `command`?"), "{said}");
    assert_eq!(servers_with_tools(&gateway), ["web"]);

    std::fs::remove_file(site.home().join("highwater.yaml")).unwrap();
    gateway.running.signal(Signal::HUP);
    gateway.running.errors_until("cannot read `highwater.yaml`");
    assert_eq!(servers_with_tools(&gateway), ["web"]);

    site.write("highwater.yaml", &config(&["repo"]));
    gateway.running.signal(Signal::HUP);
    gateway.running.errors_until("added server `repo`, removed server `web`");
    assert_eq!(servers_with_tools(&gateway), ["repo"]);
}

#[test]
fn another_address_waits_for_a_restart() {
    let site = Site::new();
    let servers = r#""servers": { "a": { "command": "a" } }"#;
    site.write("highwater.yaml", &format!(r#"{{ "listen": "127.0.0.1:0", {servers} }}"#));
    let gateway = Gateway::of(site.start(&["serve"]));
    site.write("highwater.yaml", &format!(r#"{{ "listen": "127.0.0.1:1", {servers} }}"#));
    gateway.running.signal(Signal::HUP);
    gateway.running.errors_until("`listen` will be `127.0.0.1:1` after a restart");
    assert_eq!(text(&site.run(&["servers"]).stdout).lines().count(), 2);
}

#[test]
fn authentication_is_not_dropped_where_other_machines_can_reach() {
    let site = Site::new();
    let servers = r#""servers": { "a": { "command": "a" } }"#;
    site.write("highwater.yaml", &format!(r#"{{ "listen": "0.0.0.0:0", {servers} }}"#));
    let gateway = Gateway::of(site.start(&["serve"]));
    // The file alone is right, but the address it goes with is not taken up before a restart.
    site.write("highwater.yaml", &format!(r#"{{ "listen": "127.0.0.1:0", "auth": "none", {servers} }}"#));
    gateway.running.signal(Signal::HUP);
    let said = gateway.running.errors_until("keeps running");
    assert!(said.contains("`auth: none` is refused"), "{said}");
    assert_eq!(gateway.post("", None, "ping", &json!({})).status, 401);
}
