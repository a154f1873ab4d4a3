//! A server that verifies approvals itself: its challenges and the evidence for them pass through, once and for the call
//! they were made for, and nothing reaches it without.

use std::sync::Arc;

use serde_json::{Value, json};

use super::tools::doer;
use super::{Agent, ClientOptions, ERAS, Script, Setup, Stage, Step, forms, refusal, remediation, text, yes};

const KEY: &str = "io.modelcontextprotocol/verified-approval";
const WIPE: &str = "vault__wipe";

/// A server whose tool must be approved there; whether it says that it verifies approvals.
async fn vault(verifies: bool, setup: Setup) -> Stage {
    let mut tool = doer("wipe", "ephemeral", "benign");
    tool["_meta"] = json!({ KEY: { "required": "verified" } });
    let extensions = if verifies { json!({ "verifiedApproval": {} }) } else { json!({}) };
    let stage = setup.server("vault", Script::of([tool]).declaring("extensions", extensions)).open().await;
    let challenge = json!({ "challengeId": "c-1", "displayText": "Wipe it?", "requestOptions": {} });
    stage.server("vault").on("approval/challenge/create", [Step::Answer(challenge)]);
    stage
}

fn wipe(id: &str, evidence: Option<Value>) -> Value {
    let mut params = json!({ "name": WIPE, "arguments": { "id": id } });
    if let Some(evidence) = evidence {
        params["_meta"] = json!({ KEY: evidence });
    }
    params
}

fn evidence(challenge: &str) -> Option<Value> {
    Some(json!({ "method": "webauthn", "challengeId": challenge, "response": { "id": "AAAA" } }))
}

async fn challenge(agent: &Agent, id: &str) -> Value {
    let asking = json!({ "toolName": WIPE, "arguments": { "id": id } });
    agent.send("approval/challenge/create", asking).await.answer
}

#[track_caller]
fn rejected(answer: &Value, reason: &str) {
    assert_eq!(
        (&answer["error"]["code"], &answer["error"]["data"]["reason"]),
        (&json!(-32001), &json!(reason)),
        "{answer}"
    );
}

#[tokio::test]
async fn a_challenge_is_the_servers_own_and_says_whose_words_it_holds() {
    for era in ERAS {
        let stage = vault(true, Setup::new()).await;
        let answer = challenge(&stage.of_era(era), "a").await;
        assert_eq!(answer["result"]["challengeId"], "c-1", "{answer}");
        let said = json!({ "heading": "the server says", "server": "vault" });
        assert_eq!(answer["result"]["dev.highwater/displayText"], said, "{answer}");
        let heard = stage.server("vault").of_method("approval/challenge/create");
        assert_eq!((&heard[0]["toolName"], &heard[0]["arguments"]), (&json!("wipe"), &json!({ "id": "a" })));
        assert_eq!(stage.events(), ["allowed approval/challenge/create", "delivered"]);
    }
}

#[tokio::test]
async fn evidence_reaches_the_server_as_it_is_once_and_for_the_call_it_is_for() {
    for era in ERAS {
        let stage = vault(true, Setup::new()).await;
        let agent = stage.of_era(era);
        challenge(&agent, "a").await;
        rejected(
            &agent.send("tools/call", wipe("b", evidence("c-1"))).await.answer,
            "argument_hash_mismatch",
        );
        rejected(&agent.send("tools/call", wipe("a", evidence("c-2"))).await.answer, "challenge_unknown");
        assert_eq!(stage.server("vault").runs("wipe"), 0);
        text(&agent.send("tools/call", wipe("a", evidence("c-1"))).await.answer);
        let heard = stage.server("vault").of_method("tools/call").pop().unwrap();
        assert_eq!(heard["_meta"][KEY], evidence("c-1").unwrap(), "{heard}");
        rejected(&agent.send("tools/call", wipe("a", evidence("c-1"))).await.answer, "challenge_consumed");
        assert_eq!(stage.server("vault").runs("wipe"), 1);
    }
}

#[tokio::test]
async fn of_calls_that_come_at_once_with_one_challenge_one_goes() {
    let stage = vault(true, Setup::new()).await;
    let agent = stage.of_era(ERAS[1]);
    challenge(&agent, "a").await;
    let calls = (0..8).map(|_| agent.send("tools/call", wipe("a", evidence("c-1"))));
    let answers = futures_util::future::join_all(calls).await;
    let lost = answers.iter().filter(|outcome| outcome.answer["error"]["code"] == -32001).count();
    assert_eq!((lost, stage.server("vault").runs("wipe")), (7, 1));
}

#[tokio::test]
async fn of_calls_that_wait_for_a_person_with_one_challenge_one_goes() {
    let rule = json!({ "name": "ask", "effect": "confirm", "when": { "tool.id": WIPE } });
    let stage = vault(true, Setup::new()).await;
    let agent = stage.legacy(forms());
    challenge(&agent, "a").await;
    stage.reload(|config| config["rules"] = json!([rule]));
    let call = || agent.start("tools/call", wipe("a", evidence("c-1")));
    let (mut one, mut two) = (call(), call());
    let questions = [one.next().await, two.next().await];
    one.reply(&questions[0], &yes());
    text(&one.finish().await.answer);
    two.reply(&questions[1], &yes());
    rejected(&two.finish().await.answer, "challenge_consumed");
    assert_eq!(stage.server("vault").runs("wipe"), 1);
    assert_eq!(stage.events().pop().unwrap(), "blocked tools/call");
}

#[tokio::test]
async fn a_challenge_of_another_principal_is_unknown() {
    let stage = vault(true, Setup::new()).await;
    challenge(&stage.of_era(ERAS[1]), "a").await;
    let token = Some(Arc::clone(&stage.gateway.tokens.local));
    let stranger = stage.agent(ClientOptions { token, ..ClientOptions::default() });
    rejected(&stranger.send("tools/call", wipe("a", evidence("c-1"))).await.answer, "challenge_unknown");
    assert_eq!(stage.server("vault").runs("wipe"), 0);
}

#[tokio::test]
async fn a_tool_that_changed_between_challenge_and_call_is_another_tool() {
    let stage = vault(true, Setup::new()).await;
    let agent = stage.of_era(ERAS[1]);
    challenge(&agent, "a").await;
    stage.server("vault").tools.lock().unwrap()[0]["description"] = json!("Wipes everything.");
    stage.restock("vault").await;
    rejected(&agent.send("tools/call", wipe("a", evidence("c-1"))).await.answer, "challenge_wrong_tool");
    assert_eq!(stage.server("vault").runs("wipe"), 0);
}

#[tokio::test]
async fn without_evidence_the_server_is_not_called_and_who_cannot_carry_any_is_told_so() {
    let stage = vault(true, Setup::new()).await;
    let plain = stage.of_era(ERAS[1]).send("tools/call", wipe("a", None)).await.answer;
    assert_eq!(remediation(&plain), "undisclosed");
    assert!(refusal(&plain).contains("at its own server, `vault`"), "{plain}");
    let native = stage.agent(ClientOptions { speaks_approval: true, ..ClientOptions::default() });
    rejected(&native.send("tools/call", wipe("a", None)).await.answer, "missing_evidence");
    for broken in [json!(null), json!("webauthn"), json!({ "method": "webauthn", "challengeId": 7 })] {
        rejected(&native.send("tools/call", wipe("a", Some(broken))).await.answer, "missing_evidence");
    }
    assert!(stage.server("vault").journal().is_empty());
    assert!(stage.events().iter().all(|told| told == "blocked tools/call"), "{:?}", stage.events());
}

#[tokio::test]
async fn a_tool_that_cannot_be_approved_is_refused() {
    let stage = vault(false, Setup::new()).await;
    let native = stage.agent(ClientOptions { speaks_approval: true, ..ClientOptions::default() });
    for params in [wipe("a", None), wipe("a", evidence("c-1"))] {
        let answer = native.send("tools/call", params).await.answer;
        assert!(refusal(&answer).contains("nobody can approve it"), "{answer}");
    }
    assert!(challenge(&native, "a").await["error"].is_object());
    assert!(stage.server("vault").journal().is_empty());
}

#[tokio::test]
async fn a_block_of_ours_blocks_whatever_evidence_comes() {
    let rule = json!({ "name": "no", "effect": "block", "when": { "tool.id": WIPE } });
    let stage = vault(true, Setup::new().rule(rule)).await;
    let agent = stage.of_era(ERAS[1]);
    for params in [wipe("a", None), wipe("a", evidence("c-1"))] {
        assert_eq!(remediation(&agent.send("tools/call", params).await.answer), "unavailable");
    }
    assert_eq!(stage.server("vault").runs("wipe"), 0);
}

#[tokio::test]
async fn evidence_goes_to_no_server_that_did_not_ask_for_it() {
    let stage = vault(true, Setup::usual()).await;
    let params =
        json!({ "name": "up__look", "arguments": {}, "_meta": { KEY: evidence("c-1"), "x.example/a": 1 } });
    text(&stage.of_era(ERAS[1]).send("tools/call", params).await.answer);
    let meta = stage.up().of_method("tools/call")[0]["_meta"].clone();
    assert_eq!((&meta[KEY], &meta["x.example/a"]), (&Value::Null, &json!(1)), "{meta}");
}
