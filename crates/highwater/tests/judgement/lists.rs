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
        let stage = Stage::new(labelled("internal", "pii")).await;
        let client = stage.client(era).await;
        client.call(SEND, json!({})).await.unwrap();
        let listed = client.request("resources/list", json!({})).await.unwrap();
        assert_eq!(listed.at("/result/resources").as_array().unwrap().len(), 3, "{}", listed.raw());
        refused(&client.call(SEND, json!({})).await.unwrap(), "undisclosed");
        assert_eq!(stage.runs(SEND), 1);
        done(&client.call(ACT, json!({})).await.unwrap());
    }
}

#[tokio::test]
async fn who_lists_what_strangers_named_has_read_strangers() {
    for era in ERAS {
        // Templates are pinned with the rest of the definitions.
        for (list, trusted) in [("resources/templates/list", true), ("resources/list", false)] {
            let stage = Stage::new(labelled("untrustedPublic", "none")).await;
            let client = stage.client(era).await;
            client.request(list, json!({})).await.unwrap();
            let answer = client.call(ACT, json!({})).await.unwrap();
            if trusted { done(&answer) } else { refused(&answer, "undisclosed") }
        }
    }
}
