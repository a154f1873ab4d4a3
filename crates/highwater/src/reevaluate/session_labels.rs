//! What sessions would have taken in under another configuration: the labels of their replies made again.
//!
//! A reply's label on record is the contract's, the reply's own words and what marks added, joined. Where it is at least
//! what the contract of today says, the rest is kept and the contract's part replaced. Where it is less, the reply chose
//! for itself, and its label stays. What no reply on record accounts for stays as well.

use std::collections::{BTreeSet, HashMap};

use highwater_audit::{RecordedDecision, RecordedLabel, label_of_words, label_words};
use highwater_core::annotation::Destination;
use highwater_core::id::{Principal, SessionKey, UpstreamId};
use highwater_core::label::{Label, TextSet};

use super::configuration::LoadedConfiguration;

/// Words of a label. Joining is their union, except that the lowest trust says all.
type LabelWords = BTreeSet<String>;

/// A reply that a session took in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reply {
    session: SessionKey,
    principal: Principal,
    upstream: UpstreamId,
    tool: String,
    /// Whether the arguments of its call may have reached the public.
    is_outward: bool,
    /// Its label, as words.
    label: LabelWords,
}

/// What one session, or all of one principal, took in.
#[derive(Clone, Debug, Default)]
struct SessionIntake {
    /// By the record.
    recorded: LabelWords,
    /// Under the other configuration.
    otherwise: LabelWords,
}

/// What every session on record took in, as far as the record has been read.
pub(crate) struct SessionLabels<'c> {
    now: &'c LoadedConfiguration,
    other: &'c LoadedConfiguration,
    sessions: HashMap<SessionKey, SessionIntake>,
    principals: HashMap<Principal, SessionIntake>,
}

// === impl SessionLabels ===

impl<'c> SessionLabels<'c> {
    /// Nothing read yet.
    pub(crate) fn new(now: &'c LoadedConfiguration, other: &'c LoadedConfiguration) -> Self {
        Self { now, other, sessions: HashMap::new(), principals: HashMap::new() }
    }

    /// Takes in a reply.
    pub(crate) fn take_in(&mut self, reply: &Reply) {
        let mut otherwise = self.made_again(reply);
        let mut before = reply.label.clone();
        // That something left is no property of the reply, whose label is on record.
        if reply.is_outward {
            let left = words(&Label::bottom().with_wrote_externally());
            let contract = self.other.contracts.tool(&reply.upstream, &reply.tool);
            if contract.is_none_or(|contract| contract.destination().contains(Destination::Public)) {
                otherwise.extend(left.iter().cloned());
            }
            before.extend(left);
        }
        let session = self.sessions.entry(reply.session.clone()).or_default();
        let principal = self.principals.entry(reply.principal.clone()).or_default();
        for taken in [session, principal] {
            taken.recorded.extend(before.iter().cloned());
            taken.otherwise.extend(otherwise.iter().cloned());
        }
    }

    /// Somebody lowered the label of a session: what it took in before is over.
    pub(crate) fn declassified(&mut self, session: &SessionKey) {
        self.sessions.remove(session);
    }

    /// The label that a session would have had at a decision.
    pub(crate) fn at(&self, decision: &RecordedDecision) -> Label {
        let nothing = SessionIntake::default();
        let own = self.sessions.get(&decision.session).unwrap_or(&nothing);
        let all = self.principals.get(&decision.principal).unwrap_or(&nothing);
        let mut label = own.otherwise.clone();
        for word in &decision.label.label {
            // Conversations of one principal can share what they read.
            let from_others = all.recorded.contains(word) && !all.otherwise.contains(word);
            if !own.recorded.contains(word) && !from_others {
                label.insert(word.clone());
            }
        }
        let set = |texts: &[String]| TextSet::of(texts.iter().map(String::as_str));
        let RecordedLabel { scopes, names, origins, .. } = &decision.label;
        label_of_words(label.iter().map(String::as_str), set(scopes), set(names), set(origins))
    }

    /// The words of a reply's label under the other configuration.
    fn made_again(&self, reply: &Reply) -> LabelWords {
        let of = |configuration: &LoadedConfiguration| {
            let contract = configuration.contracts.tool(&reply.upstream, &reply.tool)?;
            Some(words(contract.reply_label()))
        };
        let recorded = &reply.label;
        match (of(self.now), of(self.other)) {
            (Some(now), Some(other)) if now.is_subset(recorded) => {
                recorded.difference(&now).cloned().chain(other).collect()
            }
            _ => recorded.clone(),
        }
    }
}

// === impl Reply ===

impl Reply {
    /// The reply to an action, with its label on record.
    pub(crate) fn to(decision: &RecordedDecision, label: &RecordedLabel) -> Self {
        Self {
            session: decision.session.clone(),
            principal: decision.principal.clone(),
            upstream: decision.upstream.clone(),
            tool: decision.target.clone(),
            is_outward: decision.contract.destination.contains(&Destination::Public),
            label: label.label.iter().cloned().collect(),
        }
    }

    /// Which server it came from.
    pub(crate) fn upstream(&self) -> &UpstreamId {
        &self.upstream
    }

    /// Whether its label has this word, or the call itself brought it.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.label.contains(word)
            || (self.is_outward && words(&Label::bottom().with_wrote_externally()).contains(word))
    }

    /// Which session took it in.
    pub(crate) fn session(&self) -> &SessionKey {
        &self.session
    }
}

fn words(label: &Label) -> LabelWords {
    label_words(label).map(str::to_owned).collect()
}
