//! The gateway is killed while a person decides: afterwards all of the decision is there, or nothing of it.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use super::stage::{PROGRAM, Stage, definitions, entry, home, say, stranger};

/// So many that writing a decision takes a while.
const TOOLS: usize = 200;

/// A stage with a server of many tools.
async fn crowded() -> Stage {
    let home = home();
    let mut many = definitions();
    let tool = |number| json!({ "name": format!("t{number}"), "inputSchema": { "type": "object" } });
    many["tools"] = (0..TOOLS).map(tool).collect();
    say(home.path(), "up", &many);
    let entries = json!({ "up": entry(home.path(), "up", &stranger()) });
    Stage::at(home, entries, json!({})).await
}

/// How the server stands, how many of its definitions a person approved, and how many it has.
async fn state(stage: &Stage) -> (String, usize, usize) {
    let review = stage.review("up").await;
    let items = review["items"].as_array().unwrap();
    let approved = items.iter().filter(|item| item["basis"] == "person").count();
    (review["state"].as_str().unwrap().to_owned(), approved, items.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_was_under_way_is_there_whole_or_not_at_all() {
    let mut stage = crowded().await;
    let digest = stage.review("up").await["digest"].as_str().unwrap().to_owned();
    let mut before = state(&stage).await;
    let (mut done, mut undone) = (0, 0);
    // Each round a little later: before the decision arrives, in the midst of it, after it.
    for round in 0..24_u32 {
        let verb = if round % 2 == 0 { "approve" } else { "reject" };
        let mut command = tokio::process::Command::new(PROGRAM);
        command.args(["servers", verb, "up", "--seen", &digest, "--data-dir"]);
        command.arg(stage.gateway.home().data_dir()).env("USER", "ada");
        let mut person =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        tokio::time::sleep(Duration::from_millis(u64::from(round) * 4)).await;
        stage.gateway.kill().await.unwrap();
        let said = person.wait().await.unwrap().success();
        stage.gateway.restart().await.unwrap();
        let after = state(&stage).await;
        let all = after.2;
        let new = match verb {
            "approve" => ("approved".to_owned(), all, all),
            // The server itself is no longer approved; what it has is as it was.
            _ => ("rejected".to_owned(), if before.1 == all { all - 1 } else { before.1 }, all),
        };
        assert!(after == before || after == new, "round {round}, {verb}: {before:?} became {after:?}");
        assert!(!said || after == new, "round {round}: {verb} was said to be done, and {after:?}");
        match after == new && after != before {
            true => done += 1,
            false => undone += 1,
        }
        // An agent is shown all of its tools or none.
        let shown = stage.tools().await.len();
        assert_eq!(shown, if after.0 == "approved" { TOOLS } else { 0 }, "round {round}");
        before = after;
    }
    println!("{done} decisions were there after the kill, {undone} were not");
}
