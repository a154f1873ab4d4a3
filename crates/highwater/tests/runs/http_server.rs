//! An MCP server over HTTP that closes its connections where it is told to, to the byte, and notes what it really did.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// Where a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// After so many bytes of the request: it is never run.
    Request(usize),
    /// After the whole request, which is not run.
    Unrun,
    /// After so many bytes of the reply; the call has run.
    Reply(usize),
    /// After the whole reply.
    After,
    /// Nowhere: the call has run, and somebody on the way says that the server is lost.
    Status(u16),
}

/// How the server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Modern,
    /// Modern, with an event stream.
    ModernStream,
    Legacy,
}

/// The server.
pub(crate) struct Faulty {
    address: SocketAddr,
    state: Arc<State>,
    /// Bound and never listening: nobody else gets the port while the server is away.
    _reserved: TcpSocket,
    serving: Mutex<Option<AbortHandle>>,
}

struct State {
    manner: Manner,
    notes: Mutex<Vec<String>>,
    /// Where the next connections are cut, and how many of them.
    cut: Mutex<Option<(Cut, usize)>>,
    /// How long the last request and its reply were.
    sizes: Mutex<(usize, usize)>,
}

// === impl Faulty ===

impl Faulty {
    pub(crate) fn start(manner: Manner) -> Self {
        let reserved = bound("127.0.0.1:0".parse().unwrap());
        let address = reserved.local_addr().unwrap();
        let state = State { manner, notes: Mutex::default(), cut: Mutex::default(), sizes: Mutex::default() };
        let server = Self { address, state: Arc::new(state), _reserved: reserved, serving: Mutex::default() };
        server.come();
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Cuts the next connections on which something arrives.
    pub(crate) fn cut(&self, cut: Cut, times: usize) {
        *self.state.cut.lock().unwrap() = Some((cut, times)).filter(|_| times > 0);
    }

    /// Everything is closed, and whoever comes is refused.
    pub(crate) fn go(&self) {
        if let Some(serving) = self.serving.lock().unwrap().take() {
            serving.abort();
        }
    }

    pub(crate) fn come(&self) {
        let listener = bound(self.address).listen(1024).unwrap();
        let serving = tokio::spawn(serve(listener, Arc::clone(&self.state)));
        *self.serving.lock().unwrap() = Some(serving.abort_handle());
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.state.notes.lock().unwrap().clone()
    }

    /// How often something is noted, such as `ended MARK`.
    pub(crate) fn count(&self, what: &str) -> usize {
        self.notes().iter().filter(|note| *note == what).count()
    }

    /// How long the last whole request and its reply were.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        *self.state.sizes.lock().unwrap()
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.go();
    }
}

fn bound(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseport(true).unwrap();
    socket.bind(address).unwrap();
    socket
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    // Dropped with this task, and every connection with it.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        connections.spawn(async move { converse(stream, &state).await });
        while connections.try_join_next().is_some() {}
    }
}

/// Answers requests until the connection is closed. What goes wrong on the way is what this is for.
async fn converse(mut stream: TcpStream, state: &State) -> Option<()> {
    loop {
        stream.readable().await.ok()?;
        let mut first = [0; 1];
        if stream.peek(&mut first).await.ok()? == 0 {
            return None;
        }
        let cut = state.next_cut();
        if let Some(Cut::Request(most)) = cut {
            let mut read = vec![0; most];
            // What stays unread makes the system reset the connection.
            stream.read_exact(&mut read).await.ok()?;
            return None;
        }
        let (request, size) = read_request(&mut stream).await?;
        let Some(message) = request else {
            stream.write_all(b"HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n").await.ok()?;
            continue;
        };
        if cut == Some(Cut::Unrun) {
            return None;
        }
        let reply = state.reply(&message).await;
        *state.sizes.lock().unwrap() = (size, reply.len());
        if let Some(Cut::Status(status)) = cut {
            let lost = format!("HTTP/1.1 {status} Lost\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(lost.as_bytes()).await.ok()?;
            continue;
        }
        if let Some(Cut::Reply(most)) = cut {
            stream.write_all(&reply[..most.min(reply.len())]).await.ok()?;
            return None;
        }
        stream.write_all(&reply).await.ok()?;
        if cut == Some(Cut::After) || state.manner == Manner::ModernStream {
            return None;
        }
    }
}

/// One request and its size; no message if it is no POST.
async fn read_request(stream: &mut TcpStream) -> Option<(Option<Value>, usize)> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8(bytes[..head].to_vec()).ok()?.to_ascii_lowercase();
    let length: usize = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .map_or(0, |length| length.trim().parse().unwrap());
    while bytes.len() < head + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let size = bytes.len();
    Some((serde_json::from_slice(&bytes[head..]).ok().filter(|_| text.starts_with("post")), size))
}

// === impl State ===

impl State {
    fn next_cut(&self) -> Option<Cut> {
        let mut armed = self.cut.lock().unwrap();
        let (cut, times) = (*armed)?;
        *armed = Some((cut, times - 1)).filter(|(_, left)| *left > 0);
        Some(cut)
    }

    fn note(&self, what: &str, mark: &str) {
        self.notes.lock().unwrap().push(format!("{what} {mark}"));
    }

    /// What answers a message, as bytes of HTTP.
    async fn reply(&self, message: &Value) -> Vec<u8> {
        let modern = self.manner != Manner::Legacy;
        let mut members = match message["method"].as_str().unwrap_or_default() {
            "server/discover" if modern => {
                json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
                        "ttlMs": 0, "cacheScope": "private" })
            }
            "initialize" if !modern => {
                json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                    "serverInfo": { "name": "faulty", "version": "1" } })
            }
            "tools/list" => json!({ "tools": tools(), "ttlMs": 0, "cacheScope": "private" }),
            "tools/call" => self.run(&message["params"]["arguments"]).await,
            _ if message.get("id").is_none() => {
                return b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_vec();
            }
            _ => {
                let error = json!({ "code": -32601, "message": "not here" });
                return json_reply(&json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }));
            }
        };
        if modern {
            members["resultType"] = json!("complete");
        }
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": members });
        if self.manner == Manner::ModernStream && message["method"] == "tools/call" {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            return format!("{head}data: {answer}\n\n").into_bytes();
        }
        json_reply(&answer)
    }

    async fn run(&self, arguments: &Value) -> Value {
        let mark = arguments["mark"].as_str().unwrap();
        self.note("began", mark);
        tokio::time::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0))).await;
        self.note("ended", mark);
        json!({ "content": [{ "type": "text", "text": format!("ran {mark}") }] })
    }
}

fn tools() -> Value {
    let tool = |name: &str, annotations: Value| json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": annotations });
    json!([
        tool("look", json!({ "readOnlyHint": true })),
        tool("put", json!({ "readOnlyHint": false, "idempotentHint": true })),
        tool("add", json!({ "readOnlyHint": false, "destructiveHint": false, "idempotentHint": false })),
        tool("raw", json!({})),
    ])
}

fn json_reply(answer: &Value) -> Vec<u8> {
    let body = answer.to_string();
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}
