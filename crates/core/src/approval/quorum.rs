//! Several people for one action: how many signatures of whom are enough.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::UserId;

/// How many of whom must sign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quorum {
    /// How many people.
    pub n: usize,
    /// Who may.
    pub approvers: BTreeSet<UserId>,
    /// Whether the one who asks counts.
    pub requester_counts: bool,
}

/// One person's answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// Who.
    pub user: UserId,
    /// What they said.
    pub said: PartialAnswer,
}

/// What one of several people said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialAnswer {
    /// They signed, and their credential still counts.
    Signed,
    /// They signed with a credential that was revoked since.
    Revoked,
    /// They signed, and all their credentials are being reset.
    Resetting,
    /// They declined.
    Declined,
}

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuorumState {
    /// So many are missing.
    Missing(usize),
    /// There are enough.
    Reached,
    /// An approver said no, and that ends it.
    Declined,
}

// === impl Quorum ===

impl Quorum {
    /// Whether this person's answer counts.
    pub fn counts(&self, user: &UserId, requester: &UserId) -> bool {
        self.approvers.contains(user) && (self.requester_counts || user != requester)
    }

    /// Where a request stands. People count, not credentials: two signatures of one person are one.
    pub fn state(&self, requester: &UserId, answers: &[Partial]) -> QuorumState {
        let declined = |answer: &&Partial| answer.said == PartialAnswer::Declined;
        if answers.iter().filter(declined).any(|answer| self.approvers.contains(&answer.user)) {
            return QuorumState::Declined;
        }
        let signed: BTreeSet<&UserId> = answers
            .iter()
            .filter(|answer| answer.said == PartialAnswer::Signed && self.counts(&answer.user, requester))
            .map(|answer| &answer.user)
            .collect();
        // Nobody is never enough.
        match self.n.max(1).saturating_sub(signed.len()) {
            0 => QuorumState::Reached,
            missing => QuorumState::Missing(missing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(n: usize, requester_counts: bool, answers: &[(&str, PartialAnswer)]) -> QuorumState {
        let approvers = ["ada", "ben", "cyd"].map(UserId::new).into();
        let answers: Vec<Partial> =
            answers.iter().map(|(user, said)| Partial { user: UserId::new(*user), said: *said }).collect();
        Quorum { n, approvers, requester_counts }.state(&UserId::new("ada"), &answers)
    }

    #[test]
    fn distinct_approvers_count_and_nobody_else() {
        use PartialAnswer::{Declined, Resetting, Revoked, Signed};
        assert_eq!(state(2, false, &[]), QuorumState::Missing(2));
        assert_eq!(state(2, false, &[("ben", Signed), ("ben", Signed)]), QuorumState::Missing(1));
        assert_eq!(state(2, false, &[("ben", Signed), ("eve", Signed)]), QuorumState::Missing(1));
        assert_eq!(state(2, false, &[("ben", Signed), ("ada", Signed)]), QuorumState::Missing(1));
        assert_eq!(state(2, true, &[("ben", Signed), ("ada", Signed)]), QuorumState::Reached);
        assert_eq!(state(2, false, &[("ben", Signed), ("cyd", Signed)]), QuorumState::Reached);
        assert_eq!(state(2, false, &[("ben", Signed), ("cyd", Revoked)]), QuorumState::Missing(1));
        assert_eq!(state(2, false, &[("ben", Signed), ("cyd", Resetting)]), QuorumState::Missing(1));
        assert_eq!(
            state(2, false, &[("ben", Signed), ("cyd", Signed), ("ada", Declined)]),
            QuorumState::Declined
        );
        assert_eq!(
            state(2, false, &[("ben", Signed), ("cyd", Signed), ("eve", Declined)]),
            QuorumState::Reached
        );
        assert_eq!(state(0, false, &[]), QuorumState::Missing(1));
    }
}
