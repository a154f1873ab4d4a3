//! What a client answers to a server's question is judged as the call that the question belongs to.

use highwater_testkit::client::{Client, Era, Request};
use serde_json::{Value, json};

use crate::stage::{STRANGE, Stage, done};

const ASK: &str = "up__ask_elicit";

/// A server whose tool acts, and asks a person something before it does.
async fn stage() -> Stage {
    let label = json!({
        "inputMetadata": { "destination": "internal", "sensitivity": "any", "outcomes": "consequential" },
        "returnMetadata": { "source": "system", "sensitivity": "none" },
    });
    Stage::new(json!({ "servers": { "up": { "labels": { "ask_elicit": label } } } })).await
}

/// What came of the call once its question was answered; `between` is done before.
async fn answered(client: &Client, between: impl AsyncFn()) -> String {
    let arguments = json!({ "message": "to whom?" });
    let asked = client.send(Request::call(ASK, &arguments).once()).await.unwrap();
    assert_eq!(asked.at("/result/resultType"), "input_required", "{}", asked.raw());
    let key = asked.at("/result/inputRequests").as_object().unwrap().keys().next().unwrap().clone();
    between().await;
    let mut retry = json!({
        "name": ASK, "arguments": arguments,
        "inputResponses": { key: { "action": "accept", "content": { "answer": "mallory" } } },
    });
    // A server that keeps nothing wants nothing back.
    if let state @ Value::String(_) = asked.at("/result/requestState") {
        retry["requestState"] = state;
    }
    let answer = client.send(Request::new("tools/call").params(retry).once()).await.unwrap();
    answer.raw().to_owned()
}

#[tokio::test]
async fn strangers_who_were_heard_meanwhile_decide_no_answer() {
    let stage = stage().await;
    let setup = stage.setup(Era::Modern).capabilities(json!({ "elicitation": { "form": {} } }));
    let client = setup.connect().await.unwrap();
    let result = answered(&client, async || {}).await;
    assert!(result.contains("mallory"), "{result}");
    let result = answered(&client, async || done(&client.call(STRANGE, json!({})).await.unwrap())).await;
    assert!(!result.contains("mallory"), "{result}");
}
