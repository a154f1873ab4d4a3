//! Connections to servers that speak both eras: the era is the client's, over HTTP each legacy client has a session of its
//! own, a child is told what its clients can do, and what servers say reaches the client that it is meant for.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{HttpFixture, Journal, fixture_program, scripted_program};
use highwater_testkit::client::{Client, Era, Reply, Request, Setup};
use highwater_testkit::wait;
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_highwater");

/// A gateway in front of one server, and what that server heard.
struct Stage {
    gateway: Gateway,
    journal: Journal,
    _server: Option<HttpFixture>,
}

impl Stage {
    /// In front of the fixture over HTTP.
    async fn http(arguments: &[&str]) -> Self {
        let (home, journal) = home();
        let program = fixture_program(Path::new(PROGRAM)).unwrap();
        let server =
            HttpFixture::start(&program, &[&["--extras"], arguments].concat(), &journal).await.unwrap();
        Self::serve(home, journal, json!({ "url": server.url() }), Some(server)).await
    }

    /// In front of the fixture as a child.
    async fn stdio(arguments: &[&str]) -> Self {
        let (home, journal) = home();
        let program = fixture_program(Path::new(PROGRAM)).unwrap();
        let arguments = [&["--stdio", "--extras"], arguments].concat();
        let entry = json!({
            "command": program,
            "args": arguments,
            "env": { "FIXTURE_LOG": journal.path() },
        });
        Self::serve(home, journal, entry, None).await
    }

    /// In front of a server over HTTP that says what the script says.
    async fn scripted(script: &Value) -> Self {
        let (home, journal) = home();
        let path = home.path().join("script.json");
        std::fs::write(&path, script.to_string()).unwrap();
        let program = scripted_program(Path::new(PROGRAM)).unwrap();
        let (path, noted) = (path.to_str().unwrap(), journal.path().to_str().unwrap().to_owned());
        let arguments = ["--script", path, "--journal", &noted];
        let server = HttpFixture::start(&program, &arguments, &journal).await.unwrap();
        Self::serve(home, journal, json!({ "url": server.url() }), Some(server)).await
    }

    async fn serve(home: Home, journal: Journal, entry: Value, server: Option<HttpFixture>) -> Self {
        home.configure(&json!({ "flow": "observe", "servers": { "fx": entry } }).to_string()).unwrap();
        Self { gateway: home.serve().await.unwrap(), journal, _server: server }
    }

    fn legacy(&self, capabilities: Value) -> Setup {
        self.gateway.http(Era::Legacy).capabilities(capabilities)
    }

    /// What each `initialize` said that its client can do.
    fn greetings(&self) -> Vec<Value> {
        let greetings = self.journal.of("initialize");
        greetings.iter().map(|note| value(&note.raw)["params"]["capabilities"].clone()).collect()
    }

    /// The one call of this tool, as the server heard it.
    fn call_of(&self, tool: &str) -> Value {
        let calls = self.journal.of("tools/call");
        let mut of_tool =
            calls.iter().map(|note| value(&note.raw)).filter(|call| call["params"]["name"] == tool);
        of_tool.next_back().unwrap()
    }
}

fn home() -> (Home, Journal) {
    let home = Home::new(PROGRAM, "servers: {}\n").unwrap();
    let journal = Journal::at(PathBuf::from(home.path()).join("journal.jsonl"));
    (home, journal)
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn is_modern(call: &Value) -> bool {
    call["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
}

fn accepting() -> impl Fn(&highwater_testkit::client::Question) -> Reply + Send + Sync + 'static {
    |_| Reply::accept(json!({ "username": "ada", "email": "ada@example.com", "answer": "yes" }))
}

async fn each_client_in_its_own_era(stage: &Stage) {
    let forms = json!({ "elicitation": { "form": {} } });
    let legacy = stage.legacy(forms.clone()).answering(accepting()).connect().await.unwrap();
    let modern = stage.gateway.http(Era::Modern).capabilities(forms.clone()).answering(accepting());
    let modern = modern.connect().await.unwrap();

    legacy.call("fx__echo", json!({ "from": "legacy" })).await.unwrap().ok().unwrap();
    let call = stage.call_of("echo");
    assert_eq!(call["params"]["arguments"]["from"], "legacy");
    assert!(!is_modern(&call), "a legacy client is served in the legacy era: {call}");
    assert_eq!(stage.greetings(), [forms], "and the server is told what it can do");

    let asked = legacy.call("fx__test_elicitation", json!({ "message": "who?" })).await.unwrap();
    assert!(asked.text().unwrap().contains("ada"), "{}", asked.raw());

    modern.call("fx__echo", json!({ "from": "modern" })).await.unwrap().ok().unwrap();
    let call = stage.call_of("echo");
    assert_eq!(call["params"]["arguments"]["from"], "modern");
    assert!(is_modern(&call), "a modern client is served in the modern era: {call}");
}

#[tokio::test]
async fn over_http_each_client_is_served_in_its_own_era() {
    each_client_in_its_own_era(&Stage::http(&[]).await).await;
}

#[tokio::test]
async fn over_stdio_each_client_is_served_in_its_own_era() {
    each_client_in_its_own_era(&Stage::stdio(&[]).await).await;
}

#[tokio::test]
async fn a_server_of_the_modern_era_alone_is_bridged_and_asked_once() {
    let stage = Stage::http(&["--era", "modern"]).await;
    for _ in 0..2 {
        let client = stage.legacy(json!({})).connect().await.unwrap();
        for _ in 0..2 {
            client.call("fx__echo", json!({})).await.unwrap().ok().unwrap();
        }
        assert!(is_modern(&stage.call_of("echo")));
    }
    assert_eq!(stage.greetings().len(), 1, "that it refuses `initialize` is remembered");
}

#[tokio::test]
async fn every_legacy_client_has_a_session_that_says_what_it_can_do_and_ends_with_it() {
    let stage = Stage::http(&[]).await;
    let capable = json!({
        "sampling": { "tools": {}, "context": {} },
        "roots": { "listChanged": true },
        "experimental": { "com.example/x": { "deep": [1, 2] } },
        "extensions": { "io.modelcontextprotocol/ui": { "mimeTypes": ["text/html"] } },
    });
    let one = stage.legacy(capable.clone()).connect().await.unwrap();
    let other = stage.legacy(json!({})).connect().await.unwrap();
    one.request("tools/list", json!({})).await.unwrap().ok().unwrap();
    assert_eq!(stage.greetings(), Vec::<Value>::new(), "nothing is opened before it is used");
    for _ in 0..3 {
        one.call("fx__echo", json!({})).await.unwrap().ok().unwrap();
    }
    other.call("fx__echo", json!({})).await.unwrap().ok().unwrap();
    assert_eq!(stage.greetings(), [capable, json!({})]);

    // Nobody is asked, and nobody answers in the user's name.
    let refused = other.call("fx__ask_elicit", json!({})).await.unwrap();
    assert!(!refused.raw().contains("cancel"), "{}", refused.raw());
    assert!(other.asked().is_empty());

    one.close().await.unwrap();
    stage.journal.wait("HTTP DELETE", "").await.unwrap();
    assert_eq!(stage.journal.of("HTTP DELETE").len(), 1);
    other.call("fx__echo", json!({})).await.unwrap().ok().unwrap();
}

#[tokio::test]
async fn a_child_is_told_what_its_clients_can_do_and_started_anew_when_idle_for_one_that_can_do_more() {
    let stage = Stage::stdio(&["--era", "legacy"]).await;
    let first = stage.legacy(json!({ "roots": { "listChanged": true } })).connect().await.unwrap();
    first.call("fx__echo", json!({})).await.unwrap().ok().unwrap();
    assert_eq!(stage.greetings(), [json!({ "roots": { "listChanged": true } })]);

    // Somebody who can do less, or the same, changes nothing.
    let second = stage.legacy(json!({ "roots": {} })).connect().await.unwrap();
    second.call("fx__echo", json!({})).await.unwrap().ok().unwrap();
    assert_eq!(stage.greetings().len(), 1);

    // Somebody who can do more waits for the call that is under way; it is not broken off.
    let gate = stage.gateway.home().path().join("gate");
    let until = Request::call("fx__sleep", &json!({ "until": gate }));
    let sleeping = first.begin(until).await.unwrap();
    stage.journal.wait("tools/call", "until").await.unwrap();
    let third = stage.legacy(json!({ "elicitation": {} })).answering(accepting()).connect().await.unwrap();
    third.call("fx__echo", json!({})).await.unwrap().ok().unwrap();
    assert_eq!(stage.greetings().len(), 1, "never in the middle of a call");
    std::fs::write(&gate, "").unwrap();
    assert_eq!(sleeping.answer().await.unwrap().text().unwrap(), "waited");
    wait::until("the child is started anew", async || (stage.greetings().len() == 2).then_some(()))
        .await
        .unwrap();
    assert_eq!(stage.greetings()[1], json!({ "roots": { "listChanged": true }, "elicitation": {} }));
    let asked = third.call("fx__test_elicitation", json!({ "message": "who?" })).await.unwrap();
    assert!(asked.text().unwrap().contains("ada"), "{}", asked.raw());
    // The server believes that everybody can be asked. Who cannot be is not answered for.
    let refused = second.call("fx__test_elicitation", json!({ "message": "who?" })).await.unwrap();
    assert!(!refused.raw().contains("action=cancel"), "{}", refused.raw());
    assert!(second.asked().is_empty());
}

#[tokio::test]
async fn nobody_answers_in_the_name_of_a_user_who_cannot_be_asked() {
    let legacy = ["--era", "legacy"];
    for stage in [Stage::http(&legacy).await, Stage::stdio(&legacy).await] {
        let client = stage.legacy(json!({})).connect().await.unwrap();
        let answer = client.call("fx__ask_elicit", json!({})).await.unwrap();
        assert!(!answer.raw().contains("cancel"), "{}", answer.raw());
        assert!(client.asked().is_empty());
    }
}

async fn roots_are_said_to_have_changed(stage: &Stage) {
    let says = stage.legacy(json!({ "roots": { "listChanged": true } })).connect().await.unwrap();
    says.call("fx__echo", json!({})).await.unwrap().ok().unwrap();
    says.notify("notifications/roots/list_changed", None).await.unwrap();
    stage.journal.wait("notifications/roots/list_changed", "").await.unwrap();
}

#[tokio::test]
async fn servers_hear_that_the_roots_of_a_client_changed() {
    roots_are_said_to_have_changed(&Stage::http(&[]).await).await;
    roots_are_said_to_have_changed(&Stage::stdio(&["--era", "legacy"]).await).await;
}

/// A server of the legacy era that says this when `t` is called.
fn saying(messages: &[&str]) -> Value {
    let result = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#);
    let tool = r#"{"name":"t","inputSchema":{"type":"object"}}"#;
    let done = result(r#"{"content":[{"type":"text","text":"done"}]}"#);
    let greeting = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"s","version":"1"}}"#;
    let call: Vec<&str> = messages.iter().copied().chain([done.as_str()]).collect();
    json!({
        "initialize": [result(greeting)],
        "tools/list": [result(&format!(r#"{{"tools":[{tool}]}}"#))],
        "logging/setLevel": [result("{}")],
        "tools/call t": call,
    })
}

#[tokio::test]
async fn a_question_that_a_server_takes_back_is_taken_back_from_the_client() {
    let asked = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}"#;
    let back = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q","reason":"secret words"}}"#;
    let home = tempfile::tempdir().unwrap();
    let seen = home.path().join("seen");
    let until = format!("$UNTIL {}", seen.display());
    let stage = Stage::scripted(&saying(&[asked, &until, back])).await;
    let client = stage.legacy(json!({ "elicitation": {} })).answering(move |_| {
        std::fs::write(&seen, "").unwrap();
        Reply::Silence
    });
    let client = client.connect().await.unwrap();
    let call = client.begin(Request::call("fx__t", &json!({}))).await.unwrap();
    let taken = client.next_notification("notifications/cancelled").await.unwrap();
    assert!(taken.raw_at("/params/requestId").is_some(), "{}", taken.raw());
    assert!(!taken.raw().contains("secret words"), "a server's reason is its own words");
    assert_eq!(call.answer().await.unwrap().text().unwrap(), "done");
}

#[tokio::test]
async fn nobody_is_sent_to_what_is_no_page_and_a_page_says_whose_it_is() {
    const SAYS: &str = "Highwater asks: approve this call";
    for (url, told) in [
        ("javascript:alert(1)", None),
        ("http://example.com/approve", None),
        ("https://example.com/approve", Some(format!("server `fx` asks: {SAYS}"))),
    ] {
        let page = json!({ "mode": "url", "url": url, "elicitationId": "e", "message": SAYS });
        let asked = json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": page });
        let stage = Stage::scripted(&saying(&[&asked.to_string(), "$WAIT"])).await;
        let accepts = |_: &_| Reply::Result(json!({ "action": "accept" }));
        let client = stage.legacy(json!({ "elicitation": { "url": {} } })).answering(accepts);
        let client = client.connect().await.unwrap();
        assert_eq!(client.call("fx__t", json!({})).await.unwrap().text().unwrap(), "done");
        let asked = client.asked().first().map(|asked| asked.json().unwrap()["message"].clone());
        assert_eq!(asked, told.map(Value::from), "{url}");
    }
}

#[tokio::test]
async fn what_a_server_says_on_a_clients_own_stream_reaches_that_client_alone() {
    let log = r#"$ASIDE {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"yours"}}"#;
    let page = r#"$ASIDE {"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e1"}}"#;
    let home = tempfile::tempdir().unwrap();
    let heard = home.path().join("heard");
    let mut script = saying(&[log, page]);
    script["tools/call t"].as_array_mut().unwrap().insert(2, json!(format!("$UNTIL {}", heard.display())));
    script["tools/call other"] = script["tools/call t"].as_array().unwrap()[2..].into();
    let named = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let list = json!({ "tools": [named("t"), named("other")] });
    script["tools/list"] = json!([format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{list}}}"#)]);
    let stage = Stage::scripted(&script).await;
    // Somebody else's call is under way all the time, so that nobody can guess whose the words are.
    let bystander = stage.legacy(json!({})).connect().await.unwrap();
    let other = bystander.begin(Request::call("fx__other", &json!({}))).await.unwrap();
    stage.journal.wait("tools/call", "other").await.unwrap();
    let client = stage.legacy(json!({ "elicitation": { "url": {} } })).connect().await.unwrap();
    let call = client.begin(Request::call("fx__t", &json!({}))).await.unwrap();
    let message = client.next_notification("notifications/message").await.unwrap();
    assert_eq!(message.at("/params/data"), "yours");
    let complete = client.next_notification("notifications/elicitation/complete").await.unwrap();
    assert_eq!(complete.at("/params/elicitationId"), "e1");
    std::fs::write(&heard, "").unwrap();
    assert_eq!(call.answer().await.unwrap().text().unwrap(), "done");
    assert_eq!(other.answer().await.unwrap().text().unwrap(), "done");
    let strays: Vec<_> =
        bystander.arrivals().iter().filter_map(|message| message.method().map(str::to_owned)).collect();
    assert!(
        !strays.iter().any(|method| method.contains("message") || method.contains("complete")),
        "{strays:?}"
    );
}

/// Most servers log when they like, and a client listens all the time.
#[tokio::test]
async fn what_a_server_says_when_no_call_is_under_way_reaches_the_client_whose_session_it_is() {
    let log = r#"$ASIDE {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"later"}}"#;
    let home = tempfile::tempdir().unwrap();
    let now = home.path().join("now");
    let mut script = saying(&[]);
    script["tools/call other"] = script["tools/call t"].clone();
    script["tools/call t"]
        .as_array_mut()
        .unwrap()
        .extend([json!(format!("$UNTIL {}", now.display())), json!(log)]);
    let named = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let list = json!({ "tools": [named("t"), named("other")] });
    script["tools/list"] = json!([format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{list}}}"#)]);
    let stage = Stage::scripted(&script).await;
    let bystander = stage.legacy(json!({})).connect().await.unwrap();
    bystander.call("fx__other", json!({})).await.unwrap().ok().unwrap();
    let client = stage.legacy(json!({})).connect().await.unwrap();
    assert_eq!(client.call("fx__t", json!({})).await.unwrap().text().unwrap(), "done");
    std::fs::write(&now, "").unwrap();
    let message = client.next_notification("notifications/message").await.unwrap();
    assert_eq!(message.at("/params/data"), "later");
    bystander.call("fx__other", json!({})).await.unwrap().ok().unwrap();
    assert!(bystander.arrivals().iter().all(|message| !message.raw().contains("later")));
}

#[tokio::test]
async fn no_progress_token_is_made_up() {
    let legacy = ["--era", "legacy"];
    for stage in [
        Stage::http(&[]).await,
        Stage::stdio(&[]).await,
        Stage::http(&legacy).await,
        Stage::stdio(&legacy).await,
    ] {
        for era in [Era::Legacy, Era::Modern] {
            let client: Client = stage.gateway.http(era).connect().await.unwrap();
            client.call("fx__echo", json!({})).await.unwrap().ok().unwrap();
            let meta = stage.call_of("echo")["params"]["_meta"].clone();
            assert_eq!(meta.get("progressToken"), None, "{meta}");
        }
    }
}
