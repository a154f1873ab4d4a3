//! Legacy clients of every version, and those that ask for versions that do not exist or have no handshake.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{HttpFixture, Journal, fixture_program};
use highwater_testkit::client::{Era, Reply, Setup};
use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// What is asked for, and what is agreed on.
const VERSIONS: [(&str, &str); 6] = [
    ("2024-11-05", "2024-11-05"),
    ("2025-03-26", "2025-03-26"),
    ("2025-06-18", "2025-06-18"),
    ("2025-11-25", "2025-11-25"),
    // A version without `initialize`, asked for with `initialize`: some clients do.
    ("2026-07-28", "2025-11-25"),
    ("2099-01-01", "2025-11-25"),
];

/// Two servers, one of each era.
async fn gateway() -> (Gateway, HttpFixture) {
    let program = Path::new(env!("CARGO_BIN_EXE_highwater"));
    let fixture = fixture_program(program).unwrap();
    let home = Home::new(program, "{}").unwrap();
    let journal = Journal::at(home.path().join("journal"));
    let modern = HttpFixture::start(&fixture, &["--extras", "--era", "modern"], &journal).await.unwrap();
    let servers = json!({
        "old": { "command": fixture, "args": ["--stdio", "--extras", "--era", "legacy"] },
        "new": { "url": modern.url() },
    });
    home.configure(&json!({ "flow": "observe", "servers": servers }).to_string()).unwrap();
    (home.serve().await.unwrap(), modern)
}

fn fronts(gateway: &Gateway, version: &str) -> [Setup; 2] {
    [gateway.http(Era::Legacy), gateway.stdio(Era::Legacy)].map(|setup| setup.version(version))
}

#[tokio::test]
async fn every_version_is_met_and_served() {
    let (gateway, _modern) = gateway().await;
    for (asked, agreed) in VERSIONS {
        for setup in fronts(&gateway, asked) {
            let setup = setup.capabilities(json!({ "elicitation": {}, "sampling": {} }));
            let client =
                setup.answering(|_| Reply::accept(json!({ "answer": "yes" }))).connect().await.unwrap();
            assert_eq!(client.greeting().unwrap().at("/result/protocolVersion"), agreed, "asked for {asked}");
            for server in ["old", "new"] {
                let answer = client.call(&format!("{server}__echo"), json!({ "v": asked })).await.unwrap();
                assert_eq!(answer.at("/result/structuredContent/v"), asked, "{}", answer.raw());
                assert_eq!(answer.at("/result/resultType"), Value::Null, "{}", answer.raw());
                let answer = client.call(&format!("{server}__ask_elicit"), json!({})).await.unwrap();
                assert!(answer.text().unwrap().contains("accept"), "{asked}: {}", answer.raw());
            }
        }
    }
}

#[tokio::test]
async fn a_page_to_open_is_offered_to_no_client_older_than_the_idea() {
    let (gateway, _modern) = gateway().await;
    for (asked, agreed) in VERSIONS {
        for setup in fronts(&gateway, asked) {
            let setup = setup.capabilities(json!({ "elicitation": { "form": {}, "url": {} } }));
            let accept = |_: &_| Reply::Result(json!({ "action": "accept" }));
            let client = setup.answering(accept).connect().await.unwrap();
            for server in ["old", "new"] {
                let page = json!({ "url": "https://example.test/" });
                let answer = client.call(&format!("{server}__ask_elicit"), page).await.unwrap();
                let knows = agreed == "2025-11-25";
                let accepted = answer.raw().contains("action=accept");
                assert_eq!(accepted, knows, "{asked} in front of {server}: {}", answer.raw());
            }
            let expected = if agreed == "2025-11-25" { 2 } else { 0 };
            assert_eq!(client.asked().len(), expected, "{asked}: {:?}", client.asked());
        }
    }
}

#[tokio::test]
async fn the_version_agreed_on_is_the_version_of_every_request() {
    let (gateway, _modern) = gateway().await;
    let client = gateway.http(Era::Legacy).version("2025-06-18").connect().await.unwrap();
    let ping = json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" }).to_string();
    let with = async |version: &str| {
        client.exchange(Method::POST, ping.clone(), &[("mcp-protocol-version", version)]).await.unwrap()
    };
    assert_eq!(with("2025-06-18").await.status, 200);
    // Clients of 2025-03-26 send none.
    assert_eq!(with("").await.status, 200);
    assert_eq!(with("2025-11-25").await.status, 400);
    // A modern request may come at any time, but then it has to be one.
    let modern = with("2026-07-28").await;
    assert_eq!(modern.status, 400, "{}", modern.body);
}

/// The oldest version had a transport of its own, with two endpoints. Who still speaks it reads where to go.
#[tokio::test]
async fn clients_of_the_oldest_transport_are_told_where_to_connect() {
    let (gateway, _modern) = gateway().await;
    let address = gateway.endpoint().strip_prefix("http://").unwrap().split('/').next().unwrap().to_owned();
    for (method, path, endpoint) in [
        ("GET", "/sse", "/mcp"),
        ("POST", "/sse", "/mcp"),
        ("GET", "/mcp/sse", "/mcp"),
        ("GET", "/mcp/v/default/sse/", "/mcp/v/default"),
        ("POST", "/messages?session_id=1", "/mcp"),
    ] {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAccept: text/event-stream\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 410 Gone\r\n"), "{method} {path}: {answer}");
        let told = format!("connect to http://{address}{endpoint} with Streamable HTTP");
        assert!(answer.contains(&told), "{method} {path}: {answer}");
    }
}
