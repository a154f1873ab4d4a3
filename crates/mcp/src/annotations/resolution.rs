//! What a server says of one call with its arguments: `tools/resolve`, in both published forms.

use std::sync::Arc;

use highwater_core::annotation::Authority;

use super::flow;
use super::heard::{Heard, Reading, Subject};
use super::shape::{is_empty_object, says};
use crate::text::{is_object, is_true, member, pointer, string_member};

/// The extension's name, in capabilities and in a tool's `_meta`.
pub const TOOL_RESOLUTION: &str = "io.modelcontextprotocol/tool-resolution";

/// What a server's capabilities say that concerns its tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerSays {
    /// How it resolves tools, if it does.
    pub resolves: Option<ResolveForm>,
    /// From whom its tools take data that state no policy of their own; `None` if it has no policy.
    pub accept_from: Option<Arc<[Arc<str>]>>,
}

/// The two published forms of resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolveForm {
    /// SEP-1862: the answer is a whole tool.
    Tool,
    /// The extension: the answer is annotations.
    Extension,
}

/// Why an answer to `tools/resolve` says nothing. The static contract stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// It is no answer of either form.
    #[error("the answer to `tools/resolve` has neither `tool` nor `annotations`")]
    NoAnswer,
    /// It is not final.
    #[error("the answer to `tools/resolve` is not complete")]
    Incomplete,
    /// It speaks of another tool.
    #[error("the answer to `tools/resolve` is about another tool")]
    OtherTool,
}

/// Reads a server's capabilities, as JSON text.
pub fn server_says(capabilities: &str) -> ServerSays {
    let extension = pointer(capabilities, &["extensions", TOOL_RESOLUTION]);
    let resolves = if extension.is_some_and(is_empty_object) {
        Some(ResolveForm::Extension)
    } else {
        let original = pointer(capabilities, &["tools", "resolve"]).is_some_and(is_true);
        original.then_some(ResolveForm::Tool)
    };
    ServerSays { resolves, accept_from: flow::server_policy(capabilities) }
}

/// How calls of this tool can be resolved, if they can.
pub fn resolvable(tool: &str, server: &ServerSays) -> Option<ResolveForm> {
    let form = server.resolves?;
    let marked = match form {
        ResolveForm::Tool => member(tool, "resolve"),
        ResolveForm::Extension => pointer(tool, &["_meta", TOOL_RESOLUTION, "resolvable"]),
    };
    marked.is_some_and(is_true).then_some(form)
}

/// What an answer to `tools/resolve` says of the call. `name` is the tool's own name.
///
/// Of a whole tool its `annotations` and `_meta` count and nothing else: a changed schema, description or title
/// is never adopted.
pub fn resolved_claims(result: &str, name: &str, by: Authority) -> Result<Reading, Unresolved> {
    if member(result, "resultType").is_some() && !says(result, "resultType", "complete") {
        return Err(Unresolved::Incomplete);
    }
    let tool = member(result, "tool").filter(|tool| is_object(tool));
    let subject = tool.unwrap_or(result);
    if tool.is_none() && member(result, "annotations").is_none() {
        return Err(Unresolved::NoAnswer);
    }
    if string_member(subject, "name").as_deref() != Some(name) {
        return Err(Unresolved::OtherTool);
    }
    let mut heard = Heard::new(Subject::Tool, by);
    if let Some(annotations) = member(subject, "annotations") {
        heard.annotations(annotations);
    }
    for meta in [tool.and_then(|tool| member(tool, "_meta")), member(result, "_meta")].into_iter().flatten() {
        heard.meta(meta);
    }
    Ok(heard.finish())
}
