//! Challenges that servers issued through us, remembered until they are used and a while longer. What is forgotten is
//! unknown, and evidence for it is refused: forgetting never opens anything.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use highwater_core::approval::{ApprovalReason, RelayedApproval, RelayedCall, RelayedChallenge, resume};
use highwater_core::decide::Agreement;
use highwater_core::id::{ChallengeId, Principal, UpstreamId};
use tokio::time::Instant;

/// How many are remembered in all, and for one principal.
const MOST: usize = 16_384;
const MOST_EACH: usize = 1_024;

/// For how long: a replay is called one at least that long (G5).
const LASTS: Duration = Duration::from_secs(24 * 60 * 60);

/// For how long after its approval a call may go on with what its server asked back (G25).
const GOES_ON: Duration = Duration::from_secs(10 * 60);

/// For how long what a person agreed to with a challenge serves its call: as long as any answer of theirs waits for one.
const AGREED: Duration = Duration::from_secs(2 * 60);

/// The longest id of a challenge that is remembered; nobody needs a longer one.
const LONGEST_ID: usize = 1_024;

/// The challenges. A server chooses its ids, so they mean something with the server and the asker alone.
#[derive(Default)]
pub(crate) struct RelayedChallenges {
    known: Mutex<HashMap<Principal, Theirs>>,
}

/// The challenges of one who asked.
type Theirs = HashMap<(UpstreamId, ChallengeId), Remembered>;

struct Remembered {
    challenge: RelayedChallenge,
    issued: Instant,
    spent: Option<Instant>,
}

// === impl RelayedChallenges ===

impl RelayedChallenges {
    /// Remembers a challenge that a server has just issued for this call, and what a person agreed to before. `false` if its id is none.
    pub(crate) fn issued(
        &self,
        id: ChallengeId,
        call: &RelayedCall<'_>,
        agreement: Option<Agreement>,
    ) -> bool {
        if id.as_str().is_empty() || id.as_str().len() > LONGEST_ID {
            return false;
        }
        let mut known = self.lock();
        let now = Instant::now();
        if known.values().map(HashMap::len).sum::<usize>() >= MOST {
            for theirs in known.values_mut() {
                theirs.retain(|_, remembered| now.duration_since(remembered.issued) < LASTS);
            }
            known.retain(|_, theirs| !theirs.is_empty());
            if known.values().map(HashMap::len).sum::<usize>() >= MOST
                && let Some(most) = known.values_mut().max_by_key(|theirs| theirs.len())
            {
                // Whoever has most of them loses the oldest, and nobody else anything.
                forget_oldest(most);
            }
        }
        let theirs = known.entry(call.principal.clone()).or_default();
        if theirs.len() >= MOST_EACH {
            forget_oldest(theirs);
        }
        let challenge = RelayedChallenge::issued(id.clone(), call).agreed(agreement);
        let fresh = Remembered { challenge, issued: now, spent: None };
        let place = theirs.entry((call.upstream.clone(), id));
        // An id that was used stays used, even if its server gives it out again.
        place
            .and_modify(|old| {
                if old.spent.is_none() {
                    *old = fresh.copy()
                }
            })
            .or_insert(fresh);
        true
    }

    /// What is known of a challenge of this server, for whoever asks.
    pub(crate) fn find(
        &self,
        principal: &Principal,
        upstream: &UpstreamId,
        id: &ChallengeId,
    ) -> Option<RelayedChallenge> {
        let known = self.lock();
        let remembered = known.get(principal)?.get(&(upstream.clone(), id.clone()))?;
        let challenge = (remembered.issued.elapsed() < LASTS).then(|| remembered.challenge.clone())?;
        Some(if remembered.issued.elapsed() < AGREED { challenge } else { challenge.agreed(None) })
    }

    /// Uses a challenge up. Of several who try only one does.
    pub(crate) fn spend(
        &self,
        principal: &Principal,
        upstream: &UpstreamId,
        id: &ChallengeId,
    ) -> Result<(), ApprovalReason> {
        let mut known = self.lock();
        let remembered =
            known.get_mut(principal).and_then(|theirs| theirs.get_mut(&(upstream.clone(), id.clone())));
        let remembered = remembered.ok_or(ApprovalReason::ChallengeUnknown)?;
        remembered.challenge.spend()?;
        remembered.spent = Some(Instant::now());
        Ok(())
    }

    /// An approval that was used for this very call lately, so that the call may go on.
    pub(crate) fn going_on(&self, call: &RelayedCall<'_>) -> Option<RelayedApproval> {
        let known = self.lock();
        let lately =
            |remembered: &&Remembered| remembered.spent.is_some_and(|spent| spent.elapsed() < GOES_ON);
        known
            .get(call.principal)?
            .values()
            .filter(lately)
            .find_map(|remembered| resume(&remembered.challenge, call))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Principal, Theirs>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget_oldest(theirs: &mut Theirs) {
    let oldest = theirs.iter().min_by_key(|(_, remembered)| remembered.issued).map(|(key, _)| key.clone());
    if let Some(oldest) = oldest {
        theirs.remove(&oldest);
    }
}

// === impl Remembered ===

impl Remembered {
    fn copy(&self) -> Self {
        Self { challenge: self.challenge.clone(), issued: self.issued, spent: self.spent }
    }
}

#[cfg(test)]
mod tests {
    use highwater_notation::CanonicalArguments;

    use super::*;

    struct Scene {
        principal: Principal,
        upstream: UpstreamId,
        arguments: CanonicalArguments,
    }

    fn scene(principal: &str) -> Scene {
        Scene {
            principal: Principal::new(principal),
            upstream: UpstreamId::new("files"),
            arguments: CanonicalArguments::read(None).unwrap(),
        }
    }

    impl Scene {
        fn call(&self) -> RelayedCall<'_> {
            RelayedCall {
                principal: &self.principal,
                upstream: &self.upstream,
                tool: "delete",
                definition: None,
                arguments: &self.arguments,
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn c12_a_challenge_is_used_once_and_stays_used() {
        let (all, here) = (RelayedChallenges::default(), scene("one"));
        let id = ChallengeId::new("c");
        assert!(all.issued(id.clone(), &here.call(), None));
        let spend = |of: &Scene| all.spend(&of.principal, &of.upstream, &id);
        assert_eq!(spend(&scene("other")), Err(ApprovalReason::ChallengeUnknown));
        assert_eq!(spend(&here), Ok(()));
        assert_eq!(spend(&here), Err(ApprovalReason::ChallengeConsumed));
        // Not even its server makes it new again.
        assert!(all.issued(id.clone(), &here.call(), None));
        assert_eq!(spend(&here), Err(ApprovalReason::ChallengeConsumed));
        assert!(all.find(&here.principal, &here.upstream, &id).unwrap().is_spent());
        assert!(all.going_on(&here.call()).is_some() && all.going_on(&scene("other").call()).is_none());
        tokio::time::advance(GOES_ON).await;
        assert!(all.going_on(&here.call()).is_none());
        tokio::time::advance(LASTS).await;
        assert!(all.find(&here.principal, &here.upstream, &id).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_one_asker_has_issued_is_bounded_and_costs_nobody_else_anything() {
        let (all, greedy, modest) = (RelayedChallenges::default(), scene("greedy"), scene("modest"));
        let kept = ChallengeId::new("kept");
        assert!(all.issued(kept.clone(), &modest.call(), None));
        for number in 0..MOST_EACH + 10 {
            assert!(all.issued(ChallengeId::new(number.to_string()), &greedy.call(), None));
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        let find = |of: &Scene, id: &str| all.find(&of.principal, &of.upstream, &ChallengeId::new(id));
        assert!(find(&greedy, "9").is_none() && find(&greedy, "10").is_some());
        assert!(find(&modest, kept.as_str()).is_some());
        assert!(!all.issued(ChallengeId::new(""), &modest.call(), None));
        assert!(!all.issued(ChallengeId::new("x".repeat(LONGEST_ID + 1)), &modest.call(), None));
    }
}
