//! Every line that was recorded of real hosts becomes the event that it is.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

use highwater_hosts::call_meta::{CallMeta, read_meta};
use highwater_hosts::event::{EventKind, HostEvent, Outcome, StartSource};
use highwater_hosts::host::{HookName, Host};
use highwater_hosts::table::{read_payload, read_value};
use highwater_hosts::words::PromptOrigin;
use serde_json::{Value, json};

const CLAUDE: &str = include_str!("fixtures/claude-2.1.325.jsonl");
const CODEX: &str = include_str!("fixtures/codex-0.166.0.jsonl");

/// What a recording tells, line by line: the event in short, its turn's first digits, and the sub-agent.
fn told(host: Host, recording: &str) -> Vec<String> {
    let mut told = Vec::new();
    for line in recording.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let Some(payload) = line.get("payload") else { continue };
        let hook = HookName::from_name(payload["hook_event_name"].as_str().unwrap()).unwrap();
        let event = read_payload(host, hook, payload.to_string().as_bytes()).unwrap();
        assert_eq!(event.conversation.as_str(), payload["session_id"].as_str().unwrap());
        assert_eq!(event.folder.as_deref(), Some("/home/user/proj"));
        assert!(event.transcript.is_some());
        told.push(short(&event));
    }
    told
}

fn short(event: &HostEvent) -> String {
    let kind = match &event.kind {
        EventKind::Start(StartSource::Startup) => "start".into(),
        EventKind::Start(source) => format!("start {source:?}"),
        EventKind::End(reason) => format!("end {reason}"),
        EventKind::Prompt(text) => format!("prompt {}", text.get(..14).unwrap()),
        EventKind::Before(call) => format!("before {} {}", call.tool, call.id),
        EventKind::After(call, Outcome::Result(_)) => format!("after {} {}", call.tool, call.id),
        EventKind::After(call, Outcome::Failure(_)) => format!("failed {} {}", call.tool, call.id),
        EventKind::Batch(calls) => format!("batch of {}", calls.len()),
        EventKind::SubagentStart => "sub-agent starts".into(),
        EventKind::SubagentStop(last) => format!("sub-agent stops: {}", last.as_deref().unwrap()),
        EventKind::Notice(hook) => format!("notice {hook}"),
        other => panic!("not in the recordings: {other:?}"),
    };
    let turn = event.turn.as_ref().map(|turn| turn.as_str().rsplit('-').next().unwrap().get(..4).unwrap());
    let agent = event.agent.as_ref().map(|agent| format!(" in {}", agent.sort.as_deref().unwrap()));
    format!("{} {kind}{}", turn.unwrap_or("-"), agent.unwrap_or_default())
}

#[test]
fn claude_code_tells_its_conversation() {
    let expected = [
        "- start",
        "0872 prompt [[script:base]",
        "0872 before Bash toolu_fake_0001_1",
        "0872 after Bash toolu_fake_0001_1",
        "0872 batch of 1",
        "0872 before mcp__rec__echo toolu_fake_0002_0",
        "0872 after mcp__rec__echo toolu_fake_0002_0",
        "0872 batch of 1",
        "0872 before mcp__rech__send toolu_fake_0003_0",
        "0872 after mcp__rech__send toolu_fake_0003_0",
        "0872 batch of 1",
        "0872 before Agent toolu_fake_0004_0",
        "0872 after Agent toolu_fake_0004_0",
        "0872 sub-agent starts in general-purpose",
        "0872 batch of 1",
        "0872 before Bash toolu_fake_0005_0 in general-purpose",
        "0872 notice Stop",
        "0872 after Bash toolu_fake_0005_0 in general-purpose",
        "0872 batch of 1 in general-purpose",
        "0872 before mcp__rec__echo toolu_fake_0007_0 in general-purpose",
        "0872 after mcp__rec__echo toolu_fake_0007_0 in general-purpose",
        "0872 batch of 1 in general-purpose",
        "0872 sub-agent stops: sub done in general-purpose",
        "e04b prompt <task-notifica",
        "e04b notice Stop",
        "e04b end other",
    ];
    assert_eq!(told(Host::ClaudeCode, CLAUDE), expected);
}

#[test]
fn codex_tells_its_conversation() {
    let expected = [
        "- start",
        "48cf prompt [[script:base]",
        "48cf before Bash call_fake_0001_1",
        "48cf after Bash call_fake_0001_1",
        "48cf before mcp__rec__echo call_fake_0002_0",
        "48cf after mcp__rec__echo call_fake_0002_0",
        "48cf before mcp__rech__send call_fake_0003_0",
        "48cf after mcp__rech__send call_fake_0003_0",
        "48cf before spawn_agent call_fake_0004_0",
        "48cf after spawn_agent call_fake_0004_0",
        "c074 sub-agent starts in default",
        "48cf notice Stop",
        "c074 prompt [[script:sub]] in default",
        "- end other",
    ];
    assert_eq!(told(Host::Codex, CODEX), expected);
}

#[test]
fn inputs_and_results_are_kept_as_they_came() {
    let lines = CLAUDE.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut compared = 0;
    for line in lines.filter(|line| line["hook"] == "PostToolUse") {
        let payload = &line["payload"];
        let EventKind::After(call, Outcome::Result(result)) =
            read_value(Host::ClaudeCode, payload).unwrap().kind
        else {
            panic!("{payload}")
        };
        assert_eq!((&call.input, &result), (&payload["tool_input"], &payload["tool_response"]));
        let server = payload.get("mcp_server").map(|server| server["name"].as_str().unwrap().to_owned());
        assert_eq!(call.server, server);
        compared += 1;
    }
    assert_eq!(compared, 6);
}

/// What the MCP requests of a recording say of themselves.
fn metas(recording: &str) -> Vec<CallMeta> {
    let lines = recording.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let calls = lines.filter(|line| line.pointer("/message/method") == Some(&json!("tools/call")));
    calls.map(|line| read_meta(&line["message"]["params"]["_meta"]).unwrap().unwrap()).collect()
}

#[test]
fn every_recorded_mcp_call_was_announced_by_a_hook() {
    for (host, recording) in [(Host::ClaudeCode, CLAUDE), (Host::Codex, CODEX)] {
        let announced = told(host, recording);
        for meta in metas(recording) {
            assert_eq!(meta.host, host);
            let call = meta.call.unwrap();
            let found =
                announced.iter().filter(|told| told.contains(" before ") && told.contains(call.as_str()));
            assert_eq!(found.count(), 1, "{call}");
        }
    }
    assert_eq!((metas(CLAUDE).len(), metas(CODEX).len()), (3, 2));
}

#[test]
fn codex_says_in_each_call_whose_it_is() {
    for meta in metas(CODEX) {
        assert_eq!(meta.conversation.unwrap().as_str(), "01a1e41c-fd1a-7140-8188-938353a71559");
        assert_eq!(meta.turn.unwrap().as_str(), "01a1e41c-fda5-7d13-aead-48cfe4da3180");
        assert_eq!((meta.agent, meta.origin), (None, PromptOrigin::Sdk));
    }
}

#[test]
fn codex_tells_what_was_typed_at_a_terminal() {
    let metas = metas(include_str!("fixtures/codex-0.166.0.terminal.jsonl"));
    let origins: Vec<_> = metas.into_iter().map(|meta| meta.origin).collect();
    assert_eq!(origins, [PromptOrigin::Human]);
}

#[test]
fn requests_of_the_matrices_are_told_apart() {
    let matrices = [
        include_str!("fixtures/claude-2.1.197.matrix.jsonl"),
        include_str!("fixtures/claude-2.1.325.matrix.jsonl"),
        include_str!("fixtures/codex-0.166.0.matrix.jsonl"),
    ];
    let (mut of_models, mut of_hooks) = (0, 0);
    for line in matrices.iter().flat_map(|matrix| matrix.lines()) {
        let line: Value = serde_json::from_str(line).unwrap();
        for list in ["mcp", "mcp_calls"].into_iter().filter_map(|name| line.get(name)) {
            for call in list.as_array().unwrap() {
                let meta = read_meta(call.get("_meta").unwrap_or(&Value::Null)).unwrap();
                let has_call_id = meta.is_some_and(|meta| meta.call.is_some());
                // Only a model's call bears a call id; the hidden tool was called by hooks.
                assert_eq!(has_call_id, call["name"] != "hidden", "{call}");
                if has_call_id { of_models += 1 } else { of_hooks += 1 }
            }
        }
    }
    assert_eq!((of_models, of_hooks), (4, 11));
}

#[test]
fn unknown_events_and_members_are_tolerated() {
    let payload = json!({ "hook_event_name": "SomethingNew", "session_id": "s", "novel": { "a": 1 } });
    assert_eq!(read_value(Host::Codex, &payload).unwrap().kind, EventKind::Unknown("SomethingNew".into()));
    // An event of another host is unknown too.
    let payload = json!({ "hook_event_name": "PostToolBatch", "session_id": "s", "tool_calls": 7 });
    assert_eq!(read_value(Host::Codex, &payload).unwrap().kind, EventKind::Unknown("PostToolBatch".into()));
    let payload = json!({ "hook_event_name": "SessionStart", "session_id": "s", "source": "teleport" });
    let kind = EventKind::Start(StartSource::Unknown("teleport".into()));
    assert_eq!(read_value(Host::ClaudeCode, &payload).unwrap().kind, kind);
}

#[test]
fn garbled_input_is_refused_and_the_place_is_said() {
    let good = json!({ "hook_event_name": "PreToolUse", "session_id": "s", "prompt_id": "p",
        "tool_name": "Bash", "tool_input": {}, "tool_use_id": "c", "mcp_server": { "name": "x" } });
    let cases = [
        ("session_id", json!(""), "`/session_id` is not an id (1 to 256 bytes, no control characters)"),
        ("session_id", json!(null), "`/session_id` is missing"),
        ("prompt_id", json!(7), "`/prompt_id` is not a text"),
        ("tool_input", json!("{}"), "`/tool_input` is not an object"),
        (
            "tool_use_id",
            json!("a\u{0}"),
            "`/tool_use_id` is not an id (1 to 256 bytes, no control characters)",
        ),
        ("tool_name", json!([]), "`/tool_name` is not a text"),
        ("tool_name", json!("x".repeat(5_000)), "`/tool_name` is not a text of at most 4096 bytes"),
        ("cwd", json!("x".repeat(5_000)), "`/cwd` is not a text of at most 4096 bytes"),
        ("agent_id", json!({}), "`/agent_id` is not a text"),
        ("mcp_server", json!({ "name": 1 }), "`/mcp_server/name` is not a text"),
        (
            "hook_event_name",
            json!("Stop"),
            "the hook was installed for `PreToolUse` and the input is of `Stop`",
        ),
    ];
    assert!(read_payload(Host::ClaudeCode, HookName::PreToolUse, good.to_string().as_bytes()).is_ok());
    for (member, value, expected) in cases {
        let mut payload = good.clone();
        payload[member] = value;
        let read = read_payload(Host::ClaudeCode, HookName::PreToolUse, payload.to_string().as_bytes());
        assert_eq!(read.unwrap_err().to_string(), expected, "{member}");
    }
    let read = |input: &[u8]| read_payload(Host::Codex, HookName::PreToolUse, input).unwrap_err().to_string();
    assert_eq!(read(b"text {}"), "the input is not JSON: line 1, column 2");
    assert_eq!(read(b""), "the input is not JSON: line 1, column 0");
    assert_eq!(read(b"[]"), "`/` is not an object");
    let batch = json!({ "hook_event_name": "PostToolBatch", "session_id": "s", "tool_calls": [{}] });
    assert_eq!(
        read_value(Host::ClaudeCode, &batch).unwrap_err().to_string(),
        "`/tool_calls/0/tool_use_id` is missing"
    );
    let stop = json!({ "hook_event_name": "SubagentStop", "session_id": "s" });
    assert_eq!(read_value(Host::Codex, &stop).unwrap_err().to_string(), "`/agent_id` is missing");
}
