//! One agent session as the gateway holds it: its label, and the ways to raise and to lower it.

use std::sync::Arc;
use std::time::Duration;

use highwater_core::decide::Overlooked;
use highwater_core::id::SessionKey;
use highwater_core::label::{Label, TextSet};
use tokio::time::{Instant, timeout};

use crate::StoreError;
use crate::admin::Declassified;
use crate::clock;
use crate::entry::{Entry, SEEN_EVERY, SessionState};
use crate::joined::{Joined, Release};
use crate::key::SessionOwner;
use crate::operation::{
    BeginHosted, CloseEpoch, Closing, Declassify, DropPending, Durability, End, Enter, Found, GoesAlong,
    Join, JoinPending, Lower, Lowering, ReadSession, Seen,
};
use crate::store::Inner;
use crate::way::{Way, millis, noted_every};

/// How long a declassification waits for releases to hand over their first byte.
const RELEASE_LIMIT: Duration = Duration::from_secs(5);

/// An agent session. Cheap to copy; holding it keeps the session's copy in memory.
#[derive(Clone, Debug)]
pub struct SessionHandle {
    store: Arc<Inner>,
    entry: Arc<Entry>,
    /// By which way requests come, if it is a presumed conversation.
    way: Option<Arc<Way>>,
}

// === impl SessionHandle ===

impl SessionHandle {
    pub(crate) fn new(store: Arc<Inner>, entry: Arc<Entry>) -> Self {
        Self { store, entry, way: None }
    }

    pub(crate) fn by_way(self, way: Arc<Way>) -> Self {
        Self { way: Some(way), ..self }
    }

    /// The key of the session whose label counts.
    pub fn key(&self) -> &SessionKey {
        &self.entry.key
    }

    /// The key of the way by which requests come to it, if it is a presumed conversation.
    pub fn way(&self) -> Option<&SessionKey> {
        self.way.as_ref().map(|way| &way.key)
    }

    /// Whose session it is; for a presumed conversation, by which way.
    pub fn owner(&self) -> &SessionOwner {
        self.way.as_ref().map_or(&self.entry.owner, |way| &way.owner)
    }

    /// Begins a request. A presumed conversation that was silent for longer than `quiet` has ended: what it had read is
    /// pending from now on. Where the store cannot say so, its label counts as it was, or as the highest.
    pub async fn begin(&self, quiet: Duration) -> Result<(), StoreError> {
        let Some(way) = &self.way else { return Ok(()) };
        if self.goes_on(quiet) {
            return Ok(());
        }
        let (now, quiet, seen) = (clock::now(), millis(quiet), self.entry.seen());
        way.set_quiet(quiet);
        // What another process noted may be older than the last use.
        let quiet = if seen.is_some() { quiet } else { quiet.saturating_add(noted_every(quiet)) };
        self.enter(way, Some(quiet), now).await.map(|_| ())
    }

    /// Begins a request as if a silence had ended the conversation, for tests whose time is not the clock's.
    #[cfg(any(test, feature = "testing"))]
    pub async fn begin_after_silence(&self) -> Result<(), StoreError> {
        let Some(way) = &self.way else { return Ok(()) };
        self.enter(way, Some(-1), clock::now()).await.map(|_| ())
    }

    /// Whether a request can go on without the store being asked: no silence has ended a presumed conversation, and it is
    /// known here what the way of the request brings along.
    pub fn goes_on(&self, quiet: Duration) -> bool {
        let Some(way) = &self.way else { return true };
        let recently = |seen| clock::now().saturating_sub(seen) <= millis(quiet);
        self.entry.seen().is_some_and(recently)
            && self.entry.state().is_some_and(|state| way.is_in(state.epoch))
    }

    /// Comes into the presumed conversation by its way, and brings along what was read by it before.
    async fn enter(&self, way: &Way, quiet: Option<i64>, now: i64) -> Result<Arc<SessionState>, StoreError> {
        let operation = Enter {
            way: way.key.clone(),
            owner: way.owner.clone(),
            quiet,
            seen: self.entry.seen().unwrap_or_default(),
            now,
        };
        let entered = self.store.perform(operation).await?;
        if quiet.is_some() {
            self.entry.note_written(now);
        }
        if entered.ended {
            tracing::info!(session = %self.key(), "it was silent for long; what it has read is pending");
        }
        let epoch = entered.state.epoch;
        let state = self.take_over(entered.state);
        // The copy may be newer than what was entered: then it is entered once more when it is looked at.
        way.enter(epoch);
        Ok(state)
    }

    /// The copy held here. On a single node it is the truth once it is there; on a shared store it may be old.
    pub fn cached(&self) -> Option<Arc<SessionState>> {
        let state = self.entry.state()?;
        self.is_in(&state).then_some(state)
    }

    /// The session as it is. Costs nothing on a single node once it has been read; on a shared store it is one
    /// read by key. An error means: decide as at the top label.
    pub async fn current(&self) -> Result<Arc<SessionState>, StoreError> {
        let state = self.current_row().await?;
        match &self.way {
            Some(way) if !way.is_in(state.epoch) => self.enter(way, None, clock::now()).await,
            Some(_) | None => Ok(state),
        }
    }

    /// Whether what is known of the session holds for the way that is used.
    fn is_in(&self, state: &SessionState) -> bool {
        self.way.as_ref().is_none_or(|way| way.is_in(state.epoch))
    }

    /// The proof at once, where no store has to be asked: on a single node when the label is covered.
    pub fn covered(&self, label: &Label) -> Option<Joined> {
        let entry = &self.entry;
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
        if !self.store.is_shared() && self.entry.state().is_none() {
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
        let entry = &self.entry;
        self.store.postpone(entry, overlooked).then(|| Joined::later(entry.state(), overlooked.label()))
    }

    async fn join_all(&self, label: &Label) -> Result<Joined, StoreError> {
        let since = Instant::now();
        if self.store.is_shared()
            && let Some(known) = self.entry.state()
            && known.label.includes(label)
            && self.entry.has_joined_in(known.epoch)
        {
            let key = self.entry.key.clone();
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
            let entry = &self.entry;
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
            let state = self.write_to(&self.entry, label).await?;
            self.entry.note_joined_in(state.epoch);
            return Ok(self.for_a_while(state, label, since));
        }
        let entry = &self.entry;
        let release = Release::new(entry).await;
        if let Some(state) = entry.state().filter(|state| state.label.includes(label)) {
            return Ok(Joined::held(state, release));
        }
        let state = self.write_to(entry, label).await?;
        Ok(Joined::held(state, release))
    }

    async fn write_to(&self, entry: &Arc<Entry>, label: &Label) -> Result<Arc<SessionState>, StoreError> {
        let before = entry.state().filter(|_| !self.store.is_shared());
        let row = self.store.perform(operation(entry, label)).await?;
        let state = match entry.adopt(row.clone()) {
            state if state.label.includes(label) => state,
            // The database was set back behind our copy: it is the one that counts.
            _ => {
                entry.forget();
                entry.adopt(row)
            }
        };
        Ok(match before {
            // Origins may be in the copy and only on their way to the store. Within an epoch nothing goes down.
            Some(before) if before.epoch == state.epoch && !state.label.includes(&before.label) => {
                entry.add_to_copy(&before.label)
            }
            Some(_) | None => state,
        })
    }

    fn for_a_while(&self, state: Arc<SessionState>, label: &Label, since: Instant) -> Joined {
        Joined::for_a_while(state, self.clone(), label.clone(), since, self.store.grace / 2)
    }

    async fn read(&self, known: Option<Arc<SessionState>>) -> Result<Arc<SessionState>, StoreError> {
        let entry = &self.entry;
        let operation = ReadSession { key: entry.key.clone(), known: known.clone() };
        match self.store.perform(operation).await? {
            Found::State(state) => Ok(entry.adopt(state)),
            Found::Same => known.ok_or(StoreError::Foreign { what: "a copy of nothing" }),
        }
    }

    /// Takes over what the store said of the session. Origins that are on their way to it stay in the copy.
    fn take_over(&self, row: SessionState) -> Arc<SessionState> {
        let before = self.entry.state().filter(|_| !self.store.is_shared());
        let state = self.entry.adopt(row);
        match before {
            Some(before) if before.epoch == state.epoch && !state.label.includes(&before.label) => {
                self.entry.add_to_copy(&before.label)
            }
            Some(_) | None => state,
        }
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
        self.lower_for(GoesAlong::Everyone, epoch, label, person, reason).await
    }

    /// Begins a new conversation by a person's word, with this label. What was read stays with the ways by which it was
    /// read, but for the one that the person speaks of: `way`, or the one used last.
    ///
    /// Where something is pending, that alone goes: what was read since the silence belongs to the new conversation.
    pub async fn begin_anew(
        &self,
        way: Option<&SessionKey>,
        epoch: u64,
        label: &Label,
        person: &str,
        reason: &str,
    ) -> Result<Declassified, StoreError> {
        let way = way.cloned().or_else(|| self.store.ways.last_used(&self.owner().principal));
        let along = way.map_or(GoesAlong::Last, GoesAlong::Only);
        if self.current_row().await?.pending.is_none() || *label != Label::bottom() {
            return self.lower_for(along, epoch, label, person, reason).await;
        }
        let operation = DropPending {
            key: self.key().clone(),
            expected: epoch,
            along,
            person: person.to_owned(),
            reason: reason.to_owned(),
            now: clock::now(),
        };
        let done = self.store.perform(operation).await;
        match &done {
            Ok(done) => adopt(&self.entry, done),
            Err(_) => self.entry.forget(),
        }
        done
    }

    /// Writes a conversation down that a host tells of, with what is part of its label and what counts beside it until a
    /// person has said that the conversation is theirs. Whether it was written down before.
    pub async fn begin_hosted(&self, label: &Label, beside: Option<&Label>) -> Result<bool, StoreError> {
        let operation = BeginHosted {
            key: self.key().clone(),
            owner: self.entry.owner.clone(),
            label: label.clone(),
            beside: beside.cloned(),
            now: clock::now(),
        };
        let begun = self.store.perform(operation).await?;
        self.take_over(begun.state);
        Ok(begun.was_known)
    }

    /// Makes what is pending part of the label, by a person's word that this is no new conversation.
    pub async fn join_pending(&self, epoch: u64) -> Result<(), StoreError> {
        let operation = JoinPending { key: self.key().clone(), epoch };
        if let Some(state) = self.store.perform(operation).await? {
            self.take_over(state);
        }
        Ok(())
    }

    /// The session as it is, whichever way is used.
    async fn current_row(&self) -> Result<Arc<SessionState>, StoreError> {
        match self.entry.state() {
            Some(known) if !self.store.is_shared() => Ok(known),
            known => self.read(known).await,
        }
    }

    async fn lower_for(
        &self,
        along: GoesAlong,
        epoch: u64,
        label: &Label,
        person: &str,
        reason: &str,
    ) -> Result<Declassified, StoreError> {
        let entry = &self.entry;
        let lowering = Lowering {
            key: entry.key.clone(),
            expected: epoch,
            label: label.clone(),
            along,
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
        let entry = &self.entry;
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
                adopt(&self.entry, &done);
                Ok(done)
            }
        }
    }

    /// Notes an acting or reading call: a conversation is silent when it makes none.
    pub fn note_call(&self) {
        let now = clock::now();
        let every = self.way.as_ref().map_or(SEEN_EVERY, |way| way.noted_every());
        if let Some(way) = &self.way {
            way.note_use(now);
        }
        if self.entry.note_use(now, every) {
            self.note_use(now);
        }
    }

    #[cold]
    fn note_use(&self, now: i64) {
        let keys = [Some(self.key()), self.way()].into_iter().flatten().cloned().collect();
        self.store.queue(Seen { keys, now });
    }

    /// Notes that the transport session or connection is over.
    pub fn end(&self) {
        let key = self.way().unwrap_or_else(|| self.key()).clone();
        self.store.ended.note(key.clone());
        self.store.queue(End { key, now: clock::now() });
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
