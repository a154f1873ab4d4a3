//! The session store as the rest of the program sees it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};
use std::time::Duration;

use highwater_core::id::{ApprovalId, Principal, SessionKey};
use highwater_marks::PrintKey;
use highwater_notation::Timestamp;
use highwater_pins::PinKind;
use tokio::sync::{broadcast, watch};
use tokio::time::timeout;

use crate::admin::{Context, KeptTransport, Notice, SessionHistory, SessionRecord};
use crate::backend::Backend;
use crate::cache::Cache;
use crate::clock;
use crate::ended_sessions::Ended;
use crate::health::Health;
use crate::key::SessionOwner;
use crate::marking::print_key;
use crate::marks::Marks;
use crate::operation::{
    DecidePins, Describe, End, FindContext, FindTransport, KeepTransport, ListContexts, ListNotices,
    ListSessions, MintContext, Note, Observe, Operation, PinHistory, Prune, ReadAllMarks, ReadPins,
    ReadSession, ShowSession,
};
use crate::pins::{Description, Observation, PinDecision, PinEvent, PinsDecided, StoredPin};
use crate::place::{StoreOptions, StorePlace};
use crate::postgres::Postgres;
use crate::postponed::Postponed;
use crate::random::random_id;
use crate::sqlite::{self, Sqlite};
use crate::way::Ways;
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

/// How often what is long over is forgotten while the store is open.
const PRUNE_EVERY: Duration = Duration::from_secs(60 * 60);

/// Durable session state. Cheap to copy.
#[derive(Clone, Debug)]
pub struct Store(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) backend: Backend,
    is_shared: bool,
    pub(crate) cache: Cache,
    pub(crate) ways: Ways,
    pub(crate) ended: Ended,
    pub(crate) marks: Marks,
    pub(crate) print_key: PrintKey,
    /// The relying party and the page of this gateway, if it has one.
    pub(crate) page: OnceLock<(String, String)>,
    /// The contexts that are known here, with what each begins with.
    contexts: RwLock<HashMap<String, Arc<str>>>,
    pub(crate) grace: Duration,
    defers_origins: AtomicBool,
    /// Whether it works, as far as is known.
    pub(crate) health: Health,
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

// === impl Store ===

impl Store {
    /// Opens the store, making or renewing its layout. It must be called inside the runtime.
    pub async fn open(place: &StorePlace, options: &StoreOptions) -> Result<Self, StoreError> {
        let backend = match place {
            StorePlace::Sqlite(data) => Backend::Sqlite(Sqlite::open(sqlite::Opening {
                file: Self::file(data),
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

    /// Copies the database of a data directory into a folder, one moment of it, whether a gateway runs or not; says whether
    /// there is one.
    pub fn copy(data: &DataDir, to: &Path) -> Result<bool, StoreError> {
        let file = Self::file(data);
        if !file.exists() {
            return Ok(false);
        }
        // Held until it is copied, if nobody else holds it: no gateway begins meanwhile.
        let lock = data.try_lock().ok().flatten();
        sqlite::copy(&file, &to.join(sqlite::FILE), lock.is_none())?;
        Ok(true)
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
            ways: Ways::default(),
            ended: Ended::default(),
            marks,
            print_key,
            page: OnceLock::new(),
            contexts: RwLock::default(),
            grace,
            defers_origins: AtomicBool::new(false),
            health: Health::default(),
            postponed: Postponed::default(),
            unfinished: watch::Sender::new(0),
            pins_changed: watch::Sender::new(0),
            tokens_changed: watch::Sender::new(0),
            approvals_changed: broadcast::Sender::new(crate::approval::CHANGES),
        });
        if let Backend::Postgres(postgres) = &inner.backend {
            postgres.listen(Arc::downgrade(&inner));
        }
        prune_at_intervals(Arc::downgrade(&inner));
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

    /// The presumed conversation of a principal, to which requests come by this way: a transport session, a connection, or
    /// neither. This asks nobody.
    pub fn presumed(&self, key: &SessionKey, owner: &SessionOwner) -> SessionHandle {
        let conversation = self.session(&owner.presumed_key(), &owner.presumed());
        conversation.by_way(self.0.ways.way(key, owner))
    }

    /// Writes down what the client of a transport session said of itself, so that the session can be taken up again.
    /// `labelled` says whether it has a label of its own.
    pub async fn keep_transport(
        &self,
        key: &SessionKey,
        owner: &SessionOwner,
        labelled: bool,
        said: String,
    ) -> Result<(), StoreError> {
        let (key, owner, now) = (key.clone(), owner.clone(), clock::now());
        self.0.perform(KeepTransport { key, owner, labelled, said, now }).await
    }

    /// Notes that a client has ended its transport session: it is not taken up again, by no gateway that shares the store.
    pub async fn end_transport(&self, key: &SessionKey) -> Result<(), StoreError> {
        self.0.ended.note(key.clone());
        self.0.perform(End { key: key.clone(), now: clock::now() }).await
    }

    /// A transport session of this principal that nobody has ended.
    pub async fn find_transport(
        &self,
        key: &SessionKey,
        principal: &Principal,
    ) -> Result<Option<KeptTransport>, StoreError> {
        if self.0.ended.contains(key) {
            return Ok(None);
        }
        self.0.perform(FindTransport { key: key.clone(), principal: principal.as_str().to_owned() }).await
    }

    /// Makes a context id that an agent framework can put into its endpoint. `label` is what its sessions hold from the
    /// beginning, in words that mean nothing here.
    pub async fn mint_context(&self, person: &str, note: &str, label: &str) -> Result<Context, StoreError> {
        let context = Context {
            id: random_id("ctx_")?,
            created: clock::timestamp(),
            person: person.to_owned(),
            note: note.to_owned(),
            label: label.to_owned(),
        };
        self.0.perform(MintContext(context.clone())).await?;
        self.0.remember_context(&context.id, &context.label);
        Ok(context)
    }

    /// What the sessions of a context hold from the beginning, in words, if the context was made here.
    pub async fn context(&self, id: &str) -> Result<Option<Arc<str>>, StoreError> {
        if let Some(label) = self.0.contexts.read().unwrap_or_else(PoisonError::into_inner).get(id) {
            return Ok(Some(Arc::clone(label)));
        }
        let found = self.0.perform(FindContext(id.to_owned())).await?;
        Ok(found.map(|label| self.0.remember_context(id, &label)))
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
        // What cannot be written is no more ready than what cannot be read.
        self.0.available().await?;
        if let Backend::Sqlite(sqlite) = &self.0.backend
            && !sqlite.is_writing()
        {
            return Err(StoreError::Stopped);
        }
        self.0.perform(ReadSession { key: SessionKey::new(""), known: None }).await.map(|_| ())
    }

    /// Ends in order: what is queued is written.
    pub async fn close(&self) -> Result<(), StoreError> {
        let mut unfinished = self.0.unfinished.subscribe();
        if timeout(CLOSE_LIMIT, unfinished.wait_for(|unfinished| *unfinished == 0)).await.is_err() {
            tracing::warn!("notes about sessions were left unwritten");
        }
        match &self.0.backend {
            Backend::Sqlite(sqlite) => sqlite.close().await,
            Backend::Postgres(postgres) => postgres.close(),
            #[cfg(any(test, feature = "testing"))]
            Backend::Memory(_) => {}
        }
        Ok(())
    }
}

/// Forgets what is long over: now, and again as long as the store is open.
fn prune_at_intervals(inner: Weak<Inner>) {
    tokio::spawn(async move {
        loop {
            let Some(open) = inner.upgrade() else { return };
            let kept = i64::try_from(KEPT_AFTER_END.as_millis()).unwrap_or(i64::MAX);
            let prune = Prune { before: clock::now().saturating_sub(kept) };
            match open.perform(prune).await {
                // It was closed in the meantime: what is over is forgotten at the next start.
                Err(StoreError::Stopped) => return,
                Err(error) => tracing::warn!(%error, "what is long over was not forgotten"),
                Ok(_) => {}
            }
            drop(open);
            tokio::time::sleep(PRUNE_EVERY).await;
        }
    });
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

    fn remember_context(&self, id: &str, label: &str) -> Arc<str> {
        let label: Arc<str> = label.into();
        let mut contexts = self.contexts.write().unwrap_or_else(PoisonError::into_inner);
        contexts.insert(id.to_owned(), Arc::clone(&label));
        label
    }
}
