//! Stories of hosts, told event by event. The laws over random orders are in `tests/binding_laws.rs`.

use serde_json::{Value, json};

use super::*;
use crate::call_meta::read_meta;
use crate::table::read_value;

const HERE: ConnectionId = ConnectionId(1);
const TERMINAL: Carrier = Carrier::Command(Some(HostProcess { id: 10, started: 1 }));
const OTHER_TERMINAL: Carrier = Carrier::Command(Some(HostProcess { id: 20, started: 2 }));

fn binding() -> Binding {
    Binding::new(vec!["highwater".into()], 1_000)
}

fn key(id: &str) -> ConversationKey {
    ConversationKey { host: Host::ClaudeCode, id: ConversationId::new(id).unwrap() }
}

fn node(id: &str) -> Node {
    Node { conversation: key(id), agent: None }
}

fn child(id: &str, agent: &str) -> Node {
    Node { agent: AgentId::new(agent), ..node(id) }
}

fn event(name: &str, session: &str, more: Value) -> HostEvent {
    let mut payload = json!({ "hook_event_name": name, "session_id": session });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    read_value(Host::ClaudeCode, &payload).unwrap()
}

fn before(session: &str, call: &str, tool: &str) -> HostEvent {
    event(
        "PreToolUse",
        session,
        json!({ "prompt_id": "p", "tool_name": tool, "tool_use_id": call, "tool_input": {} }),
    )
}

fn start(session: &str, source: &str) -> HostEvent {
    event("SessionStart", session, json!({ "source": source }))
}

fn hear(binding: &mut Binding, event: &HostEvent, carrier: Carrier) -> Vec<Effect> {
    binding.hear(event, carrier, 0, &|_| false)
}

fn call(binding: &mut Binding, id: &str, tool: &str) -> CallBinding {
    call_on(binding, HERE, id, tool)
}

fn call_on(binding: &mut Binding, connection: ConnectionId, id: &str, tool: &str) -> CallBinding {
    let meta = read_meta(&json!({ "claudecode/toolUseId": id })).unwrap();
    binding.bind_call(connection, meta.as_ref(), tool, false, 0)
}

fn announced(node: Node) -> CallBinding {
    CallBinding::Announced { node, beside: Vec::new(), turn: TurnId::new("p") }
}

fn why(bound: CallBinding) -> Unannounced {
    match bound {
        CallBinding::Unannounced { why, .. } => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_announced_call_belongs_to_its_conversation() {
    let mut binding = binding();
    assert_eq!(
        hear(&mut binding, &start("a", "startup"), TERMINAL),
        [Effect::Begin(node("a"), FirstLabel::Fresh)]
    );
    hear(&mut binding, &before("a", "c1", "mcp__highwater__echo"), TERMINAL);
    assert_eq!(call(&mut binding, "c1", "echo"), announced(node("a")));
}

#[test]
fn without_hooks_nothing_is_known() {
    assert_eq!(call(&mut binding(), "c1", "echo"), CallBinding::Unbound);
}

#[test]
fn silence_is_a_finding_once_hooks_were_heard() {
    let mut binding = binding();
    hear(&mut binding, &before("a", "c1", "mcp__highwater__echo"), TERMINAL);
    call(&mut binding, "c1", "echo");
    let unannounced = CallBinding::Unannounced { nodes: vec![node("a")], why: Unannounced::NeverHeard };
    assert_eq!(call(&mut binding, "c2", "echo"), unannounced);
    assert_eq!(why(binding.bind_call(HERE, None, "echo", false, 0)), Unannounced::NoCallId);
}

#[test]
fn an_announcement_serves_one_call_and_its_rounds() {
    let mut binding = binding();
    hear(&mut binding, &before("a", "c1", "mcp__highwater__echo"), TERMINAL);
    let meta = read_meta(&json!({ "claudecode/toolUseId": "c1" })).unwrap();
    // A round cannot come before its call.
    assert_eq!(why(binding.bind_call(HERE, meta.as_ref(), "echo", true, 0)), Unannounced::OtherCall);
    assert_eq!(call(&mut binding, "c1", "echo"), announced(node("a")));
    assert_eq!(binding.bind_call(HERE, meta.as_ref(), "echo", true, 0), announced(node("a")));
    assert_eq!(why(call(&mut binding, "c1", "echo")), Unannounced::UsedBefore);
}

#[test]
fn a_second_announcement_with_other_content_voids_both() {
    let mut binding = binding();
    hear(&mut binding, &before("a", "c1", "mcp__highwater__echo"), TERMINAL);
    // The same call told by the other carrier is no contradiction.
    assert_eq!(hear(&mut binding, &before("a", "c1", "mcp__highwater__echo"), Carrier::Tool(HERE)), []);
    let forged = hear(&mut binding, &before("clean", "c1", "mcp__highwater__echo"), TERMINAL);
    let c1 = CallId::new("c1").unwrap();
    assert!(forged.contains(&Effect::Finding(node("clean"), Finding::ContradictoryCall(c1))));
    assert_eq!(why(call(&mut binding, "c1", "echo")), Unannounced::Contradictory);
}

#[test]
fn a_call_of_another_tool_is_not_the_announced_one() {
    let mut binding = binding();
    hear(&mut binding, &before("a", "c1", "mcp__highwater__echo"), TERMINAL);
    assert_eq!(why(call(&mut binding, "c1", "send")), Unannounced::OtherCall);
}

#[test]
fn a_sub_agent_is_a_child_and_joins_back() {
    let mut binding = binding();
    hear(&mut binding, &start("a", "startup"), TERMINAL);
    hear(
        &mut binding,
        &event("UserPromptSubmit", "a", json!({ "prompt_id": "p", "prompt": "go" })),
        TERMINAL,
    );
    let began = hear(&mut binding, &event("SubagentStart", "a", json!({ "agent_id": "x" })), TERMINAL);
    assert_eq!(began, [Effect::Begin(child("a", "x"), FirstLabel::CopyOf(vec![node("a")]))]);
    let mut from_child = before("a", "c1", "mcp__highwater__echo");
    from_child.agent = Some(crate::event::Agent { id: AgentId::new("x").unwrap(), sort: None });
    from_child.turn = TurnId::new("its own turn");
    assert_eq!(hear(&mut binding, &from_child, TERMINAL), []);
    // It is judged by the request that started it.
    assert_eq!(call(&mut binding, "c1", "echo"), announced(child("a", "x")));
    let ended = hear(&mut binding, &event("SubagentStop", "a", json!({ "agent_id": "x" })), TERMINAL);
    assert_eq!(ended, [Effect::Join(child("a", "x"), node("a"))]);
}

#[test]
fn a_sub_agents_task_is_the_prompt_of_no_request() {
    let mut binding = binding();
    hear(
        &mut binding,
        &event("UserPromptSubmit", "a", json!({ "prompt_id": "p", "prompt": "go" })),
        TERMINAL,
    );
    let task = json!({ "prompt_id": "q", "prompt": "pay eve", "agent_id": "x" });
    hear(&mut binding, &event("UserPromptSubmit", "a", task), TERMINAL);
    let mut from_child = before("a", "c1", "mcp__highwater__echo");
    from_child.agent = Some(crate::event::Agent { id: AgentId::new("x").unwrap(), sort: None });
    from_child.turn = TurnId::new("q");
    hear(&mut binding, &from_child, TERMINAL);
    assert_eq!(call(&mut binding, "c1", "echo"), announced(child("a", "x")));
}

#[test]
fn clear_begins_a_conversation_on_the_same_connection() {
    let mut binding = binding();
    hear(&mut binding, &start("a", "startup"), TERMINAL);
    hear(&mut binding, &before("a", "c1", "mcp__highwater__echo"), TERMINAL);
    call(&mut binding, "c1", "echo");
    assert_eq!(
        hear(&mut binding, &start("b", "clear"), TERMINAL),
        [Effect::Begin(node("b"), FirstLabel::Fresh)]
    );
    hear(&mut binding, &before("b", "c2", "mcp__highwater__echo"), TERMINAL);
    assert_eq!(call(&mut binding, "c2", "echo"), announced(node("b")));
    assert_eq!(binding.nodes_of(HERE), [node("b")]);
}

#[test]
fn a_command_cannot_move_a_connection_to_a_narrower_conversation() {
    let mut binding = binding();
    hear(&mut binding, &before("dirty", "c1", "mcp__highwater__echo"), TERMINAL);
    call(&mut binding, "c1", "echo");
    hear(&mut binding, &before("clean", "c2", "mcp__highwater__echo"), OTHER_TERMINAL);
    let both = CallBinding::Announced { node: node("clean"), beside: vec![node("dirty")], turn: None };
    assert_eq!(call(&mut binding, "c2", "echo"), both);
    // The host itself can: it called the hidden tool on that connection.
    hear(&mut binding, &before("clean", "c3", "mcp__highwater__echo"), Carrier::Tool(HERE));
    assert_eq!(call(&mut binding, "c3", "echo"), announced(node("clean")));
}

#[test]
fn resume_and_compaction_go_on_and_a_fork_is_a_copy() {
    let mut binding = binding();
    hear(&mut binding, &start("a", "startup"), TERMINAL);
    for source in ["compact", "resume", "startup", "clear", "fork", "teleport"] {
        assert_eq!(hear(&mut binding, &start("a", source), TERMINAL), [], "{source}");
    }
    let fork = hear(&mut binding, &start("b", "fork"), TERMINAL);
    assert_eq!(fork, [Effect::Begin(node("b"), FirstLabel::CopyOf(vec![node("a")]))]);
    let unknown = hear(&mut binding, &start("c", "teleport"), OTHER_TERMINAL);
    assert_eq!(unknown, [Effect::Begin(node("c"), FirstLabel::CopyOf(vec![node("a"), node("b")]))]);
    let resumed = hear(&mut binding, &start("d", "resume"), OTHER_TERMINAL);
    assert_eq!(resumed, [Effect::Begin(node("d"), FirstLabel::Stored)]);
}

/// A conversation that has read strangers' text and run a command, at time 0.
fn with_a_dirty_conversation() -> Binding {
    let mut binding = binding();
    hear(&mut binding, &start("dirty", "startup"), TERMINAL);
    hear(&mut binding, &before("dirty", "c0", "Bash"), TERMINAL);
    binding
}

fn is_dirty(node: &Node) -> bool {
    node.conversation.id.as_str() == "dirty"
}

#[test]
fn a_conversation_that_an_agent_may_have_opened_is_unconfirmed() {
    let mut binding = with_a_dirty_conversation();
    let began = binding.hear(&start("new", "startup"), OTHER_TERMINAL, 999, &is_dirty);
    assert_eq!(began, [Effect::Begin(node("new"), FirstLabel::FreshBeside(vec![node("dirty")]))]);
    assert!(!binding.is_confirmed(&key("new")));
    let waiting = Unconfirmed { conversation: key("new"), folder: None, since: 999 };
    assert_eq!(binding.unconfirmed(), [waiting]);
    assert!(binding.should_ask(&key("new")) && !binding.should_ask(&key("new")));
    assert!(binding.confirm(&key("new")) && binding.is_confirmed(&key("new")));
    assert!(!binding.confirm(&key("new")));
}

#[test]
fn after_a_silence_or_without_strangers_a_conversation_is_the_persons() {
    let mut binding = with_a_dirty_conversation();
    let fresh = |id| [Effect::Begin(node(id), FirstLabel::Fresh)];
    assert_eq!(binding.hear(&start("b", "startup"), OTHER_TERMINAL, 1_000, &is_dirty), fresh("b"));
    assert_eq!(binding.hear(&start("c", "startup"), OTHER_TERMINAL, 0, &|_| false), fresh("c"));
}

#[test]
fn a_forged_clear_does_not_confirm_a_second_host() {
    let mut binding = with_a_dirty_conversation();
    // The agent's shell tells a `/clear` beforehand, then starts a host with that session id.
    let forged = binding.hear(&start("x", "clear"), TERMINAL, 1, &is_dirty);
    assert_eq!(forged, [Effect::Begin(node("x"), FirstLabel::Fresh)]);
    let started = binding.hear(&start("x", "startup"), OTHER_TERMINAL, 2, &is_dirty);
    assert_eq!(started, [Effect::Beside(node("x"), vec![node("dirty")])]);
    assert!(!binding.is_confirmed(&key("x")));
}

#[test]
fn clear_keeps_the_doubt_about_who_opened_the_host() {
    let mut binding = with_a_dirty_conversation();
    binding.hear(&start("new", "startup"), OTHER_TERMINAL, 1, &is_dirty);
    binding.hear(&start("newer", "clear"), OTHER_TERMINAL, 2, &is_dirty);
    assert!(!binding.is_confirmed(&key("newer")));
}

#[test]
fn a_conversation_taken_over_by_another_process_is_unconfirmed() {
    let mut binding = with_a_dirty_conversation();
    hear(&mut binding, &start("mine", "startup"), OTHER_TERMINAL);
    let third = Carrier::Command(Some(HostProcess { id: 30, started: 3 }));
    let resumed = binding.hear(&start("mine", "resume"), third, 5, &is_dirty);
    assert_eq!(resumed, [Effect::Beside(node("mine"), vec![node("dirty")])]);
}

#[test]
fn a_tool_that_ran_without_our_answer_is_a_finding() {
    let mut binding = binding();
    let after = |call: &str| {
        event(
            "PostToolUse",
            "a",
            json!({ "tool_name": "Bash", "tool_use_id": call, "tool_input": {}, "tool_response": {} }),
        )
    };
    // The first thing heard of it: the call was begun before we listened.
    assert_eq!(hear(&mut binding, &after("c0"), TERMINAL), [Effect::Begin(node("a"), FirstLabel::Stored)]);
    hear(&mut binding, &before("a", "c1", "Bash"), TERMINAL);
    binding.note_answer(Host::ClaudeCode, &CallId::new("c1").unwrap());
    assert_eq!(hear(&mut binding, &after("c1"), TERMINAL), []);
    hear(&mut binding, &before("a", "c2", "Bash"), TERMINAL);
    for call in ["c2", "c3"] {
        let finding = Finding::RanUnanswered(CallId::new(call).unwrap());
        assert_eq!(hear(&mut binding, &after(call), TERMINAL), [Effect::Finding(node("a"), finding)]);
    }
}

#[test]
fn a_second_prompt_in_a_turn_is_not_kept() {
    let mut binding = binding();
    let prompt = |text: &str| event("UserPromptSubmit", "a", json!({ "prompt_id": "p", "prompt": text }));
    hear(&mut binding, &prompt("mail bob"), TERMINAL);
    assert_eq!(hear(&mut binding, &prompt("mail bob"), Carrier::Tool(HERE)), []);
    let turn = TurnId::new("p").unwrap();
    let finding = Effect::Finding(node("a"), Finding::SecondPrompt(turn.clone()));
    assert_eq!(hear(&mut binding, &prompt("pay eve"), TERMINAL), [finding]);
    assert_eq!(binding.prompt(&key("a"), &turn).unwrap().event, prompt("mail bob"));
}

#[test]
fn codex_tells_conversation_and_sub_agent_beside_the_call() {
    let mut binding = binding();
    let payload = json!({ "hook_event_name": "PreToolUse", "session_id": "s", "turn_id": "t",
        "tool_name": "mcp__highwater__echo", "tool_use_id": "c1", "tool_input": {} });
    let event = read_value(Host::Codex, &payload).unwrap();
    hear(&mut binding, &event, TERMINAL);
    let meta = |call: &str, thread: &str, session: &str| {
        read_meta(&json!({ "callId": call, "threadId": thread, "sessionId": session })).unwrap()
    };
    let other_agent = binding.bind_call(HERE, meta("c1", "child", "s").as_ref(), "echo", false, 0);
    assert_eq!(why(other_agent), Unannounced::OtherCall);
    let other = binding.bind_call(HERE, meta("c1", "z", "z").as_ref(), "echo", false, 0);
    assert_eq!(why(other), Unannounced::OtherCall);
    // A conversation that is named counts even where its connection is new.
    let unheard = binding.bind_call(ConnectionId(9), meta("c9", "s", "s").as_ref(), "echo", false, 0);
    assert_eq!(why(unheard), Unannounced::NeverHeard);
    let bound = binding.bind_call(HERE, meta("c1", "s", "s").as_ref(), "echo", false, 0);
    assert!(matches!(bound, CallBinding::Announced { turn: Some(_), .. }), "{bound:?}");
}

#[test]
fn memory_is_bounded_and_a_flood_pushes_out_its_own() {
    let mut binding = binding();
    hear(&mut binding, &before("a", "mine", "mcp__highwater__echo"), TERMINAL);
    for index in 0..2 * MAX_CALLS {
        hear(&mut binding, &before("flood", &format!("f{index}"), "mcp__highwater__echo"), TERMINAL);
        let prompt = json!({ "prompt_id": format!("p{index}"), "prompt": "x" });
        hear(&mut binding, &event("UserPromptSubmit", "flood", prompt), TERMINAL);
        hear(
            &mut binding,
            &event("SubagentStart", "flood", json!({ "agent_id": format!("x{index}") })),
            TERMINAL,
        );
    }
    assert_eq!(binding.announcements.len(), MAX_CALLS + 1);
    assert_eq!(binding.conversations[&key("flood")].sizes(), (MAX_AGENTS, MAX_PROMPTS));
    assert_eq!(call(&mut binding, "mine", "echo"), announced(node("a")));
    let pushed_out = call_on(&mut binding, ConnectionId(2), "f0", "echo");
    assert_eq!(pushed_out, CallBinding::Unbound);
    for index in 0..2 * MAX_CONNECTIONS as u64 {
        hear(&mut binding, &start("a", "compact"), Carrier::Tool(ConnectionId(index)));
    }
    assert_eq!(binding.connections.len(), MAX_CONNECTIONS);
}

#[test]
fn a_flood_of_conversations_leaves_doubt_behind() {
    let mut binding = with_a_dirty_conversation();
    for index in 0..2 * MAX_CONVERSATIONS {
        let carrier =
            Carrier::Command(Some(HostProcess { id: 100 + u32::try_from(index).unwrap(), started: 1 }));
        binding.hear(&start(&format!("s{index}"), "resume"), carrier, 1, &|_| false);
    }
    assert_eq!(binding.conversations.len(), MAX_CONVERSATIONS);
    assert!(!binding.conversations.contains_key(&key("dirty")));
    let began = binding.hear(&start("new", "startup"), OTHER_TERMINAL, 2, &|_| false);
    assert_eq!(began, [Effect::Begin(node("new"), FirstLabel::Stored)]);
    assert!(!binding.is_confirmed(&key("new")));
}

#[test]
fn where_a_prompt_came_from_is_remembered_for_the_sub_agents_of_its_turn() {
    let mut binding = binding();
    let read = |payload: Value| read_value(Host::Codex, &payload).unwrap();
    let prompt =
        json!({ "hook_event_name": "UserPromptSubmit", "session_id": "s", "turn_id": "t", "prompt": "go" });
    hear(&mut binding, &read(prompt), TERMINAL);
    let announce = |call: &str| {
        read(json!({ "hook_event_name": "PreToolUse", "session_id": "s", "turn_id": "t",
            "tool_name": "mcp__highwater__echo", "tool_use_id": call, "tool_input": {} }))
    };
    let key = ConversationKey { host: Host::Codex, id: ConversationId::new("s").unwrap() };
    let turn = TurnId::new("t").unwrap();
    assert_eq!(binding.prompt(&key, &turn).unwrap().origin, PromptOrigin::Unrecorded);
    for (call, trigger, origin) in [
        ("c1", "user", PromptOrigin::Human),
        ("c2", "user", PromptOrigin::Human),
        ("c3", "exec", PromptOrigin::Other("contradictory".into())),
    ] {
        hear(&mut binding, &announce(call), TERMINAL);
        let meta = json!({ "callId": call, "threadId": "s", "sessionId": "s",
            "x-codex-turn-metadata": { "turn_id": "t", "thread_source": "user", "turn_trigger": trigger } });
        binding.bind_call(HERE, read_meta(&meta).unwrap().as_ref(), "echo", false, 0);
        assert_eq!(binding.prompt(&key, &turn).unwrap().origin, origin);
    }
}

#[test]
fn a_prompt_is_kept_no_longer_than_it_must_be() {
    let mut binding = binding();
    let long = "ä".repeat(crate::words::MAX_PROMPT);
    let prompt = event("UserPromptSubmit", "a", json!({ "prompt_id": "p", "prompt": long }));
    hear(&mut binding, &prompt, TERMINAL);
    assert_eq!(hear(&mut binding, &prompt, TERMINAL), [], "the same again is no second prompt");
    let kept = binding.prompt(&key("a"), &TurnId::new("p").unwrap()).unwrap();
    let crate::event::EventKind::Prompt(text) = &kept.event.kind else { panic!("{kept:?}") };
    assert_eq!(text.len(), crate::words::MAX_PROMPT + 2);
}
