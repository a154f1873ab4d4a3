//! Puts decisions, questions, answers and outcomes on record. What cannot be recorded does not happen.

use std::sync::Arc;

use highwater_audit::{AuditEvent, Decision, Ended, Happened, Outcome, Provenance, Ruling};
use highwater_core::decide::{Answer, Escalation, Judgement, Permit, QuestionDigest};
use highwater_core::id::DecisionId;
use highwater_core::label::Label;
use highwater_core::policy::Facts;
use highwater_marks::Mark;
use highwater_store::{Appended, AuditError, AuditLog};
use tokio::time::Instant;

use super::Refusal;
use super::permitted::{Basis, Granted};
use super::proposed::Proposed;
use crate::gateway::now;

/// How an action ended, with whatever there is to say about it.
#[derive(Clone, Copy, Default)]
pub(super) struct End<'a> {
    pub(super) bytes: usize,
    /// What went wrong, in our words.
    pub(super) detail: Option<&'a str>,
    /// What was judged of the reply.
    pub(super) judgement: Option<&'a Judgement>,
    pub(super) label: Option<&'a Label>,
    /// Whether the session's label rose with it.
    pub(super) raised: bool,
    /// Where what came back comes from.
    pub(super) provenance: Option<Provenance<'a>>,
    /// The marks that it bears.
    pub(super) marks: &'a [Arc<Mark>],
}

/// Writes to the audit log.
#[derive(Clone)]
pub(crate) struct Recorder {
    audit: Arc<AuditLog>,
}

// === impl Recorder ===

impl Recorder {
    pub(crate) fn new(audit: Arc<AuditLog>) -> Self {
        Self { audit }
    }

    /// Writes down that an action was allowed, with whatever was found about it, and opens its page.
    pub(super) fn permit(&self, proposed: &Proposed, granted: &Granted) -> Result<OpenRecord, AuditError> {
        let (judgement, ruling) = (granted.permit.judgement(), ruling_of(&granted.permit));
        let written = self.decision_on(proposed, judgement, ruling, &granted.basis)?;
        Ok(OpenRecord::open(Arc::clone(&self.audit), proposed.decision.clone(), written))
    }

    /// The same, with what other calls write down now.
    pub(super) async fn departure(
        &self,
        proposed: &Proposed,
        granted: &Granted,
    ) -> Result<OpenRecord, AuditError> {
        let (facts, permit) = (proposed.facts(), &granted.permit);
        let event = decided(proposed, &facts, permit.judgement(), ruling_of(permit), &granted.basis);
        let mut record = OpenRecord::of(Arc::clone(&self.audit), proposed.decision.clone());
        // Dropped before the page, so that the decision of a call given up meanwhile is written before its end.
        let appending = self.audit.append_with_others(&event);
        record.settled = false;
        appending.written().await.inspect_err(|_| record.settled = true)?;
        Ok(record)
    }

    /// Writes down that a person is to be asked.
    pub(super) fn escalation(&self, proposed: &Proposed, escalation: &Escalation) -> Result<(), Refusal> {
        let judged = self.decision(proposed, escalation.judgement(), Ruling::Asked);
        judged.map(|_| ()).map_err(|error| Refusal::unrecorded(&proposed.decision, &error))
    }

    /// Writes down that a question went out to a person.
    pub(super) fn asked(
        &self,
        proposed: &Proposed,
        question: QuestionDigest,
        how: &str,
    ) -> Result<(), Refusal> {
        let question = (!proposed.sealed).then_some(question);
        self.note(proposed, Happened::Asked { question, how })
    }

    /// Writes down what a person said.
    pub(super) fn answer(
        &self,
        proposed: &Proposed,
        question: QuestionDigest,
        answer: Answer,
    ) -> Result<(), Refusal> {
        self.answer_by(proposed, question, answer, proposed.caller.principal.as_str())
    }

    /// The same, where it is known who.
    pub(super) fn answer_by(
        &self,
        proposed: &Proposed,
        question: QuestionDigest,
        answer: Answer,
        by: &str,
    ) -> Result<(), Refusal> {
        let question = (!proposed.sealed).then_some(question);
        self.note(proposed, Happened::Answered { question, answer, by })
    }

    fn note(&self, proposed: &Proposed, happened: Happened<'_>) -> Result<(), Refusal> {
        let noted = self.happened(proposed, happened);
        noted.map(|_| ()).map_err(|error| Refusal::unrecorded(&proposed.decision, &error))
    }

    /// Writes down something that happened in the course of a call.
    pub(super) fn happened(
        &self,
        proposed: &Proposed,
        happened: Happened<'_>,
    ) -> Result<Appended, AuditError> {
        self.audit.append(&AuditEvent { time: now(), id: Some(&proposed.decision), happened })
    }

    /// Writes a decision down.
    pub(super) fn decision(
        &self,
        proposed: &Proposed,
        judgement: &Judgement,
        ruling: Ruling,
    ) -> Result<Appended, AuditError> {
        self.decision_on(proposed, judgement, ruling, &Basis::default())
    }

    /// The same with what it rests on.
    pub(super) fn decision_on(
        &self,
        proposed: &Proposed,
        judgement: &Judgement,
        ruling: Ruling,
        basis: &Basis,
    ) -> Result<Appended, AuditError> {
        self.audit.append(&decided(proposed, &proposed.facts(), judgement, ruling, basis))
    }
}

/// The open page of one allowed action. Whatever happens to the call, its outcome is written exactly once: if nobody
/// settles it, its end is recorded as a cancellation when it is dropped.
pub(super) struct OpenRecord {
    audit: Arc<AuditLog>,
    decision: DecisionId,
    began: Instant,
    settled: bool,
    /// The session's label rose when the action was sent.
    pub(super) raised: bool,
}

// === impl OpenRecord ===

impl OpenRecord {
    /// Opens the page; the decision itself must be in the log already.
    fn open(audit: Arc<AuditLog>, decision: DecisionId, _written: Appended) -> Self {
        let mut record = Self::of(audit, decision);
        record.settled = false;
        record
    }

    /// A page that nothing is owed to yet.
    fn of(audit: Arc<AuditLog>, decision: DecisionId) -> Self {
        Self { audit, decision, began: Instant::now(), settled: true, raised: false }
    }

    pub(super) fn decision(&self) -> &DecisionId {
        &self.decision
    }

    /// Writes the outcome.
    pub(super) fn settle(&mut self, outcome: Outcome, end: End<'_>) -> Result<Appended, AuditError> {
        self.settled = true;
        self.audit.append(&self.ended(outcome, end))
    }

    /// Writes the outcome, with what other calls write down now.
    pub(super) async fn settle_with_others(
        &mut self,
        outcome: Outcome,
        end: End<'_>,
    ) -> Result<Appended, AuditError> {
        self.settled = true;
        let appending = self.audit.append_with_others(&self.ended(outcome, end));
        appending.written().await
    }

    fn ended<'a>(&'a self, outcome: Outcome, end: End<'a>) -> AuditEvent<'a> {
        let millis = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let End { bytes, detail, judgement, label, raised, provenance, marks } = end;
        let (bytes, raised) = (bytes as u64, raised || self.raised);
        let ended = Ended { outcome, bytes, millis, detail, judgement, label, raised, provenance, marks };
        let happened = Happened::Outcome(ended);
        AuditEvent { time: now(), id: Some(&self.decision), happened }
    }
}

fn decided<'a>(
    proposed: &'a Proposed,
    facts: &'a Facts<'a>,
    judgement: &'a Judgement,
    ruling: Ruling,
    basis: &'a Basis,
) -> AuditEvent<'a> {
    let (session, epoch) = (proposed.session().key(), proposed.before.epoch);
    let policy = &proposed.policy;
    let (sealed, receipts) = (proposed.sealed, basis.receipts.as_slice());
    let decision = Decision { session, epoch, policy, facts, judgement, ruling, sealed, receipts };
    AuditEvent { time: now(), id: Some(&proposed.decision), happened: Happened::Decision(decision) }
}

fn ruling_of(permit: &Permit) -> Ruling {
    if permit.obligations().approved() { Ruling::Approved } else { Ruling::Allowed }
}

impl Drop for OpenRecord {
    fn drop(&mut self) {
        if !self.settled
            && let Err(error) = self.settle(Outcome::Cancelled, End::default())
        {
            tracing::error!(%error, decision = %self.decision, "a cancelled call could not be recorded");
        }
    }
}
