//! D7: a yes that was to last ended with its first use, since the reply of the approved call made the session another one.

use std::path::Path;

use highwater_testkit::client::{Client, Era, Setup};
use http::Method;
use serde_json::{Value, json};

use crate::mandated::sign_as;
use crate::stage::{BRIEFLY, DELETE, Stage, WRITE, done, waits};

const PAGE: &str = "files__page";
/// Cannot be undone, and nothing is configured of it.
const ACT: &str = "files__act";

/// Tools as their server describes them, of which those that `labelled` names say what they take and bring.
fn script(labelled: &[&str]) -> Value {
    let result = |text: &str| vec![format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{text}}}"#)];
    let tool = |name: &str| {
        let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
        let mut tool = json!({ "name": name, "inputSchema": schema });
        if labelled.contains(&name) {
            let source = if name == "page" { "untrustedPublic" } else { "system" };
            let destination = match name {
                "page" => "ephemeral",
                "delete" | "act" => "internal",
                _ => "public",
            };
            let outcomes = if name == "act" { "irreversible" } else { "benign" };
            let classes = ["user", "pii", "financial", "credentials"];
            tool["annotations"] = json!({
                "inputMetadata": { "destination": destination, "sensitivity": classes, "outcomes": outcomes },
                "returnMetadata": { "source": source, "sensitivity": "none" },
            });
        }
        tool
    };
    let tools = ["page", "write", "delete", "act"].map(tool);
    let tools = json!({ "tools": tools });
    let greeting = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;
    json!({
        "initialize": result(greeting),
        "tools/list": result(&tools.to_string()),
        "tools/call": result(r#"{"content":[{"type":"text","text":"done"}]}"#),
        "ping": result("{}"),
    })
}

/// A gateway before that server. A second token is called `other`, and deletions can be delegated.
async fn stage(labelled: &[&str]) -> Stage {
    Stage::standing(BRIEFLY, |config| {
        let file = Path::new(config["servers"]["files"]["args"][1].as_str().unwrap()).to_owned();
        std::fs::write(file, script(labelled).to_string()).unwrap();
        config["rules"] = json!([]);
        config["approvals"]["tools"] = json!({ "files:delete": { "delegable": true } });
        config["agent_tokens"] =
            json!({ "other": { "permissions": ["read", "write", "destructive"], "servers": ["*"] } });
    })
    .await
}

async fn of_other_token(stage: &Stage) -> Client {
    let url = stage.gateway.endpoint().replace("/mcp", "/api/v1/tokens");
    let person = Setup::http(&url).token(stage.gateway.operator_token()).connect_silently().await.unwrap();
    let made = person.exchange(Method::POST, r#"{"name":"other"}"#, &[]).await.unwrap();
    assert_eq!(made.status, 201, "{}", made.body);
    let made: Value = serde_json::from_str(&made.body).unwrap();
    stage.setup(Era::Modern).token(made["secret"].as_str().unwrap()).connect().await.unwrap()
}

/// Signs a mandate for five deletions below `build/`, by whoever calls as this client does.
async fn delegate(stage: &Stage, client: &Client) {
    let id = waits(&client.call(DELETE, json!({ "path": "who" })).await.unwrap());
    let (_, request) = stage.api(Method::GET, &id, None).await;
    sign_as(stage, &request["principal"], &json!({ "path": { "prefix": "build/" } }), 5).await;
}

#[tokio::test]
async fn d7_a_yes_for_the_conversation_lasts_where_nobody_labelled_the_tool() {
    let stage = stage(&[]).await;
    let client = stage.client(Era::Modern).await;
    let id = waits(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
    let (status, said) = stage.person.confirm(&id, Some("session")).await;
    assert_eq!(status, 200, "{said}");
    for times in 1..=3 {
        done(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
        assert_eq!(stage.ran("write"), times);
    }
}

#[tokio::test]
async fn d7_a_mandate_lasts_where_nobody_labelled_the_tool() {
    let stage = stage(&[]).await;
    let client = stage.client(Era::Modern).await;
    delegate(&stage, &client).await;
    for path in ["build/a", "build/b", "build/c"] {
        done(&client.call(DELETE, json!({ "path": path })).await.unwrap());
        assert_eq!(stage.ran(path), 1);
    }
}

/// One write to another tool of the server made every later reply of the labelled tool a stranger's, to all agents.
#[tokio::test]
async fn d7_what_a_tainted_conversation_wrote_elsewhere_ends_nobodys_mandate() {
    let stage = stage(&["page", "write", "delete"]).await;
    let tainted = stage.client(Era::Modern).await;
    done(&tainted.call(PAGE, json!({})).await.unwrap());
    let note = json!({ "path": "what a stranger wanted to be written here" });
    let id = waits(&tainted.call(WRITE, note.clone()).await.unwrap());
    assert_eq!(stage.person.confirm(&id, None).await.0, 200);
    done(&tainted.call(WRITE, note).await.unwrap());
    let other = of_other_token(&stage).await;
    delegate(&stage, &other).await;
    for path in ["build/a", "build/b", "build/c"] {
        done(&other.call(DELETE, json!({ "path": path })).await.unwrap());
        assert_eq!(stage.ran(path), 1);
    }
}

/// An act after strangers' text was asked about each time, and nothing was offered to remember.
#[tokio::test]
async fn d7_a_yes_to_an_act_after_strangers_text_may_last_for_the_conversation() {
    let stage = stage(&["page", "act"]).await;
    let client = stage.client(Era::Modern).await;
    done(&client.call(PAGE, json!({})).await.unwrap());
    let id = waits(&client.call(ACT, json!({ "path": "a" })).await.unwrap());
    let (_, request) = stage.api(Method::GET, &id, None).await;
    let offered = request["remember"].as_array().unwrap();
    assert!(offered.contains(&json!("session")), "nothing is offered to remember: {request}");
    assert_eq!(stage.person.confirm(&id, Some("session")).await.0, 200);
    for times in 1..=3 {
        done(&client.call(ACT, json!({ "path": "a" })).await.unwrap());
        assert_eq!(stage.ran("act"), times);
    }
}
