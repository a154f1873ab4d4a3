//! Everything on record about one decision.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;

use anyhow::Context;
use highwater_audit::{Record, Recorded, RecordedDecision, RecordedOutcome, Ruling};
use highwater_core::decide::WhatIf;
use highwater_core::id::{DecisionId, Principal};
use highwater_notation::Timestamp;
use highwater_store::AuditKey;

use super::chronicle::{Chronicle, Subject, lowers};
use super::list::List;
use super::log::{Log, Parts, Place, record};
use super::values::{Sources, sources};
use crate::reevaluate::Reply;

/// How many decisions are looked up whose outcome is in a later segment.
const MOST_LOOKUPS: usize = 64;

/// One decision with all that belongs to it.
pub(crate) struct Account {
    /// Its name.
    pub(crate) id: DecisionId,
    /// When it was made.
    pub(crate) time: Timestamp,
    /// What was decided in the end. An action that a person was asked about is judged again after their answer.
    pub(crate) decision: RecordedDecision,
    /// Everything else on record under its name, in order.
    pub(crate) course: Vec<Record>,
    /// What the session had taken in before.
    pub(crate) chronicle: Chronicle,
    /// The replies that its agent had taken in before, each once.
    pub(crate) replies: Vec<Reply>,
    /// The calls in whose replies its values stand.
    pub(super) sources: Sources,
    /// Other decisions about the same question to a person: a client without a standing connection asks and answers in
    /// two requests.
    pub(crate) rounds: Vec<DecisionId>,
}

/// One decision in a list.
pub(crate) struct Summary {
    /// Its name.
    pub(crate) id: DecisionId,
    /// When it was made.
    pub(crate) time: Timestamp,
    /// What was decided.
    pub(crate) decision: RecordedDecision,
}

// === impl Account ===

impl Account {
    /// Puts together what is on record under this name; `None` if nothing is.
    pub(crate) fn of(log: &Log, id: &DecisionId) -> anyhow::Result<Option<Self>> {
        let mut found = log.records_of(id)?;
        let Some(last) =
            found.iter().rposition(|(_, record)| matches!(record.happened, Recorded::Decision(_)))
        else {
            return Ok(None);
        };
        let (place, record) = found.remove(last);
        let (time, decision) = match record.happened {
            Recorded::Decision(decision) => (record.time, *decision),
            _ => return Ok(None),
        };
        let course: Vec<Record> = found.into_iter().map(|(_, record)| record).collect();
        let label = decision.label.label();
        let subject = Subject { session: &decision.session, principal: &decision.principal, label: &label };
        let chronicle = Chronicle::read(log, &subject, Some(place)).context("the log cannot be read")?;
        let rounds = rounds(log, id, &course)?;
        let replies = replies(log, &decision, place)?;
        let sources = sources(log, &decision)?;
        Ok(Some(Self { id: id.clone(), time, decision, course, chronicle, replies, sources, rounds }))
    }

    /// How the action ended, if it was sent.
    pub(crate) fn outcome(&self) -> Option<&RecordedOutcome> {
        self.course.iter().find_map(|record| match &record.happened {
            Recorded::Outcome(outcome) => Some(&**outcome),
            _ => None,
        })
    }

    /// What would have made the decision milder. It is worked out when a person is asked or the action refused.
    pub(crate) fn what_if(&self) -> &[WhatIf] {
        let asked = self.course.iter().filter_map(|record| match &record.happened {
            Recorded::Decision(earlier) => Some(earlier.what_if.as_slice()),
            _ => None,
        });
        let all = std::iter::once(self.decision.what_if.as_slice()).chain(asked);
        all.into_iter().find(|what_if| !what_if.is_empty()).unwrap_or_default()
    }

    /// Whether the action was sent to its server.
    pub(crate) fn was_sent(&self) -> bool {
        matches!(self.decision.ruling, Ruling::Allowed | Ruling::Approved)
    }

    /// What is acted on, as the client calls it.
    pub(crate) fn what(&self) -> &str {
        self.decision.tool.as_deref().unwrap_or(&self.decision.target)
    }
}

/// The replies that an agent had taken in before a place in the log: those of the session, and where they do not account for
/// its label those of the others, which may share what they read. What a session took in before somebody lowered its label
/// is over. Nothing where there are too many to say of all that they would be others.
fn replies(log: &Log, decision: &RecordedDecision, until: Place) -> anyhow::Result<Vec<Reply>> {
    let (session, principal) = (decision.session.as_str(), decision.principal.as_str());
    let lowered = lowers(session);
    let own = log.parts(&[AuditKey::Replies(session), AuditKey::Elsewhere], Some(until), &lowered)?;
    if !own.is_complete {
        return Ok(Vec::new());
    }
    let of_session = replies_in(log, &own, decision, until)?;
    let accounted = |word: &String| {
        of_session.iter().filter(|reply| *reply.session() == decision.session).any(|reply| reply.has(word))
    };
    if decision.label.label.iter().all(accounted) {
        return Ok(of_session);
    }
    let keys = [AuditKey::RepliesOf(principal), AuditKey::Replies(session), AuditKey::Elsewhere];
    let all = log.parts(&keys, Some(until), &|_| false)?;
    if all.is_complete { replies_in(log, &all, decision, until) } else { Ok(of_session) }
}

/// The replies that stand in some parts of the log.
fn replies_in(
    log: &Log,
    parts: &Parts,
    decision: &RecordedDecision,
    until: Place,
) -> anyhow::Result<Vec<Reply>> {
    let principal: &Principal = &decision.principal;
    let needle = format!("\"principal\":{}", serde_json::Value::from(principal.as_str()));
    let mut calls: HashMap<DecisionId, RecordedDecision> = HashMap::new();
    let mut replies: Vec<Reply> = Vec::new();
    let mut lookups = 0;
    log.walk_parts(parts, |place, line| {
        if place >= until {
            return ControlFlow::Break(());
        }
        let is_end =
            line.contains("\"event\":\"outcome\"") || line.contains("\"event\":\"declassification\"");
        if !is_end && !line.contains(&needle) {
            return ControlFlow::Continue(());
        }
        let Some(record) = record(line) else { return ControlFlow::Continue(()) };
        match (record.happened, record.id) {
            (Recorded::Decision(decision), Some(id)) if decision.principal == *principal => {
                calls.insert(id, *decision);
            }
            (Recorded::Outcome(outcome), Some(id)) => {
                let decision = calls.remove(&id).or_else(|| {
                    // A call that was in flight when its segment was closed.
                    lookups += 1;
                    let looked_up = (lookups <= MOST_LOOKUPS).then(|| decision_of(log, &id)).flatten();
                    looked_up.filter(|decision| decision.principal == *principal)
                });
                if let Some(decision) = decision {
                    let reply = Reply::to(&decision, &outcome.label);
                    if !replies.contains(&reply) {
                        replies.push(reply);
                    }
                }
            }
            (Recorded::Declassification { session, .. }, _) => {
                replies.retain(|reply| *reply.session() != session);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    })?;
    Ok(replies)
}

/// The last decision of a call.
fn decision_of(log: &Log, id: &DecisionId) -> Option<RecordedDecision> {
    let records = log.records_of(id).unwrap_or_default();
    records.into_iter().rev().find_map(|(_, record)| match record.happened {
        Recorded::Decision(decision) => Some(*decision),
        _ => None,
    })
}

/// The other decisions that speak of the same question.
fn rounds(log: &Log, id: &DecisionId, course: &[Record]) -> anyhow::Result<Vec<DecisionId>> {
    let questions: Vec<&str> = course
        .iter()
        .filter_map(|record| match &record.happened {
            Recorded::Asked { question, .. } | Recorded::Answered { question, .. } => question.as_deref(),
            _ => None,
        })
        .collect();
    let mut rounds = Vec::new();
    if questions.is_empty() {
        return Ok(rounds);
    }
    let keys: Vec<AuditKey<'_>> = questions.iter().map(|question| AuditKey::Question(question)).collect();
    let parts = log.parts(&keys, None, &|_| false)?;
    log.walk_parts(&parts, |_, line| {
        if questions.iter().any(|question| line.contains(*question))
            && let Some(other) = record(line).and_then(|record| record.id)
            && other != *id
            && !rounds.contains(&other)
        {
            rounds.push(other);
        }
        ControlFlow::Continue(())
    })?;
    Ok(rounds)
}

/// The latest decision.
pub(crate) fn last(log: &Log) -> anyhow::Result<Option<DecisionId>> {
    Ok(newest(log, 1)?.pop().map(|summary| summary.id))
}

/// The latest decisions, and whether there are more than these.
pub(crate) fn latest(log: &Log, most: usize) -> anyhow::Result<List> {
    let mut decisions = newest(log, most.saturating_add(1))?;
    let has_more = decisions.len() > most;
    decisions.drain(..decisions.len().saturating_sub(most));
    Ok(List { decisions, has_more })
}

/// The latest decisions, oldest first.
fn newest(log: &Log, most: usize) -> anyhow::Result<Vec<Summary>> {
    let mut latest: Vec<Summary> = Vec::new();
    log.walk_back(|lines| {
        let mut found = VecDeque::new();
        lines(&mut |line| {
            if line.contains("\"event\":\"decision\"")
                && let Some(summary) = record(line).and_then(summary)
            {
                // What a person was asked about is decided twice under one name.
                found.retain(|known: &Summary| known.id != summary.id);
                found.push_back(summary);
                if found.len() > most {
                    found.pop_front();
                }
            }
        })?;
        found.retain(|older| latest.iter().all(|newer| newer.id != older.id));
        latest.splice(0..0, found);
        Ok(if latest.len() >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    latest.drain(..latest.len().saturating_sub(most));
    Ok(latest)
}

fn summary(record: Record) -> Option<Summary> {
    match record.happened {
        Recorded::Decision(decision) => {
            Some(Summary { id: record.id?, time: record.time, decision: *decision })
        }
        _ => None,
    }
}
