//! Claude Code's hook events.

use serde_json::Value;

use super::{after, end, permission, prompt, start, subagent_stop, tool_call};
use crate::event::{EventKind, Outcome, TurnId};
use crate::host::HookName;
use crate::payload::{EventError, Fields};

/// The id of the prompt that the event follows from, which Claude Code tells since 2.1.196.
pub(super) fn turn(fields: &Fields<'_>) -> Result<Option<TurnId>, EventError> {
    fields.optional_turn("prompt_id")
}

pub(super) fn kind(fields: &Fields<'_>, hook: Option<HookName>, name: &str) -> Result<EventKind, EventError> {
    let Some(hook) = hook else { return Ok(EventKind::Unknown(name.to_owned())) };
    match hook {
        HookName::SessionStart => start(fields),
        HookName::SessionEnd => end(fields),
        HookName::UserPromptSubmit => prompt(fields),
        HookName::PreToolUse => Ok(EventKind::Before(tool_call(fields)?)),
        HookName::PermissionRequest => permission(fields),
        HookName::PostToolUse => after(fields),
        HookName::PostToolUseFailure => {
            let failure = Outcome::Failure(fields.text("error")?.to_owned());
            Ok(EventKind::After(tool_call(fields)?, failure))
        }
        HookName::PostToolBatch => batch(fields),
        HookName::SubagentStart => Ok(EventKind::SubagentStart),
        HookName::SubagentStop => subagent_stop(fields),
        HookName::InstructionsLoaded => {
            Ok(EventKind::Instructions { file: fields.text("file_path")?.to_owned() })
        }
        HookName::UserPromptExpansion
        | HookName::Elicitation
        | HookName::ElicitationResult
        | HookName::ConfigChange
        | HookName::PreCompact
        | HookName::PostCompact
        | HookName::Stop => Ok(EventKind::Notice(hook)),
    }
}

fn batch(fields: &Fields<'_>) -> Result<EventKind, EventError> {
    let calls = fields.list("tool_calls")?;
    let calls = calls.iter().map(|call| {
        let response = call.value("tool_response").cloned().unwrap_or(Value::Null);
        Ok((tool_call(call)?, Outcome::Result(response)))
    });
    Ok(EventKind::Batch(calls.collect::<Result<_, EventError>>()?))
}
