//! Puts decisions, questions and outcomes on record. What cannot be recorded does not happen.

use std::sync::Arc;

use highwater_core::audit::{AuditEvent, Decision, Ended, Happened, Outcome, Question, Ruling};
use highwater_core::decide::{AskFacts, AskVerdict, Judgement};
use highwater_core::id::DecisionId;
use highwater_core::policy::{Facts, Policy};
use highwater_store::{Appended, AuditError, AuditLog};
use tokio::time::Instant;

use crate::client::Caller;
use crate::gateway::{Gateway, now};

impl Gateway {
    /// Writes a decision down.
    pub(super) fn record_decision(
        &self,
        policy: &Policy,
        facts: &Facts<'_>,
        caller: &Caller,
        judgement: &Judgement,
        ruling: Ruling,
    ) -> Result<Appended, AuditError> {
        let session = &caller.session;
        self.audit.append(&AuditEvent {
            time: now(),
            id: Some(facts.decision),
            happened: Happened::Decision(Decision { session, epoch: 0, policy, facts, judgement, ruling }),
        })
    }

    /// Writes down that an upstream asked something.
    pub(super) fn record_question(
        &self,
        decision: &DecisionId,
        facts: &AskFacts<'_>,
        verdict: &AskVerdict,
    ) -> Result<Appended, AuditError> {
        let (judgement, label) = match verdict {
            AskVerdict::Put(pass) => (pass.judgement(), Some(pass.label())),
            AskVerdict::Refuse(denial) => (denial.judgement(), None),
        };
        let (upstream, kind, put) = (facts.upstream, facts.kind, label.is_some());
        self.audit.append(&AuditEvent {
            time: now(),
            id: Some(decision),
            happened: Happened::Question(Question { upstream, kind, judgement, put, label, raised: false }),
        })
    }
}

/// The open page of one allowed action. Whatever happens to the call, its outcome is written exactly once: if nobody
/// settles it, its end is recorded as a cancellation when it is dropped.
pub(super) struct OpenRecord {
    audit: Arc<AuditLog>,
    decision: DecisionId,
    began: Instant,
    settled: bool,
}

// === impl OpenRecord ===

impl OpenRecord {
    /// Opens the page; the decision itself must be in the log already.
    pub(super) fn open(audit: Arc<AuditLog>, decision: DecisionId, _written: Appended) -> Self {
        Self { audit, decision, began: Instant::now(), settled: false }
    }

    pub(super) fn decision(&self) -> &DecisionId {
        &self.decision
    }

    /// Writes the outcome.
    pub(super) fn settle(
        &mut self,
        outcome: Outcome,
        bytes: usize,
        detail: Option<&str>,
        judgement: Option<&Judgement>,
    ) -> Result<Appended, AuditError> {
        self.settled = true;
        let millis = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.audit.append(&AuditEvent {
            time: now(),
            id: Some(&self.decision),
            happened: Happened::Outcome(Ended {
                outcome,
                bytes: bytes as u64,
                millis,
                detail,
                judgement,
                label: None,
                raised: false,
            }),
        })
    }
}

impl Drop for OpenRecord {
    fn drop(&mut self) {
        if !self.settled
            && let Err(error) = self.settle(Outcome::Cancelled, 0, None, None)
        {
            tracing::error!(%error, decision = %self.decision, "a cancelled call could not be recorded");
        }
    }
}
