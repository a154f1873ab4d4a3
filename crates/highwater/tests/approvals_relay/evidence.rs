//! Evidence on its way to the server that verifies it (C8 to C16): what reaches it, what does not, and what it answers.

use highwater_testkit::client::{Era, Request};
use highwater_testkit::wait::until;
use serde_json::json;

use crate::stage::{CELLS, ERAS, KEY, OWN, Server, Stage, Upstream, WIPE, done, rejected};

#[tokio::test]
async fn c08_c09_g17_a_genuine_approval_executes_once_and_arrives_byte_for_byte() {
    for (upstream, behind, era) in CELLS {
        let stage = Stage::new(Server::new(upstream, behind)).await;
        let client = stage.native(era).await;
        let arguments = json!({ "id": "abc", "n": 1.5 });
        let evidence = stage.signed(&client, &arguments).await;
        // In a spelling of its own, so that writing it anew would show.
        let spelled = evidence.to_string().replacen('{', "{ ", 1).replacen("webauthn", "web\\u0061uthn", 1);
        let request = Request::new("tools/call")
            .raw_params(&format!(r#"{{"name":"{WIPE}","arguments":{{"n":1.50, "id":"abc"}}}}"#))
            .raw_meta(&format!(r#""{KEY}": {spelled}"#));
        let answer = client.send(request).await.unwrap();
        done(&answer);
        assert_eq!(answer.text().unwrap(), "done", "{upstream:?} {behind:?} {era:?}");
        assert_eq!(stage.executed(), [r#"{"id":"abc","n":1.5}"#]);
        let note = stage.journal.of("tools/call").pop().unwrap();
        assert!(note.raw.contains(&spelled), "{}\n{spelled}", note.raw);
        assert!(note.raw.contains(r#""arguments":{"n":1.50, "id":"abc"}"#), "{}", note.raw);
        assert!(note.raw.contains(&format!(r#""name":"{OWN}""#)), "{}", note.raw);
    }
}

#[tokio::test]
async fn c10_another_method_is_refused_before_the_server_sees_it() {
    let stage = Stage::new(Server::default()).await;
    let client = stage.native(Era::Modern).await;
    let arguments = json!({ "id": "abc" });
    let mut evidence = stage.signed(&client, &arguments).await;
    evidence["method"] = json!("push");
    rejected(&stage.call(&client, &arguments, &evidence).await, "unsupported_method");
    for broken in [json!(null), json!("webauthn"), json!({ "method": "webauthn", "challengeId": 7 })] {
        rejected(&stage.call(&client, &arguments, &broken).await, "missing_evidence");
    }
    assert_eq!(stage.called(), 0);
}

#[tokio::test]
async fn c11_c13_changed_arguments_are_refused_and_the_right_call_still_goes() {
    for (upstream, behind, era) in CELLS {
        let stage = Stage::new(Server::new(upstream, behind)).await;
        let client = stage.native(era).await;
        let arguments = json!({ "id": "abc" });
        let evidence = stage.signed(&client, &arguments).await;
        let changed = stage.call(&client, &json!({ "id": "xyz" }), &evidence).await;
        rejected(&changed, "argument_hash_mismatch");
        assert_eq!(stage.called(), 0, "{upstream:?} {behind:?} {era:?}");
        done(&stage.call(&client, &arguments, &evidence).await);
        assert_eq!(stage.executed(), [r#"{"id":"abc"}"#]);
    }
}

#[tokio::test]
async fn c12_a_challenge_is_used_once_even_by_many_at_once() {
    for (upstream, behind, era) in [CELLS[0], CELLS[3]] {
        let stage = Stage::new(Server::new(upstream, behind)).await;
        let client = stage.native(era).await;
        let arguments = json!({ "id": "abc" });
        let evidence = stage.signed(&client, &arguments).await;
        let calls = (0..20).map(|_| stage.call(&client, &arguments, &evidence));
        let answers = futures_util::future::join_all(calls).await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.error_code().is_none());
        assert_eq!(won.len(), 1);
        lost.iter().for_each(|answer| rejected(answer, "challenge_consumed"));
        rejected(&stage.call(&client, &arguments, &evidence).await, "challenge_consumed");
        assert_eq!((stage.called(), stage.executed().len()), (1, 1), "{upstream:?}");
    }
}

#[tokio::test]
async fn c11_a_foreign_callers_challenge_is_unknown() {
    for era in ERAS {
        let stage = Stage::new(Server::default()).await;
        let (client, other) = (stage.native(era).await, stage.other(era).await);
        let arguments = json!({ "id": "abc" });
        let evidence = stage.signed(&client, &arguments).await;
        rejected(&stage.call(&other, &arguments, &evidence).await, "challenge_unknown");
        assert_eq!(stage.called(), 0);
        done(&stage.call(&client, &arguments, &evidence).await);
        assert_eq!(stage.executed().len(), 1);
    }
}

#[tokio::test]
async fn g16_g17_a_tool_that_changed_between_challenge_and_call_is_another_tool() {
    let stage = Stage::new(Server { changes: true, ..Server::new(Upstream::Stdio, Era::Legacy) }).await;
    let client = stage.native(Era::Modern).await;
    let arguments = json!({ "id": "abc" });
    let evidence = stage.signed(&client, &arguments).await;
    let changed = async || {
        let list = client.request("tools/list", json!({})).await.unwrap();
        list.raw().contains("Deletes even more.").then_some(())
    };
    until("the change is listed", changed).await.unwrap();
    rejected(&stage.call(&client, &arguments, &evidence).await, "challenge_wrong_tool");
    assert_eq!(stage.called(), 0);
    // A challenge for the tool as it is now.
    let evidence = stage.signed(&client, &arguments).await;
    done(&stage.call(&client, &arguments, &evidence).await);
    assert_eq!(stage.executed().len(), 1);
}

#[tokio::test]
async fn c14_c15_c16_what_the_server_rejects_comes_back_as_it_is() {
    for (upstream, behind, era) in CELLS {
        let stage = Stage::new(Server::new(upstream, behind)).await;
        let client = stage.native(era).await;
        let arguments = json!({ "id": "abc" });
        let challenge = stage.challenge(&client, &arguments).await;
        let mut evidence = stage.sign(&challenge);
        // Signed for another page than the server's: only the server can tell.
        let wire = challenge.at("/result/requestOptions/challenge");
        let wire = highwater_notation::decode_base64url(wire.as_str().unwrap()).unwrap();
        evidence["response"] =
            stage.passkey.assert(&wire, |draft| "http://localhost:7412".clone_into(&mut draft.origin));
        let answer = stage.call(&client, &arguments, &evidence).await;
        rejected(&answer, "signature_verification_failed");
        let error = r#""error":{"code":-32001,"message":"not \u0061pproved","data":{"reason":"signature_verification_failed","later":[1.50]}}"#;
        assert!(answer.raw().contains(error), "{}", answer.raw());
        assert_eq!((stage.called(), stage.executed().len()), (1, 0));
        // It was submitted, and so it is used (C12).
        let genuine = stage.sign(&challenge);
        rejected(&stage.call(&client, &arguments, &genuine).await, "challenge_consumed");
        assert_eq!(stage.called(), 1, "{upstream:?} {behind:?} {era:?}");
    }
}

#[tokio::test]
async fn c12_what_was_used_stays_used_and_a_restart_forgets_nothing_into_the_open() {
    let mut stage = Stage::new(Server::new(Upstream::Http, Era::Legacy)).await;
    let arguments = json!({ "id": "abc" });
    let client = stage.native(Era::Modern).await;
    let evidence = stage.signed(&client, &arguments).await;
    drop(client);
    stage.gateway.stop().await.unwrap();
    stage.gateway.restart().await.unwrap();
    let client = stage.native(Era::Modern).await;
    rejected(&stage.call(&client, &arguments, &evidence).await, "challenge_unknown");
    assert_eq!(stage.called(), 0);
}
