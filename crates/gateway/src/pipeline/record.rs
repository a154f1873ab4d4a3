//! Puts decisions, questions, answers and outcomes on record. What cannot be recorded does not happen.

use std::sync::Arc;

use highwater_core::audit::{AuditEvent, Decision, Ended, Happened, Outcome, Provenance, Question, Ruling};
use highwater_core::decide::{Answer, Escalation, Judgement, Permit, QuestionDigest};
use highwater_core::id::DecisionId;
use highwater_core::label::Label;
use highwater_core::policy::Facts;
use highwater_store::{Appended, AuditError, AuditLog};
use tokio::time::Instant;

use super::Refusal;
use super::undertaking::Undertaking;
use crate::gateway::{Gateway, now};

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
}

impl Gateway {
    /// Writes down that an action was allowed, with whatever was found about it.
    pub(super) fn record_permit(
        &self,
        undertaking: &Undertaking,
        permit: &Permit,
    ) -> Result<Appended, AuditError> {
        self.record_decision(undertaking, permit.judgement(), ruling_of(permit))
    }

    /// Writes down that a person is to be asked.
    pub(super) fn record_escalation(
        &self,
        undertaking: &Undertaking,
        escalation: &Escalation,
    ) -> Result<(), Refusal> {
        let judged = self.record_decision(undertaking, escalation.judgement(), Ruling::Asked);
        judged.map(|_| ()).map_err(|error| Refusal::unrecorded(&undertaking.decision, &error))
    }

    /// Writes down that a question went out to a person.
    pub(super) fn record_asked(
        &self,
        undertaking: &Undertaking,
        question: QuestionDigest,
        how: &str,
    ) -> Result<(), Refusal> {
        let question = (!undertaking.sealed).then_some(question);
        self.note(undertaking, Happened::Asked { question, how })
    }

    /// Writes down what a person said.
    pub(super) fn record_answer(
        &self,
        undertaking: &Undertaking,
        question: QuestionDigest,
        answer: Answer,
    ) -> Result<(), Refusal> {
        self.record_answer_by(undertaking, question, answer, undertaking.caller.principal.as_str())
    }

    /// The same, where it is known who.
    pub(super) fn record_answer_by(
        &self,
        undertaking: &Undertaking,
        question: QuestionDigest,
        answer: Answer,
        by: &str,
    ) -> Result<(), Refusal> {
        let question = (!undertaking.sealed).then_some(question);
        self.note(undertaking, Happened::Answered { question, answer, by })
    }

    fn note(&self, undertaking: &Undertaking, happened: Happened<'_>) -> Result<(), Refusal> {
        let event = AuditEvent { time: now(), id: Some(&undertaking.decision), happened };
        let noted = self.audit.append(&event);
        noted.map(|_| ()).map_err(|error| Refusal::unrecorded(&undertaking.decision, &error))
    }

    /// Writes a decision down.
    pub(super) fn record_decision(
        &self,
        undertaking: &Undertaking,
        judgement: &Judgement,
        ruling: Ruling,
    ) -> Result<Appended, AuditError> {
        self.audit.append(&decided(undertaking, &undertaking.facts(), judgement, ruling))
    }

    /// Writes down that an upstream asked something.
    pub(super) fn record_question(
        &self,
        undertaking: &Undertaking,
        question: Question<'_>,
    ) -> Result<Appended, AuditError> {
        self.audit.append(&AuditEvent {
            time: now(),
            id: Some(&undertaking.decision),
            happened: Happened::Question(question),
        })
    }
}

impl Gateway {
    /// Writes down that an action was allowed, with what other calls write down now, and opens its page.
    pub(super) async fn record_departure(
        &self,
        undertaking: &Undertaking,
        permit: &Permit,
    ) -> Result<OpenRecord, AuditError> {
        let facts = undertaking.facts();
        let event = decided(undertaking, &facts, permit.judgement(), ruling_of(permit));
        let mut record = OpenRecord::of(Arc::clone(&self.audit), undertaking.decision.clone());
        // Dropped before the page, so that the decision of a call given up meanwhile is written before its end.
        let appending = self.audit.append_with_others(&event);
        record.settled = false;
        appending.written().await.inspect_err(|_| record.settled = true)?;
        Ok(record)
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
        let mut record = Self::of(audit, decision);
        record.settled = false;
        record
    }

    /// A page that nothing is owed to yet.
    fn of(audit: Arc<AuditLog>, decision: DecisionId) -> Self {
        Self { audit, decision, began: Instant::now(), settled: true }
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
        let End { bytes, detail, judgement, label, raised, provenance } = end;
        let bytes = bytes as u64;
        let ended = Ended { outcome, bytes, millis, detail, judgement, label, raised, provenance };
        let happened = Happened::Outcome(ended);
        AuditEvent { time: now(), id: Some(&self.decision), happened }
    }
}

fn decided<'a>(
    undertaking: &'a Undertaking,
    facts: &'a Facts<'a>,
    judgement: &'a Judgement,
    ruling: Ruling,
) -> AuditEvent<'a> {
    let (session, epoch) = (undertaking.session().key(), undertaking.before.epoch);
    let policy = &undertaking.policy;
    let (sealed, receipts) = (undertaking.sealed, undertaking.receipts.as_slice());
    let decision = Decision { session, epoch, policy, facts, judgement, ruling, sealed, receipts };
    AuditEvent { time: now(), id: Some(&undertaking.decision), happened: Happened::Decision(decision) }
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
