//! What would become of a call, in the words that a model is told. No reasons: they would be an oracle.

use highwater_core::policy::Effect;
use highwater_notation::vocabulary;

vocabulary! {
    /// What would become of a call.
    Prospect {
        /// It would be made.
        CallableNow = "callable_now",
        /// A person would be asked first.
        NeedsConfirmation = "needs_confirmation",
        /// A person would have to sign it first.
        NeedsPasskey = "needs_passkey",
        /// It would not be made.
        Blocked = "blocked",
    }
}

// === impl Prospect ===

impl Prospect {
    /// What an effect comes to. Nothing can be removed from a reply yet, so a call whose reply would need that is not made.
    pub fn of(effect: Effect) -> Self {
        match effect {
            Effect::Allow => Self::CallableNow,
            Effect::Confirm => Self::NeedsConfirmation,
            Effect::Passkey => Self::NeedsPasskey,
            Effect::Redact | Effect::Block => Self::Blocked,
        }
    }
}
