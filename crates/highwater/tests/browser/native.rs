//! Native clients with a real browser's signatures: what is bound, and what breaks it.

use highwater_testkit::webdriver::Authenticator;
use serde_json::{Value, json};

use super::stage::{Stage, call, evidence, reason};

const WIPE: &str = "files__wipe";

#[tokio::test(flavor = "multi_thread")]
async fn s27_the_browser_signs_the_64_bytes_that_were_issued() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::usb()).await;
    let client = stage.native().await;
    let arguments = json!({ "path": "/a", "count": 1 });
    let challenge = stage.challenge(&client, WIPE, &arguments).await;
    let wire = challenge.result().unwrap()["requestOptions"]["challenge"].as_str().unwrap().to_owned();
    assert_eq!(wire.len(), 86);
    let response = stage.sign(&challenge).await.unwrap();
    let client_data = response["response"]["clientDataJSON"].as_str().unwrap();
    let client_data = highwater_notation::decode_base64url(client_data).unwrap();
    let client_data: Value = serde_json::from_slice(&client_data).unwrap();
    assert_eq!(client_data["challenge"], wire.as_str());
    assert_eq!(client_data["origin"], stage.origin().as_str());
    let evidence = evidence(&challenge, &response);
    // Keys in another order and `1.0` for `1` are the same arguments.
    let same = r#"{"count":1.0,"path":"/a"}"#;
    let meta = format!(r#""io.modelcontextprotocol/verified-approval":{evidence}"#);
    let request = highwater_testkit::client::Request::new("tools/call")
        .raw_params(&format!(r#"{{"name":"{WIPE}","arguments":{same}}}"#))
        .raw_meta(&meta);
    let answer = client.send(request).await.unwrap();
    assert_eq!(answer.text().unwrap(), "done", "{}", answer.raw());
    assert_eq!(stage.runs(r#"{"count":1,"path":"/a"}"#), 1, "what was signed is what is sent");
    let replayed = client.send(call(WIPE, &arguments, &evidence)).await.unwrap();
    assert_eq!(reason(&replayed), "challenge_consumed");
    assert_eq!(stage.runs("/a"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn s51_swapped_arguments_are_refused_and_the_right_call_still_runs() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::usb()).await;
    let client = stage.native().await;
    let arguments = json!({ "path": "/a" });
    let challenge = stage.challenge(&client, WIPE, &arguments).await;
    let evidence = evidence(&challenge, &stage.sign(&challenge).await.unwrap());
    let swapped = client.send(call(WIPE, &json!({ "path": "/etc" }), &evidence)).await.unwrap();
    assert_eq!(reason(&swapped), "argument_hash_mismatch");
    let other = client.send(call("files__shred", &arguments, &evidence)).await.unwrap();
    assert_eq!(reason(&other), "challenge_wrong_tool", "s46");
    assert_eq!(stage.runs("path"), 0);
    let right = client.send(call(WIPE, &arguments, &evidence)).await.unwrap();
    assert_eq!(right.text().unwrap(), "done", "{}", right.raw());
}

#[tokio::test(flavor = "multi_thread")]
async fn s49_an_old_assertion_does_not_answer_a_new_challenge() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::usb()).await;
    let client = stage.native().await;
    let arguments = json!({ "path": "/a" });
    let first = stage.challenge(&client, WIPE, &arguments).await;
    let response = stage.sign(&first).await.unwrap();
    let second = stage.challenge(&client, WIPE, &arguments).await;
    let answer = client.send(call(WIPE, &arguments, &evidence(&second, &response))).await.unwrap();
    assert_eq!(reason(&answer), "signature_verification_failed");
    assert_eq!(stage.runs("/a"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn s50_a_copy_of_the_key_is_noticed_by_its_counter() {
    let stage = Stage::open().await;
    let key = stage.enrolled(&Authenticator::usb()).await;
    let client = stage.native().await;
    let arguments = json!({ "path": "/a" });
    let mut copy = stage.browser.credentials(&key).await.unwrap().remove(0);
    let challenge = stage.challenge(&client, WIPE, &arguments).await;
    let signed = evidence(&challenge, &stage.sign(&challenge).await.unwrap());
    assert_eq!(client.send(call(WIPE, &arguments, &signed)).await.unwrap().text().unwrap(), "done");
    let id = copy["credentialId"].as_str().unwrap().to_owned();
    stage.browser.take_credential(&key, &id).await.unwrap();
    copy["signCount"] = 0.into();
    stage.browser.put_credential(&key, &copy).await.unwrap();
    let challenge = stage.challenge(&client, WIPE, &arguments).await;
    let cloned = evidence(&challenge, &stage.sign(&challenge).await.unwrap());
    let answer = client.send(call(WIPE, &arguments, &cloned)).await.unwrap();
    assert_eq!(reason(&answer), "signature_counter_regression");
    assert_eq!(stage.runs("/a"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn s48_a_platform_passkey_is_not_offered_and_not_accepted_when_forced() {
    let stage = Stage::open().await;
    stage.enrolled(&Authenticator::internal()).await;
    let client = stage.native().await;
    let arguments = json!({ "path": "/a" });
    let refused = stage.challenge(&client, WIPE, &arguments).await;
    assert_eq!(reason(&refused), "no_eligible_credential");
    let local = stage.challenge(&client, "files__local", &arguments).await;
    let evidence = evidence(&local, &stage.sign(&local).await.unwrap());
    assert_eq!(
        reason(&client.send(call(WIPE, &arguments, &evidence)).await.unwrap()),
        "challenge_wrong_tool"
    );
    let right = client.send(call("files__local", &arguments, &evidence)).await.unwrap();
    assert_eq!(right.text().unwrap(), "done", "{}", right.raw());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_algorithm_and_every_kind_of_authenticator_enrolls_and_signs() {
    let stage = Stage::open().await;
    let client = stage.native().await;
    let kinds = [Authenticator::usb(), Authenticator::internal(), Authenticator::hybrid()];
    for kind in &kinds {
        for algorithm in [-7, -8, -257] {
            let key = stage.browser.add(kind).await.unwrap();
            let opened = stage.window("owner").await;
            stage.go("/enroll").await;
            // The client registers over the protocol; the person makes it count on the page (section 9).
            let begun = client.request("approval/enroll/begin", json!({})).await.unwrap();
            let options = begun.result().unwrap()["options"].clone();
            assert_eq!(options["authenticatorSelection"]["userVerification"], "required", "s12 {options}");
            let response = stage.create(&options, Some(algorithm)).await.unwrap();
            let finished =
                client.request("approval/enroll/finish", json!({ "response": response })).await.unwrap();
            assert_eq!(finished.result().unwrap()["success"], true, "s22 {}", finished.raw());
            let arguments = json!({ "path": "/a" });
            let early = stage.challenge(&client, "files__local", &arguments).await;
            assert_eq!(reason(&early), "no_eligible_credential", "dormant until a person confirms it");
            stage.go("/inbox").await;
            if !stage.browser.has("#sign-out").await.unwrap() {
                super::enroll::sign_in_as_operator(&stage).await;
            }
            stage.go("/enroll").await;
            let code = opened["code"].as_str().unwrap();
            stage.browser.fill("#code", code).await.unwrap();
            stage.browser.click(".confirm-key").await.unwrap();
            stage.wait(".keys .state.good").await;
            let challenge = stage.challenge(&client, "files__local", &arguments).await;
            let signed = evidence(&challenge, &stage.sign(&challenge).await.unwrap());
            let answer = client.send(call("files__local", &arguments, &signed)).await.unwrap();
            assert_eq!(answer.text().unwrap(), "done", "{algorithm}: {}", answer.raw());
            // The next one is a first one again.
            let id = response["id"].as_str().unwrap();
            let revoke = format!("/api/v1/approvals/credentials/{id}/revoke");
            let why = json!({ "reason": "the test goes on" });
            assert_eq!(stage.api(http::Method::POST, &revoke, Some(&why)).await.0, 200);
            stage.browser.remove(&key).await.unwrap();
        }
    }
    assert_eq!(stage.runs("/a"), 9);
}
