//! Where actions go: names, addresses and ids in their server's own words, and everything else as it came.

use highwater_mcp::era::Era;
use serde_json::{Value, json};

use super::tools::reader;
use super::{ERAS, LOOK, Script, Setup, Step, stocked, text};

/// A server of this era that only reads, and of which the operator says that it can be believed.
fn library(era: Era) -> Setup {
    let script = Script::of([reader("look", "system", "none")])
        .with_resources([json!({ "uri": "note://a", "name": "a" })])
        .with_prompts([json!({ "name": "greet", "arguments": [{ "name": "who" }] })]);
    let known = json!({ "returnMetadata": { "source": "system", "sensitivity": "none" } });
    Setup::new().server("up", script.in_era(era)).with(|config| {
        config["servers"]["up"]["resource_labels"] = json!({ "note://*": known });
        config["servers"]["up"]["prompt_labels"] = json!({ "greet": known });
    })
}

#[tokio::test]
async fn prompts_resources_and_completions_take_the_same_road() {
    for server in ERAS {
        for client in ERAS {
            let stage = library(server).open().await;
            let agent = stage.of_era(client);
            let cases = [
                (
                    "prompts/get",
                    json!({ "name": "up__greet", "arguments": { "who": "Ada" } }),
                    "/name",
                    "greet",
                ),
                ("resources/read", json!({ "uri": "up+note://a" }), "/uri", "note://a"),
                (
                    "completion/complete",
                    json!({ "ref": { "type": "ref/prompt", "name": "up__greet" }, "argument": { "name": "who" } }),
                    "/ref/name",
                    "greet",
                ),
            ];
            for (method, params, place, own) in cases {
                let answer = agent.send(method, params).await.answer;
                assert!(answer["result"].is_object(), "{answer}");
                let heard = stage.up().of_method(method);
                assert_eq!((heard.len(), heard[0].pointer(place)), (1, Some(&json!(own))), "{method}");
                let story = stage.events();
                assert_eq!(story[story.len() - 2..], [format!("allowed {method}"), "delivered".to_owned()]);
            }
        }
    }
}

#[tokio::test]
async fn addresses_in_a_reply_are_those_that_the_client_can_use() {
    let stage = library(ERAS[0]).open().await;
    let contents = json!({ "contents": [{ "uri": "note://a", "text": "hi" }] });
    stage.up().on("resources/read", [Step::Answer(contents)]);
    let agent = stage.of_era(ERAS[0]);
    let read = agent.send("resources/read", json!({ "uri": "up+note://a" })).await.answer;
    assert_eq!(read["result"]["contents"][0]["uri"], "up+note://a", "{read}");
    // An error that names the resource names it as the client did.
    let error = json!({ "code": -32002, "message": "gone", "data": { "uri": "note://a" } });
    stage.up().on("look", [Step::Error(error.clone())]);
    assert_eq!(agent.call(LOOK, json!({})).await["error"], error, "a tool's error is its own");
}

#[tokio::test]
async fn two_servers_with_the_same_tool_are_told_apart() {
    let stage = Setup::usual().server("other", stocked()).open().await;
    let agent = stage.of_era(ERAS[1]);
    text(&agent.call("other__look", json!({ "at": 1 })).await);
    assert!(stage.up().journal().is_empty());
    assert_eq!(stage.server("other").of_method("tools/call")[0]["arguments"], json!({ "at": 1 }));
}

#[tokio::test]
async fn a_method_outside_the_protocol_goes_to_the_one_server_it_is_listed_for() {
    let listed = |config: &mut Value, server: &str| {
        config["servers"][server]["extra_methods"] = json!(["acme/ping"]);
    };
    let setup = || Setup::usual().server("other", stocked());
    let stage = setup().with(|config| listed(config, "other")).open().await;
    let agent = stage.of_era(ERAS[0]);
    let answer = agent.send("acme/ping", json!({ "a": 1 })).await.answer;
    assert!(answer["result"].is_object(), "{answer}");
    assert_eq!(stage.server("other").of_method("acme/ping"), [json!({ "a": 1 })]);
    assert_eq!(agent.send("acme/pong", json!({})).await.answer["error"]["code"], -32601);
    assert!(stage.up().journal().is_empty());
    // Listed for two it leads nowhere.
    let stage = setup()
        .with(|config| {
            listed(config, "up");
            listed(config, "other");
        })
        .open()
        .await;
    let answer = stage.of_era(ERAS[0]).send("acme/ping", json!({})).await.answer;
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    assert!(stage.up().journal().is_empty() && stage.server("other").journal().is_empty());
}

#[tokio::test]
async fn what_a_method_outside_the_protocol_brings_counts_as_the_worst() {
    let stage = Setup::usual()
        .with(|config| config["servers"]["up"]["extra_methods"] = json!(["acme/ping"]))
        .open()
        .await;
    let agent = stage.of_era(ERAS[0]);
    agent.send("acme/ping", json!({})).await;
    let label = stage.label(&agent);
    assert!(label.contains(&"integrity:none") && label.contains(&"unclassified"), "{label:?}");
}

#[tokio::test]
async fn a_subscription_takes_the_road_and_its_receipt_is_empty() {
    let stage = library(ERAS[0]).open().await;
    stage.up().on("resources/subscribe", [Step::Answer(json!({}))]);
    stage.up().on("resources/unsubscribe", [Step::Answer(json!({}))]);
    let agent = stage.of_era(ERAS[0]);
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        let answer = agent.send(method, json!({ "uri": "up+note://a" })).await.answer;
        assert_eq!(answer["result"], json!({}), "{method}");
        assert_eq!(stage.up().of_method(method)[0]["uri"], "note://a");
    }
    assert_eq!(stage.events()[0], "allowed resources/subscribe");
}

#[tokio::test]
async fn a_modern_servers_state_comes_back_to_it_as_it_was() {
    // One of its own, and one that looks like ours.
    for state in ["s-1", "hw2.forged"] {
        let stage = Setup::new().server("up", stocked().in_era(ERAS[1])).open().await;
        let question = json!({ "method": "elicitation/create", "params": { "message": "ClientOptions?" } });
        stage.up().on(
            "look",
            [Step::Answer(json!({ "resultType": "input_required",
            "inputRequests": { "who": question }, "requestState": state }))],
        );
        stage.up().on("look", [Step::say("hi")]);
        let agent = stage.modern(json!({ "elicitation": { "form": {} } }));
        let params = json!({ "name": LOOK, "arguments": {} });
        let asked = agent.send("tools/call", params.clone()).await.answer;
        let outward = asked["result"]["requestState"].as_str().unwrap();
        assert_eq!(outward == state, !state.starts_with("hw2."), "{asked}");
        let answers = json!({ "who": { "action": "accept", "content": {} } });
        text(&agent.answer("tools/call", &params, &asked, answers.clone()).await);
        let back = stage.up().of_method("tools/call").pop().unwrap();
        assert_eq!((&back["requestState"], &back["inputResponses"]), (&json!(state), &answers));
    }
}

#[tokio::test]
async fn a_modern_server_is_told_who_asks_and_what_its_client_says_of_itself_stays() {
    let stage = Setup::new().server("up", stocked().in_era(ERAS[1])).open().await;
    let params = json!({ "name": LOOK, "arguments": {}, "_meta": { "x.example/mine": [1] } });
    text(&stage.of_era(ERAS[1]).send("tools/call", params).await.answer);
    let meta = stage.up().of_method("tools/call")[0]["_meta"].clone();
    assert_eq!(meta["x.example/mine"], json!([1]), "{meta}");
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28", "{meta}");
}

#[tokio::test]
async fn a_server_is_told_as_much_of_the_session_as_the_operator_says() {
    let cases = [
        ("none", json!({})),
        ("hints", json!({ "annotations": { "openWorldHint": true } })),
        ("full", json!({ "annotations": { "openWorldHint": true, "attribution": ["mcp:up:fetch"] } })),
    ];
    for (share, told) in cases {
        let stage = Setup::usual()
            .with(|config| config["servers"]["up"]["share_context"] = json!(share))
            .open()
            .await;
        let agent = stage.of_era(ERAS[0]);
        text(&agent.call("up__fetch", json!({})).await);
        text(&agent.call(LOOK, json!({})).await);
        let meta = stage.up().of_method("tools/call")[1].get("_meta").cloned().unwrap_or(json!({}));
        assert_eq!(meta, told, "{share}");
    }
}
