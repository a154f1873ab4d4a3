//! Passkeys over the protocol: they are registered there, and count for nothing until a person has said so elsewhere.

use highwater_notation::from_iso;
use highwater_passkey::Algorithm;
use highwater_testkit::client::{Era, Request};
use highwater_testkit::passkey::Passkey;
use serde_json::json;

use crate::stage::{GATED, Stage, evidence, reason, signed};

#[tokio::test]
async fn g20_nothing_is_enrolled_while_no_person_opened_an_enrollment() {
    let stage = Stage::new().await;
    for era in [Era::Legacy, Era::Modern] {
        let client = stage.client(era).await;
        let answer = client.request("approval/enroll/begin", json!({})).await.unwrap();
        assert_eq!(reason(&answer), "no_pending_enrollment");
        assert!(answer.at("/error/message").as_str().unwrap().contains("highwater approvals enroll"));
        let response = Passkey::new(Algorithm::Es256).register(&[1; 32], |_| ());
        let answer = client.request("approval/enroll/finish", json!({ "response": response })).await.unwrap();
        assert_eq!(reason(&answer), "no_pending_enrollment");
    }
}

#[tokio::test]
async fn s09_s10_s11_s12_s14_s15_s16_s21_s22_a_passkey_is_registered_as_the_text_says() {
    let stage = Stage::new().await;
    for era in [Era::Legacy, Era::Modern] {
        let client = stage.client(era).await;
        let (_, page) = stage.window("owner").await;
        // Whatever the parameters hold, they are ignored.
        let mut seen = Vec::new();
        for params in [json!({}), json!({ "challenge": "AAAA", "user": { "id": "x" } })] {
            let begun = client.request("approval/enroll/begin", params).await.unwrap().result().unwrap();
            let members: Vec<&String> = begun.as_object().unwrap().keys().collect();
            let beyond: Vec<&&String> =
                members.iter().filter(|key| !["options", "resultType"].contains(&key.as_str())).collect();
            assert!(beyond.is_empty(), "{begun}");
            let options = begun["options"].clone();
            assert_eq!(options["authenticatorSelection"]["userVerification"], "required");
            assert_eq!(options["attestation"], "none");
            assert_eq!(options["rp"]["id"], "localhost");
            assert!(options["excludeCredentials"].is_array(), "{options}");
            let offered: Vec<i64> = options["pubKeyCredParams"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| it["alg"].as_i64().unwrap())
                .collect();
            assert_eq!(offered, [-7, -8, -257]);
            seen.push(options);
        }
        assert_ne!(seen[0]["challenge"], seen[1]["challenge"]);
        assert_eq!(seen[0]["user"]["id"], seen[1]["user"]["id"]);

        // An answer to the first of two is one to none: the second took its place, and any answer takes it away.
        let mut passkey = Passkey::fresh(Algorithm::EdDsa, page.origin());
        let stale = passkey.create(&seen[0]).unwrap();
        let answer = client.request("approval/enroll/finish", json!({ "response": stale })).await.unwrap();
        assert_eq!(reason(&answer), "verification_failed");
        let late = passkey.create(&seen[1]).unwrap();
        let answer = client.request("approval/enroll/finish", json!({ "response": late })).await.unwrap();
        assert_eq!(reason(&answer), "no_pending_enrollment");

        let begun = client.request("approval/enroll/begin", json!({})).await.unwrap();
        let response = passkey.create(&begun.at("/result/options")).unwrap();
        let answer = client.request("approval/enroll/finish", json!({ "response": response })).await.unwrap();
        let finished = answer.result().unwrap();
        assert_eq!(finished["success"], true, "{finished}");
        assert_eq!(finished["credentialId"], response["id"]);
        assert!(from_iso(finished["createdAt"].as_str().unwrap()).is_some(), "{finished}");
        // D16: it does not count yet, and where that changes is said.
        assert_eq!(finished["confirmUrl"], format!("{}/enroll?user=owner", page.origin()));
        assert!(finished.get("_meta").is_none(), "there are clients that lose results with one: {finished}");

        // The next one is told what is there already.
        let begun = client.request("approval/enroll/begin", json!({})).await.unwrap();
        let excluded = begun.at("/result/options/excludeCredentials");
        assert!(excluded.as_array().unwrap().iter().any(|it| it["id"] == response["id"]), "{excluded}");
        assert!(passkey.create(&begun.at("/result/options")).is_none());
    }
}

#[tokio::test]
async fn s16_s17_a_registration_without_verification_or_for_another_page_is_refused() {
    let stage = Stage::new().await;
    let client = stage.client(Era::Modern).await;
    let (_, page) = stage.window("owner").await;
    let passkey = Passkey::fresh(Algorithm::Es256, page.origin());
    let elsewhere = Passkey::fresh(Algorithm::Es256, "http://localhost:1");
    for wrong in [false, true] {
        let begun = client.request("approval/enroll/begin", json!({})).await.unwrap();
        let challenge = begun.at("/result/options/challenge");
        let challenge = highwater_notation::decode_base64url(challenge.as_str().unwrap()).unwrap();
        let response = match wrong {
            true => passkey.register(&challenge, |draft| draft.flags &= !highwater_testkit::passkey::UV),
            false => elsewhere.register(&challenge, |_| ()),
        };
        let answer = client.request("approval/enroll/finish", json!({ "response": response })).await.unwrap();
        assert_eq!(reason(&answer), "verification_failed");
    }
}

/// The client is the attacker: it has a key of its own and everything that the protocol offers.
#[tokio::test]
async fn s32_g20_a_client_that_enrolls_itself_gets_nowhere() {
    let stage = Stage::new().await;
    let client = stage.client(Era::Modern).await;
    let arguments = json!({ "path": "a" });
    let (_, page) = stage.window("owner").await;
    let mut key = Passkey::fresh(Algorithm::Es256, page.origin());
    stage.register(&client, &mut key).await;
    // It is registered, and it is not among those that may sign.
    let params = json!({ "toolName": GATED, "arguments": arguments });
    let answer = client.request("approval/challenge/create", params).await.unwrap();
    assert_eq!(reason(&answer), "no_eligible_credential");
    // Nor does it help to sign something of one's own.
    let response = key.assert(&[9; 64], |_| ());
    let made_up = evidence(&json!({ "challengeId": "made-up" }), &response);
    let answer = client.send(signed(GATED, &arguments, made_up)).await.unwrap();
    assert_eq!(reason(&answer), "challenge_unknown");
    // Guessing the code closes the enrollment.
    let id = highwater_notation::encode_base64url(&key.id);
    for _ in 0..8 {
        let (status, said) = page.post("/enroll/code", &json!({ "id": id, "code": "000-000" })).await;
        assert_ne!(status, 200, "{said}");
    }
    let answer = client.send(Request::new("approval/enroll/begin")).await.unwrap();
    assert_eq!(reason(&answer), "no_pending_enrollment");
    assert_eq!(stage.ran("delete"), 0);
}
