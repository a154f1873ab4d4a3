//! Which labels would remove most of what is stopped, found by judging the whole record again with each.

use std::collections::{BTreeMap, BTreeSet};

use highwater_core::decide::{Effect, FlowMode};
use highwater_core::id::UpstreamId;

use super::record::{Event, Report, is_stopped};
use crate::reevaluate::{
    LoadedConfiguration, Proposal, Rejudged, SessionLabels, Trials, profiles, tool_labels,
};

/// How many labels are named.
const NAMED: usize = 3;
/// How many are tried: those of the servers and tools that were used most.
const TRIED: usize = 60;
/// How many of the best are tried beside the first that was chosen.
const BEST: usize = 24;

/// A label, and what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remedy {
    pub(crate) proposal: Proposal,
    /// How many of the stopped calls it lets through, beside those before it.
    pub(crate) removes: usize,
}

/// What was found.
pub(crate) struct Found {
    /// The labels, the one that removes most first.
    pub(crate) remedies: Vec<Remedy>,
    /// How many of the stopped calls could be judged again at all.
    pub(crate) understood: usize,
}

/// The record, with every decision that can be judged again.
struct Playback<'a> {
    trials: &'a Trials,
    report: &'a Report,
    /// For each event, the decision if it is understood.
    rejudged: Vec<Option<Rejudged<'a>>>,
}

/// The labels that would remove most of what `balanced` would have stopped.
pub(crate) fn remedies(report: &Report, trials: &Trials) -> Found {
    let playback = Playback::of(report, trials);
    let before = playback.stopped(&trials.now);
    let mut remedies: Vec<Remedy> = Vec::new();
    let mut candidates = playback.candidates();
    let mut left = before;
    while remedies.len() < NAMED && left > 0 {
        let chosen: Vec<&str> = remedies.iter().map(|remedy| remedy.proposal.lines.as_str()).collect();
        let mut tried: Vec<(usize, Proposal)> = Vec::new();
        for candidate in &candidates {
            let lines: Vec<&str> = chosen.iter().copied().chain([candidate.lines.as_str()]).collect();
            let Some(other) = trials.with(&lines) else { continue };
            tried.push((left.saturating_sub(playback.stopped(&other)), candidate.clone()));
        }
        // The first of those that remove the same is the one that says least.
        tried.sort_by_key(|(removes, _)| std::cmp::Reverse(*removes));
        let Some((removes, proposal)) = tried.first().filter(|(removes, _)| *removes > 0).cloned() else {
            break;
        };
        left -= removes;
        // What is better alone is better beside the others, nearly always, and the record may be long. What helps nothing
        // alone may help beside this one.
        candidates = tried.into_iter().skip(1).take(BEST).map(|(_, proposal)| proposal).collect();
        candidates.retain(|candidate| !is_other_word(candidate, &proposal));
        remedies.push(Remedy { proposal, removes });
    }
    Found { remedies, understood: before }
}

/// Whether both are a word for one server: there is one word each.
fn is_other_word(one: &Proposal, other: &Proposal) -> bool {
    let head = |proposal: &Proposal| proposal.lines.split_once("profile:").map(|(head, _)| head.to_owned());
    head(one).is_some() && head(one) == head(other)
}

// === impl Playback ===

impl<'a> Playback<'a> {
    fn of(report: &'a Report, trials: &'a Trials) -> Self {
        let rejudged = report.events.iter().map(|event| match event {
            Event::Decided { time, decision, .. } => {
                Rejudged::in_mode(&trials.now, decision, *time, FlowMode::Balanced)
            }
            Event::Replied(_) | Event::Declassified(_) => None,
        });
        Self { trials, report, rejudged: rejudged.collect() }
    }

    /// How many of the understood calls would be stopped under this configuration.
    fn stopped(&self, other: &LoadedConfiguration) -> usize {
        let mut labels = SessionLabels::new(&self.trials.now, other);
        let mut stopped = 0;
        for (event, rejudged) in self.report.events.iter().zip(&self.rejudged) {
            match (event, rejudged) {
                (Event::Replied(reply), _) => labels.take_in(reply),
                (Event::Declassified(session), _) => labels.declassified(session),
                (Event::Decided { decision, .. }, Some(rejudged)) => {
                    let effect: Effect = rejudged.effect_under(other, &labels.at(decision));
                    stopped += usize::from(is_stopped(effect));
                }
                (Event::Decided { .. }, None) => {}
            }
        }
        stopped
    }

    /// A word for each server that was used and has none, and labels for the tools that were stopped.
    fn candidates(&self) -> Vec<Proposal> {
        let mut servers: BTreeMap<&UpstreamId, usize> = BTreeMap::new();
        let mut tools: BTreeMap<(&UpstreamId, &str), usize> = BTreeMap::new();
        for (event, rejudged) in self.report.events.iter().zip(&self.rejudged) {
            match event {
                Event::Replied(reply) => *servers.entry(reply.upstream()).or_default() += 1,
                Event::Decided { decision, effect, .. } => {
                    *servers.entry(&decision.upstream).or_default() += 1;
                    let labelled = rejudged.as_ref().is_some_and(Rejudged::is_by_definition);
                    if is_stopped(*effect) && labelled {
                        *tools.entry((&decision.upstream, decision.target.as_str())).or_default() += 1;
                    }
                }
                Event::Declassified(_) => {}
            }
        }
        let words = most(servers).into_iter().flat_map(|server| profiles(&self.trials.now, server));
        let lines =
            most(tools).into_iter().flat_map(|(server, tool)| tool_labels(&self.trials.now, server, tool));
        let mut seen = BTreeSet::new();
        words.chain(lines).filter(|one| seen.insert(one.lines.clone())).take(TRIED).collect()
    }
}

/// The keys, those with the greatest counts first.
fn most<K: Ord>(counts: BTreeMap<K, usize>) -> Vec<K> {
    let mut counted: Vec<(K, usize)> = counts.into_iter().collect();
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counted.into_iter().map(|(key, _)| key).collect()
}
