//! A request under way, and a listen stream.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, bail};
use highwater_mcp::headers;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::inbox::{Arrived, End, Stream};
use super::message::Message;
use super::question::{Question, Reply};
use super::{Answer, Client, Era, Line, Request};

/// How often a client tries again with what it was asked for.
const MOST_ROUNDS: usize = 16;

/// A request under way.
pub struct Pending<'a> {
    client: &'a Client,
    request: Request,
    sent: Sent,
}

/// A listen stream of the modern era. Dropping it leaves it open; see [`Listening::close`].
pub struct Listening<'a> {
    pending: Pending<'a>,
    /// The acknowledgement.
    pub acknowledged: Message,
}

struct Sent {
    id: String,
    stream: Stream,
    /// Where in the order of arrivals it was sent.
    position: usize,
    answer: oneshot::Receiver<End>,
    /// The HTTP exchange.
    exchange: Option<AbortHandle>,
}

/// The part of a result that asks for input.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InputRequired<'a> {
    #[serde(borrow)]
    result_type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    input_requests: BTreeMap<String, Asked<'a>>,
    #[serde(borrow)]
    request_state: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Asked<'a> {
    method: String,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

// === impl Pending ===

impl<'a> Pending<'a> {
    pub(super) async fn begin(client: &'a Client, request: Request) -> anyhow::Result<Self> {
        let sent = send(client, &request).await?;
        Ok(Self { client, request, sent })
    }

    /// The id it was sent under, as JSON text.
    pub fn id(&self) -> &str {
        &self.sent.id
    }

    /// Waits for the answer, giving what the server asks for in between.
    pub async fn answer(self) -> anyhow::Result<Answer> {
        let Self { client, mut request, mut sent } = self;
        let (mut before, mut rounds) = (Vec::new(), 0);
        loop {
            let Arrived { message, position, status } = arrival(client, &request, &mut sent).await?;
            before.extend(client.core.inbox.between(sent.position, position, sent.stream));
            let again = match request.rounds && client.era == Era::Modern && rounds < MOST_ROUNDS {
                true => with_input(client, &request, &message)?,
                false => None,
            };
            let Some(again) = again else { return Ok(Answer { message, before, rounds, status }) };
            rounds += 1;
            request = again;
            sent = send(client, &request).await?;
        }
    }

    /// Whether nothing has come in answer so far.
    pub fn is_unanswered(&self) -> bool {
        self.sent.answer.is_empty()
    }

    /// Takes the request back, in the manner of era and transport.
    pub async fn cancel(&self) -> anyhow::Result<()> {
        match (&self.client.line, self.client.era, &self.sent.exchange) {
            (Line::Http(_), Era::Modern, Some(exchange)) => {
                exchange.abort();
                Ok(())
            }
            _ => {
                let id: Box<RawValue> = RawValue::from_string(self.sent.id.clone())?;
                let message = format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
                );
                self.client.bounded("cancelling", self.client.line.tell(message)).await?
            }
        }
    }
}

// === impl Listening ===

impl<'a> Listening<'a> {
    pub(super) async fn open(client: &'a Client, filter: Value) -> anyhow::Result<Self> {
        let request = Request::new("subscriptions/listen").params(json!({ "notifications": filter }));
        let pending = Pending::begin(client, request).await?;
        let ours: Value = serde_json::from_str(pending.id())?;
        let told =
            |message: &Message| message.at("/params/_meta/io.modelcontextprotocol~1subscriptionId") == ours;
        let method = "notifications/subscriptions/acknowledged";
        let acknowledged = client.next_notification_where(method, told).await?;
        Ok(Self { pending, acknowledged })
    }

    /// The id of the listen request, as JSON text: what everything on the stream is marked with.
    pub fn id(&self) -> &str {
        self.pending.id()
    }

    /// Stops listening.
    pub async fn close(self) -> anyhow::Result<()> {
        self.pending.cancel().await
    }

    /// Waits until the server ends the stream.
    pub async fn ended(self) -> anyhow::Result<Answer> {
        self.pending.answer().await
    }
}

async fn send(client: &Client, request: &Request) -> anyhow::Result<Sent> {
    let id = request.id.clone().unwrap_or_else(|| client.next_id());
    let mut meta = client.meta();
    meta.extend(request.meta.clone());
    let text = request.text(&id, &meta);
    let (position, answer) = client.core.inbox.expect(&id);
    match &client.line {
        Line::Stdio(line) => {
            client.bounded("sending", line.write(format!("{text}\n").as_bytes())).await??;
            Ok(Sent { id, stream: None, position, answer, exchange: None })
        }
        Line::Http(line) => {
            let mut extra = Vec::new();
            if client.era == Era::Modern {
                extra.push((headers::METHOD.to_owned(), request.method.clone()));
                if let Some(name) = request.name() {
                    extra.push((headers::NAME.to_owned(), headers::encode_value(&name).into_owned()));
                }
            }
            extra.extend(request.headers.iter().cloned());
            let stream = client.ids.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let (line, core, key) = (Arc::clone(line), Arc::clone(&client.core), id.clone());
            let exchange =
                tokio::spawn(async move { line.ask(&core, &key, text, &extra, Some(stream)).await });
            let exchange = exchange.abort_handle();
            client.keep(exchange.clone());
            Ok(Sent { id, stream: Some(stream), position, answer, exchange: Some(exchange) })
        }
    }
}

async fn arrival(client: &Client, request: &Request, sent: &mut Sent) -> anyhow::Result<Arrived> {
    let what = || format!("`{}` as {}", request.method, sent.id);
    match tokio::time::timeout(client.patience, &mut sent.answer).await {
        Ok(Ok(Ok(arrived))) => Ok(arrived),
        Ok(Ok(Err(why))) => bail!("{} has no answer: {why}; {}", what(), client.errors()),
        Ok(Err(_)) => bail!("{} has no answer: it was cancelled", what()),
        Err(_) => bail!(
            "{} has no answer within {:?}; {}; {}",
            what(),
            client.patience,
            client.core.inbox.story(),
            client.errors()
        ),
    }
}

/// The request to send next, if the answer asks for input and the client gives it.
fn with_input(client: &Client, request: &Request, message: &Message) -> anyhow::Result<Option<Request>> {
    let Some(result) = message.result() else { return Ok(None) };
    let asked: InputRequired<'_> =
        serde_json::from_str(result).with_context(|| format!("no result: `{result}`"))?;
    if asked.result_type.as_deref() != Some("input_required") {
        return Ok(None);
    }
    let mut responses = Vec::new();
    for (key, Asked { method, params }) in asked.input_requests {
        let params = params.map_or("{}", RawValue::get).to_owned();
        let result = match client.core.answer(&Question { method, params }) {
            Reply::Result(result) => result.to_string(),
            Reply::Raw(result) => result,
            Reply::Error(..) | Reply::Silence => return Ok(None),
        };
        responses.push(format!("{}:{result}", Value::from(key)));
    }
    let mut added = format!(r#""inputResponses":{{{}}}"#, responses.join(","));
    if let Some(state) = asked.request_state {
        added.push_str(&format!(r#","requestState":{}"#, state.get()));
    }
    let mut again = request.clone();
    again.id = None;
    let members = without_input(&request.params)?;
    let comma = if members.is_empty() { "" } else { "," };
    again.params = format!("{{{members}{comma}{added}}}");
    Ok(Some(again))
}

/// The members of the parameters as they were written, without what an earlier round added.
fn without_input(params: &str) -> anyhow::Result<String> {
    let members = Members::of(params)?;
    let kept = members.0.iter().filter(|(key, _)| key != "inputResponses" && key != "requestState");
    let texts: Vec<String> =
        kept.map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), value.get())).collect();
    Ok(texts.join(","))
}

/// The members of an object in their order.
struct Members(Vec<(String, Box<RawValue>)>);

impl Members {
    fn of(object: &str) -> anyhow::Result<Self> {
        serde_json::from_str(object).with_context(|| format!("no object: `{object}`"))
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}
