//! A gateway before a server of one era, whose tools come in pairs, and what the server's journal says of a call.

use highwater_testkit::client::peer::Journal;
use highwater_testkit::client::{Answer, Client, Era};
use highwater_testkit::wait::until;
use http::Method;
use serde_json::{Value, json};

use super::extras::{Extra, Fate, SECRET, Wanted};
use crate::rounds::{nobody_is_asked, script as asking_script};
use crate::stage::{LOOK, Stage, done, script};

/// A call as the W3C writes it, in a trace of the client's.
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// What the server is answered when it asks for more.
const ANSWERS: &str = r#"{"who":{"action":"accept","content":{"name":"Ada"}}}"#;

/// What a tool's description says, before and after it was changed.
const WORDS: [&str; 2] = ["Changes things.", "Changes everything."];

/// Takes nothing and brings what strangers wrote.
const PAGE: &str = "files__page";

/// Capabilities with something in them that no protocol names.
pub(crate) fn declared(mut capabilities: Value) -> Value {
    capabilities["roots"] = json!({ "listChanged": true, "note": SECRET });
    capabilities["experimental"] = json!({ "x.example/note": { "text": SECRET } });
    capabilities[SECRET] = json!({});
    capabilities
}

/// A gateway before a server of one era.
pub(crate) struct Scene {
    pub(crate) stage: Stage,
    server: Era,
    /// How many calls of its journal were looked at.
    seen: usize,
    /// How many questions its client has had.
    asked: usize,
    /// Whether the server asks once before it is done.
    asks: bool,
    /// Which words describe the tools.
    described: usize,
}

/// The tools beside those of every stage. Each that asks somebody has another beside it that asks for as much.
fn more_tools() -> String {
    let text = json!({ "type": "string" });
    let schema = |properties: &Value| json!({ "type": "object", "properties": properties });
    let everything = json!(["user", "pii", "financial", "credentials"]);
    let annotated = |destination: &str, outcomes: &str, source: &str| {
        json!({
            "inputMetadata": { "destination": destination, "sensitivity": everything, "outcomes": outcomes },
            "returnMetadata": { "source": source, "sensitivity": "none" },
        })
    };
    let acts = annotated("ephemeral", "consequential", "system");
    let path = json!({ "path": text, "amount": { "type": "integer" } });
    let mut tools = vec![json!({ "name": "page", "inputSchema": schema(&json!({})),
                "annotations": annotated("ephemeral", "benign", "untrustedPublic") })];
    for tail in ["", "_all"] {
        let mut add = |name: &str, properties: &Value, annotations: &Value| {
            let mut tool = json!({ "name": format!("{name}{tail}"), "description": WORDS[0],
                                   "inputSchema": schema(properties) });
            if annotations.is_object() {
                tool["annotations"] = annotations.clone();
            }
            if name == "chore" {
                tool["execution"] = json!({ "taskSupport": "required" });
            }
            tools.push(tool);
        };
        if !tail.is_empty() {
            add("delete", &path, &acts);
            add("write", &path, &acts);
        }
        add("append", &path, &acts);
        add("chore", &path, &acts);
        add("send_mail", &json!({ "to": text, "cc": text, "subject": text, "body": text }), &Value::Null);
        let local = json!({ "readOnlyHint": false, "destructiveHint": true, "openWorldHint": false });
        add("edit_file", &json!({ "path": text, "content": text }), &local);
        add("get_page", &json!({ "url": text }), &annotated("public", "benign", "untrustedPublic"));
    }
    let tools: Vec<String> = tools.iter().map(Value::to_string).collect();
    tools.join(",")
}

/// What a server of this era says.
fn said(server: Era, asks: bool) -> Value {
    let mut said = match server {
        Era::Legacy => script(WORDS[0]),
        Era::Modern => asking_script(WORDS[0]),
    };
    let answers = said.as_object_mut().unwrap();
    if server == Era::Modern {
        answers.retain(|asked, _| !asked.ends_with(" again one"));
        for tool in ["delete", "write"] {
            let asked = if asks { "again" } else { "" };
            let end = answers["tools/call"].clone();
            answers.insert(format!("tools/call {tool} {asked}").trim().to_owned(), end);
        }
    } else {
        let made = r#"{"jsonrpc":"2.0","id":$ID,"result":{"task":{"taskId":"t-1","status":"working"}}}"#;
        answers.insert("tools/call chore".to_owned(), json!([made]));
        let end = answers["tools/call"].clone();
        answers.insert("tasks/result".to_owned(), end);
    }
    // The first two are `delete` and `write`, which are to matter.
    let listed = answers["tools/list"][0].as_str().unwrap();
    let listed = listed.replacen(r#""outcomes":"benign""#, r#""outcomes":"consequential""#, 2);
    let listed = listed.replacen(r#""tools":["#, &format!(r#""tools":[{},"#, more_tools()), 1);
    answers.insert("tools/list".to_owned(), json!([listed]));
    said
}

// === impl Scene ===

impl Scene {
    pub(crate) async fn new(server: Era, hold: &str, asks: bool, change: impl FnOnce(&mut Value)) -> Self {
        let stage = Stage::standing(hold, |config| {
            let entry = &mut config["servers"]["files"];
            if server == Era::Modern {
                entry["era"] = json!("modern");
            }
            for tail in ["", "_all"] {
                for (tool, demand) in [("delete", "passkey"), ("write", "confirm"), ("chore", "passkey")] {
                    entry["labels"][format!("{tool}{tail}")] = json!({ "approval": demand });
                }
            }
            std::fs::write(entry["args"][1].as_str().unwrap(), said(server, asks).to_string()).unwrap();
            for tool in ["append", "send_mail", "edit_file", "get_page"] {
                let when = json!({ "tool.name": { "matches": format!("{tool}*") } });
                let rule = json!({ "name": format!("asks-{}", tool.replace('_', "-")), "effect": "confirm", "when": when });
                config["rules"].as_array_mut().unwrap().push(rule);
            }
            change(config);
        })
        .await;
        Self::of(stage, server, asks)
    }

    pub(crate) fn of(stage: Stage, server: Era, asks: bool) -> Self {
        Self { stage, server, seen: 0, asked: 0, asks, described: 0 }
    }

    /// The calls that the server got since this was asked last.
    pub(crate) fn sent(&mut self) -> Vec<String> {
        let journal = Journal::at(self.stage.gateway.home().path().join("journal.jsonl"));
        let calls = journal.of("tools/call").into_iter().skip(self.seen).map(|note| note.raw);
        let calls: Vec<String> = calls.collect();
        self.seen += calls.len();
        calls
    }

    /// The call was refused for this member: no person was asked, and nothing was done.
    pub(crate) async fn refused(&mut self, client: &Client, answer: &Answer, path: &str) {
        assert_eq!(answer.error_code(), Some(-32602), "{path}: {}", answer.raw());
        assert_eq!(answer.at("/error/data/path"), path, "{}", answer.raw());
        let said = answer.at("/error/message");
        assert!(said.as_str().unwrap().contains(&format!("{path} ")), "{}", answer.raw());
        self.nothing_happened(client, path).await;
    }

    /// No person is asked, and nothing was done.
    pub(crate) async fn nothing_happened(&mut self, client: &Client, what: &str) {
        nobody_is_asked(&self.stage).await;
        assert_eq!(self.sent(), Vec::<String>::new(), "{what}");
        assert_eq!(client.asked().len(), self.asked, "{what}");
    }

    /// The call was made once, with what a person was shown and what we say ourselves.
    pub(crate) fn done_as_shown(&mut self, client: &Client, answer: &Answer, wanted: &Wanted, extra: &Extra) {
        done(answer);
        self.asked = client.asked().len();
        let calls = self.sent();
        assert_eq!(calls.len(), if self.asks { 2 } else { 1 }, "{}: {calls:?}", extra.name);
        for (round, call) in calls.iter().enumerate() {
            self.is_as_shown(call, wanted, extra, round);
        }
    }

    /// That a call says what a person was shown, and what we say ourselves.
    pub(crate) fn is_as_shown(&self, call: &str, wanted: &Wanted, extra: &Extra, round: usize) {
        let shown = format!(r#""arguments":{}"#, wanted.arguments);
        assert!(call.contains(&shown) && !call.contains(SECRET), "{}: {call}", extra.name);
        let read: Value = serde_json::from_str(call).unwrap();
        let mut params = read["params"].as_object().unwrap().clone();
        let meta = params.remove("_meta").unwrap_or_else(|| json!({}));
        assert_eq!(params.remove("name").unwrap(), wanted.own_name(), "{}: {call}", extra.name);
        assert_eq!(params.remove("arguments").unwrap(), wanted.arguments, "{}: {call}", extra.name);
        if round > 0 {
            assert_eq!(params.remove("requestState").unwrap(), "one", "{call}");
            let answers: Value = serde_json::from_str(ANSWERS).unwrap();
            assert_eq!(params.remove("inputResponses").unwrap(), answers, "{call}");
        }
        // Where a tool runs as a task alone we ask for one, in no words of the client's.
        let task = params.remove("task");
        assert_eq!(task, (wanted.own_name() == "chore").then(|| json!({})), "{}: {call}", extra.name);
        assert!(params.is_empty(), "{}: {call}", extra.name);
        for (key, value) in meta.as_object().unwrap() {
            match key.as_str() {
                // The client's own token is for its own progress.
                "progressToken" => assert_eq!(value, &read["id"], "{}: {call}", extra.name),
                "traceparent" => assert_eq!(value, TRACE, "{}: {call}", extra.name),
                // What we say of a conversation that strangers have written in.
                "annotations" => {
                    assert_eq!(value, &json!({ "openWorldHint": true }), "{}: {call}", extra.name)
                }
                "io.modelcontextprotocol/protocolVersion" => assert_eq!(value, "2026-07-28", "{call}"),
                "io.modelcontextprotocol/clientInfo" => assert_eq!(value["name"], "highwater", "{call}"),
                "io.modelcontextprotocol/clientCapabilities" => {
                    let known = |key: &String| ["roots", "elicitation"].contains(&key.as_str());
                    assert!(value.as_object().unwrap().keys().all(known), "{}: {call}", extra.name);
                    assert_eq!(value["roots"], json!({ "listChanged": true }), "{}: {call}", extra.name);
                }
                _ => panic!("{}: `{key}` was sent: {call}", extra.name),
            }
        }
        let traced = meta.get("traceparent").is_some();
        assert_eq!(traced, extra.fate == Fate::Sent, "{}: {call}", extra.name);
    }

    /// From now on the server describes its tools otherwise, and the gateway knows it. Whether the gateway was started again
    /// for that: a modern server's list is read when it is met.
    pub(crate) async fn redescribe(&mut self, client: &Client) -> bool {
        let file = self.stage.gateway.home().path().join("script.json");
        let (now, then) = (WORDS[self.described], WORDS[1 - self.described]);
        self.described = 1 - self.described;
        let text = std::fs::read_to_string(&file).unwrap().replace(now, then);
        std::fs::write(file.with_extension("new"), text).unwrap();
        std::fs::rename(file.with_extension("new"), &file).unwrap();
        if self.server == Era::Modern {
            self.stage.gateway.kill().await.unwrap();
            self.stage.restart().await;
            return true;
        }
        done(&client.call(LOOK, json!({})).await.unwrap());
        let heard = until("the change is listed", async || {
            client.request("tools/list", json!({})).await.unwrap().raw().contains(then).then_some(())
        });
        heard.await.unwrap_or_else(|error| panic!("{error:#}: {}", self.stage.gateway.log()));
        self.sent();
        false
    }

    /// The conversation reads what strangers wrote.
    pub(crate) async fn read_page(&mut self, client: &Client) {
        done(&client.call(PAGE, json!({})).await.unwrap());
        self.sent();
    }

    /// The requests that wait for a person.
    pub(crate) async fn waiting(&self) -> Vec<Value> {
        let (_, list) = self.stage.api(Method::GET, "", None).await;
        list.as_array().unwrap().clone()
    }

    /// A person says no to all that waits, and that the agent may ask again.
    pub(crate) async fn decline_all(&self) {
        for request in self.waiting().await {
            let deny = format!("{}/deny", request["id"].as_str().unwrap());
            let (principal, tool) =
                (request["principal"].as_str().unwrap(), request["tool"].as_str().unwrap());
            for path in [deny, format!("paused/{principal}/{tool}/resume")] {
                let (status, said) = self.stage.api(Method::POST, &path, Some(&json!({}))).await;
                assert_eq!(status, 200, "{path}: {said}");
            }
        }
    }
}

/// What a client brings with it to be in the next round of its call.
pub(crate) fn back(state: &Value, answers: &str) -> String {
    format!(r#""requestState":{state},"inputResponses":{answers}"#)
}

/// The answers to what the server asks.
pub(crate) fn to_server(state: &Value) -> String {
    back(state, ANSWERS)
}
