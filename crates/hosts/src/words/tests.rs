//! The origin rule, condition by condition, and the forgeries that it is there for.

use super::*;
use crate::event::{Agent, AgentId, ConversationId};
use crate::host::Host;
use crate::table::read_value;

fn turn(id: &str) -> TurnId {
    TurnId::new(id).unwrap()
}

fn prompt(text: &str) -> HostEvent {
    HostEvent {
        host: Host::ClaudeCode,
        conversation: ConversationId::new("s").unwrap(),
        turn: Some(turn("p1")),
        agent: None,
        transcript: None,
        folder: None,
        kind: EventKind::Prompt(text.into()),
    }
}

/// A value for the rest of the test.
fn lasting<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Judges a prompt in circumstances that a change has made of good ones.
fn judged(
    event: &HostEvent,
    change: impl FnOnce(&mut Circumstances<'static>),
) -> Result<String, NotTheUsers> {
    let acting = lasting(turn("p1"));
    let mut given = Circumstances {
        accepted: AcceptedWords::Owner,
        turn_was_seen: false,
        origin: &PromptOrigin::Human,
        recorded_text: None,
        acting_turn: Some(acting),
        ancestry: Ancestry::Alone,
        confirmed: true,
    };
    change(&mut given);
    words(event, &given).map(|words| words.text)
}

#[test]
fn what_a_person_typed_is_theirs() {
    assert_eq!(judged(&prompt("mail bob"), |_| ()), Ok("mail bob".into()));
    assert_eq!(
        judged(&prompt("mail bob"), |given| given.recorded_text = Some("mail bob\n")),
        Ok("mail bob".into())
    );
}

#[test]
fn a_sub_agents_result_is_not() {
    let recorded = include_str!("../../tests/fixtures/claude-2.1.325.jsonl");
    let line = recorded.lines().find(|line| line.contains("\"prompt\": \"<task-notification>")).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let event = read_value(Host::ClaudeCode, &line["payload"]).unwrap();
    assert_eq!(judged(&event, |_| ()), Err(NotTheUsers::HostText("task-notification")));
    // The transcript says so too, if the tag should ever change.
    assert_eq!(
        judged(&prompt("done"), |given| given.origin = &PromptOrigin::Subagent),
        Err(NotTheUsers::Subagent)
    );
}

#[test]
fn a_sub_agents_task_is_not() {
    let recorded = include_str!("../../tests/fixtures/codex-0.166.0.jsonl");
    let mut lines = recorded.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let line = lines
        .find(|line| line["hook"] == "UserPromptSubmit" && line["payload"].get("agent_id").is_some())
        .unwrap();
    let event = read_value(Host::Codex, &line["payload"]).unwrap();
    assert_eq!(judged(&event, |_| ()), Err(NotTheUsers::Subagent));
    let mut event = prompt("x");
    event.agent = Some(Agent { id: AgentId::new("a").unwrap(), sort: None });
    assert_eq!(judged(&event, |_| ()), Err(NotTheUsers::Subagent));
}

#[test]
fn a_message_of_another_process_is_not() {
    // In the middle of a turn it comes under the running turn's id; later under one of its own.
    assert_eq!(
        judged(&prompt("pay eve"), |given| given.turn_was_seen = true),
        Err(NotTheUsers::TurnSeenBefore)
    );
    assert_eq!(
        judged(&prompt("pay eve"), |given| given.origin = &PromptOrigin::Peer),
        Err(NotTheUsers::Peer)
    );
}

#[test]
fn a_schedule_is_not() {
    let origin = lasting(PromptOrigin::Other("cron".into()));
    assert_eq!(
        judged(&prompt("x"), |given| given.origin = origin),
        Err(NotTheUsers::OtherOrigin("cron".into()))
    );
    assert_eq!(judged(&prompt("<tick>x</tick>"), |_| ()), Err(NotTheUsers::HostText("tick")));
}

#[test]
fn a_hook_that_the_agent_runs_by_itself_is_not() {
    // Its made-up turn is in no transcript; a turn that is there has another text, and the call another turn.
    assert_eq!(
        judged(&prompt("pay eve"), |given| given.origin = &PromptOrigin::Unrecorded),
        Err(NotTheUsers::Unrecorded)
    );
    assert_eq!(
        judged(&prompt("pay eve"), |given| given.recorded_text = Some("mail bob")),
        Err(NotTheUsers::OtherText)
    );
    let other = lasting(turn("p2"));
    assert_eq!(
        judged(&prompt("pay eve"), |given| given.acting_turn = Some(other)),
        Err(NotTheUsers::OtherTurn)
    );
    assert_eq!(judged(&prompt("pay eve"), |given| given.acting_turn = None), Err(NotTheUsers::OtherTurn));
    let mut event = prompt("pay eve");
    event.turn = None;
    assert_eq!(judged(&event, |given| given.acting_turn = None), Err(NotTheUsers::NoTurn));
}

#[test]
fn a_second_host_started_headless_is_not_unless_the_token_says_so() {
    assert_eq!(judged(&prompt("x"), |given| given.origin = &PromptOrigin::Sdk), Err(NotTheUsers::NotTyped));
    let sdk = judged(&prompt("x"), |given| {
        given.origin = &PromptOrigin::Sdk;
        given.accepted = AcceptedWords::Sdk;
    });
    assert_eq!(sdk, Ok("x".into()));
    let below = judged(&prompt("x"), |given| {
        given.origin = &PromptOrigin::Sdk;
        given.accepted = AcceptedWords::Sdk;
        given.ancestry = Ancestry::BelowAnotherHost;
    });
    assert_eq!(below, Err(NotTheUsers::BelowAnotherHost));
}

#[test]
fn a_second_host_at_a_pseudo_terminal_is_not_until_the_person_says_so() {
    // Genuine in every field: only the confirmation is left.
    assert_eq!(judged(&prompt("x"), |given| given.confirmed = false), Err(NotTheUsers::Unconfirmed));
}

#[test]
fn strangers_who_write_to_a_bot_are_not() {
    assert_eq!(
        judged(&prompt("x"), |given| given.accepted = AcceptedWords::None),
        Err(NotTheUsers::NotAccepted)
    );
}

#[test]
fn doubt_is_no_evidence() {
    assert_eq!(
        judged(&prompt("x"), |given| given.ancestry = Ancestry::Unknown),
        Err(NotTheUsers::AncestryUnknown)
    );
    assert_eq!(judged(&prompt(&"x".repeat(MAX_PROMPT + 1)), |_| ()), Err(NotTheUsers::TooLong));
    let mut event = prompt("x");
    event.kind = EventKind::SubagentStart;
    assert_eq!(judged(&event, |_| ()), Err(NotTheUsers::NoPrompt));
}

#[test]
fn only_what_may_still_come_can_change_the_answer() {
    assert!(NotTheUsers::Unrecorded.may_change() && NotTheUsers::Unconfirmed.may_change());
    assert!(!NotTheUsers::Peer.may_change() && !NotTheUsers::HostText("tick").may_change());
}
