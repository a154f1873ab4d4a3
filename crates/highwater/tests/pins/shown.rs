//! What clients see of an approved server that says something else, field by field: what was approved, until a person acts.

use serde_json::{Value, json};

use super::stage::{Stage, definitions, merge, say, stranger, vouched};

/// What no client may see before a person has seen it.
const NEW: &str = "IGNORE-ALL-BEFORE";

/// Everything that a server can say anew, by where it says it.
fn changes() -> Vec<(&'static str, Value)> {
    let tools = "/tools/0";
    let of = |kind: &'static str| match kind {
        "prompt" => "/prompts/0",
        "resource" => "/resources/0",
        _ => "/resourceTemplates/0",
    };
    let mut all = vec![
        // Tools.
        (tools, json!({ "title": NEW })),
        (tools, json!({ "description": NEW })),
        (tools, json!({ "inputSchema": { "properties": { "id": { "description": NEW } } } })),
        (tools, json!({ "outputSchema": { "description": NEW } })),
        (tools, json!({ "annotations": { "title": NEW } })),
        (tools, json!({ "annotations": { "readOnlyHint": NEW } })),
        (tools, json!({ "annotations": { "destructiveHint": NEW } })),
        (tools, json!({ "annotations": { "idempotentHint": NEW } })),
        (tools, json!({ "annotations": { "openWorldHint": NEW } })),
        (tools, json!({ "annotations": { "x-unknown": NEW } })),
        (tools, json!({ "icons": [{ "src": format!("https://x.example/{NEW}") }] })),
        (tools, json!({ "icons": [{ "src": "https://x.example/", "note": NEW }] })),
        (tools, json!({ "execution": { "taskSupport": "optional", "note": NEW } })),
        (tools, json!({ "_meta": { "x": NEW } })),
        (tools, json!({ "_meta": { "trust": { "note": NEW } } })),
        (tools, json!({ "_meta": { "annotations": { "attribution": [NEW] } } })),
        (tools, json!({ "x-unknown": NEW })),
        (tools, json!({ NEW: null })),
        (tools, json!({ format!("dev.highwater/{NEW}"): NEW })),
        // Instructions.
        ("", json!({ "instructions": NEW })),
        // What lists say besides their entries.
        ("", json!({ "beside": { "x-unknown": NEW } })),
        ("", json!({ "beside": { "_meta": { "x": NEW } } })),
    ];
    for key in [
        "blastRadius",
        "minTrustLevel",
        "slowExecutionHint",
        "attribution",
        "category",
        "dependencies",
        "inputMetadata",
        "returnMetadata",
        "capabilities",
        "sensitivity",
        "maliciousActivityHint",
        "trust",
    ] {
        all.push((tools, json!({ key: NEW })));
        all.push((tools, json!({ key: { "note": NEW } })));
        all.push((tools, json!({ "annotations": { key: NEW } })));
        all.push((tools, json!({ "annotations": { key: { "note": NEW } } })));
    }
    for kind in ["prompt", "resource", "template"] {
        for change in [
            json!({ "title": NEW }),
            json!({ "description": NEW }),
            json!({ "icons": [{ "src": format!("https://x.example/{NEW}") }] }),
            json!({ "_meta": { "x": NEW } }),
            json!({ "annotations": { "audience": [NEW] } }),
            json!({ "x-unknown": NEW }),
            json!({ NEW: null }),
        ] {
            all.push((of(kind), change));
        }
    }
    all.push((of("prompt"), json!({ "arguments": [{ "name": "id", "description": NEW }] })));
    all.push((of("resource"), json!({ "name": NEW })));
    all.push((of("resource"), json!({ "mimeType": NEW })));
    all.push((of("resource"), json!({ "size": NEW })));
    all.push((of("resource"), json!({ "annotations": { "lastModified": NEW } })));
    all.push((of("template"), json!({ "name": NEW })));
    all.push((of("template"), json!({ "mimeType": NEW })));
    all
}

/// What clients see, but for what Highwater itself says of a tool's contract, which gets stricter at once.
async fn seen(stage: &Stage) -> Vec<Value> {
    let mut all = Vec::new();
    let client = stage.client().await;
    all.push(client.greeting().unwrap().at("/result/instructions"));
    for (method, member) in [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        let answer = client.request(method, json!({})).await.unwrap();
        let mut items = answer.at(&format!("/result/{member}"));
        for item in items.as_array_mut().unwrap() {
            let Some(meta) = item["_meta"].as_object_mut() else { continue };
            meta.retain(|key, _| !key.starts_with("dev.highwater/"));
            if let Some(annotations) = item["annotations"].as_object_mut() {
                annotations.retain(|key, _| !key.ends_with("Hint"));
            }
        }
        all.push(items);
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_changed_after_an_approval_is_seen_before_a_person_has_seen_it() {
    for by_person in [true, false] {
        let mut wanted = if by_person { stranger() } else { vouched() };
        merge(&mut wanted, &json!({ "refresh": "20ms" }));
        let stage = Stage::new(wanted).await;
        if by_person {
            stage.approve("up").await;
        }
        stage.runs("up__read_note").await;
        let before = seen(&stage).await;
        for (place, change) in changes() {
            let mut other = definitions();
            merge(other.pointer_mut(place).unwrap(), &change);
            stage.now_says(&other).await;
            let all = stage.all_that_is_shown().await;
            assert!(!all.contains(NEW), "{place} {change}: {all}");
            assert_eq!(seen(&stage).await, before, "{place} {change}");
        }
        // A person sees it, and then everybody does.
        let mut other = definitions();
        other["tools"][0]["description"] = json!(NEW);
        other["resources"][0]["title"] = json!(NEW);
        stage.now_says(&other).await;
        stage.approve("up").await;
        let after = seen(&stage).await;
        assert_eq!((&after[1][0]["description"], &after[3][0]["title"]), (&json!(NEW), &json!(NEW)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_come_and_go_without_a_question_and_say_what_they_said() {
    let stage = Stage::new(json!({ "refresh": "20ms" })).await;
    stage.approve("up").await;
    let mut other = definitions();
    let listed = json!([
        { "uri": "note://2", "name": "Two", "size": 3 },
        { "uri": "note://1", "name": NEW, "size": 7, "annotations": { "lastModified": "2026-11-19T04:00:00Z" } },
    ]);
    other["resources"] = listed;
    stage.now_says(&other).await;
    assert_eq!(stage.listed("resources/list", "resources", "name").await, ["Two", "One"]);
    let client = stage.client().await;
    let shown = client.request("resources/list", json!({})).await.unwrap().at("/result/resources/1");
    assert_eq!(
        (&shown["size"], &shown["annotations"]["lastModified"]),
        (&json!(7), &json!("2026-11-19T04:00:00Z"))
    );
    assert_eq!(stage.review("up").await["state"], "approved", "there is nothing to approve");
    // It comes back as something else after it was gone, and after a restart.
    let mut gone = definitions();
    gone["resources"] = json!([]);
    stage.now_says(&gone).await;
    say(stage.folder(), "up", &other);
    let mut stage = stage;
    stage.again().await;
    assert_eq!(stage.listed("resources/list", "resources", "name").await, ["Two", "One"]);
}
