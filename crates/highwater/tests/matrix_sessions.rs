//! What only legacy clients over HTTP have: sessions, a standing stream, and streams that are taken up again after they
//! broke.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::fixture_program;
use highwater_testkit::client::{Client, Era, Message};
use http::Method;
use serde_json::{Value, json};

const CHANGED: &str = "notifications/tools/list_changed";

async fn gateway() -> Gateway {
    let program = Path::new(env!("CARGO_BIN_EXE_highwater"));
    let fixture = fixture_program(program).unwrap();
    let entry = json!({ "command": fixture, "args": ["--stdio", "--extras"] });
    let home =
        Home::new(program, &json!({ "flow": "observe", "servers": { "fx": entry } }).to_string()).unwrap();
    home.serve().await.unwrap()
}

async fn client(gateway: &Gateway) -> Client {
    gateway.http(Era::Legacy).without_stream().connect().await.unwrap()
}

fn call(id: u64, tool: &str, arguments: &Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": "t" } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

fn step(message: &Message) -> Value {
    message.at("/params/progress")
}

#[tokio::test]
async fn a_call_whose_stream_broke_goes_on_and_nothing_of_it_is_lost() {
    let gateway = gateway().await;
    let client = client(&gateway).await;
    let body = call(100, "fx__progress", &json!({ "steps": 6, "ms": 60 }));
    let mut events = client.open(Method::POST, body, &[]).await.unwrap();
    assert_eq!(events.status, 200);
    let (_, first) = events.next_message().await.unwrap();
    let (id, second) = events.next_message().await.unwrap();
    assert_eq!([step(&first), step(&second)], [1, 2]);
    drop(events);

    // Taken up again twice: events that were read already do not come again, whatever happened in between.
    let mut id = id.unwrap();
    let mut steps = vec![];
    for _ in 0..2 {
        let mut events = client.open(Method::GET, "", &[("last-event-id", &id)]).await.unwrap();
        assert_eq!(events.status, 200);
        let (next, message) = events.next_message().await.unwrap();
        steps.push(step(&message));
        id = next.unwrap();
    }
    assert_eq!(steps, [3, 4]);
    let mut events = client.open(Method::GET, "", &[("last-event-id", &id)]).await.unwrap();
    for expected in [5, 6] {
        assert_eq!(step(&events.next_message().await.unwrap().1), expected);
    }
    let (_, answer) = events.next_message().await.unwrap();
    assert_eq!((answer.id(), answer.at("/result/content/0/text")), (Some("100"), json!("6 steps")));
    assert!(events.next().await.unwrap().is_none(), "a stream ends with its answer");
}

#[tokio::test]
async fn a_finished_call_can_still_be_read_by_whoever_missed_its_end() {
    let gateway = gateway().await;
    let client = client(&gateway).await;
    let body = call(100, "fx__progress", &json!({ "steps": 2, "ms": 20 }));
    let mut events = client.open(Method::POST, body, &[]).await.unwrap();
    let (id, _) = events.next_message().await.unwrap();
    drop(events);
    // Another call, started later and longer, so that the first has ended for sure.
    client.call("fx__progress", json!({ "steps": 2, "ms": 100 })).await.unwrap();
    let mut events = client.open(Method::GET, "", &[("last-event-id", &id.unwrap())]).await.unwrap();
    assert_eq!(step(&events.next_message().await.unwrap().1), 2);
    assert_eq!(events.next_message().await.unwrap().1.id(), Some("100"));
}

#[tokio::test]
async fn what_belongs_to_no_call_waits_for_the_standing_stream() {
    let gateway = gateway().await;
    let client = client(&gateway).await;
    let mut events = client.open(Method::GET, "", &[]).await.unwrap();
    client.call("fx__add_tool", json!({ "name": "one" })).await.unwrap().ok().unwrap();
    let (id, changed) = events.next_message().await.unwrap();
    assert_eq!(changed.method(), Some(CHANGED));
    drop(events);

    // Said while nobody listened.
    client.call("fx__add_tool", json!({ "name": "two" })).await.unwrap().ok().unwrap();
    let listed = |name: &'static str| {
        let client = &client;
        async move { client.request("tools/list", json!({})).await.unwrap().raw().contains(name) }
    };
    while !listed("fx__two").await {}
    let mut events = client.open(Method::GET, "", &[("last-event-id", &id.unwrap())]).await.unwrap();
    assert_eq!(events.next_message().await.unwrap().1.method(), Some(CHANGED));
}

#[tokio::test]
async fn the_events_of_one_session_are_no_business_of_another() {
    let gateway = gateway().await;
    let (one, other) = (client(&gateway).await, client(&gateway).await);
    let body = call(100, "fx__progress", &json!({ "steps": 3, "ms": 50 }));
    let mut events = one.open(Method::POST, body, &[]).await.unwrap();
    let (id, _) = events.next_message().await.unwrap();
    let id = id.unwrap();
    let stolen = other.exchange(Method::GET, "", &[("last-event-id", &id)]).await.unwrap();
    assert_eq!(stolen.status, 404, "{}", stolen.body);
    let made_up = one.exchange(Method::GET, "", &[("last-event-id", "made-up")]).await.unwrap();
    assert_eq!(made_up.status, 404, "{}", made_up.body);
}

#[tokio::test]
async fn a_session_ends_when_its_client_says_so() {
    let gateway = gateway().await;
    let (one, other) = (client(&gateway).await, client(&gateway).await);
    let mut events = one.open(Method::GET, "", &[]).await.unwrap();
    let ended = one.exchange(Method::DELETE, "", &[]).await.unwrap();
    assert!((200..300).contains(&ended.status), "{ended:?}");
    while events.next().await.unwrap().is_some() {}
    // 404 makes a client begin again; the others go on.
    let ping = json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" }).to_string();
    let gone = one.exchange(Method::POST, ping.clone(), &[]).await.unwrap();
    assert_eq!(gone.status, 404, "{}", gone.body);
    assert_eq!(one.exchange(Method::GET, "", &[]).await.unwrap().status, 404);
    assert_eq!(one.exchange(Method::DELETE, "", &[]).await.unwrap().status, 404);
    assert_eq!(other.exchange(Method::POST, ping, &[]).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_session_that_ends_takes_its_calls_with_it() {
    let gateway = gateway().await;
    let client = client(&gateway).await;
    let body = call(100, "fx__progress", &json!({ "steps": 1000, "ms": 20 }));
    let mut events = client.open(Method::POST, body, &[]).await.unwrap();
    events.next_message().await.unwrap();
    client.exchange(Method::DELETE, "", &[]).await.unwrap();
    // The stream ends long before the call would have.
    let mut count = 0;
    while events.next().await.unwrap().is_some() {
        count += 1;
    }
    assert!(count < 900, "{count} events came after the end");
}
