//! A client's answer to a server's question: client data on its way to an upstream, so it takes the road like a call.

use std::sync::Arc;

use highwater_audit::Outcome;
use highwater_core::action::{Action, ActionKind};
use highwater_core::decide::PermittedAction;
use highwater_mcp::frame::Frame;
use highwater_upstream::event::Ask;

use super::Arrival;
use super::arrival::RoutedAction;
use super::ask::ServerQuestions;
use super::judge::Settled;
use super::permitted::{Basis, Granted, Permitted};
use super::proposed::Proposed;
use super::record::End;

// === impl ServerQuestions ===

impl ServerQuestions {
    /// Gives a legacy client's answer to the upstream that asked.
    pub(super) async fn give(&self, arrival: &Arrival, call: &Permitted, ask: Ask, answer: &Frame) {
        match (answer.result(), answer.error()) {
            (Some(result), _) => self.give_text(arrival, call, ask, result, false).await,
            (None, Some(error)) => self.give_text(arrival, call, ask, error, true).await,
            (None, None) => {}
        }
    }

    /// Gives an answer, as JSON text of a result or of an error, to the upstream that asked in the course of a call. It is
    /// judged as that call under the label of this moment. An answer that may not go out is dropped, and the upstream is told that its question was not answered.
    pub(super) async fn give_text(
        &self,
        arrival: &Arrival,
        call: &Permitted,
        ask: Ask,
        answer: &str,
        is_error: bool,
    ) {
        let route = &call.route;
        let method = if is_error { "error" } else { ask.method.as_str() };
        let action =
            Action::new(ActionKind::Answer, route.upstream().clone(), method, ask.method.as_str(), answer);
        let call = Some(Box::new(call.under_way()));
        let routed = RoutedAction { call, ..RoutedAction::new(action, route.clone()) };
        let proposed = self.judge.gather(arrival, routed).await;
        let Some((proposed, granted)) = self.may_answer(proposed).await else { return };
        let proposed = match self.judge.sessions.mark_written(proposed, false).await {
            Ok((proposed, _)) => proposed,
            Err((_, error)) => {
                tracing::error!(%error, "what an answer writes could not be marked, so it is not given");
                return;
            }
        };
        if let Err(error) = self.judge.sessions.note_exit(&proposed).await {
            tracing::error!(%error, "that an answer leaves for the public could not be stored, so it is not given");
            return;
        }
        let mut record = match self.judge.recorder.permit(&proposed, &granted) {
            Ok(record) => record,
            Err(error) => {
                tracing::error!(%error, "an answer could not be recorded and is not given");
                return;
            }
        };
        match PermittedAction::bind(Arc::clone(&proposed.action), granted.permit) {
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
    async fn may_answer(&self, proposed: Proposed) -> Option<(Proposed, Granted)> {
        match self.judge.judge(proposed).await {
            Ok(Settled::Granted(proposed, granted)) => Some((proposed, granted)),
            Ok(Settled::Open(proposed, escalation)) => {
                self.judge.recorder.block(&proposed, &escalation.unasked(), &Basis::default());
                None
            }
            Err(_) => None,
        }
    }
}
