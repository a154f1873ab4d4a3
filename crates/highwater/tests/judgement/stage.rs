//! A gateway whose server is labelled by the operator: one tool reads what strangers wrote, one reads what is private, one
//! acts, one only looks.

use std::path::Path;

use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{Journal, fixture_program};
use highwater_testkit::client::{Answer, Client, Era, Setup};
use http::Method;
use serde_json::{Value, json};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");

/// Reads what strangers wrote.
pub(crate) const STRANGE: &str = "up__test_simple_text";
/// Reads what is private.
pub(crate) const PRIVATE: &str = "up__test_image_content";
/// Acts inside the organisation.
pub(crate) const ACT: &str = "up__test_multiple_content_types";
/// Only looks, and finds what anybody may know.
pub(crate) const LOOK: &str = "up__test_audio_content";
/// Sends something to the public.
pub(crate) const SEND: &str = "up__test_error_handling";

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// A running gateway with the labelled server behind it.
pub(crate) struct Stage {
    pub(crate) gateway: Gateway,
    pub(crate) journal: Journal,
}

/// The labels of the server's tools.
pub(crate) fn labels() -> Value {
    let inside = json!({ "destination": "ephemeral", "sensitivity": "any", "outcomes": "benign" });
    let known = json!({ "source": "system", "sensitivity": "none" });
    json!({
        "test_simple_text": {
            "inputMetadata": inside, "returnMetadata": { "source": "untrustedPublic", "sensitivity": "none" },
        },
        "test_image_content": {
            "inputMetadata": inside, "returnMetadata": { "source": "user", "sensitivity": "pii" },
        },
        "test_multiple_content_types": {
            "inputMetadata": { "destination": "internal", "sensitivity": "any", "outcomes": "consequential" },
            "returnMetadata": known,
        },
        "test_audio_content": { "inputMetadata": inside, "returnMetadata": known },
        "test_error_handling": {
            "inputMetadata": { "destination": "public", "sensitivity": "any", "outcomes": "irreversible" },
            "returnMetadata": known,
        },
    })
}

/// A configuration with the labelled server, and whatever else is wanted.
pub(crate) fn config(home: &Home, more: &Value) -> Value {
    let fixture = fixture_program(Path::new(PROGRAM)).unwrap();
    let journal = home.path().join("up.jsonl");
    let mut config = json!({ "servers": { "up": {
        "command": fixture,
        "args": ["--stdio", "--extras"],
        "env": { "FIXTURE_LOG": journal },
        "trust": { "server_trust": "tool", "resource_trust": "none", "verified": true },
        "labels": labels(),
    } } });
    merge(&mut config, more);
    config
}

fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more.clone(),
    }
}

// === impl Stage ===

impl Stage {
    /// A gateway with this configuration besides its server.
    pub(crate) async fn new(more: Value) -> Self {
        let home = Home::new(PROGRAM, "servers: {}\n").unwrap();
        home.configure(&config(&home, &more).to_string()).unwrap();
        let journal = Journal::at(home.path().join("up.jsonl"));
        Self { gateway: home.serve().await.unwrap(), journal }
    }

    /// A client that cannot be asked anything.
    pub(crate) async fn client(&self, era: Era) -> Client {
        self.setup(era).connect().await.unwrap()
    }

    pub(crate) fn setup(&self, era: Era) -> Setup {
        self.gateway.http(era).without_stream()
    }

    /// How often the server was asked to run a tool.
    pub(crate) fn runs(&self, tool: &str) -> usize {
        let own = tool.strip_prefix("up__").unwrap();
        self.journal.of("tools/call").iter().filter(|note| note.raw.contains(&format!("\"{own}\""))).count()
    }

    /// Asks the gateway's interface for people.
    pub(crate) async fn api(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        self.api_with(self.gateway.operator_token(), method, path, body).await
    }

    pub(crate) async fn api_with(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let url = self.gateway.endpoint().replace("/mcp", path);
        let person = Setup::http(&url).token(token).connect_silently().await.unwrap();
        let body = body.map(ToString::to_string).unwrap_or_default();
        let reply = person.exchange(method, body, &[]).await.unwrap();
        (reply.status, serde_json::from_str(&reply.body).unwrap_or(Value::Null))
    }

    /// The sessions as people see them.
    pub(crate) async fn sessions(&self) -> Vec<Value> {
        let (status, sessions) = self.api(Method::GET, "/api/v1/sessions", None).await;
        assert_eq!(status, 200, "{sessions}");
        sessions.as_array().unwrap().clone()
    }

    /// The session of this kind, of which there must be one.
    pub(crate) async fn session(&self, kind: &str) -> Value {
        let sessions = self.sessions().await;
        let mut found = sessions.iter().filter(|session| session["kind"] == kind);
        let session = found.next().unwrap_or_else(|| panic!("no {kind} session in {sessions:#?}")).clone();
        assert!(found.next().is_none(), "{sessions:#?}");
        session
    }
}

/// A tool's plain success.
pub(crate) fn done(answer: &Answer) {
    assert!(answer.error_code().is_none() && answer.at("/result/isError") != json!(true), "{}", answer.raw());
}

/// A refusal that says nothing was executed, with what the client is told about getting there after all.
pub(crate) fn refused(answer: &Answer, remediation: &str) {
    assert_eq!(answer.at("/result/isError"), json!(true), "{}", answer.raw());
    let told = answer.at("/result/_meta/io.modelcontextprotocol~1authorization");
    assert_eq!(told["reason"], "insufficient_authorization", "{}", answer.raw());
    assert_eq!(told["remediation"], remediation, "{}", answer.raw());
    assert_eq!(told["authorizationContextId"], answer.at("/result/_meta/dev.highwater~1decision/id"));
}
