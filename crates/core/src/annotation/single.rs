//! The axes of the scale that are no sets: integrity, approval, idempotence, the class of a call.

use highwater_notation::Words;

use super::{ApprovalWish, Authority, CallVariant, Outcome, Possible};
use crate::trust::TrustLevel;

/// What was said of the integrity of replies, apart from their source.
#[derive(Default)]
pub(super) struct Ceiling {
    pub(super) operator: Option<TrustLevel>,
    /// Whether the operator said it of every tool and not of this one.
    is_general: bool,
    pub(super) others: Option<(TrustLevel, Authority)>,
    pub(super) operator_untrusted: bool,
    pub(super) untrusted: Option<(Authority, &'static str)>,
}

#[derive(Default)]
pub(super) struct Wishes {
    pub(super) operator: Option<ApprovalWish>,
    /// Whether the operator said it of every tool and not of this one.
    is_general: bool,
    pub(super) others: Option<(ApprovalWish, Authority, &'static str)>,
}

#[derive(Default)]
pub(super) struct Idempotent {
    operator: Option<bool>,
    claimed: bool,
    denied: bool,
}

#[derive(Default)]
pub(super) struct VariantClaims {
    operator_destructive: bool,
    destructive: bool,
    pub(super) read_only: bool,
}

/// As whom the operator spoke.
pub(super) fn operator(is_general: bool) -> Authority {
    if is_general { Authority::OperatorDefault } else { Authority::Operator }
}

// === impl Ceiling ===

impl Ceiling {
    pub(super) fn untrust(&mut self, by: Authority, from: &'static str) {
        if by == Authority::Operator {
            self.operator_untrusted = true;
        } else if self.untrusted.is_none_or(|(held, _)| held < by) {
            self.untrusted = Some((by, from));
        }
    }

    pub(super) fn cap(&mut self, level: TrustLevel, by: Authority) {
        if by == Authority::Operator {
            self.operator = Some(self.operator.map_or(level, |held| held.min(level)));
        } else {
            let (held, who) = self.others.unwrap_or((level, by));
            self.others = Some((held.min(level), who.max(by)));
        }
    }

    pub(super) fn value(&self) -> (TrustLevel, Authority) {
        match (self.operator, self.others) {
            (Some(level), _) => (level, operator(self.is_general)),
            (None, Some((level, by))) if by.may_loosen() => (level, by),
            (None, Some((level, _))) => (level, Authority::Nothing),
            (None, None) => (TrustLevel::Owner, Authority::Nothing),
        }
    }

    /// Who names the source of this tool has answered what is said of every tool's integrity.
    pub(super) fn fall_back_on(&mut self, general: &Self, names_source: bool) {
        if self.operator.is_none() && !self.operator_untrusted && !names_source {
            self.operator = general.operator;
            self.operator_untrusted = general.operator_untrusted;
            self.is_general = true;
        }
    }
}

// === impl Wishes ===

impl Wishes {
    pub(super) fn add(&mut self, wish: ApprovalWish, by: Authority, from: &'static str) {
        match by {
            Authority::Operator => self.operator = self.operator.max(Some(wish)),
            _ => self.others = self.others.max(Some((wish, by, from))),
        }
    }

    /// Among the operator's own wishes, and among everybody else's, the stricter one stands.
    pub(super) fn set(&mut self, wish: ApprovalWish, by: Authority, from: &'static str) {
        self.add(wish, by, from);
    }

    pub(super) fn operator_by(&self) -> Authority {
        operator(self.is_general)
    }

    pub(super) fn fall_back_on(&mut self, general: &Self) {
        if self.operator.is_none() {
            self.operator = general.operator;
            self.is_general = true;
        }
    }
}

// === impl Idempotent ===

impl Idempotent {
    pub(super) fn put(&mut self, said: bool, by: Authority) {
        match (said, by) {
            (_, Authority::Operator) => self.operator = Some(self.operator.unwrap_or(true) && said),
            (true, _) => self.claimed |= by.may_loosen(),
            (false, _) => self.denied = true,
        }
    }

    pub(super) fn fall_back_on(&mut self, general: &Self) {
        self.operator = self.operator.or(general.operator);
    }

    /// `known` is what was established before.
    pub(super) fn value(&self, known: bool) -> bool {
        self.operator.unwrap_or((known || self.claimed) && !self.denied)
    }
}

// === impl VariantClaims ===

impl VariantClaims {
    /// Takes down what was said in so many words.
    pub(super) fn outcomes(&mut self, words: Words<Outcome>, by: Authority) {
        let irreversible = words.contains(Outcome::Irreversible);
        self.destructive |= irreversible;
        self.operator_destructive |= irreversible && by == Authority::Operator;
    }

    pub(super) fn fall_back_on(&mut self, general: &Self) {
        self.operator_destructive |= general.operator_destructive;
        self.destructive |= general.destructive;
        self.read_only |= general.read_only;
    }

    /// The class of a call with these outcomes. `known` is what was established before: the operator's one word for a
    /// server is a claim, too.
    pub(super) fn value(
        &self,
        operator_spoke: bool,
        outcomes: Possible<Outcome>,
        known: CallVariant,
    ) -> CallVariant {
        let destructive = if operator_spoke { self.operator_destructive } else { self.destructive };
        if destructive {
            CallVariant::Destructive
        } else if (self.read_only || known == CallVariant::Read) && outcomes.is_only(Outcome::Benign) {
            CallVariant::Read
        } else {
            CallVariant::Write
        }
    }
}
