//! One axis of the scale: who said what, kept apart by what the speaker may do.

use super::words::{Word, Words};
use super::{Accepts, Authority, Axis, Notice, NoticeKind, Possible, Sensitivity, Severe};

/// What was said on an axis that is a possible set.
pub(super) struct Tally<T> {
    operator: Words<T>,
    operator_adds: Words<T>,
    /// Set by those whose word may loosen.
    set: Words<T>,
    /// Set by a hint that rules out a region rather than naming places.
    closed: Words<T>,
    /// What such hints leave: inside narrower bounds they mean the bounds' part of it.
    region: Words<T>,
    /// Said by anybody, and counted only as tightening.
    adds: Words<T>,
    by: Authority,
    /// The vocabulary of the severest claim that is not the operator's, for notices.
    from: &'static str,
}

/// What was said of the classes of replies.
#[derive(Default)]
pub(super) struct ReturnTally {
    operator: Option<Sensitivity>,
    operator_adds: Option<Sensitivity>,
    set: Option<Sensitivity>,
    adds: Option<Sensitivity>,
    by: Option<Authority>,
    from: &'static str,
}

/// What was said of the classes a tool is built to receive. Here fewer is stricter.
#[derive(Default)]
pub(super) struct AcceptTally {
    operator: Option<Accepts>,
    set: Option<Sensitivity>,
    narrows: Option<Sensitivity>,
    by: Option<Authority>,
    from: &'static str,
}

// === impl Tally ===

impl<T> Default for Tally<T> {
    fn default() -> Self {
        Self {
            operator: Words::EMPTY,
            operator_adds: Words::EMPTY,
            set: Words::EMPTY,
            closed: Words::EMPTY,
            region: Words::EMPTY,
            adds: Words::EMPTY,
            by: Authority::Nothing,
            from: "",
        }
    }
}

impl<T: Severe> Tally<T> {
    pub(super) fn add(&mut self, words: Words<T>, by: Authority, from: &'static str) {
        if by == Authority::Operator {
            self.operator_adds = self.operator_adds.union(words);
        } else {
            self.note(words, from);
            self.adds = self.adds.union(words);
        }
    }

    pub(super) fn set(&mut self, words: Possible<T>, by: Authority, from: &'static str) {
        if by == Authority::Operator {
            self.operator = self.operator.union(words.members());
        } else if by.may_loosen() {
            self.note(words.members(), from);
            self.set = self.set.union(words.members());
            self.by = self.by.max(by);
        } else {
            self.add(words.members(), by, from);
        }
    }

    /// Remembers who said the severest, in whatever order it was said.
    fn note(&mut self, words: Words<T>, from: &'static str) {
        let worst = |words: Words<T>| words.iter().next_back();
        let (held, new) = (worst(self.set.union(self.adds)), worst(words));
        if new > held || (new == held && from < self.from) {
            self.from = from;
        }
    }

    /// A hint that rules out a region rather than naming places.
    pub(super) fn set_closed(
        &mut self,
        words: Possible<T>,
        region: Words<T>,
        by: Authority,
        from: &'static str,
    ) {
        self.set(words, by, from);
        if by.may_loosen() && by != Authority::Operator {
            self.closed = self.closed.union(words.members());
            self.region = self.region.union(region);
        }
    }

    /// What was said, for an axis whose value is already bounded by these.
    pub(super) fn within(&self, bounds: Words<T>) -> Option<(Possible<T>, Authority)> {
        let (value, by) = self.spoken()?;
        let hints_alone = by != Authority::Operator && self.set == self.closed;
        match Possible::of(bounds.intersection(self.region)) {
            Some(part) if hints_alone => Some((part.or(self.added()), by)),
            _ => Some((value, by)),
        }
    }

    pub(super) fn has_operator(&self) -> bool {
        !self.operator.is_empty()
    }

    /// Whether nobody said anything at all.
    pub(super) fn is_silent(&self) -> bool {
        self.operator.union(self.operator_adds).union(self.set).union(self.adds).is_empty()
    }

    /// What the operator or, failing that, those who may loosen say it is, with everything added to it.
    pub(super) fn spoken(&self) -> Option<(Possible<T>, Authority)> {
        if let Some(value) = Possible::of(self.operator) {
            return Some((value.or(self.operator_adds), Authority::Operator));
        }
        let value = Possible::of(self.set)?;
        Some((value.or(self.adds).or(self.operator_adds), self.by))
    }

    /// The vocabulary to name in a notice.
    pub(super) fn vocabulary(&self) -> &'static str {
        self.from
    }

    /// What was only added, where nobody said what it is.
    pub(super) fn added(&self) -> Words<T> {
        self.adds.union(self.operator_adds)
    }

    pub(super) fn value(
        &self,
        default: Possible<T>,
        axis: Axis,
        notices: &mut Vec<Notice>,
    ) -> (Possible<T>, Authority) {
        let Some((value, by)) = self.spoken() else {
            return (default.or(self.added()), Authority::Nothing);
        };
        if by == Authority::Operator {
            self.note_override(value, axis, notices);
        }
        (value, by)
    }

    /// Remarks that the operator's value is milder than what others said.
    pub(super) fn note_override(&self, value: Possible<T>, axis: Axis, notices: &mut Vec<Notice>) {
        let Some(claimed) = Possible::of(self.set.union(self.adds)) else { return };
        if claimed.worst() > value.worst() {
            notices.push(Notice::new(
                NoticeKind::OverrideBelowClaim,
                Some(axis),
                self.from,
                Word::as_str(claimed.worst()),
            ));
        }
    }
}

// === impl ReturnTally ===

impl ReturnTally {
    pub(super) fn add(&mut self, classes: &Sensitivity, by: Authority, from: &'static str) {
        let slot = if by == Authority::Operator { &mut self.operator_adds } else { &mut self.adds };
        unite(slot, classes);
        self.note(by, from);
    }

    pub(super) fn set(&mut self, classes: &Sensitivity, by: Authority, from: &'static str) {
        let slot = match by {
            Authority::Operator => &mut self.operator,
            _ if by.may_loosen() => &mut self.set,
            _ => &mut self.adds,
        };
        unite(slot, classes);
        if by.may_loosen() && by != Authority::Operator {
            self.by = self.by.max(Some(by));
        }
        self.note(by, from);
    }

    fn note(&mut self, by: Authority, from: &'static str) {
        if by != Authority::Operator {
            self.from = first(self.from, from);
        }
    }

    pub(super) fn spoken(&self) -> Option<(Sensitivity, Authority)> {
        let (value, by) = match (&self.operator, &self.set) {
            (Some(value), _) => (value.clone(), Authority::Operator),
            (None, Some(value)) => {
                (plus(value.clone(), self.adds.as_ref()), self.by.unwrap_or(Authority::Nothing))
            }
            (None, None) => return None,
        };
        Some((plus(value, self.operator_adds.as_ref()), by))
    }

    /// The vocabulary to name in a notice.
    pub(super) fn vocabulary(&self) -> &'static str {
        self.from
    }

    pub(super) fn laid_on(&self, base: Sensitivity) -> Sensitivity {
        plus(plus(base, self.adds.as_ref()), self.operator_adds.as_ref())
    }

    pub(super) fn value(&self, default: &Sensitivity, notices: &mut Vec<Notice>) -> (Sensitivity, Authority) {
        let Some((value, by)) = self.spoken() else {
            return (self.laid_on(default.clone()), Authority::Nothing);
        };
        if by == Authority::Operator {
            self.note_override(&value, notices);
        }
        (value, by)
    }

    /// Remarks that the operator's value leaves out what others said.
    pub(super) fn note_override(&self, value: &Sensitivity, notices: &mut Vec<Notice>) {
        for claimed in [&self.set, &self.adds].into_iter().flatten() {
            let missing = claimed.classes().minus(value.classes());
            if let Some(class) = missing.iter().next_back() {
                let kind = NoticeKind::OverrideBelowClaim;
                notices.push(Notice::new(kind, Some(Axis::Returns), self.from, class.as_str()));
                return;
            }
        }
    }
}

/// Of several vocabularies one is named, the same in whatever order they spoke.
fn first(held: &'static str, new: &'static str) -> &'static str {
    if held.is_empty() { new } else { held.min(new) }
}

fn unite(slot: &mut Option<Sensitivity>, classes: &Sensitivity) {
    *slot = Some(slot.take().map_or_else(|| classes.clone(), |held| held.or(classes)));
}

fn plus(value: Sensitivity, adds: Option<&Sensitivity>) -> Sensitivity {
    match adds {
        Some(adds) => value.and(adds),
        None => value,
    }
}

// === impl AcceptTally ===

impl AcceptTally {
    pub(super) fn set(&mut self, classes: &Sensitivity, by: Authority, from: &'static str) {
        match by {
            Authority::Operator => {
                self.operator = Some(match self.operator.take() {
                    Some(Accepts::Only(held)) => Accepts::Only(held.intersection(classes)),
                    Some(Accepts::Any | Accepts::Unknown) | None => Accepts::Only(classes.clone()),
                });
            }
            _ if by.may_loosen() => {
                narrow(&mut self.set, classes);
                self.by = self.by.max(Some(by));
                self.from = first(self.from, from);
            }
            _ => {
                narrow(&mut self.narrows, classes);
                self.from = first(self.from, from);
            }
        }
    }

    pub(super) fn set_any(&mut self, by: Authority) {
        if by == Authority::Operator && self.operator.is_none() {
            self.operator = Some(Accepts::Any);
        }
    }

    pub(super) fn spoken(&self) -> Option<(Accepts, Authority)> {
        if let Some(value) = &self.operator {
            return Some((value.clone(), Authority::Operator));
        }
        let set = self.set.clone()?;
        let value = match &self.narrows {
            Some(narrows) => set.intersection(narrows),
            None => set,
        };
        Some((Accepts::Only(value), self.by.unwrap_or(Authority::Nothing)))
    }

    /// What those who may not loosen say it accepts at most.
    pub(super) fn narrows(&self) -> Option<&Sensitivity> {
        self.narrows.as_ref()
    }

    /// The vocabulary to name in a notice.
    pub(super) fn vocabulary(&self) -> &'static str {
        self.from
    }

    pub(super) fn value(&self, default: &Accepts, notices: &mut Vec<Notice>) -> (Accepts, Authority) {
        let Some((value, by)) = self.spoken() else {
            return (default.clone().at_most(self.narrows()), Authority::Nothing);
        };
        if by == Authority::Operator
            && [&self.set, &self.narrows].into_iter().flatten().any(|said| value.exceeds(said))
        {
            notices.push(Notice::new(NoticeKind::OverrideBelowClaim, Some(Axis::Accepts), self.from, ""));
        }
        (value, by)
    }
}

fn narrow(slot: &mut Option<Sensitivity>, classes: &Sensitivity) {
    *slot = Some(slot.take().map_or_else(|| classes.clone(), |held| held.intersection(classes)));
}
