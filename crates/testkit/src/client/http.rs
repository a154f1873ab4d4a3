//! A client over Streamable HTTP, in both eras.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use bytes::{Bytes, BytesMut};
use highwater_mcp::headers;
use highwater_mcp::sse::{Decoder, Event};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use super::Era;
use super::core::Core;
use super::inbox::Stream;
use super::message::{Message, shown};

/// No message of a test is longer.
const LONGEST: usize = 256 << 20;
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

pub(super) struct HttpLine {
    http: Client<HttpConnector, Full<Bytes>>,
    url: Uri,
    token: Option<String>,
    era: Era,
    session: OnceLock<Session>,
}

struct Session {
    id: Option<String>,
    version: String,
}

/// An HTTP answer that is a stream of events. Dropping it closes the connection.
pub struct HttpEvents {
    pub status: u16,
    body: Incoming,
    decoder: Decoder,
    ready: VecDeque<Event>,
    patience: Duration,
}

/// An HTTP answer, whole.
#[derive(Clone, Debug)]
pub struct HttpReply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: String,
}

// === impl HttpLine ===

impl HttpLine {
    pub(super) fn new(url: &str, token: Option<String>, era: Era) -> anyhow::Result<Self> {
        let url = url.parse().with_context(|| format!("no URL: `{url}`"))?;
        let http = Client::builder(TokioExecutor::new()).build_http();
        Ok(Self { http, url, token, era, session: OnceLock::new() })
    }

    /// The session id, once there is one.
    pub(super) fn session(&self) -> Option<&str> {
        self.session.get()?.id.as_deref()
    }

    /// Takes what `initialize` agreed on into every further request.
    pub(super) fn greeted(&self, id: Option<String>, version: String) {
        self.session.set(Session { id, version }).ok();
    }

    /// Posts a message that gets no answer.
    pub(super) async fn tell(&self, text: String) -> anyhow::Result<()> {
        let response = self.send(Method::POST, text.into(), &[]).await?;
        let reply = whole(response).await?;
        ensure!(reply.status == 202, "status {} instead of 202: {}", reply.status, reply.body);
        Ok(())
    }

    /// Posts a request and takes in everything that comes back. Dropping this closes the connection.
    pub(super) async fn ask(
        &self,
        core: &Core,
        id: &str,
        text: String,
        extra: &[(String, String)],
        stream: Stream,
    ) {
        let answered = match self.send(Method::POST, text.into(), extra).await {
            Ok(response) => self.take_in(core, id, response, stream).await,
            Err(error) => Err(error),
        };
        if let Err(error) = answered {
            core.inbox.settle(id, Err(format!("{error:#}")));
        }
    }

    /// Opens the stream of messages that belong to no request; gives the rest of it once it is open.
    pub(super) async fn open_stream(
        self: &Arc<Self>,
        core: &Arc<Core>,
    ) -> anyhow::Result<impl Future<Output = ()> + use<>> {
        let response = self.send(Method::GET, Bytes::new(), &[]).await?;
        let status = response.status();
        ensure!(status == 200, "the stream was refused with {status}");
        let core = Arc::clone(core);
        Ok(async move {
            let mut last = Last::default();
            // It ends with the session or the server; the test sees what is missing.
            events(&core, response, None, &mut last).await.ok();
        })
    }

    /// Ends the session.
    pub(super) async fn end(&self) -> anyhow::Result<HttpReply> {
        whole(self.send(Method::DELETE, Bytes::new(), &[]).await?).await
    }

    /// Posts bytes as they are; `extra` replaces headers, and an empty value removes one.
    pub(super) async fn exchange(
        &self,
        method: Method,
        body: Bytes,
        extra: &[(String, String)],
    ) -> anyhow::Result<HttpReply> {
        whole(self.send(method, body, extra).await?).await
    }

    /// The same for an answer that is read event by event.
    pub(super) async fn open(
        &self,
        method: Method,
        body: Bytes,
        extra: &[(String, String)],
        patience: Duration,
    ) -> anyhow::Result<HttpEvents> {
        let response = self.send(method, body, extra).await?;
        let status = response.status().as_u16();
        let (body, decoder) = (response.into_body(), Decoder::new(LONGEST));
        Ok(HttpEvents { status, body, decoder, ready: VecDeque::new(), patience })
    }

    async fn send(
        &self,
        method: Method,
        body: Bytes,
        extra: &[(String, String)],
    ) -> anyhow::Result<Response<Incoming>> {
        let mut request = Request::new(Full::new(body));
        *request.uri_mut() = self.url.clone();
        let mut headers = self.headers(&method)?;
        *request.method_mut() = method;
        for (name, value) in extra {
            let name = HeaderName::from_bytes(name.as_bytes())?;
            headers.remove(&name);
            if !value.is_empty() {
                headers.insert(name, HeaderValue::from_bytes(value.as_bytes())?);
            }
        }
        *request.headers_mut() = headers;
        self.http.request(request).await.context("the HTTP request failed")
    }

    fn headers(&self, method: &Method) -> anyhow::Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        if *method == Method::POST {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
            headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        } else {
            headers.insert(ACCEPT, HeaderValue::from_static(EVENTS));
        }
        if let Some(token) = &self.token {
            headers.insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}"))?);
        }
        let version = match (self.era, self.session.get()) {
            (Era::Modern, _) => Some(super::MODERN),
            (Era::Legacy, session) => session.map(|session| session.version.as_str()),
        };
        if let Some(version) = version {
            headers.insert(headers::PROTOCOL_VERSION, HeaderValue::from_str(version)?);
        }
        if let Some(session) = self.session() {
            headers.insert(headers::SESSION_ID, HeaderValue::from_str(session)?);
        }
        Ok(headers)
    }

    async fn take_in(
        &self,
        core: &Core,
        id: &str,
        response: Response<Incoming>,
        stream: Stream,
    ) -> anyhow::Result<()> {
        let status = response.status();
        if is(&response, EVENTS) {
            return self.follow(core, id, response, stream).await;
        }
        let session = response.headers().get(headers::SESSION_ID).cloned();
        let reply = whole(response).await?;
        let Ok(message) = Message::parse(&reply.body) else {
            bail!("status {status}: {}", shown(&reply.body));
        };
        // Known before whoever waits for the answer sends the next request.
        if let (Some(session), Value::String(version)) = (session, message.at("/result/protocolVersion")) {
            self.greeted(Some(session.to_str()?.to_owned()), version);
        }
        // A refused message may be answered without its id: it still is the answer to this request.
        core.inbox.settle(id, Ok((message.clone(), status.as_u16())));
        core.inbox.arrived(message, stream);
        Ok(())
    }

    /// Reads the stream of an answer, and takes it up again where the server says it may be.
    async fn follow(
        &self,
        core: &Core,
        id: &str,
        response: Response<Incoming>,
        stream: Stream,
    ) -> anyhow::Result<()> {
        let mut last = Last::default();
        let mut response = response;
        loop {
            let read = events(core, response, stream, &mut last).await;
            if last.answered.as_deref() == Some(id) {
                return Ok(());
            }
            let Some(event) = last.event.clone().filter(|_| self.era == Era::Legacy) else {
                read?;
                bail!("the stream ended without an answer");
            };
            tokio::time::sleep(Duration::from_millis(last.retry.unwrap_or(0))).await;
            let resume = [(headers::LAST_EVENT_ID.to_owned(), event)];
            response = self.send(Method::GET, Bytes::new(), &resume).await?;
            ensure!(response.status() == 200, "resuming was refused with {}", response.status());
        }
    }
}

// === impl HttpEvents ===

impl HttpEvents {
    /// The next event; none at the end of the stream.
    pub async fn next(&mut self) -> anyhow::Result<Option<Event>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let frame = tokio::time::timeout(self.patience, self.body.frame()).await;
            let Some(frame) = frame.context("no event came in time")? else { return Ok(None) };
            let Ok(chunk) = frame.context("the stream broke")?.into_data() else { continue };
            let mut events = Vec::new();
            self.decoder.feed(&chunk, &mut events)?;
            self.ready.extend(events);
        }
    }

    /// The next event that carries a message, with the id it can be resumed behind.
    pub async fn next_message(&mut self) -> anyhow::Result<(Option<String>, Message)> {
        loop {
            let event = self.next().await?.context("the stream ended")?;
            if !event.data.is_empty() {
                return Ok((event.id, Message::parse(std::str::from_utf8(&event.data)?)?));
            }
        }
    }
}

/// What a stream said last.
#[derive(Default)]
struct Last {
    event: Option<String>,
    retry: Option<u64>,
    /// The id of the last response.
    answered: Option<String>,
}

async fn events(
    core: &Core,
    response: Response<Incoming>,
    stream: Stream,
    last: &mut Last,
) -> anyhow::Result<()> {
    let mut body = response.into_body();
    let mut decoder = Decoder::new(LONGEST);
    let mut events = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(chunk) = frame.context("the stream broke")?.into_data() else { continue };
        decoder.feed(&chunk, &mut events)?;
        for event in events.drain(..) {
            last.event = event.id.or(last.event.take());
            last.retry = event.retry.or(last.retry);
            if !event.data.is_empty() {
                let message = Message::parse(std::str::from_utf8(&event.data)?)?;
                if message.is_response() {
                    last.answered = message.id().map(str::to_owned);
                }
                core.arrived(message, stream);
            }
        }
    }
    Ok(())
}

async fn whole(response: Response<Incoming>) -> anyhow::Result<HttpReply> {
    let (parts, mut body) = response.into_parts();
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        if let Ok(chunk) = frame.context("the answer broke off")?.into_data() {
            ensure!(bytes.len() + chunk.len() <= LONGEST, "the answer is too long");
            bytes.extend_from_slice(&chunk);
        }
    }
    let body = String::from_utf8(bytes.to_vec()).context("the answer is no UTF-8")?;
    Ok(HttpReply { status: parts.status.as_u16(), headers: parts.headers, body })
}

fn is(response: &Response<Incoming>, wanted: &str) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with(wanted))
}
