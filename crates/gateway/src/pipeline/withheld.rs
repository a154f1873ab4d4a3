//! The exits behind a call that was sent: no reply came, or the one that came stays here. What was sent may have taken
//! effect, so none of these refusals says that nothing happened unless nothing was sent.

use std::sync::Arc;

use highwater_audit::Outcome;
use highwater_core::decide::{Denial, Judgement, withheld};
use highwater_core::id::DecisionId;
use highwater_mcp::error_code;
use highwater_store::{AuditError, StoreError};
use highwater_upstream::error::{Cause, UpstreamError};

use super::Refusal;
use super::record::End;
use super::sent::Sent;
use super::sessions::Sessions;

// === impl Sent ===

impl Sent {
    /// Records that no reply came, or none that can be passed on.
    pub(super) async fn failed(mut self, sessions: &Sessions, error: UpstreamError) -> Refusal {
        let (outcome, code) = match &error.cause {
            Cause::TimedOut(_) => (Outcome::TimedOut, error_code::UPSTREAM_UNAVAILABLE),
            Cause::TooLarge { .. } | Cause::Malformed(_) => (Outcome::Failed, error_code::RESULT_WITHHELD),
            _ => (Outcome::Failed, error_code::UPSTREAM_UNAVAILABLE),
        };
        let text = error.to_string();
        tracing::warn!(decision = %self.decision(), "{text}");
        if !error.sent {
            sessions.wrote_nothing(&self.permitted).await;
        }
        let end = End { detail: Some(&text), ..End::default() };
        if let Err(error) = self.record.settle(outcome, end) {
            return unrecorded(self.decision(), &error);
        }
        let advice = if error.sent {
            "it may have taken effect: check before calling again"
        } else {
            "nothing was executed: try again later or use another tool"
        };
        Refusal::about(self.decision(), code, &format!("{text}; {advice}"))
    }

    /// Records that a reply is not passed on by policy.
    pub(super) fn withhold(&mut self, denial: &Denial) -> Refusal {
        match self.end_withheld(None, Some(denial.judgement())) {
            Ok(()) => self.withheld(),
            Err(refusal) => refusal,
        }
    }

    /// The label of a reply could not be stored: it stays here.
    pub(super) fn unlabelled(&mut self, error: &StoreError) -> Refusal {
        let detail = "the call has run, but the label of its reply could not be stored";
        match self.end_withheld(Some(detail), None) {
            Ok(()) => Refusal::unlabelled(self.decision(), error),
            Err(refusal) => refusal,
        }
    }

    /// Something must be removed from a reply that cannot be removed: it stays here.
    pub(super) fn unredacted(&mut self) -> Refusal {
        match self.end_withheld(Some("it would have to be redacted"), None) {
            Ok(()) => self.withheld(),
            Err(refusal) => refusal,
        }
    }

    fn end_withheld(&mut self, detail: Option<&str>, judgement: Option<&Judgement>) -> Result<(), Refusal> {
        let permitted = Arc::clone(&self.permitted);
        let label = self.reply_label.as_ref();
        let provenance = Some(permitted.provenance().labelled(label));
        let end = End { detail, judgement, label, provenance, ..End::default() };
        let settled = self.record.settle(Outcome::Withheld, end);
        settled.map(|_| ()).map_err(|error| unrecorded(self.decision(), &error))
    }

    fn withheld(&self) -> Refusal {
        Refusal::about(self.decision(), error_code::REPLY_WITHHELD, &withheld(self.permitted.name()))
    }
}

/// The outcome could not be recorded: the reply stays here.
pub(super) fn unrecorded(decision: &DecisionId, error: &AuditError) -> Refusal {
    tracing::error!(%error, %decision, "withheld: the outcome could not be recorded");
    let message = "the call has run, but its result could not be recorded and is withheld";
    Refusal::about(decision, error_code::RESULT_WITHHELD, message)
}
