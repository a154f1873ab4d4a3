//! Classes of data with the scopes of the regulated ones: what a tool returns and what it is built to receive.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::{ClassSet, DataClass, Words};
use crate::label::{Label, TextSet};

/// Classes of data. As a reply's sensitivity it is a possible set, of which `none` may be a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sensitivity {
    classes: ClassSet,
    /// Of `regulated`; open where every scope is meant.
    scopes: TextSet,
    /// Whether it may hold nothing at all. Without classes it does.
    none: bool,
}

/// Which classes a tool is built to receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// Nobody said: nothing sensitive is accepted.
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
        Self { classes: Words::EMPTY, scopes: TextSet::EMPTY, none: true }
    }

    /// These classes; `regulated` among them means every scope.
    pub fn of(classes: impl IntoIterator<Item = DataClass>) -> Self {
        let classes: ClassSet = classes.into_iter().collect();
        let scopes = if classes.contains(DataClass::Regulated) { TextSet::EVERY } else { TextSet::EMPTY };
        Self { classes, scopes, none: classes.is_empty() }
    }

    /// Regulated data of these scopes; without any, of every scope.
    pub fn regulated<'a>(scopes: impl IntoIterator<Item = &'a str>) -> Self {
        let scopes = TextSet::of(scopes.into_iter().map(str::to_ascii_lowercase));
        let scopes = if scopes.is_empty() { TextSet::EVERY } else { scopes };
        Self { classes: Words::only(DataClass::Regulated), scopes, none: false }
    }

    /// Either this or the other.
    #[must_use]
    pub fn or(mut self, other: &Self) -> Self {
        self.classes = self.classes.union(other.classes);
        self.scopes.join(&other.scopes);
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

    /// Whether it may hold nothing sensitive.
    pub fn may_be_none(&self) -> bool {
        self.none
    }

    /// Whether the other says nothing that this one does not already leave possible.
    pub(super) fn allows(&self, other: &Self) -> bool {
        self.classes.covers(other.classes) && self.scopes.covers(&other.scopes) && (self.none || !other.none)
    }

    /// Whether something the other may hold is ruled out here.
    pub(super) fn milder_than(&self, other: &Self) -> bool {
        !self.classes.covers(other.classes)
            || !self.scopes.covers(&other.scopes)
            || (self.none && !other.none)
    }

    /// Everything that either may hold, and nothing only if both may.
    pub(super) fn strictest(&self, other: &Self) -> Self {
        Self { none: self.none && other.none, ..self.clone().or(other) }
    }

    /// What both hold.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        let classes = self.classes.intersection(other.classes);
        let listed_by_both = || {
            let common = |scope: &&Arc<str>| other.scopes.contains(scope) == Some(true);
            TextSet::of(self.scopes.members().iter().filter(common).cloned())
        };
        let scopes = match (self.scopes.is_open(), other.scopes.is_open()) {
            (true, false) => other.scopes.clone(),
            (false, true) => self.scopes.clone(),
            (true, true) => listed_by_both().opened(),
            (false, false) => listed_by_both(),
        };
        // Regulated data of no common scope is no common data.
        let classes = if scopes.is_empty() { classes.without(DataClass::Regulated) } else { classes };
        let scopes = if classes.contains(DataClass::Regulated) { scopes } else { TextSet::EMPTY };
        Self { classes, scopes, none: self.none || other.none || classes.is_empty() }
    }
}

/// In the published spelling. The two classes of our own are never written there; nothing left is `none`.
impl Serialize for Sensitivity {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let own = Words::only(DataClass::Confidential).with(DataClass::Unclassified);
        crate::label::publish(self.classes.minus(own), &self.scopes, self.may_be_none(), to)
    }
}

// === impl Accepts ===

impl Accepts {
    /// The classes of this label that the tool is not built to receive.
    ///
    /// `confidential` is a question for the destination alone. `unclassified` passes only where everything does.
    pub fn refused(&self, label: &Label) -> ClassSet {
        let asked = label.classes().without(DataClass::Confidential);
        match self {
            Self::Any => Words::EMPTY,
            Self::Unknown => asked,
            Self::Only(accepted) => {
                let refused = asked.minus(accepted.classes.without(DataClass::Unclassified));
                // Regulated data whose scopes nobody named may be of any.
                let scopes = if label.scopes().is_empty() { &TextSet::EVERY } else { label.scopes() };
                if asked.contains(DataClass::Regulated) && !accepted.scopes.covers(scopes) {
                    refused.with(DataClass::Regulated)
                } else {
                    refused
                }
            }
        }
    }

    /// These, as far as the others allow.
    pub(super) fn at_most(self, others: Option<&Sensitivity>) -> Self {
        match (self, others) {
            (Self::Only(held), Some(others)) => Self::Only(held.intersection(others)),
            (Self::Any, Some(others)) => Self::Only(others.clone()),
            (held, _) => held,
        }
    }

    /// Whether it accepts something that these do not hold.
    pub(super) fn exceeds(&self, others: &Sensitivity) -> bool {
        match self {
            Self::Unknown => false,
            Self::Any => true,
            Self::Only(held) => !others.classes.covers(held.classes) || !others.scopes.covers(&held.scopes),
        }
    }
}
