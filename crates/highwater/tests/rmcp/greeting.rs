//! How the SDK's client and the gateway meet, in each of the client's modes.

use rmcp::model::ProtocolVersion;
use serde_json::json;

use super::harbour::{Harbour, Speaks};
use super::stage::{CLIENTS, Mode, Stage, Way};

async fn stage() -> Stage {
    let harbour = Harbour::new(Speaks::Everything);
    Stage::served(&json!({ "flow": "observe", "servers": { "harbour": harbour.behind_http().await } })).await
}

#[tokio::test]
async fn each_mode_gets_the_era_it_can_speak() {
    let stage = stage().await;
    for (way, mode) in [Way::Http, Way::Stdio]
        .into_iter()
        .flat_map(|way| [Mode::Initialize, Mode::Discover, Mode::Auto].map(|mode| (way, mode)))
    {
        let client = stage.client(way, mode).await;
        let server = client.service.peer_info().unwrap();
        // The SDK asks for 2026-07-28 even where it shakes hands, which that version does not know.
        let expected = match mode {
            Mode::Initialize => ProtocolVersion::V_2025_11_25,
            Mode::Discover | Mode::Auto => ProtocolVersion::V_2026_07_28,
        };
        assert_eq!(server.protocol_version, expected, "{way:?}, {mode:?}");
        assert_eq!(server.server_info.as_ref().unwrap().name, "highwater", "{way:?}, {mode:?}");
        let capabilities = serde_json::to_value(&server.capabilities).unwrap();
        assert_eq!(capabilities["tools"]["listChanged"], true, "{way:?}, {mode:?}: {capabilities}");
        assert_eq!(capabilities["resources"]["subscribe"], true, "{way:?}, {mode:?}: {capabilities}");
        assert!(capabilities["prompts"].is_object(), "{way:?}, {mode:?}: {capabilities}");
        assert!(client.tools().await.iter().any(|tool| tool.name == "harbour__weigh"), "{way:?}, {mode:?}");
        client.leave().await;
    }
}

#[tokio::test]
async fn a_wrong_token_opens_nothing() {
    let stage = stage().await;
    for mode in [Mode::Initialize, Mode::Discover, Mode::Auto] {
        let refused = stage.http_client(mode, "hw_not-the-token").await.err().expect("a client got in");
        assert!(refused.is_authorization_required(), "{mode:?}: {refused:?}");
    }
}

#[tokio::test]
async fn clients_of_every_kind_share_one_gateway() {
    let stage = stage().await;
    let mut clients = Vec::new();
    for (way, mode) in CLIENTS {
        clients.push(stage.client(way, mode).await);
    }
    let calls = clients.iter().enumerate().flat_map(|(at, client)| {
        (0..10).map(move |call| async move {
            let ship = format!("ship {call} of {at}");
            let weighed = client.call("harbour__weigh", json!({ "ship": ship })).await;
            assert_eq!(weighed.structured_content.unwrap()["ship"], ship);
        })
    });
    let calls: Vec<_> = calls.collect();
    futures_util::future::join_all(calls).await;
    for client in clients {
        client.leave().await;
    }
}
