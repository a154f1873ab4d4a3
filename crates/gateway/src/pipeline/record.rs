//! Puts decisions, questions and outcomes on record. What cannot be recorded does not happen.

use std::sync::Arc;

use highwater_core::audit::{AuditEvent, Happened, Outcome, RECORD_VERSION};
use highwater_core::decide::{AskFacts, Effect, Finding};
use highwater_core::id::DecisionId;
use highwater_core::policy::Facts;
use highwater_store::{Appended, AuditError, AuditLog};
use tokio::time::Instant;

use crate::client::Caller;
use crate::gateway::{Gateway, now};

impl Gateway {
    /// Writes a decision down. No findings means that it was allowed.
    pub(super) fn record_decision(
        &self,
        facts: &Facts<'_>,
        caller: &Caller,
        findings: &[Finding],
    ) -> Result<Appended, AuditError> {
        let effect = findings.iter().map(|finding| finding.effect).max().unwrap_or(Effect::Allow);
        self.audit.append(&AuditEvent {
            v: RECORD_VERSION,
            time: now(),
            id: facts.decision,
            happened: Happened::Decision {
                principal: &caller.principal,
                session: &caller.session,
                virtual_server: &caller.virtual_server,
                upstream: facts.action.upstream(),
                kind: facts.action.kind(),
                method: facts.action.method(),
                target: facts.action.target(),
                digest: facts.action.digest(),
                effect,
                findings,
            },
        })
    }

    /// Writes down that an upstream asked something.
    pub(super) fn record_question(
        &self,
        decision: &DecisionId,
        facts: &AskFacts<'_>,
        findings: &[Finding],
    ) -> Result<Appended, AuditError> {
        let effect = findings.iter().map(|finding| finding.effect).max().unwrap_or(Effect::Allow);
        self.audit.append(&AuditEvent {
            v: RECORD_VERSION,
            time: now(),
            id: decision,
            happened: Happened::Question { upstream: facts.upstream, kind: facts.kind, effect, findings },
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
        findings: &[Finding],
    ) -> Result<Appended, AuditError> {
        self.settled = true;
        let millis = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.audit.append(&AuditEvent {
            v: RECORD_VERSION,
            time: now(),
            id: &self.decision,
            happened: Happened::Outcome { outcome, bytes: bytes as u64, millis, detail, findings },
        })
    }
}

impl Drop for OpenRecord {
    fn drop(&mut self) {
        if !self.settled
            && let Err(error) = self.settle(Outcome::Cancelled, 0, None, &[])
        {
            tracing::error!(%error, decision = %self.decision, "a cancelled call could not be recorded");
        }
    }
}
