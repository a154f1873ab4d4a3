//! What a host writes into the `_meta` of an MCP request, by which a call is tied to the hook that announced it.

use serde_json::Value;

use crate::event::{AgentId, CallId, ConversationId, TurnId};
use crate::host::Host;
use crate::payload::{EventError, Fields};
use crate::words::PromptOrigin;

/// The key under which Claude Code tells the call id.
pub const CLAUDE_CALL: &str = "claudecode/toolUseId";

/// The key under which Codex tells whose turn a call belongs to.
pub const CODEX_TURN: &str = "x-codex-turn-metadata";

/// What `_meta` says of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallMeta {
    pub host: Host,
    /// Only calls that a model makes have one; a hook's own call has none.
    pub call: Option<CallId>,
    /// Codex alone tells these.
    pub conversation: Option<ConversationId>,
    pub agent: Option<AgentId>,
    pub turn: Option<TurnId>,
    /// Where the prompt of this turn came from.
    pub origin: PromptOrigin,
}

/// What the `_meta` of a request tells. Nothing if it bears no host's keys.
pub fn read_meta(meta: &Value) -> Result<Option<CallMeta>, EventError> {
    if !meta.is_object() {
        return Ok(None);
    }
    if meta.get(CLAUDE_CALL).is_some() {
        return claude_code(meta).map(Some);
    }
    if meta.get(CODEX_TURN).is_some() || meta.get("threadId").is_some() {
        return codex(meta).map(Some);
    }
    Ok(None)
}

fn claude_code(meta: &Value) -> Result<CallMeta, EventError> {
    let call = meta.get(CLAUDE_CALL).and_then(Value::as_str).and_then(CallId::new);
    // In a pointer a slash within a key is written `~1`.
    let at = || format!("/_meta/{}", CLAUDE_CALL.replace('/', "~1"));
    let call = call.ok_or_else(|| EventError::Garbled { at: at(), expected: "a call id" })?;
    Ok(CallMeta {
        host: Host::ClaudeCode,
        call: Some(call),
        conversation: None,
        agent: None,
        turn: None,
        origin: PromptOrigin::Unrecorded,
    })
}

fn codex(meta: &Value) -> Result<CallMeta, EventError> {
    let fields = Fields::of(meta, "/_meta")?;
    let call = fields.optional_text("callId")?.map(|_| fields.call("callId")).transpose()?;
    let thread = fields.optional_agent("threadId")?;
    let session = fields.optional_text("sessionId")?.map(|_| fields.conversation("sessionId")).transpose()?;
    let turn = fields.optional_fields(CODEX_TURN)?;
    let (turn, origin) = match turn {
        None => (None, PromptOrigin::Unrecorded),
        Some(turn) => {
            let source = turn.optional_text("thread_source")?;
            let trigger = turn.optional_text("turn_trigger")?;
            (turn.optional_turn("turn_id")?, codex_origin(source, trigger))
        }
    };
    // A hook's own call names the thread alone, which in the conversation itself is the conversation's id.
    let conversation = match (&session, &thread) {
        (Some(session), _) => Some(session.clone()),
        (None, Some(thread)) if call.is_none() => ConversationId::new(thread.as_str()),
        (None, _) => None,
    };
    let agent = match (&session, thread) {
        (Some(session), Some(thread)) if session.as_str() != thread.as_str() => Some(thread),
        _ => None,
    };
    Ok(CallMeta { host: Host::Codex, call, conversation, agent, turn, origin })
}

fn codex_origin(source: Option<&str>, trigger: Option<&str>) -> PromptOrigin {
    match (source, trigger) {
        (Some("subagent"), _) => PromptOrigin::Subagent,
        // Typed at a terminal; given to `codex exec`. Both are measured, and nothing else is.
        (Some("user"), Some("user")) => PromptOrigin::Human,
        (Some("user"), Some("exec")) => PromptOrigin::Sdk,
        (None, None) => PromptOrigin::Unrecorded,
        (source, trigger) => {
            let told = [source, trigger].into_iter().flatten().collect::<Vec<_>>();
            PromptOrigin::Other(told.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_without_a_hosts_keys_tells_nothing() {
        assert_eq!(read_meta(&json!({ "progressToken": 1 })), Ok(None));
        assert_eq!(read_meta(&Value::Null), Ok(None));
    }

    #[test]
    fn a_garbled_call_id_is_said_with_its_place() {
        let error = read_meta(&json!({ "claudecode/toolUseId": 7 })).unwrap_err();
        assert_eq!(error.to_string(), "`/_meta/claudecode~1toolUseId` is not a call id");
        let error = read_meta(&json!({ "callId": "", "threadId": "t" })).unwrap_err();
        assert!(error.to_string().starts_with("`/_meta/callId` is not an id"), "{error}");
    }

    #[test]
    fn a_thread_of_its_own_is_a_sub_agent() {
        let meta = json!({ "callId": "c", "threadId": "child", "sessionId": "root",
            "x-codex-turn-metadata": { "turn_id": "t", "thread_source": "subagent", "turn_trigger": "exec" } });
        let meta = read_meta(&meta).unwrap().unwrap();
        assert_eq!(meta.conversation, ConversationId::new("root"));
        assert_eq!(meta.agent, AgentId::new("child"));
        assert_eq!(meta.origin, PromptOrigin::Subagent);
    }

    #[test]
    fn a_hooks_own_call_has_no_call_id() {
        let meta = read_meta(&json!({ "threadId": "root", "progressToken": 1 })).unwrap().unwrap();
        assert_eq!((meta.call, meta.conversation), (None, ConversationId::new("root")));
    }

    #[test]
    fn a_trigger_that_nobody_has_measured_is_no_person() {
        assert_eq!(codex_origin(Some("user"), Some("exec")), PromptOrigin::Sdk);
        assert_eq!(codex_origin(Some("user"), Some("user")), PromptOrigin::Human);
        assert_eq!(codex_origin(Some("subagent"), Some("user")), PromptOrigin::Subagent);
        let other = codex_origin(Some("user"), Some("automation"));
        assert_eq!(other, PromptOrigin::Other("user, automation".into()));
    }
}
