//! What clients have over HTTP alone: sessions, a standing stream, streams that are taken up again after they broke, and
//! signs of life while a call takes long.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::fixture_program;
use highwater_testkit::client::{Client, Era, MODERN, Message};
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

/// The same call of a modern client, with the headers that repeat it.
fn modern_call(tool: &str, arguments: &Value) -> (String, [(&'static str, String); 3]) {
    let said = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": said });
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string();
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", tool)];
    (body, headers.map(|(name, value)| (name, value.to_owned())))
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
    // Seen by another client: who has been shown the list already is not told of it.
    let other = self::client(&gateway).await;
    let listed = |name: &'static str| {
        let client = &other;
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

/// Whoever waits for the head of an answer (`fetch`, a proxy) gives a silent call up after some minutes.
#[tokio::test]
async fn the_head_of_an_answer_comes_long_before_the_end_of_a_long_call() {
    let gateway = gateway().await;
    let done = gateway.home().path().join("done");
    for era in [Era::Legacy, Era::Modern] {
        let client = gateway.http(era).without_stream().connect().await.unwrap();
        let arguments = json!({ "until": done });
        let (body, headers) = match era {
            Era::Legacy => (call(7, "fx__sleep", &arguments), Vec::new()),
            Era::Modern => {
                let (body, headers) = modern_call("fx__sleep", &arguments);
                (body, headers.to_vec())
            }
        };
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut events = client.open(Method::POST, body, &headers).await.unwrap();
        assert_eq!(events.status, 200, "{era:?}");
        // Only now may the call end.
        std::fs::write(&done, "").unwrap();
        let (_, answer) = events.next_message().await.unwrap();
        assert_eq!(answer.at("/result/content/0/text"), "waited", "{era:?}: {}", answer.raw());
        std::fs::remove_file(&done).unwrap();
    }
}

#[tokio::test]
async fn a_client_that_takes_no_events_is_told_so_at_once() {
    let gateway = gateway().await;
    let client = gateway.http(Era::Modern).without_stream().connect().await.unwrap();
    let (body, headers) = modern_call("fx__echo", &json!({ "a": 1 }));
    for accept in ["application/json", "application/json, text/event-stream;q=0"] {
        let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        headers.push(("accept", accept));
        let refused = client.exchange(Method::POST, body.clone(), &headers).await.unwrap();
        assert_eq!(refused.status, 406, "{accept}: {}", refused.body);
        assert!(refused.body.contains("text/event-stream"), "{accept}: {}", refused.body);
    }
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answered = client.exchange(Method::POST, body, &headers).await.unwrap();
    assert_eq!(answered.status, 200, "{}", answered.body);
}
