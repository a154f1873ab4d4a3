//! A call whose connection broke: tried again only if it would still be judged as it was, and never unrecorded.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Notify;

use super::{ACT, ClientOptions, ERAS, FETCH, LOOK, Setup, Stage, Step, refusal, text};

/// A call whose connection breaks when the test says so.
fn breaks(stage: &Stage, tool: &str) -> Arc<Notify> {
    let go = Arc::new(Notify::new());
    stage.up().on(tool, [Step::Wait(Arc::clone(&go)), Step::Break { sent: true }, Step::say("hi")]);
    go
}

#[tokio::test]
async fn a_further_attempt_is_on_record_before_it_is_made() {
    for era in ERAS {
        let stage = Setup::usual().open().await;
        stage.up().on("look", [Step::Break { sent: false }, Step::say("hi")]);
        assert_eq!(text(&stage.of_era(era).call(LOOK, json!({})).await), "hi");
        assert_eq!(stage.up().runs("look"), 2);
        assert_eq!(stage.events(), ["allowed tools/call", "retried 2", "delivered"]);
        let retried = &stage.audit()[1];
        assert_eq!(
            (&retried["sent"], &retried["why"]),
            (&json!(false), &json!("ended before it answered (lost)"))
        );
        assert_eq!(retried["id"], stage.audit()[0]["id"]);
    }
}

#[tokio::test]
async fn a_call_whose_session_has_heard_strangers_meanwhile_is_not_tried_again() {
    let stage = Setup::usual().open().await;
    let go = breaks(&stage, "act");
    let agent = stage.of_era(ERAS[1]);
    let call = agent.start_call(ACT, json!({}));
    stage.up().reached(1).await;
    text(&agent.call(FETCH, json!({})).await);
    go.notify_one();
    assert!(refusal(&call.finish().await.answer).contains("may have taken effect"));
    assert_eq!(stage.up().runs("act"), 1);
    assert_eq!(stage.events()[3..], ["failed"]);
}

#[tokio::test]
async fn a_call_that_a_new_rule_would_stop_is_not_tried_again() {
    for effect in ["confirm", "block"] {
        let stage = Setup::usual().open().await;
        let go = breaks(&stage, "look");
        let call = stage.of_era(ERAS[1]).start_call(LOOK, json!({}));
        stage.up().reached(1).await;
        let rule = json!([{ "name": "new", "effect": effect, "when": { "tool.id": LOOK } }]);
        stage.reload(|config| config["rules"] = rule);
        go.notify_one();
        refusal(&call.finish().await.answer);
        assert_eq!(stage.up().runs("look"), 1, "{effect}");
        assert_eq!(stage.events(), ["allowed tools/call", "failed"], "{effect}");
    }
}

#[tokio::test]
async fn a_call_of_a_token_that_grants_it_no_longer_is_not_tried_again() {
    let grants = json!({ "permissions": ["read", "write"], "servers": ["*"] });
    let stage = Setup::usual().token("bob", grants).open().await;
    let go = breaks(&stage, "act");
    let agent = stage.agent(ClientOptions { token: Some(stage.token("bob")), ..ClientOptions::default() });
    let call = agent.start_call(ACT, json!({}));
    stage.up().reached(1).await;
    stage.reload(|config| config["agent_tokens"]["bob"]["permissions"] = json!(["read"]));
    go.notify_one();
    refusal(&call.finish().await.answer);
    assert_eq!(stage.up().runs("act"), 1);
}

#[tokio::test]
async fn what_a_person_agreed_to_is_tried_again_as_long_as_nothing_new_is_found() {
    for (more, runs) in [(false, 2), (true, 1)] {
        let rule = json!({ "name": "ask", "effect": "confirm", "when": { "tool.id": ACT } });
        let stage = Setup::usual().rule(rule).open().await;
        let go = breaks(&stage, "act");
        let agent = stage.legacy(json!({ "elicitation": {} }));
        let mut call = agent.start_call(ACT, json!({}));
        let question = call.next().await;
        call.reply(&question, &json!({ "action": "accept", "content": { "allow": true } }));
        stage.up().reached(1).await;
        if more {
            text(&agent.call(FETCH, json!({})).await);
        }
        go.notify_one();
        call.finish().await;
        assert_eq!(stage.up().runs("act"), runs, "{more}");
    }
}

#[tokio::test]
async fn what_cannot_be_judged_again_is_not_tried_again() {
    let memory = highwater_store::Memory::new(true);
    let stage = Setup::usual().on(&memory).open().await;
    let go = breaks(&stage, "act");
    let call = stage.of_era(ERAS[1]).start_call(ACT, json!({}));
    stage.up().reached(1).await;
    stage.store_fails(highwater_store::Fault::Read);
    go.notify_one();
    refusal(&call.finish().await.answer);
    assert_eq!(stage.up().runs("act"), 1, "its session may have heard anything by now");
}
