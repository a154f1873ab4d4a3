//! Puts a further attempt at a call on record before it is made. The permit is for the action, whatever number of
//! attempts that takes; what has changed since the action was judged still counts.

use std::sync::Arc;

use highwater_audit::Happened;
use highwater_core::decide::{Effect, demands, judge};
use highwater_core::policy::Facts;
use highwater_upstream::event::Retry;

use super::judge::Judge;
use super::proposed::Proposed;
use crate::gateway::now;

// === impl Judge ===

impl Judge {
    /// Lets a call be tried again, if it would still be judged as it was and that it is tried can be recorded.
    /// Otherwise its failure stands.
    pub(super) async fn try_again(&self, proposed: &Proposed, retry: Retry) {
        if !self.still_permitted(proposed).await {
            tracing::info!(decision = %proposed.decision, "the call is not tried again: it would be judged otherwise now");
            return;
        }
        let why = retry.why.to_string();
        let happened = Happened::Retried { attempt: retry.number, why: &why, sent: retry.sent };
        match self.recorder.happened(proposed, happened) {
            Ok(_) => retry.go(),
            Err(error) => {
                tracing::error!(%error, decision = %proposed.decision, "the call is not tried again: that cannot be recorded");
            }
        }
    }

    /// Whether nothing is found about the action that was not found before: its caller's token may have been revoked
    /// meanwhile, its session may have read what it had not, the operator may have tightened a rule.
    async fn still_permitted(&self, proposed: &Proposed) -> bool {
        if proposed.unstored {
            return false;
        }
        let policy = Arc::clone(&self.world.load().policy);
        let session = self.sessions.current(proposed.session()).await;
        let standing = proposed.caller.standing();
        let facts = Facts { grant: &standing.grant, now: now(), ..proposed.facts().under(&session.label) };
        if demands(&policy, &facts).effect <= Effect::Redact {
            return true;
        }
        // What a person agreed to, they agreed to for this action; what they were not told is another question.
        let then = judge(&proposed.policy, &proposed.facts());
        let now = judge(&policy, &facts);
        let mut enforced = now.findings().iter().filter(|finding| finding.effect > Effect::Allow);
        now.effect() <= then.effect()
            && enforced.all(|new| then.findings().iter().any(|known| known.id == new.id))
    }
}
