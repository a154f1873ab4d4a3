//! The era in which every request describes itself.

use serde_json::{Value, json};

use super::client::{Client, modern_meta, plain};
use crate::example::{ExampleArgs, ExampleServer};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn listen(client: &mut Client, id: &Value, notifications: Value) -> Vec<Value> {
    let params = json!({ "_meta": modern_meta(), "notifications": notifications });
    client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params }))
}

#[test]
fn discovery_says_what_the_server_speaks_and_has() {
    let result = Client::modern(ExampleServer::Web, &plain()).ask("server/discover", json!({}));
    assert_eq!(
        result["supportedVersions"],
        json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
    );
    assert_eq!(result["capabilities"], json!({"tools": {}, "prompts": {}, "completions": {}, "logging": {}}));
    assert!(result["instructions"].is_string());
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(3_600_000), &json!("public")));
}

#[test]
fn lists_and_reads_say_how_long_they_may_be_kept() {
    let mut files = Client::modern(ExampleServer::Files, &plain());
    for (method, params, scope) in [
        ("tools/list", json!({}), "public"),
        ("resources/list", json!({}), "private"),
        ("resources/templates/list", json!({}), "public"),
        ("resources/read", json!({"uri": "file:///team/roadmap.md"}), "private"),
    ] {
        let result = files.ask(method, params);
        assert_eq!(result["cacheScope"], scope, "{method}");
        assert!(result["ttlMs"].is_u64(), "{method}");
    }
    let call = files.call("list_files", json!({}));
    assert!(call.get("ttlMs").is_none() && call.get("cacheScope").is_none(), "a call is nothing to keep");
}

#[test]
fn an_unknown_version_is_answered_with_the_known_ones() {
    let mut mail = Client::modern(ExampleServer::Mail, &plain());
    for requested in ["2030-01-01", "2025-11-25"] {
        let mut meta = modern_meta();
        meta["io.modelcontextprotocol/protocolVersion"] = json!(requested);
        let sent = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}});
        let error = mail.send(&sent)[0]["error"].take();
        assert_eq!(error["code"], -32022);
        assert_eq!(error["data"]["requested"], requested);
        assert_eq!(error["data"]["supported"][0], "2026-07-28");
    }
}

#[test]
fn half_of_the_metadata_is_a_modern_mistake_and_no_legacy_request() {
    // The handshake has happened, so a fall back to the legacy era would be answered.
    let mut mail = Client::legacy(ExampleServer::Mail, &plain());
    for key in ["io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"] {
        let mut meta = modern_meta();
        meta.as_object_mut().unwrap().remove(key);
        let error = mail.fail("tools/list", json!({"_meta": meta}));
        assert_eq!(error["code"], -32602);
        assert!(error["message"].as_str().unwrap().contains(key), "{error}");
    }
    assert_eq!(mail.fail("server/discover", json!({}))["code"], -32602);
}

#[test]
fn methods_of_the_other_era_are_unknown() {
    let mut files = Client::modern(ExampleServer::Files, &plain());
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"] {
        assert_eq!(files.fail(method, json!({"uri": "file:///team/roadmap.md"}))["code"], -32601, "{method}");
    }
}

#[test]
fn log_messages_come_only_to_a_request_that_asked() {
    let mut web = Client::modern(ExampleServer::Web, &plain());
    let attack = json!({"url": "https://deals.example/pump-sale"});
    web.call("fetch_page", attack.clone());
    assert_eq!(web.notifications, Vec::<Value>::new());
    let meta = json!({"io.modelcontextprotocol/logLevel": "info"});
    web.ask("tools/call", json!({"name": "fetch_page", "arguments": attack.clone(), "_meta": meta}));
    assert_eq!(web.notifications[0]["method"], "notifications/message");
    let meta = json!({"io.modelcontextprotocol/logLevel": "loud"});
    let error = web.fail("tools/call", json!({"name": "fetch_page", "arguments": attack, "_meta": meta}));
    assert_eq!(error["code"], -32602);
}

#[test]
fn a_stream_is_acknowledged_with_what_the_server_has_and_then_told_of_changes() {
    let mut files = Client::modern(ExampleServer::Files, &plain());
    let uri = "file:///team/roadmap.md";
    let wish =
        json!({"toolsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": [uri]});
    assert_eq!(
        listen(&mut files, &json!("l-1"), wish),
        [json!({
            "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
            "params": {
                "_meta": {SUBSCRIPTION: "l-1"},
                "notifications": {"resourcesListChanged": true, "resourceSubscriptions": [uri]}
            }
        })]
    );
    files.call("write_file", json!({"path": "team/roadmap.md", "text": "Less"}));
    let updated = json!({
        "jsonrpc": "2.0", "method": "notifications/resources/updated",
        "params": {"_meta": {SUBSCRIPTION: "l-1"}, "uri": uri}
    });
    assert_eq!(files.notifications, [updated]);
    files.call("write_file", json!({"path": "team/other.md", "text": "New"}));
    assert_eq!(files.notifications.len(), 1, "another file: only the list changed");
    assert_eq!(files.notifications[0]["method"], "notifications/resources/list_changed");
    assert_eq!(files.notifications[0]["params"]["_meta"][SUBSCRIPTION], "l-1");

    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "l-1"}});
    assert_eq!(files.send(&cancel), Vec::<Value>::new(), "a request taken back gets no answer");
    files.call("write_file", json!({"path": "team/roadmap.md", "text": "Even less"}));
    assert_eq!(files.notifications, Vec::<Value>::new());
    assert_eq!(files.close(), Vec::<Value>::new());
}

#[test]
fn a_server_without_resources_grants_an_empty_stream_and_ends_it_cleanly() {
    let mut mail = Client::modern(ExampleServer::Mail, &plain());
    let wish = json!({"toolsListChanged": true, "resourceSubscriptions": ["file:///x"]});
    let acknowledged = listen(&mut mail, &json!(5), wish);
    assert_eq!(acknowledged[0]["params"]["notifications"], json!({}));
    assert_eq!(listen(&mut mail, &json!(5), json!({}))[0]["error"]["code"], -32600, "the id is taken");
    let [cancelled, result] = mail.close().try_into().unwrap();
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!((&cancelled["params"]["requestId"], &result["id"]), (&json!(5), &json!(5)));
    assert_eq!(result["result"]["resultType"], "complete");
    assert_eq!(result["result"]["_meta"][SUBSCRIPTION], 5);
}

#[test]
fn a_stream_needs_a_sound_wish() {
    let mut files = Client::modern(ExampleServer::Files, &plain());
    for wish in [
        json!(null),
        json!({"resourcesListChanged": 1}),
        json!({"resourceSubscriptions": "file:///x"}),
        json!({"resourceSubscriptions": [1]}),
    ] {
        assert_eq!(listen(&mut files, &json!(1), wish)[0]["error"]["code"], -32602);
    }
    for id in 0..64 {
        assert!(listen(&mut files, &json!(id), json!({}))[0].get("method").is_some());
    }
    assert_eq!(listen(&mut files, &json!(64), json!({}))[0]["error"]["code"], -32602, "streams are bounded");
}

#[test]
fn resolution_needs_the_extension_on_the_request() {
    let args = ExampleArgs { resolve: true, ..plain() };
    let mut repo = Client::modern(ExampleServer::Repo, &args);
    let discovered = repo.ask("server/discover", json!({}));
    let key = "io.modelcontextprotocol/tool-resolution";
    assert_eq!(discovered["capabilities"]["extensions"], json!({key: {}}));

    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let params = json!({"_meta": meta, "name": "list_issues", "arguments": {"repo": "website"}});
    let sent = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/resolve", "params": params});
    let error = repo.send(&sent)[0]["error"].take();
    assert_eq!(error["code"], -32021);
    assert_eq!(error["data"]["requiredCapabilities"], json!({"extensions": {key: {}}}));

    let result = repo.ask("tools/resolve", json!({"name": "list_issues", "arguments": {"repo": "website"}}));
    assert_eq!(result["name"], "list_issues");
    assert!(result.get("inputSchema").is_none());
    let error = repo.fail("tools/resolve", json!({"name": "list_issues", "arguments": {}}));
    assert_eq!(error["code"], -32602, "arguments the call would refuse");
}

#[test]
fn both_eras_share_a_process() {
    let mut files = Client::legacy(ExampleServer::Files, &plain());
    listen(&mut files, &json!("l"), json!({"resourceSubscriptions": ["file:///team/roadmap.md"]}));
    files.ask("resources/subscribe", json!({"uri": "file:///team/roadmap.md"}));
    files.call("write_file", json!({"path": "team/roadmap.md", "text": "x"}));
    let (legacy, modern) = (&files.notifications[0]["params"], &files.notifications[1]["params"]);
    assert_eq!(*legacy, json!({"uri": "file:///team/roadmap.md"}));
    assert_eq!(modern["_meta"][SUBSCRIPTION], "l");
}
