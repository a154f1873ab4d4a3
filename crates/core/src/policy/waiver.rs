//! Waivers: a named finding, lowered to a question for a while, where a condition certainly holds.

use std::sync::Arc;

use highwater_notation::Timestamp;

use super::condition::Condition;

/// A checked waiver. It never reaches the structural gates.
#[derive(Clone, Debug)]
pub struct Waiver {
    pub(super) findings: Vec<Arc<str>>,
    pub(super) condition: Condition,
    pub(super) until: Timestamp,
    pub(super) reason: Arc<str>,
}

// === impl Waiver ===

impl Waiver {
    /// A waiver of these findings, which only flow gates and rules make.
    pub fn new(findings: Vec<Arc<str>>, condition: Condition, until: Timestamp, reason: Arc<str>) -> Self {
        Self { findings, condition, until, reason }
    }

    /// Whether it can only cease to apply as the label rises, never begin.
    pub(super) fn is_monotone(&self) -> bool {
        self.condition.tests().iter().all(|test| test.moves().only_down)
    }

    /// The findings it lowers, by their dotted names.
    pub fn findings(&self) -> &[Arc<str>] {
        &self.findings
    }

    /// Where it applies.
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// From when on it is inert.
    pub fn until(&self) -> Timestamp {
        self.until
    }

    /// Why somebody thought it right.
    pub fn reason(&self) -> &Arc<str> {
        &self.reason
    }

    /// Whether it is still in force.
    pub fn in_force(&self, now: Timestamp) -> bool {
        now < self.until
    }
}
