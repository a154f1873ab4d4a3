//! What clients are told before they call anything.

use highwater_testkit::client::{Client, Era};
use serde_json::{Value, json};

use crate::stage::{FREE, GATED, KEY, Stage};

async fn tools(client: &Client) -> Vec<Value> {
    let listed = client.request("tools/list", json!({})).await.unwrap();
    listed.at("/result/tools").as_array().unwrap().clone()
}

fn annotation<'a>(tools: &'a [Value], name: &str) -> &'a Value {
    let tool = tools.iter().find(|tool| tool["name"] == *name).unwrap_or_else(|| panic!("{name}: {tools:?}"));
    &tool["_meta"][KEY]
}

#[tokio::test]
async fn s01_s02_s03_g14_g15_gated_tools_say_so_and_others_do_not() {
    let stage = Stage::new().await;
    for era in [Era::Legacy, Era::Modern] {
        let listed = tools(&stage.client(era).await).await;
        assert_eq!(annotation(&listed, GATED)["required"], "verified");
        assert_eq!(annotation(&listed, GATED)["authenticatorClass"], "cross-platform");
        assert!(annotation(&listed, GATED).get("mode").is_none_or(|mode| mode != "conditional"));
        // What only some arguments make ask is annotated, too, and says that it depends.
        assert_eq!(annotation(&listed, "files__maybe")["required"], "verified");
        assert_eq!(annotation(&listed, "files__maybe")["mode"], "conditional");
        assert_eq!(annotation(&listed, FREE), &Value::Null);
    }
}

#[tokio::test]
async fn s02_a_class_that_the_operator_chose_is_told() {
    let stage = Stage::with(|config| {
        config["approvals"]["tools"] = json!({ "files:delete": { "class": "platform" } });
    })
    .await;
    let listed = tools(&stage.client(Era::Modern).await).await;
    assert_eq!(annotation(&listed, GATED)["authenticatorClass"], "platform");
}

#[tokio::test]
async fn s04_s06_g13_g14_the_capability_is_declared_in_both_eras_under_both_names() {
    let stage = Stage::new().await;
    for era in [Era::Legacy, Era::Modern] {
        let client = stage.client(era).await;
        let greeting = match era {
            Era::Legacy => client.greeting().unwrap().json().unwrap(),
            Era::Modern => client.request("server/discover", json!({})).await.unwrap().result().unwrap(),
        };
        let greeting = greeting.get("result").unwrap_or(&greeting);
        let extensions = &greeting["capabilities"]["extensions"];
        assert_eq!(extensions["verifiedApproval"], json!({}), "{era:?}: {greeting}");
        assert_eq!(extensions[KEY], json!({}), "{era:?}: {greeting}");
        // All three methods are understood: whatever they answer, it is not that they are unknown.
        for method in ["approval/enroll/begin", "approval/enroll/finish", "approval/challenge/create"] {
            let answer = client.request(method, json!({})).await.unwrap();
            assert!(answer.error_code() != Some(-32601), "{method}: {}", answer.raw());
        }
    }
}

#[tokio::test]
async fn s05_s08_without_a_page_nothing_is_declared_nothing_gated_is_offered_and_no_method_is_known() {
    let stage = Stage::with(|config| config["approvals"]["listen"] = json!("none")).await;
    for era in [Era::Legacy, Era::Modern] {
        let client = stage.client(era).await;
        let listed = tools(&client).await;
        for tool in &listed {
            assert_eq!(tool["_meta"][KEY], Value::Null, "{tool}");
        }
        for method in ["approval/enroll/begin", "approval/enroll/finish", "approval/challenge/create"] {
            let answer = client.request(method, json!({})).await.unwrap();
            assert_eq!(answer.error_code(), Some(-32601), "{method}: {}", answer.raw());
        }
        // Nobody can approve, so it does not run, whoever asks.
        let answer = client.call(GATED, json!({ "path": "a" })).await.unwrap();
        assert!(answer.error_code().is_some() || answer.is_tool_error(), "{}", answer.raw());
    }
    assert_eq!(stage.ran("delete"), 0);
}
