//! Lists of resources raise the label by what they name.

use serde_json::{Value, json};

use crate::stage::{ACT, ERAS, SEND, Stage, done, refused};

/// What the operator says of the server's resources.
fn labelled(source: &str, sensitivity: &str) -> Value {
    let label = json!({ "returnMetadata": { "source": source, "sensitivity": sensitivity } });
    json!({ "servers": { "up": { "resource_labels": { "test://*": label } } } })
}

#[tokio::test]
async fn who_lists_private_resources_has_read_their_names() {
    for era in ERAS {
        let stage = Stage::new(labelled("internal", "credentials")).await;
        let client = stage.client(era).await;
        done(&client.call(SEND, json!({})).await.unwrap());
        let listed = client.request("resources/list", json!({})).await.unwrap();
        assert_eq!(listed.at("/result/resources").as_array().unwrap().len(), 3, "{}", listed.raw());
        refused(&client.call(SEND, json!({})).await.unwrap(), "unavailable");
        done(&client.call(ACT, json!({})).await.unwrap());
    }
}

#[tokio::test]
async fn who_lists_what_strangers_named_has_read_strangers() {
    for era in ERAS {
        let stage = Stage::new(labelled("untrustedPublic", "none")).await;
        let client = stage.client(era).await;
        done(&client.call(ACT, json!({})).await.unwrap());
        // Templates are pinned with the rest of the definitions.
        client.request("resources/templates/list", json!({})).await.unwrap();
        done(&client.call(ACT, json!({})).await.unwrap());
        client.request("resources/list", json!({})).await.unwrap();
        refused(&client.call(ACT, json!({})).await.unwrap(), "undisclosed");
    }
}
