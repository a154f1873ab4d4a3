//! What people are told of hooks and of the conversations that they tell of.

use highwater_hosts::host::HookName;
use highwater_testkit::client::{Era, Request};
use serde_json::json;

use crate::host::{Host, event, happened, shell, terminal};
use crate::stage::{LOOK, Stage, done};

#[tokio::test]
async fn status_and_listings_say_that_hooks_are_at_work() {
    let stage = Stage::new(json!({})).await;
    assert!(terminal(&stage, &["status"]).await.contains("hooks: none was heard"));
    let host = Host::of(&stage);
    host.hook(&event(HookName::SessionStart, "one", json!({ "source": "startup" }))).await.passed();
    host.hook(&shell("one", "c1")).await.passed();
    let status = terminal(&stage, &["status"]).await;
    assert!(status.contains("hooks: Claude Code, 1 conversation, last `PreToolUse`"), "{status}");
    let listed = terminal(&stage, &["session", "list"]).await;
    assert!(listed.contains("Claude Code's own conversation id"), "{listed}");
}

#[tokio::test]
async fn a_call_that_no_hook_announced_is_told_to_people() {
    let stage = Stage::new(json!({})).await;
    let host = Host::of(&stage);
    let client = stage.client(Era::Legacy).await;
    host.hook(&event(HookName::SessionStart, "one", json!({ "source": "startup" }))).await.passed();
    let announced =
        json!({ "tool_name": format!("mcp__highwater__{LOOK}"), "tool_input": {}, "tool_use_id": "c1" });
    host.hook(&event(HookName::PreToolUse, "one", announced)).await.passed();
    for call in ["c1", "c2"] {
        let request = Request::call(LOOK, &json!({})).meta("claudecode/toolUseId", call);
        done(&client.send(request).await.unwrap());
    }
    assert_eq!(happened(&stage), ["conversation", "unannounced-call"]);
    let log = stage.gateway.log();
    assert!(log.contains("highwater connect claude-code"), "{log}");
}
