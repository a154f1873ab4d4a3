//! What servers ask a client, and how a test answers.

use std::sync::Arc;

use anyhow::Context;
use serde_json::{Value, json};

/// A question of a server, in either era.
#[derive(Clone, Debug)]
pub struct Question {
    pub method: String,
    /// The exact text of its parameters.
    pub params: String,
}

/// What a client answers.
#[derive(Clone, Debug)]
pub enum Reply {
    Result(Value),
    /// A result, as the exact text it is sent in.
    Raw(String),
    /// A JSON-RPC error. In the modern era there is no such answer; the request is then not tried again.
    Error(i64, String),
    /// No answer at all.
    Silence,
}

/// How a client answers. It runs on the task that reads: it must not block.
pub type Handler = Arc<dyn Fn(&Question) -> Reply + Send + Sync>;

// === impl Question ===

impl Question {
    /// The parameters as a value.
    pub fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_str(&self.params).with_context(|| format!("no value: `{}`", self.params))
    }
}

// === impl Reply ===

impl Reply {
    /// The user filled in the form.
    pub fn accept(content: Value) -> Self {
        Self::Result(json!({ "action": "accept", "content": content }))
    }

    /// The user said no.
    pub fn decline() -> Self {
        Self::Result(json!({ "action": "decline" }))
    }

    /// The model said this.
    pub fn sampled(text: &str) -> Self {
        let content = json!({ "type": "text", "text": text });
        Self::Result(json!({ "role": "assistant", "model": "test-model", "content": content }))
    }

    /// The client's only root.
    pub fn root(uri: &str) -> Self {
        Self::Result(json!({ "roots": [{ "uri": uri }] }))
    }
}

/// The handler of a client that answers nothing it was not prepared for.
pub(super) fn refusing() -> Handler {
    Arc::new(|question| Reply::Error(-32601, format!("nobody answers `{}` here", question.method)))
}
