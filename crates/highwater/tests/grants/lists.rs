//! What is not granted is not shown: tools, prompts, resources, templates, instructions, names of servers, virtual servers.

use highwater_testkit::client::{Client, Era};
use serde_json::{Value, json};

use crate::stage::{PERMISSIONS, Stage};

async fn names(client: &Client, method: &str, member: &str, key: &str) -> Vec<String> {
    let answer = client.request(method, json!({})).await.unwrap();
    let mut names: Vec<String> = answer.result().unwrap()[member]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item[key].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

async fn tools(client: &Client) -> Vec<String> {
    names(client, "tools/list", "tools", "name").await
}

#[tokio::test]
async fn a_list_shows_what_the_token_grants_and_nothing_else() {
    let stage = Stage::new(json!({})).await;
    for era in [Era::Legacy, Era::Modern] {
        let agent = stage.client(era, stage.gateway.agent_token()).await;
        assert_eq!(tools(&agent).await.len(), 12);
        let name = format!("reader-{era:?}");
        let secret = stage.token(&name, json!({ "permissions": ["call_tool_read"], "servers": ["a"] })).await;
        let client = stage.client(era, &secret).await;
        assert_eq!(tools(&client).await, ["a__look", "a__slow"]);
        assert_eq!(names(&client, "prompts/list", "prompts", "name").await, ["a__ask"]);
        assert_eq!(names(&client, "resources/list", "resources", "uri").await, ["a+note://one"]);
        let templates = names(&client, "resources/templates/list", "resourceTemplates", "uriTemplate").await;
        assert_eq!(templates, ["a+note://t/{x}"]);
        let name = format!("writer-{era:?}");
        let writes = json!({ "permissions": ["call_tool_write", "call_tool_destructive"], "servers": ["*"], "tools": ["b:*", "pl?in"] });
        let client = stage.client(era, &stage.token(&name, writes).await).await;
        assert_eq!(tools(&client).await, ["a__plain", "b__change", "b__liar", "b__plain", "b__wipe"]);
        // Nothing can be read with it, so nothing that is read is shown.
        assert_eq!(names(&client, "prompts/list", "prompts", "name").await, Vec::<String>::new());
        assert_eq!(names(&client, "resources/list", "resources", "uri").await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn what_is_out_of_reach_reads_as_if_it_did_not_exist() {
    let stage = Stage::new(json!({})).await;
    let grant = json!({ "permissions": PERMISSIONS, "servers": ["a"], "tools": ["look", "plain"] });
    let secret = stage.token("narrow", grant).await;
    let client = stage.client(Era::Modern, &secret).await;
    let normal = |answer: &str, name: &str| answer.replace(name, "NAME");
    for (method, hidden, invented) in [
        (
            "tools/call",
            json!({ "name": "b__look", "arguments": {} }),
            json!({ "name": "c__look", "arguments": {} }),
        ),
        (
            "tools/call",
            json!({ "name": "a__wipe", "arguments": {} }),
            json!({ "name": "a__nope", "arguments": {} }),
        ),
        (
            "tools/resolve",
            json!({ "name": "b__look", "arguments": {} }),
            json!({ "name": "c__look", "arguments": {} }),
        ),
        ("prompts/get", json!({ "name": "b__ask" }), json!({ "name": "c__ask" })),
        ("resources/read", json!({ "uri": "b+note://one" }), json!({ "uri": "c+note://one" })),
    ] {
        let key = if method == "resources/read" { "uri" } else { "name" };
        let text = |params: &Value| params[key].as_str().unwrap().to_owned();
        let (shown, unknown) = (text(&hidden), text(&invented));
        let hidden = client.request(method, hidden).await.unwrap();
        let invented = client.request(method, invented).await.unwrap();
        let error = |answer: &str, name: &str| {
            let parsed: Value = serde_json::from_str(&normal(answer, name)).unwrap();
            parsed["error"].clone()
        };
        let (hidden, invented) = (error(hidden.raw(), &shown), error(invented.raw(), &unknown));
        assert!(!hidden.is_null(), "{method}");
        assert_eq!(hidden, invented, "{method}");
        assert_eq!(hidden["data"]["code"], 403_104, "{method}: {hidden}");
    }
    assert_eq!(stage.reached("b", "tools/call", "") + stage.reached("b", "prompts/get", ""), 0);
}

#[tokio::test]
async fn a_server_out_of_reach_does_not_speak() {
    let stage = Stage::new(json!({})).await;
    let secret = stage.token("a-only", json!({ "permissions": ["call_tool_read"], "servers": ["a"] })).await;
    let client = stage.client(Era::Legacy, &secret).await;
    let said = client.greeting().unwrap().at("/result/instructions");
    let said = said.as_str().unwrap();
    assert!(said.contains("words of the server") && !said.contains("# b"), "{said}");
    client.set_log_level("debug").await.unwrap();
    stage.journal("a").wait("logging/setLevel", "debug").await.unwrap();
    assert_eq!(stage.reached("b", "logging/setLevel", ""), 0);
}

#[tokio::test]
async fn a_token_opens_its_own_virtual_server_alone() {
    let stage = Stage::new(json!({})).await;
    let grant = json!({ "permissions": PERMISSIONS, "servers": ["*"], "virtual_server": "side" });
    let secret = stage.token("sided", grant).await;
    let elsewhere = stage.setup(Era::Modern, &secret).connect_silently().await.unwrap();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned();
    let refused = elsewhere.exchange(http::Method::POST, body, &[]).await.unwrap();
    assert_eq!(refused.status, 404, "{}", refused.body);
    let url = format!("{}/v/side", stage.gateway.endpoint());
    let client = highwater_testkit::client::Setup::http(&url).era(Era::Modern).token(&secret);
    let client = client.without_stream().connect().await.unwrap();
    assert_eq!(tools(&client).await.len(), 6);
    assert!(client.call("a__look", json!({})).await.unwrap().error_code().is_none());
}

#[tokio::test]
async fn a_rule_about_lists_can_look_at_who_asks() {
    let rules = json!([{ "name": "hide", "effect": "block", "phase": "list",
        "when": { "agent.id": "reader", "tool.name": "look" } }]);
    let stage = Stage::new(json!({ "flow": "balanced", "rules": rules })).await;
    let reader = stage.token("reader", json!({ "permissions": ["call_tool_read"], "servers": ["a"] })).await;
    let other = stage.token("other", json!({ "permissions": ["call_tool_read"], "servers": ["a"] })).await;
    assert_eq!(tools(&stage.client(Era::Modern, &reader).await).await, ["a__slow"]);
    assert_eq!(tools(&stage.client(Era::Modern, &other).await).await, ["a__look", "a__slow"]);
    let agent = stage.client(Era::Modern, stage.gateway.agent_token()).await;
    assert!(tools(&agent).await.contains(&"a__look".to_owned()));
}
