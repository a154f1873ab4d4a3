//! Servers that do not start, each in its own way: the others are listed and work, and people are told what is wrong.

use std::net::TcpListener;
use std::time::Duration;

use highwater_testkit::client::{Client, Era};
use highwater_testkit::wait;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::audit::settled;
use crate::stage::{Ground, assert_echo, failure};

/// What a list waits for servers that are still starting; a call of another server waits for none of them.
const LIST_PATIENCE: Duration = Duration::from_secs(10);
/// How often that is tried: a busy machine may take as long for another reason, but not every time.
const TRIES: usize = 3;

/// The names of the tools a client is shown.
async fn listed(client: &Client) -> Vec<String> {
    let answer = client.request("tools/list", json!({})).await.unwrap();
    let tools = answer.at("/result/tools");
    tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// One bad server beside a good one: what people are told of the bad one must hold all of `words`.
async fn beside(bad: impl FnOnce(&Ground) -> Value, words: &[&str]) {
    let ground = Ground::new();
    let servers = json!({ "bad": bad(&ground), "good": ground.stdio("good") });
    let stage = ground.serve(&json!({ "flow": "observe", "servers": servers })).await;
    for era in [Era::Legacy, Era::Modern] {
        let client = stage.client(era).await;
        let tools = listed(&client).await;
        assert!(tools.contains(&"good__echo".to_owned()), "{tools:?}");
        assert!(tools.iter().all(|tool| tool.starts_with("good__")), "{tools:?}");
        assert_echo(&client, "good", "beside").await;
        // Nobody knows what the bad one would have had; that it is missing is said.
        let answer = client.call("bad__echo", json!({})).await.unwrap();
        assert_eq!(answer.error_code(), Some(-32602), "{}", answer.raw());
        assert!(answer.at("/error/message").as_str().unwrap().contains("`bad`"), "{}", answer.raw());
    }
    let status = stage.status_where("bad", |status| status["error"].is_string()).await;
    assert_eq!(status["state"], "failed", "{status:#}");
    assert_eq!(status["tools"], 0, "{status:#}");
    let error = status["error"].as_str().unwrap();
    assert!(words.iter().all(|word| error.contains(word)), "{words:?} are not all in: {error}");
    assert_eq!(stage.status("good").await["state"], "up");
    settled(&stage.gateway.home().data_dir()).await;
}

#[tokio::test]
async fn a_server_that_exits_at_start() {
    beside(|ground| ground.script("bad", "echo no database >&2; exit 7"), &["exit code 7"]).await;
}

#[tokio::test]
async fn a_server_that_says_why_it_exits() {
    let ground = Ground::new();
    let servers = json!({ "bad": ground.script("bad", "echo the database is not there >&2; exit 7") });
    let stage = ground.serve(&json!({ "flow": "observe", "servers": servers })).await;
    let client = stage.client(Era::Legacy).await;
    assert!(listed(&client).await.is_empty());
    let said = |status: &Value| status["stderr"].to_string().contains("the database is not there");
    stage.status_where("bad", said).await;
}

#[tokio::test]
async fn a_command_that_does_not_exist() {
    beside(
        |_| json!({ "command": "no-such-program-anywhere" }),
        &["could not be started", "`no-such-program-anywhere` was not found", "PATH"],
    )
    .await;
}

#[tokio::test]
async fn a_command_that_is_no_program() {
    let no_program = |ground: &Ground| {
        let file = ground.home.path().join("notes.txt");
        std::fs::write(&file, "not a program\n").unwrap();
        json!({ "command": file })
    };
    beside(no_program, &["could not be started", "is not executable"]).await;
}

#[tokio::test]
async fn a_working_directory_that_does_not_exist() {
    let lost = |ground: &Ground| {
        let mut entry = ground.stdio("bad");
        entry["cwd"] = json!(ground.home.path().join("nowhere"));
        entry
    };
    beside(lost, &["could not be started", "nowhere", "does not exist"]).await;
}

#[tokio::test]
async fn a_server_that_hangs_at_start() {
    let hangs = |ground: &Ground| {
        let mut entry = ground.script("bad", "exec sleep 3600");
        entry["timeouts"] = json!({ "start": "700ms", "probe": "200ms" });
        entry
    };
    beside(hangs, &["did not answer its greeting within"]).await;
}

#[tokio::test]
async fn a_server_that_babbles_and_never_greets() {
    let babbles = |ground: &Ground| {
        let mut entry = ground.script("bad", "yes hello");
        entry["timeouts"] = json!({ "start": "700ms", "probe": "200ms" });
        entry
    };
    beside(babbles, &["did not answer its greeting within"]).await;
}

#[tokio::test]
async fn a_url_where_nobody_listens() {
    let nobody = |_: &Ground| {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        json!({ "url": format!("http://127.0.0.1:{port}/mcp") })
    };
    beside(nobody, &["cannot be reached"]).await;
}

#[tokio::test]
async fn a_url_where_somebody_listens_and_says_nothing() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", silent.local_addr().unwrap());
    let entry = json!({ "url": url, "timeouts": { "start": "700ms", "probe": "200ms" } });
    beside(|_| entry, &["did not answer its greeting within"]).await;
}

#[tokio::test]
async fn the_first_call_of_a_good_server_does_not_wait_for_one_that_hangs_at_start() {
    let mut took = Vec::new();
    while !took.iter().any(|(first, later)| *first < LIST_PATIENCE && *later < LIST_PATIENCE) {
        assert!(took.len() < TRIES, "the first call and the next client waited {took:?}");
        took.push(beside_one_that_hangs().await);
    }
}

/// How long the first call of a good server takes, and how long it takes until the next client has made one.
async fn beside_one_that_hangs() -> (Duration, Duration) {
    let ground = Ground::new();
    let mut hangs = ground.script("bad", "exec sleep 3600");
    hangs["timeouts"] = json!({ "start": "10m", "probe": "5m" });
    let servers = json!({ "bad": hangs, "good": ground.stdio("good") });
    let stage = ground.serve(&json!({ "flow": "observe", "servers": servers })).await;
    // A modern client can call before it has listed anything.
    let client = stage.gateway.http(Era::Modern).connect_silently().await.unwrap();
    let began = Instant::now();
    assert_echo(&client, "good", "first").await;
    let first = began.elapsed();
    for number in 0..10 {
        assert_echo(&client, "good", &format!("further-{number}")).await;
    }
    let tools = listed(&client).await;
    assert!(tools.contains(&"good__echo".to_owned()), "{tools:?}");
    // Whoever comes later does not pay again for what is known to hang.
    let began = Instant::now();
    let legacy = stage.client(Era::Legacy).await;
    listed(&legacy).await;
    assert_echo(&legacy, "good", "later").await;
    let later = began.elapsed();
    assert_eq!(stage.status("bad").await["state"], "starting");
    (first, later)
}

#[tokio::test]
async fn a_server_that_can_be_started_after_all_is_there_from_then_on() {
    let ground = Ground::new();
    let script = r#"[ -e "$FIXTURE_LOG.go" ] || exit 1; exec "$FIXTURE" --stdio --extras"#;
    let go = ground.home.path().join("late.jsonl.go");
    let servers = json!({ "late": ground.script("late", script) });
    let stage = ground.serve(&json!({ "flow": "observe", "servers": servers })).await;
    let client = stage.client(Era::Legacy).await;
    let other = stage.gateway.http(Era::Legacy).connect().await.unwrap();
    for client in [&client, &other] {
        assert!(listed(client).await.is_empty());
    }
    std::fs::write(go, "").unwrap();
    // It is tried again when somebody needs it, and whoever saw a list without it is told.
    let there = async || (!listed(&client).await.is_empty()).then_some(());
    wait::until("it is listed", there).await.unwrap();
    other.next_notification("notifications/tools/list_changed").await.unwrap();
    assert_echo(&client, "late", "here").await;
    assert_eq!(stage.status("late").await["state"], "up");
}

#[tokio::test]
async fn a_call_to_a_server_that_cannot_be_started_again_says_so() {
    let ground = Ground::new();
    let script =
        r#"if mkdir "$FIXTURE_LOG.tried" 2>/dev/null; then exec "$FIXTURE" --stdio --extras; fi; exit 9"#;
    let servers = json!({ "once": ground.script("once", script) });
    let stage = ground.serve(&json!({ "flow": "observe", "servers": servers })).await;
    let client = stage.client(Era::Modern).await;
    assert_echo(&client, "once", "before").await;
    let (_, server) = stage.processes("once").await;
    server.kill();
    stage.status_where("once", |status| status["state"] == "failed").await;
    let text = failure(&client.call("once__echo", json!({})).await.unwrap());
    assert!(text.contains("server `once`") && text.contains("exit code 9"), "{text}");
    assert!(text.contains("nothing was executed"), "{text}");
    let text = failure(&client.call("once__echo", json!({})).await.unwrap());
    assert!(text.contains("tried again in"), "{text}");
    settled(&stage.gateway.home().data_dir()).await;
}
