//! What a person does in a story, through the operator's API: contexts are made, sessions looked at and reset.

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request};
use http_body_util::Full;
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use super::client::{bounded, whole};

/// Who resets sessions in scenarios.
const PERSON: &str = "the scenario";

/// The operator's hands.
pub(super) struct Operator {
    http: Http<HttpConnector, Full<Bytes>>,
    /// Where the gateway answers, without a path.
    origin: String,
    token: String,
}

// === impl Operator ===

impl Operator {
    pub(super) fn new(origin: String, token: String) -> Self {
        Self { http: Http::builder(TokioExecutor::new()).build_http(), origin, token }
    }

    /// Makes a context and gives its id.
    pub(super) async fn new_context(&self, note: &str) -> anyhow::Result<String> {
        let made = self.ask(Method::POST, "/api/v1/contexts", Some(&json!({ "note": note }))).await?;
        let id = made.get("id").and_then(Value::as_str).context("a context without an id")?;
        Ok(id.to_owned())
    }

    /// Makes a token that the configuration has, and gives its secret.
    pub(super) async fn new_token(&self, name: &str) -> anyhow::Result<String> {
        let body = json!({ "name": name, "person": PERSON });
        let made = self.ask(Method::POST, "/api/v1/tokens", Some(&body)).await?;
        let secret = made.get("secret").and_then(Value::as_str).context("a token without a secret")?;
        Ok(secret.to_owned())
    }

    /// What the gateway knows of a session.
    pub(super) async fn session(&self, key: &str) -> anyhow::Result<Value> {
        self.ask(Method::GET, &format!("/api/v1/sessions/{}", encoded(key)), None).await
    }

    /// Takes the label of a session back.
    pub(super) async fn reset(&self, key: &str, reason: &str) -> anyhow::Result<()> {
        let path = format!("/api/v1/sessions/{}/reset", encoded(key));
        self.ask(Method::POST, &path, Some(&json!({ "reason": reason, "person": PERSON }))).await?;
        Ok(())
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.origin))
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body.map(Value::to_string).unwrap_or_default().into()))?;
        let response = bounded(self.http.request(request)).await?.context("the gateway cannot be reached")?;
        let status = response.status();
        let text = whole(response).await?;
        ensure!(status.is_success(), "{path}: status {status}: {text}");
        if text.is_empty() {
            Ok(Value::Null)
        } else {
            serde_json::from_str(&text).context("the API gave no JSON")
        }
    }
}

/// A key as one segment of a path.
fn encoded(key: &str) -> String {
    let mut segment = String::with_capacity(key.len());
    for byte in key.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                segment.push(char::from(byte))
            }
            other => segment.push_str(&format!("%{other:02X}")),
        }
    }
    segment
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_key_stays_one_segment() {
        assert_eq!(super::encoded("agent/s/a b~1"), "agent%2Fs%2Fa%20b~1");
    }
}
