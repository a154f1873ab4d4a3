//! A server over HTTP goes away, in the middle of a call or between two, and comes back as a new process.

use highwater_testkit::client::peer::HttpFixture;
use highwater_testkit::client::{Client, Era, Request};
use highwater_testkit::wait;
use serde_json::json;

use crate::audit::settled;
use crate::stage::{Ground, assert_echo, failure, journal};
use crate::switchboard::Switchboard;

#[tokio::test]
async fn a_legacy_server() {
    goes_and_comes(&["--extras", "--era", "legacy"], "/mcp").await;
}

#[tokio::test]
async fn a_modern_server() {
    goes_and_comes(&["--extras", "--era", "modern"], "/mcp").await;
}

#[tokio::test]
async fn a_server_of_the_oldest_kind() {
    goes_and_comes(&["--extras", "--sse"], "/sse").await;
}

async fn goes_and_comes(arguments: &[&str], path: &str) {
    let ground = Ground::new();
    let seen = journal(ground.home.path(), "a");
    let program = ground.fixture().to_owned();
    let start = async || HttpFixture::start(&program, arguments, &seen).await.unwrap();
    let board = Switchboard::new();
    let mut fixture = start().await;
    assert!(fixture.url().ends_with(path), "{}", fixture.url());
    board.plug(fixture.url()).await;
    let servers = json!({ "a": { "url": board.url(path) }, "b": ground.stdio("b") });
    let stage = ground.serve(&json!({ "flow": "observe", "servers": servers })).await;
    let legacy = stage.client(Era::Legacy).await;
    let modern = stage.client(Era::Modern).await;

    for (round, client) in [&legacy, &modern, &legacy].into_iter().enumerate() {
        assert_echo(client, "a", "before").await;
        let mark = format!("doomed-{round}.");
        let doomed = client.begin(Request::call("a__hang", &json!({ "mark": mark }))).await.unwrap();
        seen.wait("tools/call", &mark).await.unwrap();
        fixture.kill().await.unwrap();
        board.unplug().await;
        let text = failure(&doomed.answer().await.unwrap());
        assert!(text.contains("server `a`") && text.contains("may have taken effect"), "{text}");

        // The first may go out on a connection that is about to be found dead; after that it is known.
        let text = failure(&client.call("a__echo", json!({ "body": "away" })).await.unwrap());
        assert!(text.contains("server `a`"), "{text}");
        let text = failure(&client.call("a__echo", json!({ "body": "away" })).await.unwrap());
        assert!(text.contains("server `a`") && text.contains("nothing was executed"), "{text}");
        assert_echo(client, "b", "beside").await;
        let status = stage.status_where("a", |status| status["state"] == "failed").await;
        assert!(status["error"].is_string(), "{status:#}");

        fixture = start().await;
        board.plug(fixture.url()).await;
        comes_back(client).await;
    }
    let audit = settled(&stage.gateway.home().data_dir()).await;
    assert_eq!(audit.outcomes_of("a", "hang"), vec!["failed"; 3]);
}

/// Calls until it is answered, as somebody who was told when to try again would.
async fn comes_back(client: &Client) {
    let answered = wait::until("an answer", async || {
        let answer = client.call("a__echo", json!({ "body": "back" })).await.unwrap();
        (!answer.is_tool_error()).then_some(answer)
    });
    assert_eq!(answered.await.unwrap().at("/result/structuredContent/body"), "back");
}
