//! Two servers with a tool of every class, resources, prompts and a method of their own, and tokens to reach them with.

use std::path::Path;
use std::process::Output;
use std::time::{Duration, SystemTime};

use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{Journal, scripted_program};
use highwater_testkit::client::{Client, Era, Setup};
use highwater_testkit::wait::until_true;
use http::Method;
use serde_json::{Value, json};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");

/// The tools, with what they say of themselves and the class that follows, since their servers are verified.
pub(crate) const TOOLS: [(&str, &str, &str); 5] = [
    ("plain", "{}", "call_tool_write"),
    ("look", r#"{"readOnlyHint":true}"#, "call_tool_read"),
    ("change", r#"{"readOnlyHint":false}"#, "call_tool_write"),
    ("wipe", r#"{"destructiveHint":true}"#, "call_tool_destructive"),
    ("liar", r#"{"readOnlyHint":true,"destructiveHint":true}"#, "call_tool_destructive"),
];

pub(crate) const PERMISSIONS: [&str; 4] =
    ["call_tool_read", "call_tool_write", "call_tool_destructive", "retrieve_tools"];

/// Every set of permissions but the empty one, which no token can have.
pub(crate) fn permission_sets() -> Vec<Vec<&'static str>> {
    (1..16_usize)
        .map(|bits| {
            PERMISSIONS.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1).map(|(_, it)| *it).collect()
        })
        .collect()
}

/// A running gateway.
pub(crate) struct Stage {
    pub(crate) gateway: Gateway,
}

/// A home with both servers and whatever else is configured.
pub(crate) fn home(more: &Value) -> Home {
    let home = Home::new(PROGRAM, "servers: {}\n").unwrap();
    let mut config = config(home.path());
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    home.configure(&config.to_string()).unwrap();
    home
}

/// The configuration of both servers, whose files are in this folder.
pub(crate) fn config(folder: &Path) -> Value {
    let script = folder.join("script.json");
    std::fs::write(&script, script_text()).unwrap();
    let server = |name: &str| {
        json!({
            "command": scripted_program(Path::new(PROGRAM)).unwrap(),
            "args": ["--script", script, "--journal", folder.join(format!("{name}.jsonl"))],
            "era": "legacy",
            "trust": { "server_trust": "tool", "resource_trust": "tool", "verified": true },
            "extra_methods": if name == "a" { json!(["acme/do"]) } else { json!([]) },
        })
    };
    json!({
        "flow": "observe",
        "limits": { "drain": "0s" },
        "servers": { "a": server("a"), "b": server("b") },
        "virtual_servers": { "side": { "servers": ["a"] } },
    })
}

fn script_text() -> String {
    let result = |text: &str| vec![format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{text}}}"#)];
    let tools: Vec<String> = TOOLS
        .iter()
        .map(|(name, annotations, _)| {
            format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{annotations}}}"#)
        })
        .chain([r#"{"name":"slow","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#
            .to_owned()])
        .collect();
    let capabilities =
        r#"{"tools":{},"prompts":{},"resources":{"subscribe":true},"completions":{},"logging":{}}"#;
    let greeting = format!(
        r#"{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"serverInfo":{{"name":"s","version":"1"}},"instructions":"words of the server"}}"#
    );
    let script = json!({
        "initialize": result(&greeting),
        "tools/list": result(&format!(r#"{{"tools":[{}]}}"#, tools.join(","))),
        "prompts/list": result(r#"{"prompts":[{"name":"ask"}]}"#),
        "resources/list": result(r#"{"resources":[{"name":"one","uri":"note://one"}]}"#),
        "resources/templates/list": result(r#"{"resourceTemplates":[{"name":"t","uriTemplate":"note://t/{x}"}]}"#),
        "tools/call": result(r#"{"content":[{"type":"text","text":"done"}]}"#),
        "tools/call slow": ["$HOLD"],
        "resources/read": result(r#"{"contents":[{"uri":"note://one","text":"1"}]}"#),
        "resources/subscribe": result("{}"),
        "resources/unsubscribe": result("{}"),
        "prompts/get": result(r#"{"messages":[]}"#),
        "completion/complete": result(r#"{"completion":{"values":["x"]}}"#),
        "logging/setLevel": result("{}"),
        "acme/do": result(r#"{"did":true}"#),
        "ping": result("{}"),
    });
    script.to_string()
}

/// A token that will be over soon.
pub(crate) struct ShortToken {
    pub(crate) name: String,
    pub(crate) secret: String,
    end: SystemTime,
}

// === impl Stage ===

impl Stage {
    pub(crate) async fn new(more: Value) -> Self {
        Self::in_home(home(&more)).await
    }

    pub(crate) async fn in_home(home: Home) -> Self {
        Self { gateway: home.serve().await.unwrap() }
    }

    pub(crate) fn journal(&self, server: &str) -> Journal {
        Journal::at(self.gateway.home().path().join(format!("{server}.jsonl")))
    }

    /// How often a server got a message of this method with this in it.
    pub(crate) fn reached(&self, server: &str, method: &str, part: &str) -> usize {
        self.journal(server).of(method).iter().filter(|note| note.raw.contains(part)).count()
    }

    /// Makes a token and gives its secret.
    pub(crate) async fn token(&self, name: &str, grant: Value) -> String {
        self.limited(name, grant, json!({})).await
    }

    pub(crate) async fn limited(&self, name: &str, grant: Value, limits: Value) -> String {
        let body = json!({ "name": name, "terms": { "grant": grant, "limits": limits } });
        let (status, made) = self.api(Method::POST, "/api/v1/tokens", Some(&body)).await;
        assert_eq!(status, 201, "{made}");
        made["secret"].as_str().unwrap().to_owned()
    }

    /// One that may do everything at every server.
    pub(crate) async fn full(&self, name: &str) -> String {
        self.token(name, json!({ "permissions": PERMISSIONS, "servers": ["*"] })).await
    }

    /// A client with this secret that is not connected yet.
    pub(crate) fn setup(&self, era: Era, secret: &str) -> Setup {
        Setup::http(self.gateway.endpoint()).era(era).token(secret).without_stream()
    }

    pub(crate) async fn client(&self, era: Era, secret: &str) -> Client {
        self.setup(era, secret).connect().await.unwrap()
    }

    /// A client at some place behind the endpoint.
    pub(crate) async fn client_at(&self, era: Era, secret: &str, place: &str) -> Client {
        let url = format!("{}{place}", self.gateway.endpoint());
        Setup::http(&url).era(era).token(secret).without_stream().connect().await.unwrap()
    }

    /// A client over standard streams: of the local user, or held to a token.
    pub(crate) async fn piped(&self, era: Era, secret: Option<&str>) -> Client {
        self.over_pipe(era, secret).connect().await.unwrap()
    }

    /// The same, not connected yet.
    pub(crate) fn over_pipe(&self, era: Era, secret: Option<&str>) -> Setup {
        let mut command = self.gateway.home().command("stdio");
        if let Some(secret) = secret {
            command.env("HIGHWATER_TOKEN", secret);
        }
        Setup::stdio(command).era(era)
    }

    /// What people are told of a token.
    pub(crate) async fn shown(&self, name: &str) -> Option<Value> {
        let (_, listed) = self.api(Method::GET, "/api/v1/tokens", None).await;
        listed.as_array().unwrap().iter().find(|token| token["name"] == *name).cloned()
    }

    /// Whether a secret opens the gateway.
    pub(crate) async fn opens(&self, secret: &str) -> bool {
        self.ask(secret, Method::POST, "/mcp", Some(&json!({}))).await.0 != 401
    }

    /// Asks the interface for people, as the operator.
    pub(crate) async fn api(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        self.ask(self.gateway.operator_token(), method, path, body).await
    }

    /// Asks some path with some secret.
    pub(crate) async fn ask(
        &self,
        secret: &str,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let url = self.gateway.endpoint().replace("/mcp", path);
        let person = Setup::http(&url).token(secret).connect_silently().await.unwrap();
        let reply =
            person.exchange(method, body.map(ToString::to_string).unwrap_or_default(), &[]).await.unwrap();
        (reply.status, serde_json::from_str(&reply.body).unwrap_or(Value::Null))
    }

    /// Everything on record.
    pub(crate) fn record(&self) -> Vec<Value> {
        record(&self.gateway.home().data_dir())
    }

    /// Runs a command on this gateway's data directory.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        run(self.gateway.home(), arguments)
    }
}

// === impl ShortToken ===

impl ShortToken {
    /// Waits until its time is over. Fails where it is over already: what was to be done before may not have been.
    pub(crate) async fn over(&self) -> anyhow::Result<()> {
        let left = self.end.duration_since(SystemTime::now())?;
        tokio::time::sleep(left).await;
        until_true("its time is over", || SystemTime::now() >= self.end).await
    }
}

/// Tells a story of a token whose time ends in the course of it: what it does is done before [`ShortToken::over`]. A busy
/// machine may need longer for that than the token lasts; then it is told again, of one that lasts longer.
pub(crate) async fn with_short_token(stage: &Stage, story: impl AsyncFn(&ShortToken) -> anyhow::Result<()>) {
    for lasts in [2, 10, 60].map(Duration::from_secs) {
        // Tokens end at whole milliseconds.
        let end = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() + lasts.as_millis();
        let end = u64::try_from(end).unwrap();
        let name = format!("lasts-{}", lasts.as_secs());
        let grant = json!({ "permissions": PERMISSIONS, "servers": ["*"], "expires": end });
        let body = json!({ "name": name, "terms": { "grant": grant, "limits": {} } });
        let (status, made) = stage.api(Method::POST, "/api/v1/tokens", Some(&body)).await;
        let end = SystemTime::UNIX_EPOCH + Duration::from_millis(end);
        let told = match made["secret"].as_str().map(str::to_owned) {
            Some(secret) => story(&ShortToken { name, secret, end }).await,
            None => Err(anyhow::anyhow!("{status}: {made}")),
        };
        match told {
            Ok(()) => return,
            Err(error) => assert!(SystemTime::now() >= end, "{error:#}"),
        }
    }
    panic!("even the longest was over before it could be used");
}

/// Runs a command on a data directory.
pub(crate) fn run(home: &Home, arguments: &[&str]) -> Output {
    let [command, rest @ ..] = arguments else { panic!("no command") };
    let mut process = std::process::Command::new(PROGRAM);
    process.arg(command).args(rest).arg("--data-dir").arg(home.data_dir());
    process.arg("--config").arg(home.config_file()).output().unwrap()
}

/// Everything on record in a data directory, whole lines only: a kill may have torn the last.
pub(crate) fn record(data: &Path) -> Vec<Value> {
    let mut files: Vec<_> =
        std::fs::read_dir(data.join("audit")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let text: String = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
