//! Conversations that a person begins: in the terminal, by the interface, with a label that they state.

use highwater_testkit::client::{Client, Era, Setup};
use http::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::stage::{ACT, LOOK, PROGRAM, SEND, STRANGE, Stage, done, refused};

/// Runs a command of the program in the home of a gateway.
async fn terminal(stage: &Stage, arguments: &[&str]) -> (Option<i32>, String) {
    let data = stage.gateway.home().data_dir();
    let output = Command::new(PROGRAM).args(arguments).arg("--data-dir").arg(data).output().await.unwrap();
    let words =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), words)
}

async fn in_context(stage: &Stage, context: &str) -> Client {
    let url = format!("{}/c/{context}", stage.gateway.endpoint());
    Setup::http(&url)
        .era(Era::Modern)
        .token(stage.gateway.agent_token())
        .without_stream()
        .connect()
        .await
        .unwrap()
}

#[tokio::test]
async fn the_terminal_says_that_it_is_a_new_conversation() {
    let stage = Stage::new(json!({})).await;
    let client = stage.client(Era::Legacy).await;
    done(&client.call(STRANGE, json!({})).await.unwrap());
    refused(&client.call(ACT, json!({})).await.unwrap(), "undisclosed");
    let (code, words) =
        terminal(&stage, &["session", "new", "--principal", "agent", "--note", "the page is gone"]).await;
    assert_eq!(code, Some(0), "{words}");
    done(&client.call(ACT, json!({})).await.unwrap());
    let (code, words) = terminal(&stage, &["session", "list"]).await;
    assert!(code == Some(0) && words.contains("presumed: a transport session of `agent`"), "{words}");
    let (_, words) = terminal(&stage, &["session", "show", "presumed/agent"]).await;
    assert!(words.contains("the page is gone"), "{words}");
}

#[tokio::test]
async fn a_conversation_begins_with_a_stated_label() {
    let stage = Stage::new(json!({ "flow": "strict" })).await;
    let client = stage.client(Era::Legacy).await;
    done(&client.call(LOOK, json!({})).await.unwrap());
    let (code, words) =
        terminal(&stage, &["session", "new", "--principal", "agent", "--label", "high"]).await;
    assert!(code == Some(0) && words.contains("confidential"), "{words}");
    refused(&client.call(SEND, json!({})).await.unwrap(), "unavailable");
    let (code, words) =
        terminal(&stage, &["session", "new", "--principal", "agent", "--label", "hihg"]).await;
    assert!(code == Some(1) && words.contains("`high`"), "{words}");
    let (code, words) = terminal(&stage, &["session", "new", "--principal", "nobody"]).await;
    assert_eq!(code, Some(1), "{words}");

    let (code, made) = terminal(&stage, &["session", "new", "--label", "pii,untrusted", "--json"]).await;
    assert_eq!(code, Some(0), "{made}");
    let made: Value = serde_json::from_str(&made).unwrap();
    let context = in_context(&stage, made["id"].as_str().unwrap()).await;
    refused(&context.call(SEND, json!({})).await.unwrap(), "unavailable");
    let plain = Value::from(Vec::<Value>::new());
    let (status, made) = stage.api(Method::POST, "/api/v1/contexts", Some(&json!({ "label": plain }))).await;
    assert_eq!(status, 201, "{made}");
    done(&in_context(&stage, made["id"].as_str().unwrap()).await.call(ACT, json!({})).await.unwrap());
    let (status, said) =
        stage.api(Method::POST, "/api/v1/contexts", Some(&json!({ "label": ["nothing-known"] }))).await;
    assert_eq!(status, 400, "{said}");
}

#[tokio::test]
async fn the_interface_begins_a_conversation_with_a_reason() {
    let stage = Stage::new(json!({})).await;
    let client = stage.client(Era::Modern).await;
    done(&client.call(STRANGE, json!({})).await.unwrap());
    let path = "/api/v1/sessions/presumed%2Fagent/new";
    assert_eq!(stage.api(Method::POST, path, Some(&json!({}))).await.0, 400, "a reason is needed");
    let body = json!({ "reason": "a new task", "person": "ada" });
    let agent = stage.gateway.agent_token().to_owned();
    assert_eq!(stage.api_with(&agent, Method::POST, path, Some(&body)).await.0, 401);
    let (status, said) = stage.api(Method::POST, path, Some(&body)).await;
    assert_eq!(status, 200, "{said}");
    done(&client.call(ACT, json!({})).await.unwrap());
}
