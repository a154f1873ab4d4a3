//! What a call goes through, from its arrival to its delivery.

use serde_json::{Value, json};

use super::scripted::{Script, Step};
use super::{Setup, Stage};

/// A tool that only reads, of a server that is believed.
fn reading(name: &str) -> Value {
    json!({
        "name": name,
        "inputSchema": { "type": "object" },
        "annotations": {
            "readOnlyHint": true,
            "openWorldHint": false,
            "inputMetadata": { "destination": "ephemeral", "sensitivity": ["user", "pii"], "outcomes": "benign" },
            "returnMetadata": { "source": "internal", "sensitivity": "none" },
        },
    })
}

async fn notes() -> Stage {
    let script = Script { tools: vec![reading("read")], ..Script::default() };
    Setup::new().server("notes", script).open().await
}

#[tokio::test]
async fn a_call_reaches_its_server_under_its_own_name_and_comes_back() {
    let stage = notes().await;
    stage
        .server("notes")
        .on("read", [Step::Answer(json!({ "content": [{ "type": "text", "text": "hi" }] }))]);
    for agent in [stage.modern(json!({})), stage.legacy(&json!({}))] {
        let answer = agent.call("notes__read", json!({ "path": "a" })).await;
        assert_eq!(answer["result"]["content"][0]["text"], "hi", "{answer}");
    }
    let calls = stage.server("notes").calls("tools/call");
    assert_eq!(calls.len(), 2);
    assert_eq!((&calls[0]["name"], &calls[0]["arguments"]), (&json!("read"), &json!({ "path": "a" })));
}
