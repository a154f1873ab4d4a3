//! An action that a person is asked about, or for which a proof is spent, is sent as it was shown: its name, its canonical
//! arguments, and members of the protocol that we make ourselves. Keys of `_meta` that hosts add to every call stay here;
//! any other member of the parameters is refused before anybody is asked.

use std::borrow::Cow;
use std::sync::Arc;

use highwater_core::action::{Action, ActionKind};
use highwater_mcp::annotations::VERIFIED_APPROVAL;
use highwater_mcp::text::{is_object, is_string, is_true, member, members, quote};
use highwater_notation::CanonicalArguments;

use super::super::arrival::{Route, TaskBridge};
use crate::handshake::TASKS_EXTENSION;

/// The trace that a call belongs to, as the W3C writes it.
const TRACE_PARENT: &str = "traceparent";

/// What may stand in the parameters besides what the action's kind has.
#[derive(Clone, Copy)]
pub(super) struct Allowed {
    /// The action brings its server answers, as a part of a call that a person agreed to.
    pub(super) answers: bool,
    /// Its evidence is verified by its server.
    pub(super) relayed: bool,
}

/// A member of the parameters that nobody was shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unshown(pub(super) String);

/// The action as it is sent once a person has agreed; nothing if it is that already.
pub(super) fn rebuilt(
    route: &Route,
    action: &Action,
    allowed: Allowed,
) -> Result<Option<Arc<Action>>, Unshown> {
    let sent = action.params();
    let Some(known) = known_members(action) else { return Ok(None) };
    let mut params = String::with_capacity(sent.len());
    params.push('{');
    let mut push = |key: &str, value: &str| {
        if params.len() > 1 {
            params.push(',');
        }
        params.push_str(&quote(key));
        params.push(':');
        params.push_str(value);
    };
    let mut arguments_stand = false;
    for (key, value) in members(sent) {
        match &*key {
            "arguments" if known.contains(&"arguments") => {
                arguments_stand = true;
                push("arguments", &canonical(value));
            }
            "_meta" => {
                if let Some(meta) = shown_meta(value, allowed.relayed) {
                    push("_meta", &meta);
                }
            }
            "inputResponses" | "requestState" if allowed.answers => push(&key, value),
            // We ask for a task ourselves where a tool can only be called as one.
            "task" if route.task == TaskBridge::Legacy => push("task", value),
            known_key if known.contains(&known_key) => push(known_key, value),
            _ => return Err(Unshown(key.into_owned())),
        }
    }
    // A call without arguments is signed as one with none.
    if !arguments_stand && action.kind() == ActionKind::CallTool {
        push("arguments", "{}");
    }
    params.push('}');
    if members(&params).eq(members(sent)) {
        return Ok(None);
    }
    let (upstream, method) = (action.upstream().clone(), Arc::clone(action.method()));
    let target = Arc::clone(action.target());
    Ok(Some(Arc::new(Action::new(action.kind(), upstream, method, target, params))))
}

/// The members that an action of this kind has; nothing where all of its parameters are what is asked about.
fn known_members(action: &Action) -> Option<&'static [&'static str]> {
    Some(match (action.kind(), &**action.method()) {
        (ActionKind::CallTool, _) | (ActionKind::Answer, "tools/call") => &["name", "arguments"],
        (ActionKind::GetPrompt, _) | (ActionKind::Answer, "prompts/get") => &["name", "arguments"],
        (ActionKind::ReadResource | ActionKind::Subscribe, _) | (ActionKind::Answer, "resources/read") => {
            &["uri"]
        }
        (ActionKind::CreateChallenge, _) => &["toolName", "arguments"],
        (ActionKind::Complete, _) => &["ref", "argument", "context"],
        (ActionKind::ResolveTool, _) => &["name", "arguments"],
        (ActionKind::TaskStep, _) => &["taskId", "inputResponses"],
        // The result that a client gives to a server's question, and the parameters of a method outside MCP.
        (ActionKind::Answer | ActionKind::ExtraMethod, _) => return None,
    })
}

/// The arguments in the form that is signed; as they came where they have none.
fn canonical(arguments: &str) -> Cow<'_, str> {
    match CanonicalArguments::read(Some(arguments)) {
        Ok(canonical) => Cow::Owned(canonical.as_str().to_owned()),
        Err(_) => Cow::Borrowed(arguments),
    }
}

/// What of a client's `_meta` goes on. Progress, version and capabilities are said by us in any case.
fn shown_meta(meta: &str, relayed: bool) -> Option<String> {
    let trace = member(meta, TRACE_PARENT).filter(|value| is_trace_parent(value));
    let evidence = member(meta, VERIFIED_APPROVAL).filter(|_| relayed);
    let kept: Vec<String> = [(TRACE_PARENT, trace), (VERIFIED_APPROVAL, evidence)]
        .into_iter()
        .filter_map(|(key, value)| Some(format!("{}:{}", quote(key), value?)))
        .collect();
    (!kept.is_empty()).then(|| format!("{{{}}}", kept.join(",")))
}

/// What a client can do, in the protocol's own words, without anything that it adds to them.
pub(in crate::pipeline) fn named_capabilities(capabilities: &str) -> String {
    const NAMED: [(&str, &[&str]); 4] = [
        ("elicitation", &["form", "url"]),
        ("extensions", &[TASKS_EXTENSION]),
        ("roots", &["listChanged"]),
        ("sampling", &["context", "tools"]),
    ];
    let declared = |(name, parts): (&str, &[&str])| {
        let said = member(capabilities, name).filter(|said| is_object(said))?;
        let parts = parts.iter().filter_map(|part| {
            let value = match member(said, part)? {
                value if is_true(value) => "true",
                value if is_object(value) => "{}",
                _ => return None,
            };
            Some(format!("{}:{value}", quote(part)))
        });
        Some(format!("{}:{{{}}}", quote(name), parts.collect::<Vec<_>>().join(",")))
    };
    format!("{{{}}}", NAMED.into_iter().filter_map(declared).collect::<Vec<_>>().join(","))
}

/// Whether a value is a version, two ids and flags in hexadecimal, and nothing else.
fn is_trace_parent(value: &str) -> bool {
    let Some(text) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return false };
    let lengths = [2, 32, 16, 2];
    let hexadecimal = |part: &str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_string(value)
        && text.split('-').count() == lengths.len()
        && text.split('-').zip(lengths).all(|(part, length)| part.len() == length && hexadecimal(part))
}

#[cfg(test)]
mod tests;
