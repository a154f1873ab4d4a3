//! `kill -9` at each step between a reply and its release: before its label is stored, before its outcome is on record,
//! between that and the first byte, in the middle of its bytes, after the last one; and at any moment between.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use highwater_testkit::client::peer::Note;
use highwater_testkit::client::{MODERN, Request};
use highwater_testkit::wait::{PATIENCE, until_true};
use rusqlite::{Connection, OptionalExtension};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::audit_pipe::AuditPipe;
use crate::labelled::{ACT, LOOK, STRANGE, Stage, done, events, home};

/// The server has tools that take their time, and states whose data it takes: so origins count, too.
const WORDS: [&str; 2] = ["--stdio", "--extras"];

/// Reads what strangers wrote, once there is a file: `until`.
const SLOW: &str = "up__sleep";
/// The same, and it reports progress before: `steps`.
const CHATTY: &str = "up__progress";
/// The same, and much of it: `bytes`.
const BIG: &str = "up__big";

/// The file for which a slow call waits. Its reply comes once that is there.
fn gate(stage: &Stage, name: &str) -> PathBuf {
    stage.gateway.home().path().join(name)
}

/// A call whose reply brings a stranger's text, when it may.
fn slow(gate: &Path) -> Request {
    Request::call(SLOW, &json!({ "until": gate }))
}

fn open(gate: &Path) {
    std::fs::write(gate, "").unwrap();
}

/// What is stored of the label of a context's session.
fn stored(stage: &Stage, context: &str) -> Option<i64> {
    let database = Connection::open(stage.gateway.home().data_dir().join("highwater.db")).unwrap();
    let found =
        database.query_row("SELECT bits FROM session WHERE id LIKE '%' || ?1", [context], |row| row.get(0));
    found.optional().unwrap()
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
    let pending = client.begin(slow(&gate(&stage, "never"))).await.unwrap();
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
    let beside = stage.client(&stage.context().await).await;
    done(&beside.call(LOOK, json!({})).await.unwrap());
    let gate = gate(&stage, "reply");
    let pending = client.begin(slow(&gate)).await.unwrap();
    stage.journal.wait("tools/call", "\"sleep\"").await.unwrap();
    let other = Connection::open(stage.gateway.home().data_dir().join("highwater.db")).unwrap();
    other.busy_timeout(PATIENCE).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    open(&gate);
    stage.journal.wait("waited", "\"sleep\"").await.unwrap();
    // What comes over the same pipe later, and changes no label, has come through: the reply is there and stays there.
    done(&beside.call(LOOK, json!({})).await.unwrap());
    stage.gateway.kill().await.unwrap();
    assert!(pending.answer().await.is_err(), "the reply was released");
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
    done(&client.call(LOOK, json!({})).await.unwrap());
    audit.empty();
    let gate = gate(&stage, "reply");
    let pending = client.begin(slow(&gate)).await.unwrap();
    stage.journal.wait("tools/call", "\"sleep\"").await.unwrap();
    let before = events(&audit.empty(), &context);
    assert_eq!(before.len(), 1, "that the call was let through is on record: {before:#?}");
    audit.fill();
    let label = stored(&stage, &context);
    assert!(label.is_some());
    open(&gate);
    until_true("the label is stored", || stored(&stage, &context) != label).await.unwrap();
    stage.gateway.kill().await.unwrap();
    assert!(pending.answer().await.is_err(), "the reply was released");
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
    let never = gate(&stage, "never");
    let request = Request::call(CHATTY, &json!({ "steps": 1, "until": never })).progress("so far");
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

/// When the gateway is killed.
#[derive(Clone, Copy)]
enum Moment {
    /// No reply has come.
    Waiting,
    /// So long after the replies may come.
    Released(Duration),
    /// So many replies have reached their callers.
    Given(usize),
}

/// Whatever lies between those steps: killed at moments all around the release, several calls at a time.
#[tokio::test]
async fn killed_at_any_moment_around_the_release_no_reply_that_was_given_is_missing() {
    const CONTEXTS: usize = 4;
    let mut stage = Stage::in_home(home(&WORDS, &json!({}))).await;
    // At least twelve replies are not given and at least sixty are; between them the moments are spread.
    let spread = (0..13).map(|step| Moment::Released(Duration::from_millis(step)));
    let given_to = [1, 2, 3, CONTEXTS].map(Moment::Given);
    let moments = [Moment::Waiting; 3].into_iter().chain(spread).chain([given_to; 6].concat());
    let (mut given, mut lost) = (0, 0);
    for (kill, moment) in moments.enumerate() {
        let mut contexts = Vec::new();
        for _ in 0..CONTEXTS {
            let context = stage.context().await;
            let client = Arc::new(stage.client(&context).await);
            // The server runs, and it is known here.
            done(&client.call(LOOK, json!({})).await.unwrap());
            contexts.push((context, client));
        }
        let gate = gate(&stage, &format!("replies-{kill}"));
        let (count, mut counted) = watch::channel(0);
        let mut calls = Vec::new();
        for (_, client) in &contexts {
            let (client, gate, count) = (Arc::clone(client), gate.clone(), count.clone());
            calls.push(tokio::spawn(async move {
                let answer = client.begin(slow(&gate)).await?.answer().await?;
                count.send_modify(|count| *count += 1);
                anyhow::Ok(answer)
            }));
        }
        let calling = |note: &Note| note.raw.contains(gate.to_str().unwrap());
        let calls_run =
            || stage.journal.of("tools/call").iter().filter(|note| calling(note)).count() == CONTEXTS;
        until_true("all calls run", calls_run).await.unwrap();
        match moment {
            Moment::Waiting => {}
            Moment::Released(after) => {
                open(&gate);
                tokio::time::sleep(after).await;
            }
            Moment::Given(wanted) => {
                open(&gate);
                let given = counted.wait_for(|count| *count >= wanted);
                tokio::time::timeout(PATIENCE, given).await.unwrap().unwrap();
            }
        }
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
    }
    // Otherwise the kills were not where the releases were.
    assert!(given >= 10 && lost >= 10, "{given} replies were given and {lost} were not");
}
