//! Clients that leave in the middle of a call. What happens to the call depends on how they said goodbye; that its end
//! is on record does not.

use std::process::Stdio;

use highwater_testkit::client::{Era, Request};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::audit::settled;
use crate::shared_children::kill;
use crate::stage::{Ground, Stage, assert_echo};

#[tokio::test]
async fn a_legacy_client_that_is_cut_off_does_not_end_its_call() {
    let stage = Stage::of(&["a"]).await;
    let client = stage.client(Era::Legacy).await;
    let gate = stage.gate();
    client.begin(gate.call("a", "left")).await.unwrap();
    stage.journal("a").wait("tools/call", "left").await.unwrap();
    drop(client);
    stage.gateway.abandoned().await.unwrap();
    gate.open();
    let audit = settled(&stage.gateway.home().data_dir()).await;
    assert_eq!(audit.outcomes_of("a", "sleep"), ["delivered"]);
    assert!(stage.journal("a").of("cancelled").is_empty());
}

#[tokio::test]
async fn a_modern_client_that_hangs_up_cancels_its_call() {
    let stage = Stage::of(&["a"]).await;
    let client = stage.client(Era::Modern).await;
    client.begin(Request::call("a__hang", &json!({ "mark": "left" }))).await.unwrap();
    stage.journal("a").wait("tools/call", "left").await.unwrap();
    drop(client);
    stage.journal("a").wait("cancelled", "left").await.unwrap();
    let audit = settled(&stage.gateway.home().data_dir()).await;
    assert_eq!(audit.outcomes_of("a", "hang"), ["cancelled"]);
    assert_echo(&stage.client(Era::Modern).await, "a", "after").await;
    assert_eq!(stage.status("a").await["in_flight"], 0);
    assert_eq!(stage.status("a").await["starts"], 1);
}

#[tokio::test]
async fn a_call_that_is_cancelled_is_cancelled_at_the_server_over_every_front() {
    let stage = Stage::of(&["a"]).await;
    let clients = [
        stage.client(Era::Legacy).await,
        stage.client(Era::Modern).await,
        stage.gateway.stdio(Era::Legacy).connect().await.unwrap(),
        stage.gateway.stdio(Era::Modern).connect().await.unwrap(),
    ];
    for (number, client) in clients.iter().enumerate() {
        let mark = format!("unwanted-{number}.");
        let pending = client.begin(Request::call("a__hang", &json!({ "mark": mark }))).await.unwrap();
        stage.journal("a").wait("tools/call", &mark).await.unwrap();
        pending.cancel().await.unwrap();
        stage.journal("a").wait("cancelled", &mark).await.unwrap();
        assert_echo(client, "a", "after").await;
    }
    let audit = settled(&stage.gateway.home().data_dir()).await;
    assert_eq!(audit.outcomes_of("a", "hang"), vec!["cancelled"; clients.len()]);
}

#[tokio::test]
async fn a_session_that_is_ended_takes_its_calls_along() {
    let stage = Stage::of(&["a"]).await;
    let client = stage.client(Era::Legacy).await;
    let pending = client.begin(Request::call("a__hang", &json!({ "mark": "ended" }))).await.unwrap();
    stage.journal("a").wait("tools/call", "ended").await.unwrap();
    let reply = client.exchange(http::Method::DELETE, "", &[]).await.unwrap();
    assert_eq!(reply.status, 200);
    stage.journal("a").wait("cancelled", "ended").await.unwrap();
    // The caller's stream ends; it is not left open for ever.
    assert!(pending.answer().await.is_err());
    let audit = settled(&stage.gateway.home().data_dir()).await;
    assert_eq!(audit.outcomes_of("a", "hang"), ["cancelled"]);
}

#[tokio::test]
async fn a_stdio_client_that_closes_its_input_still_gets_its_answers() {
    let stage = Stage::of(&["a"]).await;
    for era in [Era::Legacy, Era::Modern] {
        let client = stage.gateway.stdio(era).connect().await.unwrap();
        let mark = format!("left-{era:?}");
        let gate = stage.gate();
        client.begin(gate.call("a", &mark).id(r#""last""#)).await.unwrap();
        stage.journal("a").wait("tools/call", &mark).await.unwrap();
        // In this order: the answer comes after the input was closed.
        let (closed, ()) = tokio::join!(client.close(), async { gate.open() });
        assert!(closed.unwrap().unwrap().success());
    }
    let audit = settled(&stage.gateway.home().data_dir()).await;
    assert_eq!(audit.outcomes_of("a", "sleep"), ["delivered", "delivered"]);
}

#[tokio::test]
async fn a_stdio_client_that_is_killed_leaves_no_call_behind() {
    let ground = Ground::new();
    let config =
        json!({ "flow": "observe", "servers": { "a": ground.stdio("a") }, "limits": { "drain": "300ms" } });
    let stage = ground.serve(&config).await;
    for era in [Era::Legacy, Era::Modern] {
        let client = stage.gateway.stdio(era).connect().await.unwrap();
        let mark = format!("left-{era:?}");
        client.begin(Request::call("a__hang", &json!({ "mark": mark }))).await.unwrap();
        stage.journal("a").wait("tools/call", &mark).await.unwrap();
        kill(&client).await;
        stage.journal("a").wait("cancelled", &mark).await.unwrap();
    }
    let audit = settled(&stage.gateway.home().data_dir()).await;
    assert_eq!(audit.outcomes_of("a", "hang"), ["cancelled", "cancelled"]);
    assert_eq!(stage.status("a").await["in_flight"], 0);
}

#[tokio::test]
async fn a_client_that_reads_nothing_stops_nobody_else() {
    let stage = Stage::of(&["a"]).await;
    // It asks for far more than fits into any buffer between, and never takes it.
    let mut command = stage.gateway.home().command("stdio");
    let mut deaf = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut input = deaf.stdin.take().unwrap();
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "deaf", "version": "1" } } });
    let mut lines = format!("{hello}\n");
    for id in 1..=50 {
        let params = json!({ "name": "a__big", "arguments": { "bytes": 200_000, "mark": "deaf" } });
        lines.push_str(&format!(
            "{}\n",
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
        ));
    }
    input.write_all(lines.as_bytes()).await.unwrap();
    stage.journal("a").wait("tools/call", "deaf").await.unwrap();
    let client = stage.client(Era::Legacy).await;
    for number in 0..20 {
        assert_echo(&client, "a", &format!("beside-{number}")).await;
    }
    deaf.kill().await.unwrap();
    drop(input);
    settled(&stage.gateway.home().data_dir()).await;
}

#[tokio::test]
async fn connections_that_say_nothing_or_half_of_it_stop_nobody_else() {
    let stage = Stage::of(&["a"]).await;
    let address = stage.gateway.endpoint().strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let mut idle = Vec::new();
    for number in 0..300 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        match number % 3 {
            0 => {}
            1 => stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: local").await.unwrap(),
            _ => {
                let head = format!(
                    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
                     Accept: application/json, text/event-stream\r\nContent-Length: 1000\r\n\r\n{{",
                    stage.gateway.agent_token()
                );
                stream.write_all(head.as_bytes()).await.unwrap();
            }
        }
        idle.push(stream);
    }
    for era in [Era::Legacy, Era::Modern] {
        assert_echo(&stage.client(era).await, "a", "beside").await;
    }
    // They are still there: nobody was served by being thrown out for it.
    let mut byte = [0];
    let quiet = idle.iter_mut().filter(|stream| matches!(stream.try_read(&mut byte), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock));
    assert_eq!(quiet.count(), 300);
}

#[tokio::test]
async fn one_session_too_many_takes_the_place_of_a_silent_one_and_is_refused_where_all_are_in_use() {
    let ground = Ground::new();
    let config = json!({ "flow": "observe", "servers": { "a": ground.stdio("a") }, "limits": { "sessions": 2, "sessions_per_token": 2 } });
    let stage = ground.serve(&config).await;
    let first = stage.client(Era::Legacy).await;
    let gone = stage.client(Era::Legacy).await;
    assert_echo(&first, "a", "first").await;
    // The second is silent for longer. It is taken up again when its client comes back.
    drop(stage.client(Era::Legacy).await);
    assert_echo(&gone, "a", "back").await;
    drop((first, gone));
    // Whoever listens is in use.
    let listening = || stage.gateway.http(Era::Legacy).connect();
    let (first, second) = (listening().await.unwrap(), listening().await.unwrap());
    let refused = stage.gateway.http(Era::Legacy).without_stream().connect().await;
    let why = format!("{:#}", refused.err().expect("a third session"));
    assert!(why.contains("limits.sessions"), "{why}");
    assert_echo(&first, "a", "first").await;
    second.close().await.unwrap();
    let third = stage.client(Era::Legacy).await;
    assert_echo(&third, "a", "third").await;
    assert_echo(&first, "a", "first").await;
}
