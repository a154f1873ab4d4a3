//! `highwater approvals` and `highwater receipts` beside a running gateway.

use std::process::Output;

use highwater_testkit::client::{Era, Setup};
use serde_json::{Value, json};

use crate::stage::{GATED, PROGRAM, Stage, evidence, signed};

fn run(stage: &Stage, arguments: &[&str]) -> Output {
    let mut command = std::process::Command::new(PROGRAM);
    command.args(arguments).arg("--data-dir").arg(stage.gateway.home().data_dir());
    command.env_remove("BROWSER").env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").output().unwrap()
}

pub(crate) fn said(stage: &Stage, arguments: &[&str]) -> String {
    let output = run(stage, arguments);
    let words =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {words}");
    words
}

fn failed(stage: &Stage, arguments: &[&str], code: i32) -> String {
    let output = run(stage, arguments);
    let words =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {words}");
    words
}

#[tokio::test]
async fn what_waits_is_listed_shown_and_denied_and_nothing_says_yes() {
    let stage = Stage::new().await;
    assert_eq!(said(&stage, &["approvals"]), "nothing waits for an answer\n");
    assert!(said(&stage, &["approvals", "credentials"]).starts_with("no passkeys; add two"));

    let setup = Setup::http(stage.gateway.endpoint()).era(Era::Legacy).token(stage.gateway.agent_token());
    let client = setup.without_stream().capabilities(json!({})).connect().await.unwrap();
    client.call(GATED, json!({ "path": "a\u{202e}b" })).await.unwrap();
    let listed: Value = serde_json::from_str(&said(&stage, &["approvals", "list", "--json"])).unwrap();
    let id = listed[0]["id"].as_str().unwrap();
    let list = said(&stage, &["approvals", "list"]);
    assert!(list.contains(id) && list.contains("passkey") && list.contains("waiting"), "{list}");
    assert!(list.starts_with("id "), "its head is in small letters, as of every table: {list}");
    let shown = said(&stage, &["approvals", "show", id]);
    assert!(shown.contains("⟦U+202E⟧") && !shown.contains('\u{202e}'), "{shown}");
    let opened = said(&stage, &["approvals", "approve", id]);
    assert!(opened.starts_with("open http://localhost:") && opened.trim_end().ends_with(id), "{opened}");

    assert_eq!(said(&stage, &["approvals", "deny", id, "--person", "ada"]), format!("denied `{id}`\n"));
    failed(&stage, &["approvals", "deny", id], 1);
    let refused = failed(&stage, &["approvals", "approve", id], 3);
    assert!(refused.contains("was declined by"), "{refused}");
    assert_eq!(said(&stage, &["approvals"]), "nothing waits for an answer\n");
    assert!(said(&stage, &["approvals", "list", "--all"]).contains("declined"));
    let answer = client.call(GATED, json!({ "path": "a\u{202e}b" })).await.unwrap();
    assert!(answer.is_tool_error(), "{}", answer.raw());
    assert_eq!(stage.ran("delete"), 0);
    for (arguments, code) in [
        (&["approvals", "show", "none"][..], 1),
        (&["approvals", "approve", "none"], 1),
        (&["approvals", "yes", id], 2),
        (&["receipts", "show", "none"], 1),
    ] {
        failed(&stage, arguments, code);
    }
}

#[tokio::test]
async fn a_browser_is_opened_where_there_is_one() {
    let stage = Stage::new().await;
    let folder = stage.gateway.home().path();
    let (browser, seen) = (folder.join("browser"), folder.join("seen"));
    std::fs::write(&browser, format!("#!/bin/sh\necho \"$1\" > {}\n", seen.display())).unwrap();
    std::fs::set_permissions(&browser, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = std::process::Command::new(PROGRAM);
    command.args(["approvals", "mandate", "--new", "--data-dir"]).arg(stage.gateway.home().data_dir());
    let output = command.env("BROWSER", &browser).output().unwrap();
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(words.starts_with("opened http://localhost:"), "{words}");
    // Whoever it is opened for is let in; what lets them in is nowhere but behind the address.
    let seen = std::fs::read_to_string(seen).unwrap();
    let (address, ticket) = seen.trim().split_once("#sign-in=").unwrap();
    assert_eq!(words.strip_prefix("opened ").unwrap().trim(), address);
    assert!(ticket.len() == 43 && !words.contains(ticket), "{words}");
}

#[tokio::test]
async fn passkeys_are_enrolled_listed_and_taken_back() {
    let stage = Stage::new().await;
    let window: Value =
        serde_json::from_str(&said(&stage, &["approvals", "enroll", "--json", "--no-open"])).unwrap();
    assert!(window["code"].is_string() && window["user"] == "owner", "{window}");
    let client = stage.client(Era::Modern).await;
    stage.enrolled(&client).await;
    let words = said(&stage, &["approvals", "enroll", "--no-open"]);
    assert!(words.contains("A passkey that you have already confirms the new one."), "{words}");
    let listed: Value = serde_json::from_str(&said(&stage, &["approvals", "credentials", "--json"])).unwrap();
    let id = listed[0]["id"].as_str().unwrap();
    assert_eq!(listed[0]["standing"], "active");
    let named = listed[0]["name"].as_str().unwrap();
    assert!(said(&stage, &["approvals", "credentials"]).contains(named), "{named}");
    said(&stage, &["approvals", "credentials", "--rename", id, "--name", "Blue key"]);
    let words = said(&stage, &["approvals", "credentials"]);
    assert!(words.lines().any(|line| line.starts_with("Blue key  ")), "{words}");
    assert!(
        failed(&stage, &["approvals", "credentials", "--rename", id, "--name", " "], 1).contains("one line")
    );
    said(&stage, &["approvals", "credentials", "--revoke", id, "--reason", "lost"]);
    assert!(said(&stage, &["approvals", "credentials"]).contains("revoked"));
    failed(&stage, &["approvals", "credentials", "--revoke", id], 1);
    assert!(said(&stage, &["approvals", "mandate"]).starts_with("no mandates"));
    let reset = said(&stage, &["approvals", "reset"]);
    assert!(reset.starts_with("all passkeys of `owner` are reset on "), "{reset}");
    let early = failed(&stage, &["approvals", "reset", "--complete"], 1);
    assert!(early.contains("not due yet"), "{early}");
}

#[tokio::test]
async fn a_receipt_of_the_gateway_verifies_elsewhere_with_the_files_alone() {
    let stage = Stage::new().await;
    let client = stage.client(Era::Modern).await;
    let passkey = stage.enrolled(&client).await;
    for path in ["a", "b"] {
        let arguments = json!({ "path": path });
        let challenge = Stage::challenge(&client, GATED, &arguments).await;
        let response = passkey.get(&challenge["requestOptions"]).unwrap();
        let answer = client.send(signed(GATED, &arguments, evidence(&challenge, &response))).await.unwrap();
        assert_eq!(answer.text().unwrap(), "done", "{}", answer.raw());
    }
    let list = said(&stage, &["receipts", "list"]);
    assert_eq!(list.lines().filter(|line| line.contains(GATED)).count(), 2, "{list}");
    let listed: Value = serde_json::from_str(&said(&stage, &["receipts", "list", "--json"])).unwrap();
    let id = listed[0]["id"].as_str().unwrap();
    assert!(said(&stage, &["receipts", "show", id]).contains(GATED));

    let elsewhere = tempfile::tempdir().unwrap();
    let file = |name: &str| elsewhere.path().join(name).display().to_string();
    said(&stage, &["receipts", "export", "--out", &file("receipts.jsonl")]);
    said(&stage, &["receipts", "export", "--enrollments", "--out", &file("enrollments.jsonl")]);
    let key: Value = serde_json::from_str(&said(&stage, &["receipts", "key", "--json"])).unwrap();
    drop(stage);
    let verify = |file: &str, enrollments: &str| {
        let mut command = std::process::Command::new(PROGRAM);
        command.args(["receipts", "verify", file, "--enrollments", enrollments]);
        command.args([
            "--origin",
            key["origin"].as_str().unwrap(),
            "--gateway-key",
            key["gatewayKey"].as_str().unwrap(),
        ]);
        let output = command.env_clear().output().unwrap();
        (
            output.status.code(),
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)),
        )
    };
    let (code, words) = verify(&file("receipts.jsonl"), &file("enrollments.jsonl"));
    assert_eq!(code, Some(0), "{words}");
    assert!(
        words.contains("Verified: signed by keys that were enrolled, as this gateway recorded it."),
        "{words}"
    );
    // D16: whoever forgets the page is told which one it was, and what to add.
    let mut command = std::process::Command::new(PROGRAM);
    command.args(["receipts", "verify", &file("receipts.jsonl")]).env_clear();
    let output = command.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{words}");
    assert!(words.contains(&format!("add `--origin {}`", key["origin"].as_str().unwrap())), "{words}");
    let text = std::fs::read_to_string(file("receipts.jsonl")).unwrap();
    std::fs::write(file("changed.jsonl"), text.replace(r#"{\"path\":\"b\"}"#, r#"{\"path\":\"c\"}"#))
        .unwrap();
    let (code, words) = verify(&file("changed.jsonl"), &file("enrollments.jsonl"));
    assert_eq!(code, Some(4), "{words}");
    assert!(words.contains("client-data: another tool, other arguments"), "{words}");
}
