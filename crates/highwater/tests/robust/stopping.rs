//! The end of a gateway: told to stop it finishes what it has begun, killed it leaves nothing behind.

use highwater_testkit::client::{Era, Request};
use highwater_testkit::wait;
use rustix::process::Signal;
use serde_json::json;
use tokio::net::TcpStream;

use crate::audit::settled;
use crate::processes::{naming, none_naming};
use crate::stage::{Ground, assert_echo, failure, journal, until};

#[tokio::test]
async fn told_to_stop_it_answers_what_is_in_flight_and_leaves_no_process() {
    let ground = Ground::new();
    let servers = json!({ "a": ground.stdio("a"), "b": ground.stdio("b") });
    let config = json!({ "flow": "observe", "servers": servers, "limits": { "drain": "1h" } });
    let mut stage = ground.serve(&config).await;
    let clients = [
        stage.client(Era::Legacy).await,
        stage.client(Era::Modern).await,
        stage.gateway.stdio(Era::Legacy).connect().await.unwrap(),
        stage.gateway.stdio(Era::Modern).connect().await.unwrap(),
    ];
    assert_echo(&clients[0], "b", "before").await;
    let gate = stage.gate();
    let mut in_flight = Vec::new();
    for (number, client) in clients.iter().enumerate() {
        let mark = format!("last-{number}.");
        in_flight.push(client.begin(gate.call("a", &mark)).await.unwrap());
        stage.journal("a").wait("tools/call", &mark).await.unwrap();
    }
    stage.gateway.signal(Signal::TERM).unwrap();
    until("it is stopping", || stage.gateway.log().contains("stopping")).await;
    gate.open();
    for pending in in_flight {
        assert_eq!(pending.answer().await.unwrap().text().unwrap(), "waited");
    }
    let status = stage.gateway.ended().await.unwrap();
    assert_eq!(status.code(), Some(0), "{}", stage.gateway.log());
    none_naming(stage.gateway.home().path()).await;
    assert!(stage.gateway.home().running().is_none());
    let audit = settled(&stage.gateway.home().data_dir()).await;
    assert_eq!(audit.outcomes_of("a", "sleep"), vec!["delivered"; 4]);
}

#[tokio::test]
async fn told_to_stop_it_takes_no_new_clients() {
    let ground = Ground::new();
    let config =
        json!({ "flow": "observe", "servers": { "a": ground.stdio("a") }, "limits": { "drain": "1h" } });
    let stage = ground.serve(&config).await;
    let client = stage.client(Era::Legacy).await;
    let gate = stage.gate();
    let last = client.begin(gate.call("a", "last")).await.unwrap();
    stage.journal("a").wait("tools/call", "last").await.unwrap();
    stage.gateway.signal(Signal::TERM).unwrap();
    let address = stage.gateway.endpoint().strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let refused = async || TcpStream::connect(address).await.is_err().then_some(());
    wait::until("nobody listens", refused).await.unwrap();
    until("the socket is gone", || stage.gateway.home().running().is_none()).await;
    gate.open();
    assert_eq!(last.answer().await.unwrap().text().unwrap(), "waited");
}

#[tokio::test]
async fn a_call_that_does_not_end_delays_the_end_no_longer_than_allowed() {
    let ground = Ground::new();
    let config =
        json!({ "flow": "observe", "servers": { "a": ground.stdio("a") }, "limits": { "drain": "500ms" } });
    let mut stage = ground.serve(&config).await;
    let legacy = stage.client(Era::Legacy).await;
    let modern = stage.client(Era::Modern).await;
    let mut hanging = Vec::new();
    for (number, client) in [&legacy, &modern].into_iter().enumerate() {
        let mark = format!("endless-{number}.");
        hanging.push(client.begin(Request::call("a__hang", &json!({ "mark": mark }))).await.unwrap());
        stage.journal("a").wait("tools/call", &mark).await.unwrap();
    }
    let status = stage.gateway.stop().await.unwrap();
    assert_eq!(status.code(), Some(0), "{}", stage.gateway.log());
    for pending in hanging {
        // An answer that says why, or a connection that is closed; never silence.
        if let Ok(answer) = pending.answer().await {
            let text = failure(&answer);
            assert!(text.contains("shut down"), "{text}");
        }
    }
    none_naming(stage.gateway.home().path()).await;
    // Whatever became of the calls is on record, also of those that were cut off.
    let audit = settled(&stage.gateway.home().data_dir()).await;
    assert_eq!(audit.outcomes_of("a", "hang").len(), 2, "{audit:#?}");
}

#[tokio::test]
async fn open_streams_do_not_delay_the_end() {
    let ground = Ground::new();
    let config =
        json!({ "flow": "observe", "servers": { "a": ground.stdio("a") }, "limits": { "drain": "1h" } });
    let mut stage = ground.serve(&config).await;
    let legacy = stage.gateway.http(Era::Legacy).connect().await.unwrap();
    let modern = stage.client(Era::Modern).await;
    let joined = stage.gateway.stdio(Era::Legacy).connect().await.unwrap();
    assert_echo(&joined, "a", "before").await;
    let listening = modern.listen(json!({ "toolsListChanged": true })).await.unwrap();
    let status = stage.gateway.stop().await.unwrap();
    assert_eq!(status.code(), Some(0), "{}", stage.gateway.log());
    listening.ended().await.unwrap();
    assert!(legacy.call("a__echo", json!({})).await.is_err());
    none_naming(stage.gateway.home().path()).await;
}

#[tokio::test]
async fn a_server_that_does_not_want_to_end_is_ended() {
    let ground = Ground::new();
    let stubborn =
        ground.script("a", r#"trap "" TERM INT HUP; "$FIXTURE" --stdio --extras; while :; do sleep 1; done"#);
    let mut stage = ground.serve(&json!({ "flow": "observe", "servers": { "a": stubborn } })).await;
    let client = stage.client(Era::Legacy).await;
    assert_echo(&client, "a", "before").await;
    let status = stage.gateway.stop().await.unwrap();
    assert_eq!(status.code(), Some(0), "{}", stage.gateway.log());
    none_naming(stage.gateway.home().path()).await;
}

/// A server with a child that has left its session, and one whose parent has ended.
const WITH_FAMILY: &str = r#"
    setsid sleep 86400 </dev/null >/dev/null 2>&1 &
    (setsid sh -c 'sleep 86400 & wait' </dev/null >/dev/null 2>&1 &)
    exec "$FIXTURE" --stdio --extras"#;

/// How many processes that makes: guard, server, two that sleep, one that waits.
const FAMILY: usize = 5;

#[tokio::test]
async fn killed_it_leaves_no_process_not_even_one_with_a_session_of_its_own() {
    let ground = Ground::new();
    let servers = json!({ "a": ground.one_script("a", WITH_FAMILY), "b": ground.stdio("b") });
    let mut stage = ground.serve(&json!({ "flow": "observe", "servers": servers })).await;
    let client = stage.client(Era::Legacy).await;
    assert_echo(&client, "a", "before").await;
    assert_echo(&client, "b", "before").await;
    let family = stage.gateway.home().path().join("a.jsonl");
    until("the family is complete", || naming(&family).len() == FAMILY).await;
    let doomed = client.begin(Request::call("a__hang", &json!({ "mark": "doomed" }))).await.unwrap();
    stage.journal("a").wait("tools/call", "doomed").await.unwrap();

    stage.gateway.signal(Signal::KILL).unwrap();
    stage.gateway.ended().await.unwrap();
    none_naming(stage.gateway.home().path()).await;
    assert!(doomed.answer().await.is_err());
}

#[tokio::test]
async fn killed_behind_a_stdio_client_it_leaves_no_process_either_and_the_next_client_starts_anew() {
    let ground = Ground::new();
    ground.configure(&json!({ "flow": "observe", "servers": { "a": ground.one_script("a", WITH_FAMILY) } }));
    let first = ground.home.stdio(Era::Legacy).connect().await.unwrap();
    assert_echo(&first, "a", "before").await;
    let family = ground.home.path().join("a.jsonl");
    until("the family is complete", || naming(&family).len() == FAMILY).await;
    let gateway = naming(&ground.home.data_dir());
    let gateway = gateway.iter().find(|process| process.command.contains("stdio-gateway")).unwrap();
    gateway.kill();
    none_naming(ground.home.path()).await;
    // The client is not left waiting on a line that is dead.
    assert!(first.call("a__echo", json!({})).await.is_err());
    assert!(!first.close().await.unwrap().unwrap().success());

    let second = ground.home.stdio(Era::Modern).connect().await.unwrap();
    assert_echo(&second, "a", "anew").await;
    assert!(second.close().await.unwrap().unwrap().success());
    none_naming(ground.home.path()).await;
    assert_eq!(journal(ground.home.path(), "a").of("tools/call").len(), 2);
}

#[tokio::test]
async fn a_server_told_to_end_takes_its_whole_family_along() {
    let ground = Ground::new();
    let servers = json!({ "a": ground.one_script("a", WITH_FAMILY) });
    let mut stage = ground.serve(&json!({ "flow": "observe", "servers": servers })).await;
    let client = stage.client(Era::Legacy).await;
    assert_echo(&client, "a", "before").await;
    let family = stage.gateway.home().path().join("a.jsonl");
    until("the family is complete", || naming(&family).len() == FAMILY).await;
    // Killed between calls: those left behind by the dead server go before the next one comes.
    let old: Vec<_> = naming(&family);
    let server =
        old.iter().find(|process| process.command.contains("--extras") && !process.command.contains("guard"));
    server.unwrap().kill();
    for process in &old {
        process.gone().await;
    }
    assert_echo(&client, "a", "after").await;
    assert_eq!(stage.gateway.stop().await.unwrap().code(), Some(0));
    none_naming(stage.gateway.home().path()).await;
}
