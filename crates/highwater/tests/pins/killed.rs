//! The gateway is killed while a person decides: afterwards all of the decision is there, or nothing of it.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use highwater_testkit::wait::PATIENCE;
use rusqlite::Connection;
use serde_json::json;
use tokio::process::{Child, Command};

use super::stage::{PROGRAM, Stage, definitions, entry, home, say, stranger};

/// So many that writing a decision takes a while.
const TOOLS: usize = 200;

/// When the gateway is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// The decision could not be stored: somebody else holds the database.
    Unstored,
    /// So long after the person began.
    After(Duration),
    /// Something of it, or of whatever else is stored, was written.
    Written,
    /// The person was told that it is done.
    Told,
}

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

/// Somebody who decides.
fn decide(stage: &Stage, verb: &str, digest: &str) -> Child {
    let mut command = Command::new(PROGRAM);
    command.args(["servers", verb, "up", "--seen", digest, "--data-dir"]);
    command.arg(stage.gateway.home().data_dir()).env("USER", "ada");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The state of what is being written to the database: how much it is, and since when.
fn written(data_dir: &Path) -> Option<(u64, SystemTime)> {
    let log = std::fs::metadata(data_dir.join("highwater.db-wal")).ok()?;
    Some((log.len(), log.modified().unwrap()))
}

/// Decides, and kills the gateway at this moment of it. Says whether the person was told that it is done.
async fn killed(stage: &mut Stage, verb: &str, digest: &str, moment: Moment) -> bool {
    let data_dir = stage.gateway.home().data_dir();
    let other = Connection::open(data_dir.join("highwater.db")).unwrap();
    other.busy_timeout(PATIENCE).unwrap();
    if matches!(moment, Moment::Unstored) {
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
    }
    let before = written(&data_dir);
    let mut person = decide(stage, verb, digest);
    let said = match moment {
        Moment::Unstored | Moment::Told => {
            let said = person.wait().await.unwrap().success();
            assert_eq!(said, matches!(moment, Moment::Told), "{moment:?}");
            said
        }
        Moment::After(time) => {
            tokio::time::sleep(time).await;
            false
        }
        Moment::Written => {
            // A file does not tell that it grows, and this is a matter of milliseconds.
            let look = move || {
                let deadline = Instant::now() + PATIENCE;
                while written(&data_dir) == before && Instant::now() < deadline {
                    std::thread::sleep(Duration::from_micros(50));
                }
                assert!(written(&data_dir) != before, "nothing is written");
            };
            tokio::task::spawn_blocking(look).await.unwrap();
            false
        }
    };
    stage.gateway.kill().await.unwrap();
    said || person.wait().await.unwrap().success()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_was_under_way_is_there_whole_or_not_at_all() {
    let mut stage = crowded().await;
    let digest = stage.review("up").await["digest"].as_str().unwrap().to_owned();
    let begun = Instant::now();
    assert!(decide(&stage, "approve", &digest).wait().await.unwrap().success());
    // Spread over twice as long as it takes: before the decision arrives, in the midst of it, after it.
    let whole = begun.elapsed();
    let spread = (0..12_u32).map(|step| Moment::After(whole * step / 6));
    let moments = [Moment::Unstored; 2].into_iter().chain(spread);
    let moments = moments.chain([Moment::Written; 6]).chain([Moment::Told; 4]);
    let mut before = state(&stage).await;
    let (mut done, mut undone) = (0, 0);
    for (round, moment) in moments.enumerate() {
        let verb = if round % 2 == 0 { "reject" } else { "approve" };
        let said = killed(&mut stage, verb, &digest, moment).await;
        stage.gateway.restart().await.unwrap();
        let after = state(&stage).await;
        let all = after.2;
        let new = match verb {
            "approve" => ("approved".to_owned(), all, all),
            // The server itself is no longer approved; what it has is as it was.
            _ => ("rejected".to_owned(), if before.1 == all { all - 1 } else { before.1 }, all),
        };
        assert!(after == before || after == new, "{moment:?}, {verb}: {before:?} became {after:?}");
        assert!(!said || after == new, "{moment:?}: {verb} was said to be done, and {after:?}");
        match after == new && after != before {
            true => done += 1,
            false => undone += 1,
        }
        // An agent is shown all of its tools or none.
        let shown = stage.tools().await.len();
        assert_eq!(shown, if after.0 == "approved" { TOOLS } else { 0 }, "{moment:?}, {verb}");
        before = after;
    }
    // The first two could not be stored, and of the last four at least three change what was there.
    assert!(done >= 3 && undone >= 2, "{done} decisions were there after the kill, {undone} were not");
}
