//! What a finding saw: each test of a rule or waiver with the fact's value, whether it held, and if nobody can
//! know, why.
//!
//! Made only where an explanation is wanted. The values of arguments are not in it: arguments are recorded as a
//! digest, and an explanation is kept as long as the record.

use std::borrow::Cow;

use highwater_notation::Found;
use serde::{Deserialize, Serialize};

use super::condition::{Check, Condition, Subject, Test};
use super::evaluate::{Hit, Reading};
use super::fact_table::Fact;
use super::kind::{Kind, Rises, Truth};
use super::value::{Because, Val};
use super::waiver::Waiver;

/// One test, seen on one action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The path of the fact.
    pub fact: Cow<'static, str>,
    /// What was asked of it, in the words of the rule language; nothing where a gate only looked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub test: String,
    /// What it was.
    pub value: SeenValue,
    /// Whether the test held.
    pub truth: Truth,
    /// If nobody can know, why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<Because>,
}

/// The value of a fact, to be shown and kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SeenValue {
    /// True or false.
    Bool(bool),
    /// A number.
    Int(i64),
    /// A word or a text; of an argument, what kind of thing it is.
    Text(String),
    /// The members, or the possible values.
    Many(Vec<String>),
    /// There is none, or nobody knows it.
    Nothing,
}

/// How many members of a set an explanation lists.
const LISTED: usize = 32;

// === impl Reading ===

impl<'a> Reading<'a> {
    /// What a rule that fired saw, and what its waiver did.
    pub fn explain(&mut self, hit: &Hit<'a>) -> Vec<Seen> {
        let mut seen = self.explain_condition(&hit.rule.condition);
        if let Some(waiver) = hit.waiver {
            seen.extend(self.explain_waiver(waiver));
        }
        seen
    }

    /// What a waiver saw.
    pub fn explain_waiver(&mut self, waiver: &Waiver) -> Vec<Seen> {
        self.explain_condition(&waiver.condition)
    }

    fn explain_condition(&mut self, condition: &Condition) -> Vec<Seen> {
        let mut tests = condition.tests();
        // As they are written, not in the order of their cost.
        tests.sort_by_key(|test| test.span);
        tests.into_iter().filter_map(|test| self.seen(test)).collect()
    }

    fn seen(&mut self, test: &Test) -> Option<Seen> {
        let subject = self.set.subjects.get(test.slot.0)?;
        let truth = self.test(test);
        let (value, because) = match subject {
            Subject::Fact(fact) => {
                let value = self.value(test.slot.0, fact);
                (SeenValue::of(fact, value), because(fact, value))
            }
            Subject::Argument(_) => argument(self.argument(test.slot.0), test),
        };
        Some(Seen {
            fact: subject.path(),
            test: in_words(test, subject),
            value,
            truth,
            because: (truth == Truth::Unknown).then_some(because),
        })
    }
}

// === impl SeenValue ===

impl SeenValue {
    /// What a fact says.
    pub fn of(fact: &Fact, value: Val<'_>) -> Self {
        match value {
            Val::Among(possible) => match (fact.kind, possible) {
                (Kind::Bool, 1) => Self::Bool(false),
                (Kind::Bool, 2) => Self::Bool(true),
                _ => {
                    let mut words = words(fact.kind, possible);
                    match words.pop() {
                        Some(only) if words.is_empty() => Self::Text(only),
                        Some(last) => {
                            words.push(last);
                            Self::Many(words)
                        }
                        None => Self::Nothing,
                    }
                }
            },
            Val::Set { has, .. } => Self::Many(words(fact.kind, has)),
            Val::Int { least, most } if least == most => Self::Int(least),
            Val::Int { least, most } => Self::Text(format!("{least} to {most}")),
            Val::Text(text) => Self::Text(text.to_owned()),
            Val::Texts { members, others, .. } => {
                Self::Many(members.iter().chain(others).take(LISTED).map(|text| text.to_string()).collect())
            }
            Val::Absent | Val::Unknown(_) => Self::Nothing,
        }
    }
}

// === words ===

fn because(fact: &Fact, value: Val<'_>) -> Because {
    match value {
        Val::Unknown(because) | Val::Texts { open: Some(because), .. } => because,
        Val::Text(_) => Because::SpelledOtherwise,
        _ if fact.rises != Rises::No => Because::LabelMayRise,
        Val::Among(possible)
            if words(fact.kind, possible).len() == fact.kind.words().map_or(0, <[_]>::len) =>
        {
            Because::Undeclared
        }
        _ => Because::SeveralPossible,
    }
}

fn argument(found: Option<&Found<'_>>, test: &Test) -> (SeenValue, Because) {
    let kind = |word: &str| SeenValue::Text(word.to_owned());
    match found {
        None => (SeenValue::Nothing, Because::ArgumentsUnknown),
        Some(Found::Missing) => (SeenValue::Nothing, Because::ArgumentMissing),
        Some(Found::Bool(_)) => (kind("true or false"), Because::ArgumentOfOtherType),
        Some(Found::Int(_)) => (kind("a whole number"), Because::ArgumentOfOtherType),
        Some(Found::Text(_)) if test.spellings.is_some() => (kind("text"), Because::SpelledOtherwise),
        Some(Found::Text(_)) => (kind("text"), Because::ArgumentOfOtherType),
        Some(Found::Other(what)) => (kind(what), Because::ArgumentOfOtherType),
    }
}

/// The test as the rule language writes it: `equals public`, `not in [a, b]`.
fn in_words(test: &Test, subject: &Subject) -> String {
    let kind = match subject {
        Subject::Fact(fact) => fact.kind,
        Subject::Argument(_) => Kind::Bool,
    };
    let mut text = String::from(if test.negated { "not " } else { "" });
    let listed = |values: Vec<String>| match values.as_slice() {
        [only] => format!("equals {only}"),
        many => format!("in [{}]", many.join(", ")),
    };
    let rest = match &test.check {
        Check::Among(wanted) => listed(words(kind, *wanted)),
        Check::Has(wanted) => listed(words(kind, *wanted)).replace("equals", "contains"),
        Check::Text(wanted) => listed(wanted.iter().take(LISTED).map(|text| text.to_string()).collect()),
        Check::Number(wanted) => listed(wanted.iter().take(LISTED).map(i64::to_string).collect()),
        Check::Matches(glob) => format!("matches {}", glob.as_str()),
        Check::Above(bound) => format!("greaterThan {bound}"),
        Check::Below(bound) => format!("lessThan {bound}"),
        Check::Exists => "exists".to_owned(),
    };
    text.push_str(&rest);
    text
}

fn words(kind: Kind, bits: u64) -> Vec<String> {
    let all = kind.words().unwrap_or_default();
    all.iter()
        .enumerate()
        .filter(|(place, _)| bits >> place & 1 == 1)
        .map(|(_, word)| (*word).to_owned())
        .collect()
}
