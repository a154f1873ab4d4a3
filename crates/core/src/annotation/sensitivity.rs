//! Classes of data with the scopes of the regulated ones: what a tool returns and what it is built to receive.

use std::sync::Arc;

use highwater_notation::Words;
use serde::{Serialize, Serializer};

use super::{ClassSet, DataClass};
use crate::label::{Label, TextSet};

/// Classes of data. As a reply's sensitivity it is a possible set, of which `none` may be a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sensitivity {
    classes: ClassSet,
    /// Of `regulated`; open where every scope is meant.
    scopes: TextSet,
    /// Of `named`; open where every class of the operator's own is meant.
    names: TextSet,
    /// Whether it may hold nothing at all. Without classes it does.
    none: bool,
}

/// Which classes a tool is built to receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// Nobody said what the tool is not built for, so that its destination alone decides.
    Unknown,
    /// These and no others.
    Only(Sensitivity),
    /// Everything, even what nobody classified. The operator's word alone.
    Any,
}

// === impl Sensitivity ===

impl Sensitivity {
    /// Nothing sensitive: the word `none`.
    pub const fn none() -> Self {
        Self { classes: Words::EMPTY, scopes: TextSet::EMPTY, names: TextSet::EMPTY, none: true }
    }

    /// These classes; `regulated` among them means every scope, `named` every class of the operator's own.
    pub fn of(classes: impl IntoIterator<Item = DataClass>) -> Self {
        let classes: ClassSet = classes.into_iter().collect();
        let every = |class| if classes.contains(class) { TextSet::EVERY } else { TextSet::EMPTY };
        let (scopes, names) = (every(DataClass::Regulated), every(DataClass::Named));
        Self { classes, scopes, names, none: classes.is_empty() }
    }

    /// Regulated data of these scopes; without any, of every scope.
    pub fn regulated<'a>(scopes: impl IntoIterator<Item = &'a str>) -> Self {
        let scopes = TextSet::of(scopes.into_iter().map(str::to_ascii_lowercase));
        let scopes = if scopes.is_empty() { TextSet::EVERY } else { scopes };
        Self { classes: Words::only(DataClass::Regulated), scopes, names: TextSet::EMPTY, none: false }
    }

    /// A class of the operator's own, by its name.
    pub fn named(name: &str) -> Self {
        let names = TextSet::of([name]);
        Self { classes: Words::only(DataClass::Named), scopes: TextSet::EMPTY, names, none: false }
    }

    /// Every class that people name but credentials.
    pub(super) fn all_but_credentials() -> Self {
        let ours = Words::only(DataClass::Confidential).with(DataClass::Unclassified);
        Self::of(Words::all().minus(ours).without(DataClass::Credentials).iter())
    }

    /// Either this or the other.
    #[must_use]
    pub fn or(mut self, other: &Self) -> Self {
        self.classes = self.classes.union(other.classes);
        self.scopes.join(&other.scopes);
        self.names.join(&other.names);
        self.none |= other.none;
        self
    }

    /// With the other's classes certainly there.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        let none = self.none && other.classes.is_empty();
        Self { none, ..self.or(other) }
    }

    /// The classes; all of them at once is the worst reading.
    pub fn classes(&self) -> ClassSet {
        self.classes
    }

    /// The scopes of `regulated`.
    pub fn scopes(&self) -> &TextSet {
        &self.scopes
    }

    /// The classes of the operator's own.
    pub fn names(&self) -> &TextSet {
        &self.names
    }

    /// Whether it may hold nothing sensitive.
    pub fn may_be_none(&self) -> bool {
        self.none
    }

    /// Whether the other says nothing that this one does not already leave possible.
    pub(super) fn allows(&self, other: &Self) -> bool {
        self.holds(other) && (self.none || !other.none)
    }

    /// Whether something the other may hold is ruled out here.
    pub(super) fn milder_than(&self, other: &Self) -> bool {
        !self.holds(other) || (self.none && !other.none)
    }

    /// Whether every class of the other is in this one.
    fn holds(&self, other: &Self) -> bool {
        self.classes.covers(other.classes)
            && self.scopes.covers(&other.scopes)
            && self.names.covers(&other.names)
    }

    /// Everything that either may hold, and nothing only if both may.
    pub(super) fn strictest(&self, other: &Self) -> Self {
        Self { none: self.none && other.none, ..self.clone().or(other) }
    }

    /// What both hold.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        let classes = self.classes.intersection(other.classes);
        // Regulated data of no common scope is no common data, nor are two classes of different names.
        let scopes = common(&self.scopes, &other.scopes);
        let classes = if scopes.is_empty() { classes.without(DataClass::Regulated) } else { classes };
        let scopes = if classes.contains(DataClass::Regulated) { scopes } else { TextSet::EMPTY };
        let names = common(&self.names, &other.names);
        let classes = if names.is_empty() { classes.without(DataClass::Named) } else { classes };
        let names = if classes.contains(DataClass::Named) { names } else { TextSet::EMPTY };
        Self { classes, scopes, names, none: self.none || other.none || classes.is_empty() }
    }
}

/// What is in both sets.
fn common(one: &TextSet, other: &TextSet) -> TextSet {
    let listed_by_both = || {
        let common = |text: &&Arc<str>| other.contains(text) == Some(true);
        TextSet::of(one.members().iter().filter(common).cloned())
    };
    match (one.is_open(), other.is_open()) {
        (true, false) => other.clone(),
        (false, true) => one.clone(),
        (true, true) => listed_by_both().opened(),
        (false, false) => listed_by_both(),
    }
}

/// In the published spelling. The two classes of our own are never written there; nothing left is `none`.
impl Serialize for Sensitivity {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let own = Words::only(DataClass::Confidential).with(DataClass::Unclassified);
        crate::label::publish(self.classes.minus(own), (&self.scopes, &self.names), self.may_be_none(), to)
    }
}

// === impl Accepts ===

impl Accepts {
    /// The classes of this label that somebody says the tool is not built to receive. The two of our own, which nobody
    /// can speak of, are a question for the destination alone.
    pub fn refused(&self, label: &Label) -> ClassSet {
        let Self::Only(accepted) = self else { return Words::EMPTY };
        let asked = label.classes().without(DataClass::Confidential).without(DataClass::Unclassified);
        let mut refused = asked.minus(accepted.classes);
        if asked.contains(DataClass::Named) && !accepted.names.covers(label.names()) {
            refused = refused.with(DataClass::Named);
        }
        // Regulated data whose scopes nobody named may be of any.
        let scopes = if label.scopes().is_empty() { &TextSet::EVERY } else { label.scopes() };
        if asked.contains(DataClass::Regulated) && !accepted.scopes.covers(scopes) {
            refused.with(DataClass::Regulated)
        } else {
            refused
        }
    }

    /// These, as far as the others allow.
    pub(super) fn at_most(self, others: Option<&Sensitivity>) -> Self {
        match (self, others) {
            (Self::Only(held), Some(others)) => Self::Only(held.intersection(others)),
            (Self::Any | Self::Unknown, Some(others)) => Self::Only(others.clone()),
            (held, _) => held,
        }
    }

    /// Whether it accepts something that these do not hold.
    pub(super) fn exceeds(&self, others: &Sensitivity) -> bool {
        match self {
            Self::Unknown | Self::Any => true,
            Self::Only(held) => !others.holds(held),
        }
    }
}
