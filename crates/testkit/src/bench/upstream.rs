//! The MCP server at the far end of a benchmark: both eras on one endpoint, every answer prepared, so that what
//! is measured is what stands in front of it.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::TcpListener;

use super::pieces::Pieces;
use super::replies::Replies;
use super::{Era, MODERN_VERSION, payload, serve};

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// What the upstream offers.
#[derive(Clone, Debug)]
pub struct Offer {
    /// How many tools it lists; `echo`, `upload` and `keep` are the first three.
    pub tools: usize,
    /// The sizes of text that `echo` can answer with.
    pub sizes: Vec<usize>,
    /// The one era it speaks, or both.
    pub only: Option<Era>,
}

struct Upstream {
    replies: Replies,
    only: Option<Era>,
    /// Sessions are numbered in the order they were opened; every number below this is one of ours.
    sessions: AtomicU64,
}

/// Serves `offer` to everyone who connects to `listener`.
pub async fn run(listener: TcpListener, offer: Offer) -> anyhow::Result<Infallible> {
    let upstream = Arc::new(Upstream {
        replies: Replies::new(offer.tools, &offer.sizes),
        only: offer.only,
        sessions: AtomicU64::new(0),
    });
    serve::serve(listener, move |request| {
        let upstream = Arc::clone(&upstream);
        async move { upstream.answer(request).await }
    })
    .await
}

/// What a request asks, borrowed from its bytes.
#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct EchoArguments {
    size: usize,
}

#[derive(Deserialize)]
struct UploadArguments<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

// === impl Upstream ===

impl Upstream {
    async fn answer(&self, request: Request<Incoming>) -> Response<Pieces> {
        let (head, body) = request.into_parts();
        match head.method {
            Method::POST => {}
            Method::GET if head.uri.path() == "/healthz" => return status(StatusCode::OK),
            Method::DELETE if self.knows_session(&head.headers) => return status(StatusCode::OK),
            _ => return status(StatusCode::METHOD_NOT_ALLOWED),
        }
        let Ok(body) = serve::read_body(body).await else { return status(StatusCode::PAYLOAD_TOO_LARGE) };
        let Ok(asked) = serde_json::from_slice::<Asked<'_>>(&body) else {
            return reply(StatusCode::BAD_REQUEST, Replies::error("null", -32700, "not a JSON-RPC message"));
        };
        let modern = head.headers.get(VERSION).is_some_and(|version| version == MODERN_VERSION);
        let era = if modern { Era::Modern } else { Era::Legacy };
        let Some(id) = asked.id.map(RawValue::get) else { return status(StatusCode::ACCEPTED) };
        if self.only.is_some_and(|only| only != era) {
            return reply(StatusCode::BAD_REQUEST, Replies::error(id, -32000, "this era is not spoken here"));
        }
        match era {
            Era::Legacy if asked.method == "initialize" => self.open_session(id),
            Era::Legacy if !self.knows_session(&head.headers) => {
                let missing = !head.headers.contains_key(SESSION);
                let code = if missing { StatusCode::BAD_REQUEST } else { StatusCode::NOT_FOUND };
                reply(code, Replies::error(id, -32000, "no such session"))
            }
            Era::Legacy if asked.method == "ping" => reply(StatusCode::OK, Replies::empty(id)),
            Era::Modern if asked.method == "server/discover" => {
                reply(StatusCode::OK, self.replies.hello(era, id))
            }
            Era::Modern if !header_is(&head.headers, "mcp-method", &asked.method) => reply(
                StatusCode::BAD_REQUEST,
                Replies::error(id, -32020, "`Mcp-Method` differs from the body"),
            ),
            Era::Legacy | Era::Modern => self.perform(era, id, &asked, &head.headers),
        }
    }

    fn perform(&self, era: Era, id: &str, asked: &Asked<'_>, headers: &HeaderMap) -> Response<Pieces> {
        match asked.method.as_ref() {
            "tools/list" => reply(StatusCode::OK, self.replies.list(era, id)),
            "tools/call" => {
                let call =
                    asked.params.and_then(|params| serde_json::from_str::<Call<'_>>(params.get()).ok());
                let Some(call) = call else {
                    return reply(StatusCode::OK, Replies::error(id, -32602, "`params` is not a call"));
                };
                if era == Era::Modern && !header_is(headers, "mcp-name", &call.name) {
                    let differs = Replies::error(id, -32020, "`Mcp-Name` differs from the body");
                    return reply(StatusCode::BAD_REQUEST, differs);
                }
                let answer = self.call(era, id, &call);
                reply(
                    StatusCode::OK,
                    answer.unwrap_or_else(|| Replies::error(id, -32602, "no such tool or size")),
                )
            }
            _ => {
                let code = if era == Era::Modern { StatusCode::NOT_FOUND } else { StatusCode::OK };
                reply(code, Replies::error(id, -32601, "no such method"))
            }
        }
    }

    fn call(&self, era: Era, id: &str, call: &Call<'_>) -> Option<Pieces> {
        let arguments = call.arguments?.get();
        match call.name.as_ref() {
            payload::ECHO => {
                let asked: EchoArguments = serde_json::from_str(arguments).ok()?;
                self.replies.echo(era, id, asked.size)
            }
            payload::UPLOAD | payload::KEEP => {
                let asked: UploadArguments<'_> = serde_json::from_str(arguments).ok()?;
                Some(self.replies.text(era, id, &asked.text.len().to_string()))
            }
            _ => None,
        }
    }

    fn open_session(&self, id: &str) -> Response<Pieces> {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        let mut answer = reply(StatusCode::OK, self.replies.hello(Era::Legacy, id));
        if let Ok(name) = HeaderValue::from_str(&format!("{number:032x}")) {
            answer.headers_mut().insert(SESSION, name);
        }
        answer
    }

    fn knows_session(&self, headers: &HeaderMap) -> bool {
        let number = headers
            .get(SESSION)
            .and_then(|name| name.to_str().ok())
            .and_then(|name| u64::from_str_radix(name, 16).ok());
        number.is_some_and(|number| number < self.sessions.load(Ordering::Relaxed))
    }
}

fn header_is(headers: &HeaderMap, name: &str, value: &str) -> bool {
    headers.get(name).is_some_and(|given| given.as_bytes() == value.as_bytes())
}

fn status(status: StatusCode) -> Response<Pieces> {
    reply(status, Pieces::none())
}

fn reply(status: StatusCode, body: Pieces) -> Response<Pieces> {
    let json = !body.is_empty();
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    if json {
        reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    reply
}
