//! What a session writes carries its label, and gives it back to whoever reads it.

use highwater_testkit::client::Era;
use serde_json::json;

use crate::stage::{ACT, LOOK, PRIVATE, STRANGE, Stage, done};

#[tokio::test]
async fn what_is_only_observed_leaves_nothing_behind() {
    let observed = json!({ "partition": "session", "virtual_servers": {
        "default": { "servers": ["up"], "flow": "balanced" },
        "loose": { "servers": ["up"], "flow": "observe" },
    } });
    let stage = Stage::new(observed).await;
    let clean = stage.client(Era::Legacy).await;
    let label = async || {
        let answer = clean.call(LOOK, json!({})).await.unwrap();
        answer.at("/result/_meta/dev.highwater~1label").to_string()
    };
    let before = label().await;
    let url = format!("{}/v/loose", stage.gateway.endpoint());
    let writer = highwater_testkit::client::Setup::http(&url).token(stage.gateway.agent_token());
    let writer = writer.without_stream().connect().await.unwrap();
    done(&writer.call(PRIVATE, json!({})).await.unwrap());
    done(&writer.call(STRANGE, json!({})).await.unwrap());
    done(&writer.call(ACT, json!({ "text": "what strangers wrote" })).await.unwrap());

    assert_eq!(label().await, before);
    done(&clean.call(ACT, json!({})).await.unwrap());
}

#[tokio::test]
async fn a_named_object_is_doubtful_and_the_others_are_not() {
    let named = |destination: &str| {
        json!({
            "inputMetadata": { "destination": destination, "sensitivity": "any", "outcomes": "benign" },
            "returnMetadata": { "source": "system", "sensitivity": "none" },
            "roles": { "repo": "object", "path": "object" },
        })
    };
    let stage = Stage::new(json!({ "servers": { "up": { "labels": {
        "test_multiple_content_types": named("internal"),
        "test_audio_content": named("ephemeral"),
    } } } }))
    .await;
    let writer = stage.client(Era::Legacy).await;
    done(&writer.call(STRANGE, json!({})).await.unwrap());
    done(&writer.call(ACT, json!({ "repo": "website", "path": "notes/plan" })).await.unwrap());
    let reader = stage.client(Era::Legacy).await;
    let integrity = async |repo: &str, path: &str| {
        let answer = reader.call(LOOK, json!({ "repo": repo, "path": path })).await.unwrap();
        answer.at("/result/_meta/dev.highwater~1label/integrity")
    };
    assert_eq!(integrity("website", "letters").await, "tool");
    assert_eq!(integrity("diary", "notes/plan").await, "tool", "another of the same name");
    assert_eq!(integrity("website", "Notes//plan").await, "none");
    assert_eq!(integrity("website", "/srv/website/notes/plan").await, "none");
    assert_eq!(integrity("website", "notes").await, "none", "a folder holds what is in it");
}

#[tokio::test]
async fn a_link_remembers_the_label_under_which_it_was_given() {
    let stage = Stage::new(json!({ "partition": "session", "servers": { "up": {
        "trust": { "resource_trust": "tool" },
        "labels": { "test_embedded_resource": {
            "inputMetadata": { "destination": "ephemeral", "sensitivity": "any", "outcomes": "benign" },
            "returnMetadata": { "source": "user", "sensitivity": "financial" },
        } },
        "resource_labels": { "test://*": {
            "inputMetadata": { "destination": "internal", "sensitivity": "any" },
            "returnMetadata": { "source": "system", "sensitivity": "none" },
        } },
    } } }))
    .await;
    let one = stage.client(Era::Legacy).await;
    let read = json!({ "uri": "up+test://static-text" });
    let before = one.request("resources/read", read.clone()).await.unwrap();
    let secrecy = "/result/_meta/dev.highwater~1label/secrecy";
    assert_eq!(before.at(secrecy), json!([]), "{}", before.raw());
    done(&one.call("up__test_embedded_resource", json!({})).await.unwrap());
    let other = stage.client(Era::Legacy).await;
    let linked =
        other.request("resources/read", json!({ "uri": "up+test://embedded-resource" })).await.unwrap();
    if linked.error_code().is_none() {
        assert!(linked.at(secrecy).to_string().contains("financial"), "{}", linked.raw());
    }
    let after = stage.sessions().await;
    assert!(after.iter().all(|session| session["kind"] == "transport"), "{after:#?}");
    let label = |answer: &serde_json::Value| answer.to_string().contains("financial");
    assert_eq!(after.iter().filter(|session| label(&session["label"])).count(), 2, "{after:#?}");
    let plain = stage.client(Era::Legacy).await.request("resources/read", read).await.unwrap();
    assert_eq!(plain.at(secrecy), json!([]), "{}", plain.raw());
}
