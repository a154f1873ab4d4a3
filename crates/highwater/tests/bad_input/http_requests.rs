//! HTTP requests that are refused for what their head says, each with the status that tells the client what to do.

use highwater_testkit::client::Era;
use highwater_testkit::client::gateway::Gateway;
use highwater_testkit::client::peer::Journal;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::fronts::call;
use crate::raw_http::{Head, address, connect};
use crate::stage::{NEVER, assert_only_calls, gateway};

/// A legacy session at the default virtual server, as a head for further requests.
async fn session(gateway: &Gateway) -> Head {
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let reply = Head::post(gateway).send(gateway, &hello.to_string()).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let id = reply.header("mcp-session-id").unwrap();
    Head::post(gateway).with("Mcp-Session-Id", id).with("MCP-Protocol-Version", "2025-11-25")
}

fn message(body: &str) -> String {
    call(Era::Legacy, &format!(r#""name":"up__echo","arguments":{{"body":"{body}"}}"#))
}

async fn assert_statuses(gateway: &Gateway, journal: &Journal, good: &Head, cases: Vec<(&str, Head, u16)>) {
    let count = cases.len();
    let mut wrong = Vec::new();
    for (name, head, status) in cases {
        let reply = head.send(gateway, &message(NEVER)).await;
        // A person who looks at the answer reads why.
        if reply.status != status || reply.body.trim().is_empty() {
            wrong.push(format!("{name}: {status} was expected: {reply:?}"));
        }
        let reply = good.send(gateway, &message("fine")).await;
        assert_eq!(reply.json()["result"]["structuredContent"]["body"], "fine", "after {name}: {reply:?}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_only_calls(journal, count);
}

#[tokio::test]
async fn a_foreign_host_or_origin_is_forbidden() {
    let (gateway, journal) = gateway().await;
    let good = session(&gateway).await;
    let cases = vec![
        ("another host", good.clone().with("Host", "evil.example"), 403),
        ("our name as the start of another", good.clone().with("Host", "localhost.evil.example"), 403),
        ("our address as the start of another", good.clone().with("Host", "127.0.0.1.evil.example:80"), 403),
        ("our name behind a user", good.clone().with("Host", "localhost@evil.example"), 403),
        ("two hosts", good.clone().and("Host", "evil.example"), 403),
        ("two hosts, ours last", good.clone().with("Host", "evil.example").and("Host", "localhost"), 403),
        ("an empty host", good.clone().with("Host", ""), 403),
        ("no host", good.clone().without("Host"), 403),
        ("another origin", good.clone().with("Origin", "https://evil.example"), 403),
        ("no origin in particular", good.clone().with("Origin", "null"), 403),
        (
            "our name as the start of an origin",
            good.clone().with("Origin", "http://localhost.evil.example"),
            403,
        ),
        (
            "our name behind a user in an origin",
            good.clone().with("Origin", "http://localhost@evil.example"),
            403,
        ),
        ("another scheme", good.clone().with("Origin", "file://localhost"), 403),
        (
            "two origins",
            good.clone().with("Origin", "http://localhost").and("Origin", "https://evil.example"),
            403,
        ),
        // Where a request comes from is asked before who it is.
        (
            "another host and no token",
            good.clone().with("Host", "evil.example").without("Authorization"),
            403,
        ),
    ];
    assert_statuses(&gateway, &journal, &good, cases).await;
}

#[tokio::test]
async fn our_own_names_are_answered() {
    let (gateway, _) = gateway().await;
    let good = session(&gateway).await;
    let port = address(&gateway).port();
    let heads = [
        good.clone().with("Host", "localhost"),
        good.clone().with("Host", &format!("LOCALHOST:{port}")),
        good.clone().with("Host", &format!("[::1]:{port}")),
        good.clone().with("Origin", "http://localhost:3000"),
        good.clone().with("Origin", "https://127.0.0.1"),
        good.clone().with("Origin", &format!("http://[::1]:{port}")),
    ];
    for head in heads {
        let reply = head.send(&gateway, &message("fine")).await;
        assert_eq!(reply.status, 200, "{reply:?}");
    }
}

#[tokio::test]
async fn whoever_has_no_token_is_not_let_in() {
    let (gateway, journal) = gateway().await;
    let good = session(&gateway).await;
    let token = gateway.agent_token();
    let bearer = |token: &str| good.clone().with("Authorization", &format!("Bearer {token}"));
    let cases = vec![
        ("no token", good.clone().without("Authorization"), 401),
        ("an empty token", bearer(""), 401),
        ("a wrong token", bearer("hwa_wrong"), 401),
        ("a token without its start", bearer(token.get(1..).unwrap()), 401),
        ("a token with something behind it", bearer(&format!("{token}x")), 401),
        ("the operator's token", bearer(gateway.operator_token()), 401),
        ("another scheme", good.clone().with("Authorization", &format!("Basic {token}")), 401),
        ("the token without a scheme", good.clone().with("Authorization", token), 401),
        // Who somebody is, is asked before what it wants.
        (
            "no token and another type",
            good.clone().without("Authorization").with("Content-Type", "text/plain"),
            401,
        ),
    ];
    for (_, head, _) in &cases {
        let reply = head.send(&gateway, &message(NEVER)).await;
        assert!(
            reply.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")),
            "{reply:?}"
        );
    }
    assert_statuses(&gateway, &journal, &good, cases).await;
}

#[tokio::test]
async fn a_body_or_an_answer_of_another_type_is_refused() {
    let (gateway, journal) = gateway().await;
    let good = session(&gateway).await;
    let cases = vec![
        ("no type", good.clone().without("Content-Type"), 415),
        ("text", good.clone().with("Content-Type", "text/plain"), 415),
        ("a form", good.clone().with("Content-Type", "application/x-www-form-urlencoded"), 415),
        ("a type that starts like ours", good.clone().with("Content-Type", "application/json-seq"), 415),
        ("a type in a parameter", good.clone().with("Content-Type", "text/plain; application/json"), 415),
        ("no wish for an answer", good.clone().without("Accept"), 406),
        ("JSON alone", good.clone().with("Accept", "application/json"), 406),
        ("events alone", good.clone().with("Accept", "text/event-stream"), 406),
        ("a page", good.clone().with("Accept", "text/html"), 406),
    ];
    assert_statuses(&gateway, &journal, &good, cases).await;
    let charset = good.with("Content-Type", "Application/JSON; charset=utf-8").with("Accept", "*/*");
    assert_eq!(charset.send(&gateway, &message("fine")).await.status, 200);
}

#[tokio::test]
async fn a_session_that_is_not_the_callers_does_not_exist() {
    let (gateway, journal) = gateway().await;
    let good = session(&gateway).await;
    let cases = vec![
        ("no session", good.clone().without("Mcp-Session-Id"), 400),
        ("an unknown session", good.clone().with("Mcp-Session-Id", "AAAAAAAAAAAAAAAAAAAAAA"), 404),
        ("an empty session", good.clone().with("Mcp-Session-Id", ""), 404),
        ("a session of another virtual server", good.clone().line("POST", "/mcp/v/other"), 404),
        ("another version than agreed", good.clone().with("MCP-Protocol-Version", "2025-06-18"), 400),
    ];
    assert_statuses(&gateway, &journal, &good, cases).await;
    let stream = good.clone().with("Accept", "text/event-stream");
    for (method, path, status) in [
        ("GET", "/mcp/v/other", 404),
        ("DELETE", "/mcp/v/other", 404),
        ("DELETE", "/mcp", 200),
        ("DELETE", "/mcp", 404),
    ] {
        let reply = stream.clone().line(method, path).send(&gateway, "").await;
        assert_eq!(reply.status, status, "{method} {path}: {reply:?}");
    }
    let gone = good.send(&gateway, &message(NEVER)).await;
    assert_eq!(gone.status, 404, "{gone:?}");
    let gone = stream.line("GET", "/mcp").send(&gateway, "").await;
    assert_eq!(gone.status, 404, "{gone:?}");
}

#[tokio::test]
async fn paths_and_methods_that_lead_nowhere_say_so() {
    let (gateway, journal) = gateway().await;
    let good = session(&gateway).await;
    let line = |method: &str, path: &str| good.clone().line(method, path);
    let cases = vec![
        ("an unknown path", line("POST", "/mcpx"), 404),
        ("a path below ours", line("POST", "/mcp/x"), 404),
        ("an unknown virtual server", line("POST", "/mcp/v/nobody"), 404),
        ("a virtual server without a name", line("POST", "/mcp/v/"), 404),
        ("a path that climbs", line("POST", "/mcp/v/../v/other"), 404),
        ("a context that is no word", line("POST", "/mcp/c/a%20b"), 404),
        ("PUT", line("PUT", "/mcp"), 405),
        ("PATCH", line("PATCH", "/mcp"), 405),
        ("OPTIONS", line("OPTIONS", "/mcp"), 405),
        ("GET without a session", line("GET", "/mcp").without("Mcp-Session-Id"), 405),
        ("DELETE without a session", line("DELETE", "/mcp").without("Mcp-Session-Id"), 405),
    ];
    for (name, head, status) in &cases {
        if *status == 405 {
            let reply = head.send(&gateway, &message(NEVER)).await;
            assert!(reply.header("allow").is_some(), "{name}: {reply:?}");
        }
    }
    assert_statuses(&gateway, &journal, &good, cases).await;
}

#[tokio::test]
async fn bytes_that_are_no_request_cost_their_own_connection_alone() {
    let (gateway, journal) = gateway().await;
    let client = gateway.http(Era::Legacy).connect().await.unwrap();
    let long = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Long: {}\r\n\r\n", "x".repeat(1 << 20));
    let head = Head::post(&gateway).text();
    let garbage: [&[u8]; 6] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"nonsense\r\n\r\n",
        b"POST /mcp HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n",
        long.as_bytes(),
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    ];
    for bytes in garbage {
        let mut stream = connect(&gateway).await;
        // It may hang up before it has read everything.
        stream.write_all(bytes).await.ok();
        stream.shutdown().await.ok();
        let mut answer = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut answer).await.ok();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(
            !answer.starts_with("HTTP/1.1 2"),
            "{:?}: {answer}",
            String::from_utf8_lossy(&bytes[..20.min(bytes.len())])
        );
    }
    // A body that is announced and never comes.
    let mut stream = connect(&gateway).await;
    let half = head.replacen("\r\n\r\n", "\r\nContent-Length: 1000\r\n\r\n", 1) + &message(NEVER);
    stream.write_all(half.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut answer).await.ok();
    assert!(!String::from_utf8_lossy(&answer).starts_with("HTTP/1.1 2"));

    let answer = client.call("up__echo", json!({ "body": "fine" })).await.unwrap();
    assert_eq!(answer.at("/result/structuredContent/body"), "fine");
    assert_only_calls(&journal, 1);
}

#[tokio::test]
async fn what_is_for_the_operator_is_not_for_agents() {
    let (gateway, _) = gateway().await;
    let page = Head::new("GET", "/api/v1/servers").with("Host", "localhost");
    let with = |token: &str| page.clone().with("Authorization", &format!("Bearer {token}"));
    assert_eq!(page.send(&gateway, "").await.status, 401);
    assert_eq!(with(gateway.agent_token()).send(&gateway, "").await.status, 401);
    assert_eq!(with(gateway.operator_token()).send(&gateway, "").await.status, 200);
}
