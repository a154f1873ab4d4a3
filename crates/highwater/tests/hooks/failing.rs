//! Hooks that fail: tools are refused, everything else passes and brings no words.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use highwater_hosts::host::{HookName, Host as Kind};
use highwater_testkit::client::Era;
use highwater_testkit::wait::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::host::{Host, Printed, event, happened, shell};
use crate::stage::{LOOK, Stage, done};

/// What a prompt is answered by a hook.
async fn prompted(host: &Host) -> Printed {
    host.hook(&event(HookName::UserPromptSubmit, "one", json!({ "prompt": "hello" }))).await
}

#[tokio::test]
async fn without_a_gateway_tools_are_refused_and_prompts_pass() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::at(Kind::ClaudeCode, folder.path());
    host.hook(&shell("one", "c1")).await.refused("Start it with `highwater serve`");
    prompted(&host).await.passed();
    let asked = event(HookName::PermissionRequest, "one", json!({ "tool_name": "Bash", "tool_input": {} }));
    let printed = host.hook(&asked).await;
    assert!(printed.code == 0 && printed.stdout.contains(r#""behavior":"deny""#), "{printed:?}");
    // A socket that somebody left behind.
    drop(UnixListener::bind(folder.path().join("gateway.sock")).unwrap());
    host.hook(&shell("one", "c1")).await.refused("does not answer");
    prompted(&host).await.passed();
}

#[tokio::test]
async fn a_program_that_is_missing_refuses_tools() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::at(Kind::ClaudeCode, folder.path());
    let missing = |hook| host.line_of("/nowhere/highwater", hook);
    let printed = host.run(&missing(HookName::PreToolUse), b"{}").await;
    assert_eq!((printed.code, printed.stdout.as_str()), (2, ""), "{printed:?}");
    let printed = host.run(&missing(HookName::SessionEnd), b"{}").await;
    assert_eq!((printed.code, printed.stdout.as_str()), (0, ""), "{printed:?}");
}

#[tokio::test]
async fn garbled_input_refuses_tools() {
    let stage = Stage::new(json!({})).await;
    let host = Host::of(&stage);
    let line = host.line(HookName::PreToolUse);
    for input in ["", "hello", "{}", r#"{"hook_event_name":"PreToolUse"}"#, "[]", "{\"a\":"] {
        host.run(&line, input.as_bytes()).await.refused("could not take the event in");
    }
    let other = event(HookName::SessionEnd, "one", json!({})).to_string();
    host.run(&line, other.as_bytes()).await.refused("the input is of `SessionEnd`");
    host.run(&host.line(HookName::UserPromptSubmit), b"hello").await.passed();
    assert!(happened(&stage).is_empty());
}

/// A gateway that does to its visitors what it is told.
fn impostor(folder: &std::path::Path, answer: &'static [u8], wait: Duration) {
    let listener = UnixListener::bind(folder.join("gateway.sock")).unwrap();
    std::thread::spawn(move || {
        for visitor in listener.incoming() {
            let mut visitor = visitor.unwrap();
            let mut line = String::new();
            BufReader::new(visitor.try_clone().unwrap()).read_line(&mut line).unwrap();
            std::thread::sleep(wait);
            visitor.write_all(answer).unwrap_or_default();
            visitor.read_to_end(&mut Vec::new()).unwrap_or_default();
        }
    });
}

#[tokio::test]
async fn a_garbled_answer_refuses_tools() {
    for answer in [
        &b"hello\n"[..],
        b"{}\n",
        b"{\"highwater\":1}\n",
        b"{\"highwater\":1,\"answer\":{\"verdict\":\"maybe\"}}\n",
        b"",
    ] {
        let folder = tempfile::tempdir().unwrap();
        impostor(folder.path(), answer, Duration::ZERO);
        let host = Host::at(Kind::ClaudeCode, folder.path());
        if answer.is_empty() {
            continue;
        }
        host.hook(&shell("one", "c1")).await.refused("garbled");
        prompted(&host).await.passed();
    }
}

#[tokio::test]
async fn a_slow_gateway_is_waited_for_no_longer_than_our_own_deadline() {
    let folder = tempfile::tempdir().unwrap();
    impostor(
        folder.path(),
        b"{\"highwater\":1,\"answer\":{\"verdict\":\"pass\"}}\n",
        Duration::from_secs(60),
    );
    let host = Host::at(Kind::Codex, folder.path());
    let (began, limits) = (Instant::now(), HookName::UserPromptSubmit.deadlines());
    prompted(&host).await.passed();
    assert!(began.elapsed() < Duration::from_secs(limits.watchdog_s), "{:?}", began.elapsed());
}

#[tokio::test]
async fn input_that_never_ends_is_waited_for_no_longer_either() {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::at(Kind::ClaudeCode, folder.path());
    let line = host.line(HookName::SessionEnd);
    let began = Instant::now();
    let endless =
        format!("mkfifo endless; sleep 60 > endless & ({line}) < endless; code=$?; kill $!; exit $code");
    host.run(&endless, b"").await.passed();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_hook_that_is_killed_or_stopped_refuses_and_its_tool_is_found_out_if_it_runs() {
    let stage = Stage::new(json!({})).await;
    let host = Host::of(&stage);
    host.hook(&event(HookName::SessionStart, "one", json!({ "source": "startup" }))).await.passed();
    let line = host.line(HookName::PreToolUse);
    // Its input never comes, so that it has told nobody when it is stopped.
    let watched = line.replace("timeout -s KILL 20", "exec timeout -s KILL 2");
    let stopped = format!("sleep 3 | sh -c 'echo $$ > watchdog; {watched}' || exit 2");
    let stop = async {
        let id = until("the watchdog", async || std::fs::read_to_string(host.file("watchdog")).ok()).await;
        let watchdog: u32 = id.unwrap().trim().parse().unwrap();
        let child = until("the hook", async || child_of(watchdog)).await.unwrap();
        kill_process(Pid::from_raw(child.try_into().unwrap()).unwrap(), Signal::STOP).unwrap();
    };
    let payload = shell("one", "c1");
    let (printed, ()) = tokio::join!(host.run(&stopped, b""), stop);
    assert_eq!((printed.code, printed.stdout.as_str()), (2, ""), "{printed:?}");
    // A host that let the tool run all the same tells of it.
    let client = stage.client(Era::Legacy).await;
    let mut ran = payload;
    ran["hook_event_name"] = json!("PostToolUse");
    ran["tool_response"] = json!({});
    ran["host"] = json!("claude-code");
    done(&client.call("highwater__hook", ran).await.unwrap());
    assert!(happened(&stage).contains(&"ran-unanswered".to_owned()), "{:?}", happened(&stage));
    let sessions = stage.sessions().await;
    let session = sessions.iter().find(|session| session["kind"] == "host").unwrap();
    assert_eq!(session["label"]["integrity"], "none", "{session}");
    done(&client.call(LOOK, json!({})).await.unwrap());
}

/// The child of a process.
fn child_of(id: u32) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}
