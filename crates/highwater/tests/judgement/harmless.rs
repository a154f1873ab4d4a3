//! A server that nobody verified gains nothing by calling its tools harmless: in every vocabulary, with every key, in
//! every flow mode and whatever the session has read, no decision is milder than for a tool of which nothing is said.
//! A verified server is believed wherever its vocabulary can loosen a decision at all.

use std::collections::BTreeMap;
use std::path::Path;

use highwater_mcp::text::members;
use highwater_testkit::client::peer::{Journal, scripted_program};
use highwater_testkit::client::{Client, Era, Setup};
use highwater_testkit::harmless::HARMLESS;
use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::stage::{PRIVATE, PROGRAM, STRANGE, Stage, done};

const MODES: [&str; 4] = ["observe", "balanced", "strict", "samos"];

/// What a session has read before, by the tools that bring it. In `strict` the doubtful may not read what is private.
const SESSIONS: [(&str, &[&str]); 4] =
    [("clean", &[]), ("private", &[PRIVATE]), ("untrusted", &[STRANGE]), ("both", &[PRIVATE, STRANGE])];

/// What happens to a call, mildest first.
const EFFECTS: [&str; 5] = ["allow", "redact", "confirm", "passkey", "block"];

/// The tool of which nothing is said.
const SILENT: &str = "silent";

/// Axes that a verified server may be believed on without any decision becoming another.
const DECIDE_NOTHING: [&str; 2] = ["capabilities", "idempotent"];

/// A tool that says something harmless of itself.
struct Says {
    tool: String,
    /// The vocabulary, and the key if it is one alone.
    what: String,
    annotations: String,
    /// Whether a verified server with it is believed on something that counts. Of a single key nobody says.
    believed: Option<bool>,
}

/// The gateway, with the same tools at a server that is verified and at one that is not.
struct Table {
    stage: Stage,
    tools: Vec<Says>,
    folder: TempDir,
}

/// What a call would come to: the place in [`EFFECTS`], and whether its reply would raise the session's label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outlook {
    effect: usize,
    taints: bool,
}

fn tools() -> Vec<Says> {
    let mut tools = Vec::new();
    let mut all = BTreeMap::new();
    for (number, (vocabulary, harmless, axes)) in HARMLESS.iter().enumerate() {
        tools.push(Says {
            tool: format!("row{number}"),
            what: (*vocabulary).to_owned(),
            annotations: (*harmless).to_owned(),
            believed: Some(axes.iter().any(|axis| !DECIDE_NOTHING.contains(axis))),
        });
        let object = format!("{{{harmless}}}");
        for (place, (key, value)) in members(&object).enumerate() {
            let annotations = format!("\"{key}\":{value}");
            all.insert(key.to_string(), annotations.clone());
            tools.push(Says {
                tool: format!("row{number}key{place}"),
                what: format!("{vocabulary}: {key}"),
                annotations,
                believed: None,
            });
        }
    }
    let annotations = all.into_values().collect::<Vec<_>>().join(",");
    tools.push(Says { tool: "all".into(), what: "all of them".into(), annotations, believed: Some(true) });
    tools
}

fn script(tools: &[Says]) -> String {
    let answer = |result: String| json!([format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#)]);
    let tool = |name: &str, annotations: &str| {
        format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{{{annotations}}}}}"#)
    };
    let listed: Vec<String> = [tool(SILENT, "")]
        .into_iter()
        .chain(tools.iter().map(|says| tool(&says.tool, &says.annotations)))
        .collect();
    let hello = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;
    json!({
        "initialize": answer(hello.to_owned()),
        "tools/list": answer(format!(r#"{{"tools":[{}]}}"#, listed.join(","))),
        "tools/call": answer(r#"{"content":[{"type":"text","text":"done"}]}"#.to_owned()),
    })
    .to_string()
}

// === impl Table ===

impl Table {
    async fn new() -> Self {
        let (tools, folder) = (tools(), TempDir::new().unwrap());
        let file = folder.path().join("script.json");
        std::fs::write(&file, script(&tools)).unwrap();
        let server = |name: &str, trust: Value| {
            let journal = folder.path().join(name);
            let words = ["--script".as_ref(), file.as_os_str(), "--journal".as_ref(), journal.as_os_str()];
            let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
            json!({ "command": scripted_program(Path::new(PROGRAM)).unwrap(), "args": words, "trust": trust })
        };
        // Where the replies are known to the operator, only what the tool does is left to be lied about.
        let known = json!({ "returnMetadata": { "source": "system", "sensitivity": "none" } });
        let rows = tools.iter().filter(|says| says.believed.is_some()).map(|says| says.tool.as_str());
        let labels: Value = rows
            .chain([SILENT])
            .map(|tool| (tool.to_owned(), known.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let labelled = |name: &str, trust: Value| {
            let mut server = server(name, trust);
            server["labels"] = labels.clone();
            server
        };
        let nobody = json!({ "server_trust": "owner", "resource_trust": "owner", "verified": false });
        let somebody = json!({ "server_trust": "tool", "resource_trust": "none", "verified": true });
        let held = ["up", "liar", "friend", "known_liar", "known_friend"];
        let modes = MODES.map(|mode| (mode.to_owned(), json!({ "servers": held, "flow": mode })));
        let stage = Stage::new(json!({
            "servers": {
                // What the operator writes beside it counts for nothing while nobody verified it.
                "liar": server("liar", nobody.clone()),
                "friend": server("friend", somebody.clone()),
                "known_liar": labelled("known_liar", nobody),
                "known_friend": labelled("known_friend", somebody),
            },
            "virtual_servers": Value::Object(modes.into_iter().collect()),
        }))
        .await;
        Self { stage, tools, folder }
    }

    /// A client of a virtual server in a session of its own that has read this.
    async fn client(&self, mode: &str, read: &[&str]) -> (Client, String) {
        let note = json!({ "note": "a test" });
        let (status, made) = self.stage.api(Method::POST, "/api/v1/contexts", Some(&note)).await;
        assert_eq!(status, 201, "{made}");
        let context = made["id"].as_str().unwrap().to_owned();
        let url = format!("{}/v/{mode}/c/{context}", self.stage.gateway.endpoint());
        let setup =
            Setup::http(&url).era(Era::Modern).token(self.stage.gateway.agent_token()).without_stream();
        let client = setup.connect().await.unwrap();
        for tool in read {
            done(&client.call(tool, json!({})).await.unwrap());
        }
        (client, context)
    }

    /// How often a tool was run.
    fn runs(&self, server: &str, tool: &str) -> usize {
        let name = format!("\"name\":\"{tool}\"");
        Journal::at(self.folder.path().join(server))
            .of("tools/call")
            .iter()
            .filter(|note| note.raw.contains(&name))
            .count()
    }

    /// How often anything was run.
    fn calls(&self, server: &str) -> usize {
        Journal::at(self.folder.path().join(server)).of("tools/call").len()
    }

    /// The label of a context's session.
    async fn label(&self, context: &str) -> Value {
        let sessions = self.stage.sessions().await;
        let of_context = |session: &&Value| session["key"].as_str().unwrap().ends_with(context);
        sessions.iter().find(of_context).unwrap()["label"].clone()
    }
}

async fn outlook(client: &Client, server: &str, tool: &str) -> Outlook {
    let name = format!("{server}__{tool}");
    let answer = client.request("tools/resolve", json!({ "name": name, "arguments": {} })).await.unwrap();
    let told = answer.at("/result/_meta/dev.highwater~1outlook");
    let effect = EFFECTS.iter().position(|effect| told["effect"] == *effect);
    let effect = effect.unwrap_or_else(|| panic!("{}", answer.raw()));
    Outlook { effect, taints: told["wouldTaint"].as_bool().unwrap() }
}

fn is_milder(one: Outlook, other: Outlook) -> bool {
    one.effect < other.effect || (!one.taints && other.taints)
}

/// Whether a label, as people see it, lacks something that another has.
fn is_lower(one: &Value, other: &Value) -> bool {
    const TRUST: [&str; 6] = ["none", "tool", "agent", "system", "user", "owner"];
    let trust = |label: &Value| TRUST.iter().position(|word| label["integrity"] == *word).unwrap();
    let lacks = |key: &str| {
        let (one, other) = (one[key].as_array().unwrap(), other[key].as_array().unwrap());
        other.iter().any(|word| !one.contains(word))
    };
    trust(one) > trust(other) || lacks("secrecy") || lacks("flags")
}

#[tokio::test]
async fn what_a_server_says_of_its_tools_loosens_a_decision_only_if_it_is_verified() {
    let table = Table::new().await;
    // By the table's rows: in which modes and sessions a verified server's word made a decision milder.
    let mut believed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut strictest = 0;
    for mode in MODES {
        for (session, read) in SESSIONS {
            let (client, _) = table.client(mode, read).await;
            for (liar, friend) in [("liar", "friend"), ("known_liar", "known_friend")] {
                let silent = [outlook(&client, liar, SILENT).await, outlook(&client, friend, SILENT).await];
                strictest = strictest.max(silent[0].effect);
                // The operator labelled the tools of whole rows.
                for says in table.tools.iter().filter(|says| liar == "liar" || says.believed.is_some()) {
                    let told = outlook(&client, liar, &says.tool).await;
                    let what = &says.what;
                    assert!(
                        !is_milder(told, silent[0]),
                        "{what} in {mode}, {session}: {told:?} for {silent:?}"
                    );
                    if is_milder(outlook(&client, friend, &says.tool).await, silent[1]) {
                        believed.entry(&says.tool).or_default().push(format!("{mode}, {session}"));
                    }
                }
            }
        }
    }
    assert!(strictest >= 2, "there is nothing to be gained");
    for says in &table.tools {
        let found = believed.get(says.tool.as_str());
        if let Some(expected) = says.believed {
            assert_eq!(found.is_some(), expected, "{}: {found:?}", says.what);
        }
    }
    // Single keys count too, and not only where all of them are there.
    let keys = table
        .tools
        .iter()
        .filter(|says| says.believed.is_none() && believed.contains_key(says.tool.as_str()));
    assert!(keys.count() >= 10, "{believed:#?}");
    let called = ["liar", "friend", "known_liar", "known_friend"].map(|server| table.calls(server));
    assert_eq!(called, [0; 4], "to ask is not to call");
}

#[tokio::test]
async fn what_an_unverified_server_says_lets_no_call_through_that_silence_would_not() {
    let table = Table::new().await;
    let rows: Vec<&Says> = table.tools.iter().filter(|says| says.believed.is_some()).collect();
    let mut refused = 0;
    for mode in MODES {
        for (session, read) in SESSIONS {
            let mut run = BTreeMap::new();
            for tool in std::iter::once(SILENT).chain(rows.iter().map(|says| says.tool.as_str())) {
                let before = table.runs("liar", tool);
                let (client, _) = table.client(mode, read).await;
                client.call(&format!("liar__{tool}"), json!({})).await.unwrap();
                run.insert(tool, table.runs("liar", tool) > before);
            }
            refused += usize::from(!run[SILENT]);
            for says in &rows {
                assert!(!run[says.tool.as_str()] || run[SILENT], "{} in {mode}, {session}", says.what);
            }
        }
    }
    assert!(refused >= 6, "silence was refused in {refused} of 16 cases");
}

#[tokio::test]
async fn a_reply_of_an_unverified_server_raises_the_label_as_if_nothing_were_said() {
    let table = Table::new().await;
    let mut labels = BTreeMap::new();
    for server in ["liar", "friend"] {
        for tool in std::iter::once(SILENT).chain(table.tools.iter().map(|says| says.tool.as_str())) {
            let (client, context) = table.client("observe", &[]).await;
            done(&client.call(&format!("{server}__{tool}"), json!({})).await.unwrap());
            labels.insert((server, tool), table.label(&context).await);
        }
    }
    let mut believed = 0;
    for says in &table.tools {
        let tool = says.tool.as_str();
        let (of_liar, silent) = (&labels[&("liar", tool)], &labels[&("liar", SILENT)]);
        assert!(!is_lower(of_liar, silent), "{}: {of_liar} for {silent}", says.what);
        believed += usize::from(is_lower(&labels[&("friend", tool)], &labels[&("friend", SILENT)]));
    }
    assert!(believed >= 5, "a verified server is believed {believed} times");
}
