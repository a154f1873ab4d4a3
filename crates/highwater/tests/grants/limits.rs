//! How much a token may ask, over HTTP and over standard streams, and until when.

use highwater_testkit::client::{Era, Request, Setup};
use highwater_testkit::wait::until;
use http::Method;
use serde_json::{Value, json};

use crate::stage::{PERMISSIONS, ShortToken, Stage, with_short_token};

fn everything() -> Value {
    json!({ "permissions": PERMISSIONS, "servers": ["*"] })
}

#[tokio::test]
async fn who_asks_too_often_is_told_when_to_come_again() {
    let stage = Stage::new(json!({})).await;
    let secret = stage.limited("hasty", everything(), json!({ "per_minute": 3 })).await;
    let person = stage.setup(Era::Legacy, &secret).connect_silently().await.unwrap();
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let headers = [("accept", "application/json, text/event-stream"), ("content-type", "application/json")];
    for _ in 0..3 {
        let reply = person.exchange(Method::POST, body.to_owned(), &headers).await.unwrap();
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
    let busy = person.exchange(Method::POST, body.to_owned(), &headers).await.unwrap();
    assert_eq!(busy.status, 429, "{}", busy.body);
    let wait: u64 = busy.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=20).contains(&wait), "{wait}");
    let said: Value = serde_json::from_str(&busy.body).unwrap();
    assert_eq!((&said["id"], &said["error"]["code"]), (&json!(7), &json!(429_100)), "{said}");
    // Nobody else waits.
    let other = stage.full("calm").await;
    stage.client(Era::Modern, &other).await.call("a__look", json!({})).await.unwrap().ok().unwrap();
}

#[tokio::test]
async fn who_has_all_places_taken_gets_no_further_one() {
    let stage = Stage::new(json!({})).await;
    let secret = stage.limited("narrow", everything(), json!({ "concurrency": 1 })).await;
    let (first, second) =
        (stage.client(Era::Modern, &secret).await, stage.client(Era::Modern, &secret).await);
    let held = first.begin(Request::call("a__slow", &json!({})).once()).await.unwrap();
    stage.journal("a").wait("tools/call", "slow").await.unwrap();
    let busy = second.call("a__look", json!({})).await.unwrap();
    assert_eq!(busy.error_code(), Some(429_100), "{}", busy.raw());
    held.cancel().await.unwrap();
    drop(held);
    // The place is free again once the call is gone.
    let served =
        async || second.call("a__look", json!({})).await.unwrap().error_code().is_none().then_some(());
    until("the place is free", served).await.unwrap();
}

#[tokio::test]
async fn over_standard_streams_a_token_narrows_and_is_bounded_too() {
    let stage = Stage::new(json!({})).await;
    let grant = json!({ "permissions": ["call_tool_read"], "servers": ["a"] });
    let secret = stage.limited("piped", grant, json!({ "per_minute": 4 })).await;
    let mut command = stage.gateway.home().command("stdio");
    command.env("HIGHWATER_TOKEN", &secret);
    let client = Setup::stdio(command).era(Era::Legacy).connect().await.unwrap();
    let listed = client.request("tools/list", json!({})).await.unwrap();
    assert_eq!(listed.result().unwrap()["tools"].as_array().unwrap().len(), 2, "{}", listed.raw());
    client.call("a__look", json!({})).await.unwrap().ok().unwrap();
    let refused = client.call("a__plain", json!({})).await.unwrap();
    assert!(refused.is_tool_error(), "{}", refused.raw());
    let busy = client.call("a__look", json!({})).await.unwrap();
    assert_eq!(busy.error_code(), Some(429_100), "{}", busy.raw());
    // Without the variable the local user may do everything.
    let local = stage.gateway.stdio(Era::Modern).connect().await.unwrap();
    local.call("b__wipe", json!({})).await.unwrap().ok().unwrap();
}

#[tokio::test]
async fn a_secret_that_opens_nothing_is_refused_on_every_front() {
    let stage = Stage::new(json!({})).await;
    let mut command = stage.gateway.home().command("stdio");
    command.env("HIGHWATER_TOKEN", "hwt_invented");
    assert!(Setup::stdio(command).era(Era::Legacy).connect().await.is_err());
    for secret in ["hwt_invented", "", stage.gateway.operator_token()] {
        let (status, _) = stage.ask(secret, Method::POST, "/mcp", Some(&json!({}))).await;
        assert_eq!(status, 401, "`{secret}`");
    }
}

#[tokio::test]
async fn a_token_is_over_when_its_time_is() {
    let stage = Stage::new(json!({})).await;
    with_short_token(&stage, async |short: &ShortToken| {
        let client = stage.setup(Era::Modern, &short.secret).connect().await?;
        client.call("a__look", json!({})).await?.ok()?;
        short.over().await?;
        let (status, _) = stage.ask(&short.secret, Method::POST, "/mcp", Some(&json!({}))).await;
        assert_eq!(status, 401);
        let shown = stage.shown(&short.name).await.unwrap();
        assert_eq!(shown["status"], "expired", "{shown}");
        let used = async || stage.shown(&short.name).await.unwrap()["lastUsed"].as_u64();
        until("its last use", used).await.unwrap();
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn people_see_when_a_token_was_last_used() {
    let stage = Stage::new(json!({})).await;
    let used = async |name: &str| stage.shown(name).await.unwrap()["lastUsed"].as_u64();
    for (name, era, piped) in [
        ("old", Era::Legacy, false),
        ("new", Era::Modern, false),
        ("old-pipe", Era::Legacy, true),
        ("new-pipe", Era::Modern, true),
    ] {
        let secret = stage.token(name, everything()).await;
        let made = stage.shown(name).await.unwrap()["created"].as_u64().unwrap();
        assert_eq!(used(name).await, None, "{name}");
        let client = match piped {
            true => stage.piped(era, Some(&secret)).await,
            false => stage.client(era, &secret).await,
        };
        client.call("a__look", json!({})).await.unwrap().ok().unwrap();
        // Written down behind the call, not in its way.
        let used = until(name, async || used(name).await).await.unwrap();
        assert!(used >= made, "{name}: {used} before {made}");
    }
    let listed = stage.run(&["token", "list"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(!listed.lines().any(|line| line.ends_with("never")), "{listed}");
}
