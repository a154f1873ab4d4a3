//! What a host's own tools have shown, as evidence of where the values of calls come from.

use std::sync::Arc;

use highwater_core::annotation::{Destination, Outcome};
use highwater_core::id::{DecisionId, UpstreamId};
use highwater_core::label::Label;
use highwater_core::trust::TrustLevel;
use highwater_hosts::binding::Node;
use highwater_hosts::event::{self, ToolCall};
use highwater_hosts::host::Host;
use highwater_provenance::{Body, Call, Reply};
use serde_json::Value;

use crate::gateway::Gateway;
use crate::session::ReadCall;

/// How much of a result is told. No more of it is kept anyway.
const LONGEST_RESULT: usize = 512 << 10;

/// The result of a tool of a host.
#[derive(Clone, Debug)]
pub(super) struct NativeReply {
    decision: DecisionId,
    server: UpstreamId,
    pub(super) tool: Arc<str>,
    arguments: Value,
    failed: bool,
    text: Arc<str>,
}

// === impl NativeReply ===

impl NativeReply {
    pub(super) fn of(host: Host, call: &ToolCall, outcome: &event::Outcome) -> Self {
        let mut text = String::new();
        let failed = match outcome {
            event::Outcome::Result(value) => {
                texts(value, &mut text);
                false
            }
            event::Outcome::Failure(why) => {
                add(why, &mut text);
                true
            }
        };
        Self {
            decision: DecisionId::new(format!("host:{}", call.id)),
            server: UpstreamId::new(format!("host:{host}")),
            tool: call.tool.as_str().into(),
            arguments: call.input.clone(),
            failed,
            text: text.into(),
        }
    }
}

impl Gateway {
    /// Hands over what a tool of a host has shown, once its label is part of the session's.
    pub(super) fn tell_native_reply(&self, node: &Node, reply: &NativeReply, label: &Label) {
        let session = self.session_of_node(node);
        if reply.text.is_empty() || !self.evidence.may_have(&session) {
            return;
        }
        let epoch = session.cached().map(|state| state.epoch);
        let told = self.evidence.with(&session, epoch, |evidence| {
            let call = Call {
                server: &reply.server,
                tool: &reply.tool,
                description: None,
                arguments: &reply.arguments,
                role: &|_| None,
                schema: None,
                destination: Destination::Ephemeral,
                outcome: Outcome::Benign,
                destructive: false,
                caps: &[],
            };
            evidence.reply(&Reply {
                decision: reply.decision.clone(),
                call: &call,
                trusted: label.integrity() >= TrustLevel::Tool,
                failed: reply.failed,
                classes: label.classes(),
                records: None,
                body: Body::Text(Arc::clone(&reply.text)),
            });
        });
        if told.is_some() {
            let read = ReadCall {
                decision: reply.decision.clone(),
                server: reply.server.clone(),
                tool: Arc::clone(&reply.tool),
                shown: format!("{} of {}", reply.tool, node.conversation.host.title()).into(),
                arguments: reply.arguments.to_string().into(),
            };
            self.evidence.note_read(session.key(), read);
        }
    }

    /// The host of a conversation tells words. `is_whole` says that everything that was read in it is known here.
    pub(super) async fn bring_words(&self, node: &Node, is_whole: bool) {
        self.evidence.bring_words(&self.session_of_node(node), is_whole).await;
    }
}

/// Every text in a value, one after the other.
fn texts(value: &Value, into: &mut String) {
    match value {
        Value::String(text) => add(text, into),
        Value::Array(items) => items.iter().for_each(|item| texts(item, into)),
        Value::Object(members) => members.values().for_each(|member| texts(member, into)),
        Value::Number(number) => add(&number.to_string(), into),
        Value::Null | Value::Bool(_) => {}
    }
}

fn add(text: &str, into: &mut String) {
    let room = LONGEST_RESULT.saturating_sub(into.len());
    let end = (0..=room.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    into.push_str(text.get(..end.unwrap_or_default()).unwrap_or_default());
    into.push('\n');
}
