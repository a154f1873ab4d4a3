//! The six levels of trust, from nobody to the owner.

use highwater_notation::vocabulary;

vocabulary! {
    /// How far whoever wrote something is believed. Listed from least to most.
    TrustLevel {
        /// Not at all: text of strangers, and everything from an unverified server.
        None = "none",
        /// A verified server's own replies.
        Tool = "tool",
        /// Another agent.
        Agent = "agent",
        /// The system the agent runs in.
        System = "system",
        /// The person who uses the agent.
        User = "user",
        /// The person who answers for the deployment.
        Owner = "owner",
    }
    aliases { "any" = None, "full" = Owner }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_from_nobody_to_the_owner() {
        assert!(TrustLevel::ALL.is_sorted());
        assert_eq!(TrustLevel::ALL.first(), Some(&TrustLevel::None));
        assert_eq!(TrustLevel::ALL.last(), Some(&TrustLevel::Owner));
    }

    #[test]
    fn a_level_is_read_in_any_case_and_by_its_alias() {
        assert_eq!(TrustLevel::parse("TOOL"), Some(TrustLevel::Tool));
        assert_eq!(TrustLevel::parse("any"), Some(TrustLevel::None));
        assert_eq!(TrustLevel::parse("full"), Some(TrustLevel::Owner));
        assert_eq!(TrustLevel::parse("root"), None);
    }
}
