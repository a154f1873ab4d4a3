//! Conditions on one JSON text alone, without rules around them: when a case of an operator's labels applies.

use highwater_notation::{Arguments, Wanted};

use super::condition::{Condition, Slot, Subject};
use super::kind::Truth;

/// One condition that looks at `arguments.…` and at nothing else.
#[derive(Clone, Debug)]
pub struct Case(CaseSet);

/// Several such conditions, asked of one text in one pass.
#[derive(Clone, Debug, Default)]
pub struct CaseSet {
    conditions: Vec<Condition>,
    subjects: Vec<Subject>,
    wanted: Wanted,
}

// === impl Case ===

impl Case {
    /// The first of these conditions.
    pub fn new(conditions: CaseSet) -> Self {
        Self(conditions)
    }

    /// Whether the case applies: narrow what is possible only where this [`loosens`](Truth::loosens).
    pub fn truth(&self, arguments: Arguments<'_>) -> Truth {
        self.0.truths(arguments).next().unwrap_or(Truth::Unknown)
    }
}

// === impl CaseSet ===

impl CaseSet {
    /// These conditions, which find what they look at in the slots of `subjects`.
    pub fn new(conditions: Vec<Condition>, subjects: Vec<Subject>) -> Self {
        let wanted = Wanted::of(subjects.iter().map(Subject::argument));
        Self { conditions, subjects, wanted }
    }

    /// What each condition is worth, in their order. The text is read once, and not at all if there are none.
    pub fn truths(&self, arguments: Arguments<'_>) -> impl Iterator<Item = Truth> {
        let found = match arguments {
            Arguments::Known(text) if !self.conditions.is_empty() => self.wanted.find(text),
            Arguments::Known(_) | Arguments::Unknown => None,
        };
        self.conditions.iter().map(move |condition| {
            condition.truth(&mut |test| {
                let found = found.as_ref().and_then(|found| found.get(test.slot().0));
                test.on_argument(found)
            })
        })
    }

    /// The conditions, to be shown or walked.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// What stands at a slot.
    pub fn subject(&self, slot: Slot) -> Option<&Subject> {
        self.subjects.get(slot.0)
    }

    /// The places they look at.
    pub fn subjects(&self) -> &[Subject] {
        &self.subjects
    }
}
