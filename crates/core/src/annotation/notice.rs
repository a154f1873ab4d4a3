//! What the operator should hear about a claim: kept and shown, never decided on.

use std::sync::Arc;

use highwater_notation::vocabulary;

use super::Axis;

vocabulary! {
    /// What there is to say about a claim.
    NoticeKind {
        /// A word outside the vocabulary; the worst member was added.
        UnknownWord = "unknown-word",
        /// A value of the wrong JSON type; read at its most severe.
        WrongType = "wrong-type",
        /// A block that could not be read at all.
        Malformed = "malformed",
        /// Two claims of one speaker that cannot both be meant.
        Contradiction = "contradiction",
        /// The operator's value is milder than an explicit claim.
        OverrideBelowClaim = "override-below-claim",
        /// The operator's classes stand although the source alone would add some.
        FloorLifted = "floor-lifted",
        /// A resolved or actual value lies outside what was declared.
        Drift = "drift",
        /// Somebody reported malicious activity.
        Malicious = "malicious",
        /// A key that only we may write was sent to us.
        Spoofed = "spoofed",
        /// A text or a list was longer than is kept.
        Truncated = "truncated",
    }
}

/// One remark about a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What there is to say.
    pub kind: NoticeKind,
    /// The axis it concerns, where it concerns one.
    pub axis: Option<Axis>,
    /// The vocabulary in which the claim was made.
    pub from: &'static str,
    /// The word or key in question, as it was written; upstream text, to be shown escaped.
    pub detail: Arc<str>,
}

// === impl Notice ===

impl Notice {
    /// A remark.
    pub fn new(
        kind: NoticeKind,
        axis: Option<Axis>,
        from: &'static str,
        detail: impl Into<Arc<str>>,
    ) -> Self {
        Self { kind, axis, from, detail: detail.into() }
    }
}
