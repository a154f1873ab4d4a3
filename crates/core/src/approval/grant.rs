//! Grants and mandates: a yes that was given before the call that rests on it, and what the store says of using it up.

/// How long a grant can be used after it was given.
pub const GRANT_LIFETIME_MS: u64 = 120_000;

/// How using up a grant went, in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantOutcome {
    /// It is used up, and this call may rest on it.
    Consumed,
    /// Another call was faster.
    AlreadyConsumed,
    /// Nobody has answered yet.
    Pending,
    /// A person said no.
    Declined,
    /// It ended before it was used.
    Expired,
    /// The tool is not the one that the person was shown (G16).
    Changed,
    /// Too few of those who signed still count.
    Short,
    /// There is none for this principal and this action.
    Unknown,
}

/// How using a mandate once went, in the one transaction that counts the uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MandateOutcome {
    /// One use is taken.
    Used {
        /// How many are left.
        left: u64,
    },
    /// None was left.
    Exhausted,
    /// It was taken back.
    Revoked,
    /// It has not begun, or it has ended.
    Outside,
    /// There is none of that id.
    Unknown,
}
