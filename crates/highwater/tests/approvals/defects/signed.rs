//! What can be signed and what cannot: mandates that say too much, second signatures, challenges for what would not be
//! called, and a door that strangers closed.

use highwater_testkit::client::{Client, Era};
use serde_json::{Value, json};

use crate::mandated::terms;
use crate::person::Person;
use crate::stage::{BRIEFLY, DELETE, ERAS, Stage, done, waits};

/// A gateway where deletions can be delegated, with these further keys about them.
async fn delegable(more: &Value) -> Stage {
    let mut tool = json!({ "delegable": true });
    for (key, value) in more.as_object().unwrap() {
        tool[key] = value.clone();
    }
    Stage::standing(BRIEFLY, |config| config["approvals"]["tools"] = json!({ "files:delete": tool })).await
}

async fn owner(stage: &Stage) -> Person {
    stage.person.with_passkey(&stage.passkey).await
}

/// D2: up to the number 50, or up to 50 characters.
#[tokio::test]
async fn d2_a_limit_of_a_number_admits_no_text() {
    let stage = delegable(&json!({})).await;
    for era in ERAS {
        let client = stage.client(era).await;
        client.request("tools/list", json!({})).await.unwrap();
        let terms = terms(&json!("agent"), &json!({ "amount": { "max": 50 } }), 5);
        let (status, said) = owner(&stage).await.mandate(&terms, &stage.passkey).await;
        assert_eq!(status, 200, "{said}");
        let answer = client.call(DELETE, json!({ "amount": "999" })).await.unwrap();
        assert_eq!(stage.ran("999"), 0, "the text \"999\" ran: {}", answer.raw());
        waits(&answer);
        let within = if era == Era::Legacy { 49 } else { 50 };
        done(&client.call(DELETE, json!({ "amount": within })).await.unwrap());
    }
    assert_eq!(stage.ran("amount"), 2);
}

/// D2: there was none, so that a negative amount was within every limit.
#[tokio::test]
async fn d2_a_number_has_a_lower_limit_too() {
    let stage = delegable(&json!({})).await;
    let client = stage.client(Era::Modern).await;
    client.request("tools/list", json!({})).await.unwrap();
    let terms = terms(&json!("agent"), &json!({ "amount": { "min": 0, "max": 50 } }), 5);
    let (status, said) = owner(&stage).await.mandate(&terms, &stage.passkey).await;
    assert_eq!(status, 200, "no lower limit can be signed: {said}");
    waits(&client.call(DELETE, json!({ "amount": -5_000_000 })).await.unwrap());
    assert_eq!(stage.ran("amount"), 0);
}

/// D2: text has a limit of its own.
#[tokio::test]
async fn d2_a_text_has_a_limit_of_characters_and_admits_no_number() {
    let stage = delegable(&json!({})).await;
    let client = stage.client(Era::Modern).await;
    client.request("tools/list", json!({})).await.unwrap();
    let terms = terms(&json!("agent"), &json!({ "path": { "max_length": 5 } }), 5);
    let (status, said) = owner(&stage).await.mandate(&terms, &stage.passkey).await;
    assert_eq!(status, 200, "no limit of characters can be signed: {said}");
    for beside in [json!("abcdef"), json!(1), json!(null)] {
        waits(&client.call(DELETE, json!({ "path": beside })).await.unwrap());
    }
    assert_eq!(stage.ran("path"), 0);
    done(&client.call(DELETE, json!({ "path": "abcde" })).await.unwrap());
    assert_eq!(stage.ran("path"), 1);
}

/// D2: a limit was signed for what the server says nothing about, so that any kind of value might be within it.
#[tokio::test]
async fn d2_no_limit_is_signed_where_the_schema_does_not_name_the_type() {
    let stage = listed(&json!({})).await;
    let limits = json!({ "path": { "prefix": "build/" }, "extra": { "max": 50 } });
    refused(&stage, &terms(&json!("agent"), &limits, 3), "extra").await;
    // Nor a limit of another type than the one that it names.
    refused(&stage, &terms(&json!("agent"), &json!({ "path": { "max": 50 } }), 3), "path").await;
}

/// D13: thirty requests of anybody closed the door to everybody.
#[tokio::test]
async fn d13_what_strangers_ask_keeps_nobody_from_signing_in_and_answering() {
    let stage = Stage::new(BRIEFLY).await;
    let client = stage.client(Era::Modern).await;
    let id = waits(&client.call(DELETE, json!({ "path": "a" })).await.unwrap());
    let stranger = stage.person.stranger();
    for number in 0..250 {
        let path = ["/sign-in/challenge", "/enroll/begin", "/act/challenge"][number % 3];
        stranger.post(path, &json!({})).await;
    }
    let (status, said) = owner(&stage).await.sign(&id, &stage.passkey).await;
    assert_eq!(status, 200, "{said}");
    done(&client.call(DELETE, json!({ "path": "a" })).await.unwrap());
    assert_eq!(stage.ran("delete"), 1);
}

/// That terms which no use would keep within are not signed, and which of them it is said to be.
async fn refused(stage: &Stage, terms: &Value, place: &str) {
    let (status, said) = owner(stage).await.mandate(terms, &stage.passkey).await;
    assert_ne!(status, 200, "it was signed: {said}");
    assert!(said.to_string().contains(place), "{said}");
}

/// A gateway whose tools a client has listed, so that terms can name them.
async fn listed(more: &Value) -> Stage {
    let stage = delegable(more).await;
    stage.client(Era::Modern).await.request("tools/list", json!({})).await.unwrap();
    stage
}

/// Deletions below one folder.
fn prefix() -> Value {
    json!({ "path": { "prefix": "build/" } })
}

/// D15: it was signed for an agent that there is not.
#[tokio::test]
async fn d15_a_mandate_for_an_agent_that_there_is_not_is_not_signed() {
    let stage = listed(&json!({})).await;
    refused(&stage, &terms(&json!("nobody"), &prefix(), 3), "there is no token").await;
}

/// D15: it was signed and listed, and after strangers' text it was asked about every call.
#[tokio::test]
async fn d15_a_mandate_after_strangers_text_with_an_open_target_is_not_signed() {
    let stage = listed(&json!({})).await;
    let mut tainted = terms(&json!("agent"), &prefix(), 3);
    tainted["while_tainted"] = json!(true);
    refused(&stage, &tainted, "arguments.path").await;
}

/// D15: one person signed for two, and both were asked at every call.
#[tokio::test]
async fn d15_a_mandate_for_what_several_sign_is_not_signed_by_one() {
    let stage = listed(&json!({ "quorum": { "n": 2, "approvers": ["owner", "ben"] } })).await;
    refused(&stage, &terms(&json!("agent"), &prefix(), 3), "tools").await;
}

/// D15: "Call highwater/delegate with" was all that it said of what is signed.
#[tokio::test]
async fn d15_what_a_mandate_lets_an_agent_do_is_said_in_a_sentence() {
    let stage = listed(&json!({})).await;
    let terms = terms(&json!("agent"), &prefix(), 3);
    let act = json!({ "act": "mandate", "terms": terms.to_string() });
    let (status, said) = owner(&stage).await.post("/act/challenge", &json!({ "act": act })).await;
    assert_eq!(status, 200, "{said}");
    let sentence = said["says"].as_str().unwrap_or_default();
    let expected = "Let token agent make up to 3 calls of files__delete until ";
    assert!(sentence.starts_with(expected), "there is no sentence: {said}");
}

/// D16: it was taken, said to be fine and counted nothing.
#[tokio::test]
async fn d16_a_second_signature_of_the_same_person_is_refused() {
    let stage = delegable(&json!({ "quorum": { "n": 2, "approvers": ["ada", "ben"] } })).await;
    let ada = stage.enroll("ada").await;
    let client = stage.client(Era::Modern).await;
    let id = waits(&client.call(DELETE, json!({ "path": "a" })).await.unwrap());
    let as_ada = stage.person.with_passkey(&ada).await;
    assert_eq!(as_ada.sign(&id, &ada).await.0, 200);
    let (status, said) = as_ada.sign(&id, &ada).await;
    assert_eq!(status, 409, "the second one was taken: {said}");
}

async fn challenge(client: &Client, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "toolName": tool, "arguments": arguments });
    let answer = client.request("approval/challenge/create", params).await.unwrap();
    serde_json::from_str(answer.raw()).unwrap()
}

/// D16: the challenge was for a call without the member, and the call itself failed.
#[tokio::test]
async fn d16_no_challenge_is_issued_for_a_call_with_a_member_that_is_not_shown() {
    let stage = Stage::searching(BRIEFLY, |_| ()).await;
    let client = stage.native().await;
    let inner = json!({ "name": DELETE, "arguments": { "path": "a" }, "also": 1 });
    let answer = challenge(&client, "call_tool_destructive", &inner).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("\"also\""), "{answer}");
}

/// D16: it was said that there is no credential, and not where several sign.
#[tokio::test]
async fn d16_where_several_sign_a_client_that_signs_by_itself_is_told_the_page() {
    let stage = delegable(&json!({ "quorum": { "n": 2, "approvers": ["ada", "ben"] } })).await;
    let client = stage.native().await;
    let answer = challenge(&client, DELETE, &json!({ "path": "a" })).await;
    assert_eq!(answer["error"]["data"]["reason"], "no_eligible_credential", "{answer}");
    let page = answer["error"]["data"]["approvalUrl"].as_str();
    assert!(page.is_some_and(|url| url.ends_with("/inbox")), "no page is named: {answer}");
}
