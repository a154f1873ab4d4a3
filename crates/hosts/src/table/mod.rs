//! From what a host sends to its hooks to a [`HostEvent`]: one table per host.
//!
//! Two carriers bring the same events. A command hook gets the host's JSON on standard input
//! ([`read_payload`]). A hook that is an MCP tool call gets arguments that `connect` wrote into the host's
//! configuration ([`tool_call::arguments`], [`tool_call::read_arguments`]); they have the same names.

mod claude_code;
mod codex;
pub mod tool_call;

use serde_json::Value;

use crate::event::{Agent, EventKind, HostEvent, Outcome, StartSource, ToolCall};
use crate::host::{HookName, Host};
use crate::payload::{EventError, Fields, parse};

/// The event that a command hook was told on standard input.
///
/// `installed` is the event for which the command was installed. An input of another event is an error: how
/// a hook fails depends on the event, so the two must agree.
pub fn read_payload(host: Host, installed: HookName, input: &[u8]) -> Result<HostEvent, EventError> {
    let value = parse(input)?;
    let event = read_value(host, &value)?;
    let given = Fields::of(&value, "")?.text("hook_event_name")?.to_owned();
    if given != installed.name() {
        return Err(EventError::OtherEvent { installed: installed.name(), given });
    }
    Ok(event)
}

/// The event of a host's JSON that has been parsed.
pub fn read_value(host: Host, value: &Value) -> Result<HostEvent, EventError> {
    let fields = Fields::of(value, "")?;
    let name = fields.text("hook_event_name")?;
    let hook = HookName::from_name(name).filter(|hook| host.hooks().contains(hook));
    let conversation = fields.conversation("session_id")?;
    let (turn, kind) = match host {
        Host::ClaudeCode => (claude_code::turn(&fields)?, claude_code::kind(&fields, hook, name)?),
        Host::Codex => (codex::turn(&fields)?, codex::kind(&fields, hook, name)?),
    };
    let agent = agent(&fields)?;
    if agent.is_none() && matches!(kind, EventKind::SubagentStart | EventKind::SubagentStop(_)) {
        return Err(EventError::Missing { at: "/agent_id".to_owned() });
    }
    Ok(HostEvent {
        host,
        conversation,
        turn,
        agent,
        transcript: fields.optional_name("transcript_path")?.map(str::to_owned),
        folder: fields.optional_name("cwd")?.map(str::to_owned),
        kind,
    })
}

fn agent(fields: &Fields<'_>) -> Result<Option<Agent>, EventError> {
    let sort = fields.optional_name("agent_type")?.map(str::to_owned);
    Ok(fields.optional_agent("agent_id")?.map(|id| Agent { id, sort }))
}

// What both hosts tell in the same words.

fn start(fields: &Fields<'_>) -> Result<EventKind, EventError> {
    Ok(EventKind::Start(StartSource::from_name(fields.text("source")?)))
}

fn end(fields: &Fields<'_>) -> Result<EventKind, EventError> {
    Ok(EventKind::End(fields.optional_text("reason")?.unwrap_or_default().to_owned()))
}

fn prompt(fields: &Fields<'_>) -> Result<EventKind, EventError> {
    Ok(EventKind::Prompt(fields.text("prompt")?.to_owned()))
}

fn tool_call(fields: &Fields<'_>) -> Result<ToolCall, EventError> {
    let server = match fields.optional_fields("mcp_server")? {
        Some(server) => server.optional_name("name")?.map(str::to_owned),
        None => None,
    };
    Ok(ToolCall {
        id: fields.call("tool_use_id")?,
        tool: fields.name("tool_name")?.to_owned(),
        input: fields.object("tool_input")?.clone(),
        server,
    })
}

fn after(fields: &Fields<'_>) -> Result<EventKind, EventError> {
    // A tool may well answer with nothing: a missing response is an empty one.
    let response = fields.value("tool_response").cloned().unwrap_or(Value::Null);
    Ok(EventKind::After(tool_call(fields)?, Outcome::Result(response)))
}

fn permission(fields: &Fields<'_>) -> Result<EventKind, EventError> {
    Ok(EventKind::Permission {
        tool: fields.name("tool_name")?.to_owned(),
        input: fields.object("tool_input")?.clone(),
    })
}

fn subagent_stop(fields: &Fields<'_>) -> Result<EventKind, EventError> {
    Ok(EventKind::SubagentStop(fields.optional_text("last_assistant_message")?.map(str::to_owned)))
}
