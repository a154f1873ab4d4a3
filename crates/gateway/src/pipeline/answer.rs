//! A client's answer to a server's question: client data on its way to an upstream, so it takes the road like a call.

use std::sync::Arc;

use highwater_core::action::{Action, ActionKind};
use highwater_core::audit::{Outcome, Ruling};
use highwater_core::decide::{PermittedAction, Verdict, decide};
use highwater_mcp::frame::Frame;
use highwater_upstream::event::Ask;

use super::arrival::Course;
use super::record::OpenRecord;
use super::{Arrival, facts_of};
use crate::gateway::Gateway;

impl Gateway {
    /// Gives a legacy client's answer to the upstream that asked.
    pub(super) fn give(&self, arrival: &Arrival, course: &Course, ask: Ask, answer: &Frame) {
        match (answer.result(), answer.error()) {
            (Some(result), _) => self.give_text(arrival, course, ask, result, false),
            (None, Some(error)) => self.give_text(arrival, course, ask, error, true),
            (None, None) => {}
        }
    }

    /// Gives an answer, as JSON text of a result or of an error, to the upstream that asked. An answer that may not go
    /// out is dropped, and the upstream is told that its question was not answered.
    pub(super) fn give_text(
        &self,
        arrival: &Arrival,
        course: &Course,
        ask: Ask,
        answer: &str,
        is_error: bool,
    ) {
        let method = if is_error { "error" } else { ask.method.as_str() };
        let action =
            Action::new(ActionKind::Answer, course.upstream().clone(), method, ask.method.as_str(), answer);
        let decision = self.next_decision();
        let caller = arrival.client.caller();
        let facts = facts_of(arrival, &decision, &action);
        let policy = &arrival.world.policy;
        let permit = match decide(policy, &facts) {
            Verdict::Allow(permit) => permit,
            Verdict::Escalate(escalation) => {
                self.block(policy, &facts, caller, &escalation.unasked());
                return;
            }
            Verdict::Block(denial) => {
                self.block(policy, &facts, caller, &denial);
                return;
            }
        };
        let written = match self.record_decision(policy, &facts, caller, permit.judgement(), Ruling::Allowed)
        {
            Ok(written) => written,
            Err(error) => {
                tracing::error!(%error, "an answer could not be recorded and is not given");
                return;
            }
        };
        let mut record = OpenRecord::open(Arc::clone(&self.audit), decision, written);
        match PermittedAction::bind(action, permit) {
            Ok(permitted) => ask.answer.give(permitted),
            Err(error) => {
                tracing::error!(%error, "an answer is not given");
                return;
            }
        }
        if let Err(error) = record.settle(Outcome::Delivered, 0, None, None) {
            tracing::error!(%error, "that an answer was given could not be recorded");
        }
    }
}
