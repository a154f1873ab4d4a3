//! The label rises before what raised it is released, and everything an upstream says counts.

use std::os::unix::fs::DirBuilderExt;

use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::{Era, Request};
use highwater_testkit::wait::until;
use rustix::process::Signal;
use serde_json::json;

use crate::stage::{ACT, ERAS, LOOK, PRIVATE, STRANGE, Stage, done, refused};

#[tokio::test]
async fn what_was_released_is_in_the_label_even_if_the_gateway_dies_at_once() {
    let stage = Stage::new(json!({})).await;
    let client = stage.client(Era::Modern).await;
    done(&client.call(PRIVATE, json!({})).await.unwrap());
    done(&client.call(STRANGE, json!({})).await.unwrap());
    stage.gateway.signal(Signal::KILL).unwrap();
    let Stage { mut gateway, journal } = stage;
    gateway.ended().await.unwrap();
    // The same places once more: the key of a modern client's session comes back.
    let config = std::fs::read_to_string(gateway.home().config_file()).unwrap();
    let again = Home::new(crate::stage::PROGRAM, &config).unwrap();
    let database = "highwater.db";
    std::fs::DirBuilder::new().mode(0o700).create(again.data_dir()).unwrap();
    for end in ["", "-wal", "-shm"] {
        let name = format!("{database}{end}");
        if let Ok(bytes) = std::fs::read(gateway.home().data_dir().join(&name)) {
            std::fs::write(again.data_dir().join(&name), bytes).unwrap();
        }
    }
    let gateway: Gateway = again.serve().await.unwrap();
    let stage = Stage { gateway, journal };
    let session = stage.session("presumed").await;
    assert_eq!(session["label"]["integrity"], "none", "{session}");
    assert!(session["label"]["secrecy"].to_string().contains("pii"), "{session}");
    let client = stage.client(Era::Modern).await;
    refused(&client.call(ACT, json!({})).await.unwrap(), "undisclosed");
}

#[tokio::test]
async fn a_reply_says_what_it_is_and_what_the_session_has_become() {
    for era in ERAS {
        let stage = Stage::new(json!({})).await;
        let client = stage.client(era).await;
        let answer = client.call(PRIVATE, json!({})).await.unwrap();
        let label = answer.at("/result/_meta/dev.highwater~1label");
        assert_eq!(label["integrity"], "tool", "{label}");
        assert!(label["secrecy"].to_string().contains("pii"), "{label}");
        let answer = client.call(STRANGE, json!({})).await.unwrap();
        let label = answer.at("/result/_meta/dev.highwater~1label");
        assert_eq!((&label["integrity"], &label["secrecy"]), (&json!("none"), &json!([])), "{label}");
        assert_eq!(label["session"]["integrity"], "none", "{label}");
        assert!(label["session"]["secrecy"].to_string().contains("pii"), "{label}");
        assert_eq!(answer.at("/result/_meta/annotations/openWorldHint"), json!(true));
        let decision = answer.at("/result/_meta/dev.highwater~1decision/id");
        assert!(decision.as_str().is_some_and(|id| id.starts_with("hwd_")), "{decision}");
    }
}

#[tokio::test]
async fn progress_and_errors_label_like_replies() {
    // Nobody classifies what these two bring; the first speaks before it answers.
    for (tool, request) in [
        ("up__test_tool_with_progress", Request::call("up__test_tool_with_progress", &json!({})).progress(7)),
        ("up__json_schema_2020_12_tool", Request::call("up__json_schema_2020_12_tool", &json!({}))),
    ] {
        for era in ERAS {
            let stage = Stage::new(json!({ "servers": { "up": { "labels": { "test_tool_with_progress": {
                "inputMetadata": { "destination": "internal", "sensitivity": "any", "outcomes": "benign" },
            }, "json_schema_2020_12_tool": {
                "inputMetadata": { "destination": "internal", "sensitivity": "any", "outcomes": "benign" },
            } } } } }))
            .await;
            let client = stage.client(era).await;
            client.send(request.clone()).await.unwrap();
            let sessions = stage.sessions().await;
            assert!(
                sessions
                    .iter()
                    .any(|session| session["label"]["secrecy"].to_string().contains("unclassified")),
                "{tool}: {sessions:#?}"
            );
        }
    }
}

#[tokio::test]
async fn what_a_client_says_of_its_context_stays() {
    for era in ERAS {
        let stage = Stage::new(json!({})).await;
        let client = stage.client(era).await;
        done(&client.call(ACT, json!({})).await.unwrap());
        let annotations = json!({ "openWorldHint": true, "attribution": ["https://elsewhere.example/"] });
        done(&client.send(Request::call(LOOK, &json!({})).meta("annotations", annotations)).await.unwrap());
        refused(&client.call(ACT, json!({})).await.unwrap(), "undisclosed");
        // Where something came from decides nothing here, so it may be written a little later than the rest.
        let written = async || {
            let origins = stage.sessions().await[0]["label"]["origins"].to_string();
            origins.contains("elsewhere.example").then_some(())
        };
        until("the origin is written", written).await.unwrap();
    }
}
