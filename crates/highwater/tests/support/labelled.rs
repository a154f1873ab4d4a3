//! A gateway whose server is labelled by the operator: tools that read what strangers wrote, one that acts, one that only
//! looks. Every test takes contexts of its own, so that the labels of one do not reach another.

use std::path::Path;

use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{Journal, fixture_program};
use highwater_testkit::client::{Answer, Client, Era, Setup};
use http::Method;
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");

/// Reads what strangers wrote.
pub(crate) const STRANGE: &str = "up__test_simple_text";
/// Acts inside the organisation.
pub(crate) const ACT: &str = "up__greet";
/// Only looks, and finds what anybody may know.
pub(crate) const LOOK: &str = "up__test_audio_content";

/// A running gateway with the labelled server behind it.
pub(crate) struct Stage {
    pub(crate) gateway: Gateway,
    pub(crate) journal: Journal,
}

/// A home for a gateway with the labelled server, started with these words, and this besides.
pub(crate) fn home(words: &[&str], more: &Value) -> Home {
    let home = Home::new(PROGRAM, "servers: {}\n").unwrap();
    let forgotten = json!({ "destination": "ephemeral", "sensitivity": "any", "outcomes": "benign" });
    let known = json!({ "source": "system", "sensitivity": "none" });
    let strange = json!({
        "inputMetadata": forgotten, "returnMetadata": { "source": "untrustedPublic", "sensitivity": "none" },
    });
    let mut config = json!({ "servers": { "up": {
        "command": fixture_program(Path::new(PROGRAM)).unwrap(),
        "args": words,
        "env": { "FIXTURE_LOG": home.path().join("up.jsonl") },
        "trust": { "server_trust": "tool", "resource_trust": "none", "verified": true },
        "labels": {
            "test_simple_text": strange,
            "sleep": strange,
            "progress": strange,
            "big": strange,
            "greet": {
                "inputMetadata": { "destination": "internal", "sensitivity": "any", "outcomes": "consequential" },
                "returnMetadata": known,
            },
            "test_audio_content": { "inputMetadata": forgotten, "returnMetadata": known },
        },
    } } });
    // Whoever reads there reads nothing that a session may have written.
    config["servers"]["desk"] = json!({
        "command": config["servers"]["up"]["command"],
        "args": ["--stdio"],
        "trust": config["servers"]["up"]["trust"],
        "allowed_tools": ["test_audio_content"],
        "labels": { "test_audio_content": { "inputMetadata": forgotten, "returnMetadata": known } },
    });
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    home.configure(&config.to_string()).unwrap();
    home
}

// === impl Stage ===

impl Stage {
    pub(crate) async fn in_home(home: Home) -> Self {
        let journal = Journal::at(home.path().join("up.jsonl"));
        Self { gateway: home.serve().await.unwrap(), journal }
    }

    /// Makes a context, which has a label of its own.
    pub(crate) async fn context(&self) -> String {
        let (status, made) = self.api(Method::POST, "/api/v1/contexts", &json!({ "note": "a test" })).await;
        assert_eq!(status, 201, "{made}");
        made["id"].as_str().unwrap().to_owned()
    }

    /// A client in a context. It cannot be asked anything.
    pub(crate) async fn client(&self, context: &str) -> Client {
        let url = format!("{}/c/{context}", self.gateway.endpoint());
        let setup = Setup::http(&url).era(Era::Modern).token(self.gateway.agent_token()).without_stream();
        setup.connect().await.unwrap()
    }

    /// The session of a context, as people see it.
    pub(crate) async fn session(&self, context: &str) -> Value {
        let (status, sessions) = self.api(Method::GET, "/api/v1/sessions", &Value::Null).await;
        assert_eq!(status, 200, "{sessions}");
        let of_context = |session: &&Value| session["key"].as_str().is_some_and(|key| key.ends_with(context));
        sessions.as_array().unwrap().iter().find(of_context).cloned().unwrap_or_default()
    }

    /// What is on record of the calls of a context, in the order of writing: decisions and outcomes.
    pub(crate) fn record(&self, context: &str) -> Vec<Value> {
        let folder = self.gateway.home().data_dir().join("audit");
        let files =
            std::fs::read_dir(folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()));
        let text: String = files.map(Result::unwrap).collect();
        events(&text, context)
    }

    /// How often the server was asked to run a tool.
    pub(crate) fn runs(&self, tool: &str) -> usize {
        let own = format!("\"{}\"", tool.strip_prefix("up__").unwrap());
        self.journal.of("tools/call").iter().filter(|note| note.raw.contains(&own)).count()
    }

    pub(crate) async fn api(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let url = self.gateway.endpoint().replace("/mcp", path);
        let person = Setup::http(&url).token(self.gateway.operator_token()).connect_silently().await.unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let reply = person.exchange(method, body, &[]).await.unwrap();
        (reply.status, serde_json::from_str(&reply.body).unwrap_or(Value::Null))
    }

    /// That the session has taken in what a stranger wrote: people see it, and nothing is done in its name.
    pub(crate) async fn assert_tainted(&self, context: &str) {
        let session = self.session(context).await;
        assert_eq!(session["label"]["integrity"], "none", "{session}");
        let runs = self.runs(ACT);
        refused(&self.client(context).await.call(ACT, json!({})).await.unwrap());
        assert_eq!(self.runs(ACT), runs, "the server saw a call that was refused");
    }
}

/// The decisions of one context, and their outcomes, out of the text of an audit log. A line may have been torn by a kill.
pub(crate) fn events(log: &str, context: &str) -> Vec<Value> {
    let mut known: Vec<Value> = Vec::new();
    let all: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    all.into_iter()
        .filter(|event| {
            let own = event["session"].as_str().is_some_and(|key| key.ends_with(context));
            if own {
                known.push(event["id"].clone());
            }
            own || known.contains(&event["id"])
        })
        .collect()
}

/// A tool's plain success.
pub(crate) fn done(answer: &Answer) {
    assert!(answer.error_code().is_none() && !answer.is_tool_error(), "{}", answer.raw());
}

/// A refusal that says nothing was executed.
pub(crate) fn refused(answer: &Answer) {
    assert!(answer.is_tool_error(), "{}", answer.raw());
    let told = answer.at("/result/_meta/io.modelcontextprotocol~1authorization");
    assert_eq!(told["reason"], "insufficient_authorization", "{}", answer.raw());
}
