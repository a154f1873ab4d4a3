//! What gives occasion to look at a server again, each by itself: the interval is an hour, and no server says a word.

use highwater_testkit::client::gateway::Home;
use highwater_testkit::client::peer::HttpFixture;
use highwater_testkit::client::{Client, Era};
use highwater_testkit::wait::until;
use serde_json::{Value, json};

use super::stage::{Stage, definitions, home, merge, say, serve_http, vouched};

/// A gateway in front of a server over HTTP that says this at first.
async fn before(said: &Value) -> (Stage, HttpFixture) {
    let home: Home = home();
    say(home.path(), "up", said);
    let server = serve_http(home.path(), "up", "127.0.0.1:0").await;
    let mut up = json!({ "url": server.url(), "refresh": "1h", "quarantine": false });
    merge(&mut up, &vouched());
    let stage = Stage::at(home, json!({ "up": up }), json!({})).await;
    (stage, server)
}

/// The server has another tool from now on.
fn has_more(stage: &Stage, said: &Value) {
    let mut more = said.clone();
    let wipe = json!({ "name": "wipe", "description": "Wipes.", "inputSchema": { "type": "object" } });
    more["tools"].as_array_mut().unwrap().push(wipe);
    say(stage.folder(), "up", &more);
}

async fn lists_it(client: &Client) -> Option<()> {
    client.request("tools/list", json!({})).await.unwrap().raw().contains("up__wipe").then_some(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_not_known_is_looked_for() {
    let (stage, _server) = before(&definitions()).await;
    let client = stage.client().await;
    client.call("up__read_note", json!({})).await.unwrap().ok().unwrap();
    has_more(&stage, &definitions());
    let runs = async || {
        let answer = client.call("up__wipe", json!({})).await.unwrap();
        (answer.at("/result/content/0/text") == "done").then_some(())
    };
    until("the tool is called", runs).await.unwrap();
    lists_it(&client).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn for_a_client_that_is_new_servers_are_looked_at() {
    let (stage, _server) = before(&definitions()).await;
    for era in [Era::Legacy, Era::Modern] {
        stage.setup(era).without_stream().connect().await.unwrap();
    }
    has_more(&stage, &definitions());
    let new = async || {
        let client = stage.client().await;
        let found = lists_it(&client).await;
        client.close().await.unwrap();
        found
    };
    until("a new client is shown the tool", new).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_holds_no_longer_by_its_servers_word_is_read_again() {
    let mut said = definitions();
    said["modern"] = json!(true);
    said["beside"] = json!({ "ttlMs": 2_500 });
    let (stage, _server) = before(&said).await;
    let client = stage.client().await;
    client.request("tools/list", json!({})).await.unwrap().ok().unwrap();
    has_more(&stage, &said);
    let again = async || lists_it(&client).await;
    until("the same client is shown the tool", again).await.unwrap();
}
