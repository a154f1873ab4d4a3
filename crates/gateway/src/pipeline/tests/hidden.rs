//! What is not granted to a caller reads as if it did not exist, on every way there.

use serde_json::{Value, json};

use super::{ACT, Agent, ClientOptions, ERAS, LOOK, Setup, Stage, refusal, stocked, text};

fn of(stage: &Stage, token: &str, era: highwater_mcp::era::Era) -> Agent {
    stage.agent(ClientOptions { era, token: Some(stage.token(token)), ..ClientOptions::default() })
}

fn granting(permissions: Value, servers: Value, tools: Value) -> Value {
    json!({ "permissions": permissions, "servers": servers, "tools": tools })
}

/// What a caller is told of a name that there is not, but for the name.
async fn unknown(agent: &Agent, tool: &str) -> Value {
    let mut answer = agent.call(tool, json!({})).await;
    answer["id"].take();
    serde_json::from_str(&answer.to_string().replace(tool, "NAME")).unwrap()
}

#[tokio::test]
async fn a_tool_or_a_server_that_is_not_granted_reads_as_if_it_did_not_exist() {
    let everything = json!(["read", "write", "destructive"]);
    for grants in [
        granting(everything.clone(), json!(["*"]), json!(["fetch"])),
        granting(everything.clone(), json!(["*"]), json!([])),
        granting(everything.clone(), json!(["other"]), json!(["*"])),
    ] {
        for era in ERAS {
            let stage = Setup::usual().server("other", stocked()).token("bob", grants.clone()).open().await;
            let agent = of(&stage, "bob", era);
            let nothing = unknown(&agent, "up__gone").await;
            assert!(nothing["error"].is_object(), "{nothing}");
            assert_eq!(unknown(&agent, LOOK).await, nothing, "{grants}");
            assert!(stage.up().journal().is_empty());
        }
    }
}

#[tokio::test]
async fn a_tool_that_the_operator_does_not_allow_reads_as_if_it_did_not_exist() {
    let stage =
        Setup::usual().with(|config| config["servers"]["up"]["allowed_tools"] = json!(["look"])).open().await;
    let agent = stage.of_era(ERAS[1]);
    assert_eq!(unknown(&agent, ACT).await, unknown(&agent, "up__gone").await);
    text(&agent.call(LOOK, json!({})).await);
    assert_eq!(stage.up().methods(), ["tools/call"]);
}

#[tokio::test]
async fn a_permission_that_is_missing_is_named_since_the_tool_may_be_known() {
    let stage =
        Setup::usual().token("bob", granting(json!(["read"]), json!(["*"]), Value::Null)).open().await;
    let agent = of(&stage, "bob", ERAS[1]);
    text(&agent.call("up__look", json!({})).await);
    let answer = agent.call(ACT, json!({})).await;
    refusal(&answer);
    assert_eq!(
        answer["result"]["_meta"]["dev.highwater/decision"]["permission"], "call_tool_write",
        "{answer}"
    );
    assert_eq!(stage.up().runs("act"), 0);
}

#[tokio::test]
async fn a_virtual_server_shows_its_own_servers_and_nothing_else() {
    let stage = Setup::usual()
        .server("other", stocked())
        .with(|config| config["virtual_servers"] = json!({ "small": { "servers": ["other"] } }))
        .open()
        .await;
    let agent = stage.agent(ClientOptions { virtual_server: "small", ..ClientOptions::default() });
    text(&agent.call("other__look", json!({})).await);
    assert_eq!(unknown(&agent, LOOK).await, unknown(&agent, "up__gone").await);
    let gone = stage.agent(ClientOptions { virtual_server: "none", ..ClientOptions::default() });
    let answer = gone.call(LOOK, json!({})).await;
    assert_eq!(answer["error"]["message"], "unknown virtual server `none`", "{answer}");
    assert!(stage.up().journal().is_empty());
}

#[tokio::test]
async fn resources_and_prompts_of_servers_that_are_not_granted_are_unknown() {
    let script = || {
        let resource = json!({ "uri": "note://a", "name": "a" });
        stocked().with_resources([resource]).with_prompts([json!({ "name": "greet" })])
    };
    let grants = granting(json!(["read"]), json!(["other"]), Value::Null);
    let stage =
        Setup::new().server("up", script()).server("other", script()).token("bob", grants).open().await;
    let agent = of(&stage, "bob", ERAS[0]);
    for (method, params) in [
        ("resources/read", json!({ "uri": "up+note://a" })),
        ("resources/subscribe", json!({ "uri": "up+note://a" })),
        ("prompts/get", json!({ "name": "up__greet" })),
    ] {
        let answer = agent.send(method, params).await.answer;
        assert!(answer["error"]["message"].as_str().unwrap().starts_with("unknown"), "{answer}");
    }
    assert!(stage.up().journal().is_empty());
    assert!(
        agent.send("resources/read", json!({ "uri": "other+note://a" })).await.answer["result"].is_object()
    );
}

#[tokio::test]
async fn a_token_is_held_to_at_least_its_own_flow_mode() {
    let mut grants = granting(json!(["read", "write"]), json!(["*"]), Value::Null);
    grants["flow"] = json!("balanced");
    let stage =
        Setup::usual().with(|config| config["flow"] = json!("observe")).token("bob", grants).open().await;
    for (agent, runs) in [(stage.of_era(ERAS[1]), 1), (of(&stage, "bob", ERAS[1]), 0)] {
        agent.call("up__fetch", json!({})).await;
        let before = stage.up().runs("act");
        agent.call(ACT, json!({})).await;
        assert_eq!(stage.up().runs("act") - before, runs);
    }
}
