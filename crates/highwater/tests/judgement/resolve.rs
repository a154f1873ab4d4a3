//! `tools/resolve`: what would apply to a call, without making it; and what servers say of their own calls.

use highwater_testkit::client::Era;
use serde_json::{Value, json};

use crate::stage::{ACT, LOOK, STRANGE, Stage, done};

const OUTLOOK: &str = "dev.highwater~1outlook";

async fn outlook(stage: &Stage, era: Era, warm: &[&str], tool: &str) -> (Value, Value) {
    let client = stage.client(era).await;
    for tool in warm {
        done(&client.call(tool, json!({})).await.unwrap());
    }
    let answer = client.request("tools/resolve", json!({ "name": tool, "arguments": {} })).await.unwrap();
    let (at, hints) = match era {
        Era::Modern => (format!("/result/_meta/{OUTLOOK}"), "/result/annotations"),
        Era::Legacy => (format!("/result/tool/_meta/{OUTLOOK}"), "/result/tool/annotations"),
    };
    (answer.at(&at), answer.at(hints))
}

#[tokio::test]
async fn the_outlook_is_told_in_both_forms_and_nothing_is_called() {
    for era in [Era::Legacy, Era::Modern] {
        let stage = Stage::new(json!({})).await;
        let (fresh, hints) = outlook(&stage, era, &[LOOK], ACT).await;
        assert_eq!(fresh, json!({ "effect": "allow", "wouldTaint": false }), "{era:?}");
        assert_eq!(hints["readOnlyHint"], json!(false), "{hints}");
        let (strange, _) = outlook(&stage, era, &[LOOK], STRANGE).await;
        assert_eq!(strange, json!({ "effect": "allow", "wouldTaint": true }), "{era:?}");
        let (doubtful, _) = outlook(&stage, era, &[LOOK, STRANGE], ACT).await;
        assert_eq!(doubtful["effect"], "confirm", "{era:?}");
        assert_eq!(stage.runs(ACT), 0);
        assert!(stage.journal.of("tools/resolve").is_empty(), "this server does not resolve");
    }
}

#[tokio::test]
async fn every_client_is_told_that_calls_can_be_resolved() {
    let stage = Stage::new(json!({})).await;
    let legacy = stage.client(Era::Legacy).await;
    assert_eq!(legacy.greeting().unwrap().at("/result/capabilities/tools/resolve"), json!(true));
    let modern = stage.client(Era::Modern).await;
    let extension = "/result/capabilities/extensions/io.modelcontextprotocol~1tool-resolution";
    assert_eq!(modern.greeting().unwrap().at(extension), json!({}));
    for client in [legacy, modern] {
        let list = client.request("tools/list", json!({})).await.unwrap();
        let tools = list.at("/result/tools");
        let marker = |tool: &Value| {
            tool["_meta"]["io.modelcontextprotocol/tool-resolution"]["resolvable"] == json!(true)
                && tool["_meta"]["dev.highwater/contract"]["v"] == json!(1)
        };
        assert!(tools.as_array().unwrap().iter().all(marker), "{tools}");
    }
}

#[tokio::test]
async fn a_rule_about_lists_hides_a_tool_from_them() {
    let rule = json!({ "name": "hidden", "effect": "block", "phase": "list", "when": { "tool.id": ACT } });
    for flow in ["balanced", "observe"] {
        let stage = Stage::new(json!({ "flow": flow, "rules": [rule] })).await;
        let client = stage.client(Era::Legacy).await;
        let list = client.request("tools/list", json!({})).await.unwrap();
        assert!(!list.raw().contains(ACT), "{flow}");
        assert!(list.raw().contains(LOOK), "{flow}");
    }
}
