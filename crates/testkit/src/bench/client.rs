//! One MCP session on one connection, as the load generator and the start-up host use it. Nothing here is
//! shared between sessions: a closed loop measures the answerer only if the asker never waits for itself.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use http::uri::Uri;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::pieces::Pieces;
use super::{Era, LEGACY_VERSION, MODERN_VERSION, answer, serve};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Where sessions are opened, and in which era.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub url: Uri,
    /// Sent as a bearer token, if there is one.
    pub token: Option<String>,
    pub era: Era,
}

/// A request prepared once and sent many times, each time under a new id.
pub struct Prepared {
    tail: Bytes,
    headers: HeaderMap,
}

/// An open session.
pub struct McpClient {
    endpoint: Arc<Endpoint>,
    sender: SendRequest<Pieces>,
    headers: HeaderMap,
    /// What it calls itself.
    name: &'static str,
    last_id: u64,
}

// === impl Endpoint ===

impl Endpoint {
    /// A request for `method` with `params`; `name` is what a modern request repeats in `Mcp-Name`.
    pub fn prepare(
        &self,
        method: &'static str,
        params: &str,
        name: Option<&str>,
    ) -> anyhow::Result<Prepared> {
        let mut headers = HeaderMap::new();
        let mut params = params.to_owned();
        if self.era == Era::Modern {
            headers.insert(METHOD, HeaderValue::from_static(method));
            if let Some(name) = name {
                let name = HeaderValue::from_str(name).context("the tool's name does not fit in a header")?;
                headers.insert(NAME, name);
            }
            // The rest of the parameters may hold 1 MiB of text: it is spliced, not parsed.
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": client_info(),
            });
            let members = params.strip_prefix('{').context("the parameters are not an object")?;
            let comma = if members.trim_start().starts_with('}') { "" } else { "," };
            params = format!(r#"{{"_meta":{meta}{comma}{members}"#);
        }
        let tail = Bytes::from(format!(r#","method":"{method}","params":{params}}}"#));
        Ok(Prepared { tail, headers })
    }
}

// === impl McpClient ===

impl McpClient {
    /// Opens a connection and, on it, a session.
    pub async fn open(endpoint: Arc<Endpoint>, name: &'static str) -> anyhow::Result<Self> {
        let sender = connect(&endpoint.url).await?;
        let headers = common_headers(&endpoint)?;
        let mut client = Self { endpoint, sender, headers, name, last_id: 0 };
        match client.endpoint.era {
            Era::Legacy => client.initialize().await?,
            Era::Modern => client.discover().await?,
        }
        Ok(client)
    }

    /// How many requests it has sent.
    pub fn asked(&self) -> u64 {
        self.last_id
    }

    /// Sends the request and returns the id it had and the answer to it.
    pub async fn ask(&mut self, request: &Prepared) -> anyhow::Result<(u64, Bytes)> {
        let (id, status, _, body) = self.post(request).await?;
        ensure!(status.is_success(), "answered with {status}: {}", String::from_utf8_lossy(&body));
        Ok((id, body))
    }

    /// Connects anew after a failure; the session stays.
    pub async fn reconnect(&mut self) -> anyhow::Result<()> {
        self.sender = connect(&self.endpoint.url).await?;
        Ok(())
    }

    /// Ends a legacy session; a modern one has no end to announce.
    pub async fn close(mut self) -> anyhow::Result<()> {
        if self.endpoint.era == Era::Legacy {
            let request = self.request(Method::DELETE, HeaderMap::new(), Pieces::none());
            self.sender.ready().await.context("the connection is closed")?;
            let reply = self.sender.send_request(request).await.context("the session could not be ended")?;
            serve::read_body(reply.into_body()).await?;
        }
        Ok(())
    }

    async fn initialize(&mut self) -> anyhow::Result<()> {
        let params = json!({
            "protocolVersion": LEGACY_VERSION,
            "capabilities": {},
            "clientInfo": { "name": self.name, "version": "1" },
        });
        let request = self.endpoint.prepare("initialize", &params.to_string(), None)?;
        let (id, status, headers, body) = self.post(&request).await?;
        ensure!(
            status.is_success(),
            "`initialize` answered with {status}: {}",
            String::from_utf8_lossy(&body)
        );
        answer::check_any(&body, id)?;
        self.headers.insert(VERSION, HeaderValue::from_static(LEGACY_VERSION));
        if let Some(session) = headers.get(SESSION) {
            self.headers.insert(SESSION, session.clone());
        }
        let initialized = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let request = self.request(Method::POST, HeaderMap::new(), Pieces::whole(initialized));
        self.sender.ready().await.context("the connection is closed")?;
        let reply = self.sender.send_request(request).await.context("the handshake broke off")?;
        let status = reply.status();
        serve::read_body(reply.into_body()).await?;
        ensure!(status.is_success(), "`notifications/initialized` answered with {status}");
        Ok(())
    }

    async fn discover(&mut self) -> anyhow::Result<()> {
        self.headers.insert(VERSION, HeaderValue::from_static(MODERN_VERSION));
        let request = self.endpoint.prepare("server/discover", "{}", None)?;
        let (id, body) = self.ask(&request).await.context("`server/discover` failed")?;
        answer::check_any(&body, id)
    }

    async fn post(&mut self, request: &Prepared) -> anyhow::Result<(u64, StatusCode, HeaderMap, Bytes)> {
        self.last_id += 1;
        let id = self.last_id;
        let body = Pieces::message(&id.to_string(), &request.tail);
        let request = self.request(Method::POST, request.headers.clone(), body);
        self.sender.ready().await.context("the connection is closed")?;
        let reply = self.sender.send_request(request).await.context("the request was not answered")?;
        let (head, body) = reply.into_parts();
        let mut body = serve::read_body(body).await?;
        let kind = head.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
        if kind.starts_with(b"text/event-stream") {
            body = Bytes::from(answer::last_event(&body)?);
        }
        Ok((id, head.status, head.headers, body))
    }

    fn request(&self, method: Method, extra: HeaderMap, body: Pieces) -> Request<Pieces> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = origin_form(&self.endpoint.url);
        let mut headers = self.headers.clone();
        headers.extend(extra);
        *request.headers_mut() = headers;
        request
    }
}

/// Asks for `path` on a connection of its own and says whether the answer was a success.
pub async fn get_succeeds(url: &Uri, path: &'static str) -> anyhow::Result<bool> {
    let mut sender = connect(url).await?;
    let mut request = Request::new(Pieces::none());
    *request.uri_mut() = Uri::from_static(path);
    request.headers_mut().insert(HOST, host_header(url)?);
    let reply = sender.send_request(request).await.context("the request was not answered")?;
    let status = reply.status();
    serve::read_body(reply.into_body()).await?;
    Ok(status.is_success())
}

async fn connect(url: &Uri) -> anyhow::Result<SendRequest<Pieces>> {
    let authority = url.authority().with_context(|| format!("`{url}` has no host"))?;
    let stream = TcpStream::connect((authority.host(), authority.port_u16().unwrap_or(80)))
        .await
        .with_context(|| format!("cannot connect to `{authority}`"))?;
    stream.set_nodelay(true).context("cannot set TCP_NODELAY")?;
    let (sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.context("the connection failed")?;
    tokio::spawn(async move {
        // Whoever waits for an answer on it learns of a broken connection there.
        drop(connection.await);
    });
    Ok(sender)
}

fn common_headers(endpoint: &Endpoint) -> anyhow::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(HOST, host_header(&endpoint.url)?);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    if let Some(token) = &endpoint.token {
        let value =
            HeaderValue::from_str(&format!("Bearer {token}")).context("the token is not a header value")?;
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

fn host_header(url: &Uri) -> anyhow::Result<HeaderValue> {
    let authority = url.authority().with_context(|| format!("`{url}` has no host"))?;
    HeaderValue::from_str(authority.as_str()).context("the host is not a header value")
}

fn origin_form(url: &Uri) -> Uri {
    let mut parts = http::uri::Parts::default();
    parts.path_and_query = url.path_and_query().cloned();
    Uri::from_parts(parts).unwrap_or_default()
}

fn client_info() -> Value {
    json!({ "name": "bench-load", "version": "1" })
}
