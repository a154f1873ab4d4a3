//! What a finding does to an action, in the one order everything obeys: the strictest wins.

use serde::{Deserialize, Serialize};

/// What a finding does to the action. The order is the chain: the strictest wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// The action goes ahead.
    Allow,
    /// The action goes ahead and its reply is edited. Arguments are never edited.
    Redact,
    /// A person must say yes to exactly this action.
    Confirm,
    /// A passkey must sign exactly this action.
    Passkey,
    /// The action does not happen.
    Block,
}

// === impl Effect ===

impl Effect {
    /// The words a rule may write for its effect. `escalate` is seed 000's word for `confirm`; `allow` is not
    /// among them, because under "strictest wins" it could never matter.
    pub const RULE_WORDS: [&'static str; 5] = ["redact", "confirm", "escalate", "passkey", "block"];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Redact => "redact",
            Self::Confirm => "confirm",
            Self::Passkey => "passkey",
            Self::Block => "block",
        }
    }

    /// The effect that a rule's word means.
    pub fn of_rule_word(word: &str) -> Option<Self> {
        match word {
            "redact" => Some(Self::Redact),
            "confirm" | "escalate" => Some(Self::Confirm),
            "passkey" => Some(Self::Passkey),
            "block" => Some(Self::Block),
            _ => None,
        }
    }

    /// What a waiver leaves of this effect: `Confirm` at most.
    pub fn waived(self) -> Self {
        self.min(Self::Confirm)
    }
}
