//! Calls that bring a signature.

use std::collections::BTreeMap;

use highwater_notation::{decode_base64url, encode_base64url, from_iso};
use highwater_testkit::client::{Era, Request, Setup};
use highwater_testkit::passkey::UV;
use serde_json::{Value, json};

use crate::stage::{FREE, GATED, KEY, Stage, evidence, reason, signed};

#[tokio::test]
async fn s07_s40_s55_g19_without_evidence_nothing_runs_and_the_page_is_named() {
    let stage = Stage::new().await;
    for era in [Era::Legacy, Era::Modern] {
        let client = stage.client(era).await;
        let answer = client.call(GATED, json!({ "path": "a" })).await.unwrap();
        assert_eq!(reason(&answer), "missing_evidence");
        let url = answer.at("/error/data/approvalUrl");
        assert!(url.as_str().unwrap().starts_with("http://localhost:"), "{}", answer.raw());
        assert!(url.as_str().unwrap().contains("/approve/"), "{url}");
    }
    assert_eq!(stage.ran("delete"), 0);
}

#[tokio::test]
async fn s06_s27_s30_s31_s33_s34_s53_g10_g27_a_signed_call_runs_as_it_was_signed() {
    let stage = Stage::new().await;
    let first = stage.client(Era::Modern).await;
    let passkey = stage.enrolled(&first).await;
    for era in [Era::Legacy, Era::Modern] {
        let client = stage.client(era).await;
        let arguments = json!({ "path": format!("{era:?}"), "n": 1 });
        let challenge = Stage::challenge(&client, GATED, &arguments).await;
        let options = &challenge["requestOptions"];
        assert_eq!(options["userVerification"], "required");
        assert_eq!(options["rpId"], "localhost");
        assert_eq!(options["challenge"].as_str().unwrap().len(), 86);
        assert_eq!(options["allowCredentials"][0]["id"], encode_base64url(&passkey.id));
        assert_eq!(options["allowCredentials"][0]["transports"], json!(["usb"]));
        assert!(from_iso(challenge["expiresAt"].as_str().unwrap()).is_some());
        assert!(challenge["displayText"].as_str().unwrap().contains(&format!("{era:?}")), "{challenge}");
        // Nobody but the gateway can compute the hash: what it is salted with is not on the wire.
        assert!(challenge.get("serverId").is_none() && options.get("serverId").is_none());
        let response = passkey.get(options).unwrap();
        // Another spelling of the same arguments is the same call, and the canonical one is what is sent.
        let spelled = format!(r#"{{"name":"{GATED}","arguments":{{"path": "{era:?}", "n": 1.0}}}}"#);
        let request =
            Request::new("tools/call").raw_params(&spelled).meta(KEY, evidence(&challenge, &response));
        let answer = client.send(request).await.unwrap();
        assert_eq!(answer.text().unwrap(), "done", "{}", answer.raw());
        assert_eq!(stage.ran(&format!(r#""arguments":{{"n":1,"path":"{era:?}"}}"#)), 1);
    }
    // What nobody had to approve is sent as it came.
    let client = stage.client(Era::Modern).await;
    let spelled = format!(r#"{{"name":"{FREE}","arguments":{{"z": 1.0, "a": 2}}}}"#);
    client.send(Request::new("tools/call").raw_params(&spelled)).await.unwrap().ok().unwrap();
    assert_eq!(stage.ran(r#"{"z": 1.0, "a": 2}"#), 1);
}

#[tokio::test]
async fn s41_s42_s43_s44_s46_s47_s49_s51_s52_s54_s56_each_fault_has_its_reason_and_nothing_runs() {
    let stage = Stage::new().await;
    let client = stage.client(Era::Modern).await;
    let passkey = stage.enrolled(&client).await;
    let arguments = json!({ "path": "a" });
    let challenge = Stage::challenge(&client, GATED, &arguments).await;
    let wire = decode_base64url(challenge["requestOptions"]["challenge"].as_str().unwrap()).unwrap();
    let good = passkey.get(&challenge["requestOptions"]).unwrap();
    let good = evidence(&challenge, &good);
    let changed = |pointer: &str, value: Value| {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed
    };
    let unverified = passkey.assert(&wire, |draft| draft.flags &= !UV);
    for (what, evidence, expected) in [
        ("null", Value::Null, "missing_evidence"),
        ("text", json!("yes"), "missing_evidence"),
        ("a number as the challenge", changed("/challengeId", json!(1)), "missing_evidence"),
        ("a method alone", json!({ "method": "totp" }), "missing_evidence"),
        ("another method", changed("/method", json!("totp")), "unsupported_method"),
        (
            "another method and challenge",
            json!({ "method": "totp", "challengeId": "x", "response": {} }),
            "unsupported_method",
        ),
        ("another challenge", changed("/challengeId", json!("x")), "challenge_unknown"),
        ("another credential", changed("/response/id", json!("AAAA")), "unknown_credential"),
        ("no credential", changed("/response", json!({})), "unknown_credential"),
        ("no signature", changed("/response/response", json!({})), "signature_verification_failed"),
        (
            "another signature",
            changed("/response/response/signature", json!("AAAA")),
            "signature_verification_failed",
        ),
        ("nobody verified", evidence(&challenge, &unverified), "signature_verification_failed"),
    ] {
        let answer = client.send(signed(GATED, &arguments, evidence)).await.unwrap();
        assert_eq!(reason(&answer), expected, "{what}: {}", answer.raw());
    }
    let answer = client.send(signed(GATED, &json!({ "path": "b" }), good.clone())).await.unwrap();
    assert_eq!(reason(&answer), "argument_hash_mismatch");
    let answer = client.send(signed("files__maybe", &json!({ "hard": true }), good.clone())).await.unwrap();
    assert_eq!(reason(&answer), "challenge_wrong_tool");
    assert_eq!(stage.ran("delete") + stage.ran("maybe"), 0);

    // None of it has used the challenge up; the right call does, and once.
    let answer = client.send(signed(GATED, &arguments, good.clone())).await.unwrap();
    assert_eq!(answer.text().unwrap(), "done", "{}", answer.raw());
    let answer = client.send(signed(GATED, &arguments, good)).await.unwrap();
    assert_eq!(reason(&answer), "challenge_consumed");
    assert_eq!(stage.ran("delete"), 1);
}

#[tokio::test]
async fn s23_s24_arguments_that_mean_two_things_and_tools_that_ask_nothing_get_no_challenge() {
    let stage = Stage::new().await;
    let client = stage.client(Era::Modern).await;
    stage.enrolled(&client).await;
    for tool in [FREE, "files__none"] {
        let answer = client
            .request("approval/challenge/create", json!({ "toolName": tool, "arguments": {} }))
            .await
            .unwrap();
        assert_eq!(reason(&answer), "tool_not_approved_required");
    }
    for arguments in ["9007199254740993", r#"{"n":9007199254740993}"#, r#"{"a":1,"A":2}"#, "[1]"] {
        let params = format!(r#"{{"toolName":"{GATED}","arguments":{arguments}}}"#);
        let answer =
            client.send(Request::new("approval/challenge/create").raw_params(&params)).await.unwrap();
        assert_eq!(answer.error_code(), Some(-32602), "{arguments}: {}", answer.raw());
    }
}

#[tokio::test]
async fn s57_g06_g24_of_fifty_calls_with_one_signature_one_runs() {
    let stage = Stage::new().await;
    let client = stage.client(Era::Modern).await;
    let passkey = stage.enrolled(&client).await;
    let arguments = json!({ "path": "once" });
    let challenge = Stage::challenge(&client, GATED, &arguments).await;
    let response = passkey.get(&challenge["requestOptions"]).unwrap();
    let evidence = evidence(&challenge, &response);
    let calls = (0..50).map(|_| client.send(signed(GATED, &arguments, evidence.clone())));
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for answer in futures_util::future::join_all(calls).await {
        let answer = answer.unwrap();
        let word = if answer.error_code().is_some() { reason(&answer) } else { answer.text().unwrap() };
        *reasons.entry(word).or_default() += 1;
    }
    let expected: BTreeMap<String, usize> =
        [("done".to_owned(), 1), ("challenge_consumed".to_owned(), 49)].into_iter().collect();
    assert_eq!(reasons, expected);
    assert_eq!(stage.ran("once"), 1);
}

#[tokio::test]
async fn g04_a_challenge_is_for_whoever_asked_for_it() {
    let stage = Stage::with(|config| {
        config["agent_tokens"] = json!({
            "other": { "permissions": ["read", "write", "destructive"], "servers": ["*"] },
            "stranger": { "permissions": ["read", "write", "destructive"], "servers": ["*"], "user": "ben" },
        });
    })
    .await;
    let client = stage.client(Era::Modern).await;
    let passkey = stage.enrolled(&client).await;
    let arguments = json!({ "path": "a" });
    let challenge = Stage::challenge(&client, GATED, &arguments).await;
    let response = passkey.get(&challenge["requestOptions"]).unwrap();
    for name in ["other", "stranger"] {
        let (status, made) =
            stage.api(http::Method::POST, "/api/v1/tokens", Some(&json!({ "name": name }))).await;
        assert_eq!(status, 201, "{made}");
        let other = stage.client_of(Era::Modern, made["secret"].as_str().unwrap()).await;
        let answer = other.send(signed(GATED, &arguments, evidence(&challenge, &response))).await.unwrap();
        assert_eq!(reason(&answer), "challenge_unknown", "{name}");
        // A passkey of one person signs nothing for the agent of another.
        if name == "stranger" {
            let params = json!({ "toolName": GATED, "arguments": arguments });
            let answer = other.request("approval/challenge/create", params).await.unwrap();
            assert_eq!(reason(&answer), "no_eligible_credential");
        }
    }
    assert_eq!(stage.ran("delete"), 0);
}

#[tokio::test]
async fn g15_what_only_may_ask_is_signed_when_it_does_and_free_when_not() {
    let stage = Stage::new().await;
    let client = stage.client(Era::Modern).await;
    let passkey = stage.enrolled(&client).await;
    let answer = client.call("files__maybe", json!({ "hard": false })).await.unwrap();
    assert_eq!(answer.text().unwrap(), "done", "{}", answer.raw());
    let hard = json!({ "hard": true });
    let answer = client.call("files__maybe", hard.clone()).await.unwrap();
    assert_eq!(reason(&answer), "missing_evidence");
    assert!(answer.at("/error/data/approvalUrl").is_string(), "{}", answer.raw());
    let challenge = Stage::challenge(&client, "files__maybe", &hard).await;
    let response = passkey.get(&challenge["requestOptions"]).unwrap();
    let answer = client.send(signed("files__maybe", &hard, evidence(&challenge, &response))).await.unwrap();
    assert_eq!(answer.text().unwrap(), "done", "{}", answer.raw());
}

#[tokio::test]
async fn g12_no_other_refusal_has_the_code_of_the_proposal() {
    let stage = Stage::with(|config| {
        config["rules"] = json!([{ "name": "never", "effect": "block", "when": { "tool.name": "look" } }]);
    })
    .await;
    for era in [Era::Legacy, Era::Modern] {
        let client = stage.client(era).await;
        for (method, params) in [
            ("tools/call", json!({ "name": FREE, "arguments": {} })),
            ("tools/call", json!({ "name": "files__none", "arguments": {} })),
            ("resources/read", json!({ "uri": "none://x" })),
            ("no/such", json!({})),
        ] {
            let answer = client.request(method, params).await.unwrap();
            assert_ne!(answer.error_code(), Some(-32001), "{method}: {}", answer.raw());
        }
    }
}

#[tokio::test]
async fn g18_g22_what_a_call_says_of_itself_is_not_signed_and_approving_lowers_no_label() {
    let stage = Stage::new().await;
    let client = stage.client(Era::Modern).await;
    let passkey = stage.enrolled(&client).await;
    let label = || async {
        let (_, sessions) = stage.api(http::Method::GET, "/api/v1/sessions", None).await;
        sessions.as_array().unwrap().first().unwrap()["label"].clone()
    };
    client.call(FREE, json!({})).await.unwrap().ok().unwrap();
    let before = label().await;
    let arguments = json!({ "path": "a" });
    let challenge = Stage::challenge(&client, GATED, &arguments).await;
    let response = passkey.get(&challenge["requestOptions"]).unwrap();
    // Other `_meta` than at signing is no other call.
    let request =
        signed(GATED, &arguments, evidence(&challenge, &response)).progress("p-1").meta("acme/note", "x");
    let answer = client.send(request).await.unwrap();
    assert_eq!(answer.text().unwrap(), "done", "{}", answer.raw());
    // The session has taken in what it took in, and the approved call is added to that.
    let after = label().await;
    assert_eq!((&after["integrity"], &after["secrecy"]), (&before["integrity"], &before["secrecy"]));
    let origins = |label: &Value| label["origins"].as_array().unwrap().clone();
    assert!(
        origins(&before).iter().all(|origin| origins(&after).contains(origin)),
        "{before} became {after}"
    );
    assert!(origins(&after).contains(&json!("mcp:files:delete")), "{after}");
}

#[tokio::test]
async fn g21_a_block_wins_over_a_signature() {
    let stage = Stage::new().await;
    let client = stage.client(Era::Modern).await;
    let passkey = stage.enrolled(&client).await;
    let arguments = json!({ "path": "a" });
    let challenge = Stage::challenge(&client, GATED, &arguments).await;
    let response = passkey.get(&challenge["requestOptions"]).unwrap();
    stage.block_everything(&client).await;
    let answer = client.send(signed(GATED, &arguments, evidence(&challenge, &response))).await.unwrap();
    assert!(answer.is_tool_error() || answer.error_code().is_some(), "{}", answer.raw());
    assert_ne!(answer.error_code(), Some(-32001), "{}", answer.raw());
    assert_eq!(stage.ran("delete"), 0);
}

/// A client of 2025 that never heard of any of this is not turned away with an error it cannot read.
#[tokio::test]
async fn g19_a_client_that_does_not_know_the_proposal_is_told_what_to_do() {
    let stage = Stage::new().await;
    for era in [Era::Legacy, Era::Modern] {
        let setup = Setup::http(stage.gateway.endpoint()).era(era).token(stage.gateway.agent_token());
        let client = setup.without_stream().capabilities(json!({})).connect().await.unwrap();
        let answer = client.call(GATED, json!({ "path": format!("{era:?}") })).await.unwrap();
        assert!(answer.is_tool_error(), "{}", answer.raw());
        assert!(answer.text().unwrap().contains("/approve/"), "{}", answer.raw());
        assert_eq!(answer.at("/result/_meta/dev.highwater~1approval/state"), "pending", "{}", answer.raw());
    }
    assert_eq!(stage.ran("delete"), 0);
}
