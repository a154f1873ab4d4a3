//! Sessions and their labels, and the marks on stored things: read before something is judged, raised before something is
//! released. A label that cannot be read counts as the highest; what cannot be stored stays here.

use std::sync::{Arc, LazyLock};

use highwater_core::annotation::Destination;
use highwater_core::label::Label;
use highwater_core::policy::RequestFacts;
use highwater_core::session::{ObjectId, label_claims};
use highwater_mcp::annotations::request_says;
use highwater_store::{Joined, MOST_OBJECTS, SessionHandle, SessionState, Store, StoreError};
use highwater_upstream::apart;

use super::Arrival;
use super::objects;
use super::permitted::Permitted;
use super::proposed::Proposed;
use crate::client::Caller;
use crate::session::Stories;
use crate::world::CurrentWorld;

/// Where the labels of sessions and of stored things are.
pub(crate) struct Sessions {
    pub(crate) store: Store,
    pub(crate) stories: Arc<Stories>,
    pub(crate) world: Arc<CurrentWorld>,
}

/// A label that is part of the session's.
pub(crate) struct Absorbed {
    /// To be kept until the first byte of what was labelled is handed over.
    pub(crate) joined: Joined,
    /// Whether the session's label rose, as far as it was known here.
    pub(crate) raised: bool,
    /// What was known here of the session before, if its label rose.
    pub(super) before: Option<Arc<SessionState>>,
}

/// What a client says of its own context.
#[derive(Default)]
pub(super) struct ClientContext {
    pub(super) request: RequestFacts,
    /// It could not be stored.
    pub(super) unstored: bool,
}

// === impl Sessions ===

impl Sessions {
    /// The session's label as it is known here; a session that cannot be read has taken in everything.
    pub(super) async fn known(&self, session: &SessionHandle) -> Arc<SessionState> {
        match session.cached() {
            Some(known) => known,
            None => self.stored(session).await,
        }
    }

    /// The label that something that came back is judged under: on a store that others share, as it is there.
    pub(super) async fn current(&self, session: &SessionHandle) -> Arc<SessionState> {
        if self.store.is_shared() { self.stored(session).await } else { self.known(session).await }
    }

    async fn stored(&self, session: &SessionHandle) -> Arc<SessionState> {
        apart(session.current()).await.unwrap_or_else(|error| {
            tracing::error!(%error, session = %session.key(), "its label cannot be read: it counts as the highest");
            worst()
        })
    }

    /// An action under its session's label, read anew.
    pub(super) async fn read_again(&self, proposed: Proposed) -> Proposed {
        if proposed.unstored {
            return proposed;
        }
        let before = self.stored(proposed.session()).await;
        proposed.under(before)
    }

    /// Takes into the session what the client says of its own context, and says whether that could not be stored. It
    /// stays: the context that the client speaks of is the one the session stands for.
    pub(super) async fn take_context(&self, arrival: &Arrival, caller: &Caller) -> ClientContext {
        let Some(meta) = arrival.frame.param("_meta").filter(|_| !arrival.frame.is_meta_formal()) else {
            return ClientContext::default();
        };
        let says = request_says(meta);
        let label = label_claims(&says.claims);
        let request = RequestFacts {
            open_world: label.open_world(),
            attribution: label.origins().clone(),
            contributors: says.contributors,
        };
        if label == Label::bottom() {
            return ClientContext { request, unstored: false };
        }
        let stored = self.absorb(&caller.session, &label, false).await;
        if let Err(error) = &stored {
            tracing::error!(%error, "what a client says of its context could not be stored");
        }
        ClientContext { request, unstored: stored.is_err() }
    }

    /// Joins a label to that of the session. The proof is to be kept until the first byte is handed over. While the store
    /// fails, only what no decision could see goes on.
    ///
    /// `verified` says that the operator verified who wrote what is labelled.
    pub(crate) async fn absorb(
        &self,
        session: &SessionHandle,
        label: &Label,
        verified: bool,
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
        self.stories.take_in(session.key(), label, verified);
        Ok(Absorbed { joined, raised, before })
    }

    /// The same for something that an upstream said in the course of a call.
    pub(super) async fn absorb_of(
        &self,
        permitted: &Permitted,
        label: &Label,
    ) -> Result<Absorbed, StoreError> {
        let session = permitted.session();
        // Once more with what comes back: a person may have lowered the label since it was sent.
        let outward = reaches_public(permitted) && !label.wrote_externally();
        let outward = outward.then(|| label.clone().with_wrote_externally());
        let label = outward.as_ref().unwrap_or(label);
        let absorbed = self.absorb(session, label, permitted.is_verified()).await?;
        permitted.note_heard(label);
        if absorbed.raised
            && let Some(before) = &absorbed.before
        {
            self.note_legs(permitted, before, label);
        }
        Ok(absorbed)
    }

    /// Notes which call set what rules ask for.
    pub(super) fn note_legs(&self, proposed: &Proposed, before: &SessionState, label: &Label) {
        let key = proposed.session().key();
        self.stories.with(key, |story| story.note_legs(&before.label, label, || proposed.set_by()));
    }

    /// Takes into the session that something leaves for the public, before it does: a reply that is withheld, or that
    /// nobody waits for, takes nothing of it back. Says whether that is news.
    pub(super) async fn note_exit(&self, proposed: &Proposed) -> Result<bool, StoreError> {
        if !reaches_public(proposed) {
            return Ok(false);
        }
        let label = Label::bottom().with_wrote_externally();
        let absorbed = self.absorb(proposed.session(), &label, proposed.is_verified()).await?;
        if let (true, Some(before)) = (absorbed.raised, &absorbed.before) {
            self.note_legs(proposed, before, &label);
        }
        Ok(absorbed.raised)
    }

    /// Marks what an action writes with the label of the session that writes it. With it: the marks of what it reads as
    /// they were before, where it writes anything.
    pub(super) async fn mark_written(
        &self,
        proposed: Proposed,
    ) -> Result<(Proposed, Option<Label>), (Proposed, StoreError)> {
        let written = objects::written(&proposed.reply_contract, &proposed.action);
        if written.is_empty() {
            return Ok((proposed, None));
        }
        // On a store that others share the label known here may be old, and a mark that is too low launders.
        let proposed = if self.store.is_shared() { self.read_again(proposed).await } else { proposed };
        let marks = self.marks_read_by(&proposed).await;
        // What nobody has settled counts: the agent may still have it.
        match self.mark(&written, &proposed.before.possible()).await {
            Ok(()) => Ok((proposed, Some(marks))),
            Err(error) => Err((proposed, error)),
        }
    }

    /// Marks handles that a reply gives out with the reply's own label, where reading them would not bring it anyway.
    pub(super) async fn mark_handles(
        &self,
        proposed: &Proposed,
        handles: &[ObjectId],
        label: &Label,
    ) -> Result<(), StoreError> {
        if proposed.reply_contract.reply_label().covers(label) && handles.is_empty() {
            return Ok(());
        }
        self.mark(handles, label).await
    }

    async fn mark(&self, objects: &[ObjectId], label: &Label) -> Result<(), StoreError> {
        if objects.is_empty() || *label == Label::bottom() {
            return Ok(());
        }
        apart(self.store.mark(objects, label)).await.map(|_| ())
    }

    /// The labels of what a reply may have been made from, as they are now that it has come. What the call itself has set
    /// says nothing of the reply: it is what the session knew already.
    pub(super) async fn marks(&self, permitted: &Permitted) -> Label {
        let now = self.marks_read_by(permitted).await;
        match &permitted.marks_before {
            Some(before) if before.clone().joined(&permitted.before.possible()).covers(&now) => {
                before.clone()
            }
            _ => now,
        }
    }

    pub(super) async fn marks_read_by(&self, proposed: &Proposed) -> Label {
        let asked = objects::read(&proposed.reply_contract, &proposed.action);
        if let Some(label) = self.store.known_marks(&asked) {
            return label;
        }
        match apart(self.store.marks(&asked)).await {
            Ok(label) => label,
            Err(error) => {
                tracing::error!(%error, decision = %proposed.decision, "the marks of a reply cannot be read");
                // Where nobody writes there is nothing to be read that has a mark, unless an old one is known.
                let unwritten = self.world.load().keeps_nothing(proposed.action.upstream());
                let known = if unwritten { self.store.last_known_marks(&asked) } else { None };
                known.unwrap_or_else(Label::top)
            }
        }
    }

    /// The labels of what a list names, joined.
    pub(super) async fn marks_of(&self, objects: &[ObjectId]) -> Label {
        let mut joined = Label::bottom();
        for some in objects.chunks(MOST_OBJECTS) {
            match apart(self.store.marks(some)).await {
                Ok(label) => joined.join(&label),
                Err(error) => {
                    tracing::error!(%error, "the marks of what is listed cannot be read");
                    return Label::top();
                }
            }
        }
        joined
    }
}

/// Whether something of an action may reach the public.
pub(super) fn reaches_public(proposed: &Proposed) -> bool {
    proposed.reply_contract.destination().contains(Destination::Public)
}

/// A session that could not be read, so that it may have taken in anything.
static UNREAD: LazyLock<Arc<SessionState>> =
    LazyLock::new(|| Arc::new(SessionState { label: Label::top(), ..SessionState::unborn() }));

/// A session that may have taken in anything.
pub(super) fn worst() -> Arc<SessionState> {
    Arc::clone(&UNREAD)
}

/// Whether this stands for a session that could not be read, and for none that has taken in everything.
pub(super) fn is_unread(state: &Arc<SessionState>) -> bool {
    Arc::ptr_eq(state, &UNREAD)
}
