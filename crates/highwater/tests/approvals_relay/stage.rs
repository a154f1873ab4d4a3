//! A gateway before a server that verifies approvals itself, a person with a passkey that is enrolled at that server, and
//! clients who carry challenges and evidence.

use std::path::Path;

use highwater_notation::encode_base64url;
use highwater_passkey::Algorithm;
use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{HttpFixture, Journal, scripted_program};
use highwater_testkit::client::{Answer, Client, Era, Request, Setup};
use highwater_testkit::passkey::Passkey;
use highwater_testkit::scripted::GateFile;
use http::Method;
use serde_json::{Value, json};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");

/// Where annotation and evidence stand.
pub(crate) const KEY: &str = "io.modelcontextprotocol/verified-approval";

/// The tool behind the gate, as clients call it, and as its server does.
pub(crate) const WIPE: &str = "vault__wipe";
pub(crate) const OWN: &str = "wipe";

/// A tool without a gate.
pub(crate) const LOOK: &str = "vault__look";

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// The page of the server, which is none of ours.
const ORIGIN: &str = "https://vault.example";

/// What stands behind the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upstream {
    Stdio,
    Http,
}

/// Every way to stand behind the gateway and to come to it.
pub(crate) const CELLS: [(Upstream, Era, Era); 6] = [
    (Upstream::Stdio, Era::Legacy, Era::Legacy),
    (Upstream::Stdio, Era::Modern, Era::Legacy),
    (Upstream::Stdio, Era::Legacy, Era::Modern),
    (Upstream::Http, Era::Modern, Era::Modern),
    (Upstream::Http, Era::Legacy, Era::Modern),
    (Upstream::Http, Era::Modern, Era::Legacy),
];

/// A gateway and what stands behind it. Dropped in this order.
pub(crate) struct Stage {
    pub(crate) gateway: Gateway,
    pub(crate) journal: Journal,
    pub(crate) passkey: Passkey,
    _server: Option<HttpFixture>,
}

/// What is told of the server.
pub(crate) struct Server {
    pub(crate) upstream: Upstream,
    pub(crate) era: Era,
    /// The annotation of its tool, as JSON text.
    pub(crate) annotation: &'static str,
    /// Its `extensions`, as JSON text.
    pub(crate) extensions: &'static str,
    /// Whether its tool becomes another once a challenge was issued.
    pub(crate) changes: bool,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            upstream: Upstream::Stdio,
            era: Era::Legacy,
            annotation: r#"{"required":"verified","authenticatorClass":"cross-platform","later":{"a":[1.50]}}"#,
            extensions: r#"{"verifiedApproval":{"later":true},"x.y/z":{}}"#,
            changes: false,
        }
    }
}

// === impl Server ===

impl Server {
    pub(crate) fn new(upstream: Upstream, era: Era) -> Self {
        Self { upstream, era, ..Self::default() }
    }

    fn tools(&self, description: &str) -> String {
        let meta = match self.annotation {
            "" => String::new(),
            annotation => format!(r#","_meta":{{"{KEY}":{annotation}}}"#),
        };
        format!(
            r#"[{{"name":"{OWN}","description":"{description}","inputSchema":{{"type":"object"}},"annotations":{{"destructiveHint":true}}{meta}}},{{"name":"look","inputSchema":{{"type":"object"}},"annotations":{{"readOnlyHint":true}}}}]"#
        )
    }

    fn script(&self) -> Value {
        let era = match self.era {
            Era::Legacy => "",
            Era::Modern => r#","resultType":"complete""#,
        };
        let result = |text: &str| vec![format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{{{text}{era}}}}}"#)];
        let capabilities =
            format!(r#""capabilities":{{"tools":{{"listChanged":true}},"extensions":{}}}"#, self.extensions);
        let info = r#""serverInfo":{"name":"vault","version":"1"}"#;
        let (greeting, greets) = match self.era {
            Era::Legacy => ("initialize", format!(r#""protocolVersion":"2025-11-25",{capabilities},{info}"#)),
            Era::Modern => (
                "server/discover",
                format!(
                    r#""supportedVersions":["2026-07-28"],{capabilities},{info},"ttlMs":0,"cacheScope":"private""#
                ),
            ),
        };
        json!({
            greeting: result(&greets),
            "tools/list": result(&format!(r#""tools":{}"#, self.tools("Deletes for ever."))),
            "tools/list changed": result(&format!(r#""tools":{}"#, self.tools("Deletes even more."))),
            "tools/call": result(r#""content":[{"type":"text","text":"done"}]"#),
            "ping": result(""),
        })
    }
}

// === impl Stage ===

impl Stage {
    pub(crate) async fn new(server: Server) -> Self {
        Self::with(server, json!({})).await
    }

    /// The usual server, of whose tools the operator says this.
    pub(crate) async fn labelled(labels: Value) -> Self {
        Self::build(Server::default(), json!({}), labels).await
    }

    /// The same with rules of the operator's, which alone ask: of the tool it is known that nothing flows where it should
    /// not.
    pub(crate) async fn ruled(rules: Value, mut label: Value) -> Self {
        let classes = json!(["user", "pii", "financial", "credentials"]);
        label["inputMetadata"] =
            json!({ "destination": "ephemeral", "sensitivity": classes, "outcomes": "benign" });
        label["returnMetadata"] = json!({ "source": "system", "sensitivity": "none" });
        let more = json!({ "flow": "balanced", "rules": rules });
        Self::build(Server::default(), more, json!({ "wipe": label })).await
    }

    /// A gateway before this server, with whatever else is configured.
    pub(crate) async fn with(server: Server, more: Value) -> Self {
        Self::build(server, more, json!({})).await
    }

    async fn build(server: Server, more: Value, labels: Value) -> Self {
        let home = Home::new(PROGRAM, "servers: {}\n").unwrap();
        let folder = home.path().to_owned();
        let (script, gate, journal) =
            (folder.join("script.json"), folder.join("gate.json"), folder.join("vault.jsonl"));
        std::fs::write(&script, server.script().to_string()).unwrap();
        let mut passkey = Passkey::fresh(Algorithm::Es256, ORIGIN);
        passkey.rp_id = "vault.example".to_owned();
        let file = GateFile {
            tool: OWN.to_owned(),
            server_id: "vault-7f1c".to_owned(),
            rp_id: passkey.rp_id.clone(),
            origin: ORIGIN.to_owned(),
            credential: encode_base64url(&passkey.id),
            key: encode_base64url(&passkey.cose()),
            user_handle: encode_base64url(&passkey.user_handle),
            changes: server.changes,
        };
        std::fs::write(&gate, serde_json::to_string(&file).unwrap()).unwrap();
        let program = scripted_program(Path::new(PROGRAM)).unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let arguments = [
            "--script".to_owned(),
            text(&script),
            "--journal".to_owned(),
            text(&journal),
            "--gate".to_owned(),
            text(&gate),
        ];
        let trust = json!({ "server_trust": "tool", "resource_trust": "tool", "verified": true });
        let era = if server.era == Era::Legacy { "legacy" } else { "modern" };
        let journal = Journal::at(journal);
        let (running, mut entry) = match server.upstream {
            Upstream::Stdio => {
                (None, json!({ "command": program, "args": arguments, "era": era, "trust": trust }))
            }
            Upstream::Http => {
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let running = HttpFixture::start(&program, &arguments, &journal).await.unwrap();
                let entry = json!({ "url": running.url(), "era": era, "trust": trust });
                (Some(running), entry)
            }
        };
        entry["labels"] = labels;
        let mut config = json!({ "flow": "observe", "servers": { "vault": entry } });
        for (key, value) in more.as_object().unwrap() {
            config[key] = value.clone();
        }
        home.configure(&config.to_string()).unwrap();
        Self { gateway: home.serve().await.unwrap(), journal, passkey, _server: running }
    }

    pub(crate) fn setup(&self, era: Era) -> Setup {
        self.gateway.http(era).without_stream()
    }

    /// A client that can carry approvals, and says so.
    pub(crate) async fn native(&self, era: Era) -> Client {
        let capabilities = json!({ "extensions": { "verifiedApproval": {} } });
        self.setup(era).capabilities(capabilities).connect().await.unwrap()
    }

    /// Another caller, who may do everything too.
    pub(crate) async fn other(&self, era: Era) -> Client {
        let permissions = ["call_tool_read", "call_tool_write", "call_tool_destructive", "retrieve_tools"];
        let grant = json!({ "permissions": permissions, "servers": ["*"] });
        let secret = self.token("other", grant).await;
        self.setup(era).token(&secret).connect().await.unwrap()
    }

    /// Makes a token and gives its secret.
    pub(crate) async fn token(&self, name: &str, grant: Value) -> String {
        let url = self.gateway.endpoint().replace("/mcp", "/api/v1/tokens");
        let person = Setup::http(&url).token(self.gateway.operator_token()).connect_silently().await.unwrap();
        let body = json!({ "name": name, "terms": { "grant": grant } });
        let reply = person.exchange(Method::POST, body.to_string(), &[]).await.unwrap();
        let made: Value = serde_json::from_str(&reply.body).unwrap();
        made["secret"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
    }

    /// Asks for a challenge.
    pub(crate) async fn challenge(&self, client: &Client, arguments: &Value) -> Answer {
        let params = json!({ "toolName": WIPE, "arguments": arguments });
        client.request("approval/challenge/create", params).await.unwrap()
    }

    /// A challenge that was issued, signed by the person.
    pub(crate) async fn signed(&self, client: &Client, arguments: &Value) -> Value {
        let challenge = self.challenge(client, arguments).await;
        self.sign(&challenge)
    }

    /// The person signs a challenge.
    pub(crate) fn sign(&self, challenge: &Answer) -> Value {
        let options = challenge.at("/result/requestOptions");
        assert!(options.is_object(), "{}", challenge.raw());
        let response = self.passkey.get(&options).unwrap();
        json!({ "method": "webauthn", "challengeId": challenge.at("/result/challengeId"), "response": response })
    }

    /// Calls the tool with this evidence.
    pub(crate) async fn call(&self, client: &Client, arguments: &Value, evidence: &Value) -> Answer {
        client.send(Request::call(WIPE, arguments).meta(KEY, evidence.clone())).await.unwrap()
    }

    /// What was executed, by its canonical arguments.
    pub(crate) fn executed(&self) -> Vec<String> {
        self.journal.of("executed").into_iter().map(|note| note.raw).collect()
    }

    /// How often the server was called for the tool, whatever came of it.
    pub(crate) fn called(&self) -> usize {
        let own = format!("\"{OWN}\"");
        self.journal.of("tools/call").iter().filter(|note| note.raw.contains(&own)).count()
    }
}

/// A tool's plain success.
pub(crate) fn done(answer: &Answer) {
    assert!(answer.error_code().is_none() && answer.at("/result/isError") != json!(true), "{}", answer.raw());
}

/// A rejection for this reason.
pub(crate) fn rejected(answer: &Answer, reason: &str) {
    assert_eq!(answer.error_code(), Some(-32001), "{}", answer.raw());
    assert_eq!(answer.at("/error/data/reason"), json!(reason), "{}", answer.raw());
}
