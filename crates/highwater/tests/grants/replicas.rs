//! Two gateways on one PostgreSQL: what one makes opens the other, what one revokes is closed at the other, within seconds.

use std::sync::LazyLock;

use highwater_store::PostgresServer;
use highwater_testkit::client::Era;
use highwater_testkit::wait;
use http::Method;
use serde_json::json;

use crate::stage::Stage;

static SERVER: LazyLock<PostgresServer> = LazyLock::new(PostgresServer::start);

async fn until(stage: &Stage, secret: &str, wanted: u16) {
    let as_wanted = async || {
        let (status, _) = stage.ask(secret, Method::POST, "/mcp", Some(&json!({}))).await;
        let opens = status != 401 && status != 503;
        (opens == (wanted != 401)).then_some(())
    };
    wait::until(&format!("status {wanted}"), as_wanted).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_made_or_revoked_at_one_gateway_is_so_at_the_other() {
    let url = tokio::task::spawn_blocking(|| SERVER.url("tokens")).await.unwrap();
    let more = json!({ "store": { "postgres": url, "timeout": "60s" } });
    let (one, other) = (Stage::new(more.clone()).await, Stage::new(more).await);
    let secret = one.full("roaming").await;
    until(&other, &secret, 200).await;
    let client = other.client(Era::Modern, &secret).await;
    client.call("a__look", json!({})).await.unwrap().ok().unwrap();
    assert!(one.run(&["token", "revoke", "roaming"]).status.success());
    until(&one, &secret, 401).await;
    until(&other, &secret, 401).await;
}
