//! Whole conversations of real hosts, as they were recorded, through the shipped program.

use std::fs;

use highwater_hosts::host::{HookName, Host as Kind};
use highwater_testkit::client::{Client, Era, Request};
use serde_json::{Value, json};

use crate::host::{Host, remarks, terminal};
use crate::stage::{LOOK, Stage};

/// Replays a recording: its command hooks by a host of that name, everything else on one connection. Gives the
/// conversations that are known then, with what their keys rest on, and what is on record.
async fn replay(kind: Kind, recording: &str, words: &str) -> (Vec<(String, String)>, Vec<(String, String)>) {
    let more = json!({ "agent_tokens": { "bot": { "permissions": ["read", "write", "destructive"], "servers": ["*"], "words": words } } });
    let stage = Stage::new(more).await;
    let host = Host::at(kind, &stage.gateway.home().data_dir());
    let client = client(&stage).await;
    let transcript = host.file("transcript.jsonl");
    let path = json!(transcript.to_str().unwrap());
    // The recorded server had one tool.
    let recording = recording.replace("mcp__highwater__echo", &format!("mcp__highwater__{LOOK}"));
    let lines: Vec<Value> = recording.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let written = lines.iter().filter_map(|line| line.get("transcript")).map(|line| format!("{line}\n"));
    fs::write(&transcript, written.collect::<String>()).unwrap();
    for line in &lines {
        if let Some(payload) = line.get("payload") {
            let mut payload = payload.clone();
            if payload.get("transcript_path").is_some() {
                payload["transcript_path"] = path.clone();
            }
            let hook = HookName::from_name(line["hook"].as_str().unwrap()).unwrap();
            host.run(&host.line(hook), payload.to_string().as_bytes()).await.passed();
        }
        if let Some(message) = line.get("message") {
            let mut params = message["params"].clone();
            if params["name"] == "echo" {
                params["name"] = json!(LOOK);
            } else if params["arguments"].get("transcript_path").is_some() {
                params["arguments"]["transcript_path"] = path.clone();
            }
            let answer = client.send(Request::new("tools/call").params(params)).await.unwrap();
            answer.ok().unwrap();
            assert!(!answer.is_tool_error(), "{}", answer.raw());
        }
    }
    let sessions = stage.sessions().await;
    let text = |session: &Value, key: &str| session[key].as_str().unwrap().to_owned();
    let of_hosts = sessions.iter().filter(|session| session["kind"] == "host");
    (of_hosts.map(|session| (text(session, "key"), text(session, "restsOn"))).collect(), remarks(&stage))
}

async fn client(stage: &Stage) -> Client {
    let made = terminal(stage, &["token", "create", "bot", "--json"]).await;
    let made: Value = serde_json::from_str(&made).unwrap();
    let secret = made["secret"].as_str().unwrap();
    stage.gateway.http(Era::Legacy).token(secret).without_stream().connect().await.unwrap()
}

/// What happened in the conversations, but for what host tools raised.
fn told(remarks: &[(String, String)]) -> Vec<&str> {
    let told = remarks.iter().map(|(what, _)| what.as_str());
    told.filter(|what| *what != "host-tool").collect()
}

#[tokio::test]
async fn claude_code_with_a_clear_in_the_middle() {
    let recording = include_str!("../../../hosts/tests/fixtures/claude-2.1.325.terminal.jsonl");
    let (sessions, remarks) = replay(Kind::ClaudeCode, recording, "owner").await;
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    for (key, rests_on) in &sessions {
        assert!(key.starts_with("host/local/claude-code/"), "{key}");
        assert_eq!(rests_on, "Claude Code's own conversation id");
    }
    assert_eq!(told(&remarks), ["conversation", "words", "conversation", "words"]);
    let in_words: Vec<_> = remarks.iter().filter(|(what, _)| what == "words").map(|(_, key)| key).collect();
    assert_ne!(in_words[0], in_words[1]);
}

#[tokio::test]
async fn claude_code_that_a_program_has_started_brings_words_only_where_the_token_says_so() {
    let recording = include_str!("../../../hosts/tests/fixtures/claude-2.1.325.print.jsonl");
    let (_, remarks) = replay(Kind::ClaudeCode, recording, "owner").await;
    assert_eq!(told(&remarks), ["conversation", "no-words"]);
    let (_, remarks) = replay(Kind::ClaudeCode, recording, "sdk").await;
    assert_eq!(told(&remarks), ["conversation", "words"]);
}

#[tokio::test]
async fn codex_with_a_sub_agent() {
    let recording = include_str!("../../../hosts/tests/fixtures/codex-0.166.0.exec.jsonl");
    let (sessions, remarks) = replay(Kind::Codex, recording, "sdk").await;
    let rests_on: Vec<_> = sessions.iter().map(|(_, rests_on)| rests_on.as_str()).collect();
    assert!(rests_on.contains(&"Codex's own conversation id"), "{rests_on:?}");
    assert!(rests_on.contains(&"Codex's own id of a sub-agent"), "{rests_on:?}");
    let told = told(&remarks);
    assert!(told.contains(&"words") && told.contains(&"sub-agent"), "{told:?}");
    assert!(!told.contains(&"unannounced-call") && !told.contains(&"ran-unanswered"), "{told:?}");
}
