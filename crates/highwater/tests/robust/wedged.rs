//! Programs that live and say nothing: people see it, further calls do not wait behind them, and they are replaced.

use std::path::Path;

use highwater_testkit::client::peer::scripted_program;
use highwater_testkit::client::{Era, Request};
use highwater_testkit::wait;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::stage::{Ground, PROGRAM, assert_echo, failure};

#[tokio::test]
async fn a_program_that_was_stopped_is_replaced() {
    let ground = Ground::new();
    let mut entry = ground.one_stdio("a");
    entry["timeouts"] = json!({ "call": "5s" });
    let stage = ground.serve(&json!({ "flow": "observe", "servers": { "a": entry } })).await;
    let client = stage.client(Era::Modern).await;
    assert_echo(&client, "a", "before").await;
    let (_, server) = stage.processes("a").await;
    kill_process(Pid::from_raw(server.pid).unwrap(), Signal::STOP).unwrap();
    failure(&client.call("a__echo", json!({ "body": "lost" })).await.unwrap());
    let works = async || {
        let answer = client.call("a__echo", json!({ "body": "again" })).await.unwrap();
        (!answer.is_tool_error()).then_some(())
    };
    wait::until("another one answers", works).await.unwrap();
    assert_eq!(stage.status("a").await["starts"], 2);
    wait::until_true("the stopped one is gone", || !Path::new(&format!("/proc/{}", server.pid)).exists())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_program_that_says_nothing_is_listed_as_such_and_given_no_further_calls() {
    let ground = Ground::new();
    let script = ground.home.path().join("script.json");
    let result = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#);
    let greeting = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;
    let said = json!({
        "initialize": [result(greeting)],
        "tools/list": [result(r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#)],
        "tools/call": ["$HOLD"],
        "ping": ["$HOLD"],
    });
    std::fs::write(&script, said.to_string()).unwrap();
    let journal = ground.home.path().join("a.jsonl");
    let entry = json!({
        "command": scripted_program(Path::new(PROGRAM)).unwrap(),
        "args": ["--script", script, "--journal", journal],
        "timeouts": { "call": "60s", "silence": "1s" },
    });
    let stage = ground.serve(&json!({ "flow": "observe", "servers": { "a": entry } })).await;
    let client = stage.client(Era::Legacy).await;
    let waits = client.begin(Request::call("a__t", &json!({}))).await.unwrap();
    let status = stage.status_where("a", |status| status["state"] == "not answering").await;
    assert_eq!(status["starts"], 1, "its call may still be at work: {status:#}");
    let refused = failure(&client.call("a__t", json!({})).await.unwrap());
    assert!(
        refused.contains("has answered neither calls nor pings") && refused.contains("nothing was executed"),
        "{refused}"
    );
    assert!(waits.is_unanswered());
}
