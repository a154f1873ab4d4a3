//! A legacy server asks a modern client something: the request ends with the question, the call waits, and the retry that
//! brings the answer goes on with it, once.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{AGES, Agent, ClientOptions, ERAS, FETCH, LOOK, STRANGE, Setup, Stage, Step, refusal, text};

const ASKED: &str = "elicitation/create";

fn form() -> Value {
    json!({ "mode": "form", "message": "ClientOptions?", "requestedSchema": { "type": "object", "properties": {} } })
}

fn forms() -> Value {
    json!({ "elicitation": { "form": {} } })
}

fn answers() -> Value {
    json!({ "question": { "action": "accept", "content": { "name": "Ada" } } })
}

fn params() -> Value {
    json!({ "name": LOOK, "arguments": { "a": 1, "b": [2] } })
}

/// A call that waits for an answer, and what its client was told.
async fn suspended(stage: &Stage) -> (Agent, Value) {
    stage.up().on("look", [Step::Ask(ASKED, form()), Step::say("hi")]);
    let agent = stage.modern(forms());
    let asked = agent.send("tools/call", params()).await.answer;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    (agent, asked)
}

#[tokio::test]
async fn a_question_ends_the_request_and_the_retry_goes_on_with_the_call() {
    let stage = Setup::usual().open().await;
    let (agent, asked) = suspended(&stage).await;
    assert_eq!(
        asked["result"]["inputRequests"],
        json!({ "question": { "method": ASKED, "params": form() } })
    );
    assert_eq!(stage.events(), ["allowed tools/call", "question allow"]);
    let answer = agent.answer("tools/call", &params(), &asked, answers()).await;
    assert_eq!(text(&answer), "hi");
    assert_eq!(stage.up().methods(), ["tools/call", "answer"], "it was called once");
    assert_eq!(stage.up().of_method("answer"), [answers()["question"].clone()]);
    assert_eq!(stage.events()[2..], ["allowed elicitation/create", "delivered", "delivered"]);
}

#[tokio::test]
async fn a_question_of_strangers_is_in_the_label_before_it_is_read_and_again_when_it_is_repeated() {
    let stage = Setup::usual().open().await;
    stage.up().on("fetch", [Step::Ask(ASKED, form())]);
    let agent = stage.modern(forms());
    let call = json!({ "name": FETCH, "arguments": {} });
    let asked = agent.send("tools/call", call.clone()).await.answer;
    assert_eq!(stage.label(&agent), STRANGE);
    // A person lowers the label; the question is read once more.
    let session = agent.session();
    let lowered = session.declassify(0, &highwater_core::label::Label::bottom(), "op", "I know it").await;
    assert!(lowered.is_ok() && stage.label(&agent).is_empty());
    let again = agent.answer("tools/call", &call, &asked, json!({})).await;
    assert_eq!(again["result"]["resultType"], "input_required", "{again}");
    assert_eq!(stage.label(&agent), STRANGE);
}

#[tokio::test]
async fn a_retry_without_an_answer_is_asked_again_and_can_still_answer() {
    let stage = Setup::usual().open().await;
    let (agent, asked) = suspended(&stage).await;
    let again = agent.answer("tools/call", &params(), &asked, json!({ "other": {} })).await;
    assert_eq!(again["result"]["inputRequests"], asked["result"]["inputRequests"]);
    assert_eq!(again["result"]["requestState"], asked["result"]["requestState"]);
    text(&agent.answer("tools/call", &params(), &again, answers()).await);
}

#[tokio::test]
async fn an_answer_is_taken_once() {
    let stage = Setup::usual().open().await;
    let (agent, asked) = suspended(&stage).await;
    let call = params();
    let retry = || agent.answer("tools/call", &call, &asked, answers());
    let (one, two) = tokio::join!(retry(), retry());
    assert_eq!(text(&one), "hi");
    for late in [two, retry().await] {
        assert!(refusal(&late).contains("expired"), "{late}");
    }
    assert_eq!(stage.up().methods(), ["tools/call", "answer"]);
}

#[tokio::test]
async fn a_state_is_for_one_request_of_one_principal_in_one_session() {
    let stage = Setup::usual().open().await;
    let (agent, asked) = suspended(&stage).await;
    let stranger = ClientOptions {
        capabilities: forms(),
        token: Some(Arc::clone(&stage.gateway.tokens.local)),
        ..ClientOptions::default()
    };
    let elsewhere =
        ClientOptions { capabilities: forms(), context: Some("other"), ..ClientOptions::default() };
    let mut foreign = Vec::new();
    for who in [stranger, elsewhere] {
        foreign.push(stage.agent(who).answer("tools/call", &params(), &asked, answers()).await);
    }
    for other in [
        json!({ "name": LOOK, "arguments": { "a": 1, "b": [3] } }),
        json!({ "name": LOOK, "arguments": { "a": 1.0, "b": [2] } }),
        json!({ "name": LOOK }),
        json!({ "name": "up__act", "arguments": { "a": 1, "b": [2] } }),
    ] {
        foreign.push(agent.answer("tools/call", &other, &asked, answers()).await);
    }
    foreign.push(agent.answer("prompts/get", &params(), &asked, answers()).await);
    let mut legacy = params();
    legacy["requestState"] = asked["result"]["requestState"].clone();
    foreign.push(stage.legacy(forms()).send("tools/call", legacy).await.answer);
    for answer in foreign {
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    assert_eq!(stage.up().methods(), ["tools/call"], "nothing of this reached the server");
    // The same value in other words is the same request.
    let state = &asked["result"]["requestState"];
    let same = format!(
        r#"{{"requestState":{state},"inputResponses":{},"arguments":{{ "b":[2] ,"\u0061":1}},"name":"up__look"}}"#,
        answers()
    );
    text(&agent.send_text("tools/call", &same).await.answer);
}

#[tokio::test]
async fn a_state_that_was_tampered_with_opens_nothing() {
    let stage = Setup::usual().open().await;
    let (agent, asked) = suspended(&stage).await;
    let state = asked["result"]["requestState"].as_str().unwrap();
    let mut forged = asked.clone();
    for place in (4..state.len()).step_by(7) {
        forged["result"]["requestState"] = json!(super::tampered(state, place));
        let answer = agent.answer("tools/call", &params(), &forged, answers()).await;
        assert_eq!(answer["error"]["code"], -32602, "{place}: {answer}");
    }
    assert_eq!(stage.up().methods(), ["tools/call"]);
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_call_is_cancelled_and_recorded() {
    let stage = Setup::usual().open().await;
    let (agent, asked) = suspended(&stage).await;
    tokio::time::sleep(AGES).await;
    assert_eq!(stage.events(), ["allowed tools/call", "question allow", "cancelled"]);
    let late = agent.answer("tools/call", &params(), &asked, answers()).await;
    assert!(refusal(&late).contains("expired"), "{late}");
    assert_eq!(stage.up().methods(), ["tools/call"]);
}

#[tokio::test]
async fn calls_that_wait_are_cancelled_when_the_gateway_stops() {
    let stage = Setup::usual().open().await;
    suspended(&stage).await;
    stage.gateway.stop().await;
    assert_eq!(stage.events(), ["allowed tools/call", "question allow", "cancelled"]);
}

#[tokio::test]
async fn one_principal_has_room_for_a_number_of_calls_and_others_for_their_own() {
    let stage = Setup::usual().open().await;
    for _ in 0..64 {
        suspended(&stage).await;
    }
    let agent = stage.modern(forms());
    let answer = agent.send("tools/call", params()).await.answer;
    assert!(refusal(&answer).contains("too many calls wait"), "{answer}");
    assert_eq!(stage.events().pop().unwrap(), "cancelled");
    let token = Some(Arc::clone(&stage.gateway.tokens.local));
    let other = stage.agent(ClientOptions { capabilities: forms(), token, ..ClientOptions::default() });
    let asked = other.send("tools/call", params()).await.answer;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
}

#[tokio::test]
async fn a_question_that_the_client_cannot_be_asked_is_refused_and_the_call_goes_on() {
    let stage = Setup::usual().open().await;
    stage.up().on("look", [Step::Ask(ASKED, form()), Step::Ask("roots/list", json!({})), Step::say("hi")]);
    let outcome = stage.of_era(ERAS[1]).start_call(LOOK, json!({})).finish().await;
    assert_eq!(text(&outcome.answer), "hi");
    assert_eq!(stage.up().of_method("answer"), [Value::Null, Value::Null]);
    assert_eq!(stage.events(), ["allowed tools/call", "question block", "question block", "delivered"]);
}

#[tokio::test]
async fn a_server_may_ask_twice_and_each_question_is_a_request() {
    let stage = Setup::usual().open().await;
    stage.up().on("look", [Step::Ask(ASKED, form()), Step::Ask(ASKED, form()), Step::say("hi")]);
    let agent = stage.modern(forms());
    let one = agent.send("tools/call", params()).await.answer;
    let two = agent.answer("tools/call", &params(), &one, answers()).await;
    assert_ne!(one["result"]["requestState"], two["result"]["requestState"], "{two}");
    assert_eq!(text(&agent.answer("tools/call", &params(), &two, answers()).await), "hi");
    assert_eq!(stage.up().methods(), ["tools/call", "answer", "answer"]);
}

#[tokio::test]
async fn a_page_to_visit_has_no_id_for_a_modern_client() {
    let stage = Setup::usual().open().await;
    let page = json!({ "mode": "url", "url": "https://example.com", "message": "Go.", "elicitationId": "1" });
    stage.up().on("look", [Step::Ask(ASKED, page)]);
    let agent = stage.modern(json!({ "elicitation": { "url": {} } }));
    let asked = agent.send("tools/call", params()).await.answer;
    let told = json!({ "mode": "url", "url": "https://example.com", "message": "server `up` asks: Go." });
    assert_eq!(asked["result"]["inputRequests"]["question"]["params"], told, "{asked}");
}
