//! Sessions and their labels, and the marks on stored things: read before something is judged, raised before something is
//! released. A label that cannot be read counts as the highest; what cannot be stored stays here.

use std::sync::{Arc, LazyLock};

use highwater_core::annotation::Destination;
use highwater_core::decide::FlowMode;
use highwater_core::label::Label;
use highwater_core::policy::RequestFacts;
use highwater_core::session::label_claims;
use highwater_marks::{Mark, ReadPrints, Reading, Thing, Writer, left_by_write, says_nothing};
use highwater_mcp::annotations::request_says;
use highwater_store::{
    BeforeOwn, Joined, MarkQuery, Marked, MetMarks, SessionHandle, SessionState, Store, StoreError,
};
use highwater_upstream::box_cold;

use super::Arrival;
use super::objects::Called;
use super::permitted::Permitted;
use super::proposed::Proposed;
use crate::client::Caller;
use crate::session::{Evidences, Stories};
use crate::world::CurrentWorld;

/// Where the labels of sessions and of stored things are.
pub(crate) struct Sessions {
    pub(crate) store: Store,
    pub(crate) stories: Arc<Stories>,
    pub(crate) evidence: Arc<Evidences>,
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
        box_cold(session.current()).await.unwrap_or_else(|error| {
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
        let proposed = self.trace_values(proposed.under(before));
        if proposed.files.are_used() { box_cold(self.doubting(proposed)).await } else { proposed }
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
        let joined = box_cold(joined).await?;
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

    /// Marks what an action writes with the label of the session that writes it. `seen` says that a person saw exactly what
    /// is written. While the flow rules are only observed nothing is marked.
    pub(super) async fn mark_written(
        &self,
        proposed: Proposed,
        seen: bool,
    ) -> Result<(Proposed, Marked), (Proposed, StoreError)> {
        if !called(&proposed).writes() {
            return Ok((proposed, Marked::default()));
        }
        let mode = proposed.flow_mode();
        if mode == FlowMode::Observe {
            return Ok((proposed, Marked::default()));
        }
        // On a store that others share the label known here may be old, and a mark that is too low launders.
        let proposed = if self.store.is_shared() { self.read_again(proposed).await } else { proposed };
        // What nobody has settled counts: the agent may still have it.
        let left = left_by_write(&proposed.before.possible(), seen);
        if says_nothing(&left) {
            return Ok((proposed, Marked::default()));
        }
        let things = called(&proposed).written(self.store.print_key(), mode == FlowMode::Strict);
        match self.leave(&proposed, things, &left).await {
            Ok(marked) => Ok((proposed, marked)),
            Err(error) => Err((proposed, error)),
        }
    }

    /// Marks handles that a reply gives out with the reply's own label.
    pub(super) async fn mark_handles(
        &self,
        proposed: &Proposed,
        handles: Vec<Thing>,
        label: &Label,
    ) -> Result<(), StoreError> {
        // Most replies give nothing out.
        if handles.is_empty() || proposed.flow_mode() == FlowMode::Observe {
            return Ok(());
        }
        let left = left_by_write(label, false);
        if says_nothing(&left) {
            return Ok(());
        }
        self.leave(proposed, handles, &left).await.map(|_| ())
    }

    async fn leave(
        &self,
        proposed: &Proposed,
        things: Vec<Thing>,
        label: &Label,
    ) -> Result<Marked, StoreError> {
        if things.is_empty() {
            return Ok(Marked::default());
        }
        let by = Writer {
            session: proposed.session().key().clone(),
            principal: proposed.caller.principal.clone(),
            tool: proposed
                .route
                .tool
                .as_ref()
                .map_or_else(|| Arc::clone(proposed.action.method()), |tool| Arc::clone(&tool.own)),
            decision: proposed.decision.clone(),
            at: proposed.now,
        };
        box_cold(self.store.leave(things, label, &by)).await
    }

    /// Takes back the marks of a call that wrote nothing, as its server says or as it was never sent. Where that fails they
    /// stay, which only adds.
    pub(super) async fn wrote_nothing(&self, permitted: &Permitted) {
        let marked = permitted.take_marked();
        if marked.is_empty() {
            return;
        }
        if let Err(error) = box_cold(self.store.take_back(marked)).await {
            tracing::warn!(%error, decision = %permitted.decision, "the marks of a call that wrote nothing stay");
        }
    }

    /// The marks of what a reply was made from, as they are now that it has come. What the call itself has left says nothing
    /// of the reply: it is what the session knew already.
    ///
    /// `held` is what the session holds, where what the reply bears beyond that is all that matters.
    pub(super) async fn marks(
        &self,
        permitted: &Permitted,
        text: &(dyn Fn() -> ReadPrints + Sync),
        held: Option<&Label>,
    ) -> Met {
        if !self.store.may_be_marked(permitted.route.contracts.keeps()) {
            return Met::default();
        }
        let Some(met) = self.marks_met(permitted, &called(permitted).reading(), text, held).await else {
            return Met { label: Label::top(), ..Met::default() };
        };
        let mut all = Met { text: met.text, held: met.held, ..Met::default() };
        for (mark, label) in met.marks {
            match permitted.before_own(&mark) {
                BeforeOwn::Nothing => continue,
                BeforeOwn::Said(before) => all.label.join(&before),
                BeforeOwn::AsItIs => all.label.join(&label),
            }
            all.marks.push(mark);
        }
        all
    }

    /// The labels of the marks of what a reply to this action would be made from, as far as the action says.
    pub(super) async fn marks_read_by(&self, proposed: &Proposed) -> Label {
        self.marks_of(proposed, &[called(proposed).reading()]).await
    }

    /// The labels of the marks of some things, joined.
    pub(super) async fn marks_of(&self, proposed: &Proposed, readings: &[Reading]) -> Label {
        let mut joined = Label::bottom();
        if !self.store.may_be_marked(proposed.route.contracts.keeps()) {
            return joined;
        }
        for reading in readings {
            match self.marks_met(proposed, reading, &ReadPrints::default, None).await {
                Some(met) => joined.join(&met.label()),
                None => return Label::top(),
            }
        }
        joined
    }

    /// The marks that a reading meets; nothing where they cannot be read and anything may have been written.
    async fn marks_met(
        &self,
        proposed: &Proposed,
        reading: &Reading,
        text: &(dyn Fn() -> ReadPrints + Sync),
        held: Option<&Label>,
    ) -> Option<MetMarks> {
        let servers = proposed.route.contracts.keeps();
        let query = MarkQuery { servers, reading, reader: &proposed.caller.principal, text, held };
        if let Some(met) = self.store.known_met(&query) {
            return Some(met);
        }
        match box_cold(self.store.met(&query)).await {
            Ok(met) => Some(met),
            Err(error) => {
                tracing::error!(%error, decision = %proposed.decision, "the marks of a reply cannot be read");
                // Where nobody writes there is nothing to be read that has a mark, unless an old one is known.
                let world = self.world.load();
                let unwritten = servers.iter().all(|server| world.keeps_nothing(server));
                unwritten.then(|| self.store.last_known_met(&query))
            }
        }
    }

    /// Learns the wording of a reply that nobody has to doubt: texts of one mould are not marks of each other.
    pub(super) fn learn(&self, permitted: &Permitted, met: &Met, reply: &Label) {
        if let Some(text) = met.text.as_ref().filter(|_| met.marks.is_empty())
            && !reply.untrusted()
            && !reply.private()
        {
            self.store.learn_wording(permitted.route.contracts.keeps(), text);
        }
    }
}

/// The marks that a reply bears.
#[derive(Default)]
pub(super) struct Met {
    pub(super) marks: Vec<Arc<Mark>>,
    pub(super) label: Label,
    /// What it may bear besides, which the session held when it was looked at. It is stored with the reply's label, so that
    /// a person who meanwhile took something off the session's label took it off what was read until then.
    pub(super) held: Label,
    /// The fingerprints of the reply, where they were looked at.
    text: Option<ReadPrints>,
}

// === impl Met ===

impl Met {
    /// Whether there is something to be told or stored of it.
    pub(super) fn is_something(&self) -> bool {
        !self.marks.is_empty() || self.held != Label::bottom()
    }

    /// Whether the text of the reply was looked at.
    pub(super) fn is_read(&self) -> bool {
        self.text.is_some()
    }
}

/// The call as far as it tells what it is about.
fn called(proposed: &Proposed) -> Called<'_> {
    Called {
        contract: &proposed.reply_contract,
        namings: &proposed.known().namings,
        real_paths: &proposed.files.real,
        action: &proposed.action,
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
