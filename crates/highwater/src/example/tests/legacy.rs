//! The era with a handshake.

use serde_json::{Value, json};

use super::client::{Client, plain};
use crate::example::ExampleServer;

fn initialize(client: &mut Client, version: &Value) -> Value {
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"} });
    let sent = json!({ "jsonrpc": "2.0", "id": "first", "method": "initialize", "params": params });
    client.send(&sent).pop().unwrap()
}

#[test]
fn a_known_version_is_taken_and_any_other_gets_the_newest_with_a_handshake() {
    for (wished, given) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut client = Client::modern(ExampleServer::Files, &plain());
        let answer = initialize(&mut client, &json!(wished));
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], given);
        assert_eq!(result["serverInfo"]["name"], "highwater-example-files");
        assert!(result["instructions"].as_str().is_some_and(|text| text.contains("uploads/")));
        assert_eq!(result["capabilities"]["resources"], json!({"subscribe": true, "listChanged": true}));
        assert!(result["capabilities"].get("prompts").is_none());
        assert!(result["capabilities"]["tools"].get("resolve").is_none());
    }
}

#[test]
fn a_handshake_without_a_version_is_refused() {
    let mut client = Client::modern(ExampleServer::Mail, &plain());
    assert_eq!(initialize(&mut client, &json!(7))["error"]["code"], -32602);
}

#[test]
fn nothing_but_a_ping_is_answered_before_the_handshake() {
    let mut client = Client::modern(ExampleServer::Mail, &plain());
    let ping = client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    assert_eq!(ping, [json!({"jsonrpc": "2.0", "id": 1, "result": {}})]);
    let list = client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
    assert_eq!(list[0]["error"]["code"], -32602);
}

#[test]
fn methods_of_what_a_server_does_not_have_are_unknown() {
    let mut mail = Client::legacy(ExampleServer::Mail, &plain());
    for method in [
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "completion/complete",
        "tools/resolve",
        "no/such",
    ] {
        assert_eq!(mail.fail(method, json!({"uri": "file:///x"}))["code"], -32601, "{method}");
    }
}

#[test]
fn wrong_parameters_are_named() {
    let mut web = Client::legacy(ExampleServer::Web, &plain());
    for (method, params, named) in [
        ("tools/call", json!({}), "params.name"),
        ("tools/call", json!({"name": "no_such"}), "no_such"),
        ("tools/call", json!({"name": "fetch_page", "arguments": []}), "params.arguments"),
        ("tools/list", json!({"cursor": "x"}), "params.cursor"),
        ("tools/list", json!({"_meta": 1}), "params._meta"),
        ("tools/list", json!([]), "params"),
        ("logging/setLevel", json!({"level": "loud"}), "loud"),
        ("prompts/get", json!({"name": "no_such"}), "no_such"),
        ("prompts/get", json!({"name": "summarise_page"}), "url"),
        ("completion/complete", json!({"ref": {"type": "ref/other"}}), "ref/other"),
        ("completion/complete", json!({"ref": {"type": "ref/prompt", "name": "x"}}), "x"),
        ("completion/complete", json!({}), "params.ref.type"),
    ] {
        let error = web.fail(method, params);
        assert_eq!(error["code"], -32602, "{method} {named}");
        assert!(error["message"].as_str().unwrap().contains(named), "{error}");
    }
}

#[test]
fn log_messages_begin_with_the_level_that_was_asked_for() {
    let mut web = Client::legacy(ExampleServer::Web, &plain());
    let attack = json!({"url": "https://deals.example/pump-sale"});
    web.call("fetch_page", attack.clone());
    assert_eq!(web.notifications, Vec::<Value>::new(), "nobody asked yet");

    web.ask("logging/setLevel", json!({"level": "warning"}));
    web.call("fetch_page", attack.clone());
    let message = &web.notifications[0];
    assert_eq!(message["method"], "notifications/message");
    assert_eq!(
        (&message["params"]["level"], &message["params"]["logger"]),
        (&json!("warning"), &json!("web"))
    );

    web.ask("logging/setLevel", json!({"level": "error"}));
    web.call("fetch_page", attack);
    assert_eq!(web.notifications, Vec::<Value>::new());
}

#[test]
fn progress_comes_under_the_token_of_the_request() {
    let mut web = Client::legacy(ExampleServer::Web, &plain());
    let call =
        json!({"name": "search_web", "arguments": {"query": "pump"}, "_meta": {"progressToken": "t-1"}});
    web.ask("tools/call", call);
    let steps: Vec<&Value> = web.notifications.iter().map(|message| &message["params"]).collect();
    assert_eq!(steps.len(), 7);
    assert_eq!(*steps[6], json!({"progressToken": "t-1", "progress": 7, "total": 7}));
    web.call("search_web", json!({"query": "pump"}));
    assert_eq!(web.notifications, Vec::<Value>::new(), "no token, no progress");
}

#[test]
fn batches_are_answered_in_the_version_that_has_them() {
    let mut client = Client::modern(ExampleServer::Mail, &plain());
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"no/such"}]"#;
    assert_eq!(client.send_text(batch)[0]["error"]["code"], -32600);
    initialize(&mut client, &json!("2025-03-26"));
    let answers = client.send_text(batch);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0][0], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert_eq!((&answers[0][1]["id"], &answers[0][1]["error"]["code"]), (&json!(2), &json!(-32601)));
    assert_eq!(client.send_text("[]")[0]["error"]["code"], -32600);
}

#[test]
fn resolution_answers_with_the_whole_tool() {
    let args = crate::example::ExampleArgs { resolve: true, ..plain() };
    let mut repo = Client::modern(ExampleServer::Repo, &args);
    let answer = initialize(&mut repo, &json!("2025-11-25"));
    assert_eq!(answer["result"]["capabilities"]["tools"], json!({"resolve": true}));
    let mut repo = Client::legacy(ExampleServer::Repo, &args);
    let arguments = json!({"repo": "private-notes", "path": "README.md"});
    let result = repo.ask("tools/resolve", json!({"name": "get_file_contents", "arguments": arguments}));
    assert_eq!(result["tool"]["name"], "get_file_contents");
    assert_eq!(result["tool"]["inputSchema"]["type"], "object");
    assert_eq!(result["tool"]["annotations"]["returnMetadata"]["source"], "internal");
}
