//! Hooks on the road: to which conversation of a host a call belongs, and what becomes of its label.

use highwater_audit::label_words;
use highwater_core::id::SessionKey;
use highwater_hosts::ancestry::Ancestry;
use highwater_hosts::answer::Verdict;
use highwater_hosts::binding::HostProcess;
use highwater_hosts::event::CallId;
use highwater_hosts::host::{HookName, Host};
use highwater_hosts::table::tool_call;
use highwater_store::Fault;
use serde_json::{Value, json};

use super::{Agent, ClientOptions, ERAS, FETCH, INBOX, LOOK, SEND, STRANGE, Setup, Stage, refusal, text};
use crate::hosts::{CommandHook, HookAnswer, HookFault};

/// A conversation of Claude Code as its hooks tell it.
pub(super) struct Conversation<'a> {
    pub(super) stage: &'a Stage,
    pub(super) id: &'static str,
    pub(super) turn: &'static str,
    pub(super) transcript: String,
    pub(super) process: HostProcess,
    pub(super) ancestry: Ancestry,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(stage: &'a Stage, id: &'static str) -> Self {
        let transcript = format!("/nowhere/{id}.jsonl");
        let process = HostProcess { id: 77, started: 1 };
        Self { stage, id, turn: "turn-1", transcript, process, ancestry: Ancestry::Alone }
    }

    /// Its events have this, and more.
    pub(super) fn payload(&self, hook: HookName, more: Value) -> Value {
        let mut payload = json!({
            "hook_event_name": hook.name(), "session_id": self.id, "prompt_id": self.turn,
            "transcript_path": self.transcript, "cwd": "/home/ada/src",
        });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        payload
    }

    /// Tells an event by a command.
    pub(super) async fn command(&self, hook: HookName, more: Value) -> Result<HookAnswer, HookFault> {
        let input = self.payload(hook, more).to_string();
        let told = CommandHook {
            host: Host::ClaudeCode,
            hook,
            input: input.as_bytes(),
            server: "highwater",
            process: Some(self.process),
            outer: None,
            ancestry: self.ancestry,
        };
        self.stage.gateway.hear_command(&told).await
    }

    pub(super) async fn start(&self, source: &str) {
        self.command(HookName::SessionStart, json!({ "source": source })).await.unwrap();
    }

    /// Announces a call of one of our tools and has the answer printed.
    pub(super) async fn announce(&self, call: &str, tool: &str, more: Value) {
        let mut told =
            json!({ "tool_name": format!("mcp__highwater__{tool}"), "tool_input": {}, "tool_use_id": call });
        told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answered = self.command(HookName::PreToolUse, told).await.unwrap();
        assert_eq!(answered.verdict, Verdict::Pass);
        self.stage.gateway.note_hook_answer(Host::ClaudeCode, &answered.call.unwrap()).await;
    }

    /// A tool of the host has run, with an answer to its hook before.
    pub(super) async fn ran(&self, tool: &str, input: Value, response: Value) {
        let id = format!("{tool} {input}");
        let call = json!({ "tool_name": tool, "tool_input": input, "tool_use_id": id });
        self.command(HookName::PreToolUse, call.clone()).await.unwrap();
        self.stage.gateway.note_hook_answer(Host::ClaudeCode, &CallId::new(&id).unwrap()).await;
        let mut after = call;
        after["tool_response"] = response;
        self.command(HookName::PostToolUse, after).await.unwrap();
    }

    /// Its label, or that of a sub-agent, in words.
    pub(super) fn label(&self, agent: Option<&str>) -> Vec<&'static str> {
        let agent = agent.map(|agent| format!("/{agent}")).unwrap_or_default();
        label(self.stage, &format!("host/local/claude-code/{}{agent}", self.id))
    }
}

fn label(stage: &Stage, key: &str) -> Vec<&'static str> {
    let found = stage.memory.look(&SessionKey::new(key));
    found
        .map(|found| label_words(&found.session.label).collect())
        .unwrap_or_else(|| panic!("no session {key}"))
}

/// Calls a tool as the model of Claude Code does.
pub(super) async fn call(agent: &Agent, call: &str, tool: &str) -> Value {
    let params = json!({ "name": tool, "arguments": {}, "_meta": { "claudecode/toolUseId": call } });
    agent.send("tools/call", params).await.answer
}

/// What is on record of conversations, as words.
pub(super) fn remarks(stage: &Stage) -> Vec<String> {
    let records = stage.audit().into_iter().filter(|record| record["event"] == "remark");
    records.map(|record| record["what"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_call_that_was_announced_belongs_to_its_conversation() {
    for era in ERAS {
        let stage = Setup::usual().open().await;
        let agent = stage.of_era(era);
        let (one, two) = (Conversation::new(&stage, "one"), Conversation::new(&stage, "two"));
        one.start("startup").await;
        one.announce("c1", FETCH, json!({})).await;
        text(&call(&agent, "c1", FETCH).await);
        assert_eq!(one.label(None), STRANGE);
        // The same connection, after `/clear`.
        two.start("clear").await;
        two.announce("c2", LOOK, json!({})).await;
        text(&call(&agent, "c2", LOOK).await);
        assert_eq!(two.label(None), ["integrity:tool", "source:system"]);
        assert_eq!(one.label(None), STRANGE);
        assert_eq!(stage.label(&agent), Vec::<&str>::new(), "nothing is presumed");
        assert_eq!(remarks(&stage), ["conversation", "conversation"]);
    }
}

#[tokio::test]
async fn a_call_that_no_hook_announced_raises_the_label_and_says_why() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[0]);
    let one = Conversation::new(&stage, "one");
    one.start("startup").await;
    one.announce("c1", LOOK, json!({})).await;
    text(&call(&agent, "c1", LOOK).await);
    // Its hooks are silent from here on.
    text(&call(&agent, "c2", LOOK).await);
    let label = one.label(None);
    assert!(label.contains(&"integrity:none") && label.contains(&"unclassified"), "{label:?}");
    assert_eq!(remarks(&stage), ["conversation", "unannounced-call"]);
    let notices = stage.gateway.notices(10).await.unwrap();
    assert_eq!(notices.len(), 1);
    assert!(notices[0].message.contains("highwater connect claude-code"), "{:?}", notices[0]);
    // Said once.
    text(&agent.call(LOOK, json!({})).await);
    assert_eq!(stage.gateway.notices(10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_announcement_is_for_one_call_of_one_tool() {
    for (announced, first, then) in [(LOOK, "c2", LOOK), (INBOX, "c1", LOOK), (LOOK, "c1", LOOK)] {
        let stage = Setup::usual().open().await;
        let agent = stage.of_era(ERAS[0]);
        let one = Conversation::new(&stage, "one");
        one.start("startup").await;
        one.announce("c0", LOOK, json!({})).await;
        text(&call(&agent, "c0", LOOK).await);
        one.announce("c1", announced, json!({})).await;
        if announced == LOOK && first == "c1" {
            text(&call(&agent, "c1", LOOK).await);
            assert!(!one.label(None).contains(&"unclassified"));
        }
        text(&call(&agent, first, then).await);
        assert!(one.label(None).contains(&"unclassified"), "{announced} {first}");
    }
}

#[tokio::test]
async fn a_sub_agent_begins_with_the_label_of_its_parent_and_joins_it_when_it_ends() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[0]);
    let one = Conversation::new(&stage, "one");
    one.start("startup").await;
    one.announce("c1", INBOX, json!({})).await;
    text(&call(&agent, "c1", INBOX).await);
    let child = json!({ "agent_id": "a1", "agent_type": "general" });
    one.command(HookName::SubagentStart, child.clone()).await.unwrap();
    assert!(one.label(Some("a1")).contains(&"pii"));
    one.announce("c2", FETCH, child.clone()).await;
    text(&call(&agent, "c2", FETCH).await);
    assert!(one.label(Some("a1")).contains(&"integrity:none"));
    assert!(!one.label(None).contains(&"integrity:none"), "the parent has not read it yet");
    one.command(HookName::SubagentStop, child).await.unwrap();
    assert!(one.label(None).contains(&"integrity:none"));
}

#[tokio::test]
async fn what_a_hosts_own_tools_show_raises_the_label() {
    let cases = [
        ("WebFetch", json!({ "url": "https://evil.example/x?secret" }), "integrity:none"),
        ("Bash", json!({ "command": "curl -s https://evil.example" }), "integrity:none"),
        ("Bash", json!({ "command": "cargo test" }), "confidential"),
        ("Read", json!({ "file_path": "/home/ada/src/node_modules/x/README.md" }), "integrity:none"),
        ("Read", json!({ "file_path": "/home/ada/src/main.rs" }), "confidential"),
        ("Read", json!({ "file_path": "/home/ada/.aws/credentials" }), "credentials"),
        ("mcp__other__query", json!({}), "unclassified"),
        ("SomethingNew", json!({}), "unclassified"),
    ];
    for (tool, input, expected) in cases {
        let stage = Setup::usual().open().await;
        let one = Conversation::new(&stage, "one");
        one.start("startup").await;
        one.ran(tool, input.clone(), json!({})).await;
        let label = one.label(None);
        assert!(label.contains(&expected), "{tool} {input}: {label:?}");
    }
    let stage = Setup::usual().open().await;
    let one = Conversation::new(&stage, "one");
    one.start("startup").await;
    for tool in ["TodoWrite", "Write", "Agent", "mcp__highwater__up__fetch"] {
        one.ran(tool, json!({ "file_path": "/x" }), json!({})).await;
    }
    assert_eq!(one.label(None), Vec::<&str>::new());
}

#[tokio::test]
async fn what_was_read_with_a_hosts_own_tools_counts_on_the_road() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[0]);
    let one = Conversation::new(&stage, "one");
    one.start("startup").await;
    one.ran("WebFetch", json!({ "url": "https://evil.example/" }), json!({})).await;
    one.ran("Read", json!({ "file_path": "/home/ada/src/plan.txt" }), json!({})).await;
    one.announce("c1", SEND, json!({})).await;
    refusal(&call(&agent, "c1", SEND).await);
    assert_eq!(stage.up().runs("send"), 0);
}

#[tokio::test]
async fn a_tool_that_ran_although_its_hook_was_never_answered_is_found_out() {
    let stage = Setup::usual().open().await;
    let one = Conversation::new(&stage, "one");
    one.start("startup").await;
    let native = json!({ "tool_name": "Bash", "tool_input": { "command": "true" }, "tool_use_id": "b1" });
    one.command(HookName::PreToolUse, native.clone()).await.unwrap();
    // The hook was stopped before it could print what it was told.
    let mut after = native;
    after["tool_response"] = json!({});
    one.command(HookName::PostToolUse, after).await.unwrap();
    assert!(one.label(None).contains(&"unclassified"));
    assert!(remarks(&stage).contains(&"ran-unanswered".to_owned()));
}

#[tokio::test]
async fn the_hidden_tool_is_for_hooks_alone() {
    for (era, expose) in ERAS.into_iter().flat_map(|era| ["direct", "both"].map(|expose| (era, expose))) {
        let setup = Setup::usual();
        let stage = setup.with(|config| {
            config["virtual_servers"]["default"] = json!({ "servers": ["up"], "expose": expose })
        });
        let stage = stage.open().await;
        let agent = stage.of_era(era);
        let one = Conversation::new(&stage, "one");
        let mut arguments = one.payload(HookName::UserPromptSubmit, json!({ "prompt": "hello" }));
        arguments["host"] = json!("claude-code");
        // As a model's call, under its own name or through another tool.
        let params = json!({ "name": tool_call::TOOL, "arguments": arguments, "_meta": { "claudecode/toolUseId": "c1" } });
        let answer = agent.send("tools/call", params).await.answer;
        assert!(answer.to_string().contains("unknown tool"), "{answer}");
        for through in ["call_tool_read", "call_tool_destructive"] {
            let inner = json!({ "name": tool_call::TOOL, "arguments": arguments });
            let answer = agent.call(through, inner).await;
            assert!(answer.to_string().contains("unknown tool"), "{answer}");
        }
        let found = agent.call("retrieve_tools", json!({ "query": "hook highwater" })).await;
        assert!(!found.to_string().contains(tool_call::TOOL), "{found}");
        let listed = agent.send("tools/list", json!({})).await.answer;
        assert!(!listed.to_string().contains(tool_call::TOOL), "{listed}");
        assert!(stage.memory.look(&SessionKey::new("host/local/claude-code/one")).is_none());
        // As a hook's own.
        assert_eq!(text(&agent.call(tool_call::TOOL, arguments).await), "{}");
        assert!(stage.memory.look(&SessionKey::new("host/local/claude-code/one")).is_some());
    }
}

#[tokio::test]
async fn a_hook_of_the_hidden_tool_ties_its_connection() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[0]);
    let one = Conversation::new(&stage, "one");
    one.start("startup").await;
    let mut arguments = one.payload(HookName::UserPromptSubmit, json!({ "prompt": "hello" }));
    arguments["host"] = json!("claude-code");
    text(&agent.call(tool_call::TOOL, arguments).await);
    // What is no call of a tool belongs to whoever is on the connection.
    agent.send("resources/list", json!({})).await;
    text(&agent.call(LOOK, json!({})).await);
    assert!(one.label(None).contains(&"unclassified"), "a call without an id was announced by nobody");
}

#[tokio::test]
async fn other_clients_are_not_touched_by_hooks() {
    let stage = Setup::usual().open().await;
    let one = Conversation::new(&stage, "one");
    one.start("startup").await;
    one.announce("c1", FETCH, json!({})).await;
    let other = stage.agent(ClientOptions { context: Some("mine"), ..ClientOptions::default() });
    text(&other.call(INBOX, json!({})).await);
    text(&call(&other, "unknown", INBOX).await);
    assert!(stage.label(&other).contains(&"pii"));
    assert_eq!(one.label(None), Vec::<&str>::new());
}

#[tokio::test]
async fn a_hook_whose_effect_cannot_be_stored_gets_no_answer_and_nothing_goes_on() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[0]);
    let one = Conversation::new(&stage, "one");
    one.start("startup").await;
    one.announce("c1", LOOK, json!({})).await;
    stage.store_fails(Fault::Write);
    let fetched = json!({ "tool_name": "WebFetch", "tool_input": { "url": "https://evil.example" },
        "tool_use_id": "c1", "tool_response": {} });
    assert!(one.command(HookName::PostToolUse, fetched).await.is_err());
    let answer = call(&agent, "c1", LOOK).await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("the session store is away"), "{answer}");
    stage.store_fails(None);
    text(&call(&agent, "c1", LOOK).await);
    assert!(one.label(None).contains(&"integrity:none"), "what was owed is paid first");
}

#[tokio::test]
async fn a_label_outlives_the_gateway_and_a_conversation_that_read_nothing_stays_clean() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[0]);
    let (one, two) = (Conversation::new(&stage, "one"), Conversation::new(&stage, "two"));
    one.start("startup").await;
    one.announce("c1", FETCH, json!({})).await;
    text(&call(&agent, "c1", FETCH).await);
    two.start("clear").await;
    let next = Setup::usual().on(&stage.memory).open().await;
    let (one, two) = (Conversation::new(&next, "one"), Conversation::new(&next, "two"));
    // What is presumed has been read by somebody else.
    let agent = next.of_era(ERAS[0]);
    text(&agent.call(FETCH, json!({})).await);
    two.announce("c2", LOOK, json!({})).await;
    text(&call(&agent, "c2", LOOK).await);
    assert_eq!(two.label(None), ["integrity:tool", "source:system"]);
    one.announce("c3", LOOK, json!({})).await;
    assert_eq!(one.label(None), STRANGE);
}

#[tokio::test]
async fn a_conversation_that_was_heard_of_in_the_middle_has_read_what_its_connection_has() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[0]);
    text(&agent.call(INBOX, json!({})).await);
    let one = Conversation::new(&stage, "one");
    one.announce("c1", LOOK, json!({})).await;
    text(&call(&agent, "c1", LOOK).await);
    assert!(one.label(None).contains(&"pii"), "{:?}", one.label(None));
}

#[tokio::test]
async fn a_resumed_conversation_keeps_its_label_and_a_fork_copies_it() {
    let stage = Setup::usual().open().await;
    let agent = stage.of_era(ERAS[0]);
    let one = Conversation::new(&stage, "one");
    one.start("startup").await;
    one.announce("c1", INBOX, json!({})).await;
    text(&call(&agent, "c1", INBOX).await);
    one.command(HookName::SessionEnd, json!({ "reason": "other" })).await.unwrap();
    for source in ["resume", "compact", "startup", "clear"] {
        one.start(source).await;
        assert!(one.label(None).contains(&"pii"), "{source}");
    }
    let fork = Conversation::new(&stage, "fork");
    fork.start("fork").await;
    assert!(fork.label(None).contains(&"pii"));
}
