//! One agent session as the gateway holds it: its label, and the ways to raise and to lower it.

use std::sync::Arc;
use std::time::Duration;

use highwater_core::decide::Overlooked;
use highwater_core::id::SessionKey;
use highwater_core::label::{Label, TextSet};
use tokio::time::{Instant, timeout};

use crate::StoreError;
use crate::clock;
use crate::entry::{Entry, SessionState, Worth};
use crate::joined::{Joined, Release};
use crate::key::SessionOwner;
use crate::operation::{
    CloseEpoch, Closing, CountCall, Declassify, Durability, End, Found, Join, Lower, Lowering, Operation,
    ReadSession, Seen,
};
use crate::people::Declassified;
use crate::store::Inner;

/// How long a declassification waits for releases to hand over their first byte.
const RELEASE_LIMIT: Duration = Duration::from_secs(5);

/// An agent session. Cheap to copy; holding it keeps the session's copy in memory.
#[derive(Clone, Debug)]
pub struct SessionHandle {
    store: Arc<Inner>,
    own: Arc<Entry>,
}

// === impl SessionHandle ===

impl SessionHandle {
    pub(crate) fn new(store: Arc<Inner>, own: Arc<Entry>) -> Self {
        Self { store, own }
    }

    /// The key of the session whose label counts: its own, or the principal's if it was folded into that.
    pub fn key(&self) -> &SessionKey {
        &self.entry().key
    }

    /// Whose session it is.
    pub fn owner(&self) -> &SessionOwner {
        &self.own.owner
    }

    /// The copy held here. On a single node it is the truth once it is there; on a shared store it may be old.
    pub fn cached(&self) -> Option<Arc<SessionState>> {
        self.entry().state()
    }

    /// The session as it is. Costs nothing on a single node once it has been read; on a shared store it is one
    /// read by key. An error means: decide as at the top label.
    pub async fn current(&self) -> Result<Arc<SessionState>, StoreError> {
        let entry = self.entry();
        let known = entry.state();
        match known {
            Some(known) if !self.store.is_shared() => Ok(known),
            known => self.read(known).await,
        }
    }

    /// The proof at once, where no store has to be asked: on a single node when the label is covered.
    pub fn covered(&self, label: &Label) -> Option<Joined> {
        let entry = self.entry();
        if self.store.is_shared() {
            // A reply without a label needs no place in one, however the store is.
            return (*label == Label::bottom()).then(|| Joined::nothing(entry.state()));
        }
        // First in, then look: a declassification may come between.
        let release = Release::try_new(entry)?;
        let state = entry.state()?;
        state.label.includes(label).then(|| Joined::held(state, release))
    }

    /// Raises the session's label. When this returns, the label is in the store.
    pub async fn join(&self, label: &Label) -> Result<Joined, StoreError> {
        if let Some(joined) = self.covered(label) {
            return Ok(joined);
        }
        if !self.store.is_shared() && self.entry().state().is_none() {
            self.read(None).await?;
        }
        // Who the strangers are whose words a session has heard decides whether an approved call goes on.
        if self.store.defers_origins() && !label.untrusted() {
            self.join_deferring(label).await
        } else {
            self.join_all(label).await
        }
    }

    /// The same, unless the store fails: then a label that no decision could see is joined as soon as the store is back,
    /// and what has it may be released meanwhile.
    pub async fn join_or_postpone<'l>(
        &self,
        label: &'l Label,
        overlooked: impl FnOnce(&'l Label) -> Option<Overlooked<'l>>,
    ) -> Result<Joined, StoreError> {
        match self.join(label).await {
            Ok(joined) => Ok(joined),
            Err(error) => overlooked(label).and_then(|proof| self.postpone(&proof)).ok_or(error),
        }
    }

    /// Leaves the join for later, if there is room.
    pub(crate) fn postpone(&self, overlooked: &Overlooked<'_>) -> Option<Joined> {
        let entry = self.entry();
        self.store.postpone(entry, overlooked).then(|| Joined::later(entry.state(), overlooked.label()))
    }

    async fn join_all(&self, label: &Label) -> Result<Joined, StoreError> {
        let since = Instant::now();
        if self.store.is_shared()
            && let Some(known) = self.entry().state()
            && known.label.includes(label)
            && self.entry().has_joined_in(known.epoch)
        {
            let key = self.entry().key.clone();
            // What the store says counts, not what is kept: a copy may be newer than a database that was set back.
            if let Found::Same =
                self.store.perform(ReadSession { key, known: Some(Arc::clone(&known)) }).await?
            {
                return Ok(self.for_a_while(known, label, since));
            }
        }
        self.write(label).await
    }

    /// Joins what decisions see now, and leaves the origins, which they do not, to be written soon.
    async fn join_deferring(&self, label: &Label) -> Result<Joined, StoreError> {
        let essential =
            Label::from_sets(label.bits(), label.scopes().clone(), label.names().clone(), TextSet::EMPTY);
        let joined = self.join_all(&essential).await?;
        if !joined.state().label.includes(label) {
            let entry = self.entry();
            entry.add_to_copy(label);
            // The copy lists origins already that are yet to be stored: it must not vouch for them. No decision misses
            // them after a power cut.
            let durability = Durability::Ordinary;
            self.store.queue(Join { known: None, durability, ..operation(entry, label) });
        }
        Ok(joined)
    }

    /// Writes the join, whether or not the copy covers it.
    pub(crate) async fn write(&self, label: &Label) -> Result<Joined, StoreError> {
        if self.store.is_shared() {
            let since = Instant::now();
            let state = self.write_to(self.entry(), label).await?;
            self.entry().note_joined_in(state.epoch);
            return Ok(self.for_a_while(state, label, since));
        }
        loop {
            let entry = self.entry();
            let release = Release::new(entry).await;
            if let Some(state) = entry.state().filter(|state| state.label.includes(label)) {
                return Ok(Joined::held(state, release));
            }
            let state = self.write_to(entry, label).await?;
            // If the session was folded meanwhile the label is in both, but it is the other's gate that counts.
            if Arc::ptr_eq(entry, self.entry()) {
                return Ok(Joined::held(state, release));
            }
        }
    }

    async fn write_to(&self, entry: &Arc<Entry>, label: &Label) -> Result<Arc<SessionState>, StoreError> {
        let before = entry.state().filter(|_| !self.store.is_shared());
        let rows = self.store.perform(operation(entry, label)).await?;
        let state = match entry.adopt(rows.state.clone()) {
            state if state.label.includes(label) => state,
            // The database was set back behind our copy: it is the one that counts.
            _ => {
                entry.forget();
                entry.adopt(rows.state)
            }
        };
        Ok(match rows.widest {
            Some(widest) => self.fold(widest),
            // Origins may be in the copy and only on their way to the store. Within an epoch nothing goes down.
            None => match before {
                Some(before) if before.epoch == state.epoch && !state.label.includes(&before.label) => {
                    entry.add_to_copy(&before.label)
                }
                Some(_) | None => state,
            },
        })
    }

    fn for_a_while(&self, state: Arc<SessionState>, label: &Label, since: Instant) -> Joined {
        Joined::for_a_while(state, self.clone(), label.clone(), since, self.store.grace / 2)
    }

    async fn read(&self, known: Option<Arc<SessionState>>) -> Result<Arc<SessionState>, StoreError> {
        let entry = self.entry();
        let operation = ReadSession { key: entry.key.clone(), known: known.clone() };
        match self.store.perform(operation).await? {
            Found::State { state, folded: false } => Ok(entry.adopt(state)),
            Found::State { state, folded: true } => {
                entry.adopt(state);
                self.fold_and_read().await
            }
            Found::Same => known.ok_or(StoreError::Foreign { what: "a copy of nothing" }),
        }
    }

    /// Another replica folded this session: from now on the principal's label counts.
    async fn fold_and_read(&self) -> Result<Arc<SessionState>, StoreError> {
        let key = self.own.owner.widest_key();
        let widest = self.store.cache.entry(&key, &self.own.owner.widest());
        match self.store.perform(ReadSession { key, known: None }).await? {
            Found::State { state, .. } => {
                let state = widest.adopt(state);
                self.own.fold_into(widest);
                Ok(state)
            }
            Found::Same => Err(StoreError::Foreign { what: "a copy of nothing" }),
        }
    }

    fn fold(&self, widest: SessionState) -> Arc<SessionState> {
        let key = self.own.owner.widest_key();
        let entry = self.store.cache.entry(&key, &self.own.owner.widest());
        let state = entry.adopt(widest);
        entry.note_joined_in(state.epoch);
        self.own.fold_into(entry);
        state
    }

    /// Makes sure that what the session begins with is on disk: it is a raise like any other.
    pub(crate) async fn flush(&self, begun: &SessionState) -> Result<(), StoreError> {
        if self.store.is_shared() || begun.label == Label::bottom() {
            return Ok(());
        }
        self.write_to(self.entry(), &begun.label).await.map(|_| ())
    }

    /// Lowers the label by a person's word and begins a new epoch.
    ///
    /// `epoch` is the one the person looked at. On a shared store this takes as long as replies in flight are
    /// given to get out.
    pub async fn declassify(
        &self,
        epoch: u64,
        label: &Label,
        person: &str,
        reason: &str,
    ) -> Result<Declassified, StoreError> {
        let entry = self.entry();
        let lowering = Lowering {
            key: entry.key.clone(),
            expected: epoch,
            label: label.clone(),
            person: person.to_owned(),
            reason: reason.to_owned(),
            now: clock::now(),
        };
        let this = self.clone();
        // A task of its own: a person who stops waiting must not leave the gate open and the copy behind.
        let lowered = tokio::spawn(async move {
            if this.store.is_shared() {
                this.lower_in_two_steps(lowering).await
            } else {
                this.lower(lowering).await
            }
        });
        lowered.await.unwrap_or(Err(StoreError::Stopped))
    }

    async fn lower(&self, lowering: Lowering) -> Result<Declassified, StoreError> {
        let entry = self.entry();
        let doing = "lower a label while replies are being sent";
        let alone = timeout(RELEASE_LIMIT, entry.gate.alone()).await;
        let _alone = alone.map_err(|_| StoreError::TimedOut { doing })?;
        match self.store.perform(Declassify(lowering)).await {
            Ok(done) => {
                adopt(entry, &done);
                Ok(done)
            }
            Err(error) => {
                // Whether it was lowered is not known: the copy may not vouch for anything.
                entry.forget();
                Err(error)
            }
        }
    }

    async fn lower_in_two_steps(&self, lowering: Lowering) -> Result<Declassified, StoreError> {
        match self.store.perform(CloseEpoch(lowering.clone())).await? {
            Closing::Refused(why) => Ok(why),
            Closing::Closed { epoch, version } => {
                tokio::time::sleep(self.store.grace).await;
                let done = self.store.perform(Lower { lowering, epoch, version }).await?;
                adopt(self.entry(), &done);
                Ok(done)
            }
        }
    }

    /// Notes an acting or reading call: whether transport sessions are conversations is told by their calls.
    pub fn note_call(&self) {
        let (key, now) = (&self.own.key, clock::now());
        match self.own.count_call(now) {
            Worth::Counting => self.note(CountCall { key: key.clone(), now }),
            Worth::Noting => self.note(Seen { key: key.clone(), now }),
            Worth::Nothing => {}
        }
    }

    #[cold]
    fn note(&self, operation: impl Operation) {
        self.store.queue(operation);
    }

    /// Notes that the transport session or connection is over.
    pub fn end(&self) {
        self.store.queue(End { key: self.own.key.clone(), now: clock::now() });
    }

    fn entry(&self) -> &Arc<Entry> {
        self.own.folded_into().unwrap_or(&self.own)
    }
}

/// A raise: on disk before what raised the label is released.
fn operation(entry: &Entry, label: &Label) -> Join {
    Join {
        key: entry.key.clone(),
        owner: entry.owner.clone(),
        label: label.clone(),
        known: entry.state(),
        durability: Durability::Flushed,
        now: clock::now(),
    }
}

fn adopt(entry: &Entry, done: &Declassified) {
    match done {
        Declassified::Done(state) | Declassified::Moved(state) | Declassified::Overtaken(state) => {
            entry.adopt(state.clone());
        }
        Declassified::Unknown => {}
    }
}
