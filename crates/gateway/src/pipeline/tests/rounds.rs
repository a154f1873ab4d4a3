//! Calls that take several rounds: questions of a modern server for a legacy client, and approved calls whose server asks
//! for more.

use serde_json::{Value, json};

use super::approver::Approver;
use super::{
    ACT, Agent, ClientOptions, ERAS, FETCH, LOOK, Setup, Stage, Step, forms, refusal, stocked, text, yes,
};

const ASKED: &str = "elicitation/create";

/// A server's question in a result.
fn asks(method: &str, params: Value, state: Option<&str>) -> Step {
    let mut result = json!({ "resultType": "input_required",
        "inputRequests": { "who": { "method": method, "params": params } } });
    if let Some(state) = state {
        result["requestState"] = json!(state);
    }
    Step::Answer(result)
}

fn form() -> Value {
    json!({ "mode": "form", "message": "ClientOptions?", "requestedSchema": { "type": "object", "properties": {} } })
}

fn ada() -> Value {
    json!({ "action": "accept", "content": { "name": "Ada" } })
}

fn modern() -> Setup {
    Setup::new().server("up", stocked().in_era(ERAS[1]))
}

#[tokio::test]
async fn a_legacy_client_is_asked_inline_what_a_modern_server_asks_by_its_result() {
    let stage = modern().open().await;
    stage.up().on("look", [asks(ASKED, form(), Some("one"))]);
    stage.up().on("look", [asks(ASKED, form(), None)]);
    stage.up().on("look", [Step::say("hi")]);
    // A further round is no call of the tool by its name, but of the method.
    stage.up().on("tools/call", [asks(ASKED, form(), None)]);
    stage.up().on("tools/call", [Step::say("hi")]);
    let call = stage.legacy(forms()).start_call(LOOK, json!({ "a": 1 }));
    let outcome = call.finish_answering(|_, _| Some(ada())).await;
    assert_eq!((text(&outcome.answer), outcome.before.len()), ("hi", 2));
    let heard = stage.up().of_method("tools/call");
    assert_eq!(heard.len(), 3);
    assert_eq!((&heard[1]["requestState"], &heard[1]["inputResponses"]["who"]), (&json!("one"), &ada()));
    assert_eq!((&heard[2]["requestState"], &heard[2]["arguments"]), (&Value::Null, &json!({ "a": 1 })));
    let round = ["question allow", "allowed tools/call", "delivered"];
    assert_eq!(stage.events(), [vec!["allowed tools/call", "delivered"], [round, round].concat()].concat());
}

#[tokio::test]
async fn what_a_legacy_client_cannot_be_asked_nobody_answers_in_its_place() {
    for (method, params) in
        [(ASKED, form()), ("roots/list", json!({})), ("sampling/createMessage", json!({}))]
    {
        let stage = modern().open().await;
        stage.up().on("look", [asks(method, params, Some("one"))]);
        stage.up().on("tools/call", [Step::say("hi")]);
        let answer = stage.of_era(ERAS[0]).call(LOOK, json!({})).await;
        assert!(refusal(&answer).contains("did not answer"), "{answer}");
        assert_eq!(stage.up().journal().len(), 1, "{method}");
    }
}

#[tokio::test]
async fn a_server_that_asks_without_end_is_stopped() {
    let stage = modern().open().await;
    stage.up().on("look", [asks(ASKED, form(), Some("one"))]);
    stage.up().on("tools/call", [asks(ASKED, form(), Some("one"))]);
    let call = stage.legacy(forms()).start_call(LOOK, json!({}));
    let outcome = call.finish_answering(|_, _| Some(ada())).await;
    assert!(refusal(&outcome.answer).contains("asked back too often"), "{outcome:?}");
    assert_eq!((outcome.before.len(), stage.up().journal().len()), (8, 9));
}

#[tokio::test]
async fn each_round_is_judged_as_things_are_then() {
    let stage = modern().open().await;
    stage.up().on("send", [asks(ASKED, form(), Some("one"))]);
    let agent = stage.legacy(forms());
    let mut call = agent.start_call("up__send", json!({}));
    let question = call.next().await;
    // What is private is not given to the public, since strangers were heard, unless a person says so on a page. Here is
    // none, and a form is the client's own word.
    text(&agent.call("up__inbox", json!({})).await);
    text(&agent.call(FETCH, json!({})).await);
    call.reply(&question, &ada());
    let outcome = call.finish().await;
    refusal(&outcome.answer);
    assert_eq!(stage.up().runs("send"), 1, "the answer was not brought");
}

#[tokio::test]
async fn an_error_that_sends_to_a_page_is_a_question_for_a_modern_client() {
    let stage = Setup::usual().open().await;
    let page = |id: &str| json!({ "mode": "url", "url": format!("https://e.example/{id}"), "message": "Go.", "elicitationId": id });
    let error =
        json!({ "code": -32042, "message": "visit", "data": { "elicitations": [page("1"), page("2")] } });
    stage.up().on("look", [Step::Error(error.clone())]);
    let pages = json!({ "elicitation": { "url": {} } });
    let asked = stage.modern(pages.clone()).call(LOOK, json!({})).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let shown = &asked["result"]["inputRequests"]["page_1"]["params"];
    let told = "server `up` asks: Go.";
    assert_eq!(*shown, json!({ "mode": "url", "url": "https://e.example/2", "message": told }));
    let mut known = error;
    for page in known["data"]["elicitations"].as_array_mut().unwrap() {
        page["message"] = json!(told);
    }
    assert_eq!(stage.legacy(pages).call(LOOK, json!({})).await["error"], known, "a legacy one knows it");
    // ClientOptions cannot be sent to pages gets the error.
    assert_eq!(stage.modern(forms()).call(LOOK, json!({})).await["error"]["code"], -32042);
}

/// An approved call whose server asks twice, up to its first question; the state that must come back.
async fn begun(stage: &Stage, approver: &Approver) -> (Agent, Value) {
    stage.up().on("act", [asks(ASKED, form(), Some("one"))]);
    stage.up().on("act", [asks(ASKED, form(), Some("two"))]);
    stage.up().on("act", [Step::say("done")]);
    let agent = stage.modern(json!({ "elicitation": { "form": {}, "url": {} } }));
    let asked = agent.send("tools/call", params()).await.answer;
    approver.sign(&approver.asked().await.id).await.unwrap();
    let opened = json!({ "highwater_approval": { "action": "accept" } });
    let first = agent.answer("tools/call", &params(), &asked, opened).await;
    assert!(is_question(&first), "{first}");
    (agent, first)
}

fn is_question(answer: &Value) -> bool {
    let state = answer["result"]["requestState"].as_str().unwrap_or_default();
    answer["result"]["inputRequests"]["who"]["method"] == ASKED && state.starts_with("hw2.")
}

fn params() -> Value {
    json!({ "name": ACT, "arguments": { "path": "a" } })
}

async fn signing() -> (Stage, Approver) {
    let rule = json!({ "name": "ask", "effect": "passkey", "when": { "tool.id": ACT } });
    let stage = modern().rule(rule).with_page().open().await;
    let approver = Approver::enrolled(&stage).await;
    (stage, approver)
}

fn answers() -> Value {
    json!({ "who": ada() })
}

#[tokio::test]
async fn one_signature_carries_every_round_of_a_call() {
    let (stage, approver) = signing().await;
    let (agent, first) = begun(&stage, &approver).await;
    let second = agent.answer("tools/call", &params(), &first, answers()).await;
    assert!(is_question(&second), "{second}");
    text(&agent.answer("tools/call", &params(), &second, answers()).await);
    let states: Vec<Value> =
        stage.up().of_method("tools/call").iter().map(|heard| heard["requestState"].clone()).collect();
    assert_eq!(states, [Value::Null, json!("one"), json!("two")]);
    assert_eq!((approver.receipts().await, approver.waiting().await), (1, 0));
    assert!(
        stage.up().journal().iter().all(|heard| !heard.text.contains("hw2.")),
        "our seals reach no server"
    );
}

#[tokio::test]
async fn a_round_goes_on_once_and_for_its_own_principal() {
    let (stage, approver) = signing().await;
    let (agent, first) = begun(&stage, &approver).await;
    let other = json!({ "name": ACT, "arguments": { "path": "b" } });
    let token = Some(std::sync::Arc::clone(&stage.gateway.tokens.local));
    let stranger = stage.agent(ClientOptions { capabilities: forms(), token, ..ClientOptions::default() });
    for foreign in [
        agent.answer("tools/call", &other, &first, answers()).await,
        stranger.answer("tools/call", &params(), &first, answers()).await,
    ] {
        assert_eq!(foreign["error"]["code"], -32602, "{foreign}");
    }
    assert_eq!(stage.up().runs("act"), 1);
    let call = params();
    let retry = || agent.answer("tools/call", &call, &first, answers());
    let (one, two) = tokio::join!(retry(), retry());
    let (won, lost) = if is_question(&one) { (one, two) } else { (two, one) };
    assert!(is_question(&won), "{won}");
    for late in [lost, retry().await] {
        assert!(refusal(&late).contains("taken already"), "{late}");
    }
    assert_eq!(stage.up().runs("act"), 2);
}

#[tokio::test]
async fn a_round_goes_on_behind_any_gateway_that_shares_the_store_and_once() {
    let rule = json!({ "name": "ask", "effect": "passkey", "when": { "tool.id": ACT } });
    let memory = highwater_store::Memory::new(true);
    let open = || modern().rule(rule.clone()).with_page().on(&memory).open();
    let (here, there) = (open().await, open().await);
    let (agent, first) = begun(&here, &Approver::enrolled(&here).await).await;
    there.up().on("act", [Step::say("done")]);
    let same = there.modern(forms());
    text(&same.answer("tools/call", &params(), &first, answers()).await);
    assert_eq!(there.up().of_method("tools/call")[0]["requestState"], "one");
    assert!(
        refusal(&agent.answer("tools/call", &params(), &first, answers()).await).contains("taken already")
    );
    assert_eq!((here.up().runs("act"), there.up().runs("act")), (1, 1));
}

#[tokio::test]
async fn a_round_that_a_new_rule_blocks_is_blocked_and_a_tool_that_changed_ends_it() {
    for blocks in [true, false] {
        let (stage, approver) = signing().await;
        let (agent, first) = begun(&stage, &approver).await;
        if blocks {
            stage.reload(|config| config["rules"][0]["effect"] = json!("block"));
        } else {
            stage.up().tools.lock().unwrap()[3]["description"] = json!("Does more.");
            stage.restock("up").await;
        }
        refusal(&agent.answer("tools/call", &params(), &first, answers()).await);
        assert_eq!(stage.up().runs("act"), 1);
    }
}

#[tokio::test]
async fn words_of_strangers_between_two_rounds_are_asked_about() {
    let (stage, approver) = signing().await;
    let (agent, first) = begun(&stage, &approver).await;
    text(&agent.call(FETCH, json!({})).await);
    let asked = agent.answer("tools/call", &params(), &first, answers()).await;
    assert_eq!(asked["result"]["inputRequests"]["highwater_approval"]["params"]["mode"], "url", "{asked}");
    assert_eq!(stage.up().runs("act"), 1);
    let request = approver.asked().await;
    assert!(request.context.asks.iter().any(|ask| ask.rule == "flow.act"), "{:?}", request.context.asks);
    approver.sign(&request.id).await.unwrap();
    let opened = json!({ "highwater_approval": { "action": "accept" } });
    let second = agent.answer("tools/call", &params(), &asked, opened).await;
    assert!(is_question(&second), "it goes on from where it was: {second}");
    let brought = stage.up().of_method("tools/call").pop().unwrap();
    assert_eq!((&brought["requestState"], &brought["inputResponses"]), (&json!("one"), &answers()));
}

#[tokio::test]
async fn a_word_in_a_form_carries_all_rounds_of_a_legacy_clients_call() {
    let rule = json!({ "name": "ask", "effect": "confirm", "when": { "tool.id": ACT } });
    let stage = modern().rule(rule).with_page().open().await;
    stage.up().on("act", [asks(ASKED, form(), Some("one"))]);
    stage.up().on("tools/call", [Step::say("done")]);
    let call = stage.legacy(forms()).start("tools/call", params());
    let outcome = call.finish_answering(|_, params| {
        Some(if params["message"] == "ClientOptions?" { ada() } else { yes() })
    });
    let outcome = outcome.await;
    text(&outcome.answer);
    assert_eq!(outcome.before.len(), 2, "{:?}", outcome.before);
    assert_eq!(stage.up().of_method("tools/call")[1]["requestState"], "one");
}
