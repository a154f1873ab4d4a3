//! Tools of our own that find, describe and call the others: what they find is what the caller may see, and what they call
//! takes the same road.

use serde_json::{Value, json};

use super::{ACT, Agent, ClientOptions, ERAS, FETCH, LOOK, SEND, Setup, Stage, forms, refusal, text, yes};

fn searching() -> Setup {
    Setup::usual().with(|config| config["expose"] = json!("search"))
}

/// What one of our own tools says.
async fn told(agent: &Agent, tool: &str, arguments: Value) -> Value {
    let answer = agent.call(tool, arguments).await;
    text(&answer);
    assert_eq!(serde_json::from_str::<Value>(text(&answer)).unwrap(), answer["result"]["structuredContent"]);
    answer["result"]["structuredContent"].clone()
}

fn names(found: &Value) -> Vec<&str> {
    found["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn entry<'a>(found: &'a Value, name: &str) -> &'a Value {
    found["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap()
}

#[tokio::test]
async fn each_tool_is_found_with_what_would_become_of_a_call_now() {
    for era in ERAS {
        let stage = searching().open().await;
        let agent = stage.of_era(era);
        let found = told(&agent, "retrieve_tools", json!({})).await;
        let mut all = names(&found);
        all.sort_unstable();
        assert_eq!(all, [ACT, FETCH, "up__inbox", LOOK, SEND]);
        let calls_with: Vec<&Value> = [LOOK, ACT, SEND].map(|name| &entry(&found, name)["call_with"]).into();
        assert_eq!(calls_with, ["call_tool_read", "call_tool_write", "call_tool_destructive"]);
        assert_eq!(
            (&entry(&found, ACT)["status"], &entry(&found, FETCH)["would_taint"]),
            (&json!("callable_now"), &json!(true))
        );
        text(&agent.call("call_tool_read", json!({ "name": FETCH })).await);
        let found = told(&agent, "retrieve_tools", json!({ "server": "up", "limit": 100 })).await;
        assert_eq!(entry(&found, ACT)["status"], "needs_confirmation", "{found}");
        assert_eq!(stage.up().methods(), ["tools/call"], "searching calls no server");
    }
}

#[tokio::test]
async fn a_hit_has_the_title_of_its_tool() {
    let stage = searching().open().await;
    stage.up().tools.lock().unwrap()[0]["title"] = json!("Look at it");
    stage.restock("up").await;
    let found = told(&stage.of_era(ERAS[1]), "retrieve_tools", json!({})).await;
    let titles: Vec<&Value> =
        found["tools"].as_array().unwrap().iter().filter_map(|tool| tool.get("title")).collect();
    assert_eq!(titles, ["Look at it"], "{found}");
}

#[tokio::test]
async fn filters_say_what_they_left_out() {
    let stage = searching().open().await;
    let agent = stage.of_era(ERAS[1]);
    let found = told(&agent, "retrieve_tools", json!({ "read_only_only": true })).await;
    assert!(!names(&found).contains(&ACT) && names(&found).contains(&LOOK), "{found}");
    assert_eq!(found["filter_diagnostics"]["omitted_total"], 2, "{found}");
    let found =
        told(&agent, "retrieve_tools", json!({ "exclude_open_world": true, "detail": "compact" })).await;
    assert!(!names(&found).contains(&FETCH), "{found}");
    assert!(entry(&found, LOOK)["inputSchema"].is_null() && entry(&found, LOOK)["arguments"].is_array());
}

#[tokio::test]
async fn a_tool_is_described_with_the_status_of_exactly_this_call() {
    let stage = searching()
        .rule(json!({ "name": "no", "effect": "block", "when": { "tool.id": LOOK, "arguments.path": "secret" } }))
        .open()
        .await;
    let agent = stage.of_era(ERAS[1]);
    for (arguments, status) in [
        (json!({ "path": "a" }), "callable_now"),
        (json!({ "path": "secret" }), "blocked"),
        (Value::Null, "blocked"),
    ] {
        let said = told(&agent, "describe_tool", json!({ "name": LOOK, "arguments": arguments })).await;
        assert_eq!((&said["status"], &said["server"]), (&json!(status), &json!("up")), "{said}");
        assert_eq!(said["tool"]["name"], LOOK);
    }
    assert!(stage.up().journal().is_empty());
    refusal(&agent.call("describe_tool", json!({ "name": "up__gone" })).await);
}

#[tokio::test]
async fn what_our_own_tools_are_given_is_checked() {
    let stage = searching().open().await;
    let agent = stage.of_era(ERAS[1]);
    for (tool, arguments, complaint) in [
        ("retrieve_tools", json!({ "readonly": true }), "unknown argument `readonly`"),
        ("retrieve_tools", json!({ "limit": 0 }), "`limit` is not a whole number"),
        ("retrieve_tools", json!({ "read_only_only": "yes" }), "neither true nor false"),
        ("retrieve_tools", json!({ "detail": "some" }), "neither `full` nor `compact`"),
        ("describe_tool", json!({}), "`name` is missing"),
        ("call_tool_read", json!({ "name": LOOK, "arguments": [] }), "`arguments` is not an object"),
    ] {
        let answer = agent.call(tool, arguments).await;
        assert!(refusal(&answer).contains(complaint), "{answer}");
    }
    assert!(stage.up().journal().is_empty());
}

#[tokio::test]
async fn a_call_through_a_variant_is_the_call_itself_byte_for_byte() {
    let stage = searching().open().await;
    let inner = r#"{"n":1.50, "a":"\u0041"}"#;
    let params =
        format!(r#"{{"name":"call_tool_read","arguments":{{"name":"{LOOK}","arguments":{inner}}}}}"#);
    text(&stage.of_era(ERAS[1]).send_text("tools/call", &params).await.answer);
    let heard = &stage.up().journal()[0];
    assert_eq!(heard.params["name"], "look");
    assert!(heard.text.contains(inner), "{}", heard.text);
    let decided = &stage.audit()[0];
    assert_eq!((&decided["tool"], &decided["variant"]), (&json!(LOOK), &json!("call_tool_read")));
}

#[tokio::test]
async fn a_variant_below_the_tools_class_is_refused_and_the_right_one_is_named() {
    let stage = searching().open().await;
    let agent = stage.of_era(ERAS[1]);
    for (variant, tool, right) in [
        ("call_tool_read", ACT, "call_tool_write"),
        ("call_tool_read", SEND, "call_tool_destructive"),
        ("call_tool_write", SEND, "call_tool_destructive"),
    ] {
        let answer = agent.call(variant, json!({ "name": tool })).await;
        refusal(&answer);
        let told = &answer["result"]["_meta"]["dev.highwater/decision"];
        assert_eq!(
            (&told["code"], &told["callWith"]),
            (&json!("SERVER_MISMATCH"), &json!(right)),
            "{answer}"
        );
    }
    assert!(stage.up().journal().is_empty());
    text(&agent.call("call_tool_destructive", json!({ "name": ACT })).await);
}

#[tokio::test]
async fn where_only_search_is_offered_tools_have_no_names_of_their_own() {
    let stage = searching().open().await;
    let agent = stage.of_era(ERAS[1]);
    told(&agent, "retrieve_tools", json!({})).await;
    assert_eq!(agent.call(LOOK, json!({})).await["error"]["message"], format!("unknown tool `{LOOK}`"));
    let both = Setup::usual().with(|config| config["expose"] = json!("both")).open().await;
    let agent = both.of_era(ERAS[1]);
    text(&agent.call(LOOK, json!({})).await);
    text(&agent.call("call_tool_read", json!({ "name": LOOK })).await);
    let direct = Setup::usual().open().await;
    let answer = direct.of_era(ERAS[1]).call("retrieve_tools", json!({})).await;
    assert_eq!(answer["error"]["message"], "unknown tool `retrieve_tools`");
}

#[tokio::test]
async fn what_the_caller_may_not_see_is_neither_found_nor_described_nor_called() {
    let grants =
        json!({ "permissions": ["read", "write", "retrieve_tools"], "servers": ["*"], "tools": ["look"] });
    let hidden = json!({ "name": "hide", "effect": "block", "phase": "list", "when": { "tool.id": FETCH } });
    let stage = searching().token("bob", grants).rule(hidden).open().await;
    let bob = stage.agent(ClientOptions { token: Some(stage.token("bob")), ..ClientOptions::default() });
    assert_eq!(names(&told(&bob, "retrieve_tools", json!({})).await), [LOOK]);
    for (agent, name) in [(&bob, ACT), (&stage.of_era(ERAS[1]), FETCH)] {
        for (tool, arguments) in
            [("describe_tool", json!({ "name": name })), ("call_tool_write", json!({ "name": name }))]
        {
            let answer = agent.call(tool, arguments).await;
            assert!(refusal(&answer).starts_with(&format!("unknown tool `{name}`")), "{answer}");
        }
    }
    assert!(stage.up().journal().is_empty());
}

#[tokio::test]
async fn searching_is_granted_like_everything_else() {
    let grants = json!({ "permissions": ["read"], "servers": ["*"] });
    let stage = searching().token("bob", grants).open().await;
    let bob = stage.agent(ClientOptions { token: Some(stage.token("bob")), ..ClientOptions::default() });
    for (tool, arguments) in [("retrieve_tools", json!({})), ("describe_tool", json!({ "name": LOOK }))] {
        let answer = bob.call(tool, arguments).await;
        assert!(refusal(&answer).contains("retrieve_tools"), "{answer}");
    }
    text(&bob.call("call_tool_read", json!({ "name": LOOK })).await);
}

async fn with_forms(stage: &Stage, arguments: Value) -> Value {
    let params = json!({ "name": "call_tool_write", "arguments": arguments });
    let agent = stage.modern(forms());
    let asked = agent.send("tools/call", params.clone()).await.answer;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    agent.answer("tools/call", &params, &asked, json!({ "highwater_approval": yes() })).await
}

#[tokio::test]
async fn a_call_through_a_variant_is_asked_about_as_the_tool_it_means() {
    let stage = searching()
        .rule(json!({ "name": "ask", "effect": "confirm", "when": { "tool.id": ACT } }))
        .open()
        .await;
    text(&with_forms(&stage, json!({ "name": ACT, "arguments": { "to": "ada" } })).await);
    assert_eq!(stage.up().of_method("tools/call")[0]["arguments"], json!({ "to": "ada" }));
    assert_eq!(stage.events()[0], "asked tools/call");
}
