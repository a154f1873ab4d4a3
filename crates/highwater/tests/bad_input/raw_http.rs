//! HTTP as bytes on a connection, for what no well-behaved client would send.

use std::net::SocketAddr;

use highwater_testkit::client::gateway::Gateway;
use highwater_testkit::wait::PATIENCE;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The head of a request, made of lines.
#[derive(Clone)]
pub(crate) struct Head {
    line: String,
    headers: Vec<(String, String)>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct RawReply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

// === impl Head ===

impl Head {
    /// A POST to `/mcp` that says all that is needed, from no era yet.
    pub(crate) fn post(gateway: &Gateway) -> Self {
        Self::new("POST", "/mcp")
            .with("Host", &address(gateway).to_string())
            .with("Authorization", &format!("Bearer {}", gateway.agent_token()))
            .with("Content-Type", "application/json")
            .with("Accept", "application/json, text/event-stream")
    }

    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self { line: format!("{method} {path} HTTP/1.1"), headers: Vec::new() }
    }

    /// Another method or path with the same headers.
    pub(crate) fn line(self, method: &str, path: &str) -> Self {
        Self { line: format!("{method} {path} HTTP/1.1"), ..self }
    }

    /// One more header line, whether or not there is one of this name.
    pub(crate) fn and(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The header in place of all of its name.
    pub(crate) fn with(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    pub(crate) fn text(&self) -> String {
        let headers: String =
            self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!("{}\r\n{headers}\r\n", self.line)
    }

    /// Sends this head with a body on a connection of its own and reads the answer.
    pub(crate) async fn send(&self, gateway: &Gateway, body: &str) -> RawReply {
        let head = self.clone().with("Content-Length", &body.len().to_string()).with("Connection", "close");
        let mut stream = connect(gateway).await;
        let bytes = format!("{}{body}", head.text());
        // A server that has heard enough may stop reading; what it says counts.
        timeout(PATIENCE, stream.write_all(bytes.as_bytes())).await.unwrap().ok();
        RawReply::read(&mut stream).await
    }
}

// === impl RawReply ===

impl RawReply {
    /// Reads one answer, whose head says how long it is.
    pub(crate) async fn read(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        loop {
            if let Some(reply) = Self::whole(&bytes) {
                return reply;
            }
            let read = timeout(PATIENCE, stream.read_buf(&mut bytes)).await.expect("the server says nothing");
            let shown = String::from_utf8_lossy(&bytes);
            assert!(read.unwrap_or_else(|error| panic!("{error} after: {shown}")) > 0, "no answer: {shown}");
        }
    }

    /// The answer, once all of it is there.
    fn whole(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect(head);
        let reply = Self { status, head: head.to_owned(), body: body.to_owned() };
        let length: usize = reply.header("content-length").map_or(0, |length| length.parse().unwrap());
        (body.len() >= length).then_some(reply)
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of the JSON-RPC error in the body.
    pub(crate) fn code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {self:?}"))
    }
}

pub(crate) async fn connect(gateway: &Gateway) -> TcpStream {
    timeout(PATIENCE, TcpStream::connect(address(gateway))).await.unwrap().unwrap()
}

pub(crate) fn address(gateway: &Gateway) -> SocketAddr {
    let authority = gateway.endpoint().strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp"));
    authority.and_then(|authority| authority.parse().ok()).expect("the endpoint names an address")
}
