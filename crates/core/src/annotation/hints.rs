//! The four core hints: as somebody wrote them, and as the contract lets them stand.

/// The hints in so many words. What is absent was not said; a default is never a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// The tool changes nothing.
    pub read_only: Option<bool>,
    /// The tool may destroy something.
    pub destructive: Option<bool>,
    /// Calling twice does no more than calling once.
    pub idempotent: Option<bool>,
    /// The tool deals with the open world.
    pub open_world: Option<bool>,
}

/// The hints as the effective contract has them: never milder than it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectiveHints {
    /// Every outcome is benign.
    pub read_only: bool,
    /// Some outcome is irreversible.
    pub destructive: bool,
    /// Claimed by somebody whose word may loosen.
    pub idempotent: bool,
    /// The destination may be public or the source untrusted.
    pub open_world: bool,
}

// === impl Hints ===

impl Hints {
    /// These, and the others where nothing is said here.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            read_only: self.read_only.or(others.read_only),
            destructive: self.destructive.or(others.destructive),
            idempotent: self.idempotent.or(others.idempotent),
            open_world: self.open_world.or(others.open_world),
        }
    }

    /// Whether it is said that the tool changes something: that it destroys or not is said only of such tools.
    pub(super) fn writes(self) -> bool {
        self.read_only == Some(false) || (self.read_only.is_none() && self.destructive.is_some())
    }
}
