//! What a person was told who was asked: a yes answers that, and nothing that is found besides.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Effect;
use super::finding::{Finding, FindingId, Reason};
use super::flow::FlowRule;
use super::gates::judge;
use super::verdict::Judgement;
use crate::label::{Label, LabelDigest};
use crate::policy::{Facts, Policy};

/// What a person was told: every finding that made an action a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Told(Vec<ToldFinding>);

/// One finding as it was told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "StoredFinding", into = "StoredFinding")]
struct ToldFinding {
    id: FindingId,
    reasons: Vec<Reason>,
    /// The doubts that it is about.
    about: Vec<Arc<str>>,
}

/// The same as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredFinding {
    About(FindingId, Vec<Reason>, Vec<Arc<str>>),
    Plain(FindingId, Vec<Reason>),
}

// === impl Told ===

impl Told {
    /// What makes an action a question, in an order that does not hang on the order of the gates.
    pub(super) fn of(judgement: &Judgement) -> Self {
        Self::of_those(judgement, |_| true)
    }

    /// The same for an action that is under way. What it does was decided before the session read what its server wrote;
    /// in a session of another label than `heard` others may have written, too.
    pub(super) fn under_way(judgement: &Judgement, session: &Label, heard: Option<LabelDigest>) -> Self {
        if heard.is_none_or(|heard| heard != LabelDigest::of(session)) {
            return Self::of(judgement);
        }
        let answered = |id: &FindingId| id.flow().is_some_and(|rule| rule.gate().answered_under_way);
        Self::of_those(judgement, |finding| !answered(&finding.id) || finding.effect > Effect::Confirm)
    }

    /// What makes the next action like this one a question once its own reply is in the session, with the label that its
    /// contract predicts. Nothing where more than a word would be asked for then.
    pub fn with_reply(policy: &Policy, facts: &Facts<'_>, reply: &Label) -> Option<Self> {
        let session = facts.session.clone().joined(reply);
        let judgement = judge(policy, &facts.under(&session));
        (judgement.effect() <= Effect::Confirm).then(|| Self::of(&judgement))
    }

    /// This and everything of the other.
    #[must_use]
    pub fn joined(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self.0.sort();
        self.0.dedup();
        self
    }

    fn of_those(judgement: &Judgement, counts: impl Fn(&Finding) -> bool) -> Self {
        let mut told: Vec<_> = judgement
            .findings()
            .iter()
            .filter(|finding| finding.effect >= Effect::Confirm && counts(finding))
            .map(|finding| ToldFinding {
                id: finding.id.clone(),
                reasons: finding.reasons.clone(),
                about: finding.about.clone(),
            })
            .collect();
        told.sort();
        Self(told)
    }

    /// Whether everything of the other was among it.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|asked| self.tells(asked, other))
    }

    /// The same of a call, by what was told about its challenge.
    pub(super) fn covers_call(&self, call: &Self) -> bool {
        call.0.iter().all(|asked| asked.id == FindingId::Approval || self.tells(asked, call))
    }

    /// Whether what is asked now, with `all` the rest, was told.
    fn tells(&self, asked: &ToldFinding, all: &Self) -> bool {
        // Who agrees to what a session does that strangers may steer agrees to what it goes on writing. In any other session a
        // new doubt is a new question.
        let steered = all.findings().any(|id| *id == FindingId::Flow(FlowRule::Act));
        self.0.iter().any(|told| {
            told.id == asked.id
                && asked.reasons.iter().all(|reason| told.reasons.contains(reason))
                && (steered || asked.about.iter().all(|doubt| told.about.contains(doubt)))
        })
    }

    /// Gives every part of it to a digest.
    pub(super) fn parts(&self, part: &mut impl FnMut(&[u8])) {
        for ToldFinding { id, reasons, about } in &self.0 {
            part(id.to_string().as_bytes());
            reasons.iter().for_each(|reason| part(&[*reason as u8]));
            about.iter().for_each(|doubt| part(doubt.as_bytes()));
        }
    }

    /// The findings.
    pub fn findings(&self) -> impl Iterator<Item = &FindingId> {
        self.0.iter().map(|told| &told.id)
    }

    /// The doubts about files that were told.
    pub fn doubts(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.iter().flat_map(|told| &told.about)
    }
}

// === impl ToldFinding ===

impl From<StoredFinding> for ToldFinding {
    fn from(stored: StoredFinding) -> Self {
        match stored {
            StoredFinding::About(id, reasons, about) => Self { id, reasons, about },
            StoredFinding::Plain(id, reasons) => Self { id, reasons, about: Vec::new() },
        }
    }
}

impl From<ToldFinding> for StoredFinding {
    fn from(ToldFinding { id, reasons, about }: ToldFinding) -> Self {
        if about.is_empty() { Self::Plain(id, reasons) } else { Self::About(id, reasons, about) }
    }
}
