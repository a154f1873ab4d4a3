//! The agent's side of a scenario: an MCP client over HTTP, in both eras, that answers what it is asked.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use bytes::{Bytes, BytesMut};
use highwater_mcp::headers;
use highwater_mcp::sse::Decoder;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Map, Value, json};

use crate::example::wire::{CAPABILITIES_KEY, LEGACY, MODERN, VERSION_KEY};
use crate::scenario::file::Era;
use crate::scenario::model::Answer;

/// No answer of a scenario is longer.
const LONGEST: usize = 64 << 20;

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often a client tries again with what it was asked for.
const MOST_ROUNDS: usize = 16;

/// A connected client.
pub(super) struct Client {
    http: Http<HttpConnector, Full<Bytes>>,
    url: String,
    token: String,
    era: Era,
    capabilities: Value,
    /// What a legacy client was given.
    session: Option<String>,
    next: u64,
}

/// Where and how to connect.
pub(super) struct Connection {
    pub(super) url: String,
    pub(super) token: String,
    pub(super) era: Era,
    pub(super) capabilities: Value,
}

/// Everything that came back for one request.
#[derive(Default)]
pub(super) struct Heard {
    /// The result, or the error.
    pub(super) answer: Option<Result<Value, Value>>,
    /// The text of each question.
    pub(super) asked: Vec<String>,
    /// How many of those nobody had an answer to.
    pub(super) unanswered: usize,
    pub(super) notifications: Vec<Value>,
}

/// What is said to questions, in their order; the last answer goes on.
pub(super) struct Answers {
    waiting: VecDeque<Answer>,
}

/// One message of a stream, from the point of view of whoever waits.
enum Said {
    Answer(Result<Value, Value>),
    Question { id: Value, method: String, params: Value },
    Notification(Value),
}

// === impl Client ===

impl Client {
    /// Connects: a legacy client shakes hands, a modern one has nothing to say yet.
    pub(super) async fn connect(connection: Connection) -> anyhow::Result<Self> {
        let Connection { url, token, era, capabilities } = connection;
        let http = Http::builder(TokioExecutor::new()).build_http();
        let mut client = Self { http, url, token, era, capabilities, session: None, next: 1 };
        if era == Era::Legacy {
            let params = json!({
                "protocolVersion": LEGACY.first(), "capabilities": client.capabilities(),
                "clientInfo": { "name": "scenario", "version": "1" }
            });
            let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
            let response = client.post(&body, "initialize", None).await?;
            let session = response.headers().get(headers::SESSION_ID).and_then(|id| id.to_str().ok());
            client.session = session.map(str::to_owned);
            let greeting = whole(response).await?;
            ensure!(client.session.is_some(), "the gateway opened no session: {greeting}");
            let done = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            client.tell(&done).await?;
        }
        Ok(client)
    }

    /// The transport session that a legacy client was given.
    pub(super) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Leaves, as a client does that is closed.
    pub(super) async fn leave(self) -> anyhow::Result<()> {
        if self.session.is_some() {
            let request = self.request(Method::DELETE, Bytes::new(), "", None)?;
            whole(self.send(request).await?).await?;
        }
        Ok(())
    }

    /// Asks, and answers whatever is asked in between.
    pub(super) async fn ask(
        &mut self,
        method: &str,
        params: Map<String, Value>,
        answers: &mut Answers,
    ) -> anyhow::Result<Heard> {
        let mut heard = Heard::default();
        let name = ["name", "uri"].into_iter().find_map(|key| params.get(key)?.as_str().map(str::to_owned));
        let mut again = params.clone();
        for _ in 0..MOST_ROUNDS {
            let answer = self.exchange(method, name.as_deref(), again, answers, &mut heard).await?;
            let Some(inputs) = answer.as_ref().ok().and_then(inputs) else {
                heard.answer = Some(answer);
                return Ok(heard);
            };
            let mut responses = Map::new();
            for (key, method, params) in inputs {
                responses.insert(key, heard.answered(&method, &params, answers));
            }
            again = params.clone();
            again.insert("inputResponses".into(), Value::Object(responses));
            if let Some(state) = answer.as_ref().ok().and_then(|result| result.get("requestState")) {
                again.insert("requestState".into(), state.clone());
            }
        }
        bail!("asked for input more than {MOST_ROUNDS} times")
    }

    /// One request and its answer, with what comes in between on the same stream.
    async fn exchange(
        &mut self,
        method: &str,
        name: Option<&str>,
        params: Map<String, Value>,
        answers: &mut Answers,
        heard: &mut Heard,
    ) -> anyhow::Result<Result<Value, Value>> {
        let id = self.next;
        self.next += 1;
        let params = self.dressed(params);
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let response = self.post(&body, method, name).await?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let status = response.status();
            let text = whole(response).await?;
            let message: Value =
                serde_json::from_str(&text).with_context(|| format!("status {status}: {text}"))?;
            return match said(message) {
                Some(Said::Answer(answer)) => Ok(answer),
                _ => bail!("status {status}: {text}"),
            };
        }
        let (mut body, mut decoder, mut events) = (response.into_body(), Decoder::new(LONGEST), Vec::new());
        while let Some(frame) = bounded(body.frame()).await? {
            let Ok(chunk) = frame.context("the stream broke")?.into_data() else { continue };
            decoder.feed(&chunk, &mut events)?;
            for event in events.drain(..).filter(|event| !event.data.is_empty()) {
                match said(serde_json::from_slice(&event.data)?) {
                    Some(Said::Answer(answer)) => return Ok(answer),
                    Some(Said::Question { id, method, params }) => {
                        let result = heard.answered(&method, &params, answers);
                        self.tell(&json!({ "jsonrpc": "2.0", "id": id, "result": result })).await?;
                    }
                    Some(Said::Notification(message)) => heard.notifications.push(message),
                    None => bail!("the gateway said what is no message"),
                }
            }
        }
        bail!("the stream ended without an answer")
    }

    /// The parameters with what the era wants in every request.
    fn dressed(&self, mut params: Map<String, Value>) -> Map<String, Value> {
        let meta = params.entry("_meta").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            if self.era == Era::Modern {
                meta.insert(VERSION_KEY.into(), json!(MODERN));
                meta.entry(CAPABILITIES_KEY).or_insert_with(|| self.capabilities());
            }
            if meta.is_empty() {
                params.remove("_meta");
            }
        }
        params
    }

    fn capabilities(&self) -> Value {
        self.capabilities.clone()
    }

    async fn tell(&self, message: &Value) -> anyhow::Result<()> {
        let response = self.post(message, "", None).await?;
        let status = response.status();
        let text = whole(response).await?;
        ensure!(status.is_success(), "status {status}: {text}");
        Ok(())
    }

    async fn post(
        &self,
        body: &Value,
        method: &str,
        name: Option<&str>,
    ) -> anyhow::Result<Response<Incoming>> {
        let request = self.request(Method::POST, Bytes::from(body.to_string()), method, name)?;
        self.send(request).await
    }

    fn request(
        &self,
        verb: Method,
        body: Bytes,
        method: &str,
        name: Option<&str>,
    ) -> anyhow::Result<Request<Full<Bytes>>> {
        let mut request = Request::builder()
            .method(verb)
            .uri(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header(AUTHORIZATION, format!("Bearer {}", self.token));
        request = match (self.era, &self.session) {
            (Era::Modern, _) => {
                let named = request.header(headers::PROTOCOL_VERSION, MODERN).header(headers::METHOD, method);
                match name {
                    Some(name) => named.header(headers::NAME, headers::encode_value(name).as_ref()),
                    None => named,
                }
            }
            (Era::Legacy, Some(session)) => {
                let version = LEGACY.first().copied().unwrap_or_default();
                request.header(headers::SESSION_ID, session).header(headers::PROTOCOL_VERSION, version)
            }
            (Era::Legacy, None) => request,
        };
        request.body(Full::new(body)).context("the request cannot be sent")
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> anyhow::Result<Response<Incoming>> {
        bounded(self.http.request(request)).await?.context("the gateway cannot be reached")
    }
}

// === impl Heard ===

impl Heard {
    /// Notes a question and gives the result that answers it.
    fn answered(&mut self, method: &str, params: &Value, answers: &mut Answers) -> Value {
        let message = params.get("message").and_then(Value::as_str);
        self.asked.push(message.map_or_else(|| format!("{method}: {params}"), str::to_owned));
        let answer = answers.next();
        if answer.is_none() {
            self.unanswered += 1;
        }
        match (method, answer) {
            ("sampling/createMessage", Some(Answer::Sample(text))) => {
                let content = json!({ "type": "text", "text": text });
                json!({ "role": "assistant", "model": "scenario", "content": content })
            }
            ("roots/list", Some(Answer::Roots(uris))) => {
                let roots: Vec<Value> = uris.iter().map(|uri| json!({ "uri": uri })).collect();
                json!({ "roots": roots })
            }
            ("roots/list", _) => json!({ "roots": [] }),
            (_, Some(Answer::Accept(content))) => {
                let content = content.unwrap_or_else(|| filled_in(params));
                json!({ "action": "accept", "content": content })
            }
            (_, Some(Answer::Cancel)) => json!({ "action": "cancel" }),
            _ => json!({ "action": "decline" }),
        }
    }
}

/// A form as somebody fills it in who agrees: yes to what is a yes or a no, and the default, or the first choice.
fn filled_in(params: &Value) -> Value {
    let schema = params.get("requestedSchema");
    let fields = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let mut content = Map::new();
    for (name, field) in fields.into_iter().flatten() {
        let choice = field.get("enum").and_then(|choices| choices.get(0)).cloned();
        let value = match field.get("type").and_then(Value::as_str) {
            Some("boolean") => json!(true),
            _ => field.get("default").cloned().or(choice).unwrap_or_else(|| json!("")),
        };
        content.insert(name.clone(), value);
    }
    Value::Object(content)
}

// === impl Answers ===

impl Answers {
    pub(super) fn new(answers: &[Answer]) -> Self {
        Self { waiting: answers.iter().cloned().collect() }
    }

    fn next(&mut self) -> Option<Answer> {
        match self.waiting.len() {
            0 | 1 => self.waiting.front().cloned(),
            _ => self.waiting.pop_front(),
        }
    }
}

fn said(message: Value) -> Option<Said> {
    let Value::Object(mut members) = message else { return None };
    let id = members.remove("id").filter(|id| !id.is_null());
    if let Some(result) = members.remove("result") {
        return Some(Said::Answer(Ok(result)));
    }
    if let Some(error) = members.remove("error") {
        return Some(Said::Answer(Err(error)));
    }
    let method = members.get("method")?.as_str()?.to_owned();
    let params = members.get("params").cloned().unwrap_or_else(|| json!({}));
    Some(match id {
        Some(id) => Said::Question { id, method, params },
        None => Said::Notification(Value::Object(members)),
    })
}

/// The questions in a result that asks for input.
fn inputs(result: &Value) -> Option<Vec<(String, String, Value)>> {
    if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
        return None;
    }
    let requests = result.get("inputRequests").and_then(Value::as_object)?;
    let one = |(key, request): (&String, &Value)| {
        let method = request.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        (key.clone(), method, request.get("params").cloned().unwrap_or_else(|| json!({})))
    };
    Some(requests.iter().map(one).collect())
}

/// A whole answer.
pub(super) async fn whole(response: Response<Incoming>) -> anyhow::Result<String> {
    let (mut body, mut bytes) = (response.into_body(), BytesMut::new());
    while let Some(frame) = bounded(body.frame()).await? {
        if let Ok(chunk) = frame.context("the answer broke off")?.into_data() {
            ensure!(bytes.len() + chunk.len() <= LONGEST, "the answer is too long");
            bytes.extend_from_slice(&chunk);
        }
    }
    String::from_utf8(bytes.to_vec()).context("the answer is no UTF-8")
}

/// Waits, but not for ever.
pub(super) async fn bounded<T>(work: impl Future<Output = T>) -> anyhow::Result<T> {
    tokio::time::timeout(PATIENCE, work).await.context("no answer came in time")
}
