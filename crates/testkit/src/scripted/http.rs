//! The script over HTTP. Streamable: one message is a JSON answer, several are a stream of events. HTTP+SSE: all
//! messages come on the stream that was opened last.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, StreamExt};
use highwater_mcp::headers::SESSION_ID;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming as RequestBody};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::{Incoming, Lines, QUEUE, Scripted};

/// No request is larger than this.
const LARGEST: usize = 16 << 20;

/// Where HTTP+SSE takes messages.
const MESSAGES: &str = "/messages";

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// Serves the listener until the future is dropped; `sse` is HTTP+SSE of 2024-11-05.
pub async fn serve(server: Arc<Scripted>, listener: TcpListener, sse: bool) -> std::io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let server = Arc::clone(&server);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let server = Arc::clone(&server);
                async move { Ok::<_, Infallible>(answer(server, sse, request).await) }
            });
            let connection = hyper::server::conn::http1::Builder::new();
            // A connection that breaks is the client's affair.
            connection.serve_connection(TokioIo::new(stream), service).await.ok();
        });
    }
}

async fn answer(server: Arc<Scripted>, sse: bool, request: Request<RequestBody>) -> Answer {
    let (head, body) = request.into_parts();
    match head.method {
        // Without a session yet it is a client that tries what is spoken here.
        Method::GET if sse => return open(&server, "", &format!("event: endpoint\ndata: {MESSAGES}\n\n")),
        Method::GET if head.headers.contains_key(SESSION_ID) => {
            let session = head.headers.get(SESSION_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
            return open(&server, session, ": open\n\n");
        }
        Method::POST if !sse || head.uri.path() == MESSAGES => {}
        _ => return plain(StatusCode::METHOD_NOT_ALLOWED),
    }
    let Some(text) = whole(body).await else { return plain(StatusCode::BAD_REQUEST) };
    match server.hear(&text, noted(&head.headers)) {
        Incoming::Rest => plain(StatusCode::ACCEPTED),
        Incoming::Request(lines) if sse => {
            tokio::spawn(async move {
                let out = server.standing("").await;
                server.say(lines, out).await;
            });
            plain(StatusCode::ACCEPTED)
        }
        Incoming::Request(lines) => say(server, lines),
    }
}

/// Opens the standing stream of a session.
fn open(server: &Scripted, session: &str, first: &str) -> Answer {
    let (sender, messages) = mpsc::channel(QUEUE);
    server.standing.send_modify(|standing| drop(standing.insert(session.to_owned(), sender)));
    stream_of(first.to_owned(), messages)
}

fn say(server: Arc<Scripted>, lines: Lines) -> Answer {
    let greets = lines.method == "initialize";
    let status = match lines.known || !server.is_modern() {
        true => StatusCode::OK,
        false => StatusCode::NOT_FOUND,
    };
    let session = format!("scripted-{}", server.sessions.fetch_add(usize::from(greets), Ordering::Relaxed));
    let mut answer = match lines.messages.as_slice() {
        [only] if !only.starts_with('$') => {
            let mut answer = Response::new(Full::from(only.clone()).boxed_unsync());
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            answer
        }
        _ => events(server, lines),
    };
    *answer.status_mut() = status;
    if greets && let Ok(session) = HeaderValue::from_str(&session) {
        answer.headers_mut().insert(SESSION_ID, session);
    }
    answer
}

fn events(server: Arc<Scripted>, lines: Lines) -> Answer {
    let (sender, messages) = mpsc::channel(QUEUE);
    tokio::spawn(async move { server.say(lines, sender).await });
    stream_of(String::new(), messages)
}

fn stream_of(first: String, messages: mpsc::Receiver<String>) -> Answer {
    let events = stream::unfold(messages, |mut messages| async move {
        let message = messages.recv().await?;
        let lines: String = message.split('\n').map(|line| format!("data: {line}\n")).collect();
        Some((format!("{lines}\n"), messages))
    });
    let frames = stream::iter([first]).chain(events).map(|event| Ok(Frame::data(Bytes::from(event))));
    let mut answer = Response::new(BodyExt::boxed_unsync(StreamBody::new(frames)));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer
}

fn plain(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::default().boxed_unsync());
    *answer.status_mut() = status;
    answer
}

fn noted(headers: &HeaderMap) -> Value {
    let pairs = headers.iter().map(|(name, value)| {
        (name.to_string(), Value::from(String::from_utf8_lossy(value.as_bytes()).into_owned()))
    });
    pairs.collect()
}

async fn whole(mut body: RequestBody) -> Option<String> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        if let Ok(chunk) = frame.ok()?.into_data() {
            if bytes.len() + chunk.len() > LARGEST {
                return None;
            }
            bytes.extend_from_slice(&chunk);
        }
    }
    String::from_utf8(bytes.to_vec()).ok()
}
