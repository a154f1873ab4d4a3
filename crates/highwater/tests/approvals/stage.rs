//! A gateway with its page, a server with one tool for each demand, and a person with a passkey.

use std::path::Path;
use std::time::Duration;

use highwater_core::approval::Algorithm;
use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{Journal, scripted_program};
use highwater_testkit::client::{Answer, Client, Era, Setup};
use highwater_testkit::passkey::Passkey;
use http::Method;
use serde_json::{Value, json};

use crate::person::Person;

const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");

/// Takes a passkey.
pub(crate) const DELETE: &str = "files__delete";
/// Takes a button.
pub(crate) const WRITE: &str = "files__write";

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

pub(crate) struct Stage {
    pub(crate) gateway: Gateway,
    pub(crate) person: Person,
    pub(crate) passkey: Passkey,
}

fn config(folder: &Path, hold: &str) -> Value {
    let script = folder.join("script.json");
    let result = |text: &str| vec![format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{text}}}"#)];
    let harmless = r#""inputMetadata":{"destination":"ephemeral","sensitivity":["user","pii","financial","credentials"],"outcomes":"benign"},"returnMetadata":{"source":"system","sensitivity":"none"}"#;
    let tool = |name: &str| {
        format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{{{harmless}}}}}"#)
    };
    let tools = [tool("delete"), tool("write")].join(",");
    let greeting = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}"#;
    let text = json!({
        "initialize": result(greeting),
        "tools/list": result(&format!(r#"{{"tools":[{tools}]}}"#)),
        "resources/list": result(r#"{"resources":[{"uri":"file:///a","name":"a"}]}"#),
        "resources/templates/list": result(r#"{"resourceTemplates":[]}"#),
        "resources/read": result(r#"{"contents":[{"uri":"file:///a","text":"x"}]}"#),
        "tools/call": result(r#"{"content":[{"type":"text","text":"done"}]}"#),
        "ping": result("{}"),
    });
    std::fs::write(&script, text.to_string()).unwrap();
    json!({
        "limits": { "drain": "0s" },
        "approvals": { "listen": "localhost:0", "open_browser": false, "notify": false, "hold": hold },
        "rules": [
            { "name": "reading", "phase": "resource", "effect": "confirm", "when": { "server.id": "files" } },
        ],
        "servers": { "files": {
            "command": scripted_program(Path::new(PROGRAM)).unwrap(),
            "args": ["--script", script, "--journal", folder.join("journal.jsonl")],
            "era": "legacy",
            "trust": { "server_trust": "tool", "resource_trust": "tool", "verified": true },
            "labels": { "delete": { "approval": "passkey" }, "write": { "approval": "confirm" } },
        } },
    })
}

// === impl Stage ===

impl Stage {
    /// A gateway that holds calls for so long, and a person who has enrolled a passkey.
    pub(crate) async fn new(hold: &str) -> Self {
        let home = Home::new(PROGRAM, "servers: {}\n").unwrap();
        let config = config(home.path(), hold);
        Self::of(home, &config).await
    }

    async fn of(home: Home, config: &Value) -> Self {
        home.configure(&config.to_string()).unwrap();
        let gateway = home.serve().await.unwrap_or_else(|error| panic!("{error:#}"));
        let (status, opened) = api(&gateway, Method::POST, "enroll", Some(&json!({ "user": "owner" }))).await;
        assert_eq!(status, 201, "{opened}");
        let url = opened["url"].as_str().unwrap();
        let origin = url.split("/enroll").next().unwrap().to_owned();
        let person = Person::operator(&origin, gateway.operator_token()).await;
        let mut passkey = Passkey::fresh(Algorithm::Es256, &origin);
        person.enroll("owner", opened["code"].as_str().unwrap(), &mut passkey).await;
        Self { gateway, person, passkey }
    }

    /// The same where tools are found and called through the gateway's own.
    pub(crate) async fn searching(hold: &str) -> Self {
        let home = Home::new(PROGRAM, "servers: {}\n").unwrap();
        let mut config = config(home.path(), hold);
        config["virtual_servers"] = json!({ "default": { "servers": ["files"], "expose": "search" } });
        Self::of(home, &config).await
    }

    /// A client that knows nothing of approvals and forms.
    pub(crate) async fn client(&self, era: Era) -> Client {
        self.setup(era).connect().await.unwrap()
    }

    pub(crate) fn setup(&self, era: Era) -> Setup {
        self.gateway.http(era).without_stream().patience(Duration::from_secs(60))
    }

    /// The one request that waits, once there is one.
    pub(crate) async fn pending(&self) -> Value {
        for _ in 0..600 {
            let (_, list) = api(&self.gateway, Method::GET, "", None).await;
            if let Some([one]) = list.as_array().map(Vec::as_slice) {
                return one.clone();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("nobody was asked: {}", self.gateway.log());
    }

    pub(crate) async fn api(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        api(&self.gateway, method, path, body).await
    }

    /// How often the server was told to do something with this in it.
    pub(crate) fn ran(&self, part: &str) -> usize {
        let journal = Journal::at(self.gateway.home().path().join("journal.jsonl"));
        journal.of("tools/call").iter().filter(|note| note.raw.contains(part)).count()
    }
}

async fn api(gateway: &Gateway, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
    let slash = if path.is_empty() || path.starts_with('?') { "" } else { "/" };
    let url = gateway.endpoint().replace("/mcp", &format!("/api/v1/approvals{slash}{path}"));
    let person = Setup::http(&url).token(gateway.operator_token()).connect_silently().await.unwrap();
    let body = body.map(ToString::to_string).unwrap_or_default();
    let reply = person.exchange(method, body, &[]).await.unwrap();
    (reply.status, serde_json::from_str(&reply.body).unwrap_or(Value::Null))
}

/// The id of a request as clients are told it.
pub(crate) fn id_of(url: &Value) -> String {
    url.as_str().unwrap().rsplit('/').next().unwrap().to_owned()
}

/// A tool's plain success.
pub(crate) fn done(answer: &Answer) {
    assert!(answer.error_code().is_none() && answer.at("/result/isError") != json!(true), "{}", answer.raw());
}

/// A result that says where a person can answer.
pub(crate) fn waits(answer: &Answer) -> String {
    assert_eq!(answer.at("/result/isError"), json!(true), "{}", answer.raw());
    let meta = answer.at("/result/_meta/dev.highwater~1approval");
    assert_eq!(meta["state"], "pending", "{}", answer.raw());
    let text = answer.text().unwrap();
    assert!(text.contains(meta["url"].as_str().unwrap()) && text.contains("identical arguments"), "{text}");
    let told = answer.at("/result/_meta/io.modelcontextprotocol~1authorization");
    assert_eq!(told["remediation"], "undisclosed", "{}", answer.raw());
    id_of(&meta["url"])
}
