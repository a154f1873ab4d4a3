//! Servers that speak both eras, and sessions of clients of their own.

use std::sync::Arc;

use highwater_upstream::{CallClient, ClientSession, Party, Reply};
use serde_json::{Value, json};
use tokio::sync::mpsc::channel;
use tokio::time::timeout;

use crate::support::{CLIENT, LONG, Speaks, Stage, call};

async fn echo(stage: &Stage, party: Party<'_>) -> Reply {
    let (sink, _events) = channel(16);
    let client = CallClient { party, ..CLIENT };
    let reply = timeout(LONG, stage.upstream.perform(call("echo", "{}"), client, &sink));
    reply.await.expect("an answer").unwrap()
}

/// What each `initialize` said that clients can do.
fn greetings(stage: &Stage) -> Vec<Value> {
    let saw = stage.saw();
    let greetings = saw.iter().filter(|line| line["method"] == "initialize");
    let said =
        greetings.map(|line| -> Value { serde_json::from_str(line["raw"].as_str().unwrap()).unwrap() });
    said.map(|message| message["params"]["capabilities"].clone()).collect()
}

fn session(capabilities: &Value) -> Arc<ClientSession> {
    ClientSession::new(&capabilities.to_string())
}

#[tokio::test]
async fn the_era_of_a_call_is_its_client_s_where_the_server_speaks_both() {
    use highwater_mcp::era::Era;

    let stage = Speaks::Both.set().await;
    let (one, other) = (json!({"roots": {"listChanged": true}}), json!({"sampling": {"tools": {}}}));
    let (first, second) = (session(&one), session(&other));
    assert_eq!(echo(&stage, Party::Modern).await.era, Era::Modern);
    for party in [Party::Legacy(&first), Party::Legacy(&second), Party::Legacy(&first)] {
        assert_eq!(echo(&stage, party).await.era, Era::Legacy);
    }
    assert_eq!(echo(&stage, Party::Modern).await.era, Era::Modern);
    assert_eq!(greetings(&stage), [one, other], "each client has one session, which says what it can do");
    stage.upstream.leave(&first);
    stage.saw_at_last(|line| line["method"] == "HTTP DELETE").await;
    assert_eq!(echo(&stage, Party::Legacy(&second)).await.era, Era::Legacy);
    assert_eq!(greetings(&stage).len(), 2);
}

#[tokio::test]
async fn a_server_of_one_era_is_spoken_to_in_that_one() {
    for (speaks, era, greeted) in [(Speaks::Modern, "Modern", 1), (Speaks::Legacy, "Legacy", 3)] {
        let stage = speaks.set().await;
        let (first, second) = (session(&json!({})), session(&json!({})));
        for party in [Party::Modern, Party::Legacy(&first), Party::Legacy(&second), Party::Legacy(&first)] {
            assert_eq!(format!("{:?}", echo(&stage, party).await.era), era);
        }
        // A modern server refuses once; a legacy one has a session for all modern clients, and one for each other.
        assert_eq!(greetings(&stage).len(), greeted, "{era}");
    }
}

#[tokio::test]
async fn a_session_that_the_server_lost_is_opened_anew() {
    let mut stage = Speaks::Both.set().await;
    let capabilities = json!({"roots": {}});
    let client = session(&capabilities);
    echo(&stage, Party::Legacy(&client)).await;
    stage.restart().await;
    echo(&stage, Party::Legacy(&client)).await;
    assert_eq!(greetings(&stage), [capabilities.clone(), capabilities]);
}

#[tokio::test]
async fn the_sessions_of_all_clients_end_with_the_server() {
    let stage = Speaks::Both.set().await;
    let clients = [session(&json!({})), session(&json!({}))];
    for client in &clients {
        echo(&stage, Party::Legacy(client)).await;
    }
    stage.upstream.shutdown(LONG).await;
    assert_eq!(stage.count("HTTP DELETE"), 2);
}
