//! What the record of a period holds: decisions in their order, the replies between them, and what `balanced` would have
//! stopped.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use highwater_audit::{Recorded, RecordedDecision};
use highwater_core::action::ActionKind;
use highwater_core::decide::{Effect, Finding, FindingId, FlowMode, Reason};
use highwater_core::id::{DecisionId, Principal, SessionKey, UpstreamId};
use highwater_notation::Timestamp;

use super::period::Period;
use crate::explain::{Log, record};
use crate::reevaluate::{Reply, balanced_effect};

/// The most decisions that are looked at, the latest; each is judged again for every label that is tried.
const MOST: usize = 50_000;

/// What happened, in order.
pub(crate) enum Event {
    /// Something was decided, in the period.
    Decided {
        /// When.
        time: Timestamp,
        /// What.
        decision: Box<RecordedDecision>,
        /// What `balanced` did, or would have done.
        effect: Effect,
    },
    /// A session took a reply in, in the period or before it.
    Replied(Reply),
    /// Somebody lowered the label of a session.
    Declassified(SessionKey),
}

/// What `balanced` would have stopped, counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) upstream: UpstreamId,
    /// The strictest of what was found.
    pub(crate) finding: FindingId,
    /// How often a person would have been asked, with a passkey or without.
    pub(crate) asked: usize,
    /// How often it would have been refused.
    pub(crate) refused: usize,
}

/// The record of a period.
#[derive(Default)]
pub(crate) struct Report {
    /// Everything that is needed to judge it again.
    pub(crate) events: Vec<Event>,
    /// How many decisions there are.
    pub(crate) decisions: usize,
    /// How many were made in a mode of which the record does not say what `balanced` would have done.
    pub(crate) unsaid: usize,
    /// How many older ones were left out.
    pub(crate) left_out: usize,
    /// When the first and the last of them were made.
    pub(crate) span: Option<(Timestamp, Timestamp)>,
    /// Whether anything at all is on record, in the period or not.
    pub(crate) is_any: bool,
    /// The calls about which nobody could be asked, by who made them and of which tool.
    unanswered: BTreeMap<(Principal, UpstreamId, String), usize>,
}

/// Calls about which nobody could be asked, that a permit could answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unanswered {
    pub(crate) token: Principal,
    pub(crate) upstream: UpstreamId,
    /// The server's own name of the tool.
    pub(crate) tool: String,
    pub(crate) calls: usize,
}

// === impl Report ===

impl Report {
    /// Reads the record. An action that a person was asked about is decided twice under one name, and counts once.
    pub(crate) fn read(log: &Log, period: &Period) -> anyhow::Result<Self> {
        let mut report = Self::default();
        let mut places: HashMap<DecisionId, Option<usize>> = HashMap::new();
        let mut calls: HashMap<DecisionId, Box<RecordedDecision>> = HashMap::new();
        log.walk(|_, line| {
            let Some(record) = record(line) else { return ControlFlow::Continue(()) };
            report.is_any = true;
            match (record.happened, record.id) {
                (Recorded::Decision(decision), Some(id)) => {
                    calls.insert(id.clone(), decision.clone());
                    if period.contains(record.time) {
                        report.note_unanswered(&decision);
                        let known = places.get(&id).copied().flatten();
                        let place = report.decided(record.time, decision, known);
                        places.insert(id, place);
                    }
                }
                (Recorded::Outcome(outcome), Some(id)) => {
                    if let Some(decision) = calls.remove(&id) {
                        report.events.push(Event::Replied(Reply::to(&decision, &outcome.label)));
                    }
                }
                (Recorded::Declassification { session, .. }, _) => {
                    report.events.push(Event::Declassified(session));
                }
                _ => {}
            }
            ControlFlow::Continue(())
        })?;
        report.cut();
        Ok(report)
    }

    fn decided(
        &mut self,
        time: Timestamp,
        decision: Box<RecordedDecision>,
        known: Option<usize>,
    ) -> Option<usize> {
        let first = self.span.map_or(time, |(first, _)| first.min(time));
        self.span = Some((first, self.span.map_or(time, |(_, last)| last.max(time))));
        // The first judgement is the one that stopped it; the one after an answer is under another label.
        if known.is_some() {
            return known;
        }
        self.decisions += 1;
        let Some(effect) = balanced_effect(&decision) else {
            self.unsaid += 1;
            return None;
        };
        self.events.push(Event::Decided { time, decision, effect });
        Some(self.events.len() - 1)
    }

    fn note_unanswered(&mut self, decision: &RecordedDecision) {
        let mut findings = decision.findings.iter().filter(|finding| !finding.dry_run);
        let nobody = |finding: &Finding| {
            finding.id == FindingId::Unapproved && finding.reasons.contains(&Reason::NobodyToAsk)
        };
        // What takes a passkey, or a person at every call, no permit answers.
        let may_be_permitted = |finding: &Finding| match &finding.id {
            FindingId::Unapproved => true,
            FindingId::Flow(_) | FindingId::Rule(_) => finding.effect <= Effect::Confirm,
            _ => finding.effect < Effect::Confirm,
        };
        let is_call = decision.kind == ActionKind::CallTool;
        if is_call && findings.clone().any(nobody) && findings.all(may_be_permitted) {
            let key = (decision.principal.clone(), decision.upstream.clone(), decision.target.clone());
            *self.unanswered.entry(key).or_default() += 1;
        }
    }

    /// The calls about which nobody could be asked, most first.
    pub(crate) fn unanswered(&self) -> Vec<Unanswered> {
        let mut all: Vec<Unanswered> = self
            .unanswered
            .iter()
            .map(|((token, upstream, tool), calls)| Unanswered {
                token: token.clone(),
                upstream: upstream.clone(),
                tool: tool.clone(),
                calls: *calls,
            })
            .collect();
        all.sort_by_key(|unanswered| std::cmp::Reverse(unanswered.calls));
        all
    }

    /// Leaves out the oldest decisions where there are too many; what was read with them still counts.
    fn cut(&mut self) {
        let all = self.events.iter().filter(|event| matches!(event, Event::Decided { .. })).count();
        let mut spare = all.saturating_sub(MOST);
        self.left_out = spare;
        self.events.retain(|event| match event {
            Event::Decided { .. } if spare > 0 => {
                spare -= 1;
                false
            }
            _ => true,
        });
    }

    /// What `balanced` would have stopped, by server and reason, most first.
    pub(crate) fn stops(&self) -> Vec<Stop> {
        let mut counts: BTreeMap<(UpstreamId, FindingId), (usize, usize)> = BTreeMap::new();
        for event in &self.events {
            let Event::Decided { decision, effect, .. } = event else { continue };
            if !is_stopped(*effect) {
                continue;
            }
            let Some(finding) = reason(decision) else { continue };
            let (asked, refused) = counts.entry((decision.upstream.clone(), finding)).or_default();
            match effect {
                Effect::Block => *refused += 1,
                Effect::Allow | Effect::Redact | Effect::Confirm | Effect::Passkey => *asked += 1,
            }
        }
        let mut stops: Vec<Stop> = counts
            .into_iter()
            .map(|((upstream, finding), (asked, refused))| Stop { upstream, finding, asked, refused })
            .collect();
        stops.sort_by_key(|stop| std::cmp::Reverse(stop.asked + stop.refused));
        stops
    }
}

/// Whether a call does not simply happen.
pub(super) fn is_stopped(effect: Effect) -> bool {
    effect > Effect::Redact
}

/// The strictest of what was found, in `balanced`.
fn reason(decision: &RecordedDecision) -> Option<FindingId> {
    let counted = decision.findings.iter().filter(|finding| !finding.dry_run);
    let counted = counted.filter(|finding| finding.id != FindingId::Unapproved);
    let effect = |finding: &&Finding| match (decision.mode, finding.would) {
        (FlowMode::Observe, Some(would)) => would.balanced,
        _ => finding.effect,
    };
    counted.rev().max_by_key(effect).map(|finding| finding.id.clone())
}
