//! A person answers on the page: by a button or with their passkey, for exactly one call, which runs once and only if
//! its caller still waits.

use highwater_store::Fault;
use serde_json::{Value, json};

use super::approver::Approver;
use super::{ACT, Agent, ClientOptions, ERAS, Setup, Stage, forms, pages, refusal, remediation, text};

/// Every call of one tool needs this of a person.
fn needing(effect: &str) -> Setup {
    let rule = json!({ "name": "ask", "effect": effect, "when": { "tool.id": ACT } });
    Setup::usual().rule(rule).with_page()
}

async fn stage(effect: &str) -> (Stage, Approver) {
    let stage = needing(effect).open().await;
    let approver = Approver::enrolled(&stage).await;
    (stage, approver)
}

fn params() -> Value {
    json!({ "name": ACT, "arguments": { "path": "a" } })
}

fn opened() -> Value {
    json!({ "highwater_approval": { "action": "accept" } })
}

/// What happened after the person had enrolled.
fn events(stage: &Stage) -> Vec<String> {
    let enrolling = ["approval window-opened", "approval enrolled", "approval confirmed-passkey"];
    stage.events().into_iter().filter(|told| !enrolling.contains(&told.as_str())).collect()
}

#[tokio::test]
async fn a_call_is_held_until_the_person_has_signed_and_runs_in_the_bytes_they_signed() {
    for era in ERAS {
        let (stage, approver) = stage("passkey").await;
        let spelled = format!(r#"{{"name":"{ACT}","arguments":{{"path":"\u0061","n":1.0}}}}"#);
        let call = stage.of_era(era).start_text("tools/call", &spelled);
        let request = approver.asked().await;
        assert_eq!((request.tool.as_str(), request.arguments.as_str()), (ACT, r#"{"n":1,"path":"a"}"#));
        assert!(stage.up().journal().is_empty() && !call.is_over());
        approver.sign(&request.id).await.unwrap();
        text(&call.finish().await.answer);
        assert!(stage.up().journal()[0].text.contains(r#""arguments":{"n":1,"path":"a"}"#));
        let told = ["asked tools/call", "approval asked", "asked by page", "approval signed"];
        assert_eq!(events(&stage)[..4], told);
        assert_eq!(events(&stage)[4..], ["answered approve", "approved tools/call", "delivered"]);
        let receipts =
            stage.audit().iter().find(|record| record["ruling"] == "approved").unwrap()["receipts"].clone();
        assert_eq!((receipts.as_array().unwrap().len(), approver.receipts().await), (1, 1), "{receipts}");
    }
}

#[tokio::test]
async fn a_button_is_enough_for_a_confirmation_and_never_for_a_passkey() {
    for (effect, enough) in [("confirm", true), ("passkey", false)] {
        let (stage, approver) = stage(effect).await;
        let call = stage.of_era(ERAS[1]).start("tools/call", params());
        let request = approver.asked().await;
        assert_eq!(approver.confirm(&request.id, None).await.is_ok(), enough);
        if enough {
            text(&call.finish().await.answer);
            assert_eq!(stage.up().runs("act"), 1);
        } else {
            call.cancel().await;
            assert!(stage.up().journal().is_empty());
        }
    }
}

#[tokio::test]
async fn no_form_serves_a_passkey() {
    let (stage, approver) = stage("passkey").await;
    for (agent, path) in [(stage.modern(forms()), "a"), (stage.legacy(forms()), "b")] {
        let call = agent.start_call(ACT, json!({ "path": path }));
        approver.decline(&approver.asked().await.id).await;
        let outcome = call.finish().await;
        assert!(outcome.before.is_empty(), "{outcome:?}");
        assert_eq!(remediation(&outcome.answer), "unavailable");
    }
    assert!(stage.up().journal().is_empty());
}

#[tokio::test]
async fn a_no_ends_the_call_and_stands_for_the_identical_one() {
    for era in ERAS {
        let (stage, approver) = stage("passkey").await;
        let agent = stage.of_era(era);
        let call = agent.start("tools/call", params());
        approver.decline(&approver.asked().await.id).await;
        assert_eq!(remediation(&call.finish().await.answer), "unavailable");
        assert_eq!(remediation(&agent.send("tools/call", params()).await.answer), "unavailable");
        assert_eq!(approver.waiting().await, 0, "no further request is opened");
        assert!(stage.up().journal().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_answered_in_time_names_the_page_and_the_identical_one_finds_the_answer_once() {
    for era in ERAS {
        let (stage, approver) = stage("passkey").await;
        let agent = stage.of_era(era);
        let waits = agent.send("tools/call", params()).await.answer;
        let request = approver.asked().await;
        assert!(refusal(&waits).contains(&request.url), "{waits}");
        let told = &waits["result"]["_meta"]["dev.highwater/approval"];
        assert_eq!((&told["state"], &told["url"]), (&json!("pending"), &json!(request.url)), "{waits}");
        approver.sign(&request.id).await.unwrap();
        let other = json!({ "name": ACT, "arguments": { "path": "b" } });
        assert!(refusal(&agent.send("tools/call", other).await.answer).contains("waits for the approval"));
        text(&agent.send("tools/call", params()).await.answer);
        assert!(refusal(&agent.send("tools/call", params()).await.answer).contains("waits for the approval"));
        assert_eq!(stage.up().of_method("tools/call").len(), 1, "{era:?}");
    }
}

#[tokio::test]
async fn nothing_is_done_for_a_caller_who_has_gone_and_the_next_one_finds_the_answer() {
    let (stage, approver) = stage("passkey").await;
    let agent = stage.of_era(ERAS[0]);
    let call = agent.start("tools/call", params());
    let request = approver.asked().await;
    call.leave();
    approver.sign(&request.id).await.unwrap();
    assert!(refusal(&call.finish().await.answer).contains("nobody waits"));
    assert!(stage.up().journal().is_empty());
    text(&agent.send("tools/call", params()).await.answer);
    assert_eq!((stage.up().runs("act"), approver.receipts().await), (1, 1));
}

#[tokio::test]
async fn calls_that_wait_for_the_same_answer_do_not_both_run_on_it() {
    let (stage, approver) = stage("passkey").await;
    let agent = stage.of_era(ERAS[1]);
    let (one, two) = (agent.start("tools/call", params()), agent.start("tools/call", params()));
    let request = approver.asked().await;
    approver.sign(&request.id).await.unwrap();
    stage.up().reached(1).await;
    let another = approver.asked().await;
    assert_ne!(another.id, request.id, "the second is asked anew");
    assert_eq!(stage.up().runs("act"), 1);
    approver.decline(&another.id).await;
    let answers = [one.finish().await.answer, two.finish().await.answer];
    let refused = answers.iter().filter(|answer| answer["result"]["isError"] == true).count();
    assert_eq!(refused, 1, "{answers:?}");
}

#[tokio::test]
async fn a_tool_that_changed_while_its_call_was_held_does_not_run() {
    for what in ["description", "inputSchema"] {
        let (stage, approver) = stage("passkey").await;
        let call = stage.of_era(ERAS[1]).start("tools/call", params());
        let request = approver.asked().await;
        stage.up().tools.lock().unwrap()[3][what] = json!({ "type": "object", "title": "Other." });
        stage.restock("up").await;
        approver.sign(&request.id).await.unwrap();
        assert!(refusal(&call.finish().await.answer).contains("changed"), "{what}");
        assert!(stage.up().journal().is_empty(), "{what}");
    }
}

#[tokio::test]
async fn what_a_new_policy_says_counts_although_a_person_signed() {
    let (stage, approver) = stage("passkey").await;
    let agent = stage.of_era(ERAS[1]);
    let call = agent.start("tools/call", params());
    let request = approver.asked().await;
    stage.reload(|config| config["rules"][0]["effect"] = json!("block"));
    approver.sign(&request.id).await.unwrap();
    assert_eq!(remediation(&call.finish().await.answer), "unavailable");
    assert!(stage.up().journal().is_empty());
}

#[tokio::test]
async fn what_the_session_heard_while_the_person_thought_is_another_question() {
    let (stage, approver) = stage("passkey").await;
    let agent = stage.of_era(ERAS[1]);
    let call = agent.start("tools/call", params());
    let request = approver.asked().await;
    text(&agent.call("up__fetch", json!({})).await);
    approver.sign(&request.id).await.unwrap();
    let another = approver.asked().await;
    let asks: Vec<&str> = another.context.asks.iter().map(|ask| ask.rule.as_str()).collect();
    assert!(asks.contains(&"flow.act"), "{asks:?}");
    assert_eq!(stage.up().runs("act"), 0);
    approver.sign(&another.id).await.unwrap();
    text(&call.finish().await.answer);
    assert_eq!((stage.up().runs("act"), approver.receipts().await), (1, 2));
}

/// A modern client that was sent to the page, and the request that waits there.
async fn sent_to_page(stage: &Stage, approver: &Approver) -> (Agent, Value, highwater_core::id::ApprovalId) {
    let agent = stage.modern(pages());
    let asked = agent.send("tools/call", params()).await.answer;
    let page = &asked["result"]["inputRequests"]["highwater_approval"]["params"];
    let request = approver.asked().await;
    assert_eq!((&page["mode"], &page["url"]), (&json!("url"), &json!(request.url)), "{asked}");
    assert_eq!(page["message"], "Approve with your passkey: up__act on up");
    (agent, asked, request.id)
}

#[tokio::test]
async fn a_modern_client_is_sent_to_the_page_and_its_retry_brings_the_result() {
    let (stage, approver) = stage("passkey").await;
    let (agent, asked, id) = sent_to_page(&stage, &approver).await;
    let other = json!({ "name": ACT, "arguments": { "path": "b" } });
    let foreign = agent.answer("tools/call", &other, &asked, opened()).await;
    assert_eq!(foreign["error"]["code"], -32602, "{foreign}");
    // The retry waits while the person signs.
    let mut retry = params();
    retry["requestState"] = asked["result"]["requestState"].clone();
    retry["inputResponses"] = opened();
    let call = agent.start("tools/call", retry);
    approver.sign(&id).await.unwrap();
    text(&call.finish().await.answer);
    let again = agent.answer("tools/call", &params(), &asked, json!({})).await;
    assert_eq!(again["result"]["resultType"], "input_required", "it is asked anew: {again}");
    assert_eq!(stage.up().runs("act"), 1);
    assert!(!stage.up().journal()[0].text.contains("highwater_approval"), "{:?}", stage.up().journal());
}

#[tokio::test]
async fn a_person_who_does_not_open_the_page_has_said_no() {
    for answer in [json!({ "action": "decline" }), json!({ "action": "cancel" }), json!({})] {
        let (stage, approver) = stage("passkey").await;
        let (agent, asked, _) = sent_to_page(&stage, &approver).await;
        let answers = json!({ "highwater_approval": answer });
        let refused = agent.answer("tools/call", &params(), &asked, answers).await;
        assert_eq!(remediation(&refused), "unavailable", "{answer}");
        assert_eq!(approver.waiting().await, 0);
        assert!(stage.up().journal().is_empty());
    }
}

#[tokio::test]
async fn a_legacy_client_is_asked_to_open_the_page_and_hears_that_it_was_answered() {
    for (action, runs) in [("accept", 1), ("decline", 0)] {
        let (stage, approver) = stage("passkey").await;
        let mut call = stage.legacy(pages()).start("tools/call", params());
        let question = call.next().await;
        let request = approver.asked().await;
        assert_eq!(question["params"]["url"], request.url, "{question}");
        call.reply(&question, &json!({ "action": action }));
        if runs == 1 {
            approver.sign(&request.id).await.unwrap();
        }
        let told = call.next().await;
        assert_eq!(told["method"], "notifications/elicitation/complete", "{told}");
        assert_eq!(told["params"]["elicitationId"], question["params"]["elicitationId"]);
        call.finish().await;
        assert_eq!(stage.up().runs("act"), runs, "{action}");
    }
}

#[tokio::test]
async fn a_member_that_is_not_shown_is_refused_and_metadata_stays_behind() {
    let (stage, approver) = stage("passkey").await;
    let agent = stage.of_era(ERAS[1]);
    let mut call = params();
    call["extra"] = json!(1);
    let refused = agent.send("tools/call", call).await.answer;
    assert_eq!(refused["error"]["data"]["path"], "/params/extra", "{refused}");
    assert_eq!(approver.waiting().await, 0);
    let mut call = params();
    call["_meta"] = json!({ "x.example/note": "smuggled" });
    let call = agent.start("tools/call", call);
    approver.sign(&approver.asked().await.id).await.unwrap();
    text(&call.finish().await.answer);
    assert_eq!(stage.up().journal().len(), 1);
    assert!(!stage.up().journal()[0].text.contains("smuggled"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_used_up_for_certain_lets_nothing_run() {
    for (fault, runs_later) in [(Fault::Write, 1), (Fault::LostAnswer, 0)] {
        let (stage, approver) = stage("passkey").await;
        let agent = stage.of_era(ERAS[1]);
        let call = agent.start("tools/call", params());
        approver.sign(&approver.asked().await.id).await.unwrap();
        stage.store_fails(fault);
        assert!(refusal(&call.finish().await.answer).contains("cannot be asked now"));
        assert!(stage.up().journal().is_empty(), "{fault:?}");
        stage.store_fails(None);
        agent.send("tools/call", params()).await;
        assert_eq!(stage.up().runs("act"), runs_later, "{fault:?}: at most once");
    }
}

#[tokio::test]
async fn no_request_is_opened_while_the_store_fails() {
    for fault in [Fault::Read, Fault::Write, Fault::LostAnswer] {
        let (stage, _approver) = stage("passkey").await;
        let agent = stage.of_era(ERAS[1]);
        text(&agent.call("up__look", json!({})).await);
        stage.store_fails(fault);
        let answer = agent.send("tools/call", params()).await.answer;
        assert!(refusal(&answer).contains("cannot be asked now"), "{fault:?}: {answer}");
        assert!(stage.up().runs("act") == 0);
    }
}

#[tokio::test(start_paused = true)]
async fn who_wants_progress_hears_that_the_call_waits() {
    let (stage, approver) = stage("passkey").await;
    let mut call = params();
    call["_meta"] = json!({ "progressToken": "mine" });
    let agent = stage.agent(ClientOptions { name: "claude-code", era: ERAS[0], ..ClientOptions::default() });
    let mut call = agent.start("tools/call", call);
    let told = call.next().await;
    assert_eq!(told["params"]["progressToken"], "mine", "{told}");
    let request = approver.asked().await;
    assert_eq!(told["params"]["message"], format!("waiting for approval: {}", request.url));
    approver.sign(&request.id).await.unwrap();
    text(&call.finish().await.answer);
}
