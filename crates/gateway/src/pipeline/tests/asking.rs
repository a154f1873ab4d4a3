//! How people are asked, by what their client can do and what its token says: nobody agrees to what they were not shown,
//! nobody is asked in a way that leads nowhere, and the conversation that asked gets the answer.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::approver::Approver;
use super::{ACT, Agent, ClientOptions, ERAS, Setup, Stage, forms, pages, refusal, text, yes};
use crate::approvals::NewQuestion;

const CHALLENGE: &str = "approval/challenge/create";

/// Every call of one tool needs this of a person, and a token was made by hand for each word of `forms`.
async fn stage(effect: &str) -> (Stage, Approver) {
    let rule = json!({ "name": "ask", "effect": effect, "when": { "tool.id": ACT } });
    let everything = |forms: &str| json!({ "permissions": ["read", "write", "destructive"], "servers": ["*"], "forms": forms });
    let mut unsaid = everything("never");
    unsaid.as_object_mut().unwrap().remove("forms");
    let setup = Setup::usual().rule(rule).with_page().token("unsaid", unsaid);
    let setup = setup.token("never", everything("never")).token("person", everything("person"));
    let stage = setup.open().await;
    let approver = Approver::enrolled(&stage).await;
    (stage, approver)
}

fn act(path: &str) -> Value {
    json!({ "name": ACT, "arguments": { "path": path } })
}

/// What a client says that has forms and can send its person to a page.
fn both() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} } })
}

/// How a modern client's person is asked by this answer.
fn mode(answer: &Value) -> &str {
    let asked = &answer["result"]["inputRequests"]["highwater_approval"]["params"]["mode"];
    asked.as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn a_form_that_cannot_show_all_arguments_is_not_used() {
    for era in ERAS {
        let (stage, approver) = stage("confirm").await;
        let agent = stage.agent(ClientOptions { era, capabilities: forms(), ..ClientOptions::default() });
        let long = act(&"a".repeat(2_500));
        let mut outcome = pin!(agent.start("tools/call", long.clone()).finish_answering(|_, _| Some(yes())));
        let request = tokio::select! {
            ended = &mut outcome => panic!("{era:?}: nobody was asked on the page: {ended:?}"),
            request = approver.asked() => request,
        };
        assert!(request.arguments.contains(&"a".repeat(2_500)), "the page shows all of it");
        approver.confirm(&request.id, None).await.unwrap();
        let outcome = outcome.await;
        assert!(outcome.before.is_empty(), "{era:?}: no form: {:?}", outcome.before);
        text(&outcome.answer);
        assert_eq!(stage.up().runs("act"), 1);
    }
    // Where there is no page nobody is asked at all.
    let rule = json!({ "name": "ask", "effect": "confirm", "when": { "tool.id": ACT } });
    let stage = Setup::usual().rule(rule).open().await;
    let answer = stage.modern(forms()).send("tools/call", act(&"a".repeat(2_500))).await.answer;
    assert!(refusal(&answer).contains("needs the approval of a person"), "{answer}");
    assert!(stage.up().journal().is_empty());
}

#[tokio::test]
async fn what_a_client_answers_to_a_form_counts_where_the_operator_says_that_a_person_answers() {
    for era in ERAS {
        for (token, by_form) in [("person", true), ("never", false), ("unsaid", false)] {
            let (stage, approver) = stage("confirm").await;
            let token = Some(stage.token(token));
            let agent =
                stage.agent(ClientOptions { era, capabilities: forms(), token, ..ClientOptions::default() });
            let running = agent.start("tools/call", act("a"));
            if by_form {
                let outcome = running.finish_answering(|_, _| Some(yes())).await;
                let asked = stage.events().into_iter().filter(|told| told == "asked by form").count();
                assert_eq!((asked, approver.waiting().await), (1, 0), "{outcome:?}");
                continue;
            }
            // Whatever the client would say: it is not asked.
            approver.decline(&approver.asked().await.id).await;
            let outcome = running.finish_answering(|_, _| Some(yes())).await;
            assert!(outcome.before.is_empty(), "{outcome:?}");
            refusal(&outcome.answer);
            assert!(stage.up().journal().is_empty());
        }
    }
}

#[tokio::test]
async fn a_client_whose_forms_do_not_count_is_given_the_address_of_the_page() {
    let (stage, _approver) = stage("confirm").await;
    for (token, expected) in [("person", "form"), ("never", "url")] {
        let token = Some(stage.token(token));
        let agent = stage.agent(ClientOptions { capabilities: both(), token, ..ClientOptions::default() });
        assert_eq!(mode(&agent.send("tools/call", act("a")).await.answer), expected);
    }
}

#[tokio::test]
async fn a_form_that_is_answered_after_the_operator_took_the_word_back_counts_nothing() {
    let (stage, approver) = stage("confirm").await;
    let token = Some(stage.token("person"));
    let agent = stage.agent(ClientOptions { capabilities: forms(), token, ..ClientOptions::default() });
    let asked = agent.send("tools/call", act("a")).await.answer;
    stage.reload(|config| config["agent_tokens"]["person"]["forms"] = json!("never"));
    let mut retry = act("a");
    retry["requestState"] = asked["result"]["requestState"].clone();
    retry["inputResponses"] = json!({ "highwater_approval": yes() });
    let running = agent.start("tools/call", retry);
    approver.decline(&approver.asked().await.id).await;
    refusal(&running.finish().await.answer);
    assert!(stage.up().journal().is_empty());
}

/// D5: several clients hold one token.
#[tokio::test]
async fn g19_only_the_connection_that_used_the_methods_is_told_that_evidence_is_missing() {
    let (stage, approver) = stage("passkey").await;
    let (native, plain) = (stage.of_era(ERAS[0]), stage.of_era(ERAS[0]));
    let asking = json!({ "toolName": ACT, "arguments": { "path": "a" } });
    let failed = native.send(CHALLENGE, json!({ "toolName": "nothing" })).await.answer;
    assert!(failed["error"].is_object(), "{failed}");
    let held = native.start("tools/call", act("a"));
    approver.decline(&approver.asked().await.id).await;
    assert!(refusal(&held.finish().await.answer).contains("did not approve"), "a failed attempt is none");

    let issued = native.send(CHALLENGE, asking.clone()).await.answer;
    assert!(issued["result"]["challengeId"].is_string(), "{issued}");
    let missing = native.send("tools/call", act("b")).await.answer;
    assert_eq!(missing["error"]["data"]["reason"], "missing_evidence", "{missing}");
    approver.decline(&approver.asked().await.id).await;
    let held = plain.start("tools/call", act("c"));
    approver.sign(&approver.asked().await.id).await.unwrap();
    text(&held.finish().await.answer);

    // Each request of a modern client says for itself what it can.
    let modern = stage.of_era(ERAS[1]);
    assert!(modern.send(CHALLENGE, asking).await.answer["result"]["challengeId"].is_string());
    let held = modern.start("tools/call", act("d"));
    approver.sign(&approver.asked().await.id).await.unwrap();
    text(&held.finish().await.answer);
    assert_eq!(stage.up().runs("act"), 2);
}

/// D4: there is no challenge for what takes no passkey, so a client that would sign is asked like every other.
#[tokio::test]
async fn g19_a_confirmation_reaches_a_client_that_signs_by_itself() {
    for era in ERAS {
        let (stage, approver) = stage("confirm").await;
        let native = |capabilities: Value| {
            stage.agent(ClientOptions {
                era,
                capabilities,
                speaks_approval: true,
                ..ClientOptions::default()
            })
        };
        let held = native(json!({})).start("tools/call", act("a"));
        approver.confirm(&approver.asked().await.id, None).await.unwrap();
        text(&held.finish().await.answer);

        let agent = native(forms());
        let outcome = agent.start("tools/call", act("b")).finish_answering(|_, _| Some(yes())).await;
        let mut answer = outcome.answer;
        if answer["result"]["resultType"] == "input_required" {
            assert_eq!(mode(&answer), "form");
            let answers = json!({ "highwater_approval": yes() });
            answer = agent.answer("tools/call", &act("b"), &answer, answers).await;
        }
        text(&answer);

        let agent = native(pages());
        let mut running = agent.start("tools/call", act("c"));
        let request = approver.asked().await;
        if era == ERAS[0] {
            let question = running.next().await;
            assert_eq!(question["params"]["mode"], "url", "{question}");
            approver.confirm(&request.id, None).await.unwrap();
            text(&running.finish().await.answer);
        } else {
            let asked = running.finish().await.answer;
            assert_eq!(mode(&asked), "url");
            approver.confirm(&request.id, None).await.unwrap();
            let opened = json!({ "highwater_approval": { "action": "accept" } });
            text(&agent.answer("tools/call", &act("c"), &asked, opened).await);
        }
        assert_eq!(stage.up().runs("act"), 3, "{era:?}");
    }
}

/// F11: some clients give a call up after five seconds, and then their model never reads where to answer.
#[tokio::test(start_paused = true)]
async fn a_client_of_which_nothing_is_known_is_told_where_to_answer_within_four_seconds() {
    let (stage, approver) = stage("confirm").await;
    for era in ERAS {
        let agent = stage.of_era(era);
        let path = format!("{era:?}");
        let began = Instant::now();
        let waits = agent.send("tools/call", act(&path)).await.answer;
        assert!(began.elapsed() <= Duration::from_millis(4_100), "{:?}", began.elapsed());
        let request = approver.asked().await;
        assert!(refusal(&waits).contains(&request.url), "{waits}");
        approver.confirm(&request.id, None).await.unwrap();
        text(&agent.send("tools/call", act(&path)).await.answer);
    }
    assert_eq!(stage.up().runs("act"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_known_to_wait_is_held_for_longer() {
    let (stage, _approver) = stage("confirm").await;
    let legacy = |name: &'static str, capabilities: Value| {
        stage.agent(ClientOptions { era: ERAS[0], name, capabilities, ..ClientOptions::default() })
    };
    let with_progress = |path: &str| {
        let mut params = act(path);
        params["_meta"] = json!({ "progressToken": 1 });
        params
    };
    for (agent, params, least) in [
        (legacy("claude-code", json!({})), with_progress("a"), 240),
        (legacy("another", json!({})), with_progress("b"), 4),
        (legacy("another", pages()), act("c"), 45),
    ] {
        let began = Instant::now();
        refusal(&agent.send("tools/call", params).await.answer);
        let waited = began.elapsed();
        let least = Duration::from_secs(least);
        assert!(waited >= least && waited < least + Duration::from_secs(1), "{least:?}: {waited:?}");
    }
}

fn in_context(stage: &Stage, context: &str) -> Agent {
    stage.agent(ClientOptions { context: Some(context), ..ClientOptions::default() })
}

/// E23: what leaked was who had asked.
#[tokio::test(start_paused = true)]
async fn a_yes_is_collected_by_the_conversation_that_asked() {
    for effect in ["confirm", "passkey"] {
        let (stage, approver) = stage(effect).await;
        let (one, other) = (in_context(&stage, "one"), in_context(&stage, "other"));
        refusal(&one.send("tools/call", act("a")).await.answer);
        let asked = approver.asked().await;
        match effect {
            "confirm" => approver.confirm(&asked.id, None).await.unwrap(),
            _ => approver.sign(&asked.id).await.unwrap(),
        };
        refusal(&other.send("tools/call", act("a")).await.answer);
        let theirs = approver.asked().await;
        assert_ne!(theirs.id, asked.id, "it asks for itself");
        assert!(stage.up().journal().is_empty());
        text(&one.send("tools/call", act("a")).await.answer);
        assert_eq!(stage.up().runs("act"), 1);
        refusal(&other.send("tools/call", act("a")).await.answer);
        assert_eq!((stage.up().runs("act"), approver.waiting().await), (1, 1), "{effect}");
    }
}

/// D12: of three questions within ten seconds one was announced.
#[tokio::test]
async fn every_question_is_announced_once_and_only_once() {
    let (stage, approver) = stage("confirm").await;
    let announced: Arc<Mutex<Vec<NewQuestion>>> = Arc::default();
    let heard = Arc::clone(&announced);
    stage
        .gateway
        .approval_service()
        .unwrap()
        .announce_with(move |question| heard.lock().unwrap().push(question.clone()));
    let agent = stage.modern(pages());
    for path in ["a", "b", "c", "a"] {
        agent.send("tools/call", act(path)).await;
    }
    let announced = announced.lock().unwrap().clone();
    let mut urls: Vec<&str> = announced.iter().map(|question| question.url.as_str()).collect();
    urls.dedup();
    assert_eq!((urls.len(), announced.len(), approver.waiting().await), (3, 3, 3), "{announced:?}");
    let line = announced[0].line();
    assert!(line.contains("up__act on up") && line.contains(urls[0]) && line.contains("owner"), "{line}");
    assert!(!line.contains("path"), "nothing of the arguments: {line}");
}

/// D16: what is signed through a variant is the whole call or nothing, and where several sign the page says where.
#[tokio::test]
async fn a_challenge_is_refused_for_what_its_call_could_not_be_and_says_where_several_sign() {
    let rule = json!({ "name": "ask", "effect": "passkey", "when": { "tool.id": ACT } });
    let quorum = json!({ "up:act": { "quorum": { "n": 2, "approvers": ["ada", "ben"] } } });
    let setup = Setup::usual().rule(rule).with_page();
    let stage = setup.with(|config| config["approvals"]["tools"] = quorum).open().await;
    let agent = stage.agent(ClientOptions { speaks_approval: true, ..ClientOptions::default() });
    let asking = json!({ "toolName": ACT, "arguments": { "path": "a" } });
    let refused = agent.send(CHALLENGE, asking.clone()).await.answer;
    let data = &refused["error"]["data"];
    assert_eq!(data["reason"], "no_eligible_credential", "{refused}");
    assert!(data["approvalUrl"].as_str().unwrap().ends_with("/inbox"), "{refused}");
    // Once its call waits, it is the page of that.
    let missing = agent.send("tools/call", act("a")).await.answer;
    let refused = agent.send(CHALLENGE, asking).await.answer;
    assert_eq!(refused["error"]["data"]["approvalUrl"], missing["error"]["data"]["approvalUrl"], "{refused}");

    let inner = json!({ "name": ACT, "arguments": { "path": "a" }, "also": 1 });
    let refused = agent.send(CHALLENGE, json!({ "toolName": "call_tool_write", "arguments": inner })).await;
    assert_eq!(refused.answer["error"]["code"], -32602, "{refused:?}");
    assert!(refused.answer["error"]["message"].as_str().unwrap().contains("\"also\""), "{refused:?}");
}
