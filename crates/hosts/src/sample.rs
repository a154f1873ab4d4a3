//! One made-up event of each sort, by which `doctor` finds out what arrives.

use serde_json::{Value, json};

use crate::event::ConversationId;
use crate::host::{HookName, Host};

/// How the id of a made-up conversation begins.
const MADE_UP: &str = "highwater-doctor-";

/// The id of a made-up conversation; `of` tells one from another.
pub fn conversation(of: &str) -> Option<ConversationId> {
    ConversationId::new(&format!("{MADE_UP}{of}"))
}

/// Whether a conversation is made up: its events are answered, and nothing comes of them.
pub fn is_made_up(conversation: &ConversationId) -> bool {
    conversation.as_str().starts_with(MADE_UP)
}

/// A payload as the host would send it. Its conversation is one that no host has, so that nothing real is
/// touched; whoever takes it in must not let it begin a label.
pub fn payload(host: Host, hook: HookName, conversation: &ConversationId) -> Value {
    let mut payload = json!({
        "hook_event_name": hook.name(),
        "session_id": conversation.as_str(),
        "cwd": "/",
        "transcript_path": "/dev/null",
    });
    let turn = match host {
        Host::ClaudeCode => "prompt_id",
        Host::Codex => "turn_id",
    };
    let call =
        json!({ "tool_name": "Bash", "tool_input": { "command": "true" }, "tool_use_id": "doctor-call" });
    let more = match hook {
        HookName::SessionStart => json!({ "source": "startup" }),
        HookName::SessionEnd => json!({ "reason": "other" }),
        HookName::UserPromptSubmit => json!({ "prompt": "doctor" }),
        HookName::PreToolUse | HookName::PermissionRequest => call,
        HookName::PostToolUse => joined(call, json!({ "tool_response": {} })),
        HookName::PostToolUseFailure => joined(call, json!({ "error": "doctor" })),
        HookName::PostToolBatch => json!({ "tool_calls": [joined(call, json!({ "tool_response": {} }))] }),
        HookName::SubagentStart => json!({ "agent_id": "doctor-agent", "agent_type": "doctor" }),
        HookName::SubagentStop => {
            json!({ "agent_id": "doctor-agent", "agent_type": "doctor", "last_assistant_message": "doctor" })
        }
        HookName::InstructionsLoaded => json!({ "file_path": "/dev/null" }),
        HookName::UserPromptExpansion
        | HookName::Elicitation
        | HookName::ElicitationResult
        | HookName::ConfigChange
        | HookName::PreCompact
        | HookName::PostCompact
        | HookName::Stop => json!({}),
    };
    if !matches!(hook, HookName::SessionStart) {
        payload = joined(payload, json!({ turn: "doctor-turn" }));
    }
    joined(payload, more)
}

fn joined(mut value: Value, more: Value) -> Value {
    if let (Some(members), Value::Object(more)) = (value.as_object_mut(), more) {
        members.extend(more);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventKind;
    use crate::table::read_payload;

    #[test]
    fn every_event_of_every_host_is_read() {
        let conversation = conversation("1").unwrap();
        assert!(is_made_up(&conversation));
        for host in Host::ALL {
            for hook in host.hooks() {
                let input = payload(host, *hook, &conversation).to_string();
                let event = read_payload(host, *hook, input.as_bytes()).unwrap();
                assert!(!matches!(event.kind, EventKind::Unknown(_)), "{host} {hook}");
                assert_eq!(event.conversation, conversation);
            }
        }
    }
}
