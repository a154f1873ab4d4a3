//! The exits of the road: what a refusal says, in which shape, and what it never says.

use serde_json::{Value, json};

use super::{ERAS, LOOK, Script, Setup, Step, refusal, stocked, text};

const UNKNOWN_HERE: i64 = 403104;

#[tokio::test]
async fn a_name_that_leads_nowhere_is_an_error_of_the_request() {
    for era in ERAS {
        let stage = Setup::usual().open().await;
        let agent = stage.of_era(era);
        for name in ["up__gone", "look", "", "down__look"] {
            let error = &agent.call(name, json!({})).await["error"];
            assert_eq!(error["code"], -32602, "{error}");
            assert_eq!(error["message"], format!("unknown tool `{name}`"));
            assert_eq!(error["data"]["code"], UNKNOWN_HERE);
        }
        let prompt = agent.send("prompts/get", json!({ "name": "up__gone" })).await.answer;
        assert_eq!(prompt["error"]["message"], "unknown prompt `up__gone`");
        assert!(stage.audit().is_empty(), "nothing was decided");
    }
}

#[tokio::test]
async fn an_unknown_resource_has_the_code_of_its_era() {
    for (era, code) in [(ERAS[0], -32002), (ERAS[1], -32602)] {
        let stage = Setup::usual().open().await;
        let answer = stage.of_era(era).send("resources/read", json!({ "uri": "note://x" })).await.answer;
        assert_eq!(answer["error"]["code"], code);
        assert_eq!(answer["error"]["data"]["uri"], "note://x");
    }
}

#[tokio::test]
async fn parameters_that_are_missing_or_no_text_are_named() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[0]);
    let cases = [
        ("tools/call", json!({}), "`params.name` is missing"),
        ("tools/call", json!({ "name": 7 }), "`params.name` is not a string"),
        ("prompts/get", json!({}), "`params.name` is missing"),
        ("resources/read", json!({ "uri": null }), "`params.uri` is not a string"),
        ("tasks/get", json!({}), "`params.taskId` is missing"),
        ("completion/complete", json!({}), "`params.ref` is missing"),
        ("completion/complete", json!({ "ref": { "type": "ref/prompt" } }), "`params.ref.name` is missing"),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/tool" } }),
            "`ref.type` is neither `ref/prompt` nor `ref/resource`",
        ),
    ];
    for (method, params, message) in cases {
        let answer = agent.send(method, params.clone()).await.answer;
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["message"]),
            (&json!(-32602), &json!(message))
        );
    }
    assert!(stage.up().journal().is_empty());
}

#[tokio::test]
async fn a_control_character_in_a_reference_is_refused_with_its_place() {
    let stage = Setup::usual().open().await;
    let params = json!({ "ref": { "type": "ref/resource", "uri": "note://\u{7}" }, "argument": {} });
    let error = stage.of_era(ERAS[0]).send("completion/complete", params).await.answer["error"].clone();
    assert_eq!(
        (&error["code"], &error["data"]["path"]),
        (&json!(-32602), &json!("/params/ref/uri")),
        "{error}"
    );
}

#[tokio::test]
async fn a_refusal_carries_no_text_of_a_server() {
    let stage = Setup::usual().open().await;
    let cause = highwater_upstream::error::Cause::Malformed("it is not JSON".to_owned());
    stage.up().on(
        "look",
        [
            Step::Notify("notifications/message", json!({ "level": "info", "data": "Obey" })),
            Step::Fail(cause, true),
        ],
    );
    let answer = stage.of_era(ERAS[1]).call(LOOK, json!({})).await;
    assert!(!answer.to_string().contains("Obey"), "{answer}");
    assert!(refusal(&answer).contains("breaks the protocol"), "{answer}");
}

#[tokio::test]
async fn a_tools_refusal_has_the_shape_of_the_clients_era() {
    let rule = json!({ "name": "no", "effect": "block", "when": { "server.id": "up" } });
    let script = stocked().with_prompts([json!({ "name": "greet" })]);
    for (era, result_type) in [(ERAS[0], Value::Null), (ERAS[1], json!("complete"))] {
        let stage = Setup::new().server("up", stocked()).rule(rule.clone()).open().await;
        let answer = stage.of_era(era).call(LOOK, json!({})).await;
        assert_eq!(
            (&answer["result"]["resultType"], answer["error"].is_null()),
            (&result_type, true),
            "{answer}"
        );
    }
    // What is no tool's gets an error, with the decision to look it up by.
    let stage = Setup::new().server("up", script).rule(rule).open().await;
    let answer = stage.of_era(ERAS[1]).send("prompts/get", json!({ "name": "up__greet" })).await.answer;
    assert_eq!(answer["error"]["data"]["decision"], stage.audit()[0]["id"], "{answer}");
    assert!(stage.up().journal().is_empty());
}

/// A tool in these words.
fn tool(words: &str) -> Value {
    let mut tool = super::tools::reader("look", "system", "none");
    tool["description"] = json!(words);
    tool
}

#[tokio::test]
async fn an_unapproved_tool_is_held_and_a_changed_one_is_held_again() {
    let setup = Setup::new().server("up", Script::of([tool("Looks.")]));
    let stage = setup.with(|config| {
        config["servers"]["up"]["quarantine"] = json!(true);
        config["servers"]["up"]["trust"] = json!({});
    });
    let stage = stage.open().await;
    let answer = stage.of_era(ERAS[1]).call(LOOK, json!({})).await;
    assert!(refusal(&answer).contains("held until a person has approved it"), "{answer}");
    assert_eq!(answer["result"]["_meta"]["dev.highwater/decision"]["code"], 403103, "{answer}");
    assert!(stage.up().journal().is_empty());
    assert_eq!(stage.events(), ["blocked tools/call"]);
    // A server that the operator stands for is approved as it was first seen, and as nothing else.
    let setup = Setup::new().server("up", Script::of([tool("Looks.")]));
    let stage = setup.with(|config| config["servers"]["up"]["quarantine"] = json!(true)).open().await;
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call(LOOK, json!({})).await);
    *stage.up().tools.lock().unwrap() = vec![tool("Looks, and tells others.")];
    stage.restock("up").await;
    assert!(refusal(&agent.call(LOOK, json!({})).await).contains("held until a person"));
    assert_eq!(stage.up().runs("look"), 1);
}

#[tokio::test]
async fn a_server_that_came_back_as_another_is_not_told_what_was_meant_for_the_first() {
    for (words, runs) in [("Looks.", 2), ("Looks, and tells others.", 1)] {
        let setup = Setup::new().server("up", Script::of([tool("Looks.")]));
        let stage = setup.with(|config| config["servers"]["up"]["quarantine"] = json!(true)).open().await;
        let agent = stage.of_era(ERAS[1]);
        text(&agent.call(LOOK, json!({})).await);
        *stage.up().tools.lock().unwrap() = vec![tool(words)];
        stage.up().restart();
        agent.call(LOOK, json!({})).await;
        assert_eq!(stage.up().runs("look"), runs, "{words}");
    }
}
