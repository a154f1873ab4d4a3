//! Several `highwater stdio` clients on one data directory: one gateway, one set of children, and nobody depends on
//! whoever came first.

use highwater_testkit::client::{Client, Era};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::task::JoinSet;

use crate::audit::settled;
use crate::processes::{naming, none_naming, of_server};
use crate::stage::{Gate, Ground, Stage, assert_echo, journal, status};

#[tokio::test]
async fn clients_that_come_at_once_find_one_gateway_and_share_its_servers() {
    let ground = Ground::new();
    ground.configure(
        &json!({ "flow": "observe", "servers": { "a": ground.one_stdio("a"), "b": ground.one_stdio("b") } }),
    );
    let connect = |era| ground.home.stdio(era).connect();
    let (first, second, third, fourth) =
        tokio::join!(connect(Era::Legacy), connect(Era::Modern), connect(Era::Legacy), connect(Era::Modern));
    let clients = [first.unwrap(), second.unwrap(), third.unwrap(), fourth.unwrap()];
    for (number, client) in clients.iter().enumerate() {
        assert_echo(client, "a", &format!("from-{number}")).await;
        assert_echo(client, "b", &format!("from-{number}")).await;
    }
    for name in ["a", "b"] {
        assert_eq!(status(&ground.home, name).await["starts"], 1);
        of_server(&ground.home.path().join(format!("{name}.jsonl"))).await;
    }
    let gateways = naming(&ground.home.data_dir());
    let gateways = gateways.iter().filter(|process| process.command.contains("stdio-gateway"));
    assert_eq!(gateways.count(), 1);
    for client in clients {
        assert!(client.close().await.unwrap().unwrap().success());
    }
    // The last to leave turns off the light.
    none_naming(ground.home.path()).await;
    settled(&ground.home.data_dir()).await;
}

#[tokio::test]
async fn whoever_came_first_can_be_killed_without_hurting_the_others() {
    let ground = Ground::new();
    ground.configure(&json!({ "flow": "observe", "servers": { "a": ground.one_stdio("a") } }));
    let first = ground.home.stdio(Era::Legacy).connect().await.unwrap();
    assert_echo(&first, "a", "first").await;
    let (_, server) = of_server(&ground.home.path().join("a.jsonl")).await;
    let second = ground.home.stdio(Era::Legacy).connect().await.unwrap();
    let gate = Gate::in_folder(ground.home.path());
    let sleeping = second.begin(gate.call("a", "second")).await.unwrap();
    let seen = journal(ground.home.path(), "a");
    seen.wait("tools/call", "second").await.unwrap();
    kill(&first).await;
    assert!(!first.close().await.unwrap().unwrap().success());
    gate.open();
    assert_eq!(sleeping.answer().await.unwrap().text().unwrap(), "waited");
    assert_echo(&second, "a", "second").await;
    let (_, same) = of_server(&ground.home.path().join("a.jsonl")).await;
    assert_eq!(server.pid, same.pid);
    assert!(second.close().await.unwrap().unwrap().success());
    none_naming(ground.home.path()).await;
    settled(&ground.home.data_dir()).await;
}

#[tokio::test]
async fn stdio_clients_and_http_clients_share_the_servers_of_one_gateway() {
    let ground = Ground::new();
    let servers = json!({ "a": ground.stdio("a") });
    let stage = ground.serve(&json!({ "flow": "observe", "servers": servers })).await;
    let over_http = stage.client(Era::Modern).await;
    let joined = stage.gateway.stdio(Era::Legacy).connect().await.unwrap();
    assert_echo(&over_http, "a", "http").await;
    assert_echo(&joined, "a", "stdio").await;
    assert_eq!(stage.status("a").await["starts"], 1);
    assert!(joined.close().await.unwrap().unwrap().success());
    // `serve` does not end with its last client.
    assert_echo(&over_http, "a", "still").await;
}

#[tokio::test]
async fn a_crowd_that_comes_at_once_starts_each_server_once() {
    let stage = Stage::of(&["a", "b"]).await;
    let setup = |number: usize| {
        let era = if number.is_multiple_of(2) { Era::Legacy } else { Era::Modern };
        stage.gateway.http(era).without_stream()
    };
    let mut crowd = JoinSet::new();
    for number in 0..60 {
        let setup = setup(number);
        crowd.spawn(async move {
            let client = setup.connect().await.unwrap();
            for server in ["a", "b"] {
                assert_echo(&client, server, &format!("from-{number}")).await;
            }
        });
    }
    while let Some(done) = crowd.join_next().await {
        done.unwrap();
    }
    for name in ["a", "b"] {
        assert_eq!(stage.status(name).await["starts"], 1);
        assert_eq!(stage.journal(name).of("server/discover").len(), 1);
    }
}

/// Kills the process of a stdio client.
pub(crate) async fn kill(client: &Client) {
    let pid = i32::try_from(client.pid().await.unwrap()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}
