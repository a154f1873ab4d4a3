//! A gateway with its page, a server with one tool for each demand, and a person with a passkey.

use std::path::Path;

use highwater_passkey::Algorithm;
use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{Journal, scripted_program};
use highwater_testkit::client::{Answer, Client, Era, Setup};
use highwater_testkit::passkey::Passkey;
use highwater_testkit::port::ReservedPort;
use highwater_testkit::wait::until;
use http::Method;
use serde_json::{Value, json};

use crate::person::Person;

const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");

/// Takes a passkey.
pub(crate) const DELETE: &str = "files__delete";
/// Takes a button.
pub(crate) const WRITE: &str = "files__write";

/// Takes nothing and brings nothing. The server says with it that its list has changed.
pub(crate) const LOOK: &str = "files__look";
/// Takes nothing and brings what is private.
pub(crate) const READ: &str = "files__read";

pub(crate) const KEY: &str = "io.modelcontextprotocol/verified-approval";

/// Holds calls for longer than any test takes: the longest that is allowed.
pub(crate) const HELD: &str = "5m";
/// Holds calls so briefly that callers are told to come again.
pub(crate) const BRIEFLY: &str = "1s";

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

pub(crate) struct Stage {
    pub(crate) gateway: Gateway,
    pub(crate) person: Person,
    pub(crate) passkey: Passkey,
    /// The page's, also while the gateway does not run: passkeys are for one origin.
    _port: ReservedPort,
}

/// What the server says. `write` and `delete` are described in these words.
pub(crate) fn script(words: &str) -> Value {
    let result = |text: &str| vec![format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{text}}}"#)];
    let tool = |name: &str, returns: &str| {
        format!(
            r#"{{"name":"{name}","description":"{words}","inputSchema":{{"type":"object","properties":{{"path":{{"type":"string"}},"amount":{{"type":"integer"}}}}}},"annotations":{{"inputMetadata":{{"destination":"ephemeral","sensitivity":["user","pii","financial","credentials"],"outcomes":"benign"}},"returnMetadata":{returns}}}}}"#
        )
    };
    let (harmless, private) =
        (r#"{"source":"system","sensitivity":"none"}"#, r#"{"source":"user","sensitivity":"pii"}"#);
    let tools = [
        tool("delete", harmless),
        tool("write", harmless),
        tool("look", harmless).replace(words, "Looks."),
        tool("read", private).replace(words, "Reads."),
    ];
    let tools = tools.join(",");
    let greeting = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{}},"serverInfo":{"name":"s","version":"1"}}"#;
    let done = r#"{"content":[{"type":"text","text":"done"}]}"#;
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned();
    let looked = [vec![changed], result(done)].concat();
    json!({
        "initialize": result(greeting),
        "tools/list": result(&format!(r#"{{"tools":[{tools}]}}"#)),
        "resources/list": result(r#"{"resources":[{"uri":"file:///a","name":"a"}]}"#),
        "resources/templates/list": result(r#"{"resourceTemplates":[]}"#),
        "resources/read": result(r#"{"contents":[{"uri":"file:///a","text":"x"}]}"#),
        "tools/call": result(done),
        "tools/call look": looked,
        "ping": result("{}"),
    })
}

fn config(folder: &Path, hold: &str, port: &ReservedPort) -> Value {
    let script_file = folder.join("script.json");
    std::fs::write(&script_file, script("Changes things.").to_string()).unwrap();
    json!({
        "limits": { "drain": "0s" },
        "approvals": { "listen": format!("localhost:{}", port.get()), "open_browser": false, "notify": false, "hold": hold },
        "rules": [
            { "name": "reading", "phase": "resource", "effect": "confirm", "when": { "server.id": "files" } },
        ],
        "servers": { "files": {
            "command": scripted_program(Path::new(PROGRAM)).unwrap(),
            "args": ["--script", script_file, "--journal", folder.join("journal.jsonl")],
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
        Self::standing(hold, |_| ()).await
    }

    /// The same with something else configured.
    pub(crate) async fn standing(hold: &str, change: impl FnOnce(&mut Value)) -> Self {
        Self::at_home(hold, |home| (home, ()), change).await.0
    }

    /// The same in a home that something is done to.
    pub(crate) async fn at_home<T>(
        hold: &str,
        furnish: impl FnOnce(Home) -> (Home, T),
        change: impl FnOnce(&mut Value),
    ) -> (Self, T) {
        let (home, with) = furnish(Home::new(PROGRAM, "servers: {}\n").unwrap());
        let port = ReservedPort::new().unwrap();
        let mut config = config(home.path(), hold, &port);
        change(&mut config);
        (Self::of(home, port, &config).await, with)
    }

    /// Starts the gateway again after it has ended, and signs in again.
    pub(crate) async fn restart(&mut self) {
        self.gateway.restart().await.unwrap_or_else(|error| panic!("{error:#}"));
        let origin = self.person.origin().to_owned();
        self.person = Person::operator(&origin, self.gateway.operator_token()).await;
    }

    async fn of(home: Home, port: ReservedPort, config: &Value) -> Self {
        home.configure(&config.to_string()).unwrap();
        let gateway = home.serve().await.unwrap_or_else(|error| panic!("{error:#}"));
        let (status, opened) = api(&gateway, Method::POST, "enroll", Some(&json!({ "user": "owner" }))).await;
        assert_eq!(status, 201, "{opened}");
        let url = opened["url"].as_str().unwrap();
        let origin = url.split("/enroll").next().unwrap().to_owned();
        let person = Person::operator(&origin, gateway.operator_token()).await;
        let mut passkey = Passkey::fresh(Algorithm::Es256, &origin);
        person.enroll("owner", opened["code"].as_str().unwrap(), &mut passkey).await;
        Self { gateway, person, passkey, _port: port }
    }

    /// A passkey of somebody else, that counts.
    pub(crate) async fn enroll(&self, user: &str) -> Passkey {
        let (status, opened) = self.api(Method::POST, "enroll", Some(&json!({ "user": user }))).await;
        assert_eq!(status, 201, "{opened}");
        let mut passkey = Passkey::fresh(Algorithm::Es256, self.person.origin());
        self.person.enroll(user, opened["code"].as_str().unwrap(), &mut passkey).await;
        passkey
    }

    /// Begins to reset all passkeys of somebody.
    pub(crate) async fn reset(&self, user: &str) {
        let (status, said) = self.api(Method::POST, "reset", Some(&json!({ "user": user }))).await;
        assert_eq!(status, 201, "{said}");
    }

    /// The same where tools are found and called through the gateway's own.
    pub(crate) async fn searching(hold: &str, change: impl FnOnce(&mut Value)) -> Self {
        Self::standing(hold, |config| {
            change(config);
            config["virtual_servers"] = json!({ "default": { "servers": ["files"], "expose": "search" } });
        })
        .await
    }

    /// A client that knows nothing of approvals and forms.
    pub(crate) async fn client(&self, era: Era) -> Client {
        self.setup(era).connect().await.unwrap()
    }

    pub(crate) fn setup(&self, era: Era) -> Setup {
        self.gateway.http(era).without_stream()
    }

    /// A client that brings its own signatures. Where one is missing it is told so at once.
    pub(crate) async fn native(&self) -> Client {
        let knows = json!({ "extensions": { KEY: {} } });
        self.setup(Era::Modern).capabilities(knows).connect().await.unwrap()
    }

    /// A signature for a call that takes a passkey, as the call brings it.
    pub(crate) async fn signature(&self, client: &Client, arguments: &Value) -> Value {
        let params = json!({ "toolName": DELETE, "arguments": arguments });
        let answer = client.request("approval/challenge/create", params).await.unwrap();
        let challenge = answer.result().unwrap_or_else(|error| panic!("{error:#}: {}", answer.raw()));
        let response = self.passkey.get(&challenge["requestOptions"]).unwrap();
        json!({ "method": "webauthn", "challengeId": challenge["challengeId"], "response": response })
    }

    /// From now on the server describes its tools in other words, and clients see it.
    pub(crate) async fn pull(&self, client: &Client, words: &str) {
        let folder = self.gateway.home().path();
        std::fs::write(folder.join("script.new"), script(words).to_string()).unwrap();
        std::fs::rename(folder.join("script.new"), folder.join("script.json")).unwrap();
        done(&client.call(LOOK, json!({})).await.unwrap());
        let heard = until("the change is listed", async || {
            client.request("tools/list", json!({})).await.unwrap().raw().contains(words).then_some(())
        });
        heard.await.unwrap_or_else(|error| panic!("{error:#}: {}", self.gateway.log()));
    }

    /// The one request that waits, once there is one.
    pub(crate) async fn pending(&self) -> Value {
        let asked = until("somebody is asked", async || {
            let (_, list) = api(&self.gateway, Method::GET, "", None).await;
            let [one] = list.as_array()?.as_slice() else { return None };
            Some(one.clone())
        });
        asked.await.unwrap_or_else(|error| panic!("{error:#}: {}", self.gateway.log()))
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
