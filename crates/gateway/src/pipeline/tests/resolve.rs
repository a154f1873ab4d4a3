//! `tools/resolve`: what a server says of one call before it is judged, and what we say of a call that is not made.

use serde_json::{Value, json};

use super::tools::doer;
use super::{ACT, ERAS, FETCH, INBOX, LOOK, Script, Setup, Step, refusal, remediation, text};

const EXTENSION: &str = "io.modelcontextprotocol/tool-resolution";

/// A server whose tool may do anything, and which says of each call what it does.
fn resolving(era: highwater_mcp::era::Era) -> Setup {
    let mut tool = doer("run", "internal", "benign");
    tool["annotations"]["inputMetadata"]["outcomes"] = json!(["benign", "irreversible"]);
    tool["_meta"] = json!({ EXTENSION: { "resolvable": true } });
    let script = Script::of([tool]).in_era(era).declaring("extensions", json!({ EXTENSION: {} }));
    Setup::usual().server("box", script)
}

fn says(outcomes: &str) -> Value {
    json!({ "resultType": "complete", "name": "run",
        "annotations": { "inputMetadata": { "outcomes": outcomes } } })
}

#[tokio::test]
async fn what_a_verified_server_says_of_a_call_counts_for_this_call() {
    for (outcomes, runs) in [("benign", 1), ("irreversible", 0)] {
        for era in ERAS {
            let stage = resolving(era).open().await;
            stage.server("box").on("tools/resolve", [Step::Answer(says(outcomes))]);
            let agent = stage.of_era(ERAS[1]);
            text(&agent.call(FETCH, json!({})).await);
            let before = stage.audit().len();
            agent.call("box__run", json!({ "path": "a" })).await;
            let heard = stage.server("box").of_method("tools/resolve");
            assert_eq!((&heard[0]["name"], &heard[0]["arguments"]), (&json!("run"), &json!({ "path": "a" })));
            assert_eq!(stage.server("box").runs("run"), runs, "{outcomes} {era:?}");
            assert_eq!(stage.events()[before..before + 2], ["allowed tools/resolve", "delivered"]);
        }
    }
}

#[tokio::test]
async fn what_an_unverified_server_says_of_a_call_makes_nothing_milder() {
    let stage = resolving(ERAS[1]).with(|config| config["servers"]["box"]["trust"] = json!({})).open().await;
    stage.server("box").on("tools/resolve", [Step::Answer(says("benign"))]);
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call(FETCH, json!({})).await);
    refusal(&agent.call("box__run", json!({})).await);
    assert_eq!(stage.server("box").runs("run"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_say_leaves_its_tool_at_its_worst() {
    let gone = highwater_upstream::error::Cause::Gone("closed".to_owned());
    let cases = [
        vec![],
        vec![Step::Fail(gone, true)],
        vec![Step::Error(json!({ "code": 1, "message": "no" }))],
        vec![Step::Answer(json!({ "resultType": "complete", "content": [] }))],
        vec![Step::Answer(json!({ "resultType": "complete", "name": "other", "annotations": {} }))],
    ];
    for steps in cases {
        let stage = resolving(ERAS[1]).open().await;
        stage.server("box").on("tools/resolve", steps);
        let agent = stage.of_era(ERAS[1]);
        text(&agent.call(FETCH, json!({})).await);
        assert_eq!(remediation(&agent.call("box__run", json!({})).await), "undisclosed");
        assert_eq!(stage.server("box").methods(), ["tools/resolve"]);
        let told = stage.events();
        assert!(["delivered", "timed-out", "failed"].contains(&told[3].as_str()), "{told:?}");
    }
}

#[tokio::test]
async fn a_server_is_not_asked_about_arguments_that_it_may_not_have() {
    // Private data may not go to the public, and the tool may send it there.
    let stage = resolving(ERAS[1]).open().await;
    stage.server("box").tools.lock().unwrap()[0]["annotations"]["inputMetadata"]["destination"] =
        json!(["internal", "public"]);
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call(INBOX, json!({})).await);
    text(&agent.call(FETCH, json!({})).await);
    refusal(&agent.call("box__run", json!({})).await);
    assert!(stage.server("box").journal().is_empty());
}

#[tokio::test]
async fn what_is_said_of_a_call_that_is_not_made_is_what_would_become_of_it() {
    for era in ERAS {
        let stage = Setup::usual().open().await;
        let agent = stage.of_era(era);
        let place = match era {
            highwater_mcp::era::Era::Legacy => "/result/tool/_meta/dev.highwater~1outlook",
            highwater_mcp::era::Era::Modern => "/result/_meta/dev.highwater~1outlook",
        };
        let outlook = async |tool: &str| {
            let answer = agent.send("tools/resolve", json!({ "name": tool, "arguments": {} })).await.answer;
            answer.pointer(place).unwrap_or_else(|| panic!("{answer}")).clone()
        };
        text(&agent.call(LOOK, json!({})).await);
        assert_eq!(outlook(ACT).await, json!({ "effect": "allow", "wouldTaint": false }));
        assert_eq!(outlook(FETCH).await, json!({ "effect": "allow", "wouldTaint": true }));
        text(&agent.call(FETCH, json!({})).await);
        assert_eq!(outlook(ACT).await["effect"], "confirm");
        assert_eq!(stage.up().methods(), ["tools/call", "tools/call"], "nothing was called for it");
        let unknown = agent.send("tools/resolve", json!({ "name": "up__gone" })).await.answer;
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    }
}

/// Seeds F10: the answer repeated the sets of the list where the server had said which value it is.
#[tokio::test]
async fn an_answer_shows_what_was_resolved_and_not_what_was_possible() {
    for era in ERAS {
        let stage = resolving(ERAS[1]).open().await;
        stage.server("box").on("tools/resolve", [Step::Answer(says("irreversible"))]);
        let place = match era {
            highwater_mcp::era::Era::Legacy => "/result/tool/annotations/inputMetadata/outcomes",
            highwater_mcp::era::Era::Modern => "/result/annotations/inputMetadata/outcomes",
        };
        let asked = json!({ "name": "box__run", "arguments": {} });
        let answer = stage.of_era(era).send("tools/resolve", asked).await.answer;
        assert_eq!(answer.pointer(place), Some(&json!("irreversible")), "{answer}");
    }
}

#[tokio::test]
async fn nothing_is_said_of_what_is_not_granted_or_held() {
    let grants = json!({ "permissions": ["read"], "servers": ["*"], "tools": ["look"] });
    let stage = Setup::usual().token("bob", grants).open().await;
    let bob = stage
        .agent(super::ClientOptions { token: Some(stage.token("bob")), ..super::ClientOptions::default() });
    let answer = bob.send("tools/resolve", json!({ "name": ACT })).await.answer;
    assert_eq!(answer["error"]["message"], format!("unknown tool `{ACT}`"), "{answer}");
    let stage = Setup::usual()
        .with(|config| {
            config["servers"]["up"]["trust"] = json!({});
            config["servers"]["up"]["quarantine"] = json!(true);
        })
        .open()
        .await;
    let answer = stage.of_era(ERAS[1]).send("tools/resolve", json!({ "name": ACT })).await.answer;
    assert_eq!(answer["error"]["message"], format!("unknown tool `{ACT}`"), "{answer}");
}
