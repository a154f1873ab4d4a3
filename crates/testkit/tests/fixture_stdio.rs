//! The fixture on a pair of streams: both eras, questions, cancellation, and servers that misbehave.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use highwater_testkit::fixture::{Eras, Fixture, Options, stdio};
use highwater_testkit::wait::PATIENCE;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::process::Command;
use tokio::time::timeout;

struct Client {
    input: WriteHalf<DuplexStream>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
}

impl Client {
    fn new(options: Options) -> Self {
        let fixture = Fixture::new(options).unwrap();
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(theirs);
        tokio::spawn(stdio::serve(fixture, input, output));
        let (output, input) = tokio::io::split(ours);
        Self { input, output: BufReader::new(output).lines() }
    }

    fn with_extras() -> Self {
        Self::new(Options { extras: true, ..Options::default() })
    }

    async fn send(&mut self, message: &str) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn line(&mut self) -> String {
        timeout(PATIENCE, self.output.next_line()).await.unwrap().unwrap().unwrap()
    }

    async fn receive(&mut self) -> Value {
        serde_json::from_str(&self.line().await).unwrap()
    }

    async fn initialize(&mut self, capabilities: Value) -> Value {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "1" } });
        self.send(
            &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string(),
        )
        .await;
        self.receive().await
    }

    async fn call(&mut self, id: u64, tool: &str, arguments: Value) {
        let params = json!({ "name": tool, "arguments": arguments });
        self.send(
            &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string(),
        )
        .await;
    }
}

fn modern(id: u64, method: &str, mut params: Value) -> String {
    params.as_object_mut().unwrap().insert(
        "_meta".to_owned(),
        json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {}, "sampling": {} } }),
    );
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn text(message: &Value) -> &str {
    message.pointer("/result/content/0/text").and_then(Value::as_str).unwrap_or_else(|| panic!("{message}"))
}

fn code(message: &Value) -> Option<i64> {
    message.pointer("/error/code").and_then(Value::as_i64)
}

async fn noted(path: &Path, method: &str) -> bool {
    let look = async {
        while !std::fs::read_to_string(path).unwrap().contains(&format!("\"method\":\"{method}\"")) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, look).await.is_ok()
}

fn journal() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    (folder, path)
}

#[tokio::test]
async fn both_eras_share_one_process() {
    let mut client = Client::with_extras();
    client.send(&modern(1, "server/discover", json!({}))).await;
    let discovered = client.receive().await;
    let versions = discovered.pointer("/result/supportedVersions").unwrap();
    assert_eq!(versions, &json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]));
    assert_eq!(discovered.pointer("/result/resultType"), Some(&json!("complete")));

    let greeted = client.initialize(json!({})).await;
    assert_eq!(greeted.pointer("/result/protocolVersion"), Some(&json!("2025-11-25")));
    assert_eq!(greeted.pointer("/result/resultType"), None);

    client.call(2, "greet", json!({ "name": "old" })).await;
    assert_eq!(text(&client.receive().await), "Hello, old!");
    client.send(&modern(3, "tools/call", json!({ "name": "greet", "arguments": { "name": "new" } }))).await;
    assert_eq!(text(&client.receive().await), "Hello, new!");
}

#[tokio::test]
async fn echo_and_ids_keep_every_byte() {
    let mut client = Client::with_extras();
    client.initialize(json!({})).await;
    let arguments = r#"{"z":12345678901234567890123,"a":[1.50,1e400],"é":"\u00e9"}"#;
    client
        .send(&format!(
            r#"{{"jsonrpc":"2.0","id":99999999999999999999,"method":"tools/call","params":{{"name":"echo","arguments":{arguments}}}}}"#
        ))
        .await;
    let line = client.line().await;
    assert!(line.contains(r#""id":99999999999999999999"#), "{line}");
    assert!(line.contains(&format!(r#""structuredContent":{arguments}"#)), "{line}");
}

#[tokio::test]
async fn a_legacy_question_goes_out_and_its_answer_ends_the_call() {
    let mut client = Client::with_extras();
    client.initialize(json!({ "elicitation": {} })).await;
    client.call(1, "ask_elicit", json!({ "message": "sure?" })).await;
    let question = client.receive().await;
    assert_eq!(question.pointer("/method"), Some(&json!("elicitation/create")));
    assert_eq!(question.pointer("/params/message"), Some(&json!("sure?")));
    let answer = json!({ "action": "accept", "content": { "answer": "yes" } });
    client.send(&json!({ "jsonrpc": "2.0", "id": question.get("id"), "result": answer }).to_string()).await;
    assert_eq!(text(&client.receive().await), r#"action=accept, content={"answer":"yes"}"#);

    // Not declared: the tool fails, it does not hang.
    client.call(2, "ask_sample", json!({ "prompt": "?" })).await;
    let refused = client.receive().await;
    assert_eq!(refused.pointer("/result/isError"), Some(&json!(true)));
}

#[tokio::test]
async fn a_page_to_open_has_an_id_in_the_legacy_era_alone() {
    let mut client = Client::with_extras();
    client.initialize(json!({ "elicitation": { "url": {} } })).await;
    client.call(1, "ask_elicit", json!({ "url": "https://example.test/" })).await;
    assert!(client.receive().await.pointer("/params/elicitationId").is_some());
    let params = json!({ "name": "ask_elicit", "arguments": { "url": "https://example.test/" } });
    client.send(&modern(2, "tools/call", params)).await;
    let asked = client.receive().await;
    let page = asked.pointer("/result/inputRequests/asked/params").unwrap();
    assert_eq!(page, &json!({ "mode": "url", "message": "?", "url": "https://example.test/" }));
}

#[tokio::test]
async fn a_modern_question_is_a_result_and_the_retry_completes() {
    let mut client = Client::with_extras();
    let mut params = json!({ "name": "ask_sample", "arguments": { "prompt": "2+2" } });
    client.send(&modern(1, "tools/call", params.clone())).await;
    let asked = client.receive().await;
    assert_eq!(asked.pointer("/result/resultType"), Some(&json!("input_required")));
    let answer = json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "4" } });
    params.as_object_mut().unwrap().insert("inputResponses".to_owned(), json!({ "model": answer }));
    client.send(&modern(2, "tools/call", params)).await;
    assert_eq!(text(&client.receive().await), "LLM response: 4");
}

#[tokio::test]
async fn the_rounds_of_the_suite_work_for_a_legacy_client_too() {
    let mut client = Client::with_extras();
    client.initialize(json!({ "elicitation": {} })).await;
    client.call(1, "test_input_required_result_multi_round", json!({})).await;
    for content in [json!({ "name": "Ada" }), json!({ "color": "blue" })] {
        let question = client.receive().await;
        let answer = json!({ "action": "accept", "content": content });
        client
            .send(&json!({ "jsonrpc": "2.0", "id": question.get("id"), "result": answer }).to_string())
            .await;
    }
    assert_eq!(text(&client.receive().await), "Ada likes blue.");
}

#[tokio::test]
async fn a_cancelled_call_never_answers_and_is_noted() {
    let (_folder, path) = journal();
    let options = Options { extras: true, journal: Some(path.clone()), ..Options::default() };
    let mut client = Client::new(options);
    client.initialize(json!({})).await;
    client.call(7, "sleep", json!({ "ms": 600_000 })).await;
    assert!(noted(&path, "tools/call").await);
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#).await;
    assert!(noted(&path, "cancelled").await);
    client.call(8, "greet", json!({ "name": "next" })).await;
    assert_eq!(client.receive().await.get("id"), Some(&json!(8)));
}

#[tokio::test]
async fn progress_and_logs_come_before_the_answer() {
    let mut client = Client::with_extras();
    let mut request: Value = serde_json::from_str(&modern(
        1,
        "tools/call",
        json!({ "name": "progress", "arguments": { "steps": 2, "ms": 0 } }),
    ))
    .unwrap();
    *request.pointer_mut("/params/_meta").unwrap() = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}, "progressToken": "p" });
    client.send(&request.to_string()).await;
    for step in 1..=2 {
        let progress = client.receive().await;
        assert_eq!(
            progress.get("params"),
            Some(&json!({ "progressToken": "p", "progress": step, "total": 2 }))
        );
    }
    assert_eq!(text(&client.receive().await), "2 steps");

    client.initialize(json!({})).await;
    client.call(2, "log", json!({ "level": "debug", "text": "too quiet" })).await;
    assert_eq!(text(&client.receive().await), "logged");
    client.call(3, "log", json!({ "level": "error", "text": "heard" })).await;
    assert_eq!(client.receive().await.pointer("/params/data"), Some(&json!("heard")));
    assert_eq!(text(&client.receive().await), "logged");
}

#[tokio::test]
async fn a_listen_stream_acknowledges_tells_and_ends() {
    let mut client = Client::with_extras();
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["test://watched-resource"] });
    client.send(&modern(1, "subscriptions/listen", json!({ "notifications": filter }))).await;
    let acknowledged = client.receive().await;
    assert_eq!(acknowledged.get("method"), Some(&json!("notifications/subscriptions/acknowledged")));
    assert_eq!(acknowledged.pointer("/params/notifications"), Some(&filter));

    let add = json!({ "name": "add_tool", "arguments": { "name": "fresh" } });
    client.send(&modern(2, "tools/call", add)).await;
    let changed = client.receive().await;
    assert_eq!(changed.get("method"), Some(&json!("notifications/tools/list_changed")));
    let tag = changed.pointer("/params/_meta").unwrap();
    assert_eq!(tag, &json!({ "io.modelcontextprotocol/subscriptionId": 1 }));
    assert_eq!(text(&client.receive().await), "added `fresh`");

    let touch = json!({ "name": "touch_resource", "arguments": { "uri": "test://watched-resource" } });
    client.send(&modern(3, "tools/call", touch)).await;
    assert_eq!(client.receive().await.pointer("/params/uri"), Some(&json!("test://watched-resource")));
    assert_eq!(text(&client.receive().await), "touched");

    client.send(&modern(4, "tools/call", json!({ "name": "end_subscriptions" }))).await;
    let mut last: Vec<Value> = Vec::new();
    for _ in 0..3 {
        last.push(client.receive().await);
    }
    assert_eq!(last.first().unwrap().get("method"), Some(&json!("notifications/cancelled")));
    let ended = last.iter().find(|message| message.get("id") == Some(&json!(1))).unwrap();
    assert_eq!(ended.pointer("/result/resultType"), Some(&json!("complete")));
}

#[tokio::test]
async fn only_subscribers_hear_of_a_resource() {
    let mut client = Client::with_extras();
    client.initialize(json!({})).await;
    client.call(1, "touch_resource", json!({ "uri": "test://watched-resource" })).await;
    assert_eq!(text(&client.receive().await), "touched");
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"test://watched-resource"}}"#)
        .await;
    client.receive().await;
    client.call(3, "touch_resource", json!({ "uri": "test://watched-resource" })).await;
    assert_eq!(client.receive().await.get("method"), Some(&json!("notifications/resources/updated")));
    assert_eq!(text(&client.receive().await), "touched");
}

#[tokio::test]
async fn a_fixture_of_one_era_refuses_the_other() {
    let mut old = Client::new(Options { eras: Eras::Legacy, ..Options::default() });
    old.send(&modern(1, "server/discover", json!({}))).await;
    // Before `initialize` everything else is out of order; after it the method is unknown.
    assert_eq!(code(&old.receive().await), Some(-32600));
    old.initialize(json!({})).await;
    old.send(&modern(2, "server/discover", json!({}))).await;
    assert_eq!(code(&old.receive().await), Some(-32601));

    let mut new = Client::new(Options { eras: Eras::Modern, ..Options::default() });
    let refused = new.initialize(json!({})).await;
    assert_eq!(code(&refused), Some(-32022));
    assert_eq!(refused.pointer("/error/data/supported"), Some(&json!(["2026-07-28"])));
    new.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    assert_eq!(code(&new.receive().await), Some(-32602));
}

#[tokio::test]
async fn tasks_of_2025_11_25_come_with_the_extras() {
    let mut client = Client::with_extras();
    let greeted = client.initialize(json!({ "elicitation": {} })).await;
    assert!(greeted.pointer("/result/capabilities/tasks/requests/tools/call").is_some());
    client.call(1, "task_required", json!({ "filename": "f" })).await;
    assert_eq!(code(&client.receive().await), Some(-32601));

    let ask = async |client: &mut Client, id: u64, method: &str, params: Value| {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        client.send(&message.to_string()).await;
    };
    let params =
        json!({ "name": "task_required", "arguments": { "filename": "f" }, "task": { "ttl": 60_000 } });
    ask(&mut client, 2, "tools/call", params).await;
    let created = client.receive().await;
    let task = created.pointer("/result/task").unwrap();
    assert!(task.get("ttl").is_some() && task.get("ttlMs").is_none(), "{task}");
    let id = json!({ "taskId": task.get("taskId") });

    ask(&mut client, 3, "tasks/result", id.clone()).await;
    let question = client.receive().await;
    assert_eq!(question.get("method"), Some(&json!("elicitation/create")));
    assert_eq!(question.pointer("/params/_meta/io.modelcontextprotocol~1related-task"), Some(&id));
    let answer = json!({ "action": "accept", "content": { "confirm": true } });
    client.send(&json!({ "jsonrpc": "2.0", "id": question.get("id"), "result": answer }).to_string()).await;
    assert_eq!(text(&client.receive().await), "Deleted f");
    ask(&mut client, 4, "tasks/get", id).await;
    assert_eq!(client.receive().await.pointer("/result/status"), Some(&json!("completed")));
}

#[tokio::test]
async fn garbage_comes_before_the_answer_and_lists_come_in_pages() {
    let mut client = Client::new(Options { extras: true, page_size: Some(5), ..Options::default() });
    client.initialize(json!({})).await;
    client.call(1, "garbage", json!({ "lines": 3 })).await;
    for _ in 0..3 {
        let line = client.line().await;
        assert!(serde_json::from_str::<Value>(&line).is_err(), "{line}");
    }
    assert_eq!(text(&client.receive().await), "3 lines of garbage");

    let (mut cursor, mut names) = (Value::Null, Vec::new());
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        client
            .send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": params }).to_string())
            .await;
        let page = client.receive().await;
        let tools = page.pointer("/result/tools").and_then(Value::as_array).unwrap();
        assert!(tools.len() <= 5);
        names.extend(tools.iter().map(|tool| tool.get("name").unwrap().to_string()));
        match page.pointer("/result/nextCursor") {
            Some(next) => cursor = next.clone(),
            None => break,
        }
    }
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!((all, names.len()), (52, 52));
}

#[tokio::test]
async fn a_crash_is_a_crash_and_a_closed_end_is_an_end() {
    let start = |extra: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fixture"));
        command
            .arg("--stdio")
            .args(extra)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.kill_on_drop(true).spawn().unwrap()
    };
    let mut child = start(&["--extras"]);
    let input = child.stdin.as_mut().unwrap();
    let crash = modern(1, "tools/call", json!({ "name": "crash" }));
    input.write_all(format!("{crash}\n").as_bytes()).await.unwrap();
    assert_eq!(timeout(PATIENCE, child.wait()).await.unwrap().unwrap().code(), Some(3));

    let mut child = start(&["--extras", "--era", "modern"]);
    let mut input = child.stdin.take().unwrap();
    let flood = modern(1, "tools/call", json!({ "name": "stderr_flood", "arguments": { "bytes": 300_000 } }));
    input.write_all(format!("{flood}\n").as_bytes()).await.unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut errors = child.stderr.take().unwrap();
    let mut flooded = vec![0; 300_000];
    timeout(PATIENCE, errors.read_exact(&mut flooded)).await.unwrap().unwrap();
    let answer = timeout(PATIENCE, output.next_line()).await.unwrap().unwrap().unwrap();
    assert!(answer.contains("flooded"), "{answer}");

    let mut child = start(&[]);
    drop(child.stdin.take());
    let output = timeout(PATIENCE, child.wait_with_output()).await.unwrap().unwrap();
    assert!(output.status.success());

    let mut child = start(&[]);
    let mut input = child.stdin.take().unwrap();
    let hello = modern(1, "tools/call", json!({ "name": "greet", "arguments": { "name": "x" } }));
    input.write_all(format!("{hello}\n").as_bytes()).await.unwrap();
    drop(input);
    let output = timeout(PATIENCE, child.wait_with_output()).await.unwrap().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("Hello, x!"));
}
