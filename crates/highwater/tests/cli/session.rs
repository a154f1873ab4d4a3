//! `highwater session`, against gateways that run.

use serde_json::{Value, json};

use crate::http::Gateway;
use crate::program::{Site, text};

/// A gateway whose one agent has read a public issue.
fn having_read(site: &Site) -> Gateway {
    let gateway = Gateway::of(site.start(&["serve", "--listen", "localhost:0"]));
    let read = gateway.call("repo__list_issues", &json!({ "repo": "website" }));
    assert_ne!(read["isError"], true, "{read}");
    gateway
}

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

#[test]
fn a_session_is_listed_shown_and_taken_down() {
    let site = Site::new();
    let _gateway = having_read(&site);
    let list = said(&site, &["session", "list"]);
    assert!(list.starts_with("session         integrity  secrecy  flags"), "{list}");
    assert!(list.contains("\npresumed/agent  none       -        openWorld"), "{list}");

    let shown = said(&site, &["session", "show", "presumed/agent"]);
    assert!(shown.starts_with("session `presumed/agent`, epoch 0\n"), "{shown}");
    assert!(
        shown.contains("  repo__list_issues  integrity none, openWorld, source untrustedPublic"),
        "{shown}"
    );
    let json: Value =
        serde_json::from_str(&said(&site, &["session", "show", "presumed/agent", "--json"])).unwrap();
    assert_eq!(json["label"]["integrity"], "none");
    assert_eq!(json["brought"][0]["what"], "repo__list_issues");
    assert_eq!(json["unaccounted"], json!([]));

    failed(&site, &["session", "reset", "presumed/agent"], 2);
    let reset = ["session", "reset", "presumed/agent", "--reason"];
    assert!(failed(&site, &[&reset[..], &[" "]].concat(), 1).contains("a reason is needed"));
    let moved = failed(&site, &[&reset[..], &["mine", "--epoch", "7"]].concat(), 1);
    assert!(moved.starts_with("error: the session has changed: it is in epoch 0"), "{moved}");
    let down = said(&site, &[&reset[..], &["these issues are our own", "--person", "ada"]].concat());
    assert_eq!(down, "the label of session `presumed/agent` is down; epoch 1 has begun\n");

    let shown = said(&site, &["session", "show", "presumed/agent"]);
    assert!(shown.contains("integrity  owner"), "{shown}");
    assert!(!shown.contains("it came with"), "{shown}");
    assert!(shown.contains("epoch 1 by `ada`: these issues are our own\n"), "{shown}");
    let unknown = failed(&site, &["session", "show", "presumed/eve"], 1);
    assert!(unknown.starts_with("error: there is no such session"), "{unknown}");
}

#[test]
fn the_risk_of_a_session_is_told_with_the_calls_that_set_it() {
    let site = Site::new();
    let gateway = having_read(&site);
    let shown = said(&site, &["session", "show", "presumed/agent"]);
    assert!(shown.contains("\nrisk 40 of 100\n"), "{shown}");
    assert!(shown.contains("private data was read             no\n"), "{shown}");
    assert!(shown.contains(" with repo__list_issues (hwd_"), "{shown}");

    let read = gateway.call("repo__list_issues", &json!({ "repo": "private-notes" }));
    assert_ne!(read["isError"], true, "{read}");
    let json: Value =
        serde_json::from_str(&said(&site, &["session", "show", "presumed/agent", "--json"])).unwrap();
    let risk = &json["risk"];
    assert_eq!(risk["legs"], json!(["privateData", "untrustedContent"]), "{risk}");
    assert_eq!(risk["trifecta"], false);
    let (untrusted, private) =
        (&risk["setBy"]["untrustedContent"]["id"], &risk["setBy"]["privateData"]["id"]);
    assert_ne!(untrusted, private, "each leg is the call that set it: {risk}");
    assert_eq!(json["brought"][0]["id"], *untrusted);
    assert_eq!(json["brought"][1]["id"], *private);
    let listed: Value = serde_json::from_str(&said(&site, &["session", "list", "--json"])).unwrap();
    assert_eq!(listed[0]["risk"]["score"], risk["score"], "{listed}");
}

#[test]
fn a_new_context_has_a_label_of_its_own() {
    let site = Site::new();
    let gateway = having_read(&site);
    let made = said(&site, &["session", "new", "--note", "triage"]);
    let id = made.lines().next().unwrap().strip_prefix("context   ").unwrap();
    assert!(made.contains(&format!("\nendpoint  http://{}/mcp/c/{id}\n", gateway.address)), "{made}");
    let json: Value = serde_json::from_str(&said(&site, &["session", "new", "--json"])).unwrap();
    assert_eq!(
        json["endpoint"],
        format!("http://{}/mcp/c/{}", gateway.address, json["id"].as_str().unwrap())
    );
}

#[test]
fn without_a_gateway_there_is_the_way_out() {
    let site = Site::new();
    for arguments in [vec!["session", "list"], vec!["session", "new"]] {
        let said = failed(&site, &arguments, 1);
        assert!(said.starts_with("error: no gateway runs on `"), "{said}");
        assert!(said.contains("help: start one with `highwater serve`"), "{said}");
    }
    failed(&site, &["session"], 2);
}

#[test]
fn a_gateway_that_stdio_started_answers_too() {
    let site = Site::new();
    let mut client = site.start(&["stdio"]);
    let greeting = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } },
    });
    client.ask(&greeting);
    client.ask(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let call = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "repo__list_issues", "arguments": { "repo": "website" } },
    });
    let reply = client.ask(&call);
    assert_ne!(reply["result"]["isError"], true, "{reply}");
    let list = said(&site, &["session", "list"]);
    assert!(list.contains("\npresumed/") && list.contains("presumed: a connection of"), "{list}");
    assert!(said(&site, &["session", "new"]).contains("listens on no port"));
    client.leave();
}
