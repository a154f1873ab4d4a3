//! Codex's hook events.

use super::{after, end, permission, prompt, start, subagent_stop, tool_call};
use crate::event::{EventKind, TurnId};
use crate::host::HookName;
use crate::payload::{EventError, Fields};

/// The id of the turn.
pub(super) fn turn(fields: &Fields<'_>) -> Result<Option<TurnId>, EventError> {
    fields.optional_turn("turn_id")
}

pub(super) fn kind(fields: &Fields<'_>, hook: Option<HookName>, name: &str) -> Result<EventKind, EventError> {
    match hook {
        Some(HookName::SessionStart) => start(fields),
        Some(HookName::SessionEnd) => end(fields),
        Some(HookName::UserPromptSubmit) => prompt(fields),
        Some(HookName::PreToolUse) => Ok(EventKind::Before(tool_call(fields)?)),
        Some(HookName::PermissionRequest) => permission(fields),
        Some(HookName::PostToolUse) => after(fields),
        Some(HookName::SubagentStart) => Ok(EventKind::SubagentStart),
        Some(HookName::SubagentStop) => subagent_stop(fields),
        Some(hook @ (HookName::PreCompact | HookName::PostCompact | HookName::Stop)) => {
            Ok(EventKind::Notice(hook))
        }
        // The rest are other hosts' events: see `Host::hooks`.
        _ => Ok(EventKind::Unknown(name.to_owned())),
    }
}
