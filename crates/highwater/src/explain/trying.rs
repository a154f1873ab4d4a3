//! A decision judged again, with one thing otherwise: lines in the configuration, what the session had read, a finding that
//! is not there. Only what makes the effect weaker is an answer.

use highwater_audit::Outcome;
use highwater_core::decide::{Effect, FindingId, Otherwise, WhatIf};
use highwater_core::label::Label;

use super::account::Account;
use crate::reevaluate::{LoadedConfiguration, Rejudged, SessionLabels, Trials};

/// A decision that can be judged again, and everything it is tried with.
pub(super) struct Trying<'a> {
    pub(super) account: &'a Account,
    pub(super) trials: &'a Trials,
    pub(super) rejudged: Rejudged<'a>,
    pub(super) label: Label,
}

// === impl Trying ===

impl<'a> Trying<'a> {
    pub(super) fn of(account: &'a Account, trials: &'a Trials) -> Option<Self> {
        // What a rule saw in a reply is not on record, so that it cannot be asked again.
        if account.outcome().is_some_and(|outcome| outcome.outcome == Outcome::Withheld) {
            return None;
        }
        let rejudged = Rejudged::of(&trials.now, &account.decision, account.time)?;
        Some(Self { account, trials, rejudged, label: account.decision.label.label() })
    }

    /// What would follow with these lines pasted into the configuration, if that helps. They count for what the session
    /// read before as well.
    pub(super) fn pasted(&self, lines: &str) -> Option<Effect> {
        let other = self.trials.with(&[lines])?;
        let mut labels = SessionLabels::new(&self.trials.now, &other);
        self.account.replies.iter().for_each(|reply| labels.take_in(reply));
        let label = labels.at(&self.account.decision);
        self.helps(self.rejudged.effect_under(&other, &label))
    }

    /// What would follow in a session with this label, if that helps.
    pub(super) fn under(&self, label: &Label) -> Option<Effect> {
        self.helps(self.rejudged.effect_under(self.now(), label))
    }

    /// What would follow without one finding, if that helps.
    pub(super) fn without(&self, id: &FindingId) -> Option<Effect> {
        self.helps(self.rejudged.effect_without(self.now(), &self.label, &|known| known == id))
    }

    /// What would follow, had the session read less.
    pub(super) fn what_if(&self) -> Vec<WhatIf> {
        let mut found: Vec<WhatIf> = Vec::new();
        for otherwise in Otherwise::READ {
            let then = self.under(&otherwise.label(&self.label));
            let helps_more = |then: &Effect| {
                otherwise != Otherwise::NothingRead || found.iter().all(|known| *then < known.effect)
            };
            if let Some(effect) = then.filter(helps_more) {
                found.push(WhatIf { otherwise, arguments: Vec::new(), effect });
            }
        }
        found
    }

    fn now(&self) -> &LoadedConfiguration {
        &self.trials.now
    }

    fn helps(&self, then: Effect) -> Option<Effect> {
        Some(then).filter(|then| *then < self.rejudged.effect())
    }
}
