//! Children that say nothing while something is asked of them.

use std::process::Command;
use std::time::Duration;

use highwater_upstream::HealthState;
use highwater_upstream::error::Cause;
use tokio::time::timeout;

use crate::support::{LONG, Script, Stage, script};

/// A server that is pinged soon.
fn pinged(habit: &'static str) -> Script {
    let mut script = script(habit);
    script.timeouts.silence = Duration::from_millis(200);
    script
}

async fn until(what: &str, fits: impl Fn() -> bool) {
    let waited = timeout(LONG, async {
        while !fits() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "{what}");
}

/// The process of the server below its guard.
fn child_of(stage: &Stage) -> String {
    let guard = stage.upstream.health().pid.unwrap();
    std::fs::read_to_string(format!("/proc/{guard}/task/{guard}/children")).unwrap().trim().to_owned()
}

fn exists(pid: &str) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

#[tokio::test]
async fn a_child_that_hangs_is_replaced_once_a_call_has_had_its_time() {
    let mut script = pinged("legacy");
    script.timeouts.call = Duration::from_secs(1);
    let stage = script.set();
    stage.upstream.greet().await.unwrap();
    let child = child_of(&stage);
    let never = serde_json::json!({ "file": stage.path("never") }).to_string();
    let error = stage.call("block", &never).await.unwrap_err();
    assert!(matches!(error.cause, Cause::TimedOut(_) | Cause::Wedged(_)) && error.sent, "{error}");
    until("it is replaced", || stage.upstream.health().starts == 2).await;
    until("the old one is gone", || !exists(&child)).await;
    assert_eq!(stage.text("echo", r#"{"text":"again"}"#).await, "again");
    assert_eq!(stage.upstream.health().state, HealthState::Up);
    let why = stage.upstream.health().last_error.unwrap();
    assert!(why.to_string().contains("answered neither calls nor pings"), "{why}");
}

#[tokio::test]
async fn a_child_that_is_busy_and_answers_pings_lives_on() {
    for (habit, ping) in [("legacy", "ping"), ("modern", "server/discover")] {
        let stage = pinged(habit).set();
        let file = stage.path("go");
        let arguments = serde_json::json!({ "file": file }).to_string();
        let waits = async { stage.text("wait", &arguments).await };
        let goes = async {
            let pings = || stage.saw().iter().filter(|message| message["method"] == ping).count();
            until("it is pinged again and again", || pings() >= 4).await;
            assert_eq!(stage.upstream.health().state, HealthState::Up);
            std::fs::write(&file, "").unwrap();
        };
        let (done, ()) = tokio::join!(waits, goes);
        assert_eq!((done.as_str(), stage.upstream.health().starts), ("done", 1), "{habit}");
    }
}

#[tokio::test]
async fn a_child_that_does_one_thing_at_a_time_keeps_its_call_and_others_do_not_wait_behind_it() {
    let stage = pinged("legacy").set();
    let file = stage.path("go");
    let arguments = serde_json::json!({ "file": file }).to_string();
    let blocked = async { stage.text("block", &arguments).await };
    let others = async {
        let is_silent = || stage.upstream.health().state == HealthState::NotAnswering;
        until("it is seen not to answer", is_silent).await;
        let error = stage.call("echo", "{}").await.unwrap_err();
        assert!(matches!(error.cause, Cause::Silent(_)) && !error.sent, "{error}");
        std::fs::write(&file, "").unwrap();
    };
    let (done, ()) = tokio::join!(blocked, others);
    assert_eq!(done, "done");
    until("it is up again", || stage.upstream.health().state == HealthState::Up).await;
    assert_eq!(stage.text("echo", r#"{"text":"after"}"#).await, "after");
    assert_eq!(stage.upstream.health().starts, 1);
}

#[tokio::test]
async fn a_child_that_was_stopped_is_replaced_without_waiting_for_its_calls() {
    let stage = pinged("legacy").set();
    stage.upstream.greet().await.unwrap();
    let child = child_of(&stage);
    assert!(Command::new("kill").args(["-STOP", &child]).status().unwrap().success());
    let error = stage.call("echo", "{}").await.unwrap_err();
    assert!(matches!(error.cause, Cause::Wedged(_)), "{error}");
    until("the old one is gone", || !exists(&child)).await;
    assert_eq!(stage.text("echo", r#"{"text":"again"}"#).await, "again");
    assert_eq!(stage.upstream.health().starts, 2);
}
