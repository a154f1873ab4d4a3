//! The second start: what was approved is offered before any server has answered, calls wait for their server, and clients
//! hear of what differs and of nothing else.

use std::path::Path;

use highwater_testkit::client::{Client, Era, Request};
use serde_json::{Value, json};

use crate::stage::{Ground, PROGRAM, Stage, assert_echo, failure};

const SERVERS: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];
const CHANGED: &str = "notifications/tools/list_changed";

/// A fixture that starts when a file is there.
fn gated(ground: &Ground, name: &str, gate: &Path, otherwise: &str) -> Value {
    let gate = gate.display();
    let script = format!("while [ ! -e '{gate}' ]; do {otherwise}; done; exec \"$FIXTURE\" --stdio --extras");
    ground.script(name, &script)
}

async fn tools(client: &Client) -> Vec<Value> {
    let answer = client.request("tools/list", json!({})).await.unwrap();
    answer.at("/result/tools").as_array().unwrap().clone()
}

fn servers_of(tools: &[Value]) -> Vec<&str> {
    let mut servers: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str()?.split_once("__").map(|(server, _)| server))
        .collect();
    servers.dedup();
    servers.sort_unstable();
    servers.dedup();
    servers
}

/// Whether two values are one, however their numbers are spelt.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let alike =
                |(key, value): (&String, &Value)| other.get(key).is_some_and(|other| is_same(value, other));
            one.len() == other.len() && one.iter().all(alike)
        }
        (one, other) => one == other,
    }
}

/// Approves a server as a person does who has looked at it.
async fn approve(stage: &Stage, server: &str) {
    let run = async |words: &[&str]| {
        let mut command = tokio::process::Command::new(PROGRAM);
        command.arg("servers").args(words).arg("--data-dir").arg(stage.gateway.home().data_dir());
        let output = command.output().await.unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let shown = run(&["diff", server]).await;
    let line = shown.lines().find(|line| line.contains("servers approve")).unwrap().to_owned();
    run(&["approve", server, "--seen", line.rsplit(' ').next().unwrap()]).await;
}

fn verified(mut entry: Value) -> Value {
    entry["trust"] = json!({ "server_trust": "tool", "verified": true });
    entry
}

#[tokio::test]
async fn what_was_approved_is_offered_before_any_server_has_answered_and_a_call_waits_for_its_server() {
    let ground = Ground::new();
    let (gate, late) = (ground.home.path().join("gate"), ground.home.path().join("late"));
    std::fs::write(&gate, "").unwrap();
    let mut servers = serde_json::Map::new();
    for name in SERVERS {
        let entry = gated(&ground, name, &gate, "sleep 0.02");
        let entry = match name {
            "a" => {
                let mut open = entry;
                open["quarantine"] = json!(false);
                open
            }
            // Approved by a person.
            "b" => entry,
            _ => verified(entry),
        };
        servers.insert(name.to_owned(), entry);
    }
    let new = verified(gated(&ground, "new", &late, "sleep 0.02"));
    let mut config = json!({ "flow": "observe", "servers": servers });
    let mut stage = ground.serve(&config).await;
    let first = stage.client(Era::Legacy).await;
    tools(&first).await;
    approve(&stage, "b").await;
    for name in SERVERS {
        stage.status_where(name, |status| status["state"] == "up").await;
    }
    drop(first);
    // Met when they all were up, so that nothing is missing of what they can do.
    let first = stage.client(Era::Legacy).await;
    let before = tools(&first).await;
    assert_eq!(servers_of(&before), SERVERS);
    let capabilities = first.greeting().unwrap().at("/result/capabilities");
    drop(first);
    stage.gateway.stop().await.unwrap();
    std::fs::remove_file(&gate).unwrap();
    // One that was never seen joins later.
    config["servers"]["new"] = new;
    stage.gateway.home().configure(&config.to_string()).unwrap();
    stage.gateway.restart().await.unwrap();

    let legacy = stage.gateway.http(Era::Legacy).connect().await.unwrap();
    let modern = stage.client(Era::Modern).await;
    assert_eq!(legacy.greeting().unwrap().at("/result/capabilities"), capabilities);
    let named = |tools: &[Value]| tools.iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>();
    for client in [&legacy, &modern] {
        let offered = tools(client).await;
        assert_eq!(named(&offered), named(&before));
        for tool in &offered {
            assert!(before.iter().any(|before| is_same(before, tool)), "it is not as it was: {tool:#}");
        }
    }
    for name in SERVERS {
        assert_eq!(stage.status(name).await["state"], "starting", "{name}");
    }
    let waits = legacy.begin(Request::call("c__echo", &json!({ "body": "early" }))).await.unwrap();
    let waits_too = modern.begin(Request::call("b__echo", &json!({ "body": "early" }))).await.unwrap();
    std::fs::write(&gate, "").unwrap();
    for (pending, server) in [(waits, "c"), (waits_too, "b")] {
        let answer = pending.answer().await.unwrap();
        assert_eq!(answer.at("/result/structuredContent/body"), "early", "{server}: {}", answer.raw());
    }
    for name in SERVERS {
        stage.status_where(name, |status| status["state"] == "up").await;
    }
    // They are as they were, and nobody is told otherwise: the first word is of the one that is new.
    std::fs::write(&late, "").unwrap();
    legacy.next_notification(CHANGED).await.unwrap();
    assert!(servers_of(&tools(&legacy).await).contains(&"new"));
    assert_echo(&modern, "new", "late").await;
    let told = legacy.arrivals().iter().filter(|message| message.at("/method") == CHANGED).count();
    assert_eq!(told, 1);
}

/// Whoever is told that a list changed reads it again, so that each word costs a list.
#[tokio::test]
async fn a_server_that_joins_late_is_one_word_about_each_list() {
    const LISTS: [&str; 3] = ["tools", "prompts", "resources"];
    let ground = Ground::new();
    let gate = ground.home.path().join("gate");
    let late = verified(gated(&ground, "late", &gate, "sleep 0.02"));
    let servers = json!({ "a": verified(ground.stdio("a")), "late": late });
    let stage = ground.serve(&json!({ "flow": "observe", "quarantine": true, "servers": servers })).await;
    let client = stage.gateway.http(Era::Legacy).connect().await.unwrap();
    for list in LISTS {
        client.request(&format!("{list}/list"), json!({})).await.unwrap().ok().unwrap();
    }
    std::fs::write(&gate, "").unwrap();
    let changed = |list: &str| format!("notifications/{list}/list_changed");
    for list in LISTS {
        client.next_notification(&changed(list)).await.unwrap();
    }
    assert_echo(&client, "late", "there").await;
    let told = LISTS.map(|list| {
        let method = changed(list);
        client.arrivals().iter().filter(|message| message.method() == Some(&method)).count()
    });
    assert_eq!(told, [1, 1, 1], "{LISTS:?}");
}

#[tokio::test]
async fn a_server_that_was_approved_and_does_not_start_again_is_said_to() {
    let ground = Ground::new();
    let gate = ground.home.path().join("gate");
    std::fs::write(&gate, "").unwrap();
    let entry = verified(gated(&ground, "a", &gate, "exit 7"));
    let mut stage = ground.serve(&json!({ "flow": "observe", "servers": { "a": entry } })).await;
    assert_echo(&stage.client(Era::Legacy).await, "a", "first").await;
    stage.gateway.stop().await.unwrap();
    std::fs::remove_file(&gate).unwrap();
    stage.gateway.restart().await.unwrap();
    for era in [Era::Legacy, Era::Modern] {
        let client = stage.client(era).await;
        assert!(servers_of(&tools(&client).await).contains(&"a"));
        let why = failure(&client.call("a__echo", json!({ "body": "lost" })).await.unwrap());
        assert!(why.contains("`a` cannot be reached") && why.contains("nothing was executed"), "{why}");
    }
    std::fs::write(&gate, "").unwrap();
    let client = stage.client(Era::Legacy).await;
    let back = async || {
        let answer = client.call("a__echo", json!({ "body": "back" })).await.unwrap();
        (!answer.is_tool_error()).then_some(())
    };
    highwater_testkit::wait::until("it is back", back).await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_another_by_its_command_line_is_not_offered_before_it_was_looked_at() {
    let ground = Ground::new();
    let gate = ground.home.path().join("gate");
    std::fs::write(&gate, "").unwrap();
    let entry = gated(&ground, "a", &gate, "sleep 0.02");
    let other = gated(&ground, "a", &gate, "sleep 0.03");
    let quarantined =
        |entry: &Value| json!({ "flow": "observe", "quarantine": true, "servers": { "a": entry } });
    let mut stage = ground.serve(&quarantined(&entry)).await;
    approve(&stage, "a").await;
    assert_eq!(servers_of(&tools(&stage.client(Era::Legacy).await).await), ["a"]);
    stage.gateway.stop().await.unwrap();
    std::fs::remove_file(&gate).unwrap();
    stage.gateway.home().configure(&quarantined(&other).to_string()).unwrap();
    stage.gateway.restart().await.unwrap();
    assert_eq!(servers_of(&tools(&stage.client(Era::Legacy).await).await), Vec::<&str>::new());
    // As it was it is offered.
    stage.gateway.stop().await.unwrap();
    stage.gateway.home().configure(&quarantined(&entry).to_string()).unwrap();
    stage.gateway.restart().await.unwrap();
    assert_eq!(servers_of(&tools(&stage.client(Era::Legacy).await).await), ["a"]);
    assert_eq!(stage.status("a").await["state"], "starting");
}
