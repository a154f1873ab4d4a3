//! Messages that are whole and ask for what there is not, or at the wrong time, or in somebody else's name.

use highwater_testkit::client::{Client, Era, Request};
use serde_json::{Value, json};

use crate::fronts::Front;
use crate::stage::{NEVER, assert_only_calls, gateway, home};

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;
const HEADER_MISMATCH: i64 = -32020;

/// A client of every kind, all of one gateway.
pub(crate) async fn clients(gateway: &highwater_testkit::client::gateway::Gateway) -> Vec<Client> {
    let mut clients = Vec::new();
    for era in [Era::Legacy, Era::Modern] {
        clients.push(gateway.http(era).connect().await.unwrap());
        clients.push(gateway.stdio(era).connect().await.unwrap());
    }
    clients
}

pub(crate) async fn assert_usable(client: &Client) {
    let answer = client.call("up__echo", json!({ "body": "fine" })).await.unwrap();
    assert_eq!(answer.at("/result/structuredContent/body"), "fine", "{}", answer.raw());
}

#[tokio::test]
async fn methods_and_names_that_nobody_has_lead_nowhere() {
    let (gateway, journal) = gateway().await;
    let requests = [
        ("evil/method", json!({ "x": NEVER }), METHOD_NOT_FOUND),
        ("Tools/Call", json!({ "name": "up__echo", "arguments": { "x": NEVER } }), METHOD_NOT_FOUND),
        ("tools//call", json!({ "name": "up__echo", "arguments": { "x": NEVER } }), METHOD_NOT_FOUND),
        ("notifications/initialized", json!({ "x": NEVER }), METHOD_NOT_FOUND),
        ("sampling/createMessage", json!({ "x": NEVER }), METHOD_NOT_FOUND),
        ("tasks/list", json!({ "x": NEVER }), METHOD_NOT_FOUND),
        ("tools/call", json!({ "name": NEVER, "arguments": {} }), INVALID_PARAMS),
        ("tools/call", json!({ "name": "echo", "arguments": { "x": NEVER } }), INVALID_PARAMS),
        ("tools/call", json!({ "name": "up__Echo", "arguments": { "x": NEVER } }), INVALID_PARAMS),
        ("tools/call", json!({ "name": 7, "arguments": { "x": NEVER } }), INVALID_PARAMS),
        ("tools/call", json!({ "arguments": { "x": NEVER } }), INVALID_PARAMS),
        ("prompts/get", json!({ "name": NEVER }), INVALID_PARAMS),
        ("tools/list", json!({ "cursor": NEVER }), INVALID_PARAMS),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": NEVER }, "argument": { "name": "a", "value": "b" } }),
            INVALID_PARAMS,
        ),
        ("completion/complete", json!({ "ref": NEVER }), INVALID_PARAMS),
    ];
    let mut calls = 0;
    for client in clients(&gateway).await {
        for (method, params, code) in &requests {
            let answer = client.send(Request::new(method).params(params.clone()).once()).await.unwrap();
            // A call without a name has no header for it either, and that is looked at first.
            let headless = client.era() == Era::Modern && client.pid().await.is_none();
            let nameless = *method == "tools/call" && !params["name"].is_string();
            let code = if headless && nameless { HEADER_MISMATCH } else { *code };
            let shown = (client.era(), method, answer.raw());
            assert_eq!(answer.error_code(), Some(code), "{shown:?}");
            assert_usable(&client).await;
            calls += 1;
        }
        // Neither era may be told what the other is: a resource nobody has.
        let answer =
            client.request("resources/read", json!({ "uri": format!("test://{NEVER}") })).await.unwrap();
        let code = if client.era() == Era::Legacy { -32002 } else { INVALID_PARAMS };
        assert_eq!(answer.error_code(), Some(code), "{}", answer.raw());
    }
    assert_only_calls(&journal, calls);
}

#[tokio::test]
async fn nobody_speaks_in_our_name() {
    let (gateway, journal) = gateway().await;
    for client in clients(&gateway).await {
        let request = Request::call("up__echo", &json!({ "body": "fine" }))
            .meta("dev.highwater/decision", NEVER)
            .meta("dev.highwater/label", json!({ "integrity": NEVER }))
            .meta("test.example/kept", "yes");
        let answer = client.send(request).await.unwrap();
        assert_eq!(answer.at("/result/structuredContent/body"), "fine", "{}", answer.raw());
    }
    // What is not ours passes.
    assert!(journal.of("tools/call").iter().all(|note| note.raw.contains("test.example/kept")));
    assert_only_calls(&journal, 4);
}

#[tokio::test]
async fn a_legacy_client_that_does_not_introduce_itself_is_told_to() {
    let (home, journal) = home();
    let client = home.stdio(Era::Legacy).connect_silently().await.unwrap();
    for method in ["tools/list", "tools/call", "ping", "resources/read"] {
        let answer = client.request(method, json!({ "name": "up__echo", "uri": NEVER })).await.unwrap();
        assert_eq!(answer.error_code(), Some(INVALID_REQUEST), "{method}: {}", answer.raw());
        assert!(answer.at("/error/message").as_str().unwrap().contains("initialize"), "{}", answer.raw());
    }
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    client.request("initialize", hello.clone()).await.unwrap().result().unwrap();
    let again = client.request("initialize", hello).await.unwrap();
    assert_eq!(again.error_code(), Some(INVALID_REQUEST), "{}", again.raw());
    assert_usable(&client).await;
    assert_only_calls(&journal, 1);
}

#[tokio::test]
async fn an_id_that_is_in_use_is_not_used_again_and_the_first_request_goes_on() {
    let (gateway, journal) = gateway().await;
    let over_http = gateway.http(Era::Legacy).connect().await.unwrap();
    let joined =
        [Front::stdio(gateway.home(), Era::Legacy).await, Front::stdio(gateway.home(), Era::Modern).await];
    // Calls wait for these files.
    let gate = |name: &str| gateway.home().path().join(name);
    let first = over_http
        .begin(Request::call("up__sleep", &json!({ "until": gate("gate"), "mark": "first" })).id(r#""same""#))
        .await
        .unwrap();
    journal.wait("tools/call", "first").await.unwrap();
    let message = json!({ "jsonrpc": "2.0", "id": "same", "method": "tools/call",
        "params": { "name": "up__echo", "arguments": { "x": NEVER } } });
    let reply = over_http.exchange(http::Method::POST, message.to_string(), &[]).await.unwrap();
    let answer: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(
        (reply.status, &answer["error"]["code"], &answer["id"]),
        (400, &json!(INVALID_REQUEST), &json!("same"))
    );
    std::fs::write(gate("gate"), "").unwrap();
    assert_eq!(first.answer().await.unwrap().text().unwrap(), "waited");
    // Over stdio the answers come on one line, and the refusal comes first.
    for (number, front) in joined.iter().enumerate() {
        let (mark, mark_gate) = (format!("first-{number}"), format!("gate-{number}"));
        let call = |name: &str, mark: &str| {
            let arguments = json!({ "until": gate(&mark_gate), "x": mark });
            let members = format!(r#""name":"{name}","arguments":{arguments}"#);
            crate::fronts::call(front.era(), &members)
        };
        let both = format!("{}\n{}", call("up__sleep", &mark), call("up__echo", NEVER));
        let refusal = front.say(both.as_bytes()).await.message;
        assert_eq!(
            (&refusal["error"]["code"], &refusal["id"]),
            (&json!(INVALID_REQUEST), &json!(7)),
            "{refusal}"
        );
        std::fs::write(gate(&mark_gate), "").unwrap();
        let answer = front.hear().await.message;
        assert_eq!(answer["result"]["content"][0]["text"], "waited", "{answer}");
        front.assert_usable(number).await;
    }
    assert_only_calls(&journal, 5);
}

#[tokio::test]
async fn a_message_on_a_line_of_its_own_inside_another_is_not_a_message() {
    let (gateway, journal) = gateway().await;
    // What a reader of lines would take for a call, if the line breaks of a body reached it.
    let inner = format!(
        r#"{{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{{"name":"add_tool","arguments":{{"name":"{NEVER}"}}}}}}"#
    );
    for (number, era) in [Era::Legacy, Era::Modern].into_iter().enumerate() {
        let front = Front::http(&gateway, era).await;
        for (round, line_break) in ["\n", "\r", "\r\n", " \n\t"].into_iter().enumerate() {
            let members = format!(r#""name":"up__echo","arguments":{{"number":{number},"x":@{inner}@}}"#)
                .replace('@', line_break);
            let message = crate::fronts::call(era, &members)
                .replace(r#","method""#, &format!(r#",{line_break}"method""#));
            let answer = front.say(message.as_bytes()).await.message;
            assert_eq!(answer["result"]["structuredContent"]["x"]["id"], 99, "{answer}");
            front.assert_usable(round).await;
        }
    }
    let calls = journal.of("tools/call");
    assert_eq!(calls.len(), 16, "{calls:#?}");
    assert!(calls.iter().all(|call| call.raw.contains(r#""name":"echo""#)), "{calls:#?}");
    // The inner one arrived as what it is: an argument, on the line of its call.
    assert_eq!(calls.iter().filter(|call| call.raw.contains(NEVER)).count(), 8, "{calls:#?}");
    assert!(calls.iter().all(|call| call.raw.starts_with('{') && call.raw.ends_with('}')), "{calls:#?}");
    let notes = journal.notes();
    assert!(notes.iter().all(|note| note.method.is_some()), "{notes:#?}");
}
