//! What clients can make the gateway hold: bodies that do not end, connections on which nothing is said, sessions.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{HttpFixture, Journal, fixture_program};
use highwater_testkit::client::{Client, Era, Setup};
use highwater_testkit::wait::{self, PATIENCE};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::stage::{Gate, Ground, PROGRAM, Stage, assert_echo};

const MIB: usize = 1 << 20;

/// When a connection without a head is closed, whether there is room for others or not.
const HEAD_TIME: Duration = Duration::from_secs(30);

/// A request that has been sent without the end of its body.
struct Unfinished(TcpStream);

impl Unfinished {
    /// A call with a body of this length, of which this much is sent. It may be refused before that.
    async fn new(gateway: &Gateway, token: &str, length: usize, sent: usize) -> Self {
        let mut stream = TcpStream::connect(address(gateway)).await.unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer {token}\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b' '; sent]).await.ok();
        Self(stream)
    }

    /// What is said to it, up to the end of the connection.
    async fn said(&mut self) -> String {
        let mut said = Vec::new();
        timeout(PATIENCE, self.0.read_to_end(&mut said)).await.expect("an answer").ok();
        String::from_utf8_lossy(&said).into_owned()
    }
}

fn address(gateway: &Gateway) -> String {
    gateway.endpoint().trim_start_matches("http://").trim_end_matches("/mcp").to_owned()
}

/// Another token that may do everything.
async fn another_token(stage: &Stage) -> String {
    let mut command = tokio::process::Command::new(PROGRAM);
    command.args(["token", "create", "other", "--server", "*", "--json"]);
    for permission in ["call_tool_read", "call_tool_write", "call_tool_destructive"] {
        command.args(["--permission", permission]);
    }
    command.arg("--data-dir").arg(stage.gateway.home().data_dir());
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    made["secret"].as_str().unwrap().to_owned()
}

/// A gateway that may have few files open, as a container may say.
fn narrow(folder: &Path) -> PathBuf {
    let program = folder.join("highwater");
    std::fs::write(&program, format!("#!/bin/sh\nulimit -n 160\nexec '{PROGRAM}' \"$@\"\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

async fn limited(limits: Value) -> Stage {
    let ground = Ground::new();
    let servers = json!({ "a": ground.stdio("a") });
    ground.serve(&json!({ "flow": "observe", "servers": servers, "limits": limits })).await
}

#[tokio::test]
async fn bodies_that_do_not_end_take_no_more_memory_than_they_may_and_none_of_another_token() {
    let stage = limited(json!({})).await;
    let client = stage.client(Era::Legacy).await;
    assert_echo(&client, "a", "before").await;
    let other = another_token(&stage).await;
    let token = stage.gateway.agent_token().to_owned();
    let length = 39 * MIB / 10;
    let mut open = Vec::new();
    for _ in 0..150 {
        open.push(Unfinished::new(&stage.gateway, &token, length, length - 1).await);
    }
    let mut refused = String::new();
    for unfinished in &mut open {
        let mut start = [0; 12];
        let peeked = timeout(Duration::from_millis(20), unfinished.0.peek(&mut start)).await;
        if matches!(peeked, Ok(Ok(12))) {
            refused = unfinished.said().await;
            break;
        }
    }
    assert!(
        refused.starts_with("HTTP/1.1 429") && refused.to_lowercase().contains("retry-after:"),
        "{refused}"
    );
    assert!(refused.contains("limits.request_bytes_per_token"), "{refused}");
    // Another token has room for what is as long.
    let own = Setup::http(stage.gateway.endpoint()).token(&other).era(Era::Legacy).without_stream();
    let answer =
        own.connect().await.unwrap().call("a__echo", json!({ "body": "x".repeat(3 * MIB) })).await.unwrap();
    assert_eq!(answer.at("/result/structuredContent/body").as_str().map(str::len), Some(3 * MIB));
    assert!(stage.peak_memory() < 300, "{} MiB", stage.peak_memory());
    drop(open);
    assert_echo(&client, "a", "after").await;
}

#[tokio::test]
async fn a_body_that_stands_still_or_takes_for_ever_is_given_up_and_a_slow_one_is_read() {
    let stage = limited(json!({ "request_silence": "1s", "request_time": "6s" })).await;
    let token = stage.gateway.agent_token().to_owned();
    let began = Instant::now();
    let said = Unfinished::new(&stage.gateway, &token, 1000, 10).await.said().await;
    assert!(said.starts_with("HTTP/1.1 408") && said.contains("limits.request_silence"), "{said}");
    assert!(began.elapsed() < HEAD_TIME, "the connection is closed as well, after {:?}", began.elapsed());
    // A byte now and then is progress, but not for ever.
    let mut slow = Unfinished::new(&stage.gateway, &token, 1000, 10).await;
    let drip = async {
        while slow.0.write_all(b" ").await.is_ok() {
            let mut byte = [0; 1];
            if timeout(Duration::from_millis(100), slow.0.peek(&mut byte)).await.is_ok() {
                return;
            }
        }
    };
    timeout(PATIENCE, drip).await.expect("it is given up");
    assert!(slow.said().await.starts_with("HTTP/1.1 408"));
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
    let mut slow = Unfinished::new(&stage.gateway, &token, body.len(), 0).await;
    for part in body.chunks(body.len() / 8) {
        slow.0.write_all(part).await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let mut start = [0; 12];
    timeout(PATIENCE, slow.0.read_exact(&mut start)).await.unwrap().unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
}

#[tokio::test]
async fn connections_on_which_nothing_is_said_keep_nobody_out_and_leave_files_for_servers() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new(narrow(folder.path()), "servers: {}\n").unwrap();
    let fixture = fixture_program(Path::new(PROGRAM)).unwrap();
    let entry = json!({ "command": fixture, "args": ["--stdio", "--extras"] });
    home.configure(&json!({ "flow": "observe", "servers": { "a": entry, "b": entry } }).to_string()).unwrap();
    let gateway = home.serve().await.unwrap();
    let works = async |server: &str| {
        let client: Client = gateway.http(Era::Legacy).without_stream().connect().await.unwrap();
        assert_echo(&client, server, "heard").await;
    };
    let mut silent = Vec::new();
    let began = Instant::now();
    for _ in 0..300 {
        silent.push(TcpStream::connect(address(&gateway)).await.unwrap());
    }
    // Its program is started now, which takes files as well.
    works("a").await;
    assert!(began.elapsed() < HEAD_TIME, "it was waited until they were closed: {:?}", began.elapsed());
    let began = Instant::now();
    for _ in 0..300 {
        silent.push(TcpStream::connect(address(&gateway)).await.unwrap());
        silent.last_mut().unwrap().write_all(b"POST /mcp HTTP/1.1\r\n").await.unwrap();
    }
    works("b").await;
    assert!(began.elapsed() < HEAD_TIME, "it was waited until they were closed: {:?}", began.elapsed());
}

#[tokio::test]
async fn that_no_more_files_may_be_open_is_said_and_passes() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new(narrow(folder.path()), "servers: {}\n").unwrap();
    let fixture = fixture_program(Path::new(PROGRAM)).unwrap();
    let journal = Journal::at(folder.path().join("a.jsonl"));
    let server = HttpFixture::start(&fixture, &["--extras"], &journal).await.unwrap();
    let servers = json!({ "a": { "url": server.url(), "era": "modern" } });
    home.configure(&json!({ "flow": "observe", "servers": servers }).to_string()).unwrap();
    let gateway = home.serve().await.unwrap();
    // Fewer than clients may be, and each takes a connection to the server as well while its call waits.
    let mut clients = Vec::new();
    for _ in 0..75 {
        clients.push(gateway.http(Era::Modern).without_stream().connect().await.unwrap());
    }
    let gate = Gate::in_folder(folder.path());
    let mut calls = Vec::new();
    for (number, client) in clients.iter().enumerate() {
        calls.push(client.begin(gate.call("a", &number.to_string())).await.unwrap());
    }
    let refused = wait::until("one is refused", async || {
        let at = calls.iter().position(|call| !call.is_unanswered())?;
        Some(calls.swap_remove(at))
    });
    let refused = refused.await.unwrap().answer().await.unwrap();
    assert!(refused.raw().contains("too many open files: raise the limit"), "{}", refused.raw());
    gate.open();
    for call in calls {
        call.answer().await.unwrap();
    }
    assert_echo(&clients[0], "a", "after").await;
}

#[tokio::test]
async fn sessions_of_one_token_take_no_place_of_another_and_the_longest_silent_gives_way() {
    let stage = limited(json!({ "sessions": 4, "sessions_per_token": 2 })).await;
    let other = another_token(&stage).await;
    let connect = |token: &str| {
        Setup::http(stage.gateway.endpoint()).token(token).era(Era::Legacy).without_stream().connect()
    };
    let token = stage.gateway.agent_token().to_owned();
    let mut clients = Vec::new();
    for number in 0..5 {
        clients.push(connect(&token).await.unwrap());
        assert_echo(clients.last().unwrap(), "a", &number.to_string()).await;
    }
    // What gave way is taken up again when its client comes back.
    assert_echo(&clients[0], "a", "again").await;
    let others = [connect(&other).await.unwrap(), connect(&other).await.unwrap()];
    for client in &others {
        assert_echo(client, "a", "other").await;
    }
    // Where none can give way, one more is refused, and only of this token.
    let held = gate_calls(&stage, &clients[3..]).await;
    let refused = connect(&token).await.err().expect("both places are in use");
    assert!(format!("{refused:#}").contains("limits.sessions_per_token"), "{refused:#}");
    assert_echo(&others[0], "a", "still").await;
    held.open();
}

/// Calls that wait, one for each client.
async fn gate_calls(stage: &Stage, clients: &[Client]) -> crate::stage::Gate {
    let gate = stage.gate();
    for (number, client) in clients.iter().enumerate() {
        let mark = format!("held-{number}");
        std::mem::forget(client.begin(gate.call("a", &mark)).await.unwrap());
        stage.journal("a").wait("tools/call", &mark).await.unwrap();
    }
    gate
}
