//! The session store as the rest of the program sees it.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use highwater_core::id::{ApprovalId, Principal, SessionKey, Timestamp};
use highwater_core::pin::PinKind;
use highwater_core::session::mark::PrintKey;
use tokio::sync::{broadcast, watch};
use tokio::time::timeout;

use crate::backend::Backend;
use crate::cache::Cache;
use crate::clock;
use crate::key::SessionOwner;
use crate::marking::print_key;
use crate::marks::Marks;
use crate::operation::{
    DecidePins, Describe, FindContext, KeepFallenBack, ListContexts, ListNotices, ListPrincipals,
    ListSessions, MintContext, Note, Observe, OpenConversation, Opening, Operation, PinHistory, Prune,
    ReadAllMarks, ReadPins, ReadSession, ShowSession, SplitAgain,
};
use crate::people::{Context, Notice, PrincipalRecord, SessionHistory, SessionRecord};
use crate::pins::{Description, Observation, PinDecision, PinEvent, PinsDecided, StoredPin};
use crate::place::{StoreOptions, StorePlace};
use crate::postgres::Postgres;
use crate::postponed::Postponed;
use crate::random::random_id;
use crate::sqlite::{self, Sqlite};
use crate::{DataDir, SessionHandle, StoreError};

/// How long replies in flight on other replicas are given before a label is lowered.
pub const GRACE: Duration = Duration::from_secs(2);

/// How many definitions are written down in one transaction.
const OBSERVED_AT_ONCE: usize = 256;

/// The most lines of a history that are given at once.
const LIST_LIMIT: u32 = 10_000;

/// How long the end waits for what nobody waits for.
const CLOSE_LIMIT: Duration = Duration::from_secs(3);

/// How long a session that ended is kept for people to look at.
const KEPT_AFTER_END: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Durable session state. Cheap to copy.
#[derive(Clone, Debug)]
pub struct Store(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    backend: Backend,
    is_shared: bool,
    pub(crate) cache: Cache,
    pub(crate) marks: Marks,
    pub(crate) print_key: PrintKey,
    contexts: RwLock<HashSet<String>>,
    pub(crate) grace: Duration,
    defers_origins: AtomicBool,
    /// Joins that wait for the store to come back.
    pub(crate) postponed: Postponed,
    /// How many things are still to be done that nobody waits for.
    unfinished: watch::Sender<usize>,
    /// Counts what other gateways decided about servers, as far as that is heard.
    pub(crate) pins_changed: watch::Sender<u64>,
    /// How often another replica said that a token has changed.
    pub(crate) tokens_changed: watch::Sender<u64>,
    /// Requests that have changed.
    pub(crate) approvals_changed: broadcast::Sender<ApprovalId>,
}

/// A session that a client just opened.
#[derive(Clone, Debug)]
pub struct OpenedSession {
    /// The session whose label counts.
    pub handle: SessionHandle,
    /// Whether the client's sessions ceased to be taken for conversations with this one.
    pub fell_back: bool,
}

// === impl Store ===

impl Store {
    /// Opens the store, making or renewing its layout. It must be called inside the runtime.
    pub async fn open(place: &StorePlace, options: &StoreOptions) -> Result<Self, StoreError> {
        let backend = match place {
            StorePlace::Sqlite(data) => Backend::Sqlite(Sqlite::open(sqlite::Opening {
                file: Self::file(data),
                boot_id: sqlite::boot_id(),
                restored: options.restored,
            })?),
            StorePlace::Postgres { url, timeout } => {
                Backend::Postgres(Postgres::open(url, *timeout, options.restored).await?)
            }
        };
        Self::on(backend, options).await
    }

    /// Where the database of a data directory lies.
    pub fn file(data: &DataDir) -> PathBuf {
        data.path().join(sqlite::FILE)
    }

    /// What is known of the definitions of these servers, read from the database of a data directory without opening it for
    /// use. A database that several gateways share is not read so.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has another layout.
    pub fn look_at_pins(
        data: &Path,
        servers: &[&str],
    ) -> Result<BTreeMap<String, Vec<StoredPin>>, StoreError> {
        sqlite::pins(&data.join(sqlite::FILE), servers)
    }

    pub(crate) async fn on(backend: Backend, options: &StoreOptions) -> Result<Self, StoreError> {
        let is_shared = backend.is_shared();
        let marks = Marks::default();
        let marked = backend.perform(ReadAllMarks).await?;
        for (upstream, all) in marked.servers {
            marks.adopt(&upstream, all);
        }
        let print_key = print_key(&backend, marked.print_key).await?;
        let grace = options.grace.unwrap_or(GRACE);
        let inner = Arc::new(Inner {
            backend,
            is_shared,
            cache: Cache::default(),
            marks,
            print_key,
            contexts: RwLock::default(),
            grace,
            defers_origins: AtomicBool::new(false),
            postponed: Postponed::default(),
            unfinished: watch::Sender::new(0),
            pins_changed: watch::Sender::new(0),
            tokens_changed: watch::Sender::new(0),
            approvals_changed: broadcast::Sender::new(crate::approval::CHANGES),
        });
        if let Backend::Postgres(postgres) = &inner.backend {
            postgres.listen(Arc::downgrade(&inner));
        }
        let kept = i64::try_from(KEPT_AFTER_END.as_millis()).unwrap_or(i64::MAX);
        inner.queue(Prune { before: clock::now().saturating_sub(kept) });
        Ok(Self(inner))
    }

    /// Whether other gateways write to the same store, so that a copy may be old.
    pub fn is_shared(&self) -> bool {
        self.0.is_shared
    }

    /// A session by its key. This asks nobody: the label is read when it is first wanted.
    pub fn session(&self, key: &SessionKey, owner: &SessionOwner) -> SessionHandle {
        SessionHandle::new(Arc::clone(&self.0), self.0.cache.entry(key, owner))
    }

    /// A session that a person names, if there is one.
    pub async fn find_session(&self, key: &SessionKey) -> Result<Option<SessionHandle>, StoreError> {
        if let Some(entry) = self.0.cache.get(key) {
            return Ok(Some(SessionHandle::new(Arc::clone(&self.0), entry)));
        }
        let found = self.show(key).await?;
        Ok(found.map(|SessionHistory { session, .. }| {
            let SessionRecord { principal, virtual_server, kind, .. } = session;
            self.session(key, &SessionOwner { principal, virtual_server, kind })
        }))
    }

    /// Opens a session whose key is that of a transport session or a connection, which is its own only while
    /// the principal's sessions look like conversations. For keys of other kinds use [`Store::session`].
    pub async fn open_session(
        &self,
        key: &SessionKey,
        owner: &SessionOwner,
    ) -> Result<OpenedSession, StoreError> {
        let operation = OpenConversation {
            key: key.clone(),
            owner: owner.clone(),
            now: clock::now(),
            notice: random_id("ntc_")?,
        };
        match self.0.perform(operation).await? {
            Opening::Split(state) => {
                let entry = self.0.cache.entry(key, owner);
                let state = entry.adopt(state);
                entry.note_joined_in(state.epoch);
                let handle = SessionHandle::new(Arc::clone(&self.0), entry);
                Ok(OpenedSession { handle, fell_back: false })
            }
            Opening::FellBack { widest, folded } => {
                if !folded.is_empty() {
                    self.0.perform(KeepFallenBack(owner.principal.clone())).await?;
                }
                let entry = self.0.cache.entry(&owner.widest_key(), &owner.widest());
                let state = entry.adopt(widest);
                entry.note_joined_in(state.epoch);
                for short in folded.iter().filter_map(|key| self.0.cache.get(key)) {
                    short.fold_into(Arc::clone(&entry));
                }
                let handle = SessionHandle::new(Arc::clone(&self.0), entry);
                Ok(OpenedSession { handle, fell_back: !folded.is_empty() })
            }
        }
    }

    /// A person says that the sessions of this principal are conversations after all. Whether it changed anything.
    pub async fn split_again(
        &self,
        principal: &Principal,
        person: &str,
        reason: &str,
    ) -> Result<bool, StoreError> {
        let message = format!("{person}: its sessions are conversations after all ({reason})");
        let notice = notice(principal, None, "split-again", message)?;
        self.0.perform(SplitAgain { principal: principal.clone(), notice }).await
    }

    /// Makes a context id that an agent framework can put into its endpoint.
    pub async fn mint_context(&self, person: &str, note: &str) -> Result<Context, StoreError> {
        let context = Context {
            id: random_id("ctx_")?,
            created: clock::timestamp(),
            person: person.to_owned(),
            note: note.to_owned(),
        };
        self.0.perform(MintContext(context.clone())).await?;
        self.0.remember_context(&context.id);
        Ok(context)
    }

    /// Whether a context id is one that was made here.
    pub async fn knows_context(&self, id: &str) -> Result<bool, StoreError> {
        if self.0.contexts.read().unwrap_or_else(PoisonError::into_inner).contains(id) {
            return Ok(true);
        }
        let known = self.0.perform(FindContext(id.to_owned())).await?;
        if known {
            self.0.remember_context(id);
        }
        Ok(known)
    }

    /// Whether no rule mentions origins, so that they may be written a little later than the rest.
    pub fn defer_origins(&self, defer: bool) {
        self.0.defers_origins.store(defer, Ordering::Relaxed);
    }

    /// Sessions, last used first: of one principal or of all, used no later than a time.
    pub async fn sessions(
        &self,
        of: Option<&Principal>,
        seen_until: Option<Timestamp>,
        most: u32,
    ) -> Result<Vec<SessionRecord>, StoreError> {
        let seen_until = seen_until.map_or(i64::MAX, |time| i64::try_from(time.0).unwrap_or(i64::MAX));
        let principal = of.map(|principal| principal.as_str().to_owned()).unwrap_or_default();
        let mut sessions = self.0.backend.list(ListSessions { principal, seen_until, most }).await?;
        sessions.iter_mut().for_each(|session| self.0.complete(session));
        Ok(sessions)
    }

    /// One session with its declassifications.
    pub async fn show(&self, key: &SessionKey) -> Result<Option<SessionHistory>, StoreError> {
        let mut found = self.0.backend.list(ShowSession(key.clone())).await?;
        found.iter_mut().for_each(|found| self.0.complete(&mut found.session));
        Ok(found)
    }

    /// What is known of principals, last seen first.
    pub async fn principals(&self, most: u32) -> Result<Vec<PrincipalRecord>, StoreError> {
        self.0.backend.list(ListPrincipals { most }).await
    }

    /// Context ids, newest first.
    pub async fn contexts(&self, most: u32) -> Result<Vec<Context>, StoreError> {
        self.0.backend.list(ListContexts { most }).await
    }

    /// Notices, newest first.
    pub async fn notices(&self, most: u32) -> Result<Vec<Notice>, StoreError> {
        self.0.backend.list(ListNotices { most }).await
    }

    /// Writes down something that people should know.
    pub async fn note(
        &self,
        principal: &Principal,
        session: Option<&SessionKey>,
        kind: &str,
        message: String,
    ) -> Result<(), StoreError> {
        self.0.perform(Note(notice(principal, session, kind, message)?)).await
    }

    /// What is known of a server's definitions.
    pub async fn pins(&self, server: &str) -> Result<Vec<StoredPin>, StoreError> {
        self.0.perform(ReadPins(server.to_owned())).await
    }

    /// Writes down what is not as it was last seen. What makes the server known is written last, so that a first
    /// contact that breaks off is a first contact again.
    pub async fn observe(&self, server: &str, mut seen: Vec<Observation>) -> Result<(), StoreError> {
        seen.sort_by_key(|it| it.key.kind == PinKind::Identity);
        for part in seen.chunks(OBSERVED_AT_ONCE) {
            let operation = Observe {
                server: server.to_owned(),
                seen: part.to_vec(),
                now: clock::now(),
                event: random_id("pev_")?,
            };
            self.0.perform(operation).await?;
        }
        Ok(())
    }

    /// Does what a person decided, if everything is as they saw it: all of it or nothing.
    pub async fn decide_pins(&self, decision: PinDecision) -> Result<PinsDecided, StoreError> {
        self.0.perform(DecidePins { decision, now: clock::now(), event: random_id("pev_")? }).await
    }

    /// Writes down what a person says a server is.
    pub async fn describe(&self, description: Description) -> Result<(), StoreError> {
        self.0.perform(Describe { description, now: clock::now(), event: random_id("pev_")? }).await
    }

    /// The history of a server's definitions, newest first.
    pub async fn pin_events(&self, server: &str, most: u32) -> Result<Vec<PinEvent>, StoreError> {
        self.0.backend.list(PinHistory { server: server.to_owned(), most: most.min(LIST_LIMIT) }).await
    }

    /// Changes when another gateway decided something about a server. A hint.
    pub fn pins_changed(&self) -> watch::Receiver<u64> {
        self.0.pins_changed.subscribe()
    }

    /// Whether the store can be read and written, for `/readyz`.
    pub async fn check(&self) -> Result<(), StoreError> {
        if let Backend::Sqlite(sqlite) = &self.0.backend
            && !sqlite.is_writing()
        {
            return Err(StoreError::Stopped);
        }
        self.0.perform(ReadSession { key: SessionKey::new(""), known: None }).await.map(|_| ())
    }

    /// Ends in order: what is queued is written, and the next start knows that nothing is missing.
    pub async fn close(&self) -> Result<(), StoreError> {
        let mut unfinished = self.0.unfinished.subscribe();
        if timeout(CLOSE_LIMIT, unfinished.wait_for(|unfinished| *unfinished == 0)).await.is_err() {
            tracing::warn!("notes about sessions were left unwritten");
        }
        match &self.0.backend {
            Backend::Sqlite(sqlite) => sqlite.close().await,
            Backend::Postgres(postgres) => {
                postgres.close();
                Ok(())
            }
            #[cfg(any(test, feature = "testing"))]
            Backend::Memory(memory) => memory.perform(crate::operation::Close).await,
        }
    }
}

fn notice(
    principal: &Principal,
    session: Option<&SessionKey>,
    kind: &str,
    message: String,
) -> Result<Notice, StoreError> {
    Ok(Notice {
        id: random_id("ntc_")?,
        at: clock::timestamp(),
        principal: principal.clone(),
        session: session.cloned(),
        kind: kind.to_owned(),
        message,
    })
}

// === impl Inner ===

impl Inner {
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    pub(crate) fn defers_origins(&self) -> bool {
        self.defers_origins.load(Ordering::Relaxed)
    }

    pub(crate) async fn perform<O: Operation>(&self, operation: O) -> Result<O::Output, StoreError> {
        self.backend.perform(operation).await
    }

    /// Does something soon. Nobody waits for it, but a full queue does not lose it.
    pub(crate) fn queue<O: Operation>(self: &Arc<Self>, operation: O) {
        if let Err(operation) = self.backend.queue(operation) {
            let this = Arc::clone(self);
            this.begin_unfinished();
            tokio::spawn(async move {
                if let Err(error) = this.perform(operation).await {
                    tracing::warn!(%error, "a note was not kept");
                }
                this.end_unfinished();
            });
        }
    }

    /// Something begins that nobody waits for until the end.
    pub(crate) fn begin_unfinished(&self) {
        self.unfinished.send_modify(|unfinished| *unfinished += 1);
    }

    pub(crate) fn end_unfinished(&self) {
        self.unfinished.send_modify(|unfinished| *unfinished -= 1);
    }

    /// On a single node the copy knows more than the file: origins may be on their way.
    fn complete(&self, session: &mut SessionRecord) {
        if let Some(state) = self.cache.get(&session.key).and_then(|entry| entry.state())
            && !self.is_shared
            && state.epoch == session.epoch
        {
            session.label.join(&state.label);
        }
    }

    fn remember_context(&self, id: &str) {
        self.contexts.write().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned());
    }
}
