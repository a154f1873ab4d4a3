//! What a server is told about the context of a call, and what it is not.

use highwater_testkit::client::{Client, Era, Request};
use serde_json::{Value, json};

use crate::stage::{ERAS, LOOK, PRIVATE, STRANGE, Stage, done};

/// The `_meta` of the last call that the server saw.
fn seen(stage: &Stage) -> Value {
    let last = stage.journal.of("tools/call").pop().unwrap();
    serde_json::from_str::<Value>(&last.raw).unwrap()["params"]["_meta"].clone()
}

async fn doubtful(stage: &Stage, era: Era) -> Client {
    let client = stage.client(era).await;
    done(&client.call(PRIVATE, json!({})).await.unwrap());
    done(&client.call(STRANGE, json!({})).await.unwrap());
    client
}

#[tokio::test]
async fn a_server_is_told_as_much_as_the_operator_lets_it_know() {
    for era in ERAS {
        for share in ["none", "hints", "full"] {
            let stage = Stage::new(json!({ "servers": { "up": { "share_context": share } } })).await;
            let client = doubtful(&stage, era).await;
            done(&client.call(LOOK, json!({})).await.unwrap());
            let meta = seen(&stage);
            let annotations = &meta["annotations"];
            assert_eq!(annotations["openWorldHint"] == json!(true), share != "none", "{share}: {meta}");
            assert_eq!(annotations["attribution"].is_array(), share == "full", "{share}: {meta}");
            assert!(!meta.to_string().contains("pii"), "classes of data are nobody's business: {meta}");
            assert!(!meta.to_string().contains("dev.highwater"), "{meta}");
        }
    }
}

#[tokio::test]
async fn a_trusted_session_is_not_spoken_of() {
    for era in ERAS {
        let stage = Stage::new(json!({ "servers": { "up": { "share_context": "hints" } } })).await;
        let client = stage.client(era).await;
        done(&client.call(LOOK, json!({})).await.unwrap());
        assert_eq!(seen(&stage)["annotations"], Value::Null);
        let spoofed = Request::call(LOOK, &json!({})).meta("dev.highwater/label", json!({ "v": 1 }));
        done(&client.send(spoofed).await.unwrap());
        assert!(!seen(&stage).to_string().contains("dev.highwater"));
    }
}
