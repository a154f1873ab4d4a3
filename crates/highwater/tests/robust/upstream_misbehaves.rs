//! A server hangs, floods, babbles or sends far too much: its caller hears of it, memory stays bounded, and the next
//! call works.

use highwater_testkit::client::gateway::Gateway;
use highwater_testkit::client::peer::HttpFixture;
use highwater_testkit::client::{Client, Era, Request};
use highwater_testkit::wait::PATIENCE;
use serde_json::json;

use crate::audit::settled;
use crate::stage::{Ground, Stage, assert_echo, failure, journal};

const MEGA: u64 = 1_000_000;
/// What the gateway may use while a server sends it 100 MB and 64 MiB are allowed.
const MOST_MEMORY: u64 = 256;

fn patient(gateway: &Gateway, era: Era) -> highwater_testkit::client::Setup {
    gateway.http(era).without_stream().patience(PATIENCE * 3)
}

#[tokio::test]
async fn a_call_that_hangs_is_given_up_and_its_server_lives_on() {
    let ground = Ground::new();
    let mut hangs = ground.stdio("a");
    // Those that do not hang have as long.
    hangs["timeouts"] = json!({ "call": "4s" });
    let stage = ground.serve(&json!({ "flow": "observe", "servers": { "a": hangs } })).await;
    for era in [Era::Legacy, Era::Modern] {
        let client = stage.client(era).await;
        let mark = format!("given-up-{era:?}");
        let text = failure(&client.call("a__hang", json!({ "mark": mark })).await.unwrap());
        assert!(text.contains("server `a` did not answer within 4s"), "{text}");
        assert!(text.contains("may have taken effect"), "{text}");
        // The server is told, so that it can stop.
        stage.journal("a").wait("cancelled", &mark).await.unwrap();
        assert_echo(&client, "a", "after").await;
    }
    assert_eq!(stage.status("a").await["starts"], 1);
    let audit = settled(&stage.gateway.home().data_dir()).await;
    assert_eq!(audit.outcomes_of("a", "hang"), ["timed-out", "timed-out"]);
}

#[tokio::test]
async fn a_server_with_all_its_places_taken_delays_nobody_else() {
    let ground = Ground::new();
    let mut full = ground.stdio("a");
    full["concurrency"] = json!(2);
    let servers = json!({ "a": full, "b": ground.stdio("b") });
    let stage = ground.serve(&json!({ "flow": "observe", "servers": servers })).await;
    let client = stage.client(Era::Legacy).await;
    let mut hanging = Vec::new();
    for number in 0..4 {
        hanging.push(client.begin(Request::call("a__hang", &json!({ "mark": number }))).await.unwrap());
    }
    stage.status_where("a", |status| status["in_flight"].as_u64() >= Some(2)).await;
    for number in 0..20 {
        assert_echo(&client, "b", &format!("beside-{number}")).await;
    }
    assert_eq!(stage.journal("a").of("tools/call").len(), 2, "more than the configured number arrived");
    for pending in &hanging {
        pending.cancel().await.unwrap();
    }
    assert_echo(&client, "a", "after").await;
    let audit = settled(&stage.gateway.home().data_dir()).await;
    assert_eq!(audit.outcomes_of("a", "hang"), vec!["cancelled"; 4]);
}

#[tokio::test]
async fn a_flood_on_standard_error_does_not_stop_a_call() {
    let stage = Stage::of(&["a", "b"]).await;
    let client = patient(&stage.gateway, Era::Legacy).connect().await.unwrap();
    assert_echo(&client, "b", "before").await;
    let before = stage.peak_memory();
    let flood =
        client.begin(Request::call("a__stderr_flood", &json!({ "bytes": 100 * MEGA }))).await.unwrap();
    assert_echo(&client, "b", "beside").await;
    assert_eq!(flood.answer().await.unwrap().text().unwrap(), "flooded");
    assert_echo(&client, "a", "after").await;
    let grown = stage.peak_memory().saturating_sub(before);
    assert!(grown < 64, "the gateway grew by {grown} MiB");
    // People see the last of it, and the log is not drowned in it: so much is logged a second, and a busy machine takes many.
    let status = stage.status("a").await;
    assert!(status["stderr"][0].as_str().unwrap().contains("nobody asked for"), "{status:#}");
    assert!(stage.gateway.log().len() < 1_000_000, "the log has {} bytes", stage.gateway.log().len());
}

#[tokio::test]
async fn garbage_on_standard_output_is_passed_over() {
    let stage = Stage::of(&["a", "b"]).await;
    let client = patient(&stage.gateway, Era::Modern).connect().await.unwrap();
    let babble = client.begin(Request::call("a__garbage", &json!({ "lines": 100_000 }))).await.unwrap();
    assert_echo(&client, "b", "beside").await;
    assert_eq!(babble.answer().await.unwrap().text().unwrap(), "100000 lines of garbage");
    assert_echo(&client, "a", "after").await;
    assert_eq!(stage.status("a").await["starts"], 1);
    assert!(stage.gateway.log().len() < 1_000_000, "the log has {} bytes", stage.gateway.log().len());
    // Nothing of it was answered: replying to garbage makes more of it.
    let answers = stage.journal("a").notes().iter().filter(|note| note.method.is_none()).count();
    assert_eq!(answers, 0);
}

#[tokio::test]
async fn a_reply_of_a_hundred_megabytes_over_stdio_is_refused_in_bounded_memory() {
    let stage = Stage::of(&["a", "b"]).await;
    let client = patient(&stage.gateway, Era::Legacy).connect().await.unwrap();
    too_much(&stage, &client).await;
    assert_eq!(stage.status("a").await["starts"], 1);
}

#[tokio::test]
async fn a_reply_of_a_hundred_megabytes_over_http_is_refused_in_bounded_memory() {
    let ground = Ground::new();
    let seen = journal(ground.home.path(), "a");
    let fixture = HttpFixture::start(ground.fixture(), &["--extras"], &seen).await.unwrap();
    let servers = json!({ "a": { "url": fixture.url() }, "b": ground.stdio("b") });
    let stage = ground.serve(&json!({ "flow": "observe", "servers": servers })).await;
    let client = patient(&stage.gateway, Era::Modern).connect().await.unwrap();
    too_much(&stage, &client).await;
}

/// Asks `a` for 100 MB where 64 MiB are allowed.
async fn too_much(stage: &Stage, client: &Client) {
    assert_echo(client, "b", "before").await;
    let big = client.begin(Request::call("a__big", &json!({ "bytes": 100 * MEGA }))).await.unwrap();
    assert_echo(client, "b", "beside").await;
    let text = failure(&big.answer().await.unwrap());
    assert!(text.contains("server `a` sent more than the 67108864 bytes that are allowed"), "{text}");
    assert!(text.contains("may have taken effect"), "{text}");
    assert_echo(client, "a", "after").await;
    let peak = stage.peak_memory();
    assert!(peak < MOST_MEMORY, "the gateway used {peak} MiB");
    let audit = settled(&stage.gateway.home().data_dir()).await;
    assert_eq!(audit.outcomes_of("a", "big"), ["failed"]);
}

#[tokio::test]
async fn a_large_reply_that_is_allowed_arrives_whole() {
    let ground = Ground::new();
    let mut small = ground.stdio("small");
    small["max_reply"] = json!("1MiB");
    let stage = ground.serve(&json!({ "flow": "observe", "servers": { "small": small } })).await;
    let client = patient(&stage.gateway, Era::Legacy).connect().await.unwrap();
    let answer = client.call("small__big", json!({ "bytes": 1_000_000 })).await.unwrap();
    assert_eq!(answer.text().unwrap().len(), 1_000_000);
    let text = failure(&client.call("small__big", json!({ "bytes": 1_100_000 })).await.unwrap());
    assert!(text.contains("more than the 1048576 bytes"), "{text}");
    let answer = client.call("small__big", json!({ "bytes": 1_000_000 })).await.unwrap();
    assert_eq!(answer.text().unwrap().len(), 1_000_000);
}
