//! A checked condition, and what it is worth for one action in Kleene's logic.
//!
//! Conditions are kept in negation normal form: `not` stands only before tests. That changes no truth value, and
//! whoever walks one (the evaluator, the analysis, the oracle) meets three cases instead of four.

use std::cmp::Ordering;
use std::sync::Arc;

use highwater_notation::{Found, Glob, Pointer};

use super::fact_table::{Fact, FactName};
use super::kind::Truth;
use super::polarity::{self, Moves};
use super::span::Span;
use super::spellings::Spellings;
use super::value::Val;

/// A checked condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// All must hold. The cheap tests come first, since one that fails spares the others.
    All(Box<[Condition]>),
    /// One must hold.
    Any(Box<[Condition]>),
    /// A test must hold, or must not.
    Test(Test),
}

/// One test of one fact.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    pub(super) slot: Slot,
    /// The fact at the slot; an argument is none.
    pub(super) fact: Option<&'static Fact>,
    pub(super) check: Check,
    /// Where the fact is a text that an agent spells and a server reads: its other spellings.
    pub(super) spellings: Option<Arc<Spellings>>,
    pub(super) negated: bool,
    pub(super) span: Span,
}

/// Where in the flat array of an evaluation a fact stands; see [`RuleSet::subject`](super::RuleSet::subject).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub usize);

/// What a test is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A row of the fact table.
    Fact(&'static Fact),
    /// An argument.
    Argument(Pointer),
}

/// What a test asks of its fact. All operators come down to these.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Check {
    /// Of a Bool, an enum or a possible set: the value is one of these words.
    Among(u64),
    /// Of a closed set: one of these words is a member.
    Has(u64),
    /// Of a text: it is one of these. Of an open set: one of these is a member. The shorter
    /// come first, and those of one length are sorted.
    Text(Box<[Box<str>]>),
    /// Of a text, or of some member of an open set.
    Matches(Glob),
    /// A number above this one.
    Above(i64),
    /// A number below this one.
    Below(i64),
    /// One of these numbers. Sorted.
    Number(Box<[i64]>),
    /// An argument is present; an open set has a member.
    Exists,
}

// === impl Condition ===

impl Condition {
    /// What the condition is worth, given the worth of each test.
    ///
    /// Stops as soon as the rest cannot matter.
    pub(super) fn truth(&self, of: &mut impl FnMut(&Test) -> Truth) -> Truth {
        match self {
            Self::Test(test) => of(test),
            Self::All(parts) => {
                let mut worth = Truth::True;
                for part in parts {
                    worth = worth.min(part.truth(of));
                    if worth == Truth::False {
                        break;
                    }
                }
                worth
            }
            Self::Any(parts) => {
                let mut worth = Truth::False;
                for part in parts {
                    worth = worth.max(part.truth(of));
                    if worth == Truth::True {
                        break;
                    }
                }
                worth
            }
        }
    }

    /// Every test in it.
    pub fn tests(&self) -> Vec<&Test> {
        let mut tests = Vec::new();
        self.collect(&mut tests);
        tests
    }

    fn collect<'c>(&'c self, tests: &mut Vec<&'c Test>) {
        match self {
            Self::Test(test) => tests.push(test),
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.collect(tests)),
        }
    }

    /// The tests that must all hold for the condition to hold.
    pub fn required(&self) -> impl Iterator<Item = &Test> {
        let parts = match self {
            Self::All(parts) => parts,
            Self::Test(_) => std::slice::from_ref(self),
            Self::Any(_) => &[],
        };
        parts.iter().filter_map(|part| match part {
            Self::Test(test) => Some(test),
            Self::All(_) | Self::Any(_) => None,
        })
    }
}

// === impl Test ===

impl Test {
    /// A test of what stands at a slot: a row of the fact table, or an argument where there is none. The other spellings of
    /// a text that an agent spells and a server reads, an argument or a URI, are asked as well; names are taken as they are.
    pub fn new(slot: Slot, fact: Option<&'static Fact>, check: Check, negated: bool, span: Span) -> Self {
        let is_spelled = fact.is_none_or(|fact| fact.name == Some(FactName::ResourceUri));
        let spellings = is_spelled.then(|| Spellings::of(&check)).flatten().map(Arc::new);
        Self { slot, fact, check, spellings, negated, span }
    }

    /// Which way it moves as the label of the session rises. An argument moves in no way.
    pub fn moves(&self) -> Moves {
        match self.fact {
            Some(fact) => polarity::of(&self.check, fact.kind, fact.rises, self.negated),
            None => Moves { only_up: true, only_down: true },
        }
    }

    /// Which fact.
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// What is asked of it.
    pub fn check(&self) -> &Check {
        &self.check
    }

    /// Whether the answer is turned round.
    pub fn negated(&self) -> bool {
        self.negated
    }

    /// What other spellings of the text are held against, if any are.
    pub fn spellings(&self) -> Option<&Spellings> {
        self.spellings.as_deref()
    }

    /// Where it is written.
    pub fn span(&self) -> Span {
        self.span
    }

    /// What the test is worth for the value of its fact.
    pub(super) fn on(&self, value: Val<'_>) -> Truth {
        self.of(match (&self.spellings, value) {
            (Some(spellings), Val::Text(text)) => spellings.truth(self.check.passes(text), text),
            (_, value) => self.check.on(value),
        })
    }

    /// What the test is worth for an argument. One that cannot be known, because the text cannot, is `None`.
    pub(super) fn on_argument(&self, found: Option<&Found<'_>>) -> Truth {
        self.of(match (&self.spellings, found) {
            (Some(spellings), Some(Found::Text(text))) => spellings.truth(self.check.passes(text), text),
            (_, Some(found)) => self.check.on_argument(found),
            (_, None) => Truth::Unknown,
        })
    }

    /// What the test is worth, given what its check is.
    pub fn of(&self, check: Truth) -> Truth {
        if self.negated { !check } else { check }
    }
}

// === impl Check ===

impl Check {
    /// Total: what does not fit (the compiler lets nothing of the kind pass) is unknown.
    pub fn on(&self, value: Val<'_>) -> Truth {
        match (self, value) {
            (_, Val::Unknown(_)) => Truth::Unknown,
            (_, Val::Absent) => Truth::False,
            (Self::Among(wanted), Val::Among(possible)) => {
                if possible & !wanted == 0 && possible != 0 {
                    Truth::True
                } else if possible & wanted == 0 && possible != 0 {
                    Truth::False
                } else {
                    Truth::Unknown
                }
            }
            (Self::Has(wanted), Val::Set { has, may }) => found_or(has & wanted != 0, may & wanted != 0),
            (Self::Text(_) | Self::Matches(_), Val::Text(text)) => self.passes(text).into(),
            (Self::Text(wanted), Val::Texts { members, others, open }) => {
                found_or(members.iter().chain(others).any(|text| listed(wanted, text)), open.is_some())
            }
            (Self::Matches(glob), Val::Texts { members, others, open }) => {
                found_or(members.iter().chain(others).any(|text| glob.matches(text)), open.is_some())
            }
            (Self::Exists, Val::Texts { members, others, open }) => {
                found_or(!(members.is_empty() && others.is_empty()), open.is_some())
            }
            (Self::Above(bound), Val::Int { least, most }) => within(least > *bound, most > *bound),
            (Self::Below(bound), Val::Int { least, most }) => within(most < *bound, least < *bound),
            (Self::Number(wanted), Val::Int { least, most }) => {
                let first = wanted.partition_point(|number| *number < least);
                let reached = wanted.get(first).is_some_and(|number| *number <= most);
                within(reached && least == most, reached)
            }
            _ => Truth::Unknown,
        }
    }

    fn on_argument(&self, found: &Found<'_>) -> Truth {
        match (self, found) {
            (Self::Exists, found) => (*found != Found::Missing).into(),
            (Self::Among(wanted), Found::Bool(flag)) => (wanted & if *flag { 2 } else { 1 } != 0).into(),
            (Self::Text(_) | Self::Matches(_), Found::Text(text)) => self.passes(text).into(),
            (Self::Above(bound), Found::Int(number)) => (number > bound).into(),
            (Self::Below(bound), Found::Int(number)) => (number < bound).into(),
            (Self::Number(wanted), Found::Int(number)) => wanted.binary_search(number).is_ok().into(),
            _ => Truth::Unknown,
        }
    }

    /// Whether a text passes a check of texts, as it stands.
    fn passes(&self, text: &str) -> bool {
        match self {
            Self::Text(wanted) => listed(wanted, text),
            Self::Matches(glob) => glob.matches(text),
            _ => false,
        }
    }

    /// How dear the check is, so that dear ones come last. Looking into arguments reads their whole text.
    pub fn cost(&self) -> u8 {
        match self {
            Self::Among(_) | Self::Has(_) => 0,
            Self::Above(_) | Self::Below(_) | Self::Number(_) | Self::Exists => 1,
            Self::Text(_) => 2,
            Self::Matches(_) => 3,
        }
    }
}

/// The order of a list of texts: lengths are compared before anything has to be read.
pub fn by_length(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// Whether the list, in that order, has the text.
pub(super) fn listed(ordered: &[Box<str>], text: &str) -> bool {
    match ordered {
        [only] => **only == *text,
        many => many.binary_search_by(|member| by_length(member, text)).is_ok(),
    }
}

fn found_or(found: bool, possible: bool) -> Truth {
    if found {
        Truth::True
    } else if possible {
        Truth::Unknown
    } else {
        Truth::False
    }
}

fn within(all: bool, some: bool) -> Truth {
    found_or(all, some)
}
