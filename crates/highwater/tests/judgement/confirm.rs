//! A person is asked about one call: by a form, in either era, once, and only an explicit yes lets it run.

use std::sync::{Arc, Mutex};

use highwater_testkit::client::{Client, Era, Question, Reply, Request};
use highwater_testkit::wait::until_true;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::stage::{ACT, ERAS, PRIVATE, SEND, STRANGE, Stage, done, refused};

/// A client whose person answers like this, and what they were asked.
async fn asked(stage: &Stage, era: Era, reply: Reply) -> (Client, Arc<Mutex<Vec<String>>>) {
    let questions: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&questions);
    let answering = move |question: &Question| {
        assert_eq!(question.method, "elicitation/create");
        heard.lock().unwrap().push(question.json().unwrap()["message"].as_str().unwrap().to_owned());
        reply.clone()
    };
    let setup = stage.setup(era).capabilities(json!({ "elicitation": { "form": {} } }));
    (setup.answering(answering).connect().await.unwrap(), questions)
}

fn yes() -> Reply {
    Reply::accept(json!({ "allow": true }))
}

#[tokio::test]
async fn a_call_runs_once_a_person_said_yes_and_names_where_the_doubt_came_from() {
    for era in ERAS {
        let stage = Stage::new(json!({})).await;
        let (client, questions) = asked(&stage, era, yes()).await;
        done(&client.call(ACT, json!({})).await.unwrap());
        assert!(questions.lock().unwrap().is_empty(), "a trusted session acts without a question");
        done(&client.call(STRANGE, json!({})).await.unwrap());
        done(&client.call(ACT, json!({})).await.unwrap());
        let questions = questions.lock().unwrap();
        assert_eq!(questions.len(), 1, "{questions:?}");
        let question = &questions[0];
        assert!(question.contains("`up__test_multiple_content_types` of server `up`"), "{question}");
        assert!(question.contains("`test_simple_text` of server `up`"), "{question}");
        assert!(!question.contains("flow.act"), "{question}");
        assert_eq!(stage.runs(ACT), 2);
    }
}

#[tokio::test]
async fn whatever_is_no_plain_yes_is_a_no() {
    let stage = Stage::new(json!({})).await;
    let noes = [
        Reply::decline(),
        Reply::Result(json!({ "action": "cancel" })),
        Reply::accept(json!({})),
        Reply::accept(json!({ "allow": false })),
        Reply::accept(json!({ "allow": "true" })),
    ];
    for era in ERAS {
        for no in &noes {
            let (client, questions) = asked(&stage, era, no.clone()).await;
            done(&client.call(STRANGE, json!({})).await.unwrap());
            let answer = client.call(ACT, json!({})).await.unwrap();
            refused(&answer, "unavailable");
            assert_eq!(questions.lock().unwrap().len(), 1);
        }
    }
    assert_eq!(stage.runs(ACT), 0);
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_gets_the_refusal_with_the_way_out() {
    for era in ERAS {
        let stage = Stage::new(json!({})).await;
        let client = stage.client(era).await;
        done(&client.call(STRANGE, json!({})).await.unwrap());
        let answer = client.call(ACT, json!({})).await.unwrap();
        refused(&answer, "undisclosed");
        let text = answer.text().unwrap();
        assert!(text.contains("approval") && text.contains("hwd_"), "{text}");
        for internal in ["flow", "untrusted", "rule", "label", "test_simple_text"] {
            assert!(!text.contains(internal), "the model is told no reason: {text}");
        }
        assert_eq!(stage.runs(ACT), 0);
    }
}

#[tokio::test]
async fn no_form_asks_whether_private_data_may_leave_a_doubtful_session() {
    for era in ERAS {
        let stage = Stage::new(json!({})).await;
        let (client, questions) = asked(&stage, era, yes()).await;
        done(&client.call(PRIVATE, json!({})).await.unwrap());
        done(&client.call(STRANGE, json!({})).await.unwrap());
        // It takes a page, and here is none: a form is the client's own word.
        refused(&client.call(SEND, json!({})).await.unwrap(), "undisclosed");
        assert!(questions.lock().unwrap().is_empty());
        assert_eq!(stage.runs(SEND), 0);
    }
}

/// The first round of a call that a person must see: what the gateway wants back with the answer.
async fn first_round(client: &Client, arguments: &Value) -> Value {
    let first = client.send(Request::call(ACT, arguments).once()).await.unwrap();
    assert_eq!(first.at("/result/resultType"), "input_required", "{}", first.raw());
    first.at("/result/requestState")
}

fn retry(arguments: &Value, state: &Value, tool: &str) -> Request {
    let answer = json!({ "highwater_approval": { "action": "accept", "content": { "allow": true } } });
    let params =
        json!({ "name": tool, "arguments": arguments, "inputResponses": answer, "requestState": state });
    Request::new("tools/call").params(params).once()
}

#[tokio::test]
async fn an_answer_is_used_once_and_for_the_call_it_was_given_for() {
    let stage = Stage::new(json!({})).await;
    let setup = stage.setup(Era::Modern).capabilities(json!({ "elicitation": { "form": {} } }));
    let client = setup.connect().await.unwrap();
    done(&client.call(STRANGE, json!({})).await.unwrap());
    let arguments = json!({ "to": "a", "amount": 10 });
    let state = first_round(&client, &arguments).await;

    let other = client.send(retry(&json!({ "to": "b", "amount": 10 }), &state, ACT)).await.unwrap();
    assert_eq!(other.error_code(), Some(-32602), "{}", other.raw());
    let other = client.send(retry(&arguments, &state, SEND)).await.unwrap();
    assert_eq!(other.error_code(), Some(-32602), "{}", other.raw());
    assert_eq!((stage.runs(ACT), stage.runs(SEND)), (0, 0));

    // The same call, its members in another order, as clients build them.
    let turned = json!({ "amount": 10, "to": "a" });
    done(&client.send(retry(&turned, &state, ACT)).await.unwrap());
    let again = client.send(retry(&arguments, &state, ACT)).await.unwrap();
    assert_eq!(again.at("/result/isError"), json!(true), "{}", again.raw());
    assert!(again.text().unwrap().contains("expired"), "{}", again.raw());
    assert_eq!(stage.runs(ACT), 1);
}

#[tokio::test]
async fn a_question_that_is_not_answered_is_put_again() {
    let stage = Stage::new(json!({})).await;
    let setup = stage.setup(Era::Modern).capabilities(json!({ "elicitation": { "form": {} } }));
    let client = setup.connect().await.unwrap();
    done(&client.call(STRANGE, json!({})).await.unwrap());
    let state = first_round(&client, &json!({})).await;
    let params = json!({ "name": ACT, "arguments": {}, "requestState": state });
    let again = client.send(Request::new("tools/call").params(params).once()).await.unwrap();
    assert_eq!(again.at("/result/resultType"), "input_required", "{}", again.raw());
    done(&client.send(retry(&json!({}), &again.at("/result/requestState"), ACT)).await.unwrap());
}

#[tokio::test]
async fn what_the_person_was_not_told_is_a_new_question() {
    let stage = Stage::new(json!({})).await;
    let setup = stage.setup(Era::Modern).capabilities(json!({ "elicitation": { "form": {} } }));
    let client = setup.connect().await.unwrap();
    done(&client.call(STRANGE, json!({})).await.unwrap());
    let state = first_round(&client, &json!({})).await;
    // Meanwhile a rule says more about this tool.
    let rule = json!({ "name": "look-closely", "effect": "confirm", "when": { "tool.id": ACT } });
    let config = crate::stage::config(stage.gateway.home(), &json!({ "rules": [rule] }));
    stage.gateway.home().configure(&config.to_string()).unwrap();
    stage.gateway.signal(Signal::HUP).unwrap();
    until_true("the rule counts", || stage.gateway.log().contains("was read again")).await.unwrap();
    let answer = client.send(retry(&json!({}), &state, ACT)).await.unwrap();
    assert_eq!(answer.at("/result/resultType"), "input_required", "{}", answer.raw());
    let question = answer.at("/result/inputRequests/highwater_approval/params/message");
    assert!(question.as_str().unwrap().contains("look-closely"), "{question}");
    assert_eq!(stage.runs(ACT), 0);
    done(&client.send(retry(&json!({}), &answer.at("/result/requestState"), ACT)).await.unwrap());
}

#[tokio::test]
async fn a_reply_that_a_person_must_see_waits_for_them() {
    let rule = json!({ "name": "strangers", "effect": "confirm", "phase": "result", "when": { "tool.id": STRANGE,
        "response.annotations.openWorldHint": { "in": [true, false] } } });
    for era in ERAS {
        for (reply, released) in [(yes(), true), (Reply::decline(), false)] {
            let stage = Stage::new(json!({ "rules": [rule] })).await;
            let (client, questions) = asked(&stage, era, reply).await;
            let answer = client.call(STRANGE, json!({})).await.unwrap();
            let questions = questions.lock().unwrap();
            assert_eq!(questions.len(), 1, "{era:?}: {}", answer.raw());
            assert!(questions[0].contains("has run already"), "{}", questions[0]);
            match released {
                true => done(&answer),
                false => {
                    assert_eq!(answer.at("/result/isError"), json!(true), "{}", answer.raw());
                    // The call has run, so nothing says that it has not.
                    let denied = answer.at("/result/_meta/io.modelcontextprotocol~1authorization");
                    assert_eq!(denied, Value::Null, "{}", answer.raw());
                }
            }
            assert_eq!(stage.runs(STRANGE), 1);
        }
    }
}
