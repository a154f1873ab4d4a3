//! Every case over every front: refused with its code and its place, the client is not disturbed, and the server has
//! seen nothing of it.

use highwater_testkit::client::Era;
use serde_json::Value;

use crate::cases::{Case, cases};
use crate::fronts::Front;
use crate::stage::{assert_only_calls, gateway, home};

#[tokio::test]
async fn over_http_from_a_legacy_client() {
    let (gateway, journal) = gateway().await;
    let calls = refuse_all(Front::http(&gateway, Era::Legacy).await).await;
    assert_only_calls(&journal, calls);
}

#[tokio::test]
async fn over_http_from_a_modern_client() {
    let (gateway, journal) = gateway().await;
    let calls = refuse_all(Front::http(&gateway, Era::Modern).await).await;
    assert_only_calls(&journal, calls);
}

#[tokio::test]
async fn over_stdio_from_a_legacy_client() {
    let (home, journal) = home();
    let calls = refuse_all(Front::stdio(&home, Era::Legacy).await).await;
    assert_only_calls(&journal, calls);
}

#[tokio::test]
async fn over_stdio_from_a_modern_client() {
    let (home, journal) = home();
    let calls = refuse_all(Front::stdio(&home, Era::Modern).await).await;
    assert_only_calls(&journal, calls);
}

#[tokio::test]
async fn over_stdio_joined_to_a_gateway_that_serves() {
    let (gateway, journal) = gateway().await;
    let legacy = Front::stdio(gateway.home(), Era::Legacy).await;
    let modern = Front::stdio(gateway.home(), Era::Modern).await;
    // Both are in at once: what one of them sends wrong must not cost the other anything.
    let (legacy, modern) = tokio::join!(refuse_all(legacy), refuse_all(modern));
    assert_only_calls(&journal, legacy + modern);
}

/// Sends every case, and a good call after each; returns how many of those there were.
async fn refuse_all(front: Front) -> usize {
    front.assert_usable(0).await;
    let cases = cases(front.era());
    for (number, case) in cases.iter().enumerate() {
        refuse(&front, case).await;
        front.assert_usable(number + 1).await;
    }
    front.close().await;
    cases.len() + 1
}

async fn refuse(front: &Front, case: &Case) {
    let name = &case.name;
    let heard = front.say(&case.bytes).await;
    let message = &heard.message;
    assert_eq!(message["error"]["code"], case.code, "{name}: {message}");
    assert_eq!(message["error"]["data"]["path"], case.path.as_str(), "{name}: {message}");
    let id = if case.answers_its_id { Value::from(7) } else { Value::Null };
    assert_eq!(message["id"], id, "{name}: {message}");
    assert_eq!(message["jsonrpc"], "2.0", "{name}: {message}");
    assert!(message.get("result").is_none(), "{name}: {message}");
    if let Some(status) = heard.status {
        assert_eq!(status, 400, "{name}: {message}");
    }
}
