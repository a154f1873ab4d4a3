//! Puts a further attempt at a call on record before it is made. The permit is for the action, whatever number of
//! attempts that takes; what has changed since the action was judged still counts.

use std::sync::Arc;

use highwater_core::audit::{AuditEvent, Happened};
use highwater_core::decide::{Effect, demands, judge};
use highwater_core::policy::Facts;
use highwater_upstream::event::Retry;

use super::undertaking::Undertaking;
use crate::gateway::{Gateway, now};

impl Gateway {
    /// Lets a call be tried again, if it would still be judged as it was and that it is tried can be recorded.
    /// Otherwise its failure stands.
    pub(super) async fn try_again(&self, undertaking: &Undertaking, retry: Retry) {
        if !self.still_permitted(undertaking).await {
            tracing::info!(decision = %undertaking.decision, "the call is not tried again: it would be judged otherwise now");
            return;
        }
        let why = retry.why.to_string();
        let happened = Happened::Retried { attempt: retry.number, why: &why, sent: retry.sent };
        let event = AuditEvent { time: now(), id: Some(&undertaking.decision), happened };
        match self.audit.append(&event) {
            Ok(_) => retry.go(),
            Err(error) => {
                tracing::error!(%error, decision = %undertaking.decision, "the call is not tried again: that cannot be recorded");
            }
        }
    }

    /// Whether nothing is found about the action that was not found before: its caller's token may have been revoked
    /// meanwhile, its session may have read what it had not, the operator may have tightened a rule.
    async fn still_permitted(&self, undertaking: &Undertaking) -> bool {
        if undertaking.unstored {
            return false;
        }
        let policy = Arc::clone(&self.world.load().policy);
        let session = self.label_of_moment(undertaking.session()).await;
        let standing = undertaking.caller.standing();
        let facts = Facts { grant: &standing.grant, now: now(), ..undertaking.facts().under(&session.label) };
        if demands(&policy, &facts).effect <= Effect::Redact {
            return true;
        }
        // What a person agreed to, they agreed to for this action; what they were not told is another question.
        let then = judge(&undertaking.policy, &undertaking.facts());
        let now = judge(&policy, &facts);
        now.effect() <= then.effect()
            && now.findings().iter().all(|new| then.findings().iter().any(|known| known.id == new.id))
    }
}
