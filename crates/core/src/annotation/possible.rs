//! A possible set: one of these will hold, and nobody knows yet which.

use std::fmt;

use highwater_notation::{Word, Words};
use serde::{Serialize, Serializer};

/// A set of values of which one or more will hold. Never empty: an empty one would say that nothing happens.
pub struct Possible<T>(Words<T>);

// === impl Possible ===

impl<T: Word> Possible<T> {
    /// Exactly this.
    pub fn only(word: T) -> Self {
        Self(Words::only(word))
    }

    /// Anything at all.
    pub fn any() -> Self {
        Self(Words::all())
    }

    /// One of these; `None` for an empty set, which claims nothing.
    pub fn of(words: Words<T>) -> Option<Self> {
        (!words.is_empty()).then_some(Self(words))
    }

    /// These or that.
    pub fn with(self, word: T) -> Self {
        Self(self.0.with(word))
    }

    /// These or those.
    pub fn or(self, others: Words<T>) -> Self {
        Self(self.0.union(others))
    }

    /// Whether it may be this.
    pub fn contains(self, word: T) -> bool {
        self.0.contains(word)
    }

    /// Whether it is this and can be nothing else.
    pub fn is_only(self, word: T) -> bool {
        self.0 == Words::only(word)
    }

    /// The members as a set.
    pub fn members(self) -> Words<T> {
        self.0
    }

    /// The most severe member.
    pub fn worst(self) -> T
    where
        T: Severe,
    {
        self.0.iter().next_back().unwrap_or(T::WORST)
    }
}

/// A vocabulary that knows its own worst word.
pub trait Severe: Word {
    /// What to assume when nothing is known.
    const WORST: Self;
}

impl Severe for super::Destination {
    const WORST: Self = Self::Public;
}

impl Severe for super::Outcome {
    const WORST: Self = Self::Irreversible;
}

impl Severe for super::Source {
    const WORST: Self = Self::UntrustedPublic;
}

impl<T: Word> fmt::Debug for Possible<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> Clone for Possible<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Possible<T> {}

impl<T> PartialEq for Possible<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for Possible<T> {}

impl<T: Word> Serialize for Possible<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotation::{Destination, Outcome};

    #[test]
    fn an_empty_set_is_no_possible_set() {
        assert_eq!(Possible::<Outcome>::of(Words::EMPTY), None);
    }

    #[test]
    fn the_worst_member_is_the_most_severe() {
        assert_eq!(Possible::<Destination>::any().worst(), Destination::Public);
        assert_eq!(
            Possible::only(Destination::System).with(Destination::Internal).worst(),
            Destination::Internal
        );
    }
}
