//! A gateway with a page, a server with tools that ask for a passkey, and people to answer.

use std::path::Path;

use highwater_passkey::Algorithm;
use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{Journal, scripted_program};
use highwater_testkit::client::{Answer, Client, Era, Request, Setup};
use highwater_testkit::passkey::Passkey;
use highwater_testkit::wait::until;
use http::Method;
use serde_json::{Value, json};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");

/// Where everything of the proposal is in `_meta`.
pub(crate) const KEY: &str = "io.modelcontextprotocol/verified-approval";

/// Asks for a passkey, always.
pub(crate) const GATED: &str = "files__delete";

/// Asks for nothing.
pub(crate) const FREE: &str = "files__look";

pub(crate) struct Stage {
    pub(crate) gateway: Gateway,
}

/// A page of the gateway, as a browser would use it.
pub(crate) struct Page {
    origin: String,
    csrf: String,
}

/// The configuration with one server, whose files are in this folder.
pub(crate) fn config(folder: &Path) -> Value {
    let script = folder.join("script.json");
    let result = |text: &str| vec![format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{text}}}"#)];
    let harmless = r#""inputMetadata":{"destination":"ephemeral","sensitivity":["user","pii","financial","credentials"],"outcomes":"benign"},"returnMetadata":{"source":"system","sensitivity":"none"}"#;
    let tool = |name: &str| {
        format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{{{harmless}}}}}"#)
    };
    let tools = [tool("delete"), tool("look"), tool("maybe")].join(",");
    let greeting = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;
    let text = json!({
        "initialize": result(greeting),
        "tools/list": result(&format!(r#"{{"tools":[{tools}]}}"#)),
        "tools/call": result(r#"{"content":[{"type":"text","text":"done"}]}"#),
        "ping": result("{}"),
    });
    std::fs::write(&script, text.to_string()).unwrap();
    json!({
        "flow": "balanced",
        "limits": { "drain": "0s" },
        "approvals": { "listen": "localhost:0", "open_browser": false, "notify": false, "hold": "1s" },
        "rules": [{
            "name": "sometimes", "effect": "passkey",
            "when": { "tool.name": "maybe", "arguments.hard": true },
        }],
        "servers": { "files": {
            "command": scripted_program(Path::new(PROGRAM)).unwrap(),
            "args": ["--script", script, "--journal", folder.join("journal.jsonl")],
            "era": "legacy",
            "trust": { "server_trust": "tool", "verified": true },
            "labels": { "delete": { "approval": "passkey" } },
        } },
    })
}

// === impl Stage ===

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(|_| ()).await
    }

    /// With something of the configuration changed.
    pub(crate) async fn with(change: impl FnOnce(&mut Value)) -> Self {
        let home = Home::new(PROGRAM, "servers: {}\n").unwrap();
        let mut config = config(home.path());
        change(&mut config);
        home.configure(&config.to_string()).unwrap();
        Self { gateway: home.serve().await.unwrap() }
    }

    /// A client that says it knows the proposal.
    pub(crate) async fn client(&self, era: Era) -> Client {
        self.client_of(era, self.gateway.agent_token()).await
    }

    pub(crate) async fn client_of(&self, era: Era, token: &str) -> Client {
        let knows = json!({ "extensions": { KEY: {} } });
        let setup = Setup::http(self.gateway.endpoint()).era(era).token(token).without_stream();
        setup.capabilities(knows).connect().await.unwrap()
    }

    /// How often the server was told to do something with this in it.
    pub(crate) fn ran(&self, part: &str) -> usize {
        self.journal().of("tools/call").iter().filter(|note| note.raw.contains(part)).count()
    }

    pub(crate) fn journal(&self) -> Journal {
        Journal::at(self.gateway.home().path().join("journal.jsonl"))
    }

    /// Asks the interface for people, as the operator.
    pub(crate) async fn api(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        let url = self.gateway.endpoint().replace("/mcp", path);
        let person = Setup::http(&url).token(self.gateway.operator_token()).connect_silently().await.unwrap();
        let body = body.map(ToString::to_string).unwrap_or_default();
        let reply = person.exchange(method, body, &[]).await.unwrap();
        (reply.status, serde_json::from_str(&reply.body).unwrap_or(Value::Null))
    }

    /// Opens an enrollment: its code, if there is one, and its page.
    pub(crate) async fn window(&self, user: &str) -> (Option<String>, Page) {
        let (status, opened) =
            self.api(Method::POST, "/api/v1/approvals/enroll", Some(&json!({ "user": user }))).await;
        assert_eq!(status, 201, "{opened}");
        let url = opened["url"].as_str().unwrap();
        (opened["code"].as_str().map(str::to_owned), Page::open(url).await)
    }

    /// Registers a passkey over the protocol; it counts for nothing yet.
    pub(crate) async fn register(&self, client: &Client, passkey: &mut Passkey) -> String {
        let options = client.request("approval/enroll/begin", json!({})).await.unwrap();
        let response = passkey.create(&options.at("/result/options")).unwrap();
        let finished =
            client.request("approval/enroll/finish", json!({ "response": response })).await.unwrap();
        finished
            .at("/result/credentialId")
            .as_str()
            .unwrap_or_else(|| panic!("{}", finished.raw()))
            .to_owned()
    }

    /// A passkey of `owner` that counts.
    pub(crate) async fn enrolled(&self, client: &Client) -> Passkey {
        let (code, page) = self.window("owner").await;
        let mut passkey = Passkey::fresh(Algorithm::Es256, &page.origin);
        let id = self.register(client, &mut passkey).await;
        let (status, said) = page.post("/enroll/code", &json!({ "id": id, "code": code.unwrap() })).await;
        assert_eq!(status, 200, "{said}");
        passkey
    }

    /// A challenge for a call.
    pub(crate) async fn challenge(client: &Client, tool: &str, arguments: &Value) -> Value {
        let params = json!({ "toolName": tool, "arguments": arguments });
        let answer = client.request("approval/challenge/create", params).await.unwrap();
        answer.result().unwrap_or_else(|error| panic!("{error:#}: {}", answer.raw()))
    }

    /// Blocks every tool from now on, and waits until that counts.
    pub(crate) async fn block_everything(&self, client: &Client) {
        let home = self.gateway.home();
        let mut config = config(home.path());
        let never =
            json!({ "name": "never", "effect": "block", "when": { "tool.name": { "matches": "*" } } });
        config["rules"] = json!([never]);
        home.configure(&config.to_string()).unwrap();
        let taken_up = until("the configuration is taken up", async || {
            client.call(FREE, json!({})).await.unwrap().is_tool_error().then_some(())
        });
        taken_up.await.unwrap_or_else(|error| panic!("{error:#}: {}", self.gateway.log()));
    }
}

/// What a call carries as its evidence.
pub(crate) fn evidence(challenge: &Value, response: &Value) -> Value {
    json!({ "method": "webauthn", "challengeId": challenge["challengeId"], "response": response })
}

/// A call with evidence.
pub(crate) fn signed(tool: &str, arguments: &Value, evidence: Value) -> Request {
    Request::call(tool, arguments).meta(KEY, evidence)
}

/// The reason of a rejection, which has the one code there is.
pub(crate) fn reason(answer: &Answer) -> String {
    assert_eq!(answer.error_code(), Some(-32001), "{}", answer.raw());
    answer.at("/error/data/reason").as_str().unwrap().to_owned()
}

// === impl Page ===

impl Page {
    pub(crate) async fn open(url: &str) -> Self {
        let (scheme, rest) = url.split_once("://").unwrap();
        let origin = format!("{scheme}://{}", rest.split('/').next().unwrap());
        let browser = Setup::http(url).connect_silently().await.unwrap();
        let document =
            browser.exchange(Method::GET, String::new(), &[("sec-fetch-dest", "document")]).await.unwrap();
        let csrf = document.body.split("data-csrf=\"").nth(1).and_then(|rest| rest.split('"').next());
        let csrf = csrf.unwrap_or_else(|| panic!("{}: {}", document.status, document.body)).to_owned();
        Self { origin, csrf }
    }

    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let browser = Setup::http(&format!("{}{path}", self.origin)).connect_silently().await.unwrap();
        let headers = [
            ("origin", self.origin.as_str()),
            ("sec-fetch-site", "same-origin"),
            ("content-type", "application/json"),
            ("highwater-csrf", &self.csrf),
        ];
        let reply = browser.exchange(Method::POST, body.to_string(), &headers).await.unwrap();
        (reply.status, serde_json::from_str(&reply.body).unwrap_or(Value::Null))
    }
}
