//! What a yes binds, whichever way it was given: the server gets the name, the canonical arguments and members of our own.
//! What hosts add to `_meta` of every call is left out; a call with any other member is refused before a person is asked.

use highwater_testkit::client::peer::Journal;
use highwater_testkit::client::{Answer, Client, Era, Request};
use serde_json::{Value, json};

use crate::rounds::{nobody_is_asked, script};
use crate::stage::{DELETE, ERAS, READ, Stage, done, id_of, waits};

/// What the server must not get.
pub(crate) const SECRET: &str = "AKIAIOSFODNN7EXAMPLE";

/// A call as the W3C writes it, in a trace of the client's.
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// What the server keeps while it asks for more, and what it is answered.
const ANSWERS: &str = r#"{"who":{"action":"accept","content":{"name":"Ada"}}}"#;

/// Something in a call that no person is shown.
pub(crate) struct Extra {
    /// The row, which is also what the call is about.
    pub(crate) name: &'static str,
    /// Members of the parameters, as text.
    pub(crate) params: &'static str,
    /// Members of `_meta`, as text.
    pub(crate) meta: &'static str,
    pub(crate) fate: Fate,
}

/// What becomes of it, and of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The call is refused for the member at this path.
    Refused(&'static str),
    /// The call is made without it.
    LeftOut,
    /// The call is made with it.
    Sent,
}

/// A call of the tool and nothing else.
pub(crate) const PLAIN: Extra = in_meta("plain", "", Fate::LeftOut);

const fn in_params(name: &'static str, params: &'static str, path: &'static str) -> Extra {
    Extra { name, params, meta: "", fate: Fate::Refused(path) }
}

const fn in_meta(name: &'static str, meta: &'static str, fate: Fate) -> Extra {
    Extra { name, params: "", meta, fate }
}

/// The `_meta` of Claude Code 2.1.325 and of Codex 0.166.0 are as these hosts sent them.
pub(crate) const EXTRAS: [Extra; 19] = [
    in_params("member", r#""recipient":"AKIAIOSFODNN7EXAMPLE""#, "/params/recipient"),
    in_params("member-to-be-escaped", r#""a\/b~c":"AKIAIOSFODNN7EXAMPLE""#, "/params/a~1b~0c"),
    in_params("empty-member", r#""":null"#, "/params/"),
    in_params("task", r#""task":{"ttl":60000}"#, "/params/task"),
    in_params("escaped-task", r#""t\u0061sk":{}"#, "/params/task"),
    in_params("foreign-state", r#""requestState":"AKIAIOSFODNN7EXAMPLE""#, "/params/requestState"),
    in_params(
        "foreign-answers",
        r#""inputResponses":{"who":{"action":"accept","content":{"name":"AKIAIOSFODNN7EXAMPLE"}}}"#,
        "/params/inputResponses",
    ),
    in_meta(
        "claude-code",
        r#""claudecode/toolUseId": "toolu_fake_0003_0", "progressToken": 2"#,
        Fate::LeftOut,
    ),
    in_meta(
        "codex",
        r#""callId": "call_fake_0003_0", "x-codex-turn-metadata": {"session_id": "01a1e41c-fd1a-7140-8188-938353a71559", "thread_id": "01a1e41c-fd1a-7140-8188-938353a71559", "model": "gpt-5.1-codex", "turn_id": "01a1e41c-fda5-7d13-aead-48cfe4da3180", "turn_started_at_unix_ms": 1794828467630, "thread_source": "user", "turn_trigger": "exec", "sandbox": "none", "sandbox_mode": "danger-full-access", "auto_review_enabled": false, "node_repl_auto_review_required": false, "node_repl_disabled": false, "codex_version": "0.166.0"}, "threadId": "01a1e41c-fd1a-7140-8188-938353a71559", "sessionId": "01a1e41c-fd1a-7140-8188-938353a71559", "windowId": "01a1e41c-fd1a-7140-8188-938353a71559:0", "itemId": "fc_3_0", "progressToken": 1"#,
        Fate::LeftOut,
    ),
    in_meta("foreign-key", r#""x.example/note":"AKIAIOSFODNN7EXAMPLE""#, Fate::LeftOut),
    in_meta("tracestate", r#""tracestate":"vendor=AKIAIOSFODNN7EXAMPLE""#, Fate::LeftOut),
    in_meta("baggage", r#""baggage":"note=AKIAIOSFODNN7EXAMPLE""#, Fate::LeftOut),
    in_meta(
        "traceparent",
        r#""traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01""#,
        Fate::Sent,
    ),
    in_meta("traceparent-of-text", r#""traceparent":"00-AKIAIOSFODNN7EXAMPLE-01""#, Fate::LeftOut),
    in_meta(
        "traceparent-with-more",
        r#""traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-AKIAIOSFODNN7EXAMPLE""#,
        Fate::LeftOut,
    ),
    in_meta(
        "traceparent-in-capitals",
        r#""traceparent":"00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01""#,
        Fate::LeftOut,
    ),
    in_meta(
        "traceparent-too-short",
        r#""traceparent":"00-0af7651916cd43dd-b7ad6b7169203331-01""#,
        Fate::LeftOut,
    ),
    in_meta("traceparent-no-text", r#""traceparent":{"note":"AKIAIOSFODNN7EXAMPLE"}"#, Fate::LeftOut),
    in_meta("traceparent-nothing", r#""traceparent":null"#, Fate::LeftOut),
];

// === impl Extra ===

impl Extra {
    /// A call of this tool with it, in another spelling than the canonical one. `more` are further members.
    pub(crate) fn call(&self, tool: &str, row: &Self, more: &str) -> Request {
        let mut params = format!(r#"{{"name":"{tool}","arguments":{{ "path" : "build\/{}" }}"#, row.name);
        for members in [self.params, more].into_iter().filter(|members| !members.is_empty()) {
            params = format!("{params},{members}");
        }
        Request::new("tools/call").raw_params(&format!("{params}}}")).raw_meta(self.meta).once()
    }

    /// Its fate in a call of a client to a server of these eras: a modern server knows nothing of a legacy client's tasks.
    pub(crate) fn fate(&self, client: Era, server: Era) -> Fate {
        match self.fate {
            Fate::Refused("/params/task") if (client, server) == (Era::Legacy, Era::Modern) => Fate::LeftOut,
            fate => fate,
        }
    }

    /// Whether a retry has a member of this name for itself.
    pub(crate) fn is_of_retry(&self) -> bool {
        self.name.starts_with("foreign-") && !self.params.is_empty()
    }

    /// The arguments of its call, as they are signed.
    pub(crate) fn arguments(&self) -> Value {
        json!({ "path": format!("build/{}", self.name) })
    }
}

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
    /// How many calls of its journal were looked at.
    seen: usize,
    /// How many questions its client has had.
    asked: usize,
    /// Whether the server asks once before it is done.
    asks: bool,
}

// === impl Scene ===

impl Scene {
    pub(crate) async fn new(server: Era, hold: &str, asks: bool, change: impl FnOnce(&mut Value)) -> Self {
        let stage = Stage::standing(hold, |config| {
            if server == Era::Modern {
                let entry = &mut config["servers"]["files"];
                entry["era"] = json!("modern");
                let mut script = script("Changes things.");
                let answers = script.as_object_mut().unwrap();
                answers.retain(|asked, _| !asked.ends_with(" again one"));
                for tool in ["delete", "write"] {
                    let asked = if asks { "again" } else { "" };
                    let end = answers["tools/call"].clone();
                    answers.insert(format!("tools/call {tool} {asked}").trim().to_owned(), end);
                }
                std::fs::write(entry["args"][1].as_str().unwrap(), script.to_string()).unwrap();
            }
            change(config);
        })
        .await;
        Self { stage, seen: 0, asked: 0, asks }
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
    pub(crate) fn done_as_shown(&mut self, client: &Client, answer: &Answer, row: &Extra, extra: &Extra) {
        done(answer);
        self.asked = client.asked().len();
        let calls = self.sent();
        assert_eq!(calls.len(), if self.asks { 2 } else { 1 }, "{}: {calls:?}", row.name);
        for (round, call) in calls.iter().enumerate() {
            self.is_as_shown(call, row, extra, round);
        }
    }

    /// That a call says what a person was shown, and what we say ourselves.
    pub(crate) fn is_as_shown(&self, call: &str, row: &Extra, extra: &Extra, round: usize) {
        let shown = format!(r#""arguments":{{"path":"build/{}"}}"#, row.name);
        assert!(call.contains(&shown) && !call.contains(SECRET), "{}: {call}", extra.name);
        let read: Value = serde_json::from_str(call).unwrap();
        let mut params = read["params"].as_object().unwrap().clone();
        let meta = params.remove("_meta").unwrap_or_else(|| json!({}));
        let name = params.remove("name").unwrap();
        assert!(name == "delete" || name == "write", "{}: {call}", extra.name);
        assert_eq!(params.remove("arguments").unwrap(), row.arguments(), "{}: {call}", extra.name);
        if round > 0 {
            assert_eq!(params.remove("requestState").unwrap(), "one", "{call}");
            let answers: Value = serde_json::from_str(ANSWERS).unwrap();
            assert_eq!(params.remove("inputResponses").unwrap(), answers, "{call}");
        }
        assert!(params.is_empty(), "{}: {call}", extra.name);
        for (key, value) in meta.as_object().unwrap() {
            match key.as_str() {
                // The client's own token is for its own progress.
                "progressToken" => assert_eq!(value, &read["id"], "{}: {call}", extra.name),
                "traceparent" => assert_eq!(value, TRACE, "{}: {call}", extra.name),
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
}

/// What a client brings with it to be in the next round of its call.
pub(crate) fn back(state: &Value, answers: &str) -> String {
    format!(r#""requestState":{state},"inputResponses":{answers}"#)
}

/// The answers to what the server asks.
pub(crate) fn to_server(state: &Value) -> String {
    back(state, ANSWERS)
}

/// What a client says its context came from is in the session's label, which verified servers are told of. It is in words
/// of the client's, so what a person agreed to goes out without it.
#[tokio::test]
async fn where_a_context_came_from_is_not_said_with_what_a_person_agreed_to() {
    for (client_era, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let mut scene = Scene::new(server, "50ms", false, |_| ()).await;
        let client = scene.stage.setup(client_era).capabilities(declared(json!({}))).connect().await.unwrap();
        let sources = json!({ "attribution": [format!("https://x.example/{SECRET}")] });
        let call = |tool: &str| PLAIN.call(tool, &PLAIN, "").meta("annotations", sources.clone());
        done(&client.send(call(READ)).await.unwrap());
        assert!(scene.sent()[0].contains(SECRET), "a call that no person was asked about says it");
        let id = waits(&client.send(call(DELETE)).await.unwrap());
        assert_eq!(scene.stage.person.sign(&id, &scene.stage.passkey).await.0, 200);
        let answer = client.send(call(DELETE)).await.unwrap();
        scene.done_as_shown(&client, &answer, &PLAIN, &PLAIN);
    }
}

/// What is called through a variant, and what is read, is bound as a call by name is.
#[tokio::test]
async fn what_is_called_through_a_variant_is_sent_as_it_was_shown() {
    let stage = Stage::searching("50ms", |_| ()).await;
    let mut scene = Scene { stage, seen: 0, asked: 0, asks: false };
    let client = scene.stage.client(Era::Modern).await;
    for extra in &EXTRAS {
        let arguments = json!({ "name": DELETE, "arguments": extra.arguments() });
        let through = |extra: &Extra| {
            let more = if extra.params.is_empty() { String::new() } else { format!(",{}", extra.params) };
            let params = format!(r#"{{"name":"call_tool_destructive","arguments":{arguments}{more}}}"#);
            Request::new("tools/call").raw_params(&params).raw_meta(extra.meta).once()
        };
        if let Fate::Refused(path) = extra.fate {
            scene.refused(&client, &client.send(through(extra)).await.unwrap(), path).await;
            continue;
        }
        let id = waits(&client.send(through(&PLAIN)).await.unwrap());
        assert_eq!(scene.stage.person.sign(&id, &scene.stage.passkey).await.0, 200);
        scene.done_as_shown(&client, &client.send(through(extra)).await.unwrap(), extra, extra);
    }
}

#[tokio::test]
async fn what_is_read_after_a_confirmation_is_asked_for_as_it_was_shown() {
    let stage = Stage::new("50ms").await;
    let client = stage.client(Era::Modern).await;
    let uri = client.request("resources/list", json!({})).await.unwrap().at("/result/resources/0/uri");
    let journal = Journal::at(stage.gateway.home().path().join("journal.jsonl"));
    for (times, extra) in EXTRAS.iter().filter(|extra| extra.params.is_empty()).enumerate() {
        let read =
            || Request::new("resources/read").params(json!({ "uri": uri })).raw_meta(extra.meta).once();
        let told = client.send(read()).await.unwrap();
        let id = id_of(&told.at("/error/data/approvalUrl"));
        assert_eq!(stage.person.confirm(&id, None).await.0, 200);
        assert!(client.send(read()).await.unwrap().error_code().is_none());
        let sent = journal.of("resources/read");
        assert_eq!(sent.len(), times + 1, "{}", extra.name);
        let raw = &sent[times].raw;
        let params = &serde_json::from_str::<Value>(raw).unwrap()["params"];
        assert_eq!(params["uri"], "file:///a", "{raw}");
        let mut meta = params["_meta"].as_object().cloned().unwrap_or_default();
        meta.remove("progressToken");
        // What it read was not the server's own.
        meta.remove("annotations")
            .inspect(|said| assert_eq!(said, &json!({ "openWorldHint": true }), "{raw}"));
        assert_eq!(meta.remove("traceparent").is_some(), extra.fate == Fate::Sent, "{raw}");
        assert!(meta.is_empty() && params.as_object().unwrap().len() <= 2, "{}: {raw}", extra.name);
    }
    let ran = journal.of("resources/read").len();
    for (key, path) in [("recipient", "/params/recipient"), ("requestState", "/params/requestState")] {
        let mut params = json!({ "uri": uri });
        params[key] = json!(SECRET);
        let answer = client.send(Request::new("resources/read").params(params).once()).await.unwrap();
        assert_eq!(answer.at("/error/data/path"), path, "{}", answer.raw());
    }
    nobody_is_asked(&stage).await;
    assert_eq!(journal.of("resources/read").len(), ran);
}
