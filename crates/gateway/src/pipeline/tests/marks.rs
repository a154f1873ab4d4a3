//! What is written bears the label of the session that wrote it, and gives it to every session that reads it.

use highwater_store::{Fault, Memory};
use serde_json::{Value, json};

use super::tools::{doer, reader};
use super::{Agent, ClientOptions, ERAS, FETCH, Script, Setup, Stage, Step, refusal, stocked, text};

/// A server of notes beside the usual one.
fn notes() -> Setup {
    let tools = [
        doer("write", "internal", "benign"),
        reader("read", "internal", "none"),
        reader("search", "internal", "none"),
        reader("list", "internal", "none"),
    ];
    let roles = |name: &str| json!({ "roles": { name: "object" } });
    Setup::usual().server("notes", Script::of(tools)).with(|config| {
        config["servers"]["notes"]["labels"] = json!({ "write": roles("path"), "read": roles("path") });
    })
}

/// A session that has read what strangers wrote, and one that has read nothing.
async fn both(stage: &Stage) -> [Agent; 2] {
    let writer = stage.agent(ClientOptions { context: Some("writer"), ..ClientOptions::default() });
    text(&writer.call(FETCH, json!({})).await);
    [writer, stage.agent(ClientOptions { context: Some("reader"), ..ClientOptions::default() })]
}

async fn write(agent: &Agent, path: &str) -> Value {
    agent.call("notes__write", json!({ "path": path })).await
}

fn is_untrusted(stage: &Stage, agent: &Agent) -> bool {
    stage.label(agent).contains(&"integrity:none")
}

#[tokio::test]
async fn a_written_object_gives_its_label_to_the_session_that_reads_it_and_to_no_other() {
    let cases = [
        ("notes__read", json!({ "path": "a" }), true),
        ("notes__read", json!({ "path": "b" }), false),
        ("notes__search", json!({ "words": "anything" }), true),
        ("up__look", json!({}), false),
    ];
    for (tool, arguments, met) in cases {
        let stage = notes().open().await;
        let [writer, reader] = both(&stage).await;
        text(&write(&writer, "a").await);
        text(&reader.call(tool, arguments.clone()).await);
        assert_eq!(is_untrusted(&stage, &reader), met, "{tool} {arguments}");
    }
}

#[tokio::test]
async fn what_a_clean_session_writes_marks_nothing() {
    let stage = notes().open().await;
    let [_, clean] = both(&stage).await;
    text(&write(&clean, "a").await);
    text(&clean.call("notes__read", json!({ "path": "a" })).await);
    assert!(!is_untrusted(&stage, &clean));
}

#[tokio::test]
async fn a_write_marks_before_its_server_hears_of_it_and_even_if_it_fails() {
    let stage = notes().open().await;
    let [writer, reader] = both(&stage).await;
    stage.server("notes").on("write", []);
    let writing = writer.start_call("notes__write", json!({ "path": "a" }));
    stage.server("notes").reached(1).await;
    text(&reader.call("notes__read", json!({ "path": "a" })).await);
    assert!(is_untrusted(&stage, &reader), "it may be written by now");
    writing.cancel().await;
}

#[tokio::test]
async fn a_call_does_not_read_its_own_mark_as_news() {
    let stage = notes().open().await;
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call("up__inbox", json!({})).await);
    let answer = write(&agent, "a").await;
    assert_eq!(answer["result"]["_meta"]["dev.highwater/label"]["secrecy"], json!([]), "{answer}");
}

#[tokio::test]
async fn a_write_that_cannot_be_marked_is_not_made() {
    for fault in [Fault::Write, Fault::LostAnswer] {
        let stage = notes().open().await;
        let [writer, _] = both(&stage).await;
        stage.store_fails(fault);
        let answer = write(&writer, "a").await;
        assert!(refusal(&answer).contains("This is an outage"), "{answer}");
        assert!(stage.server("notes").journal().is_empty(), "{fault:?}");
        stage.store_fails(None);
        text(&write(&writer, "a").await);
    }
}

#[tokio::test]
async fn marks_that_cannot_be_read_count_as_the_highest() {
    let memory = Memory::new(false);
    let [writer, _] = both(&notes().on(&memory).open().await).await;
    text(&write(&writer, "elsewhere").await);
    // Another run of the gateway knows that there are marks, and not which.
    let stage = notes().on(&memory).open().await;
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call("up__look", json!({})).await);
    agent.send("tools/list", json!({})).await;
    stage.store_fails(Fault::Read);
    text(&agent.call("notes__read", json!({ "path": "a" })).await);
    stage.store_fails(None);
    let label = stage.label(&agent);
    assert!(label.contains(&"integrity:none") && label.contains(&"credentials"), "{label:?}");
}

#[tokio::test]
async fn a_server_without_writes_needs_no_marks() {
    let stage = Setup::new().server("up", Script::of([reader("look", "system", "none")])).open().await;
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call("up__look", json!({})).await);
    let before = stage.label(&agent);
    stage.store_fails(Fault::Read);
    text(&agent.call("up__look", json!({ "other": 1 })).await);
    stage.store_fails(None);
    assert_eq!(stage.label(&agent), before);
}

#[tokio::test]
async fn a_link_remembers_the_label_under_which_it_was_given_out() {
    let resource = |name: &str| json!({ "uri": format!("note://{name}"), "name": name });
    let script = stocked().with_resources([resource("a"), resource("b")]);
    let label = json!({ "note://*": { "returnMetadata": { "source": "system", "sensitivity": "none" } } });
    let stage = Setup::new()
        .server("up", script)
        .with(|config| config["servers"]["up"]["resource_labels"] = label)
        .open()
        .await;
    let link = json!({ "type": "resource_link", "uri": "note://a", "name": "a" });
    stage.up().on("fetch", [Step::Answer(json!({ "content": [link] }))]);
    let giver = stage.agent(ClientOptions { context: Some("giver"), ..ClientOptions::default() });
    giver.call(FETCH, json!({})).await;
    let reader = stage.agent(ClientOptions { context: Some("reader"), ..ClientOptions::default() });
    for (uri, met) in [("up+note://b", false), ("up+note://a", true)] {
        let answer = reader.send("resources/read", json!({ "uri": uri })).await.answer;
        assert!(answer["result"].is_object(), "{answer}");
        assert_eq!(is_untrusted(&stage, &reader), met, "{uri}");
    }
}

#[tokio::test]
async fn marks_are_met_behind_every_gateway_that_shares_the_store() {
    let memory = Memory::new(true);
    let (one, two) = (notes().on(&memory).open().await, notes().on(&memory).open().await);
    let [writer, _] = both(&one).await;
    let [_, reader] = both(&two).await;
    text(&reader.call("notes__read", json!({ "path": "a" })).await);
    assert!(!is_untrusted(&two, &reader));
    text(&write(&writer, "a").await);
    text(&reader.call("notes__read", json!({ "path": "a" })).await);
    assert!(is_untrusted(&two, &reader));
}
