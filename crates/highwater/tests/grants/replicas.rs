//! Two gateways on one PostgreSQL: what one makes opens the other, what one revokes is closed at the other, within seconds.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use highwater_store::PostgresServer;
use highwater_testkit::client::Era;
use http::Method;
use serde_json::json;

use crate::stage::Stage;

static SERVER: LazyLock<PostgresServer> = LazyLock::new(PostgresServer::start);

/// The bound that the documentation promises, and a busy machine's share.
const BOUND: Duration = Duration::from_secs(15);

async fn until(stage: &Stage, secret: &str, wanted: u16) {
    let begun = Instant::now();
    loop {
        let (status, _) = stage.ask(secret, Method::POST, "/mcp", Some(&json!({}))).await;
        let opens = status != 401 && status != 503;
        if opens == (wanted != 401) {
            return;
        }
        assert!(begun.elapsed() < BOUND, "still {status} after {:?}", begun.elapsed());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_made_or_revoked_at_one_gateway_is_so_at_the_other() {
    let url = tokio::task::spawn_blocking(|| SERVER.url("tokens")).await.unwrap();
    let more = json!({ "store": { "postgres": url } });
    let (one, other) = (Stage::new(more.clone()).await, Stage::new(more).await);
    let secret = one.full("roaming").await;
    until(&other, &secret, 200).await;
    let client = other.client(Era::Modern, &secret).await;
    client.call("a__look", json!({})).await.unwrap().ok().unwrap();
    assert!(one.run(&["token", "revoke", "roaming"]).status.success());
    until(&one, &secret, 401).await;
    until(&other, &secret, 401).await;
}
