//! A server whose answers break the protocol: its caller hears that they do and nothing of what they say, and the next
//! answer is read as if nothing had happened.

use std::path::Path;

use highwater_testkit::client::peer::{HttpFixture, scripted_program};
use highwater_testkit::client::{Client, Era, Request};
use serde_json::{Map, Value, json};

use crate::audit::settled;
use crate::stage::{Ground, PROGRAM, Stage, assert_echo, failure, journal};

/// Stands in every answer that must not get through.
const LIE: &str = "lie-that-must-not-arrive";

/// Answers that break the protocol of an era.
fn lies(era: Era) -> Vec<(&'static str, String)> {
    let content = format!(r#"{{"content":[{{"type":"text","text":"{LIE}"}}]}}"#);
    let result = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#);
    let deep = format!(r#"{{"x":"{LIE}","deep":{}1{}}}"#, "[".repeat(130), "]".repeat(130));
    let mut lies = vec![
        ("key_twice", result(&format!(r#"{{"isError":false,"isError":true,"x":"{LIE}"}}"#))),
        ("key_twice_escaped", result(&format!(r#"{{"content":[],"conten\u0074":[],"x":"{LIE}"}}"#))),
        ("key_twice_deep", result(&format!(r#"{{"content":[{{"a":{{"k":1,"k":2}}}}],"x":"{LIE}"}}"#))),
        ("envelope_twice", format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{{}},"result":{content}}}"#)),
        ("misspelt", format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{{}},"Result":{content}}}"#)),
        ("reserved", result(&format!(r#"{{"$serde_json::private::RawValue":"{LIE}"}}"#))),
        ("too_deep", result(&deep)),
        (
            "result_and_error",
            format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{content},"error":{{"code":1,"message":""}}}}"#),
        ),
        ("other_version", format!(r#"{{"jsonrpc":"1.0","id":$ID,"result":{content}}}"#)),
        ("no_version", format!(r#"{{"id":$ID,"result":{content}}}"#)),
        ("result_is_text", result(&format!(r#""{LIE}""#))),
        ("result_is_list", result(&format!(r#"["{LIE}"]"#))),
        ("error_is_text", format!(r#"{{"jsonrpc":"2.0","id":$ID,"error":"{LIE}"}}"#)),
        ("batch", format!(r#"[{{"jsonrpc":"2.0","id":$ID,"result":{content}}}]"#)),
        ("cut_off", format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{{"x":"{LIE}"#)),
        ("two_values", format!("{0} {0}", result(&content))),
        ("other_id", format!(r#"{{"jsonrpc":"2.0","id":987654321,"result":{content}}}"#)),
        ("id_as_text", format!(r#"{{"jsonrpc":"2.0","id":"$ID","result":{content}}}"#)),
        ("id_as_fraction", format!(r#"{{"jsonrpc":"2.0","id":$ID.0,"result":{content}}}"#)),
        ("id_of_null", format!(r#"{{"jsonrpc":"2.0","id":null,"result":{content}}}"#)),
    ];
    if era == Era::Modern {
        lies.push(("unknown_kind", result(&format!(r#"{{"resultType":"surprise","x":"{LIE}"}}"#))));
        lies.push(("kind_is_no_text", result(&format!(r#"{{"resultType":1,"x":"{LIE}"}}"#))));
        lies.push(("asks_nothing", result(&format!(r#"{{"resultType":"input_required","x":"{LIE}"}}"#))));
    }
    lies
}

/// The script of a server with these tools, and one that answers well.
fn script(era: Era, lies: &[(&str, String)]) -> Value {
    let mut script = Map::new();
    let mut say = |asked: &str, messages: &[String]| script.insert(asked.to_owned(), json!(messages));
    let answer = |result: String| [format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#)];
    let (extra, cached) = match era {
        Era::Legacy => ("", ""),
        Era::Modern => (r#","resultType":"complete""#, r#","ttlMs":0,"cacheScope":"private""#),
    };
    let info = r#""serverInfo":{"name":"liar","version":"1"}"#;
    match era {
        Era::Legacy => {
            let hello =
                format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},{info}}}"#);
            say("initialize", &answer(hello));
        }
        Era::Modern => {
            let hello = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}"#;
            say("server/discover", &answer(format!("{hello}{extra}{cached}}}")));
        }
    }
    let names = lies.iter().map(|(name, _)| *name).chain([
        "truth",
        "twice",
        "half_a_character",
        "in_our_name",
        "on_many_lines",
    ]);
    let tools: Vec<String> =
        names.map(|name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#)).collect();
    say("tools/list", &answer(format!(r#"{{"tools":[{}]{extra}{cached}}}"#, tools.join(","))));
    for (name, lie) in lies {
        say(&format!("tools/call {name}"), std::slice::from_ref(lie));
    }
    let told = |text: &str| answer(format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]{extra}}}"#));
    say("tools/call truth", &told("truth"));
    say("tools/call twice", &[told("first"), told(LIE)].concat());
    say("tools/call half_a_character", &told(r"cut \ud83d"));
    let inner = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[],"x":"{LIE}"}}}}"#);
    let lines = format!("{{\n\"content\":[],\"structuredContent\":\n{inner}\r\n{extra}\n}}");
    say("tools/call on_many_lines", &answer(lines));
    let meta = format!(r#""_meta":{{"dev.highwater/decision":"{LIE}","test.example/kept":"yes"}}"#);
    say("tools/call in_our_name", &answer(format!(r#"{{"content":[]{extra},{meta}}}"#)));
    Value::Object(script)
}

/// A gateway with the liar as `a`, over stdio or over HTTP, and the fixture as `b`.
async fn stage(era: Era, over_http: bool) -> (Stage, Option<HttpFixture>) {
    let ground = Ground::new();
    let file = ground.home.path().join("script.json");
    std::fs::write(&file, script(era, &lies(era)).to_string()).unwrap();
    let seen = journal(ground.home.path(), "a");
    let program = scripted_program(Path::new(PROGRAM)).unwrap();
    let words = ["--script", file.to_str().unwrap(), "--journal", seen.path().to_str().unwrap()];
    let (mut entry, server) = match over_http {
        false => (json!({ "command": program, "args": words }), None),
        true => {
            let server = HttpFixture::start(&program, &words, &seen).await.unwrap();
            (json!({ "url": server.url() }), Some(server))
        }
    };
    // Most lies cannot be told whose answer they are, so their callers wait as long; those who hear the truth have as long.
    entry["timeouts"] = json!({ "call": "4s" });
    entry["concurrency"] = json!(64);
    let servers = json!({ "a": entry, "b": ground.stdio("b") });
    (ground.serve(&json!({ "flow": "observe", "servers": servers })).await, server)
}

#[tokio::test]
async fn a_legacy_server_over_stdio() {
    let (stage, _server) = stage(Era::Legacy, false).await;
    assert_nothing_gets_through(&stage, &lies(Era::Legacy)).await;
    assert_eq!(stage.status("a").await["starts"], 1);
}

#[tokio::test]
async fn a_modern_server_over_stdio() {
    let (stage, _server) = stage(Era::Modern, false).await;
    assert_nothing_gets_through(&stage, &lies(Era::Modern)).await;
    assert_eq!(stage.status("a").await["starts"], 1);
}

#[tokio::test]
async fn a_legacy_server_over_http() {
    let (stage, _server) = stage(Era::Legacy, true).await;
    assert_nothing_gets_through(&stage, &lies(Era::Legacy)).await;
}

#[tokio::test]
async fn a_modern_server_over_http() {
    let (stage, _server) = stage(Era::Modern, true).await;
    assert_nothing_gets_through(&stage, &lies(Era::Modern)).await;
}

#[tokio::test]
async fn an_answer_on_many_lines_is_one_message_to_whoever_reads_lines() {
    for era in [Era::Legacy, Era::Modern] {
        let (stage, _server) = stage(era, true).await;
        for client_era in [Era::Legacy, Era::Modern] {
            let joined = stage.gateway.stdio(client_era).connect().await.unwrap();
            let over_http = stage.gateway.http(client_era).connect().await.unwrap();
            for client in [joined, over_http] {
                let before = client.arrivals().len();
                let answer = client.call("a__on_many_lines", json!({})).await.unwrap();
                assert_eq!(answer.at("/result/structuredContent/id"), 1, "{}", answer.raw());
                assert_truth(&client).await;
                assert_eq!(client.arrivals().len(), before + 2, "{:#?}", client.arrivals());
            }
        }
    }
}

async fn assert_nothing_gets_through(stage: &Stage, lies: &[(&str, String)]) {
    let mut wrong = Vec::new();
    for era in [Era::Legacy, Era::Modern] {
        let client = stage.client(era).await;
        assert_echo(&client, "b", "before").await;
        let mut pending = Vec::new();
        for (name, _) in lies {
            let request = Request::call(&format!("a__{name}"), &json!({})).once();
            pending.push((name, client.begin(request).await.unwrap()));
            // What is said after the lie is understood.
            assert_truth(&client).await;
        }
        for (name, lie) in pending {
            let answer = lie.answer().await.unwrap();
            let says_why = |text: String| text.starts_with("server `a` ") || text.contains("withheld");
            let is_clear = answer.is_tool_error() && says_why(failure(&answer));
            if !is_clear || answer.raw().contains(LIE) {
                wrong.push(format!("{name} to a {era:?} client: {}", answer.raw()));
            }
        }
        assert_truth(&client).await;
        assert_taken_as_meant(&client).await;
        assert_echo(&client, "b", "after").await;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let audit = settled(&stage.gateway.home().data_dir()).await;
    for (name, _) in lies {
        let outcomes = audit.outcomes_of("a", name);
        let ended_badly = |outcome: &String| ["failed", "timed-out", "withheld"].contains(&outcome.as_str());
        assert!(outcomes.len() == 2 && outcomes.iter().all(ended_badly), "{name}: {outcomes:?}");
    }
}

async fn assert_truth(client: &Client) {
    let answer = client.send(Request::call("a__truth", &json!({}))).await.unwrap();
    assert_eq!(answer.at("/result/content/0/text"), "truth", "{}", answer.raw());
}

/// What is odd and does no harm.
async fn assert_taken_as_meant(client: &Client) {
    // The first answer counts, and the second is not taken for the next call's.
    let answer = client.call("a__twice", json!({})).await.unwrap();
    assert_eq!(answer.text().unwrap(), "first", "{}", answer.raw());
    assert_truth(client).await;
    // Servers cut text in the middle of a character: it passes as it is.
    let answer = client.call("a__half_a_character", json!({})).await.unwrap();
    assert!(answer.raw().contains(r#""text":"cut \ud83d""#), "{}", answer.raw());
    // Nobody speaks in our name; what is not ours passes.
    let answer = client.call("a__in_our_name", json!({})).await.unwrap();
    assert!(!answer.raw().contains(LIE), "{}", answer.raw());
    assert_eq!(answer.at("/result/_meta/test.example~1kept"), "yes", "{}", answer.raw());
}
