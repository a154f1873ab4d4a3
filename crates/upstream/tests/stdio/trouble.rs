//! Children that misbehave: each costs its own calls at most, and the next use mends what can be mended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{CLIENT, LONG, call, script, stage};
use highwater_core::id::UpstreamId;
use highwater_upstream::control::{ControlMessage, ListKind};
use highwater_upstream::error::Cause;
use highwater_upstream::event::NoticeKind;
use highwater_upstream::{EraSetting, HealthState, RememberedEra, ServerSpec, Timeouts, Transport};
use tokio::sync::mpsc::channel;
use tokio::time::timeout;

#[tokio::test]
async fn a_crash_in_mid_call_answers_at_once_and_the_next_call_restarts() {
    for (tool, ending) in [("crash", "exit code 3"), ("kill", "killed by signal 9")] {
        let stage = script("legacy").set();
        stage.call("echo", "{}").await.unwrap();
        let before = Instant::now();
        let error = stage.call(tool, "{}").await.unwrap_err();
        // Not by its timeout, that is.
        assert!(before.elapsed() < LONG / 3, "{:?}", before.elapsed());
        assert_eq!(error.cause, Cause::Gone(ending.to_owned()));
        assert!(error.sent);
        assert_eq!(stage.text("echo", r#"{"text":"back"}"#).await, "back");
        assert_eq!(stage.upstream.health().starts, 2);
        let crashes = stage.saw().iter().filter(|message| message["params"]["name"] == tool).count();
        assert_eq!(crashes, 1, "a call is never repeated");
    }
}

#[tokio::test]
async fn every_call_in_flight_fails_with_the_process() {
    let stage = script("legacy").set();
    let hanging: Vec<_> = (0..5)
        .map(|_| {
            let upstream = Arc::clone(&stage.upstream);
            tokio::spawn(async move { upstream.perform(call("hang", "{}"), CLIENT, &channel(1).0).await })
        })
        .collect();
    stage.saw_so_many(5, |message| message["params"]["name"] == "hang").await;
    assert_eq!(stage.upstream.health().in_flight, 5);
    stage.call("crash", "{}").await.unwrap_err();
    for call in hanging {
        let error = timeout(LONG, call).await.unwrap().unwrap().unwrap_err();
        assert_eq!(error.cause, Cause::Gone("exit code 3".to_owned()));
    }
}

#[tokio::test]
async fn an_answer_given_right_before_the_end_is_heard() {
    let stage = script("legacy").set();
    assert_eq!(stage.text("last_words", "{}").await, "farewell");
}

#[tokio::test]
async fn a_call_that_a_child_cannot_have_seen_is_made_to_the_next() {
    let stage = script("deaf").set();
    // It closes its input after the greeting and lives on.
    stage.upstream.greet().await.unwrap();
    let closed = async {
        while !stage.path("saw").with_extension("deaf").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, closed).await.unwrap();
    assert_eq!(stage.text("echo", r#"{"text":"heard"}"#).await, "heard");
    assert_eq!(stage.upstream.health().starts, 2);
    let calls = stage.saw().iter().filter(|message| message["method"] == "tools/call").count();
    assert_eq!(calls, 1);
}

#[tokio::test]
async fn a_server_that_crashes_again_and_again_is_left_alone_for_a_while() {
    let stage = script("legacy").set();
    stage.call("crash", "{}").await.unwrap_err();
    // Once it is started again at once; when that was no good either, it is not.
    stage.call("crash", "{}").await.unwrap_err();
    let error = loop {
        match stage.call("crash", "{}").await.unwrap_err() {
            // The machine was slow enough for the wait to be over.
            error if matches!(error.cause, Cause::Gone(_)) => {}
            error => break error,
        }
    };
    assert!(matches!(error.cause, Cause::BackingOff(wait) if wait > Duration::ZERO), "{error}");
    assert!(!error.sent);
    assert!(matches!(stage.upstream.health().state, HealthState::Failed { .. }));
}

#[tokio::test]
async fn the_end_of_an_idle_child_is_noticed() {
    let mut stage = script("legacy").set();
    stage.call("last_words", "{}").await.unwrap();
    let mut states = Vec::new();
    while states.len() < 3 {
        if let NoticeKind::Health(state) = timeout(LONG, stage.notices.recv()).await.unwrap().unwrap().kind {
            states.push(state);
        }
    }
    assert_eq!(states[..2], [HealthState::Starting, HealthState::Up]);
    let HealthState::Failed { why, retry_in } = &states[2] else { panic!("it ended: {states:?}") };
    assert_eq!((why.as_str(), *retry_in), ("ended before it answered (exit code 0)", Duration::ZERO));
    // The next use starts it again and says that nothing may be as it was.
    stage.call("echo", "{}").await.unwrap();
    assert!(matches!(stage.notice().await, NoticeKind::ToolsChanged));
    assert!(matches!(stage.notice().await, NoticeKind::PromptsChanged));
    assert!(matches!(stage.notice().await, NoticeKind::ResourcesChanged));
}

#[tokio::test]
async fn a_child_that_exits_at_start_is_explained_by_its_last_words() {
    let stage = script("exits_at_start").set();
    let error = stage.call("echo", "{}").await.unwrap_err();
    assert_eq!(error.to_string(), "server `mail` ended before it answered (exit code 4)");
    assert!(!error.sent);
    let health = stage.upstream.health();
    let why = health.last_error.map(|error| error.to_string());
    assert_eq!(why.as_deref(), Some("ended before it answered (exit code 4)"));
    assert!(health.pid.is_none());
    // Stderr is read by a task of its own, which may be a moment behind.
    let heard = async {
        while stage.upstream.health().stderr.last().is_none_or(|line| line != "fatal: no API key given") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, heard).await.unwrap();
    let error = stage.call("echo", "{}").await.unwrap_err();
    assert!(matches!(error.cause, Cause::BackingOff(_) | Cause::Gone(_)), "{error}");
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let spec = ServerSpec {
        id: UpstreamId::new("mail"),
        transport: Transport::Stdio {
            command: "no-such-server".to_owned(),
            args: Vec::new(),
            env: [("PATH".to_owned(), "/nonexistent".to_owned())].into(),
            cwd: None,
        },
        era: EraSetting::Auto,
        timeouts: Timeouts { start: LONG, probe: LONG, call: LONG, silence: LONG },
        concurrency: 1,
        max_reply: 1 << 20,
        retries: highwater_upstream::Retries::NEVER,
        ordered_writes: false,
    };
    let stage = stage(spec, None, tempfile::tempdir().unwrap());
    let error = stage.upstream.greet().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "server `mail` could not be started: `no-such-server` was not found on its PATH"
    );
}

#[tokio::test]
async fn a_silent_child_is_given_up_when_its_budget_is_spent() {
    let mut silent = script("says_nothing");
    silent.timeouts.start = Duration::from_millis(400);
    silent.timeouts.probe = Duration::from_millis(100);
    let stage = silent.set();
    let error = stage.call("echo", "{}").await.unwrap_err();
    assert_eq!(error.cause, Cause::SilentStart(Duration::from_millis(400)));
}

#[tokio::test]
async fn lines_that_are_no_messages_cost_nothing() {
    let stage = script("legacy").set();
    assert_eq!(stage.text("garbage", "{}").await, "done");
    assert_eq!(stage.upstream.health().starts, 1);
    assert!(!stage.saw_methods().contains(&"answer".to_owned()), "garbage is never answered");
}

#[tokio::test]
async fn an_ambiguous_answer_fails_its_own_call() {
    let stage = script("legacy").set();
    let error = stage.call("twice", "{}").await.unwrap_err();
    assert_eq!(error.cause, Cause::Malformed("it holds a key twice".to_owned()));
    assert!(error.sent);
    assert_eq!(stage.text("echo", r#"{"text":"on"}"#).await, "on");
}

#[tokio::test]
async fn an_answer_that_is_too_large_fails_its_own_call_and_the_child_survives() {
    let stage = script("legacy").set();
    stage.call("echo", "{}").await.unwrap();
    let pid = stage.upstream.health().pid.unwrap();
    let limit = 8 << 20;
    let waits = format!(r#"{{"file":"{}"}}"#, stage.path("go").display());
    let upstream = Arc::clone(&stage.upstream);
    let other =
        tokio::spawn(async move { upstream.perform(call("wait", &waits), CLIENT, &channel(1).0).await });
    stage.saw_at_last(|message| message["params"]["name"] == "wait").await;
    for arguments in [r#"{"mebibytes":100}"#, r#"{"mebibytes":9,"id_last":true}"#] {
        let error = stage.call("big", arguments).await.unwrap_err();
        assert_eq!(error.cause, Cause::TooLarge { limit }, "{arguments}");
    }
    assert!(!other.is_finished());
    // Whose it was cannot be told: nobody is left waiting in vain.
    let error = stage.call("big", r#"{"mebibytes":9,"id_hidden":true}"#).await.unwrap_err();
    assert_eq!(error.cause, Cause::TooLarge { limit });
    assert_eq!(other.await.unwrap().unwrap_err().cause, Cause::TooLarge { limit });
    assert_eq!(stage.text("echo", r#"{"text":"alive"}"#).await, "alive");
    assert_eq!(stage.upstream.health().pid, Some(pid));
    // What is just not too large passes.
    assert!(stage.call("big", r#"{"mebibytes":7}"#).await.unwrap().frame.bytes().len() > 7 << 20);
}

#[tokio::test]
async fn a_flood_on_stderr_blocks_nothing() {
    let stage = script("legacy").set();
    assert_eq!(stage.text("flood", r#"{"lines":50000}"#).await, "done");
    let kept = async {
        while stage.upstream.health().stderr.last().is_none_or(|line| !line.starts_with("grumble 49999")) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, kept).await.unwrap();
    assert_eq!(stage.upstream.health().stderr.len(), 50);
}

#[tokio::test]
async fn the_eras_are_told_apart_whatever_a_server_does_with_the_probe() {
    let table = [
        ("legacy", vec!["server/discover", "initialize", "notifications/initialized"], RememberedEra::Legacy),
        ("modern", vec!["server/discover"], RememberedEra::Modern),
        (
            "offers_legacy",
            vec!["server/discover", "initialize", "notifications/initialized"],
            RememberedEra::Legacy,
        ),
        (
            "silent_at_probe",
            vec!["server/discover", "initialize", "notifications/initialized"],
            RememberedEra::Legacy,
        ),
        ("modern_slow", vec!["server/discover", "initialize"], RememberedEra::Modern),
        // Started anew, and not probed again.
        (
            "dies_of_probe",
            vec!["server/discover", "initialize", "notifications/initialized"],
            RememberedEra::Legacy,
        ),
        (
            "spoilt_by_probe",
            vec!["server/discover", "initialize", "initialize", "notifications/initialized"],
            RememberedEra::Legacy,
        ),
    ];
    for (habit, expected, era) in table {
        let mut eager = script(habit);
        if ["silent_at_probe", "modern_slow"].contains(&habit) {
            eager.timeouts.probe = Duration::from_millis(300);
        }
        let stage = eager.set();
        stage.call("echo", "{}").await.unwrap();
        let mut saw = stage.saw_methods();
        saw.retain(|method| method != "subscriptions/listen");
        assert_eq!(saw.pop().unwrap(), "tools/call", "{habit}");
        assert_eq!(saw, expected, "{habit}");
        assert_eq!(*stage.remembered.lock().unwrap(), [era], "{habit}");
    }
}

#[tokio::test]
async fn what_is_remembered_or_set_spares_the_probe() {
    for (era, remembered) in [(EraSetting::Auto, Some(RememberedEra::Legacy)), (EraSetting::Legacy, None)] {
        let mut known = script("legacy");
        known.era = era;
        known.remembered = remembered;
        let stage = known.set();
        let greeting = stage.upstream.greet().await.unwrap();
        assert_eq!(
            (greeting.version.as_str(), greeting.instructions.as_deref()),
            ("2025-06-18", Some(&br#""be kind""#[..]))
        );
        assert_eq!(stage.saw_at_last(|_| true).await["method"], "initialize");
    }
    // Remembered wrongly: the server has been replaced by a newer one.
    let mut replaced = script("modern");
    replaced.remembered = Some(RememberedEra::Legacy);
    let stage = replaced.set();
    assert_eq!(stage.upstream.greet().await.unwrap().version, "2026-07-28");
    assert_eq!(*stage.remembered.lock().unwrap(), [RememberedEra::Modern]);
}

#[tokio::test]
async fn a_server_without_a_common_version_is_refused() {
    let mut modern_wanted = script("legacy");
    modern_wanted.era = EraSetting::Modern;
    for script in [modern_wanted, script("future"), script("other_versions")] {
        let habit = script.habit;
        let error = script.set().upstream.greet().await.unwrap_err();
        assert!(matches!(error.cause, Cause::Malformed(_)), "{habit}: {error}");
    }
}

#[tokio::test]
async fn everybody_waits_for_the_same_start_and_nobody_can_spoil_it() {
    let mut slow = script("silent_at_probe");
    slow.timeouts.probe = Duration::from_millis(200);
    let stage = slow.set();
    let first = {
        let upstream = Arc::clone(&stage.upstream);
        tokio::spawn(async move { upstream.greet().await })
    };
    while stage.upstream.health().state != HealthState::Starting {
        tokio::task::yield_now().await;
    }
    let others: Vec<_> = (0..4)
        .map(|_| {
            let upstream = Arc::clone(&stage.upstream);
            tokio::spawn(async move { upstream.control(ControlMessage::List(ListKind::Tools)).await })
        })
        .collect();
    first.abort();
    for other in others {
        assert!(other.await.unwrap().is_ok());
    }
    assert_eq!(stage.upstream.health().starts, 1);
}

#[tokio::test]
async fn a_shutdown_ends_even_a_stubborn_child_and_refuses_what_comes_later() {
    for habit in ["legacy", "stubborn"] {
        let stage = script(habit).set();
        stage.call("echo", "{}").await.unwrap();
        let pid = stage.upstream.health().pid.unwrap();
        let upstream = Arc::clone(&stage.upstream);
        let hanging =
            tokio::spawn(async move { upstream.perform(call("hang", "{}"), CLIENT, &channel(1).0).await });
        stage.saw_at_last(|message| message["params"]["name"] == "hang").await;
        stage.upstream.shutdown(Duration::from_millis(400)).await;
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{habit}");
        assert_eq!(hanging.await.unwrap().unwrap_err().cause, Cause::ShuttingDown);
        assert_eq!(stage.call("echo", "{}").await.unwrap_err().cause, Cause::ShuttingDown);
        assert_eq!(stage.upstream.greet().await.unwrap_err().cause, Cause::ShuttingDown);
    }
}

#[tokio::test]
async fn a_start_is_called_off_by_a_shutdown() {
    let stage = script("says_nothing").set();
    let upstream = Arc::clone(&stage.upstream);
    let greeting = tokio::spawn(async move { upstream.greet().await });
    while stage.upstream.health().state != HealthState::Starting {
        tokio::task::yield_now().await;
    }
    stage.upstream.shutdown(Duration::from_secs(1)).await;
    assert_eq!(timeout(LONG, greeting).await.unwrap().unwrap().unwrap_err().cause, Cause::ShuttingDown);
}
