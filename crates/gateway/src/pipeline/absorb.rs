//! Raises the session's label before what raised it is released. What cannot be stored stays here.

use highwater_core::annotation::Destination;
use highwater_core::label::Label;
use highwater_store::{Joined, SessionHandle, StoreError};

use super::undertaking::Undertaking;
use crate::gateway::Gateway;

/// A label that is part of the session's.
pub(crate) struct Absorbed {
    /// To be kept until the first byte of what was labelled is handed over.
    pub(crate) joined: Joined,
    /// Whether the session's label rose, as far as it was known here.
    pub(crate) raised: bool,
}

impl Gateway {
    /// Joins a label to that of the session. The proof is to be kept until the first byte is handed over. While the store
    /// fails, only what no decision could see goes on.
    ///
    /// `vouched` says that the operator verified who wrote what is labelled.
    pub(crate) async fn absorb(
        &self,
        session: &SessionHandle,
        label: &Label,
        vouched: bool,
    ) -> Result<Absorbed, StoreError> {
        // By far the most common: nothing new, and no store has to be asked.
        if let Some(joined) = session.covered(label) {
            return Ok(Absorbed { joined, raised: false });
        }
        let raised = session.cached().is_none_or(|known| !known.label.covers(label));
        if raised {
            // Origins feed the record and people; unless some decision looks at them they may be written a little later.
            self.store.defer_origins(!self.world.load().looks_at_origins());
        }
        let joined = session.join_or_postpone(label, |label| self.world.load().overlooks(label));
        let joined = Box::pin(joined).await?;
        if joined.is_postponed() {
            tracing::warn!(session = %session.key(), "a label that no decision sees waits for the session store");
        }
        self.stories.take_in(session.key(), label, vouched);
        Ok(Absorbed { joined, raised })
    }

    /// The same for something that an upstream said in the course of a call.
    pub(super) async fn absorb_of(
        &self,
        undertaking: &Undertaking,
        label: &Label,
    ) -> Result<Absorbed, StoreError> {
        let session = undertaking.session();
        let public = undertaking.told.destination().contains(Destination::Public);
        if public && !label.wrote_externally() {
            let label = label.clone().with_wrote_externally();
            return self.absorb(session, &label, undertaking.vouched()).await;
        }
        self.absorb(session, label, undertaking.vouched()).await
    }

    /// Notes that a call may have reached the public although nothing came back.
    pub(super) async fn note_sent(&self, undertaking: &Undertaking) {
        if let Err(error) = self.absorb_of(undertaking, &Label::bottom()).await {
            tracing::error!(%error, decision = %undertaking.decision, "that a call was sent could not be stored");
        }
    }
}
