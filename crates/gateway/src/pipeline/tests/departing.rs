//! What a call goes through, from its arrival to its delivery: allowed, asked about or blocked, whatever the eras.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use highwater_store::Fault;
use highwater_upstream::error::Cause;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{
    ACT, ERAS, FETCH, LOOK, SEND, Setup, Stage, Step, decision, refusal, remediation, stocked, text,
};

#[tokio::test]
async fn a_call_reaches_its_server_under_its_own_name_and_comes_back_in_every_era() {
    for server in ERAS {
        for client in ERAS {
            let stage = Setup::new().server("up", stocked().in_era(server)).open().await;
            stage.up().on("look", [Step::say("hi")]);
            let answer = stage.of_era(client).call(LOOK, json!({ "path": "a" })).await;
            assert_eq!(text(&answer), "hi", "{answer}");
            let heard = stage.up().of_method("tools/call");
            assert_eq!(heard.len(), 1);
            assert_eq!(
                (&heard[0]["name"], &heard[0]["arguments"]),
                (&json!("look"), &json!({ "path": "a" }))
            );
            assert_eq!(stage.events(), ["allowed tools/call", "delivered"]);
        }
    }
}

#[tokio::test]
async fn a_decision_is_on_record_before_its_server_hears_of_the_call() {
    let stage = Setup::usual().open().await;
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let (reader, then) = (stage.audit_reader(), Arc::clone(&seen));
    stage.up().on("look", [Step::run(move || *then.lock().unwrap() = reader.events()), Step::say("hi")]);
    stage.of_era(ERAS[0]).call(LOOK, json!({})).await;
    assert_eq!(*seen.lock().unwrap(), ["allowed tools/call"]);
    assert_eq!(stage.events(), ["allowed tools/call", "delivered"]);
}

#[tokio::test]
async fn arguments_arrive_byte_for_byte() {
    let stage = Setup::usual().open().await;
    let arguments = r#"{"z":1.50, "a":[1e2,"\u0041"], "n":9007199254740993}"#;
    for era in ERAS {
        let params = format!(r#"{{"name":"{LOOK}","arguments":{arguments}}}"#);
        text(&stage.of_era(era).send_text("tools/call", &params).await.answer);
    }
    let heard = stage.up().journal();
    assert_eq!(heard.len(), 2);
    assert!(heard.iter().all(|heard| heard.text.contains(arguments)), "{heard:?}");
}

#[tokio::test]
async fn what_a_rule_blocks_reaches_no_server_and_the_model_hears_no_reason() {
    let rule =
        json!({ "name": "no-looking", "effect": "block", "when": { "tool.id": LOOK }, "message": "mine" });
    for era in ERAS {
        let stage = Setup::usual().rule(rule.clone()).open().await;
        let answer = stage.of_era(era).call(LOOK, json!({})).await;
        assert_eq!(remediation(&answer), "unavailable");
        assert!(
            !answer.to_string().contains("mine") && !answer.to_string().contains("no-looking"),
            "{answer}"
        );
        assert!(stage.up().journal().is_empty());
        assert_eq!(stage.events(), ["blocked tools/call"]);
        assert_eq!(stage.audit()[0]["id"], decision(&answer));
    }
}

#[tokio::test]
async fn a_call_that_needs_a_person_is_refused_if_the_client_cannot_ask_one() {
    let rule = json!({ "name": "look-twice", "effect": "confirm", "when": { "tool.id": LOOK } });
    for era in ERAS {
        let stage = Setup::usual().rule(rule.clone()).open().await;
        let answer = stage.of_era(era).call(LOOK, json!({})).await;
        assert_eq!(remediation(&answer), "undisclosed");
        assert!(stage.up().journal().is_empty());
        assert_eq!(stage.events(), ["asked tools/call", "blocked tools/call"]);
    }
}

#[tokio::test]
async fn the_strictest_rule_wins_whatever_their_order() {
    let confirm = json!({ "name": "a", "effect": "confirm", "when": { "tool.id": LOOK } });
    let block = json!({ "name": "b", "effect": "block", "when": { "tool.id": LOOK } });
    for rules in [[confirm.clone(), block.clone()], [block, confirm]] {
        let stage = Setup::usual().with(|config| config["rules"] = json!(rules)).open().await;
        let forms = json!({ "elicitation": { "form": {} } });
        assert_eq!(remediation(&stage.modern(forms).call(LOOK, json!({})).await), "unavailable");
        assert_eq!(stage.events(), ["blocked tools/call"]);
    }
}

#[tokio::test]
async fn a_rule_that_would_edit_the_reply_refuses_the_call() {
    let rule = json!({ "name": "no-mail", "effect": "redact", "when": { "tool.id": LOOK } });
    let stage = Setup::usual().rule(rule).open().await;
    let answer = stage.of_era(ERAS[1]).call(LOOK, json!({})).await;
    assert_eq!(remediation(&answer), "unavailable");
    assert!(stage.up().journal().is_empty());
    assert_eq!(stage.events(), ["blocked tools/call"]);
}

#[tokio::test]
async fn observing_stops_nothing_and_records_what_would_have_happened() {
    let stage = Setup::usual().with(|config| config["flow"] = json!("observe")).open().await;
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call(FETCH, json!({})).await);
    text(&agent.call(ACT, json!({})).await);
    assert_eq!((stage.up().runs("fetch"), stage.up().runs("act")), (1, 1));
    let act = stage.audit().into_iter().find(|record| record["target"] == "act").unwrap();
    assert_eq!((&act["ruling"], &act["findings"][0]["id"]), (&json!("allowed"), &json!("flow.act")), "{act}");
}

#[tokio::test]
async fn an_error_of_the_server_is_delivered_as_its_own() {
    for era in ERAS {
        let stage = Setup::usual().open().await;
        let error = json!({ "code": -32000, "message": "no such note", "data": { "near": "b" } });
        stage.up().on("look", [Step::Error(error.clone())]);
        let answer = stage.of_era(era).call(LOOK, json!({})).await;
        assert_eq!(answer["error"], error);
        assert_eq!(stage.events(), ["allowed tools/call", "upstream-error"]);
    }
}

#[tokio::test]
async fn a_server_that_fails_leaves_an_outcome_and_the_caller_learns_whether_it_may_have_run() {
    let gone = || Cause::Gone("closed".to_owned());
    let cases = [
        (gone(), true, "failed", "may have taken effect"),
        (gone(), false, "failed", "nothing was executed"),
        (Cause::TimedOut(Duration::from_secs(60)), true, "timed-out", "may have taken effect"),
        (Cause::TooLarge { limit: 10 }, true, "failed", "may have taken effect"),
        (Cause::Malformed("it is not JSON".to_owned()), true, "failed", "may have taken effect"),
    ];
    for (cause, sent, outcome, advice) in cases {
        let stage = Setup::usual().open().await;
        stage.up().on("act", [Step::Fail(cause.clone(), sent)]);
        let answer = stage.of_era(ERAS[1]).call(ACT, json!({})).await;
        assert!(refusal(&answer).contains(advice), "{answer}");
        assert_eq!(stage.events(), ["allowed tools/call", outcome], "{cause}");
    }
}

#[tokio::test]
async fn a_call_for_the_public_counts_before_it_is_sent_whatever_comes_back() {
    for sent in [true, false] {
        let stage = Setup::usual().open().await;
        stage.up().on("send", [Step::Fail(Cause::Gone("closed".to_owned()), sent)]);
        let agent = stage.of_era(ERAS[1]);
        refusal(&agent.call(SEND, json!({})).await);
        assert_eq!(stage.label(&agent), ["wroteExternally"]);
    }
}

/// How a call for the public may end without its reply.
fn ends(stage: &Stage, how: &str) -> Vec<Step> {
    let memory = stage.memory.clone();
    let store_fails = Step::run(move || memory.set_fault(Some(Fault::Write)));
    match how {
        "withheld by policy" => vec![Step::Answer(json!({ "resultType": "strange" }))],
        "cancelled" => vec![Step::Wait(Arc::default())],
        "its label cannot be stored" => vec![store_fails, Step::say("hi")],
        "failed while the store fails" => {
            vec![store_fails, Step::Fail(Cause::Gone("closed".to_owned()), true)]
        }
        _ => panic!("{how}"),
    }
}

#[tokio::test]
async fn no_end_of_a_call_for_the_public_hides_it_from_rules() {
    let rule = json!({ "name": "one-exit", "effect": "block",
        "when": { "tool.id": ACT, "session.wroteExternally": true } });
    let all =
        ["withheld by policy", "cancelled", "its label cannot be stored", "failed while the store fails"];
    for how in all {
        let server = super::stocked().in_era(ERAS[1]);
        let stage = Setup::new().server("up", server).rule(rule.clone()).open().await;
        stage.up().on("send", ends(&stage, how));
        let agent = stage.of_era(ERAS[0]);
        let call = agent.start_call(SEND, json!({}));
        stage.up().reached(1).await;
        if how == "cancelled" {
            call.cancel().await;
        } else {
            refusal(&call.finish().await.answer);
        }
        stage.memory.set_fault(None);
        assert!(stage.label(&agent).contains(&"wroteExternally"), "{how}: {:?}", stage.label(&agent));
        refusal(&agent.call(ACT, json!({})).await);
        assert_eq!(stage.up().runs("act"), 0, "{how}");
    }
}

#[tokio::test]
async fn what_cannot_be_noted_as_leaving_does_not_leave() {
    let rule = json!({ "name": "one-exit", "effect": "block",
        "when": { "tool.id": ACT, "session.wroteExternally": true } });
    let stage = Setup::usual().rule(rule).open().await;
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call(LOOK, json!({})).await);
    stage.memory.set_fault(Some(Fault::Write));
    assert!(refusal(&agent.call(SEND, json!({})).await).contains("outage"));
    assert_eq!(stage.up().runs("send"), 0);
    assert_eq!(stage.events().last().unwrap(), "unavailable tools/call");
}

#[tokio::test]
async fn calls_that_run_at_once_are_decisions_of_their_own() {
    let stage = Setup::usual().open().await;
    let go = Arc::new(Notify::new());
    stage.up().on("look", [Step::Wait(Arc::clone(&go)), Step::say("one")]);
    let agent = stage.of_era(ERAS[0]);
    let slow = agent.start_call(LOOK, json!({}));
    stage.up().reached(1).await;
    text(&agent.call(ACT, json!({})).await);
    assert!(!slow.is_over());
    go.notify_one();
    assert_eq!(text(&slow.finish().await.answer), "one");
    let ids: Vec<Value> = stage.audit().iter().map(|record| record["id"].clone()).collect();
    assert_eq!(ids, [&ids[0], &ids[1], &ids[1], &ids[0]].map(Clone::clone));
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn a_call_that_is_given_up_is_recorded_as_cancelled_once() {
    for era in ERAS {
        let stage = Setup::usual().open().await;
        stage.up().on("look", []);
        let call = stage.of_era(era).start_call(LOOK, json!({}));
        stage.up().reached(1).await;
        call.cancel().await;
        assert_eq!(stage.events(), ["allowed tools/call", "cancelled"]);
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_while_a_person_is_asked_never_ran() {
    let rule = json!({ "name": "look-twice", "effect": "confirm", "when": { "tool.id": LOOK } });
    let stage = Setup::usual().rule(rule).open().await;
    let mut call = stage.legacy(json!({ "elicitation": {} })).start_call(LOOK, json!({}));
    assert_eq!(call.next().await["method"], "elicitation/create");
    call.cancel().await;
    assert!(stage.up().journal().is_empty());
    assert_eq!(stage.events(), ["asked tools/call", "asked by form"]);
}

#[tokio::test]
async fn a_write_that_finds_no_place_in_line_is_not_made() {
    let rule = json!({ "name": "ask", "effect": "confirm", "when": { "tool.id": ACT } });
    let stage = Setup::usual().rule(rule).open().await;
    stage.up().leave_places(0);
    let agent = stage.legacy(json!({ "elicitation": {} }));
    let refused = agent.call(LOOK, json!({})).await;
    assert_eq!(refused["error"]["message"], "server `up` is being shut down", "{refused}");
    // Whoever waits for a person has given up their place, and takes another when the answer is there.
    stage.up().leave_places(1);
    let yes = |_: &str, _: &Value| Some(json!({ "action": "accept", "content": { "allow": true } }));
    let late = agent.start_call(ACT, json!({})).finish_answering(yes).await;
    assert_eq!(late.answer["error"]["message"], "server `up` is being shut down", "{:?}", late.answer);
    assert!(stage.up().journal().is_empty());
}
