//! What a yes covers beyond one call, after strangers' text: one recipient, one folder, one channel until the conversation
//! ends; and what an agent does by itself that nobody watches.

use std::path::Path;

use highwater_testkit::client::{Client, Era};
use serde_json::{Value, json};

use crate::stage::{BRIEFLY, Stage, done, waits};

/// A server of this machine that also sends mail, posts to a chat and reads the web.
fn script() -> Value {
    let result = |text: &str| vec![format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{text}}}"#)];
    let text = json!({ "type": "string" });
    let schema = |properties: Value| json!({ "type": "object", "properties": properties, "additionalProperties": false });
    let page = json!({ "name": "page", "inputSchema": schema(json!({})), "annotations": {
        "inputMetadata": { "destination": "ephemeral", "sensitivity": "none", "outcomes": "benign" },
        "returnMetadata": { "source": "untrustedPublic", "sensitivity": "none" } } });
    let tools = json!([
        page,
        { "name": "send_mail", "inputSchema": schema(json!({ "to": text, "subject": text, "body": text })) },
        { "name": "edit_file", "inputSchema": schema(json!({ "path": text, "content": text })),
          "annotations": { "readOnlyHint": false, "destructiveHint": true, "openWorldHint": false } },
        { "name": "post_message", "inputSchema": schema(json!({ "channel": text, "text": text })) },
    ]);
    let greeting = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;
    json!({
        "initialize": result(greeting),
        "tools/list": result(&json!({ "tools": tools }).to_string()),
        "tools/call": result(r#"{"content":[{"type":"text","text":"done"}]}"#),
        "ping": result("{}"),
    })
}

async fn stage(change: impl FnOnce(&mut Value)) -> Stage {
    Stage::standing(BRIEFLY, |config| {
        let server = &mut config["servers"]["files"];
        let file = Path::new(server["args"][1].as_str().unwrap()).to_owned();
        std::fs::write(file, script().to_string()).unwrap();
        server["labels"] = json!({});
        server["profile"] = json!("local");
        config["rules"] = json!([]);
        change(config);
    })
    .await
}

/// Calls, and says yes for that long if somebody is asked. Whether somebody was, and what they read of the scope.
async fn call(stage: &Stage, client: &Client, tool: &str, arguments: &Value, scope: &str) -> Option<String> {
    let answer = client.call(tool, arguments.clone()).await.unwrap();
    if answer.at("/result/isError") != json!(true) {
        return None;
    }
    let id = waits(&answer);
    let page = stage.person.document(&format!("/approve/{id}")).await;
    let (status, said) = stage.person.confirm(&id, Some(scope)).await;
    assert_eq!(status, 200, "{said}");
    done(&client.call(tool, arguments.clone()).await.unwrap());
    Some(page)
}

#[tokio::test]
async fn after_a_strangers_page_sixty_acts_with_five_recipients_folders_and_channels_are_five_questions() {
    let stage = stage(|_| ()).await;
    let folder = stage.gateway.home().path().canonicalize().unwrap().join("desk");
    for made in ["letters", "plans"] {
        std::fs::create_dir_all(folder.join(made)).unwrap();
    }
    let client = stage.client(Era::Modern).await;
    done(&client.call("files__page", json!({})).await.unwrap());
    let mut read = Vec::new();
    for number in 0..20 {
        let to = ["ada@example.com", "ben@example.com"][number % 2];
        let mail = json!({ "to": to, "subject": "news", "body": format!("mail {number}") });
        read.extend(call(&stage, &client, "files__send_mail", &mail, "session").await);
    }
    for number in 0..30 {
        let path = folder.join(["letters", "plans"][number % 2]).join(format!("{number}.txt"));
        let edit = json!({ "path": path, "content": format!("edit {number}") });
        read.extend(call(&stage, &client, "files__edit_file", &edit, "folder").await);
    }
    for number in 0..10 {
        let post = json!({ "channel": "#team", "text": format!("post {number}") });
        read.extend(call(&stage, &client, "files__post_message", &post, "session").await);
    }
    let ran = |tool: &str| stage.ran(&format!("\"{tool}\""));
    assert_eq!((ran("send_mail"), ran("edit_file"), ran("post_message")), (20, 30, 10));
    assert_eq!(read.len(), 5);
    let covers = ["ada@example.com", "ben@example.com", "desk/letters", "desk/plans", "#team"];
    for (page, covered) in read.iter().zip(covers) {
        let offered = page
            .split("name=\"remember\"")
            .skip(1)
            .any(|choice| choice.contains(covered) && choice.contains("until this conversation ends"));
        assert!(offered, "{covered}: {page}");
    }
    // One recipient more.
    let mail = json!({ "to": "eve@example.com", "subject": "news", "body": "mail" });
    waits(&client.call("files__send_mail", mail).await.unwrap());
    assert_eq!(ran("send_mail"), 20);
}

#[tokio::test]
async fn an_agent_alone_does_what_its_permit_lists_and_nothing_beside_it() {
    let permit = json!({ "nightly-mail": { "token": "agent", "tool": "files:send_mail", "until": "2999-01-01",
        "arguments": { "to": { "enum": ["ada@example.com"] }, "subject": { "const": "news" }, "body": { "max_length": 9 } } } });
    let stage = stage(|config| config["permits"] = permit).await;
    let client = stage.client(Era::Modern).await;
    done(&client.call("files__page", json!({})).await.unwrap());
    let mail = |to: &str, body: &str| json!({ "to": to, "subject": "news", "body": body });
    for body in ["first", "second"] {
        done(&client.call("files__send_mail", mail("ada@example.com", body)).await.unwrap());
    }
    for beside in [mail("eve@example.com", "third"), mail("ada@example.com", "much too long")] {
        waits(&client.call("files__send_mail", beside).await.unwrap());
    }
    assert_eq!(stage.ran("send_mail"), 2);
    let audit = stage.gateway.home().data_dir().join("audit");
    let mut record = String::new();
    for file in std::fs::read_dir(audit).unwrap() {
        record.push_str(&std::fs::read_to_string(file.unwrap().path()).unwrap_or_default());
    }
    let uses = record.lines().filter(|line| line.contains("\"by\":\"permit nightly-mail\""));
    assert_eq!(uses.count(), 2);
}
