//! One gate for all surfaces. Every route and every method of the running program is tried, and each message that a server
//! heard because of it has a decision on record that allowed it. Our own messages are a closed list.

use std::collections::BTreeMap;

use highwater_testkit::client::{Era, Request, Setup};
use http::Method;
use serde_json::json;

use crate::stage::Stage;

/// Messages that hold no client text and that the gateway sends by itself.
const OURS: [&str; 9] = [
    "initialize",
    "notifications/initialized",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "ping",
    "logging/setLevel",
    "notifications/cancelled",
];

/// Every method that either era has, that a server may have, and some that nobody has. Compared with the program's own
/// list, so that a new one is tried here too.
const METHODS: &[(&str, &str)] = &[
    ("ping", "{}"),
    ("logging/setLevel", r#"{"level":"debug"}"#),
    ("server/discover", "{}"),
    ("tools/list", "{}"),
    ("tools/call", r#"{"name":"a__look","arguments":{"x":1}}"#),
    ("tools/call", r#"{"name":"retrieve_tools","arguments":{"query":"look"}}"#),
    ("tools/call", r#"{"name":"describe_tool","arguments":{"name":"a__look","arguments":{"x":1}}}"#),
    ("tools/call", r#"{"name":"call_tool_read","arguments":{"name":"a__look","arguments":{"x":1}}}"#),
    ("tools/call", r#"{"name":"call_tool_read","arguments":{"name":"a__change"}}"#),
    ("tools/call", r#"{"name":"call_tool_write","arguments":{"name":"a__change"}}"#),
    ("tools/call", r#"{"name":"call_tool_destructive","arguments":{"name":"b__liar"}}"#),
    ("tools/resolve", r#"{"name":"a__look","arguments":{}}"#),
    ("tools/resolve", r#"{"name":"call_tool_read","arguments":{"name":"a__look"}}"#),
    ("prompts/list", "{}"),
    ("prompts/get", r#"{"name":"a__ask"}"#),
    ("resources/list", "{}"),
    ("resources/templates/list", "{}"),
    ("resources/read", r#"{"uri":"a+note://one"}"#),
    ("resources/subscribe", r#"{"uri":"a+note://one"}"#),
    ("resources/unsubscribe", r#"{"uri":"a+note://one"}"#),
    (
        "completion/complete",
        r#"{"ref":{"type":"ref/prompt","name":"a__ask"},"argument":{"name":"x","value":"y"}}"#,
    ),
    ("tasks/get", r#"{"taskId":"t"}"#),
    ("tasks/list", "{}"),
    ("tasks/result", r#"{"taskId":"t"}"#),
    ("tasks/cancel", r#"{"taskId":"t"}"#),
    ("tasks/update", r#"{"taskId":"t"}"#),
    (
        "initialize",
        r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#,
    ),
    ("subscriptions/listen", r#"{"notifications":{"resourceSubscriptions":["a+note://one"]}}"#),
    ("acme/do", "{}"),
    ("acme/other", "{}"),
    ("sampling/createMessage", "{}"),
    ("elicitation/create", "{}"),
    ("roots/list", "{}"),
    ("approval/challenge/create", "{}"),
    ("approval/challenge/create", r#"{"toolName":"a__look","arguments":{"x":1}}"#),
    ("approval/enroll/begin", "{}"),
    ("approval/enroll/finish", "{}"),
];

/// Every path there is, and some that nobody has.
const PATHS: &[&str] = &[
    "/",
    "/healthz",
    "/readyz",
    "/metrics",
    "/mcp",
    "/mcp/",
    "/mcp/v/side",
    "/mcp/v/default",
    "/mcp/v/none",
    "/mcp/c/none",
    "/mcp/v/side/c/none",
    "/mcp/call",
    "/mcp/all",
    "/sse",
    "/message",
    "/api/v1/servers",
    "/api/v1/servers/a",
    "/api/v1/servers/a/approve",
    "/api/v1/servers/a/reject",
    "/api/v1/servers/a/describe",
    "/api/v1/servers/a/undescribe",
    "/api/v1/sessions",
    "/api/v1/sessions/x",
    "/api/v1/sessions/x/reset",
    "/api/v1/sessions/x/new",
    "/api/v1/contexts",
    "/api/v1/marks",
    "/api/v1/marks/clear",
    "/api/v1/tokens",
    "/api/v1/tokens/x/rotate",
    "/api/v1/tokens/x/revoke",
    "/api/v1/notices",
    "/api/v1/approvals",
    "/api/v1/approvals/x",
    "/api/v1/approvals/x/deny",
    "/api/v1/approvals/inbox",
    "/api/v1/approvals/enroll",
    "/api/v1/approvals/enrollments",
    "/api/v1/approvals/credentials",
    "/api/v1/approvals/credentials/x/rename",
    "/api/v1/approvals/credentials/x/revoke",
    "/api/v1/approvals/mandates",
    "/api/v1/approvals/mandates/x/revoke",
    "/api/v1/approvals/remembered/x/forget",
    "/api/v1/approvals/paused/agent/x/resume",
    "/api/v1/approvals/reset",
    "/api/v1/approvals/reset/complete",
    "/api/v1/approvals/resets",
    "/api/v1/approvals/receipts",
    "/api/v1/approvals/receipts/x",
    "/api/v1/tools/call",
    "/api/v1/none",
];

/// What each server was made to do, by method: everything in its journal that is not one of our own messages.
fn done(stage: &Stage) -> BTreeMap<String, usize> {
    let mut done = BTreeMap::new();
    for note in ["a", "b"].into_iter().flat_map(|server| stage.journal(server).notes()) {
        let method = note.method.unwrap_or_default();
        if !OURS.contains(&method.as_str()) {
            *done.entry(method).or_default() += 1;
        }
    }
    done
}

/// What was allowed, by method, from the record.
fn allowed(stage: &Stage) -> BTreeMap<String, usize> {
    let mut allowed = BTreeMap::new();
    for event in stage.record() {
        let ruling = event["ruling"].as_str();
        if event["event"] == "decision" && matches!(ruling, Some("allowed" | "approved")) {
            *allowed.entry(event["method"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    allowed
}

fn covered(stage: &Stage, after: &str) {
    let (done, allowed) = (done(stage), allowed(stage));
    for (method, times) in &done {
        let decided = allowed.get(method).copied().unwrap_or(0);
        assert!(
            *times <= decided,
            "after {after}: `{method}` reached a server {times} times, and was allowed {decided} times"
        );
    }
}

#[tokio::test]
async fn nothing_reaches_a_server_without_a_decision_on_record() {
    let stage = Stage::new(json!({ "expose": "both" })).await;
    let operator = stage.gateway.operator_token().to_owned();
    let agent = stage.gateway.agent_token().to_owned();
    let reader = stage.token("reader", json!({ "permissions": ["call_tool_read"], "servers": ["a"] })).await;
    stage.client(Era::Modern, &agent).await.request("tools/list", json!({})).await.unwrap();

    // Every method, in both eras, over both fronts, with every kind of token.
    for era in [Era::Legacy, Era::Modern] {
        for secret in [Some(&agent), Some(&reader), None] {
            let setup = match secret {
                Some(secret) => stage.setup(era, secret),
                None => stage.gateway.stdio(era),
            };
            let client = setup.connect().await.unwrap();
            for (method, params) in METHODS {
                if *method == "subscriptions/listen" {
                    if era == Era::Modern {
                        let filter = json!({ "resourceSubscriptions": ["a+note://one"] });
                        client.listen(filter).await.unwrap().close().await.unwrap();
                    }
                    continue;
                }
                let request = Request::new(method).raw_params(params).once();
                // Some are refused by the transport itself; what counts is what the server saw.
                let _answer = client.send(request).await;
                covered(&stage, &format!("{method} ({era:?})"));
            }
        }
    }

    // Every path with every verb, as everybody, with a call in the body.
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__wipe","arguments":{}}}"#;
    for path in PATHS {
        let url = stage.gateway.endpoint().replace("/mcp", path);
        for secret in [operator.as_str(), agent.as_str(), reader.as_str(), ""] {
            let person = Setup::http(&url).token(secret).connect_silently().await.unwrap();
            for verb in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
                let headers =
                    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
                let verb = Method::from_bytes(verb.as_bytes()).unwrap();
                // What has an answer was done; a stream that stays open begins with its head.
                let _head = person.open(verb.clone(), call.to_owned(), &headers).await;
                covered(&stage, &format!("{verb} {path}"));
            }
        }
    }
    let done = done(&stage);
    for method in [
        "tools/call",
        "resources/read",
        "resources/subscribe",
        "prompts/get",
        "completion/complete",
        "acme/do",
    ] {
        assert!(done.get(method).is_some_and(|times| *times > 0), "`{method}` was never tried: {done:?}");
    }
    assert_eq!(stage.reached("a", "tools/call", "wipe"), 0, "a call without a session was made");
}

#[test]
fn every_method_of_the_protocol_is_tried() {
    let source = include_str!("../../../mcp/src/method.rs");
    let rows = source.lines().filter(|line| line.trim_start().starts_with("(Method::"));
    let known: Vec<&str> = rows.filter_map(|row| row.split('"').nth(1)).collect();
    assert!(known.len() > 12, "the list of methods has another shape: {known:?}");
    for method in &known {
        assert!(METHODS.iter().any(|(tried, _)| tried == method), "`{method}` is not tried");
    }
}

#[test]
fn every_tool_of_our_own_is_tried() {
    let source = include_str!("../../../gateway/src/catalog/own_tool.rs");
    let names = source.split("const NAMES").nth(1).unwrap().split(';').nth(1).unwrap();
    let names: Vec<&str> = names.split('"').skip(1).step_by(2).collect();
    assert_eq!(names.len(), 5, "the list of our tools has another shape: {names:?}");
    for name in names {
        let tried = |(method, params): &(&str, &str)| *method == "tools/call" && params.contains(name);
        assert!(METHODS.iter().any(tried), "`{name}` is not tried");
    }
}

#[test]
fn every_path_of_the_program_is_tried() {
    let pages = include_str!("../../../gateway/src/front/http/pages.rs");
    let api = include_str!("../../../gateway/src/front/http/api.rs");
    let listed = pages.split("const PAGES").nth(1).unwrap().split(';').nth(1).unwrap();
    for page in listed.split('"').skip(1).step_by(2) {
        assert!(PATHS.contains(&page), "`{page}` is not tried");
    }
    // The arms of the interface: `(["sessions", key, "reset"], Some(act))`, and those of approvals: `[id, "deny"] =>`.
    let arms = api.split("([").skip(1).filter_map(|arm| arm.split_once("],").map(|(path, _)| path));
    let arms = arms.filter(|arm| arm.starts_with('"') && !arm.contains("..")).map(str::to_owned);
    let approvals = include_str!("../../../gateway/src/front/http/api_approvals.rs");
    let inner = approvals.lines().filter_map(|line| line.trim_start().strip_prefix('[')?.split_once("] =>"));
    let inner: Vec<String> = inner.map(|(arm, _)| format!(r#""approvals",{arm}"#)).collect();
    assert!(inner.len() >= 12, "the interface of approvals has another shape: {inner:?}");
    let mut tried = 0;
    for arm in arms.chain(inner) {
        let arm = arm.trim_end_matches(',');
        let part =
            |text: &str| text.trim().strip_prefix('"').map(|text| text.trim_end_matches('"').to_owned());
        let path: Vec<String> =
            arm.split(',').map(|text| part(text).unwrap_or_else(|| "?".to_owned())).collect();
        let fits = |known: &&&str| {
            let known: Vec<&str> = known.trim_start_matches("/api/v1/").split('/').collect();
            known.len() == path.len()
                && known.iter().zip(&path).all(|(known, part)| part == "?" || known == part)
        };
        assert!(PATHS.iter().find(fits).is_some(), "`{}` is not tried", path.join("/"));
        tried += 1;
    }
    assert!(tried >= 8, "the interface has another shape");
}
