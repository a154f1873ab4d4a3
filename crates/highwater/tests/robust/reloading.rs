//! A configuration that changes while calls are in flight: they finish where they began.

use highwater_testkit::client::{Client, Era, Pending};
use highwater_testkit::wait;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::audit::settled;
use crate::processes::naming;
use crate::stage::{Ground, Stage, assert_echo};

#[tokio::test]
async fn calls_in_flight_finish_at_servers_that_stay_change_or_go() {
    let ground = Ground::new();
    let before = json!({ "stays": ground.one_stdio("stays"), "changes": ground.one_stdio("changes"), "goes": ground.one_stdio("goes") });
    let mut changed = ground.one_stdio("changes");
    changed["env"]["ANOTHER"] = json!("value");
    let after =
        json!({ "stays": ground.one_stdio("stays"), "changes": changed, "comes": ground.one_stdio("comes") });
    let stage = ground.serve(&json!({ "flow": "observe", "servers": before })).await;
    let clients = [
        stage.gateway.http(Era::Legacy).connect().await.unwrap(),
        stage.client(Era::Modern).await,
        stage.gateway.stdio(Era::Legacy).connect().await.unwrap(),
    ];
    let gate = stage.gate();
    let mut in_flight = Vec::new();
    for client in &clients {
        for server in ["stays", "changes", "goes"] {
            let mark = format!("{server}-{}.", in_flight.len());
            in_flight.push(client.begin(gate.call(server, &mark)).await.unwrap());
            stage.journal(server).wait("tools/call", &mark).await.unwrap();
        }
    }
    let mut old = Vec::new();
    for server in ["stays", "changes", "goes"] {
        old.push(stage.processes(server).await);
    }
    stage.gateway.home().configure(&json!({ "flow": "observe", "servers": after }).to_string()).unwrap();
    stage.gateway.signal(Signal::HUP).unwrap();
    clients[0].next_notification("notifications/tools/list_changed").await.unwrap();
    assert_eq!(names(&stage).await, ["changes", "comes", "stays"]);
    assert!(in_flight.len() == 9 && in_flight.iter().all(Pending::is_unanswered));
    gate.open();
    for pending in in_flight {
        assert_eq!(pending.answer().await.unwrap().text().unwrap(), "waited");
    }
    for client in &clients {
        for server in ["stays", "changes", "comes"] {
            assert_echo(client, server, "after").await;
        }
        assert!(listed(client).await.iter().all(|tool| !tool.starts_with("goes__")));
        let gone = client.call("goes__echo", json!({})).await.unwrap();
        assert_eq!(gone.error_code(), Some(-32602), "{}", gone.raw());
    }
    // The one that stays is the one it was; the others made room.
    let (_, stays) = stage.processes("stays").await;
    assert_eq!(stays.pid, old[0].1.pid);
    for (guard, server) in &old[1..] {
        server.gone().await;
        guard.gone().await;
    }
    let audit = settled(&stage.gateway.home().data_dir()).await;
    for server in ["stays", "changes", "goes"] {
        assert_eq!(audit.outcomes_of(server, "sleep"), vec!["delivered"; 3], "{server}");
    }
}

#[tokio::test]
async fn a_storm_of_reloads_costs_no_reply() {
    let ground = Ground::new();
    let config = |round: usize| {
        let mut restless = ground.stdio("b");
        restless["env"]["ROUND"] = json!(round.to_string());
        json!({ "flow": "observe", "servers": { "a": ground.stdio("a"), "b": restless } })
    };
    let configs: Vec<Value> = (0..10).map(config).collect();
    let stage = ground.serve(&configs[0]).await;
    let client = stage.client(Era::Modern).await;
    let mut calls = 0;
    for round in &configs {
        stage.gateway.home().configure(&round.to_string()).unwrap();
        stage.gateway.signal(Signal::HUP).unwrap();
        for _ in 0..10 {
            assert_echo(&client, "a", &format!("steady-{calls}")).await;
            assert_echo(&client, "b", &format!("restless-{calls}")).await;
            calls += 1;
        }
    }
    // The last configuration comes into use, and it takes a call to start what is in it.
    let used = wait::until("the last configuration is in use", async || {
        assert_echo(&client, "b", "last").await;
        assert_echo(&client, "a", "last").await;
        calls += 1;
        runs_with(&stage, "ROUND=9").then_some(())
    });
    used.await.unwrap();
    let audit = settled(&stage.gateway.home().data_dir()).await;
    assert_eq!(audit.outcomes_of("a", "echo"), vec!["delivered"; calls]);
    assert_eq!(audit.outcomes_of("b", "echo"), vec!["delivered"; calls]);
    assert_eq!(stage.status("a").await["starts"], 1);
}

/// Whether a process of `b` has this in its environment.
fn runs_with(stage: &Stage, variable: &str) -> bool {
    let processes = naming(&stage.gateway.home().path().join("b.jsonl"));
    let environment = |pid: i32| std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let has =
        |pid: i32| String::from_utf8_lossy(&environment(pid)).split('\0').any(|entry| entry == variable);
    processes.iter().any(|process| has(process.pid))
}

/// The names of the servers there are.
async fn names(stage: &Stage) -> Vec<String> {
    let output = stage.gateway.home().command("servers").arg("--json").output().await.unwrap();
    let servers: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    servers.iter().map(|server| server["name"].as_str().unwrap().to_owned()).collect()
}

async fn listed(client: &Client) -> Vec<String> {
    let tools = client.request("tools/list", json!({})).await.unwrap().at("/result/tools");
    tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}
