//! The record under faults: the disk is full, files are taken away, the power goes. Nothing is executed without a record, no
//! record is unreadable, and `/readyz` says so as long as it is so.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use highwater_testkit::client::{Client, Era, Setup};
use highwater_testkit::wait;
use http::Method;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::stage::{Ground, Stage, assert_echo};

const ERA: Era = Era::Modern;

/// What `/readyz` or `/healthz` answers: the status and the words.
async fn page(stage: &Stage, path: &str) -> (u16, String) {
    let url = stage.gateway.endpoint().replace("/mcp", path);
    let monitor = Setup::http(&url).connect_silently().await.unwrap();
    let reply = monitor.exchange(Method::GET, String::new(), &[]).await.unwrap();
    (reply.status, reply.body)
}

/// Waits until `/readyz` says no for a reason with these words; `/healthz` says yes all the time.
async fn not_ready(stage: &Stage, why: &str) {
    let refused = wait::until(why, async || {
        let (status, words) = page(stage, "/readyz").await;
        (status == 503 && words.contains(why)).then_some(())
    });
    refused.await.unwrap();
    assert_eq!(page(stage, "/healthz").await.0, 200);
}

async fn ready(stage: &Stage) {
    wait::until("ready", async || (page(stage, "/readyz").await.0 == 200).then_some(())).await.unwrap();
}

/// Every line of the log that was ever whole, from all its segments.
fn records(data: &Path) -> Vec<Value> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(data.join("audit")).unwrap().map(|it| it.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    paths.sort();
    let texts = paths.iter().map(|path| fs::read_to_string(path).unwrap());
    texts
        .flat_map(|text| text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect::<Vec<_>>())
        .collect()
}

/// Every call that reached the server has a decision on record.
fn assert_recorded(stage: &Stage) {
    let data = stage.gateway.home().data_dir();
    let records = records(&data);
    let decided = records.iter().filter(|it| it["event"] == "decision" && it["ruling"] == "allowed").count();
    let executed = stage.journal("a").of("tools/call").len();
    assert!(executed > 0 && decided >= executed, "{executed} calls were executed, {decided} are on record");
}

async fn refused(client: &Client) {
    let answer = client.call("a__echo", json!({ "body": "unrecorded" })).await.unwrap();
    assert!(answer.is_tool_error() || answer.error_code().is_some(), "{}", answer.raw());
}

/// A gateway that takes a write beyond its limit for a failure, as one to a full disk.
fn patient_ground() -> Ground {
    let ground = Ground::new();
    let script = ground.home.path().join("patient");
    let program = crate::stage::PROGRAM;
    fs::write(&script, format!("#!/bin/sh\ntrap '' XFSZ\nexec '{program}' \"$@\"\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    ground.run_by(script)
}

/// Lets the files of the gateway grow to this many bytes and no further; `None` lets them grow again.
fn limit(stage: &Stage, bytes: Option<u64>) {
    let pid = Pid::from_raw(i32::try_from(stage.gateway.pid().unwrap()).unwrap());
    prlimit(pid, Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
}

#[tokio::test]
async fn a_disk_that_is_full_twice_in_a_row_costs_calls_and_no_record() {
    let ground = patient_ground();
    let servers = json!({ "a": ground.stdio("a") });
    let stage = ground.serve(&json!({ "flow": "observe", "servers": servers })).await;
    let client = stage.client(ERA).await;
    assert_echo(&client, "a", "before").await;
    ready(&stage).await;
    let segment = stage.gateway.home().data_dir().join("audit/000001.jsonl");
    for room in [0, 37] {
        let executed = stage.journal("a").of("tools/call").len();
        limit(&stage, Some(fs::metadata(&segment).unwrap().len() + room));
        for _ in 0..3 {
            refused(&client).await;
        }
        not_ready(&stage, "recorded").await;
        assert_eq!(stage.journal("a").of("tools/call").len(), executed, "nothing reached the server");
        limit(&stage, None);
        ready(&stage).await;
        assert_echo(&client, "a", "there is room again").await;
        assert_recorded(&stage);
    }
    let resumed = records(&stage.gateway.home().data_dir());
    assert_eq!(resumed.iter().filter(|it| it["event"] == "log" && it["act"] == "resumed").count(), 2);
}

#[tokio::test]
async fn an_audit_folder_that_was_removed_is_there_again_with_every_call() {
    let stage = Stage::of(&["a"]).await;
    let client = stage.client(ERA).await;
    let data = stage.gateway.home().data_dir();
    assert_echo(&client, "a", "before").await;
    fs::remove_dir_all(data.join("audit")).unwrap();
    // Before anybody noticed: these calls are recorded in a file without a name.
    for _ in 0..5 {
        assert_echo(&client, "a", "meanwhile").await;
    }
    wait::until_true("the log is there again", || data.join("audit/000002.jsonl").exists()).await.unwrap();
    ready(&stage).await;
    assert_echo(&client, "a", "after").await;
    assert_recorded(&stage);
    assert!(records(&data).iter().any(|it| it["event"] == "log" && it["act"] == "reopened"));
    let log = stage.gateway.log();
    assert!(log.contains("removed or replaced"), "{log}");
}

#[tokio::test]
async fn while_the_audit_log_cannot_be_begun_again_nothing_is_executed() {
    let stage = Stage::of(&["a"]).await;
    let client = stage.client(ERA).await;
    let audit = stage.gateway.home().data_dir().join("audit");
    assert_echo(&client, "a", "before").await;
    fs::remove_dir_all(&audit).unwrap();
    fs::write(&audit, "no folder").unwrap();
    not_ready(&stage, "recorded").await;
    let executed = stage.journal("a").of("tools/call").len();
    refused(&client).await;
    assert_eq!(stage.journal("a").of("tools/call").len(), executed);
    fs::remove_file(&audit).unwrap();
    ready(&stage).await;
    assert_echo(&client, "a", "after").await;
    assert_recorded(&stage);
}

#[tokio::test]
async fn a_database_that_was_removed_refuses_calls_and_is_saved() {
    let mut stage = Stage::of(&["a"]).await;
    let client = stage.client(ERA).await;
    assert_echo(&client, "a", "before").await;
    let data = stage.gateway.home().data_dir();
    let sessions = async |stage: &Stage| {
        let mut list = tokio::process::Command::new(env!("CARGO_BIN_EXE_highwater"));
        list.args(["session", "list", "--json", "--data-dir"]).arg(stage.gateway.home().data_dir());
        let listed = list.output().await.unwrap();
        let listed: Vec<Value> = serde_json::from_slice(&listed.stdout).unwrap();
        listed.iter().map(|it| (it["key"].clone(), it["label"].clone())).collect::<Vec<_>>()
    };
    let before = sessions(&stage).await;
    assert!(!before.is_empty());
    for end in ["", "-wal", "-shm"] {
        fs::remove_file(data.join(format!("highwater.db{end}"))).unwrap();
    }
    not_ready(&stage, "the session store was removed or replaced").await;
    let executed = stage.journal("a").of("tools/call").len();
    refused(&client).await;
    assert_eq!(stage.journal("a").of("tools/call").len(), executed, "nothing reached the server");
    let rescued = || {
        let files = fs::read_dir(&data).unwrap().map(|it| it.unwrap().path());
        files.into_iter().find(|path| path.to_string_lossy().contains(".rescued-"))
    };
    wait::until_true("the log names the way out", || stage.gateway.log().contains("start again"))
        .await
        .unwrap();
    let rescued = rescued().unwrap();
    assert!(stage.gateway.log().contains(&rescued.display().to_string()), "{}", stage.gateway.log());
    assert_eq!(fs::metadata(&rescued).unwrap().permissions().mode() & 0o777, 0o600);
    stage.gateway.stop().await.unwrap();
    fs::rename(rescued, data.join("highwater.db")).unwrap();
    stage.gateway.restart().await.unwrap();
    ready(&stage).await;
    assert_eq!(sessions(&stage).await, before, "no label is lost");
    assert_recorded(&stage);
}

#[tokio::test]
async fn a_database_that_is_put_back_serves_again() {
    let stage = Stage::of(&["a"]).await;
    let client = stage.client(ERA).await;
    assert_echo(&client, "a", "before").await;
    let file = stage.gateway.home().data_dir().join("highwater.db");
    let aside = file.with_extension("aside");
    fs::rename(&file, &aside).unwrap();
    not_ready(&stage, "the session store was removed or replaced").await;
    refused(&client).await;
    fs::rename(&aside, &file).unwrap();
    ready(&stage).await;
    assert_echo(&client, "a", "after").await;
}

/// What a power cut leaves: a last line that is half there.
#[tokio::test]
async fn after_a_power_cut_every_record_before_it_is_told() {
    let mut stage = Stage::of(&["a"]).await;
    let client = stage.client(ERA).await;
    for number in 0..5 {
        assert_echo(&client, "a", &format!("call {number}")).await;
    }
    stage.gateway.kill().await.unwrap();
    let data = stage.gateway.home().data_dir();
    let segment = data.join("audit/000001.jsonl");
    let whole = records(&data);
    let length = fs::metadata(&segment).unwrap().len();
    OpenOptions::new().write(true).open(&segment).unwrap().set_len(length - 40).unwrap();
    stage.gateway.restart().await.unwrap();
    ready(&stage).await;
    let client = stage.client(ERA).await;
    assert_echo(&client, "a", "after").await;
    let now = records(&data);
    let told = |event: &Value| now.iter().any(|it| it == event);
    assert!(whole.iter().rev().skip(1).all(told), "only the line that was cut is missing");
    let decisions =
        now.iter().filter(|it| it["event"] == "decision").map(|it| it["id"].as_str().unwrap().to_owned());
    for id in decisions.collect::<Vec<_>>() {
        let output = stage.gateway.home().command("explain").arg(&id).output().await.unwrap();
        assert!(output.status.success(), "{id}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A database that was copied without the log beside it, or is another one.
#[tokio::test]
async fn a_start_with_a_store_that_knows_less_than_the_record_complains() {
    let mut stage = Stage::of(&["a"]).await;
    let client = stage.client(ERA).await;
    assert_echo(&client, "a", "before").await;
    stage.gateway.stop().await.unwrap();
    let data = stage.gateway.home().data_dir();
    assert!(!stage.gateway.log().contains("does not know"), "{}", stage.gateway.log());
    stage.gateway.restart().await.unwrap();
    stage.gateway.stop().await.unwrap();
    assert!(!stage.gateway.log().contains("does not know"), "{}", stage.gateway.log());
    fs::remove_file(data.join("highwater.db")).unwrap();
    stage.gateway.restart().await.unwrap();
    wait::until_true("it complains", || {
        stage.gateway.log().contains("the session store does not know")
            && stage.gateway.log().contains("--restored")
    })
    .await
    .unwrap();
    assert!(records(&data).iter().any(|it| it["event"] == "log" && it["act"] == "unknown-sessions"));
}

/// After an orderly end the file alone is the whole database.
#[tokio::test]
async fn an_orderly_end_leaves_everything_in_the_file_itself() {
    let mut stage = Stage::of(&["a"]).await;
    let client = stage.client(ERA).await;
    assert_echo(&client, "a", "before").await;
    drop(client);
    stage.gateway.stop().await.unwrap();
    let log = stage.gateway.home().data_dir().join("highwater.db-wal");
    assert_eq!(fs::metadata(log).map_or(0, |log| log.len()), 0);
}

/// The record of an agent that calls all day has an end.
#[tokio::test]
async fn the_record_of_many_calls_stays_within_what_is_kept_and_says_so_before_and_after() {
    const MOST: u64 = 1 << 20;
    let ground = Ground::new();
    let audit = json!({ "max": "1MiB", "compress": false });
    let servers = json!({ "a": ground.one_stdio("a") });
    let stage = ground.serve(&json!({ "flow": "observe", "servers": servers, "audit": audit })).await;
    let client = stage.client(ERA).await;
    let data = stage.gateway.home().data_dir();
    let (size, mut written) = (|| bytes(&data.join("audit")), 0);
    // Half as much again as may be kept, however long each record is.
    while written < MOST * 3 / 2 {
        let before = size();
        for _ in 0..20 {
            assert_echo(&client, "a", "again").await;
        }
        written += size().saturating_sub(before);
    }
    wait::until_true("the record is within what is kept of it", || size() <= MOST).await.unwrap();
    assert_echo(&client, "a", "last").await;
    ready(&stage).await;
    let kept = records(&data);
    assert!(kept.iter().any(|it| it["event"] == "log" && it["act"] == "removed"), "it is on record");
    assert!(kept.iter().any(|it| it["event"] == "decision"));
    let log = stage.gateway.log();
    assert!(log.contains("nine tenths of `audit.max`"), "{log}");
}

/// How much is in a folder.
fn bytes(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).unwrap().filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()));
    files.sum()
}

/// Who came, was turned away, and looked around.
#[tokio::test]
async fn sign_ins_wrong_tokens_sessions_lists_searches_levels_and_unknown_tools_are_on_record() {
    let ground = Ground::new();
    let servers = json!({ "a": ground.one_stdio("a") });
    let stage = ground.serve(&json!({ "flow": "observe", "expose": "both", "servers": servers })).await;
    let client = stage.client(Era::Legacy).await;
    client.request("tools/list", json!({})).await.unwrap();
    client.call("retrieve_tools", json!({ "query": "echo" })).await.unwrap().ok().unwrap();
    client.request("logging/setLevel", json!({ "level": "debug" })).await.unwrap();
    assert_ne!(client.call("a__nothing", json!({})).await.unwrap().error_code(), None);
    let url = stage.gateway.endpoint().to_owned();
    for _ in 0..50 {
        let stranger = Setup::http(&url).token("hwa_wrong").connect_silently().await.unwrap();
        let reply = stranger.exchange(Method::POST, "{}".to_owned(), &[]).await.unwrap();
        assert_eq!(reply.status, 401);
    }
    let api = url.replace("/mcp", "/api/v1/servers");
    let operator = Setup::http(&api).token(stage.gateway.operator_token()).connect_silently().await.unwrap();
    assert_eq!(operator.exchange(Method::GET, String::new(), &[]).await.unwrap().status, 200);
    let mut gateway = stage.gateway;
    gateway.stop().await.unwrap();
    let records = records(&gateway.home().data_dir());
    let access: Vec<&Value> = records.iter().filter(|it| it["event"] == "access").collect();
    let acts = ["session", "list", "search", "log-level", "unknown-tool", "wrong-token", "signed-in"];
    let missing: Vec<&str> =
        acts.into_iter().filter(|act| !access.iter().any(|it| it["act"] == **act)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "these are on no record: {access:#?}");
    let wrong: Vec<&&Value> = access.iter().filter(|it| it["act"] == "wrong-token").collect();
    let counted: u64 = wrong.iter().map(|it| it["count"].as_u64().unwrap_or(1)).sum();
    assert_eq!((wrong.len(), counted), (2, 50), "{wrong:#?}");
    assert_eq!(wrong[0]["from"], "127.0.0.1");
    assert!(!records.iter().any(|it| it.to_string().contains("hwa_wrong")), "no token is on record");
    let level = access.iter().find(|it| it["act"] == "log-level").unwrap();
    assert_eq!(level["what"], "debug");
}
