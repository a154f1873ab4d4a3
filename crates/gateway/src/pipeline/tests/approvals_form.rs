//! A person is asked by a form in their client: about exactly one call, once, and only an explicit yes lets it run.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    ACT, AGES, Agent, ClientOptions, ERAS, FETCH, Setup, Stage, forms, refusal, remediation, text, yes,
};

/// A person is asked about every call of one tool.
fn confirming() -> Setup {
    Setup::usual().rule(json!({ "name": "ask", "effect": "confirm", "when": { "tool.id": ACT } }))
}

fn params() -> Value {
    json!({ "name": ACT, "arguments": { "to": "ada" } })
}

/// A modern client's question, and what it asks.
async fn asked(stage: &Stage) -> (Agent, Value) {
    let agent = stage.modern(forms());
    let asked = agent.send("tools/call", params()).await.answer;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    (agent, asked)
}

/// The same call with this answer of the person's, in an era of the client's.
async fn answered(stage: &Stage, legacy: bool, answer: &Value) -> Value {
    if legacy {
        let call = stage.legacy(forms()).start("tools/call", params());
        return call.finish_answering(|_, _| Some(answer.clone())).await.answer;
    }
    let (agent, asked) = asked(stage).await;
    agent.answer("tools/call", &params(), &asked, json!({ "highwater_approval": answer })).await
}

#[tokio::test]
async fn only_an_explicit_yes_lets_the_call_run() {
    for legacy in [true, false] {
        let stage = confirming().open().await;
        text(&answered(&stage, legacy, &yes()).await);
        assert_eq!(stage.up().runs("act"), 1);
        let story =
            ["asked tools/call", "asked by form", "answered approve", "approved tools/call", "delivered"];
        let told: Vec<String> = stage.events();
        assert_eq!(told[told.len() - 3..], story[2..]);
        assert_eq!(told[..2], story[..2]);
        for (no, word) in [
            (json!({ "action": "decline" }), "answered decline"),
            (json!({ "action": "cancel" }), "answered cancel"),
            (json!({ "action": "accept" }), "answered decline"),
            (json!({ "action": "accept", "content": { "allow": false } }), "answered decline"),
            (json!({ "action": "accept", "content": { "allow": "true" } }), "answered decline"),
            (json!({ "action": "decline", "content": { "allow": true } }), "answered decline"),
        ] {
            assert_eq!(remediation(&answered(&stage, legacy, &no).await), "unavailable", "{no}");
            let told = stage.events();
            assert_eq!(told[told.len() - 2..], [word, "blocked tools/call"], "{no}");
        }
        assert_eq!(stage.up().runs("act"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn silence_is_a_no() {
    let stage = confirming().open().await;
    let call = stage.legacy(forms()).start("tools/call", params());
    assert_eq!(remediation(&call.finish().await.answer), "unavailable");
    assert_eq!(stage.events()[2..], ["answered silence", "blocked tools/call"]);
    // A modern client that never comes back has not been answered, and its question is over.
    let (agent, asked) = asked(&stage).await;
    tokio::time::sleep(AGES).await;
    let answers = json!({ "highwater_approval": yes() });
    let late = agent.answer("tools/call", &params(), &asked, answers).await;
    assert!(refusal(&late).contains("expired"), "{late}");
    assert!(stage.up().journal().is_empty());
}

#[tokio::test]
async fn a_client_that_answers_with_an_error_has_said_no() {
    let stage = confirming().open().await;
    let mut call = stage.legacy(forms()).start("tools/call", params());
    let question = call.next().await;
    call.reply_error(&question, &json!({ "code": -32601, "message": "no such method" }));
    assert_eq!(remediation(&call.finish().await.answer), "unavailable");
    assert!(stage.up().journal().is_empty());
}

#[tokio::test]
async fn the_question_names_what_is_done_with_which_arguments_and_where_the_doubt_came_from() {
    let stage = Setup::usual().open().await;
    let agent = stage.legacy(forms());
    text(&agent.call(FETCH, json!({})).await);
    let mut call = agent.start("tools/call", params());
    let question = call.next().await;
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.contains("`up__act` of server `up`"), "{message}");
    assert!(message.contains("strangers") && message.contains("`fetch` of server `up`"), "{message}");
    assert!(message.contains("\n  \"to\": \"ada\"\n") && !message.contains("flow.act"), "{message}");
    assert_eq!(question["params"]["requestedSchema"]["required"], json!(["allow"]), "{question}");
    call.cancel().await;
}

#[tokio::test]
async fn an_answer_is_for_one_request_of_one_principal_and_counts_once() {
    let stage = confirming().open().await;
    let (agent, asked) = asked(&stage).await;
    let answers = json!({ "highwater_approval": yes() });
    let token = Some(Arc::clone(&stage.gateway.tokens.local));
    let stranger = stage.agent(ClientOptions { capabilities: forms(), token, ..ClientOptions::default() });
    let mut forged = asked.clone();
    forged["result"]["requestState"] =
        json!(super::tampered(asked["result"]["requestState"].as_str().unwrap(), 40));
    let other = json!({ "name": ACT, "arguments": { "to": "bob" } });
    for answer in [
        stranger.answer("tools/call", &params(), &asked, answers.clone()).await,
        agent.answer("tools/call", &other, &asked, answers.clone()).await,
        agent.answer("tools/call", &params(), &forged, answers.clone()).await,
    ] {
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    assert!(stage.up().journal().is_empty());
    // Without an answer it is asked again; the answer then counts once.
    let again = agent.answer("tools/call", &params(), &asked, json!({})).await;
    assert_eq!(again["result"]["inputRequests"], asked["result"]["inputRequests"], "{again}");
    let call = params();
    let retry = || agent.answer("tools/call", &call, &again, answers.clone());
    let (one, two) = tokio::join!(retry(), retry());
    text(&one);
    assert!(refusal(&two).contains("expired"), "{two}");
    assert_eq!(stage.up().runs("act"), 1);
}

#[tokio::test]
async fn a_yes_starts_nothing_if_the_caller_has_disconnected() {
    let stage = confirming().open().await;
    let mut call = stage.legacy(forms()).start("tools/call", params());
    let question = call.next().await;
    call.leave();
    call.reply(&question, &yes());
    assert!(refusal(&call.finish().await.answer).contains("nobody waits"));
    assert!(stage.up().journal().is_empty());
}

#[tokio::test]
async fn a_tool_that_changed_while_a_person_was_asked_does_not_run_on_their_answer() {
    let riskier = |tool: &mut Value| tool["annotations"]["inputMetadata"]["outcomes"] = json!("irreversible");
    let described = |tool: &mut Value| tool["description"] = json!("Does everything.");
    for change in [riskier as fn(&mut Value), described] {
        let stage = confirming().open().await;
        let mut call = stage.legacy(forms()).start("tools/call", params());
        let question = call.next().await;
        change(&mut stage.up().tools.lock().unwrap()[3]);
        stage.restock("up").await;
        call.reply(&question, &yes());
        assert!(refusal(&call.finish().await.answer).contains("changed while the user was asked"));
        assert!(stage.up().journal().is_empty());
    }
}

#[tokio::test]
async fn what_a_new_policy_says_counts_although_a_person_agreed() {
    for legacy in [true, false] {
        // A block blocks.
        let stage = confirming().open().await;
        let block = |config: &mut Value| config["rules"][0]["effect"] = json!("block");
        // What they were not told is another question.
        let more = |config: &mut Value| {
            let rule = json!({ "name": "closely", "effect": "confirm", "when": { "tool.id": ACT } });
            config["rules"].as_array_mut().unwrap().push(rule);
        };
        let answers = json!({ "highwater_approval": yes() });
        if legacy {
            let agent = stage.legacy(forms());
            let mut call = agent.start("tools/call", params());
            let question = call.next().await;
            stage.reload(more);
            call.reply(&question, &yes());
            let question = call.next().await;
            assert!(question["params"]["message"].as_str().unwrap().contains("closely"), "{question}");
            stage.reload(block);
            call.reply(&question, &yes());
            assert_eq!(remediation(&call.finish().await.answer), "unavailable");
        } else {
            let (agent, first) = asked(&stage).await;
            stage.reload(more);
            let second = agent.answer("tools/call", &params(), &first, answers.clone()).await;
            assert_eq!(second["result"]["resultType"], "input_required", "{second}");
            assert!(second.to_string().contains("closely"), "{second}");
            stage.reload(block);
            let answer = agent.answer("tools/call", &params(), &second, answers).await;
            assert_eq!(remediation(&answer), "unavailable");
        }
        assert!(stage.up().journal().is_empty(), "{legacy}");
    }
}

#[tokio::test]
async fn what_the_session_heard_while_a_person_thought_is_another_question() {
    let stage = confirming().open().await;
    let agent = stage.legacy(forms());
    let mut call = agent.start("tools/call", params());
    let question = call.next().await;
    text(&agent.call(FETCH, json!({})).await);
    call.reply(&question, &yes());
    let question = call.next().await;
    assert!(question["params"]["message"].as_str().unwrap().contains("strangers"), "{question}");
    call.reply(&question, &yes());
    text(&call.finish().await.answer);
    assert_eq!(stage.up().runs("act"), 1);
}

#[tokio::test]
async fn a_person_is_asked_a_few_times_and_then_no_more() {
    let stage = confirming().open().await;
    let mut call = stage.legacy(forms()).start("tools/call", params());
    for round in 0..3 {
        let question = call.next().await;
        stage.reload(|config| {
            let name = format!("more-{round}");
            let rule = json!({ "name": name, "effect": "confirm", "when": { "tool.id": ACT } });
            config["rules"].as_array_mut().unwrap().push(rule);
        });
        call.reply(&question, &yes());
    }
    let outcome = call.finish().await;
    assert_eq!((outcome.before.len(), remediation(&outcome.answer)), (0, "unavailable"));
    assert!(stage.up().journal().is_empty());
}

#[tokio::test]
async fn what_is_sent_is_what_was_shown_and_nothing_besides() {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (era, server) in ERAS.into_iter().flat_map(|era| ERAS.map(|server| (era, server))) {
        let stage = Setup::new()
            .server("up", super::stocked().in_era(server))
            .rule(json!({ "name": "ask", "effect": "confirm", "when": { "tool.id": ACT } }))
            .open()
            .await;
        let call = json!({ "name": ACT, "arguments": { "to": "ada" },
            "_meta": { "x.example/note": "smuggled", "traceparent": trace, "progressToken": 1 } });
        let agent = stage.agent(ClientOptions { era, capabilities: forms(), ..ClientOptions::default() });
        let outcome = agent.start("tools/call", call.clone()).finish_answering(|_, _| Some(yes())).await;
        let mut answer = outcome.answer;
        if answer["result"]["resultType"] == "input_required" {
            answer = agent.answer("tools/call", &call, &answer, json!({ "highwater_approval": yes() })).await;
        }
        text(&answer);
        let heard = stage.up().journal();
        assert_eq!(heard.len(), 1);
        assert!(!heard[0].text.contains("smuggled"), "{era:?} {server:?}: {}", heard[0].text);
        assert_eq!(heard[0].params["_meta"]["traceparent"], trace, "{}", heard[0].text);
        assert_eq!(heard[0].params["arguments"], json!({ "to": "ada" }));
    }
}

#[tokio::test]
async fn arguments_are_sent_in_the_form_in_which_they_would_be_signed() {
    let stage = confirming().open().await;
    let agent = stage.legacy(forms());
    let spelled = format!(r#"{{"arguments":{{"n":1.0, "a":"\u0041"}},"name":"{ACT}"}}"#);
    let outcome = agent.start_text("tools/call", &spelled).finish_answering(|_, _| Some(yes())).await;
    text(&outcome.answer);
    assert!(
        stage.up().journal()[0].text.contains(r#""arguments":{"a":"A","n":1}"#),
        "{:?}",
        stage.up().journal()
    );
    // A call without arguments is one with none.
    let outcome =
        agent.start("tools/call", json!({ "name": ACT })).finish_answering(|_, _| Some(yes())).await;
    text(&outcome.answer);
    assert_eq!(stage.up().journal()[1].params["arguments"], json!({}));
}

#[tokio::test]
async fn a_member_that_is_not_shown_is_refused_before_a_person_is_asked() {
    for era in ERAS {
        let stage = confirming().open().await;
        let agent = stage.agent(ClientOptions { era, capabilities: forms(), ..ClientOptions::default() });
        for member in ["extra", "task", "argument/s", "inputResponses", "requestState"] {
            let mut call = params();
            call[member] = json!("{}");
            let outcome = agent.send("tools/call", call).await;
            let error = &outcome.answer["error"];
            let path = format!("/params/{}", member.replace('/', "~1"));
            assert_eq!((&error["code"], &error["data"]["path"]), (&json!(-32602), &json!(path)), "{error}");
            assert!(outcome.before.is_empty());
            assert_eq!(error["data"]["decision"], stage.audit().last().unwrap()["id"], "{error}");
            assert_eq!(stage.events().pop().unwrap(), "blocked tools/call");
        }
        assert!(stage.up().journal().is_empty());
    }
}

#[tokio::test]
async fn a_reply_that_a_person_must_see_waits_for_their_yes() {
    let rule = json!({ "name": "strangers", "effect": "confirm", "phase": "result",
        "when": { "tool.id": FETCH, "response.annotations.openWorldHint": { "in": [true, false] } } });
    for legacy in [true, false] {
        for (answer, released) in [(yes(), true), (json!({ "action": "decline" }), false)] {
            let stage = Setup::usual().rule(rule.clone()).open().await;
            let call = json!({ "name": FETCH, "arguments": {} });
            let (agent, reply) = if legacy {
                let agent = stage.legacy(forms());
                let running = agent.start("tools/call", call);
                let outcome = running.finish_answering(|_, _| Some(answer.clone())).await;
                assert!(outcome.before[0]["params"]["message"].as_str().unwrap().contains("has run already"));
                (agent, outcome.answer)
            } else {
                let agent = stage.modern(forms());
                let asked = agent.send("tools/call", call.clone()).await.answer;
                assert!(stage.label(&agent).is_empty(), "it was not released");
                let answers = json!({ "highwater_approval": answer });
                let reply = agent.answer("tools/call", &call, &asked, answers).await;
                (agent, reply)
            };
            assert_eq!(reply["result"]["isError"] != true, released, "{reply}");
            assert_eq!(stage.up().runs("fetch"), 1);
            let end = if released { "delivered" } else { "withheld" };
            assert_eq!(stage.events().pop().unwrap(), end);
            assert_eq!(!stage.label(&agent).is_empty(), released);
        }
    }
}
