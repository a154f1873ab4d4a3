//! A gateway in front of a server whose definitions can change between one connection and the next.

use std::path::{Path, PathBuf};
use std::process::Output;

use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{HttpFixture, Journal, scripted_program};
use highwater_testkit::client::{Answer, Client, Era, Setup};
use highwater_testkit::wait::until;
use http::Method;
use serde_json::{Map, Value, json};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");

/// A running gateway with one scripted server, `up`, and perhaps others.
pub(crate) struct Stage {
    pub(crate) gateway: Gateway,
}

/// Everything a server says of itself.
pub(crate) fn definitions() -> Value {
    json!({
        "serverInfo": { "name": "Files", "version": "1" },
        "instructions": "Use the tools well.",
        "tools": [{
            "name": "read_note",
            "title": "Read a note",
            "description": "Reads a note.",
            "inputSchema": { "type": "object", "properties": { "id": { "type": "string", "description": "which" } } },
            "outputSchema": { "type": "object", "properties": { "text": { "type": "string" } } },
            "annotations": { "readOnlyHint": true, "openWorldHint": false },
        }, {
            "name": "write_note",
            "description": "Writes a note.",
            "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true },
        }],
        "prompts": [{ "name": "review", "description": "Reviews a note.", "arguments": [{ "name": "id" }] }],
        "resources": [{ "uri": "note://1", "name": "One" }],
        "resourceTemplates": [{ "uriTemplate": "note://{id}", "name": "A note" }],
    })
}

/// What the scripted server says when it is asked, for these definitions.
fn script(definitions: &Value) -> Value {
    let answer = |result: Value| json!([format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#)]);
    let list = |key: &str| {
        let mut said = json!({ key: definitions[key] });
        if definitions["beside"].is_object() {
            merge(&mut said, &definitions["beside"]);
        }
        answer(said)
    };
    let text =
        json!({ "content": [{ "type": "text", "text": "done" }], "structuredContent": { "text": "done" } });
    let mut script = json!({
        "initialize": answer(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "tools": {}, "prompts": {}, "resources": { "subscribe": true }, "completions": {},
                "declarations": { "signed": definitions["manifest"].is_object() },
            },
            "serverInfo": definitions["serverInfo"],
            "instructions": definitions["instructions"],
        })),
        "tools/list": list("tools"),
        "prompts/list": list("prompts"),
        "resources/list": list("resources"),
        "resources/templates/list": list("resourceTemplates"),
        "tools/call": answer(text),
        "prompts/get": answer(json!({ "messages": [] })),
        "resources/read": answer(json!({ "contents": [{ "uri": "note://1", "text": "one" }] })),
        "resources/subscribe": answer(json!({})),
        "completion/complete": answer(json!({ "completion": { "values": [] } })),
        "acme/reindex": answer(json!({})),
        "ping": answer(json!({})),
    });
    if definitions["modern"] == true {
        let said = script.as_object_mut().unwrap();
        said.remove("initialize");
        for (_, messages) in said.iter_mut() {
            let text = messages[0].as_str().unwrap();
            let complete = text.replacen(r#""result":{"#, r#""result":{"resultType":"complete","#, 1);
            *messages = json!([complete.replace(",}", "}")]);
        }
        script["server/discover"] = answer(json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {}, "prompts": {}, "resources": {}, "completions": {} },
            "instructions": definitions["instructions"],
            "_meta": { "io.modelcontextprotocol/serverInfo": definitions["serverInfo"] },
        }));
    }
    if definitions["manifest"].is_object() {
        script["declarations/manifest"] = answer(definitions["manifest"].clone());
    }
    script
}

/// The script of a server.
fn script_file(folder: &Path, server: &str) -> PathBuf {
    folder.join(format!("{server}.script.json"))
}

/// Has a server say this from its next start on.
pub(crate) fn say(folder: &Path, server: &str, definitions: &Value) {
    std::fs::write(script_file(folder, server), script(definitions).to_string()).unwrap();
}

/// The entry of a scripted server over stdio.
pub(crate) fn entry(folder: &Path, server: &str, more: &Value) -> Value {
    let mut entry = json!({
        "command": scripted_program(Path::new(PROGRAM)).unwrap(),
        "args": ["--script", script_file(folder, server), "--journal", journal_file(folder, server)],
    });
    merge(&mut entry, more);
    entry
}

/// A scripted server over HTTP. It says what its script says at its start.
pub(crate) async fn serve_http(folder: &Path, server: &str, address: &str) -> HttpFixture {
    let program = scripted_program(Path::new(PROGRAM)).unwrap();
    let (script, journal) = (script_file(folder, server), journal_file(folder, server));
    let arguments = ["--script", script.to_str().unwrap(), "--journal", journal.to_str().unwrap()];
    HttpFixture::start_at(&program, address, &arguments, &Journal::at(journal.clone())).await.unwrap()
}

fn journal_file(folder: &Path, server: &str) -> PathBuf {
    folder.join(format!("{server}.journal.jsonl"))
}

pub(crate) fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more.clone(),
    }
}

/// A place for a gateway.
pub(crate) fn home() -> Home {
    Home::new(PROGRAM, "servers: {}\n").unwrap()
}

/// What the operator writes who stands for a server.
pub(crate) fn vouched() -> Value {
    json!({ "trust": { "server_trust": "tool", "verified": true } })
}

/// What the operator writes who does not.
pub(crate) fn stranger() -> Value {
    json!({})
}

// === impl Stage ===

impl Stage {
    /// A gateway with the server `up`, configured like this.
    pub(crate) async fn new(up: Value) -> Self {
        Self::with(&[("up", up)], json!({})).await
    }

    /// A gateway with these servers, all of which say the same at first, and whatever else is wanted.
    pub(crate) async fn with(servers: &[(&str, Value)], more: Value) -> Self {
        let home = home();
        let mut entries = Map::new();
        for (name, wanted) in servers {
            say(home.path(), name, &definitions());
            entries.insert((*name).to_owned(), entry(home.path(), name, wanted));
        }
        Self::at(home, Value::Object(entries), more).await
    }

    /// A gateway in a home that was prepared, with these entries.
    pub(crate) async fn at(home: Home, entries: Value, more: Value) -> Self {
        let mut config = json!({ "flow": "observe", "quarantine": true, "servers": entries });
        merge(&mut config, &more);
        home.configure(&config.to_string()).unwrap();
        Self { gateway: home.serve().await.unwrap() }
    }

    /// The gateway stops and starts again, and meets its servers: until it has, agents are shown what was approved of them.
    pub(crate) async fn again(&mut self) {
        self.gateway.stop().await.unwrap();
        self.gateway.restart().await.unwrap();
        let (status, servers) = self.api(Method::GET, "/api/v1/servers", None).await;
        assert_eq!(status, 200, "{servers}");
        for server in servers.as_array().unwrap() {
            self.review(server["name"].as_str().unwrap()).await;
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.gateway.home().path()
    }

    /// `up` says something else from its next start on, and the gateway meets it again.
    pub(crate) async fn pull(&mut self, change: impl FnOnce(&mut Value)) {
        let mut definitions = definitions();
        change(&mut definitions);
        say(self.folder(), "up", &definitions);
        self.again().await;
    }

    pub(crate) fn journal(&self, server: &str) -> Journal {
        Journal::at(journal_file(self.folder(), server))
    }

    pub(crate) fn setup(&self, era: Era) -> Setup {
        self.gateway.http(era)
    }

    pub(crate) async fn client(&self) -> Client {
        self.setup(Era::Legacy).connect().await.unwrap()
    }

    /// What an agent is shown of a list.
    pub(crate) async fn listed(&self, method: &str, member: &str, name: &str) -> Vec<String> {
        let client = self.gateway.http(Era::Modern).without_stream().connect().await.unwrap();
        let answer = client.request(method, json!({})).await.unwrap();
        let list = answer.at(&format!("/result/{member}"));
        list.as_array().unwrap().iter().map(|item| item[name].as_str().unwrap().to_owned()).collect()
    }

    /// The tools that an agent is shown.
    pub(crate) async fn tools(&self) -> Vec<String> {
        self.listed("tools/list", "tools", "name").await
    }

    /// One tool as an agent is shown it.
    pub(crate) async fn tool(&self, name: &str) -> Value {
        let client = self.gateway.http(Era::Modern).without_stream().connect().await.unwrap();
        let answer = client.request("tools/list", json!({})).await.unwrap();
        let tools = answer.at("/result/tools");
        let found = tools.as_array().unwrap().iter().find(|tool| tool["name"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {tools:#}")).clone()
    }

    /// Everything that an agent is shown before it calls anything, in both eras.
    pub(crate) async fn all_that_is_shown(&self) -> String {
        let mut all = self.client().await.greeting().unwrap().raw().to_owned();
        let client = self.gateway.http(Era::Modern).without_stream().connect().await.unwrap();
        for list in
            ["server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"]
        {
            all.push_str(client.request(list, json!({})).await.unwrap().raw());
        }
        all
    }

    /// When the gateway last looked at `up`.
    pub(crate) async fn looked_at(&self) -> u64 {
        let (_, list) = self.api(Method::GET, "/api/v1/servers", None).await;
        let all = list.as_array().or(list["servers"].as_array()).unwrap();
        let found = all.iter().find(|it| it["name"] == "up").unwrap();
        found["looked_at"].as_u64().unwrap_or_default()
    }

    /// Has `up` say this from now on, and goes on using it until the gateway has looked at it.
    pub(crate) async fn now_says(&self, definitions: &Value) {
        say(self.folder(), "up", definitions);
        // Two looks: the first may have been under way.
        for _ in 0..2 {
            let before = self.looked_at().await;
            let again = async || {
                self.tools().await;
                (self.looked_at().await > before).then_some(())
            };
            until("the gateway looked at it again", again).await.unwrap();
        }
    }

    /// Calls a tool as an agent.
    pub(crate) async fn call(&self, tool: &str) -> Answer {
        let client = self.gateway.http(Era::Modern).without_stream().connect().await.unwrap();
        client.call(tool, json!({})).await.unwrap()
    }

    /// How often a server was asked something.
    pub(crate) fn asked(&self, server: &str, method: &str) -> usize {
        self.journal(server).of(method).len()
    }

    /// Calls a tool, which must run.
    pub(crate) async fn runs(&self, tool: &str) {
        let before = self.asked("up", "tools/call");
        let answer = self.call(tool).await;
        assert_eq!(answer.at("/result/content/0/text"), "done", "{}", answer.raw());
        assert_eq!(self.asked("up", "tools/call"), before + 1);
    }

    /// Calls a tool, which must not run, and gives what the caller was told.
    pub(crate) async fn is_refused(&self, tool: &str) -> String {
        let before = self.asked("up", "tools/call");
        let answer = self.call(tool).await;
        assert!(answer.is_tool_error(), "{}", answer.raw());
        assert_eq!(answer.at("/result/_meta/dev.highwater~1decision/code"), 403_103, "{}", answer.raw());
        assert_eq!(self.asked("up", "tools/call"), before, "it ran");
        answer.text().unwrap()
    }

    /// Runs `highwater servers …` as a person would.
    pub(crate) async fn servers(&self, arguments: &[&str]) -> Output {
        let mut command = tokio::process::Command::new(PROGRAM);
        command.arg("servers").args(arguments).arg("--data-dir").arg(self.gateway.home().data_dir());
        command.env("USER", "ada").stdin(std::process::Stdio::null());
        command.output().await.unwrap()
    }

    /// What `highwater servers …` says, which must work.
    pub(crate) async fn said(&self, arguments: &[&str]) -> String {
        let output = self.servers(arguments).await;
        assert!(output.status.success(), "{arguments:?}: {output:?}\n{}", self.gateway.log());
        String::from_utf8(output.stdout).unwrap()
    }

    /// A server as people see it.
    pub(crate) async fn review(&self, server: &str) -> Value {
        serde_json::from_str(&self.said(&["inspect", server, "--json"]).await).unwrap()
    }

    /// One thing of `up` as people see it.
    pub(crate) async fn item(&self, kind: &str, name: &str) -> Value {
        let review = self.review("up").await;
        let items = review["items"].as_array().unwrap();
        let found = items.iter().find(|item| item["kind"] == kind && item["name"] == name);
        found.unwrap_or_else(|| panic!("no {kind} {name} in {review:#}")).clone()
    }

    /// Approves everything of a server, as it is seen.
    pub(crate) async fn approve(&self, server: &str) {
        let digest = self.review(server).await["digest"].as_str().unwrap().to_owned();
        self.said(&["approve", server, "--seen", &digest, "--reason", "looked at it"]).await;
    }

    /// Approves everything of a server, as it is seen, and believes what it claims.
    pub(crate) async fn believe(&self, server: &str) {
        let digest = self.review(server).await["digest"].as_str().unwrap().to_owned();
        self.said(&["approve", server, "--believe", "--seen", &digest, "--reason", "know it"]).await;
    }

    /// Ends the process of a server, and waits until the gateway knows.
    pub(crate) async fn end(&self, server: &str) {
        let script = script_file(self.folder(), server);
        let script = script.to_str().unwrap();
        let mut ended = 0;
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).into_owned();
            let program = command.split('\0').next().unwrap_or_default().to_owned();
            let pid = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
            if let Some(pid) = pid.filter(|_| command.contains(script) && program.ends_with("scripted")) {
                let pid = rustix::process::Pid::from_raw(pid).unwrap();
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
                ended += 1;
            }
        }
        assert_eq!(ended, 1);
        let known = async || {
            let list: Vec<Value> = serde_json::from_str(&self.said(&["list", "--json"]).await).unwrap();
            let found = list.iter().find(|it| it["name"] == server).unwrap();
            (found["state"] != "up").then_some(())
        };
        until("the gateway knows that it ended", known).await.unwrap();
    }

    /// Asks the interface for people.
    pub(crate) async fn api(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        let url = self.gateway.endpoint().replace("/mcp", path);
        let person = Setup::http(&url).token(self.gateway.operator_token()).connect_silently().await.unwrap();
        let body = body.map(ToString::to_string).unwrap_or_default();
        let reply = person.exchange(method, body, &[]).await.unwrap();
        (reply.status, serde_json::from_str(&reply.body).unwrap_or(Value::Null))
    }
}
