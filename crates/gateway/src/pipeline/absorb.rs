//! Raises the session's label before what raised it is released. What cannot be stored stays here.

use std::sync::Arc;

use highwater_core::annotation::Destination;
use highwater_core::label::Label;
use highwater_store::{Joined, SessionHandle, SessionState, StoreError};
use highwater_upstream::apart;

use super::undertaking::Undertaking;
use crate::gateway::Gateway;
use crate::session::SetBy;

/// A label that is part of the session's.
pub(crate) struct Absorbed {
    /// To be kept until the first byte of what was labelled is handed over.
    pub(crate) joined: Joined,
    /// Whether the session's label rose, as far as it was known here.
    pub(crate) raised: bool,
    /// What was known here of the session before, if its label rose.
    before: Option<Arc<SessionState>>,
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
            return Ok(Absorbed { joined, raised: false, before: None });
        }
        let before = session.cached();
        let raised = before.as_ref().is_none_or(|known| !known.label.covers(label));
        if raised {
            // Origins feed the record and people; unless some decision looks at them they may be written a little later.
            self.store.defer_origins(!self.world.load().looks_at_origins());
        }
        let joined = session.join_or_postpone(label, |label| self.world.load().overlooks(label));
        let joined = apart(joined).await?;
        if joined.is_postponed() {
            tracing::warn!(session = %session.key(), "a label that no decision sees waits for the session store");
        }
        self.stories.take_in(session.key(), label, vouched);
        Ok(Absorbed { joined, raised, before })
    }

    /// The same for something that an upstream said in the course of a call.
    pub(super) async fn absorb_of(
        &self,
        undertaking: &Undertaking,
        label: &Label,
    ) -> Result<Absorbed, StoreError> {
        let session = undertaking.session();
        let public = undertaking.told.destination().contains(Destination::Public);
        let outward = (public && !label.wrote_externally()).then(|| label.clone().with_wrote_externally());
        let label = outward.as_ref().unwrap_or(label);
        let absorbed = self.absorb(session, label, undertaking.vouched()).await?;
        undertaking.note_said(label);
        if absorbed.raised
            && let Some(before) = &absorbed.before
        {
            self.note_legs(undertaking, before, label);
        }
        Ok(absorbed)
    }

    #[cold]
    fn note_legs(&self, undertaking: &Undertaking, before: &SessionState, label: &Label) {
        let key = undertaking.session().key();
        self.stories.with(key, |story| story.note_legs(&before.label, label, || undertaking.set_by()));
    }

    /// Notes that a call may have reached the public although nothing came back. Says whether that is news.
    pub(super) async fn note_sent(&self, undertaking: &Undertaking) -> bool {
        match self.absorb_of(undertaking, &Label::bottom()).await {
            Ok(absorbed) => absorbed.raised,
            Err(error) => {
                tracing::error!(%error, decision = %undertaking.decision, "that a call was sent could not be stored");
                false
            }
        }
    }
}

// === impl Undertaking ===

impl Undertaking {
    /// The call, for people who ask what set a leg.
    fn set_by(&self) -> SetBy {
        SetBy {
            id: self.decision.clone(),
            time: self.now,
            what: self.name().to_owned(),
            server: self.action.upstream().as_str().to_owned(),
        }
    }
}
