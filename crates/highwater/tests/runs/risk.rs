//! What a session has done of the three things that make an exfiltration, as the interface for people tells it.

use highwater_testkit::client::Setup;
use highwater_testkit::client::gateway::Gateway;
use http::Method;
use serde_json::{Value, json};

use crate::http_server::{Faulty, Manner};
use crate::stage::{Stage, home};

#[tokio::test]
async fn each_leg_names_the_call_that_set_it() {
    let server = Faulty::start(Manner::Modern);
    let known = json!({ "source": "system", "sensitivity": "none" });
    let inside = json!({ "destination": "ephemeral", "sensitivity": "any" });
    let labels = json!({
        "look": { "inputMetadata": inside, "returnMetadata": { "source": "internal", "sensitivity": "pii" } },
        "put": { "inputMetadata": inside, "returnMetadata": { "source": "untrustedPublic", "sensitivity": "none" } },
        "add": { "inputMetadata": { "destination": "public", "sensitivity": "any" }, "returnMetadata": known },
    });
    let stage = Stage::in_home(home(json!({ "url": server.url(), "labels": labels }), true)).await;
    let client = stage.client().await;
    let mut expected = Vec::new();
    for (tool, leg) in [("look", "privateData"), ("put", "untrustedContent"), ("add", "sentOutwards")] {
        expected.push((tool, leg));
        // The second call sets nothing any more.
        for round in ["first", "second"] {
            client.call(&format!("up__{tool}"), json!({ "mark": round })).await.unwrap();
        }
        let risk = risk(&stage.gateway).await;
        let met: Vec<&str> = expected.iter().map(|(_, leg)| *leg).collect();
        assert_eq!(risk["legs"], json!(met), "{risk}");
        assert_eq!(risk["trifecta"], json!(expected.len() == 3), "{risk}");
        for (tool, leg) in &expected {
            let set_by = &risk["setBy"][leg];
            assert_eq!(set_by["what"], format!("up__{tool}"), "{risk}");
            assert_eq!(set_by["server"], "up", "{risk}");
            assert_eq!(set_by["id"], first_decision(&stage, tool), "{risk}");
        }
    }
}

fn first_decision(stage: &Stage, tool: &str) -> Value {
    stage.audit("decision").iter().find(|decision| decision["target"] == tool).unwrap()["id"].clone()
}

/// The risk of the only session.
async fn risk(gateway: &Gateway) -> Value {
    let sessions = get(gateway, "/api/v1/sessions").await;
    let key = sessions[0]["key"].as_str().unwrap().replace('/', "%2F");
    let session = get(gateway, &format!("/api/v1/sessions/{key}")).await;
    assert_eq!(sessions[0]["risk"]["score"], session["risk"]["score"]);
    session["risk"].clone()
}

async fn get(gateway: &Gateway, path: &str) -> Value {
    let url = gateway.endpoint().replace("/mcp", path);
    let person = Setup::http(&url).token(gateway.operator_token()).connect_silently().await.unwrap();
    let reply = person.exchange(Method::GET, String::new(), &[]).await.unwrap();
    assert_eq!(reply.status, 200, "{}", reply.body);
    serde_json::from_str(&reply.body).unwrap()
}
