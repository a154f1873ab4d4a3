//! Names and URIs that stand deeper in a request than `params.name` and `params.uri`.

use highwater_testkit::client::{Era, Request};
use serde_json::json;

use crate::requests::{assert_usable, clients};
use crate::stage::{NEVER, assert_only_calls, gateway};

const INVALID_PARAMS: i64 = -32602;

#[tokio::test]
async fn control_characters_are_refused_wherever_a_name_or_a_uri_stands() {
    let (gateway, journal) = gateway().await;
    let bad = |text: &str| format!("{text}\u{0}{NEVER}");
    // A template takes anything between its fixed parts.
    let template = bad("up+test://template/") + "/data";
    let argument = json!({ "name": "a", "value": "b" });
    let of_prompt = json!({ "type": "ref/prompt", "name": bad("up__x") });
    let of_resource = json!({ "type": "ref/resource", "uri": template });
    let listened = json!({ "resourceSubscriptions": ["up+test://watched-resource", template] });
    let requests = [
        ("resources/read", json!({ "uri": template }), "/params/uri"),
        ("resources/subscribe", json!({ "uri": template }), "/params/uri"),
        ("prompts/get", json!({ "name": bad("up__test_simple_prompt") }), "/params/name"),
        ("completion/complete", json!({ "ref": of_prompt, "argument": argument }), "/params/ref/name"),
        ("completion/complete", json!({ "ref": of_resource, "argument": argument }), "/params/ref/uri"),
        (
            "subscriptions/listen",
            json!({ "notifications": listened }),
            "/params/notifications/resourceSubscriptions/1",
        ),
    ];
    let mut accepted = Vec::new();
    for client in clients(&gateway).await {
        assert_usable(&client).await;
        let foreign = match client.era() {
            Era::Legacy => "subscriptions/listen",
            Era::Modern => "resources/subscribe",
        };
        for (method, params, path) in requests.iter().filter(|(method, ..)| *method != foreign) {
            // A stream that is opened has no answer.
            let answer = client.send(Request::new(method).params(params.clone())).await;
            let refused = answer.as_ref().is_ok_and(|answer| {
                answer.error_code() == Some(INVALID_PARAMS) && answer.at("/error/data/path") == *path
            });
            if !refused {
                accepted.push(format!("{method} with {params}: {answer:?}"));
            }
        }
    }
    assert!(accepted.is_empty(), "{accepted:#?}");
    assert_only_calls(&journal, 4);
}
