//! Conditions on one JSON text alone, without rules around them: when a case of an operator's labels applies.

use highwater_notation::{Arguments, Wanted};

use super::super::condition::{Condition, Slot, Subject};
use super::super::error::RuleError;
use super::super::kind::Truth;
use super::super::source::ConditionSource;
use super::draft::{Draft, Use};
use super::{Compiler, look};

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
    /// Checks the condition.
    pub fn compile(source: &ConditionSource) -> Result<Self, Vec<RuleError>> {
        CaseSet::compile(std::slice::from_ref(source)).map(Self)
    }

    /// Whether the case applies: narrow what is possible only where this [`loosens`](Truth::loosens).
    pub fn truth(&self, arguments: Arguments<'_>) -> Truth {
        self.0.truths(arguments).next().unwrap_or(Truth::Unknown)
    }
}

// === impl CaseSet ===

impl CaseSet {
    /// Checks the conditions.
    pub fn compile(sources: &[ConditionSource]) -> Result<Self, Vec<RuleError>> {
        let mut compiler = Compiler::default();
        let mut conditions = Vec::with_capacity(sources.len());
        for source in sources {
            if let Some(condition) = Draft::new(&mut compiler, Use::Case).condition(source) {
                look::contradiction(&condition, &mut compiler);
                conditions.push(condition);
            }
        }
        if compiler.errors.is_empty() {
            let wanted = Wanted::of(compiler.subjects.iter().map(Subject::argument));
            Ok(Self { conditions, subjects: compiler.subjects, wanted })
        } else {
            Err(compiler.errors)
        }
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
