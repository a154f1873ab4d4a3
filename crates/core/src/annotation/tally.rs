//! One axis of the scale: who said what, kept apart by what the speaker may do.
//!
//! Claims are of different kinds and are not joined across them. A *choice* names values, or follows from a hint where
//! nobody names any. A *bound* says what it cannot be, and takes that away from the choices. What is *added* may be the
//! case as well, whatever was chosen.

use highwater_notation::{Word, Words};

use super::single::operator;
use super::{Accepts, Authority, Axis, Notice, NoticeKind, Possible, Sensitivity, Severe};

/// What was said on an axis that is a possible set.
pub(super) struct Tally<T> {
    operator: Choice<T>,
    operator_adds: Words<T>,
    /// Whether the operator's choice is what is said of every tool and not of this one.
    is_general: bool,
    /// Of those whose word may loosen.
    believed: Choice<T>,
    /// Said by anybody, and counted only as tightening.
    adds: Words<T>,
    by: Authority,
    /// The vocabulary of the severest claim that is not the operator's, for notices.
    from: &'static str,
}

/// What one authority says that a value is, and what it cannot be.
#[derive(Clone, Copy)]
struct Choice<T> {
    /// In so many words.
    named: Words<T>,
    /// By a hint, which counts where nothing is named.
    implied: Words<T>,
    /// What it cannot be.
    excluded: Words<T>,
}

/// What was said of the classes of replies.
#[derive(Default)]
pub(super) struct ReturnTally {
    operator: Option<Sensitivity>,
    /// What follows from a grade that the operator gave, where the operator names no classes.
    operator_implied: Option<Sensitivity>,
    operator_adds: Option<Sensitivity>,
    /// Whether the operator said so of every tool and not of this one.
    is_general: bool,
    set: Option<Sensitivity>,
    /// What follows from a grade, where nobody names classes.
    implied: Option<Sensitivity>,
    adds: Option<Sensitivity>,
    by: Option<Authority>,
    from: &'static str,
}

/// What was said of the classes a tool is built to receive. Here fewer is stricter.
#[derive(Default)]
pub(super) struct AcceptTally {
    operator: Option<Accepts>,
    /// Whether the operator said so of every tool and not of this one.
    is_general: bool,
    set: Option<Sensitivity>,
    /// What follows from hints, where nobody names classes.
    implied: Option<Sensitivity>,
    narrows: Option<Sensitivity>,
    by: Option<Authority>,
    from: &'static str,
}

// === impl Choice ===

impl<T> Default for Choice<T> {
    fn default() -> Self {
        Self { named: Words::EMPTY, implied: Words::EMPTY, excluded: Words::EMPTY }
    }
}

impl<T: Severe> Choice<T> {
    /// What is chosen: what is named or else implied, within the bounds. A bound that leaves nothing of what is named
    /// contradicts it, and then that stands: it is the worse of the two. What is only implied gives way to the bound.
    fn chosen(self, excluded: Words<T>) -> Option<Possible<T>> {
        let named = Possible::of(self.named.minus(excluded)).or_else(|| Possible::of(self.named));
        named.or_else(|| Possible::of(self.implied.minus(excluded)))
    }

    /// Whether it says what the value is. A bound alone does not.
    fn chooses(self) -> bool {
        !self.named.union(self.implied).is_empty()
    }

    /// The choice without what cannot be.
    fn minus(self, excluded: Words<T>) -> Self {
        Self { named: self.named.minus(excluded), implied: self.implied.minus(excluded), ..self }
    }

    fn contradicts_itself(self) -> bool {
        !self.named.is_empty() && self.named.minus(self.excluded).is_empty()
    }
}

// === impl Tally ===

impl<T> Default for Tally<T> {
    fn default() -> Self {
        Self {
            operator: Choice::default(),
            operator_adds: Words::EMPTY,
            is_general: false,
            believed: Choice::default(),
            adds: Words::EMPTY,
            by: Authority::Nothing,
            from: "",
        }
    }
}

impl<T: Severe> Tally<T> {
    /// It may also be one of these. Anybody may say so.
    pub(super) fn add(&mut self, words: Words<T>, by: Authority, from: &'static str) {
        if by == Authority::Operator {
            self.operator_adds = self.operator_adds.union(words);
        } else {
            self.note(words, from);
            self.adds = self.adds.union(words);
        }
    }

    /// It is one of these. From somebody whose word may not loosen: it may also be one of these.
    pub(super) fn set(&mut self, words: Possible<T>, by: Authority, from: &'static str) {
        let words = words.members();
        match self.choice(by) {
            Some(choice) => choice.named = choice.named.union(words),
            None => return self.add(words, by, from),
        }
        self.spoke(words, by, from);
    }

    /// A hint means that it is one of these, where nobody names any. From somebody whose word may not loosen it means
    /// nothing.
    pub(super) fn imply(&mut self, words: Possible<T>, by: Authority, from: &'static str) {
        if let Some(choice) = self.choice(by) {
            choice.implied = choice.implied.union(words.members());
            self.spoke(words.members(), by, from);
        }
    }

    /// It is none of these. From somebody whose word may not loosen it means nothing.
    pub(super) fn exclude(&mut self, words: Words<T>, by: Authority) {
        if let Some(choice) = self.choice(by) {
            choice.excluded = choice.excluded.union(words);
            if by != Authority::Operator {
                self.by = self.by.max(by);
            }
        }
    }

    fn choice(&mut self, by: Authority) -> Option<&mut Choice<T>> {
        match by {
            Authority::Operator => Some(&mut self.operator),
            _ if by.may_loosen() => Some(&mut self.believed),
            _ => None,
        }
    }

    fn spoke(&mut self, words: Words<T>, by: Authority, from: &'static str) {
        if by != Authority::Operator {
            self.note(words, from);
            self.by = self.by.max(by);
        }
    }

    /// Remembers who said the severest, in whatever order it was said.
    fn note(&mut self, words: Words<T>, from: &'static str) {
        let worst = |words: Words<T>| words.iter().next_back();
        let (held, new) = (worst(self.claimed()), worst(words));
        if self.from.is_empty() || new > held || (new == held && from < self.from) {
            self.from = from;
        }
    }

    /// Everything that somebody else than the operator says it is or may be.
    fn claimed(&self) -> Words<T> {
        let Choice { named, implied, .. } = self.believed;
        if named.is_empty() { implied.union(self.adds) } else { named.union(self.adds) }
    }

    /// Whether somebody whose word may loosen names values in so many words.
    pub(super) fn is_named(&self) -> bool {
        !self.operator.named.union(self.believed.named).is_empty()
    }

    pub(super) fn has_operator(&self) -> bool {
        self.operator.chooses()
    }

    /// Where the operator does not say what it is for this tool, it is what the operator says of every tool, within the
    /// bounds of this one.
    pub(super) fn fall_back_on(&mut self, general: &Self) {
        let own = self.operator.excluded;
        let left = general.operator.minus(own);
        if self.operator.chooses() || (general.operator.chooses() && !left.chooses()) {
            return;
        }
        self.is_general = left.chooses() || own.is_empty();
        self.operator = Choice { excluded: own.union(left.excluded), ..left };
        self.operator_adds = self.operator_adds.union(general.operator_adds.minus(own));
    }

    /// Everything that anybody said it is or may be, without the defaults, where this was said before and `value` is what
    /// it comes to. Who says what it is replaces what was said before; a bound takes from that, and who adds only adds.
    pub(super) fn stated(&self, before: Words<T>, value: Possible<T>) -> Words<T> {
        let own = self.operator.excluded;
        let excluded = own.union(self.believed.excluded);
        let chosen = self.operator.chosen(own).map(|chosen| chosen.or(self.operator_adds)).or_else(|| {
            let added = self.adds.minus(own).union(self.operator_adds);
            self.believed.chosen(excluded).map(|chosen| chosen.or(added))
        });
        match chosen {
            Some(chosen) if value.members().minus(chosen.members()).is_empty() => chosen.members(),
            // It was said outside of what was known, and both stand.
            Some(chosen) => before.union(chosen.members()),
            None => {
                let left = before.minus(excluded);
                let contradicts = left.is_empty() && !before.is_empty();
                let added = self.adds.minus(own).union(self.operator_adds);
                if contradicts { before.union(added) } else { left.union(added) }
            }
        }
    }

    /// What the operator or, failing that, those who may loosen say it is, within these bounds and with everything added
    /// to it. A bound alone leaves everything that it does not exclude.
    pub(super) fn within(&self, bounds: Words<T>) -> Option<(Possible<T>, Authority)> {
        let own = self.operator.excluded;
        if let Some(value) = self.operator.chosen(own) {
            return Some((value.or(self.operator_adds), operator(self.is_general)));
        }
        let excluded = own.union(self.believed.excluded);
        let added = self.adds.minus(own).union(self.operator_adds);
        if let Some(value) = self.believed.chosen(excluded) {
            return Some((value.or(added), self.by));
        }
        let by = if own.is_empty() { self.by } else { operator(self.is_general) };
        let left = Possible::of(bounds.minus(excluded)).filter(|_| !excluded.is_empty())?;
        Some((left.or(added), by))
    }

    /// Whether what was said rules out everything inside these bounds.
    pub(super) fn rules_out(&self, bounds: Words<T>) -> bool {
        bounds.minus(self.operator.excluded.union(self.believed.excluded)).is_empty()
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
        if self.believed.contradicts_itself() || self.operator.contradicts_itself() {
            notices.push(Notice::new(NoticeKind::Contradiction, Some(axis), self.from, ""));
        }
        let Some((value, by)) = self.within(Words::all()) else {
            return (default.or(self.added()), Authority::Nothing);
        };
        if by.is_operator() {
            self.note_override(value, axis, notices);
        }
        (value, by)
    }

    /// Remarks that the operator's value is milder than what others said.
    pub(super) fn note_override(&self, value: Possible<T>, axis: Axis, notices: &mut Vec<Notice>) {
        let Some(claimed) = Possible::of(self.claimed()) else { return };
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

    /// A grade means these classes, where nobody names any. From somebody whose word may not loosen they are added.
    pub(super) fn imply(&mut self, classes: &Sensitivity, by: Authority, from: &'static str) {
        let slot = match by {
            Authority::Operator => &mut self.operator_implied,
            _ if by.may_loosen() => &mut self.implied,
            _ => return self.add(classes, by, from),
        };
        unite(slot, classes);
        if by != Authority::Operator {
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
        let of_operator = self.operator.as_ref().or(self.operator_implied.as_ref());
        let (value, by) = match (of_operator, self.set.as_ref().or(self.implied.as_ref())) {
            (Some(value), _) => (value.clone(), operator(self.is_general)),
            (None, Some(value)) => {
                (plus(value.clone(), self.adds.as_ref()), self.by.unwrap_or(Authority::Nothing))
            }
            (None, None) => return None,
        };
        Some((plus(value, self.operator_adds.as_ref()), by))
    }

    /// Where the operator names no classes for this tool, they are those that the operator names for every tool.
    pub(super) fn fall_back_on(&mut self, general: Self) {
        if self.operator.is_none() && self.operator_implied.is_none() {
            self.operator = general.operator;
            self.operator_implied = general.operator_implied;
            self.is_general = true;
            if let Some(adds) = &general.operator_adds {
                unite(&mut self.operator_adds, adds);
            }
        }
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
        if by.is_operator() {
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

    /// Hints mean these classes, where nobody names any.
    pub(super) fn imply(&mut self, classes: Sensitivity, by: Authority, from: &'static str) {
        if by.may_loosen() && by != Authority::Operator {
            self.implied = Some(classes);
            self.by = self.by.max(Some(by));
            self.from = first(self.from, from);
        }
    }

    pub(super) fn set_any(&mut self, by: Authority) {
        if by == Authority::Operator && self.operator.is_none() {
            self.operator = Some(Accepts::Any);
        }
    }

    pub(super) fn spoken(&self) -> Option<(Accepts, Authority)> {
        if let Some(value) = &self.operator {
            return Some((value.clone(), operator(self.is_general)));
        }
        let set = self.set.clone().or_else(|| self.implied.clone())?;
        let value = match &self.narrows {
            Some(narrows) => set.intersection(narrows),
            None => set,
        };
        Some((Accepts::Only(value), self.by.unwrap_or(Authority::Nothing)))
    }

    pub(super) fn fall_back_on(&mut self, general: Self) {
        if self.operator.is_none() {
            self.operator = general.operator;
            self.is_general = true;
        }
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
        if by.is_operator()
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
