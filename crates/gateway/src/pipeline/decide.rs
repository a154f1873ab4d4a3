//! Judges an action under the session's label. On a store that other gateways share the label known here may be old:
//! it is judged twice, and the store is asked only where that could make a difference.

use highwater_core::decide::{Approval, Effect, Verdict, decide, decide_approved, demands};
use highwater_upstream::apart;

use super::gather::worst;
use super::undertaking::Undertaking;
use crate::gateway::{Gateway, now};

impl Gateway {
    /// Judges an action.
    pub(super) async fn judge(&self, undertaking: &mut Undertaking) -> Verdict {
        if self.store.is_shared() && !certain(undertaking) {
            self.look_again(undertaking).await;
        }
        decide(&undertaking.policy, &undertaking.facts())
    }

    /// Judges an action again that a person approved, as everything is now.
    pub(super) async fn judge_approved(&self, undertaking: &mut Undertaking, approval: Approval) -> Verdict {
        self.look_again(undertaking).await;
        undertaking.standing = undertaking.caller.standing();
        undertaking.now = now();
        decide_approved(&undertaking.policy, &undertaking.facts(), approval)
    }

    /// Reads the session's label anew.
    pub(super) async fn look_again(&self, undertaking: &mut Undertaking) {
        if undertaking.unstored {
            return;
        }
        undertaking.before = match apart(undertaking.session().current()).await {
            Ok(state) => state,
            Err(error) => {
                let session = undertaking.session().key();
                tracing::error!(%error, %session, "its label cannot be read: it counts as the highest");
                worst()
            }
        };
    }
}

/// Whether no label that the session could have would make the answer another. Only a plain yes is certain: a refusal
/// may rest on a label that a person has lowered elsewhere.
fn certain(undertaking: &Undertaking) -> bool {
    let policy = &undertaking.policy;
    let known = demands(policy, &undertaking.facts());
    known.effect <= Effect::Redact
        && policy.rules().monotone()
        && known == demands(policy, &undertaking.facts().at_worst())
}
