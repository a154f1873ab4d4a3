//! The session store is away: what could not be released afterwards is not sent, and whoever wanted it is told that this
//! is an outage and no refusal.

use highwater_audit::Ruling;
use highwater_core::action::ActionKind;
use highwater_core::annotation::ReplyKind;
use highwater_core::decide::{
    Judgement, Obligations, Received, ReplyFacts, ReplyVerdict, ResultType, decide_reply, label_reply,
};
use highwater_core::id::DecisionId;
use highwater_mcp::error_code;
use highwater_store::StoreError;

use super::Refusal;
use super::proposed::Proposed;
use super::record::Recorder;
use super::sessions::{Sessions, reaches_public};

// === impl Sessions ===

impl Sessions {
    /// Whether the reply to an action could be released, as far as its contract says what it will be. Asked where the
    /// store may be away; if it is, this says why not.
    pub(super) async fn would_release(
        &self,
        proposed: &Proposed,
        obligations: Obligations,
    ) -> Result<(), StoreError> {
        let Err(error) = self.store.available().await else { return Ok(()) };
        // What is known here of a label counts only as long as it is also where the next start looks for it.
        if matches!(error, StoreError::Gone { .. }) {
            return Err(error);
        }
        if self.releases_while_away(proposed, obligations).await { Ok(()) } else { Err(error) }
    }

    /// Labels and judges the reply that the contract speaks of as it would be if the store stayed as it is.
    async fn releases_while_away(&self, proposed: &Proposed, obligations: Obligations) -> bool {
        let now = self.current(proposed.session()).await;
        let standing = proposed.caller.standing();
        let facts = proposed.facts_of_reply(&now.label, &standing.grant);
        let kind = match proposed.action.kind() {
            ActionKind::ReadResource => ReplyKind::Resource,
            _ => ReplyKind::Server,
        };
        let marks = self.marks_read_by(proposed).await;
        let known = ReplyFacts { kind, marks, ..ReplyFacts::new(ResultType::Complete) };
        let labelled = label_reply(&proposed.policy, &facts, Received::new((), known));
        let ReplyVerdict::Pass(pass) = decide_reply(&proposed.policy, &facts, obligations, labelled) else {
            return false;
        };
        let outward = reaches_public(proposed).then(|| pass.label().clone().with_wrote_externally());
        let label = outward.as_ref().unwrap_or_else(|| pass.label());
        proposed.session().covered(label).is_some() || self.world.load().overlooks(label).is_some()
    }
}

// === impl Recorder ===

impl Recorder {
    /// Records that an action which was judged is not done because of the store, and says so.
    pub(super) fn unavailable(
        &self,
        proposed: &Proposed,
        judgement: &Judgement,
        error: &StoreError,
    ) -> Refusal {
        tracing::error!(%error, decision = %proposed.decision, "not sent: the session store is away");
        self.outage(proposed, judgement)
    }

    /// The same of an action that could not be judged by what its session has taken in, because nobody can tell.
    pub(super) fn unread(&self, proposed: &Proposed, judgement: &Judgement) -> Refusal {
        tracing::error!(decision = %proposed.decision, "not sent: the label of its session cannot be read");
        self.outage(proposed, judgement)
    }

    fn outage(&self, proposed: &Proposed, judgement: &Judgement) -> Refusal {
        match self.decision(proposed, judgement, Ruling::Unavailable) {
            Ok(_) => Refusal::outage(&proposed.decision, proposed.name()),
            Err(error) => Refusal::unrecorded(&proposed.decision, &error),
        }
    }
}

// === impl Refusal ===

impl Refusal {
    /// Nothing was done, for no fault of the call.
    fn outage(decision: &DecisionId, name: &str) -> Self {
        let message = format!(
            "`{name}` was not called: the gateway's session store is away. This is an outage and no refusal: nothing was \
             executed, and the same call may be tried again in a moment"
        );
        Self::about(decision, error_code::STORE_UNAVAILABLE, &message)
    }
}
