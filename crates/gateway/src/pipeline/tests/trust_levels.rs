//! One level of trust: what the audit log says a reply is worth is what its label says, and what the session has sunk to.

use serde_json::{Value, json};

use super::{ERAS, Script, Setup, Stage, Step};

/// A server of this trust, with a tool of each kind and one resource.
async fn open(server: &str, resource: &str) -> Stage {
    let tool = |name: &str, annotations: Value| json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": annotations });
    let script = Script::of([
        tool("silent", json!({})),
        tool("closed", json!({ "readOnlyHint": true, "openWorldHint": false })),
        tool("open", json!({ "readOnlyHint": true, "openWorldHint": true })),
        tool("public", json!({ "returnMetadata": { "source": "untrustedPublic", "sensitivity": "none" } })),
    ]);
    let script = script.with_resources([json!({ "uri": "note://a", "name": "a" })]);
    let trust = json!({ "server_trust": server, "resource_trust": resource, "verified": true });
    Setup::new().server("up", script).with(|config| config["servers"]["up"]["trust"] = trust).open().await
}

/// The level in the last outcome on record, and the integrity in its label.
fn on_record(stage: &Stage) -> (String, String) {
    let record = stage.audit().into_iter().rfind(|record| record["event"] == "outcome").unwrap();
    let words = record["label"].as_array().unwrap();
    let integrity = words.iter().find_map(|word| word.as_str().unwrap().strip_prefix("integrity:"));
    (record["trust"]["level"].as_str().unwrap().to_owned(), integrity.unwrap_or("owner").to_uppercase())
}

/// What the last decision foresaw.
fn foreseen(stage: &Stage) -> String {
    let record = stage.audit().into_iter().rfind(|record| record["event"] == "decision").unwrap();
    record["trust"]["level"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn audit_and_label_say_the_same_level() {
    for (server, resource) in [("tool", "none"), ("tool", "tool"), ("system", "agent"), ("none", "tool")] {
        let (own, read) = (server.to_uppercase(), resource.to_uppercase());
        for (what, params, level) in [
            ("tools/call", json!({ "name": "up__silent", "arguments": {} }), &own),
            ("tools/call", json!({ "name": "up__closed", "arguments": {} }), &own),
            ("tools/call", json!({ "name": "up__open", "arguments": {} }), &"NONE".to_owned()),
            ("tools/call", json!({ "name": "up__public", "arguments": {} }), &"NONE".to_owned()),
            ("resources/read", json!({ "uri": "up+note://a" }), &read),
        ] {
            for era in ERAS {
                let stage = open(server, resource).await;
                let agent = stage.of_era(era);
                let answer = agent.send(what, params.clone()).await.answer;
                assert!(answer["result"].is_object() && answer["result"]["isError"] != true, "{answer}");
                let told = format!("{params} at {server}, {resource}");
                assert_eq!(on_record(&stage), (level.clone(), level.clone()), "{told}");
                assert_eq!(foreseen(&stage), *level, "{told}");
                let session = stage.memory.look(agent.session().key()).unwrap().session.label;
                assert_eq!(session.integrity().as_str().to_uppercase(), *level, "{told}");
            }
        }
    }
}

#[tokio::test]
async fn what_a_reply_says_of_itself_counts_in_both() {
    let stage = open("tool", "none").await;
    let said = json!({ "openWorldHint": true });
    stage.up().on("closed", [Step::Answer(json!({ "content": [], "_meta": { "annotations": said } }))]);
    stage.of_era(ERAS[1]).call("up__closed", json!({})).await;
    assert_eq!(on_record(&stage), ("NONE".to_owned(), "NONE".to_owned()));
    assert_eq!(foreseen(&stage), "TOOL", "nobody knew before");
}
