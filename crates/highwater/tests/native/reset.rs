//! While passkeys are being reset they sign no call: what was signed before is void, and nothing new is to be signed.

use highwater_passkey::Algorithm;
use highwater_testkit::client::{Client, Era};
use highwater_testkit::passkey::Passkey;
use http::Method;
use serde_json::{Value, json};

use crate::stage::{GATED, Stage, evidence, reason, signed};

/// What a call brings that was signed with this passkey.
async fn signature(client: &Client, passkey: &Passkey, arguments: &Value) -> Value {
    let challenge = Stage::challenge(client, GATED, arguments).await;
    evidence(&challenge, &passkey.get(&challenge["requestOptions"]).unwrap())
}

async fn begin_reset(stage: &Stage) {
    let owner = json!({ "user": "owner" });
    let (status, said) = stage.api(Method::POST, "/api/v1/approvals/reset", Some(&owner)).await;
    assert_eq!(status, 201, "{said}");
}

/// Signs on the page with a passkey that is being reset.
async fn stop_reset(stage: &Stage, passkey: &Passkey) {
    let (_, page) = stage.window("owner").await;
    let act = json!({ "act": "cancel-reset", "user": "owner" });
    let (status, envelope) = page.post("/act/challenge", &json!({ "act": act })).await;
    assert_eq!(status, 200, "{envelope}");
    let response = passkey.get(&envelope["requestOptions"]).unwrap();
    let body = json!({ "act": act, "challengeId": envelope["challengeId"], "response": response });
    let (status, said) = page.post("/act/assertion", &body).await;
    assert_eq!(status, 200, "{said}");
}

#[tokio::test]
async fn a_reset_stops_native_calls_until_an_old_passkey_stops_the_reset() {
    for era in [Era::Legacy, Era::Modern] {
        let stage = Stage::new().await;
        let client = stage.client(era).await;
        let passkey = stage.enrolled(&client).await;
        let arguments = json!({ "path": "a" });
        let open = signature(&client, &passkey, &arguments).await;
        begin_reset(&stage).await;
        let answer = client.send(signed(GATED, &arguments, open.clone())).await.unwrap();
        assert_eq!(stage.ran("delete"), 0, "{era:?}: {}", answer.raw());
        assert_eq!(reason(&answer), "challenge_expired");
        let params = json!({ "toolName": GATED, "arguments": arguments });
        let answer = client.request("approval/challenge/create", params).await.unwrap();
        assert_eq!(reason(&answer), "no_eligible_credential");
        assert!(answer.raw().contains("being reset"), "{}", answer.raw());
        stop_reset(&stage, &passkey).await;
        // What was open when the reset began stays void.
        let answer = client.send(signed(GATED, &arguments, open)).await.unwrap();
        assert_eq!((stage.ran("delete"), &*reason(&answer)), (0, "challenge_expired"));
        let anew = signature(&client, &passkey, &arguments).await;
        let answer = client.send(signed(GATED, &arguments, anew)).await.unwrap();
        assert_eq!((stage.ran("delete"), &*answer.text().unwrap()), (1, "done"), "{}", answer.raw());
    }
}

/// D1: one was issued, and what was signed with it ran.
#[tokio::test]
async fn nothing_is_issued_to_sign_with_a_passkey_that_is_being_reset() {
    let stage = Stage::new().await;
    let mut issued = Vec::new();
    for (era, is_first) in [(Era::Legacy, true), (Era::Modern, false)] {
        let client = stage.client(era).await;
        if is_first {
            stage.enrolled(&client).await;
            begin_reset(&stage).await;
        }
        let params = json!({ "toolName": GATED, "arguments": { "path": "a" } });
        let answer = client.request("approval/challenge/create", params).await.unwrap();
        if answer.error_code().is_none() {
            issued.push((era, answer.raw().to_owned()));
        }
    }
    assert!(issued.is_empty(), "a challenge was issued: {issued:#?}");
}

#[tokio::test]
async fn a_passkey_that_is_being_reset_confirms_no_other() {
    let stage = Stage::new().await;
    let client = stage.client(Era::Modern).await;
    stage.enrolled(&client).await;
    let (_, page) = stage.window("owner").await;
    let second = stage.register(&client, &mut Passkey::fresh(Algorithm::Es256, page.origin())).await;
    begin_reset(&stage).await;
    let act = json!({ "act": "confirm-key", "id": second });
    let (status, said) = page.post("/act/challenge", &json!({ "act": act })).await;
    assert_eq!(status, 409, "{said}");
    assert_eq!(said["reason"], "resetting", "{said}");
}
