//! Checks that may be worse through the gateway than they are directly, each with its reason. An entry that no longer
//! makes a difference fails the run, so that the list stays true.

/// One check of one scenario.
pub(super) struct Exception {
    /// The fixture; none stands for all of them.
    pub(super) fixture: Option<&'static str>,
    pub(super) set: &'static str,
    pub(super) scenario: &'static str,
    pub(super) check: &'static str,
    /// Why it cannot be otherwise.
    pub(super) why: &'static str,
}

pub(super) const EXCEPTIONS: &[Exception] = &[];

// === impl Exception ===

impl Exception {
    pub(super) fn covers(&self, fixture: &str, set: &str, scenario: &str, check: &str) -> bool {
        self.fixture.is_none_or(|name| name == fixture)
            && (self.set, self.scenario, self.check) == (set, scenario, check)
    }
}
