//! An MCP server over HTTP that closes its connections where it is told to, to the byte, and notes what it really did.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use highwater_testkit::sockets::hang_up;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// Longer than any request here.
const LONGEST_REQUEST: usize = 16 << 10;

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
    serving: Mutex<Option<Serving>>,
}

/// What ends it, and its end.
struct Serving(watch::Sender<bool>, JoinHandle<()>);

struct State {
    manner: Manner,
    notes: Mutex<Vec<String>>,
    /// Where the next connections are cut, and how many of them.
    cut: Mutex<Option<(Cut, usize)>>,
    /// How many cuts have begun and are not over.
    cutting: watch::Sender<usize>,
    /// How long the last call and its reply were.
    sizes: Mutex<(usize, usize)>,
    /// Whether calls that are held go on.
    released: watch::Sender<bool>,
}

/// One connection. Dropped in this order: a cut is over once its connection is closed.
struct Connection {
    stream: TcpStream,
    cutting: Option<Cutting>,
}

/// A cut that has begun.
struct Cutting(Arc<State>);

// === impl Faulty ===

impl Faulty {
    pub(crate) fn start(manner: Manner) -> Self {
        let reserved = bound("127.0.0.1:0".parse().unwrap());
        let address = reserved.local_addr().unwrap();
        let state = State {
            manner,
            notes: Mutex::default(),
            cut: Mutex::default(),
            cutting: watch::Sender::new(0),
            sizes: Mutex::default(),
            released: watch::Sender::new(false),
        };
        let server = Self { address, state: Arc::new(state), _reserved: reserved, serving: Mutex::default() };
        server.come();
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Cuts the next connections on which a call arrives.
    pub(crate) fn cut(&self, cut: Cut, times: usize) {
        *self.state.cut.lock().unwrap() = Some((cut, times)).filter(|_| times > 0);
    }

    /// Waits until every connection that was cut is closed: a client that sends its next request on one that is about to
    /// be closed has lost it.
    pub(crate) async fn cuts_are_over(&self) {
        self.state.cutting.subscribe().wait_for(|count| *count == 0).await.unwrap();
    }

    /// Calls with `held` go on, and those that come from now on, until they are held again.
    pub(crate) fn release(&self) {
        self.state.released.send_replace(true);
    }

    /// Calls with `held` that come from now on wait.
    pub(crate) fn hold(&self) {
        self.state.released.send_replace(false);
    }

    /// Everything is closed, which the gateway can see by then, and whoever comes is refused.
    pub(crate) async fn go(&self) {
        let serving = self.serving.lock().unwrap().take();
        if let Some(Serving(end, ended)) = serving {
            end.send_replace(true);
            ended.await.unwrap();
        }
    }

    pub(crate) fn come(&self) {
        let listener = bound(self.address).listen(1024).unwrap();
        let (end, ending) = watch::channel(false);
        let serving = tokio::spawn(serve(listener, Arc::clone(&self.state), ending));
        *self.serving.lock().unwrap() = Some(Serving(end, serving));
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.state.notes.lock().unwrap().clone()
    }

    /// How often something is noted, such as `ended MARK`.
    pub(crate) fn count(&self, what: &str) -> usize {
        self.notes().iter().filter(|note| *note == what).count()
    }

    /// How long the last call and its reply were.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        *self.state.sizes.lock().unwrap()
    }
}

fn bound(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseport(true).unwrap();
    socket.bind(address).unwrap();
    socket
}

async fn serve(listener: TcpListener, state: Arc<State>, mut ending: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            // Also when the server is dropped.
            _ = ending.changed() => break,
            Ok((stream, _)) = listener.accept() => {
                let connection = Connection { stream, cutting: None };
                let (state, ending) = (Arc::clone(&state), ending.clone());
                connections.spawn(async move { converse(connection, &state, ending).await });
                while connections.try_join_next().is_some() {}
            }
        }
    }
    drop(listener);
    connections.join_all().await;
}

/// Answers requests until the connection is closed. What goes wrong on the way is what this is for.
async fn converse(
    mut connection: Connection,
    state: &Arc<State>,
    mut ending: watch::Receiver<bool>,
) -> Option<()> {
    loop {
        let stream = &mut connection.stream;
        let (message, size) = tokio::select! {
            request = peek_request(stream) => request?,
            _ = ending.changed() => {
                hang_up(connection.stream).await.unwrap();
                return None;
            }
        };
        let is_call = message.as_ref().is_some_and(|message| message["method"] == "tools/call");
        // Whatever else the gateway asks for on its own is not what the test cuts.
        let cut = if is_call { state.next_cut() } else { None };
        connection.cutting = cut.map(|_| Cutting::begin(state));
        let mut request = vec![0; if let Some(Cut::Request(most)) = cut { most } else { size }];
        stream.read_exact(&mut request).await.ok()?;
        let Some(message) = message else {
            stream.write_all(b"HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n").await.ok()?;
            continue;
        };
        // What stays unread of a request makes the system reset the connection.
        if matches!(cut, Some(Cut::Request(_) | Cut::Unrun)) {
            return None;
        }
        let reply = state.reply(&message).await;
        if is_call {
            *state.sizes.lock().unwrap() = (size, reply.len());
        }
        if let Some(Cut::Status(status)) = cut {
            let lost = format!("HTTP/1.1 {status} Lost\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(lost.as_bytes()).await.ok()?;
            connection.cutting = None;
            continue;
        }
        if let Some(Cut::Reply(most)) = cut {
            stream.write_all(&reply[..most.min(reply.len())]).await.ok()?;
            return None;
        }
        stream.write_all(&reply).await.ok()?;
        if cut == Some(Cut::After) {
            // The gateway would use it for its next request, if it did not know by then.
            hang_up(connection.stream).await.unwrap();
            return None;
        }
        if state.manner == Manner::ModernStream {
            return None;
        }
    }
}

/// The next request and its size, which stays unread; no message if it is no POST.
async fn peek_request(stream: &TcpStream) -> Option<(Option<Value>, usize)> {
    let mut bytes = vec![0; LONGEST_REQUEST];
    loop {
        let count = stream.peek(&mut bytes).await.ok().filter(|count| *count > 0)?;
        if let Some(request) = whole(&bytes[..count]) {
            return Some(request);
        }
        // The rest is on its way. What is there already would be seen at once, again and again.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A request, if all of it is there.
fn whole(bytes: &[u8]) -> Option<(Option<Value>, usize)> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = String::from_utf8(bytes[..head].to_vec()).unwrap().to_ascii_lowercase();
    let length: usize = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .map_or(0, |length| length.trim().parse().unwrap());
    let size = head + length;
    let message = serde_json::from_slice(bytes.get(head..size)?).ok();
    Some((message.filter(|_| text.starts_with("post")), size))
}

// === impl Cutting ===

impl Cutting {
    fn begin(state: &Arc<State>) -> Self {
        state.cutting.send_modify(|count| *count += 1);
        Self(Arc::clone(state))
    }
}

impl Drop for Cutting {
    fn drop(&mut self) {
        self.0.cutting.send_modify(|count| *count -= 1);
    }
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
        if arguments["held"] == true {
            self.released.subscribe().wait_for(|released| *released).await.unwrap();
        }
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
