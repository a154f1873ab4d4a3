//! A scripted HTTP server on a loopback port of its own. It keeps what it saw.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ::http::{HeaderMap, Method, Request, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use highwater_mcp::text::{member, string_member};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use super::SOON;
use crate::http::task::Task;

pub(super) type Reply = Response<BoxBody<Bytes, Infallible>>;
type Script = dyn Fn(Seen) -> Pin<Box<dyn Future<Output = Reply> + Send>> + Send + Sync;

/// One request.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) verb: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

pub(super) struct Server {
    port: u16,
    seen: watch::Receiver<Vec<Seen>>,
    connections: Arc<AtomicUsize>,
    _task: Task,
}

/// The other end of a stream that a script answers with.
#[derive(Clone)]
pub(super) struct Pen(mpsc::Sender<Bytes>);

impl Seen {
    pub(super) fn method(&self) -> String {
        string_member(&self.body, "method").map(String::from).unwrap_or_default()
    }

    pub(super) fn id(&self) -> &str {
        member(&self.body, "id").unwrap_or("null")
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Verb and JSON-RPC method, for tables of what was seen.
    pub(super) fn line(&self) -> String {
        format!("{} {}", self.verb, self.method()).trim_end().to_owned()
    }
}

impl Server {
    pub(super) async fn start<F, R>(script: F) -> Self
    where
        F: Fn(Seen) -> R + Send + Sync + 'static,
        R: Future<Output = Reply> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let script: Arc<Script> = Arc::new(move |seen| Box::pin(script(seen)));
        let (note, seen) = watch::channel(Vec::new());
        let note = Arc::new(note);
        let connections = Arc::new(AtomicUsize::new(0));
        let accepted = Arc::clone(&connections);
        let open: Mutex<Vec<Task>> = Mutex::default();
        let task = Task::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::SeqCst);
                socket.set_nodelay(true).unwrap();
                let (script, note) = (Arc::clone(&script), Arc::clone(&note));
                let service =
                    service_fn(move |request| answer(request, Arc::clone(&script), Arc::clone(&note)));
                let serving = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(socket), service);
                open.lock().unwrap().push(Task::spawn(async move { drop(serving.await) }));
            }
        });
        Self { port, seen, connections, _task: task }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.borrow().clone()
    }

    /// Waits for a request that fits, and returns the first.
    pub(super) async fn saw(&self, fits: impl Fn(&Seen) -> bool) -> Seen {
        let mut seen = self.seen.clone();
        let fitting = seen.wait_for(|seen| seen.iter().any(&fits));
        let seen = tokio::time::timeout(SOON, fitting).await.expect("such a request comes").unwrap();
        seen.iter().find(|seen| fits(seen)).unwrap().clone()
    }

    /// Waits for a request of this JSON-RPC method.
    pub(super) async fn saw_method(&self, method: &str) -> Seen {
        self.saw(|seen| seen.method() == method).await
    }
}

async fn answer(
    request: Request<Incoming>,
    script: Arc<Script>,
    note: Arc<watch::Sender<Vec<Seen>>>,
) -> Result<Reply, Infallible> {
    let (head, body) = request.into_parts();
    let mut body = Limited::new(body, 8 << 20);
    let mut bytes = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        bytes.extend_from_slice(&frame.into_data().unwrap_or_default());
    }
    let seen = Seen {
        verb: head.method,
        path: head.uri.to_string(),
        headers: head.headers,
        body: String::from_utf8(bytes).unwrap(),
    };
    note.send_modify(|all| all.push(seen.clone()));
    Ok(script(seen).await)
}

/// A whole body.
pub(super) fn whole(status: u16, content_type: &str, body: impl Into<Bytes>) -> Reply {
    Response::builder()
        .status(status)
        .header("content-type", content_type)
        .body(Full::new(body.into()).boxed())
        .unwrap()
}

pub(super) fn json(status: u16, body: &str) -> Reply {
    whole(status, "application/json", body.to_owned())
}

/// A JSON-RPC result for a request.
pub(super) fn result(seen: &Seen, result: &str) -> Reply {
    json(200, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, seen.id()))
}

/// A JSON-RPC error for a request.
pub(super) fn error(status: u16, id: &str, code: i64) -> Reply {
    json(status, &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"no"}}}}"#))
}

pub(super) fn empty(status: u16) -> Reply {
    Response::builder().status(status).body(Full::new(Bytes::new()).boxed()).unwrap()
}

/// An event stream, written by the pen until the last pen goes.
pub(super) fn stream() -> (Pen, Reply) {
    chunked("text/event-stream")
}

/// A chunked body of any type, written by the pen.
pub(super) fn chunked(content_type: &str) -> (Pen, Reply) {
    let (sender, receiver) = mpsc::channel::<Bytes>(4);
    let chunks = unfold(receiver, |mut receiver| async move {
        let chunk = receiver.recv().await?;
        Some((Ok::<_, Infallible>(Frame::data(chunk)), receiver))
    });
    let body = StreamBody::new(chunks).boxed();
    let reply = Response::builder().header("content-type", content_type).body(body).unwrap();
    (Pen(sender), reply)
}

/// An event stream that is written and ended at once.
pub(super) fn events(text: &str) -> Reply {
    whole(200, "text/event-stream", text.to_owned())
}

/// An event that carries a message.
pub(super) fn event(message: &str) -> String {
    format!("event: message\ndata: {message}\n\n")
}

impl Pen {
    /// Writes; false if nobody reads any more.
    pub(super) async fn write(&self, text: impl Into<Bytes>) -> bool {
        self.0.send(text.into()).await.is_ok()
    }

    /// Writes a message event.
    pub(super) async fn say(&self, message: &str) -> bool {
        self.write(event(message)).await
    }

    /// Waits until the reader has gone.
    pub(super) async fn abandoned(&self) {
        tokio::time::timeout(SOON, self.0.closed()).await.expect("the reader goes");
    }
}
