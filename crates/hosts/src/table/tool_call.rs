//! Hooks that are calls of the hidden tool: the arguments that hosts fill in, and the event they tell.

use serde_json::{Map, Value, json};

use super::read_value;
use crate::call_meta::CallMeta;
use crate::event::{Agent, AgentId, HostEvent};
use crate::host::{HookName, Host};
use crate::payload::{EventError, Fields};

/// The hidden tool. It is in no list, so that a model that names it is refused by its host.
pub const TOOL: &str = "highwater__hook";

/// The `input` of an `mcp_tool` hook for one event, as it is written into the host's configuration.
///
/// Hosts put members of their payload in the place of `${name}`. Where one is missing, Claude Code puts an empty
/// text and Codex does not make the call at all: Codex is asked only for what the event always has.
pub fn arguments(host: Host, hook: HookName) -> Value {
    let mut input = Map::new();
    input.insert("host".to_owned(), json!(host.name()));
    input.insert("hook_event_name".to_owned(), json!(hook.name()));
    for name in common(host, hook).iter().chain(members(host, hook)) {
        input.insert((*name).to_owned(), json!(place(name)));
    }
    Value::Object(input)
}

/// What a host replaces by a member of its payload.
fn place(name: &str) -> String {
    format!("${{{name}}}")
}

fn common(host: Host, hook: HookName) -> &'static [&'static str] {
    match (host, hook) {
        (Host::ClaudeCode, _) => {
            &["session_id", "prompt_id", "transcript_path", "cwd", "agent_id", "agent_type"]
        }
        (Host::Codex, HookName::SessionStart | HookName::SessionEnd) => &["session_id", "cwd"],
        (Host::Codex, HookName::SubagentStart | HookName::SubagentStop) => {
            &["session_id", "cwd", "turn_id", "agent_id", "agent_type"]
        }
        // Which thread it is the request itself says.
        (Host::Codex, _) => &["session_id", "cwd", "turn_id"],
    }
}

/// The members of one event that are used.
fn members(host: Host, hook: HookName) -> &'static [&'static str] {
    match hook {
        HookName::SessionStart => &["source"],
        HookName::SessionEnd => &["reason"],
        HookName::UserPromptSubmit => &["prompt"],
        HookName::PreToolUse => &["tool_name", "tool_input", "tool_use_id"],
        HookName::PostToolUse => &["tool_name", "tool_input", "tool_use_id", "tool_response"],
        HookName::PostToolUseFailure => &["tool_name", "tool_input", "tool_use_id", "error"],
        // A sub-agent may end without a message.
        HookName::SubagentStop if host == Host::ClaudeCode => &["last_assistant_message"],
        _ => &[],
    }
}

/// The input as the host sends it: members of the payload in their places. A host puts nothing in the place of a member
/// that is not there.
pub fn fill(host: Host, input: &Value, payload: &Value) -> Value {
    let filled = |value: &Value| {
        let path = value.as_str().and_then(|text| text.strip_prefix("${")?.strip_suffix('}'));
        match path.map(|path| payload.get(path)) {
            None => value.clone(),
            Some(None) => json!(""),
            Some(Some(found)) if host == Host::ClaudeCode && !found.is_string() => json!(found.to_string()),
            Some(Some(found)) => found.clone(),
        }
    };
    let members = input.as_object().into_iter().flatten();
    Value::Object(members.map(|(name, value)| (name.clone(), filled(value))).collect())
}

/// The event that arguments of the hidden tool tell.
///
/// An object arrives from Claude Code as JSON text and from Codex as itself; a missing member as `""`. `meta` is
/// what the request says of itself: Codex names the thread there, and a thread of its own is a sub-agent.
pub fn read_arguments(arguments: &Value, meta: Option<&CallMeta>) -> Result<HostEvent, EventError> {
    let fields = Fields::of(arguments, "")?;
    let host = Host::from_name(fields.text("host")?)
        .ok_or_else(|| EventError::Garbled { at: "/host".to_owned(), expected: "the name of a host" })?;
    let mut payload = arguments.as_object().cloned().unwrap_or_default();
    if let Some((name, _)) = payload.iter().find(|(name, value)| value.as_str() == Some(&place(name))) {
        return Err(EventError::Garbled { at: format!("/{name}"), expected: "filled in by the host" });
    }
    payload.remove("host");
    // An empty prompt is a prompt; everything else that is empty was missing.
    payload.retain(|name, value| {
        value.as_str() != Some("") || matches!(name.as_str(), "prompt" | "tool_response" | "error")
    });
    for name in ["tool_input", "tool_response"] {
        if let Some(value) = payload.get_mut(name)
            && let Some(parsed) = value.as_str().and_then(json_text)
        {
            *value = parsed;
        }
    }
    let mut event = read_value(host, &Value::Object(payload))?;
    if host == Host::Codex && event.agent.is_none() {
        let thread = meta.and_then(|meta| meta.conversation.as_ref());
        let thread = thread.ok_or_else(|| EventError::Missing { at: "/_meta/threadId".to_owned() })?;
        if *thread != event.conversation {
            event.agent = AgentId::new(thread.as_str()).map(|id| Agent { id, sort: None });
        }
    }
    Ok(event)
}

/// An object or a list that was sent as text. Other text is text.
fn json_text(text: &str) -> Option<Value> {
    let structured = text.starts_with('{') || text.starts_with('[');
    if structured { serde_json::from_str(text).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_meta::read_meta;
    use crate::event::{EventKind, Outcome};

    #[test]
    fn both_carriers_tell_the_same_event() {
        let recordings = [
            (Host::ClaudeCode, include_str!("../../tests/fixtures/claude-2.1.325.jsonl")),
            (Host::Codex, include_str!("../../tests/fixtures/codex-0.166.0.jsonl")),
        ];
        let mut compared = 0;
        for (host, recording) in recordings {
            for line in recording.lines() {
                let line: Value = serde_json::from_str(line).unwrap();
                let Some(payload) = line.get("payload") else { continue };
                let hook = HookName::from_name(payload["hook_event_name"].as_str().unwrap()).unwrap();
                if hook == HookName::PostToolBatch {
                    continue;
                }
                let template = arguments(host, hook);
                let told = fill(host, &template, payload);
                // Codex makes no call where a member is missing.
                let asked = template.as_object().unwrap().keys();
                let is_there =
                    |name: &&String| payload.get(name.as_str()).is_some() || name.as_str() == "host";
                assert!(host == Host::ClaudeCode || asked.clone().all(|name| is_there(&name)), "{hook}");
                let thread = payload.get("agent_id").or(payload.get("session_id"));
                let meta = read_meta(&json!({ "threadId": thread })).unwrap();
                let mut direct = read_value(host, payload).unwrap();
                if host == Host::Codex {
                    direct.transcript = None;
                    let is_named = template.get("agent_type").is_some();
                    direct.agent =
                        direct.agent.map(|agent| Agent { sort: agent.sort.filter(|_| is_named), ..agent });
                }
                // The server's name is in the tool's name too, and is not asked for.
                if let EventKind::Before(call) | EventKind::After(call, _) = &mut direct.kind {
                    call.server = None;
                    // Text that is JSON cannot be told from JSON that was sent as text.
                    if let EventKind::After(_, Outcome::Result(result)) = &mut direct.kind
                        && let Some(parsed) = result.as_str().and_then(json_text)
                    {
                        *result = parsed;
                    }
                }
                assert_eq!(read_arguments(&told, meta.as_ref()).unwrap(), direct, "{host} {hook}");
                compared += 1;
            }
        }
        assert!(compared > 25, "{compared} events were compared");
    }

    #[test]
    fn an_empty_prompt_is_a_prompt() {
        let told = json!({ "host": "codex", "hook_event_name": "UserPromptSubmit", "session_id": "s",
            "turn_id": "t", "agent_id": "", "prompt": "" });
        let meta = read_meta(&json!({ "threadId": "s" })).unwrap();
        let event = read_arguments(&told, meta.as_ref()).unwrap();
        assert_eq!((event.agent, event.kind), (None, EventKind::Prompt(String::new())));
        // Without the thread nobody can tell whether it is a sub-agent's task.
        assert_eq!(read_arguments(&told, None).unwrap_err().to_string(), "`/_meta/threadId` is missing");
    }

    #[test]
    fn a_template_that_was_not_filled_in_is_garbled() {
        let other = json!({ "host": "emacs", "hook_event_name": "Stop", "session_id": "s" });
        let error = read_arguments(&other, None);
        assert_eq!(error.unwrap_err().to_string(), "`/host` is not the name of a host");
        let error = read_arguments(&arguments(Host::Codex, HookName::Stop), None).unwrap_err().to_string();
        assert!(error.ends_with("is not filled in by the host"), "{error}");
    }
}
