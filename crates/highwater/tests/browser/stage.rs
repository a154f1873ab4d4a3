//! A gateway with its page on a port of its own, a server whose tools ask, and a person in front of a browser.

use std::path::{Path, PathBuf};

use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{Journal, scripted_program};
use highwater_testkit::client::{Answer, Client, Era, Request, Setup};
use highwater_testkit::port::ReservedPort;
use highwater_testkit::wait::until;
use highwater_testkit::webdriver::{Authenticator, AuthenticatorId, Browser};
use http::Method;
use serde_json::{Value, json};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");

/// Where evidence stands.
const EVIDENCE: &str = "io.modelcontextprotocol/verified-approval";

/// Signs with whatever authenticator the browser has, on the page it shows.
const SIGN: &str = "const options = PublicKeyCredential.parseRequestOptionsFromJSON(given[0]); \
     return (await navigator.credentials.get({ publicKey: options })).toJSON();";

/// Registers a passkey, of one algorithm if one is named.
const CREATE: &str = "const options = structuredClone(given[0]); \
     if (given[1]) options.pubKeyCredParams = [{ type: 'public-key', alg: given[1] }]; \
     const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options); \
     return (await navigator.credentials.create({ publicKey })).toJSON();";

/// A running gateway and a browser.
pub(crate) struct Stage {
    pub(crate) browser: Browser,
    pub(crate) gateway: Gateway,
    pub(crate) port: u16,
    _reserved: ReservedPort,
}

/// Where pictures go. Nothing below the target directory is kept.
pub(crate) fn pictures() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots")
}

// === impl Stage ===

impl Stage {
    pub(crate) async fn open() -> Self {
        Self::with(json!({})).await
    }

    /// With further keys of `approvals`.
    pub(crate) async fn with(more: Value) -> Self {
        Self::of(|folder, port| config(folder, port, &more)).await
    }

    /// With one server of this name, these tools and these labels.
    pub(crate) async fn serving(server: &str, tools: &str, labels: &Value) -> Self {
        Self::of(|folder, port| {
            let mut config = config(folder, port, &json!({}));
            std::fs::write(folder.join("script.json"), script_of(tools)).unwrap();
            let mut entry = config["servers"]["files"].take();
            entry["labels"] = labels.clone();
            config["servers"] = json!({ server: entry });
            config
        })
        .await
    }

    async fn of(config: impl FnOnce(&Path, u16) -> Value) -> Self {
        let home = Home::new(PROGRAM, "servers: {}\n").unwrap();
        let reserved = ReservedPort::new().unwrap();
        let port = reserved.get();
        home.configure(&config(home.path(), port).to_string()).unwrap();
        let gateway = home.serve().await.unwrap_or_else(|error| panic!("{error:#}"));
        let browser = Browser::start().await.unwrap_or_else(|error| panic!("{error:#}"));
        Self { browser, gateway, port, _reserved: reserved }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    pub(crate) async fn go(&self, path: &str) {
        self.browser.open(&format!("{}{path}", self.origin())).await.unwrap();
    }

    /// Plugs in an authenticator and enrolls it as the first passkey of `owner`, on the page, with the code.
    pub(crate) async fn enrolled(&self, authenticator: &Authenticator) -> AuthenticatorId {
        let id = self.browser.add(authenticator).await.unwrap();
        self.enroll("owner").await;
        id
    }

    /// Enrolls the first passkey of somebody on the authenticator that is plugged in. They are signed in afterwards.
    pub(crate) async fn enroll(&self, user: &str) {
        let code = self.window(user).await["code"].as_str().unwrap().to_owned();
        self.go(&format!("/enroll?user={user}")).await;
        self.browser.fill("#code", &code).await.unwrap();
        self.browser.click("#enroll button").await.unwrap();
        self.wait(&format!("#sign-out[title='Signed in as {user}']")).await;
        self.wait(".keys .state.good").await;
    }

    /// Opens an enrollment as the operator does on a terminal.
    pub(crate) async fn window(&self, user: &str) -> Value {
        let (status, opened) =
            self.api(Method::POST, "/api/v1/approvals/enroll", Some(&json!({ "user": user }))).await;
        assert_eq!(status, 201, "{opened}");
        opened
    }

    pub(crate) async fn wait(&self, selector: &str) {
        if let Err(error) = self.browser.wait_for(selector).await {
            panic!("{error:#}\nthe gateway said:\n{}", self.gateway.log());
        }
    }

    pub(crate) async fn wait_text(&self, selector: &str, text: &str) {
        if let Err(error) = self.browser.wait_for_text(selector, text).await {
            panic!("{error:#}\nthe gateway said:\n{}", self.gateway.log());
        }
    }

    /// A client that knows nothing of approvals.
    pub(crate) async fn client(&self) -> Client {
        self.gateway.http(Era::Legacy).without_stream().connect().await.unwrap()
    }

    /// One that speaks SEP-2672.
    pub(crate) async fn native(&self) -> Client {
        let setup = self.gateway.http(Era::Legacy).without_stream();
        setup.capabilities(json!({ "extensions": { "verifiedApproval": {} } })).connect().await.unwrap()
    }

    /// The one request that waits for a person.
    pub(crate) async fn pending(&self) -> Value {
        let asked = until("somebody is asked", async || {
            let (_, listed) = self.api(Method::GET, "/api/v1/approvals", None).await;
            let [one] = listed.as_array()?.as_slice() else { return None };
            Some(one.clone())
        });
        asked.await.unwrap_or_else(|error| panic!("{error:#}\n{}", self.gateway.log()))
    }

    /// Opens the page of the one request that waits.
    pub(crate) async fn go_to_request(&self) -> Value {
        let request = self.pending().await;
        self.go(&format!("/approve/{}", request["id"].as_str().unwrap())).await;
        self.wait("article.request").await;
        request
    }

    /// Reads to the end and presses the first button.
    pub(crate) async fn press_approve(&self) {
        self.browser.run("document.getElementById('end').scrollIntoView()", json!([])).await.unwrap();
        self.browser.click("#approve").await.unwrap();
    }

    /// How often the tool was really run with this in its arguments.
    pub(crate) fn runs(&self, part: &str) -> usize {
        let journal = Journal::at(self.gateway.home().path().join("journal.jsonl"));
        journal.of("tools/call").iter().filter(|note| note.raw.contains(part)).count()
    }

    /// Asks the interface for people, as the operator.
    pub(crate) async fn api(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        let url = self.gateway.endpoint().replace("/mcp", path);
        let person = Setup::http(&url).token(self.gateway.operator_token()).connect_silently().await.unwrap();
        let body = body.map(ToString::to_string).unwrap_or_default();
        let reply = person.exchange(method, body, &[]).await.unwrap();
        (reply.status, serde_json::from_str(&reply.body).unwrap_or(Value::Null))
    }

    /// A challenge for a native client.
    pub(crate) async fn challenge(&self, client: &Client, tool: &str, arguments: &Value) -> Answer {
        let params = json!({ "toolName": tool, "arguments": arguments });
        client.request("approval/challenge/create", params).await.unwrap()
    }

    /// Lets the browser sign what a challenge asks for.
    pub(crate) async fn sign(&self, challenge: &Answer) -> anyhow::Result<Value> {
        let options = challenge.result().unwrap()["requestOptions"].clone();
        assert!(options.is_object(), "{}", challenge.raw());
        self.browser.run_async(SIGN, json!([options])).await
    }

    /// Lets the browser register a passkey.
    pub(crate) async fn create(&self, options: &Value, algorithm: Option<i64>) -> anyhow::Result<Value> {
        self.browser.run_async(CREATE, json!([options, algorithm])).await
    }
}

/// What a client puts beside a call.
pub(crate) fn evidence(challenge: &Answer, response: &Value) -> Value {
    let id = challenge.result().unwrap()["challengeId"].clone();
    json!({ "method": "webauthn", "challengeId": id, "response": response })
}

pub(crate) fn call(tool: &str, arguments: &Value, evidence: &Value) -> Request {
    Request::call(tool, arguments).meta(EVIDENCE, evidence.clone())
}

/// Why a call was rejected, in the word of the wire.
pub(crate) fn reason(answer: &Answer) -> String {
    assert_eq!(answer.error_code(), Some(-32001), "{}", answer.raw());
    answer.at("/error/data/reason").as_str().unwrap().to_owned()
}

fn config(folder: &Path, port: u16, more: &Value) -> Value {
    let script = folder.join("script.json");
    std::fs::write(&script, script_text()).unwrap();
    let mut approvals = json!({
        "listen": format!("localhost:{port}"),
        "open_browser": false,
        "notify": false,
        // Longer than any test takes: the longest that is allowed.
        "hold": "5m",
        "tools": { "files:local": { "class": "platform" } },
    });
    for (key, value) in more.as_object().unwrap() {
        approvals[key] = value.clone();
    }
    // Replies that are nobody's secret and nobody else's words, so that an answer can be remembered.
    let system = json!({ "source": "system", "sensitivity": "none" });
    json!({
        "flow": "observe",
        "limits": { "drain": "0s" },
        "approvals": approvals,
        "servers": { "files": {
            "command": scripted_program(Path::new(PROGRAM)).unwrap(),
            "args": ["--script", script, "--journal", folder.join("journal.jsonl")],
            "era": "legacy",
            "trust": { "server_trust": "tool", "verified": true },
            "labels": {
                "wipe": { "approval": "passkey" },
                "shred": { "approval": "passkey" },
                "local": { "approval": "passkey" },
                "tidy": { "approval": "confirm", "returnMetadata": system },
            },
        } },
    })
}

fn script_text() -> String {
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"},"count":{"type":"number"},"recursive":{"type":"boolean","default":true},"note":{"type":"string"}},"required":["path"]}"#;
    let tools: Vec<String> = ["wipe", "shred", "local", "tidy"]
        .map(|name| {
            format!(
                r#"{{"name":"{name}","title":"{name} <i>it</i>","description":"Removes what is at the path.","inputSchema":{schema}}}"#
            )
        })
        .to_vec();
    script_of(&format!("[{}]", tools.join(",")))
}

/// A server with these tools that does whatever it is asked.
fn script_of(tools: &str) -> String {
    let result = |text: &str| vec![format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{text}}}"#)];
    let greeting = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;
    json!({
        "initialize": result(greeting),
        "tools/list": result(&format!(r#"{{"tools":{tools}}}"#)),
        "tools/call": result(r#"{"content":[{"type":"text","text":"done"}]}"#),
        "ping": result("{}"),
    })
    .to_string()
}
