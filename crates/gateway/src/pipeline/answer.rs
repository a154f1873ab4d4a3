//! A client's answer to a server's question: client data on its way to an upstream, so it takes the road like a call.

use std::sync::Arc;

use highwater_core::action::{Action, ActionKind};
use highwater_core::audit::Outcome;
use highwater_core::decide::{Permit, PermittedAction, Verdict};
use highwater_mcp::frame::Frame;
use highwater_upstream::event::Ask;

use super::Arrival;
use super::arrival::Course;
use super::layout::Layout;
use super::record::{End, OpenRecord};
use super::undertaking::Undertaking;
use crate::gateway::Gateway;

impl Gateway {
    /// Gives a legacy client's answer to the upstream that asked.
    pub(super) async fn give(&self, arrival: &Arrival, course: &Course, ask: Ask, answer: &Frame) {
        match (answer.result(), answer.error()) {
            (Some(result), _) => self.give_text(arrival, course, ask, result, false).await,
            (None, Some(error)) => self.give_text(arrival, course, ask, error, true).await,
            (None, None) => {}
        }
    }

    /// Gives an answer, as JSON text of a result or of an error, to the upstream that asked. An answer that may not go
    /// out is dropped, and the upstream is told that its question was not answered.
    pub(super) async fn give_text(
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
        let layout = Layout::of(&action);
        let mut undertaking = self.gather(arrival, course, Arc::new(action), layout).await;
        let Some(permit) = self.may_answer(&mut undertaking).await else { return };
        if let Err(error) = self.mark_written(&mut undertaking).await {
            tracing::error!(%error, "what an answer writes could not be marked, so it is not given");
            return;
        }
        let written = match self.record_permit(&undertaking, &permit) {
            Ok(written) => written,
            Err(error) => {
                tracing::error!(%error, "an answer could not be recorded and is not given");
                return;
            }
        };
        let mut record = OpenRecord::open(Arc::clone(&self.audit), undertaking.decision.clone(), written);
        match PermittedAction::bind(Arc::clone(&undertaking.action), permit) {
            Ok(permitted) => ask.answer.give(permitted),
            Err(error) => {
                tracing::error!(%error, "an answer is not given");
                return;
            }
        }
        if let Err(error) = record.settle(Outcome::Delivered, End::default()) {
            tracing::error!(%error, "that an answer was given could not be recorded");
        }
    }

    /// Whether an answer may go out. A person who has just answered is not asked whether they may.
    async fn may_answer(&self, undertaking: &mut Undertaking) -> Option<Permit> {
        let denial = match self.judge(undertaking).await {
            Verdict::Allow(permit) => return Some(permit),
            Verdict::Escalate(escalation) => escalation.unasked(),
            Verdict::Block(denial) => denial,
        };
        self.block(undertaking, &denial);
        None
    }
}
