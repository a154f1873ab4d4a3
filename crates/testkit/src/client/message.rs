//! What arrives at a client, kept as the exact text it came in.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// One message of the other side. Nothing of it is ever re-serialised.
#[derive(Clone, Debug)]
pub struct Message {
    raw: Arc<str>,
    id: Option<Arc<str>>,
    method: Option<Arc<str>>,
}

/// How a request ended.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The response.
    pub message: Message,
    /// The notifications and questions that came before it: over HTTP on its own stream, over stdio at all.
    pub before: Vec<Message>,
    /// How many times the client was asked for input and tried again.
    pub rounds: usize,
    /// The HTTP status, where there is one.
    pub status: Option<u16>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

// === impl Message ===

impl Message {
    /// Reads a message, or says what is wrong with it.
    pub fn parse(raw: &str) -> anyhow::Result<Self> {
        let envelope: Envelope<'_> =
            serde_json::from_str(raw).with_context(|| format!("no message: `{}`", shown(raw)))?;
        let id = envelope.id.map(|id| id.get().into());
        let method = envelope.method.as_deref().map(Into::into);
        Ok(Self { raw: raw.into(), id, method })
    }

    /// The exact text.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The text of the id: a string has its quotes.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    pub fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    /// Whether the other side wants an answer to it.
    pub fn is_question(&self) -> bool {
        self.id.is_some() && self.method.is_some()
    }

    pub fn is_notification(&self) -> bool {
        self.id.is_none() && self.method.is_some()
    }

    pub fn is_response(&self) -> bool {
        self.method.is_none()
    }

    /// The exact text of `params`.
    pub fn params(&self) -> Option<&str> {
        self.envelope()?.params.map(RawValue::get)
    }

    /// The exact text of `result`.
    pub fn result(&self) -> Option<&str> {
        self.envelope()?.result.map(RawValue::get)
    }

    /// The exact text of `error`.
    pub fn error(&self) -> Option<&str> {
        self.envelope()?.error.map(RawValue::get)
    }

    /// The whole message as a value, with what that does to numbers.
    pub fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_str(&self.raw).with_context(|| format!("not to be had as a value: `{}`", self.raw))
    }

    /// What a JSON pointer leads to; `null` where it leads nowhere. Only what it leads to is made a value, so numbers
    /// that are none elsewhere in the message do no harm.
    pub fn at(&self, pointer: &str) -> Value {
        let found = self.raw_at(pointer).and_then(|raw| serde_json::from_str(raw).ok());
        found.unwrap_or(Value::Null)
    }

    /// The exact text that a JSON pointer leads to.
    pub fn raw_at(&self, pointer: &str) -> Option<&str> {
        let mut here: &str = &self.raw;
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let next: &RawValue = match step.parse::<usize>() {
                Ok(index) if here.trim_start().starts_with('[') => {
                    serde_json::from_str::<Vec<&RawValue>>(here).ok()?.get(index).copied()?
                }
                _ => serde_json::from_str::<HashMap<Cow<'_, str>, &RawValue>>(here)
                    .ok()?
                    .get(&*step)
                    .copied()?,
            };
            here = next.get();
        }
        Some(here)
    }

    fn envelope(&self) -> Option<Envelope<'_>> {
        serde_json::from_str(&self.raw).ok()
    }
}

// === impl Answer ===

impl Answer {
    /// The exact text of the result; an error says what came instead.
    pub fn ok(&self) -> anyhow::Result<&str> {
        self.message.result().with_context(|| format!("not a result: `{}`", self.raw()))
    }

    /// The result; an error says what came instead.
    pub fn result(&self) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(self.ok()?)?)
    }

    /// The code of the error, if it is one.
    pub fn error_code(&self) -> Option<i64> {
        self.at("/error/code").as_i64()
    }

    /// The text of the first content block of a tool result; an error says what came instead.
    pub fn text(&self) -> anyhow::Result<String> {
        match self.at("/result/content/0/text") {
            Value::String(text) => Ok(text),
            _ => bail!("no text: `{}`", self.raw()),
        }
    }

    /// Whether it is a tool result that says that the tool failed.
    pub fn is_tool_error(&self) -> bool {
        self.at("/result/isError") == true
    }

    /// What a JSON pointer leads to; `null` where it leads nowhere.
    pub fn at(&self, pointer: &str) -> Value {
        self.message.at(pointer)
    }

    /// The exact text of the response.
    pub fn raw(&self) -> &str {
        self.message.raw()
    }

    /// The notifications of one method that came before.
    pub fn heard(&self, method: &str) -> Vec<&Message> {
        self.before.iter().filter(|message| message.method() == Some(method)).collect()
    }
}

/// The start of a text that may be very long.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    const ENOUGH: usize = 2000;
    match text.char_indices().nth(ENOUGH) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()).into(),
        None => text.into(),
    }
}
