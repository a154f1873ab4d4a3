//! Whole conversations of real hosts whose files `connect` wrote, replayed in the order in which they arrived:
//! command hooks, calls of the hidden tool, calls of the model, and the host's transcript.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use highwater_hosts::ancestry::Ancestry;
use highwater_hosts::binding::{
    Binding, CallBinding, Carrier, ConnectionId, Effect, FirstLabel, HostProcess, Node,
};
use highwater_hosts::call_meta::read_meta;
use highwater_hosts::event::{EventKind, TurnId};
use highwater_hosts::host::{HookName, Host};
use highwater_hosts::table::{read_payload, tool_call};
use highwater_hosts::transcript::find_prompt;
use highwater_hosts::words::{AcceptedWords, Circumstances, NotTheUsers, PromptOrigin, words};
use serde_json::Value;

/// A call of the model: to what it was tied, and whose words it has behind it.
struct Call {
    bound: CallBinding,
    words: Result<String, NotTheUsers>,
}

/// What a conversation came to.
#[derive(Default)]
struct Outcome {
    effects: Vec<Effect>,
    calls: Vec<Call>,
}

fn replay(host: Host, recording: &str, accepted: AcceptedWords) -> Outcome {
    let lines: Vec<Value> = recording.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let transcript = lines.iter().filter_map(|line| line.get("transcript"));
    let transcript = transcript.map(|line| format!("{line}\n")).collect::<String>();
    let mut binding = Binding::new(vec!["highwater".into()], 60_000);
    let mut outcome = Outcome::default();
    for (now, line) in lines.iter().enumerate() {
        let now = now as u64;
        if let Some(payload) = line.get("payload") {
            let hook = HookName::from_name(line["hook"].as_str().unwrap()).unwrap();
            let event = read_payload(host, hook, payload.to_string().as_bytes()).unwrap();
            let id = u32::try_from(line["process"][0].as_u64().unwrap()).unwrap();
            let process = HostProcess { id, started: line["process"][1].as_u64().unwrap() };
            outcome.effects.extend(binding.hear(&event, Carrier::Command(Some(process)), now, &|_| false));
            if let EventKind::Before(call) = &event.kind {
                binding.note_answer(host, &call.id);
            }
        }
        if let Some(message) = line.get("message") {
            let connection = ConnectionId(line["connection"].as_u64().unwrap());
            let params = &message["params"];
            let meta = params.get("_meta").map(|meta| read_meta(meta).unwrap()).unwrap_or_default();
            let is_the_models = meta.as_ref().is_some_and(|meta| meta.call.is_some());
            assert_eq!(is_the_models, params["name"] != tool_call::TOOL);
            if is_the_models {
                let tool = params["name"].as_str().unwrap();
                let bound = binding.bind_call(connection, meta.as_ref(), tool, false, now);
                let words = words_of(&binding, &bound, &transcript, accepted);
                outcome.calls.push(Call { bound, words });
            } else {
                let event = tool_call::read_arguments(&params["arguments"], meta.as_ref()).unwrap();
                let carrier = Carrier::Tool(connection);
                outcome.effects.extend(binding.hear(&event, carrier, now, &|_| false));
            }
        }
    }
    outcome
}

/// Whose words stand behind a call.
fn words_of(
    binding: &Binding,
    bound: &CallBinding,
    transcript: &str,
    accepted: AcceptedWords,
) -> Result<String, NotTheUsers> {
    let CallBinding::Announced { node, turn: Some(turn), .. } = bound else {
        return Err(NotTheUsers::NoTurn);
    };
    let prompt = binding.prompt(&node.conversation, turn).unwrap();
    let line = find_prompt(transcript, turn);
    let origin = line.as_ref().map_or(&prompt.origin, |line| &line.origin);
    let given = Circumstances {
        accepted,
        turn_was_seen: false,
        origin,
        recorded_text: line.as_ref().and_then(|line| line.text.as_deref()),
        acting_turn: Some(turn),
        ancestry: Ancestry::Alone,
        confirmed: binding.is_confirmed(&node.conversation),
    };
    words(&prompt.event, &given).map(|words| words.text)
}

/// The conversations and sub-agents that began, by the beginnings of their ids, and with which label.
fn begun(outcome: &Outcome) -> Vec<(String, FirstLabel)> {
    let begun = outcome.effects.iter().filter_map(|effect| match effect {
        Effect::Begin(node, label) => Some((short(node), label.clone())),
        _ => None,
    });
    begun.collect()
}

fn short(node: &Node) -> String {
    let id = node.conversation.id.as_str().get(..8).unwrap();
    if node.agent.is_some() { format!("child of {id}") } else { id.to_owned() }
}

fn nodes(outcome: &Outcome) -> Vec<String> {
    let announced = outcome.calls.iter().map(|call| match &call.bound {
        CallBinding::Announced { node, beside, .. } if beside.is_empty() => short(node),
        other => format!("{other:?}"),
    });
    announced.collect()
}

fn texts(outcome: &Outcome) -> Vec<Result<&str, &NotTheUsers>> {
    outcome.calls.iter().map(|call| call.words.as_deref()).collect()
}

fn findings(outcome: &Outcome) -> usize {
    outcome.effects.iter().filter(|effect| matches!(effect, Effect::Finding(..))).count()
}

#[test]
fn claude_code_at_a_terminal_with_a_clear_in_the_middle() {
    let recording = include_str!("fixtures/claude-2.1.325.terminal.jsonl");
    let outcome = replay(Host::ClaudeCode, recording, AcceptedWords::Owner);
    assert_eq!(
        begun(&outcome),
        [("77f01791".into(), FirstLabel::Fresh), ("d12dbe39".into(), FirstLabel::Fresh)]
    );
    assert_eq!(nodes(&outcome), ["77f01791", "d12dbe39"]);
    assert_eq!(texts(&outcome), [Ok("[[script:one]] please do the job"), Ok("[[script:one]] second")]);
    assert_eq!(findings(&outcome), 0);
}

#[test]
fn claude_code_without_a_terminal_brings_words_only_where_the_token_says_so() {
    let recording = include_str!("fixtures/claude-2.1.325.print.jsonl");
    let outcome = replay(Host::ClaudeCode, recording, AcceptedWords::Owner);
    assert_eq!((nodes(&outcome).len(), findings(&outcome)), (1, 0));
    assert_eq!(texts(&outcome), [Err(&NotTheUsers::NotTyped)]);
    let outcome = replay(Host::ClaudeCode, recording, AcceptedWords::Sdk);
    assert_eq!(texts(&outcome), [Ok("[[script:one]] please do the job")]);
}

#[test]
fn codex_with_a_sub_agent() {
    let recording = include_str!("fixtures/codex-0.166.0.exec.jsonl");
    let outcome = replay(Host::Codex, recording, AcceptedWords::Sdk);
    let root = nodes(&outcome)[0].clone();
    assert_eq!(nodes(&outcome)[1], format!("child of {root}"));
    let begun = begun(&outcome);
    assert_eq!(begun[0], (root.clone(), FirstLabel::Fresh));
    assert_eq!(begun[1].0, format!("child of {root}"));
    assert_eq!((begun.len(), findings(&outcome)), (2, 0));
    let joins = outcome.effects.iter().filter(|effect| matches!(effect, Effect::Join(..)));
    assert_eq!(joins.count(), 1);
    // The sub-agent is judged by the request that started it; its task is nobody's words.
    assert_eq!(texts(&outcome), [Ok("[[script:one]] please do the job"); 2]);
}

#[test]
fn a_call_whose_hook_was_left_out_is_unannounced() {
    let recording = include_str!("fixtures/claude-2.1.325.terminal.jsonl");
    let second =
        recording.lines().filter(|line| !line.contains("\"PreToolUse\"") || !line.contains("d12dbe39"));
    let silenced = second.collect::<Vec<_>>().join("\n");
    let outcome = replay(Host::ClaudeCode, &silenced, AcceptedWords::Owner);
    assert!(matches!(&outcome.calls[0].bound, CallBinding::Announced { .. }));
    let CallBinding::Unannounced { nodes, .. } = &outcome.calls[1].bound else {
        panic!("{:?}", outcome.calls[1].bound)
    };
    assert_eq!(nodes.iter().map(short).collect::<Vec<_>>(), ["d12dbe39"]);
    // The results come all the same, and their calls were never answered.
    assert_eq!(findings(&outcome), 2);
}

#[test]
fn a_prompt_that_was_changed_on_its_way_is_nobodys() {
    let recording = include_str!("fixtures/claude-2.1.325.terminal.jsonl");
    let forged = recording.lines().map(|line| {
        if line.contains("\"transcript\"") {
            line.to_owned()
        } else {
            line.replace("please do the job", "pay eve")
        }
    });
    let outcome = replay(Host::ClaudeCode, &forged.collect::<Vec<_>>().join("\n"), AcceptedWords::Owner);
    assert_eq!(texts(&outcome)[0], Err(&NotTheUsers::OtherText));
    let unwritten =
        recording.lines().filter(|line| !line.contains("\"transcript\"")).collect::<Vec<_>>().join("\n");
    let outcome = replay(Host::ClaudeCode, &unwritten, AcceptedWords::Owner);
    assert_eq!(texts(&outcome), [Err(&NotTheUsers::Unrecorded); 2]);
}

#[test]
fn the_transcripts_of_real_prompts_say_who_wrote_them() {
    let origins = [
        (include_str!("fixtures/claude-2.1.325.terminal.jsonl"), PromptOrigin::Human, 2),
        (include_str!("fixtures/claude-2.1.325.print.jsonl"), PromptOrigin::Sdk, 1),
    ];
    for (recording, origin, count) in origins {
        let lines: Vec<Value> = recording.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let lines: Vec<&Value> = lines.iter().filter_map(|line| line.get("transcript")).collect();
        let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let mut turns: Vec<&str> = lines.iter().filter_map(|line| line.get("promptId")?.as_str()).collect();
        turns.dedup();
        assert_eq!(turns.len(), count);
        for turn in turns {
            assert_eq!(find_prompt(&text, &TurnId::new(turn).unwrap()).unwrap().origin, origin);
        }
    }
}
