//! A session id that we know is taken up again; one that its client ended, or that is nobody's, is not.

use highwater_testkit::client::{Era, Setup};
use http::Method;
use serde_json::{Value, json};

use crate::stage::{ACT, LOOK, STRANGE, Stage, done};

const VERSION: &str = "2025-11-25";

/// Calls a tool in a session, as a client does that knows nothing of a restart.
async fn call(stage: &Stage, token: &str, session: &str, tool: &str) -> (u16, Value) {
    let client = Setup::http(stage.gateway.endpoint()).token(token).connect_silently().await.unwrap();
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": tool, "arguments": {} } });
    let headers = [
        ("mcp-session-id", session),
        ("mcp-protocol-version", VERSION),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let reply = client.exchange(Method::POST, body.to_string(), &headers).await.unwrap();
    (reply.status, serde_json::from_str(&reply.body).unwrap_or(Value::Null))
}

fn is_stopped(answer: &Value) -> bool {
    answer["result"]["isError"] == true && answer.to_string().contains("insufficient_authorization")
}

#[tokio::test]
async fn an_id_from_before_a_restart_goes_on_with_its_label() {
    for partition in ["auto", "session"] {
        for killed in [false, true] {
            let mut stage = Stage::new(json!({ "partition": partition })).await;
            let client = stage.setup(Era::Legacy).version(VERSION).connect().await.unwrap();
            done(&client.call(STRANGE, json!({})).await.unwrap());
            let id = client.session().unwrap().to_owned();
            match killed {
                true => stage.gateway.kill().await.unwrap(),
                false => drop(stage.gateway.stop().await.unwrap()),
            }
            stage.gateway.restart().await.unwrap();
            let token = stage.gateway.agent_token().to_owned();
            let (status, answer) = call(&stage, &token, &id, LOOK).await;
            assert_eq!((status, &answer["result"]["isError"]), (200, &Value::Null), "{answer}");
            let (status, answer) = call(&stage, &token, &id, ACT).await;
            assert!(status == 200 && is_stopped(&answer), "{status} {answer}");
            let (status, _) = call(&stage, &token, "nobodys", LOOK).await;
            assert_eq!(status, 404);
        }
    }
}

#[tokio::test]
async fn an_id_that_its_client_ended_is_over_before_and_after_a_restart() {
    let mut stage = Stage::new(json!({})).await;
    let client = stage.setup(Era::Legacy).version(VERSION).connect().await.unwrap();
    done(&client.call(LOOK, json!({})).await.unwrap());
    let id = client.session().unwrap().to_owned();
    client.close().await.unwrap();
    let token = stage.gateway.agent_token().to_owned();
    assert_eq!(call(&stage, &token, &id, LOOK).await.0, 404);
    stage.gateway.stop().await.unwrap();
    stage.gateway.restart().await.unwrap();
    assert_eq!(call(&stage, &token, &id, LOOK).await.0, 404);
}

#[tokio::test]
async fn an_id_is_its_own_tokens_alone() {
    let terms = json!({ "servers": ["*"], "permissions": ["read", "write", "destructive"] });
    let mut stage = Stage::new(json!({ "agent_tokens": { "other": terms } })).await;
    let client = stage.setup(Era::Legacy).version(VERSION).connect().await.unwrap();
    done(&client.call(LOOK, json!({})).await.unwrap());
    let id = client.session().unwrap().to_owned();
    let (status, made) = stage.api(Method::POST, "/api/v1/tokens", Some(&json!({ "name": "other" }))).await;
    assert_eq!(status, 201, "{made}");
    stage.gateway.stop().await.unwrap();
    stage.gateway.restart().await.unwrap();
    let other = made["secret"].as_str().unwrap();
    assert_eq!(call(&stage, other, &id, LOOK).await.0, 404);
    let token = stage.gateway.agent_token().to_owned();
    assert_eq!(call(&stage, &token, &id, LOOK).await.0, 200);
}
