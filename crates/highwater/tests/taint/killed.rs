//! `kill -9` at each step between a reply and its release: before its label is stored, before its outcome is on record,
//! between that and the first byte, in the middle of its bytes, after the last one; and at any moment between.

use std::sync::Arc;
use std::time::Duration;

use highwater_testkit::client::{MODERN, Request};
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use crate::audit_pipe::AuditPipe;
use crate::labelled::{ACT, LOOK, STRANGE, Stage, done, events, home};

/// The server has tools that take their time, and states whose data it takes: so origins count, too.
const WORDS: [&str; 2] = ["--stdio", "--extras"];

/// Reads what strangers wrote, after a while: `ms`.
const SLOW: &str = "up__sleep";
/// The same, and it reports progress: `steps`, each after `ms`.
const CHATTY: &str = "up__progress";
/// The same, and much of it: `bytes`.
const BIG: &str = "up__big";

/// How long after a call its reply comes where it must be waited for: longer than it takes to prepare for it.
const LATE: u64 = 1_500;
/// When the reply must have been held up, if it is held up at all. A busy database is waited for a little longer.
const HELD: Duration = Duration::from_millis(LATE + 1_000);

/// A call whose reply brings a stranger's text, late.
fn slow(ms: u64) -> Request {
    Request::call(SLOW, &json!({ "ms": ms }))
}

/// Whether it is on record that a call of this tool was let through and its reply delivered.
fn delivered(record: &[Value], tool: &str) -> bool {
    let of_tool = |event: &&Value| {
        event["event"] == "decision" && format!("up__{}", event["target"].as_str().unwrap()) == tool
    };
    let let_through = record.iter().find(of_tool).map(|decision| &decision["id"]);
    let_through.is_some_and(|id| {
        record
            .iter()
            .any(|event| event["id"] == *id && event["event"] == "outcome" && event["outcome"] == "delivered")
    })
}

/// The step before the reply has come.
#[tokio::test]
async fn killed_before_the_reply_came_only_the_decision_is_on_record() {
    let mut stage = Stage::in_home(home(&WORDS, &json!({}))).await;
    let context = stage.context().await;
    let client = stage.client(&context).await;
    let pending = client.begin(slow(LATE)).await.unwrap();
    stage.journal.wait("tools/call", "\"sleep\"").await.unwrap();
    stage.gateway.kill().await.unwrap();
    assert!(pending.answer().await.is_err(), "the reply had not come");
    let record = stage.record(&context);
    assert_eq!(record.len(), 1, "{record:#?}");
    assert_eq!((&record[0]["event"], &record[0]["target"]), (&json!("decision"), &json!("sleep")));
    stage.gateway.restart().await.unwrap();
    done(&stage.client(&context).await.call(ACT, json!({})).await.unwrap());
}

/// The step before the label is written: the database is held by somebody else.
#[tokio::test]
async fn killed_before_the_label_is_stored_nothing_was_released() {
    let mut stage = Stage::in_home(home(&WORDS, &json!({}))).await;
    let context = stage.context().await;
    let client = stage.client(&context).await;
    done(&client.call(ACT, json!({})).await.unwrap());
    let pending = client.begin(slow(LATE)).await.unwrap();
    stage.journal.wait("tools/call", "\"sleep\"").await.unwrap();
    let other = Connection::open(stage.gateway.home().data_dir().join("highwater.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    pending.no_answer_within(HELD).await.unwrap();
    stage.gateway.kill().await.unwrap();
    drop(other);
    let record = stage.record(&context);
    assert_eq!(record.iter().filter(|event| event["event"] == "outcome").count(), 1, "{record:#?}");
    stage.gateway.restart().await.unwrap();
    // The client was given nothing, so nothing is missing.
    assert_eq!(stage.session(&context).await["label"]["integrity"], "tool");
    done(&stage.client(&context).await.call(ACT, json!({})).await.unwrap());
}

/// The step after the label is written: its outcome cannot be put on record.
#[tokio::test]
async fn killed_after_the_label_is_stored_and_before_the_release_the_label_stays() {
    let home = home(&WORDS, &json!({}));
    let mut audit = AuditPipe::new(&home.data_dir());
    let mut stage = Stage::in_home(home).await;
    let context = stage.context().await;
    let client = stage.client(&context).await;
    let pending = client.begin(slow(LATE)).await.unwrap();
    stage.journal.wait("tools/call", "\"sleep\"").await.unwrap();
    let before = events(&audit.empty(), &context);
    assert_eq!(before.len(), 1, "that the call was let through is on record: {before:#?}");
    audit.fill();
    pending.no_answer_within(HELD).await.unwrap();
    stage.gateway.kill().await.unwrap();
    assert!(!audit.empty().contains("outcome"));
    stage.gateway.restart().await.unwrap();
    stage.assert_tainted(&context).await;
}

/// The step after that: the outcome is on record, and the first byte is about to go out, or has just gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_the_moment_the_outcome_is_on_record_the_label_is_stored() {
    const TIMES: usize = 12;
    let home = home(&WORDS, &json!({}));
    let mut audit = AuditPipe::new(&home.data_dir());
    let mut stage = Stage::in_home(home).await;
    for time in 0..TIMES {
        let context = stage.context().await;
        let client = stage.client(&context).await;
        done(&client.call(LOOK, json!({})).await.unwrap());
        audit.empty();
        let pid = Pid::from_raw(i32::try_from(stage.gateway.pid().unwrap()).unwrap()).unwrap();
        let watch = tokio::task::spawn_blocking(move || {
            let written = audit.wait("\"event\":\"outcome\"");
            kill_process(pid, Signal::KILL).unwrap();
            (audit, written)
        });
        let answer = client.call(STRANGE, json!({})).await;
        let written;
        (audit, written) = watch.await.unwrap();
        stage.gateway.kill().await.unwrap();
        if let Ok(answer) = answer {
            done(&answer);
        }
        assert!(delivered(&events(&written, &context), STRANGE), "{written}");
        stage.gateway.restart().await.unwrap();
        // Whether or not the reply made it to the client.
        assert_eq!(stage.session(&context).await["label"]["integrity"], "none", "time {time}");
        stage.assert_tainted(&context).await;
    }
}

/// The step in the middle of the release: the client has some bytes, and never gets the others.
#[tokio::test]
async fn killed_in_the_middle_of_the_release_the_label_has_what_the_client_got_a_part_of() {
    /// More than what fits between two ends of a connection.
    const SIZE: usize = 16 << 20;
    let mut stage = Stage::in_home(home(&WORDS, &json!({}))).await;
    let context = stage.context().await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": BIG, "arguments": { "bytes": SIZE },
        "_meta": { "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {} },
    } })
    .to_string();
    let address = stage.gateway.endpoint().split('/').nth(2).unwrap().to_owned();
    let head = format!(
        "POST /mcp/c/{context} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: {BIG}\r\n\r\n",
        stage.gateway.agent_token(),
        call.len(),
    );
    let mut connection = TcpStream::connect(&address).await.unwrap();
    connection.write_all(head.as_bytes()).await.unwrap();
    connection.write_all(call.as_bytes()).await.unwrap();
    let mut got = vec![0; 4096];
    connection.read_exact(&mut got).await.unwrap();
    let text = String::from_utf8(got).unwrap();
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("highwater highwater"), "{text}");
    stage.gateway.kill().await.unwrap();
    let mut rest = Vec::new();
    let ended = connection.read_to_end(&mut rest).await;
    assert!(ended.is_err() || rest.len() < SIZE, "the client got all of it");
    assert!(delivered(&stage.record(&context), BIG));
    stage.gateway.restart().await.unwrap();
    stage.assert_tainted(&context).await;
}

/// The first byte may be that of a progress message.
#[tokio::test]
async fn killed_between_progress_and_reply_the_label_has_the_progress() {
    let mut stage = Stage::in_home(home(&WORDS, &json!({}))).await;
    let context = stage.context().await;
    let client = stage.client(&context).await;
    let request = Request::call(CHATTY, &json!({ "steps": 2, "ms": LATE })).progress("so far");
    let pending = client.begin(request).await.unwrap();
    client.next_notification("notifications/progress").await.unwrap();
    stage.gateway.kill().await.unwrap();
    assert!(pending.answer().await.is_err(), "the reply had not come");
    stage.gateway.restart().await.unwrap();
    stage.assert_tainted(&context).await;
}

/// The step after the release.
#[tokio::test]
async fn killed_right_after_the_release_the_label_has_the_reply() {
    let mut stage = Stage::in_home(home(&WORDS, &json!({}))).await;
    let context = stage.context().await;
    done(&stage.client(&context).await.call(STRANGE, json!({})).await.unwrap());
    stage.gateway.kill().await.unwrap();
    assert!(delivered(&stage.record(&context), STRANGE));
    stage.gateway.restart().await.unwrap();
    stage.assert_tainted(&context).await;
}

/// Whatever lies between those steps: killed at moments all around the release, several calls at a time.
#[tokio::test]
async fn killed_at_any_moment_around_the_release_no_reply_that_was_given_is_missing() {
    /// How long the server takes.
    const AFTER: u64 = 40;
    const KILLS: u32 = 40;
    const CONTEXTS: usize = 4;
    let mut stage = Stage::in_home(home(&WORDS, &json!({}))).await;
    let (mut given, mut lost) = (0, 0);
    // Where the kills are aimed: a little earlier after each reply that got out, a little later after each that did not.
    let mut moment = Duration::from_millis(AFTER + 4);
    for kill in 0..KILLS {
        let mut contexts = Vec::new();
        for _ in 0..CONTEXTS {
            let context = stage.context().await;
            let client = Arc::new(stage.client(&context).await);
            // The server runs, and it is known here.
            done(&client.call(LOOK, json!({})).await.unwrap());
            contexts.push((context, client));
        }
        let begun = Instant::now();
        let calls: Vec<_> = contexts
            .iter()
            .map(|(_, client)| {
                let client = Arc::clone(client);
                tokio::spawn(async move { client.begin(slow(AFTER)).await?.answer().await })
            })
            .collect();
        // Spread evenly over three milliseconds around the aim.
        sleep_until(begun + moment + Duration::from_micros(u64::from(kill % 8) * 400)).await;
        stage.gateway.kill().await.unwrap();
        let mut answers = Vec::new();
        for call in calls {
            answers.push(call.await.unwrap());
        }
        let records: Vec<_> = contexts.iter().map(|(context, _)| stage.record(context)).collect();
        stage.gateway.restart().await.unwrap();
        for (((context, _), answer), record) in contexts.iter().zip(&answers).zip(&records) {
            let recorded = delivered(record, SLOW);
            if let Ok(answer) = answer {
                done(answer);
                assert!(recorded, "{record:#?}");
            }
            if recorded {
                stage.assert_tainted(context).await;
                let session = stage.session(context).await;
                assert!(session["label"]["origins"].to_string().contains("mcp:up:sleep"), "{session}");
            }
        }
        let out = answers.iter().filter(|answer| answer.is_ok()).count();
        given += out;
        lost += answers.len() - out;
        let step = Duration::from_millis(1);
        moment = if out * 2 > CONTEXTS { moment - step } else { moment + step };
    }
    // Otherwise the kills were not where the releases were.
    assert!(given >= 10 && lost >= 10, "{given} replies were given and {lost} were not");
}
