//! The fixture over HTTP where the conformance suite does not look: cancelling, resuming, HTTP+SSE.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use highwater_testkit::fixture::http::{Transport, serve};
use highwater_testkit::fixture::{Fixture, Options};
use highwater_testkit::wait::PATIENCE;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// One raw exchange: what the server wrote can be read as it comes.
struct Exchange {
    stream: TcpStream,
    seen: String,
}

impl Exchange {
    async fn begin(
        address: SocketAddr,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Self {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
        Self { stream, seen: String::new() }
    }

    /// Reads until a piece of text was seen, or to the end.
    async fn until(&mut self, text: Option<&str>) -> &str {
        let read = async {
            let mut chunk = [0_u8; 4096];
            while !text.is_some_and(|text| self.seen.contains(text)) {
                let length = self.stream.read(&mut chunk).await.unwrap();
                if length == 0 {
                    break;
                }
                self.seen.push_str(&String::from_utf8_lossy(chunk.get(..length).unwrap()));
            }
        };
        timeout(PATIENCE, read).await.unwrap();
        &self.seen
    }

    async fn status(&mut self) -> u16 {
        let head = self.until(Some("\r\n\r\n")).await;
        head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    async fn header(&mut self, name: &str) -> String {
        let head = self.until(Some("\r\n\r\n")).await;
        let line = head.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).unwrap();
        line.to_owned()
    }
}

async fn start(options: Options, transport: Transport) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, Fixture::new(options).unwrap(), transport));
    address
}

fn extras() -> Options {
    Options { extras: true, ..Options::default() }
}

const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");
const JSON: (&str, &str) = ("content-type", "application/json");

async fn post(address: SocketAddr, headers: &[(&str, &str)], body: Value) -> Exchange {
    let headers = [&[BOTH, JSON], headers].concat();
    Exchange::begin(address, "POST", "/mcp", &headers, &body.to_string()).await
}

async fn initialize(address: SocketAddr) -> String {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {} });
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    post(address, &[], body).await.header("mcp-session-id").await
}

fn tool(id: u64, name: &str, arguments: Value) -> Value {
    let meta = json!({ "progressToken": "p" });
    let params = json!({ "name": name, "arguments": arguments, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn modern_tool(name: &str, arguments: Value) -> Value {
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}, "progressToken": "p" });
    let params = json!({ "name": name, "arguments": arguments, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

fn modern_headers(name: &str) -> [(&'static str, &str); 3] {
    [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", name)]
}

async fn noted(path: &Path, method: &str) -> bool {
    let look = async {
        while !std::fs::read_to_string(path).unwrap().contains(&format!("\"method\":\"{method}\"")) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, look).await.is_ok()
}

#[tokio::test]
async fn leaving_a_modern_call_cancels_it_with_and_without_a_stream() {
    for (name, arguments) in
        [("sleep", json!({ "ms": 600_000 })), ("progress", json!({ "steps": 100_000, "ms": 50 }))]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let address = start(Options { journal: Some(path.clone()), ..extras() }, Transport::Streamable).await;
        let mut exchange = post(address, &modern_headers(name), modern_tool(name, arguments)).await;
        assert!(noted(&path, "tools/call").await);
        if name == "progress" {
            exchange.until(Some("\"progress\":1")).await;
        }
        drop(exchange);
        assert!(noted(&path, "cancelled").await, "{name}");
    }
}

#[tokio::test]
async fn a_left_legacy_stream_goes_on_where_it_was_left() {
    let address = start(extras(), Transport::Streamable).await;
    let session = initialize(address).await;
    let session = ("mcp-session-id", session.as_str());
    let mut exchange = post(address, &[session], tool(1, "progress", json!({ "steps": 5, "ms": 20 }))).await;
    exchange.until(Some("\"progress\":2")).await;
    drop(exchange);
    // The priming event is 1-0 and the first step 1-1.
    let headers = [session, ("accept", "text/event-stream"), ("last-event-id", "1-2")];
    let mut resumed = Exchange::begin(address, "GET", "/mcp", &headers, "").await;
    let rest = resumed.until(None).await;
    assert!(!rest.contains("\"progress\":2"), "{rest}");
    assert!(rest.contains("id: 1-3\n") && rest.contains("\"progress\":5"), "{rest}");
    assert!(rest.contains("5 steps"), "{rest}");
}

#[tokio::test]
async fn changes_wait_for_the_standing_stream() {
    let address = start(extras(), Transport::Streamable).await;
    let session = initialize(address).await;
    let session = ("mcp-session-id", session.as_str());
    post(address, &[session], tool(1, "add_tool", json!({ "name": "new" }))).await.until(Some("added")).await;
    let headers = [session, ("accept", "text/event-stream")];
    let mut standing = Exchange::begin(address, "GET", "/mcp", &headers, "").await;
    standing.until(Some("notifications/tools/list_changed")).await;
}

#[tokio::test]
async fn a_session_ends_with_delete_and_nothing_else_opens_one() {
    let address = start(extras(), Transport::Streamable).await;
    let session = initialize(address).await;
    let session = ("mcp-session-id", session.as_str());
    assert_eq!(post(address, &[], tool(1, "greet", json!({}))).await.status().await, 400);
    let other = ("mcp-protocol-version", "2025-06-18");
    assert_eq!(post(address, &[session, other], tool(1, "greet", json!({}))).await.status().await, 400);
    assert_eq!(Exchange::begin(address, "GET", "/mcp", &[], "").await.status().await, 405);
    assert_eq!(Exchange::begin(address, "DELETE", "/mcp", &[session], "").await.status().await, 200);
    assert_eq!(post(address, &[session], tool(1, "greet", json!({}))).await.status().await, 404);
}

#[tokio::test]
async fn headers_that_disagree_are_refused() {
    let address = start(extras(), Transport::Streamable).await;
    let call = |arguments| modern_tool("test_routed_parameters", arguments);
    let send = async |extra: &[(&str, &str)], arguments: Value| {
        let headers = [&modern_headers("test_routed_parameters")[..], extra].concat();
        let mut exchange = post(address, &headers, call(arguments)).await;
        exchange.status().await
    };
    assert_eq!(send(&[], json!({})).await, 200);
    assert_eq!(send(&[("mcp-param-region", "eu")], json!({})).await, 400);
    assert_eq!(send(&[("mcp-param-region", "eu")], json!({ "region": "eu" })).await, 200);
    assert_eq!(send(&[("mcp-param-limit", "7.0")], json!({ "limit": 7 })).await, 200);
    assert_eq!(send(&[("mcp-param-limit", "8")], json!({ "limit": 7 })).await, 400);
    assert_eq!(send(&[("mcp-param-dry-run", "true")], json!({ "options": { "dry": true } })).await, 200);
    assert_eq!(send(&[], json!({ "options": { "dry": true } })).await, 400);
    assert_eq!(send(&[], json!({ "region": null })).await, 200);
}

#[tokio::test]
async fn the_old_transport_names_its_endpoint_and_answers_on_the_stream() {
    let address = start(extras(), Transport::Sse).await;
    let mut stream = Exchange::begin(address, "GET", "/sse", &[("accept", "text/event-stream")], "").await;
    let seen = stream.until(Some("sessionId=")).await.to_owned();
    let seen =
        if seen.ends_with("\n\n\r\n") { seen } else { stream.until(Some("\n\n\r\n")).await.to_owned() };
    let endpoint = seen.lines().find_map(|line| line.strip_prefix("data: ")).unwrap().to_owned();
    let params = json!({ "protocolVersion": "2024-11-05", "capabilities": { "sampling": {} } });
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }),
        tool(1, "ask_sample", json!({ "prompt": "?" })),
        json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": { "type": "text", "text": "fine" } } }),
    ];
    let expected = ["\"protocolVersion\":\"2024-11-05\"", "sampling/createMessage", "LLM response: fine"];
    for (message, expected) in messages.iter().zip(expected) {
        let mut post = Exchange::begin(address, "POST", &endpoint, &[JSON], &message.to_string()).await;
        assert_eq!(post.status().await, 202);
        stream.until(Some(expected)).await;
    }
    assert_eq!(post(address, &[], tool(1, "greet", json!({}))).await.status().await, 404);
}
