//! A remembered yes holds for what it was said of, and never for more: another target, another definition, more in the
//! session or another token asks again.

use highwater_testkit::client::{Client, Setup};
use http::Method;
use serde_json::{Value, json};

use crate::stage::{BRIEFLY, ERAS, LOOK, READ, Stage, WRITE, done, waits};

const SCOPES: [&str; 3] = ["session", "tool-with-targets", "until-definition-changes"];

/// A gateway and a client for which a yes to writing `a` is remembered.
async fn remembered(scope: &str) -> (Stage, Client) {
    remembered_after(scope, None).await
}

/// The same where the session has called this before.
async fn remembered_after(scope: &str, first: Option<&str>) -> (Stage, Client) {
    let other = json!({ "other": { "permissions": ["read", "write", "destructive"], "servers": ["*"] } });
    let stage = Stage::standing(BRIEFLY, |config| config["agent_tokens"] = other).await;
    let client = stage.client(ERAS[1]).await;
    if let Some(first) = first {
        done(&client.call(first, json!({})).await.unwrap());
    }
    let id = waits(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
    let (status, said) = stage.person.confirm(&id, Some(scope)).await;
    assert_eq!((status, &said["state"]), (200, &json!("approved")), "{said}");
    // Not once more than it was said: what these rest on is what is remembered.
    for times in 1..=4 {
        done(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
        assert_eq!(stage.ran("write"), times, "{scope}");
    }
    (stage, client)
}

/// That a person is asked, and nothing runs meanwhile.
async fn asks(stage: &Stage, client: &Client, arguments: Value) {
    let ran = stage.ran("write");
    waits(&client.call(WRITE, arguments).await.unwrap());
    assert_eq!(stage.ran("write"), ran);
}

#[tokio::test]
async fn a_remembered_answer_holds_while_nothing_changes_and_another_target_asks_again() {
    for scope in SCOPES {
        let (stage, client) = remembered(scope).await;
        for other in [json!({ "path": "b" }), json!({ "path": "a", "force": true }), json!({})] {
            asks(&stage, &client, other).await;
        }
        done(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
    }
}

#[tokio::test]
async fn a_remembered_answer_ends_with_the_definition() {
    for scope in SCOPES {
        let (stage, client) = remembered_after(scope, Some(LOOK)).await;
        // It is not the looking that asks.
        done(&client.call(LOOK, json!({})).await.unwrap());
        done(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
        stage.pull(&client, "Writes elsewhere.").await;
        asks(&stage, &client, json!({ "path": "a" })).await;
    }
}

#[tokio::test]
async fn a_remembered_answer_does_not_hold_in_a_session_that_knows_more() {
    for (scope, more) in SCOPES.into_iter().zip([READ, READ, LOOK]) {
        let (stage, client) = remembered(scope).await;
        done(&client.call(more, json!({})).await.unwrap());
        asks(&stage, &client, json!({ "path": "a" })).await;
    }
}

#[tokio::test]
async fn a_remembered_answer_is_for_one_token() {
    for scope in SCOPES {
        let (stage, client) = remembered(scope).await;
        let url = stage.gateway.endpoint().replace("/mcp", "/api/v1/tokens");
        let person =
            Setup::http(&url).token(stage.gateway.operator_token()).connect_silently().await.unwrap();
        let made = person.exchange(Method::POST, r#"{"name":"other"}"#, &[]).await.unwrap();
        assert_eq!(made.status, 201, "{}", made.body);
        let made: Value = serde_json::from_str(&made.body).unwrap();
        let other = stage.setup(ERAS[1]).token(made["secret"].as_str().unwrap()).connect().await.unwrap();
        asks(&stage, &other, json!({ "path": "a" })).await;
        done(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
    }
}

/// What is remembered outlives the gateway, and no more of it.
#[tokio::test]
async fn a_remembered_answer_outlives_a_kill_as_it_was() {
    let (mut stage, client) = remembered("until-definition-changes").await;
    drop(client);
    stage.gateway.kill().await.unwrap();
    stage.restart().await;
    let client = stage.client(ERAS[1]).await;
    done(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
    asks(&stage, &client, json!({ "path": "b" })).await;
}
