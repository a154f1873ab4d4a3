//! Connections beside the one that all clients share. A server that speaks both eras is spoken to in the client's. Over
//! HTTP every legacy client has a session of its own, which says what that client can do; a child speaks one era for as long
//! as it lives, so a second one is started for the legacy clients of a modern child. Each of them is an `Upstream` with a
//! conversation of its own, and everything else in common with the one that is shared.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use highwater_mcp::era::Era;
use tokio::sync::Semaphore;
use tokio::time::{Duration, Instant, timeout};

use super::Upstream;
use super::perform::CallClient;
use crate::box_cold;
use crate::client_session::{ClientSession, Party};
use crate::control::{ControlMessage, LogLevel};
use crate::error::{Cause, UpstreamError};
use crate::link::Link;
use crate::spec::{EraSetting, ServerSpec, Transport};

/// How many sessions of clients one server is given at once. The one that was used longest ago gives way.
const MAX_SESSIONS: usize = 1024;
/// How many sessions are opened at once.
const MAX_OPENING: usize = 16;
/// How long it counts that a server does not speak the legacy era.
const REFUSED_FOR: Duration = Duration::from_secs(300);
/// How long a session, or a child that nobody needs any more, may take to end.
const GRACE: Duration = Duration::from_secs(5);
/// How long a second child lives on after the last legacy client has left.
const LEGACY_CHILD_STAYS: Duration = Duration::from_secs(60);

/// Whose conversations an upstream has.
pub(super) enum Manner {
    /// Everybody's. What the server offers is listed over it.
    Shared(Box<PerClient>),
    /// One legacy client's, over HTTP.
    OfClient {
        /// The client.
        session: Arc<ClientSession>,
        /// The one that is shared.
        shared: Weak<Upstream>,
    },
    /// The legacy clients', with a second child.
    LegacyChild,
}

/// The connections beside the shared one.
pub(super) struct PerClient {
    /// By the numbers of the sessions.
    sessions: Mutex<HashMap<u64, Arc<Upstream>>>,
    child: Mutex<Option<Arc<Upstream>>>,
    /// The same server, spoken to in the legacy era.
    legacy: OnceLock<Arc<ServerSpec>>,
    speaks_legacy: Mutex<SpeaksLegacy>,
    /// One of those who want to know whether it does finds out.
    finding_out: tokio::sync::Mutex<()>,
    opening: Semaphore,
    clock: AtomicU64,
}

/// Whether a server that speaks the modern era speaks the legacy one, too.
#[derive(Clone, Copy, Debug, Default)]
enum SpeaksLegacy {
    /// Nobody has tried since it was met.
    #[default]
    Unknown,
    Yes,
    /// It refused then.
    Refused(Instant),
}

// === impl SpeaksLegacy ===

impl SpeaksLegacy {
    fn known(self) -> Option<bool> {
        match self {
            Self::Unknown => None,
            Self::Yes => Some(true),
            Self::Refused(_) => Some(false),
        }
    }
}

// === impl PerClient ===

impl PerClient {
    pub(super) fn new() -> Self {
        Self {
            sessions: Mutex::default(),
            child: Mutex::default(),
            legacy: OnceLock::new(),
            speaks_legacy: Mutex::default(),
            finding_out: tokio::sync::Mutex::default(),
            opening: Semaphore::new(MAX_OPENING),
            clock: AtomicU64::new(0),
        }
    }

    /// The server was met anew and may be another.
    pub(super) fn forget(&self) {
        self.note(SpeaksLegacy::Unknown);
    }

    /// Waits until few enough sessions are being opened.
    pub(super) fn opening(&self) -> &Semaphore {
        &self.opening
    }

    /// All of them, which are to be ended.
    pub(super) fn take_all(&self) -> Vec<Arc<Upstream>> {
        let sessions = std::mem::take(&mut *self.sessions());
        let child = self.child().take();
        sessions.into_values().chain(child).collect()
    }

    fn session(&self, number: u64) -> Option<Arc<Upstream>> {
        let sessions = self.sessions();
        let found = sessions.get(&number)?;
        found.last_used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(Arc::clone(found))
    }

    fn speaks_legacy(&self) -> SpeaksLegacy {
        match *self.speaks_legacy.lock().unwrap_or_else(PoisonError::into_inner) {
            SpeaksLegacy::Refused(then) if then.elapsed() >= REFUSED_FOR => SpeaksLegacy::Unknown,
            known => known,
        }
    }

    fn note(&self, known: SpeaksLegacy) {
        *self.speaks_legacy.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<u64, Arc<Upstream>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn child(&self) -> MutexGuard<'_, Option<Arc<Upstream>>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Upstream ===

impl Upstream {
    fn per_client(&self) -> Option<&PerClient> {
        match &self.manner {
            Manner::Shared(per_client) => Some(per_client),
            Manner::OfClient { .. } | Manner::LegacyChild => None,
        }
    }

    /// The upstream over which this client's call goes, and why it cannot, where that was found out.
    pub(super) async fn of(self: &Arc<Self>, client: &CallClient<'_>) -> (Arc<Self>, Option<UpstreamError>) {
        let shared = || (Arc::clone(self), None);
        let session = match client.party {
            Party::Legacy(session) => session,
            Party::Modern => {
                if self.announced.hear(client.capabilities) {
                    self.restart_if_due();
                }
                return shared();
            }
            Party::Gateway => return shared(),
        };
        let Some(per_client) = self.per_client() else { return shared() };
        if let Some(own) = per_client.session(session.number()) {
            return (own, None);
        }
        if session.is_over() {
            return shared();
        }
        match box_cold(self.of_legacy(per_client, session)).await {
            Ok(upstream) => (upstream, None),
            Err(error) => (Arc::clone(self), Some(error)),
        }
    }

    async fn of_legacy(
        self: &Arc<Self>,
        per_client: &PerClient,
        session: &Arc<ClientSession>,
    ) -> Result<Arc<Self>, UpstreamError> {
        match (&self.spec.transport, self.spec.era) {
            (_, EraSetting::Modern | EraSetting::Sse) | (Transport::Stdio { .. }, EraSetting::Legacy) => {}
            (Transport::Http { .. }, EraSetting::Legacy) => {
                return Ok(self.session_of(per_client, session).await);
            }
            (transport, EraSetting::Auto) => {
                let link = self.link().await?;
                match (transport, link.greeting().era) {
                    (Transport::Http { .. }, Era::Legacy) if !link.is_told_once() => {
                        return Ok(self.session_of(per_client, session).await);
                    }
                    (_, Era::Modern) => {
                        if self.speaks_legacy_too(per_client, session).await? {
                            return Ok(self.legacy_upstream(per_client, session).await);
                        }
                    }
                    (Transport::Http { .. } | Transport::Stdio { .. }, Era::Legacy) => {}
                }
            }
        }
        if !self.announced.covers(session.capabilities()) && self.announced.meet(session) {
            self.restart_if_due();
        }
        Ok(Arc::clone(self))
    }

    /// Whether a server that was met in the modern era speaks the legacy one, too. The first client that asks finds out, and
    /// what it found out with is its.
    async fn speaks_legacy_too(
        self: &Arc<Self>,
        per_client: &PerClient,
        session: &Arc<ClientSession>,
    ) -> Result<bool, UpstreamError> {
        if let Some(known) = per_client.speaks_legacy().known() {
            return Ok(known);
        }
        let _finding_out = per_client.finding_out.lock().await;
        if let Some(known) = per_client.speaks_legacy().known() {
            return Ok(known);
        }
        // Not among the others before it is known: they would be used by the client's next call.
        let (own, patience) = match &self.spec.transport {
            Transport::Http { .. } => (self.new_session(per_client, session), self.spec.timeouts.probe),
            Transport::Stdio { .. } => (self.new_child(per_client, session), self.spec.timeouts.start),
        };
        match timeout(patience, own.link()).await {
            Ok(Ok(_)) => {
                tracing::info!(upstream = %self.id(), "it speaks both eras: each client is served in its own");
                match &self.spec.transport {
                    Transport::Http { .. } => {
                        per_client.sessions().insert(session.number(), own);
                    }
                    Transport::Stdio { .. } => *per_client.child() = Some(own),
                }
                per_client.note(SpeaksLegacy::Yes);
                Ok(true)
            }
            // It could not be reached, which says nothing.
            Ok(Err(error)) if says_nothing(&error.cause) => Err(error),
            Ok(Err(_)) | Err(_) => {
                tracing::debug!(upstream = %self.id(), "it speaks the modern era alone");
                per_client.note(SpeaksLegacy::Refused(Instant::now()));
                own.end(GRACE).await;
                Ok(false)
            }
        }
    }

    async fn legacy_upstream(
        self: &Arc<Self>,
        per_client: &PerClient,
        session: &Arc<ClientSession>,
    ) -> Arc<Self> {
        match &self.spec.transport {
            Transport::Http { .. } => self.session_of(per_client, session).await,
            Transport::Stdio { .. } => self.legacy_child(per_client, session),
        }
    }

    /// The upstream of one client's own session. Nothing is sent before it is used.
    async fn session_of(self: &Arc<Self>, per_client: &PerClient, session: &Arc<ClientSession>) -> Arc<Self> {
        let (own, former) = {
            let mut sessions = per_client.sessions();
            if let Some(own) = sessions.get(&session.number()) {
                return Arc::clone(own);
            }
            let former = if sessions.len() >= MAX_SESSIONS { longest_unused(&mut sessions) } else { None };
            let own = self.new_session(per_client, session);
            sessions.insert(session.number(), Arc::clone(&own));
            (own, former)
        };
        if let Some(former) = former {
            former.end(GRACE).await;
        }
        own
    }

    /// The upstream of the second child, which is told what all legacy clients can do.
    fn legacy_child(self: &Arc<Self>, per_client: &PerClient, session: &Arc<ClientSession>) -> Arc<Self> {
        let child = {
            let mut child = per_client.child();
            Arc::clone(child.get_or_insert_with(|| self.new_child(per_client, session)))
        };
        if !child.announced.covers(session.capabilities()) && child.announced.meet(session) {
            child.restart_if_due();
        }
        child
    }

    fn new_session(self: &Arc<Self>, per_client: &PerClient, session: &Arc<ClientSession>) -> Arc<Self> {
        let manner = Manner::OfClient { session: Arc::clone(session), shared: Arc::downgrade(self) };
        let own = self.beside(self.legacy_spec(per_client), manner, Some(session));
        own.last_used.store(per_client.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        own
    }

    fn new_child(&self, per_client: &PerClient, session: &Arc<ClientSession>) -> Arc<Self> {
        let child = self.beside(self.legacy_spec(per_client), Manner::LegacyChild, None);
        child.announced.meet_all(&self.announced);
        child.announced.meet(session);
        child
    }

    fn legacy_spec(&self, per_client: &PerClient) -> Arc<ServerSpec> {
        let spec = || Arc::new(ServerSpec { era: EraSetting::Legacy, ..ServerSpec::clone(&self.spec) });
        Arc::clone(per_client.legacy.get_or_init(spec))
    }

    /// The session of a client could not be opened: the server may be another than the one that was met.
    pub(super) fn refused_session(self: &Arc<Self>, session: &ClientSession, cause: &Cause) {
        let Some(per_client) = self.per_client().filter(|_| !says_nothing(cause)) else { return };
        let was_legacy = self.current_link().is_some_and(|link| link.greeting().era == Era::Legacy);
        if !was_legacy && !matches!(per_client.speaks_legacy(), SpeaksLegacy::Yes) {
            // It is being found out.
            return;
        }
        per_client.forget();
        drop(per_client.sessions().remove(&session.number()));
        if was_legacy {
            self.meet_anew();
        }
    }

    /// A legacy client is connected and may use this server.
    pub fn expect(self: &Arc<Self>, session: &Arc<ClientSession>) {
        if self.announced.meet(session) {
            self.restart_if_due();
        }
        let child = self.per_client().and_then(|per_client| per_client.child().clone());
        if let Some(child) = child
            && child.announced.meet(session)
        {
            child.restart_if_due();
        }
    }

    /// A client of the modern era that can do this may use this server.
    pub fn expect_modern(self: &Arc<Self>, capabilities: &str) {
        if self.announced.hear(capabilities) {
            self.restart_if_due();
        }
    }

    /// A legacy client's session is over, and with it the server's session for it.
    pub fn leave(self: &Arc<Self>, session: &ClientSession) {
        session.end();
        let Some(per_client) = self.per_client() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let own = per_client.sessions().remove(&session.number());
        if let Some(own) = own {
            runtime.spawn(async move { own.end(GRACE).await });
        }
        if per_client.child().is_some() {
            let shared = Arc::downgrade(self);
            runtime.spawn(async move {
                tokio::time::sleep(LEGACY_CHILD_STAYS).await;
                let Some(shared) = shared.upgrade() else { return };
                let Some(per_client) = shared.per_client() else { return };
                let unused = per_client.child().take_if(|child| !child.announced.has_sessions());
                if let Some(unused) = unused {
                    unused.end(GRACE).await;
                }
            });
        }
    }

    /// The roots of a legacy client changed. Servers that were told that it says so are told.
    pub fn roots_changed(&self, session: &ClientSession) {
        let Some(per_client) = self.per_client() else { return };
        let own = per_client.sessions().get(&session.number()).cloned();
        let child = per_client.child().clone();
        let shared = own.is_none().then_some(self);
        for upstream in own.as_deref().into_iter().chain(child.as_deref()).chain(shared) {
            if let Some(link) = upstream.current_link()
                && upstream.is_told_of_roots(&link)
            {
                link.roots_changed();
            }
        }
    }

    fn is_told_of_roots(&self, link: &Link) -> bool {
        match &self.manner {
            Manner::OfClient { session, .. } => says_roots_changed(session.capabilities()),
            // What is not told once is not told what a legacy client can do.
            Manner::Shared(_) | Manner::LegacyChild => {
                link.is_told_once() && self.announced.says(says_roots_changed)
            }
        }
    }

    /// Sets which log lines a legacy client gets, where a server has a session for it.
    pub async fn set_log_level(self: &Arc<Self>, session: &ClientSession, level: LogLevel) {
        let own = self.per_client().and_then(|per_client| per_client.session(session.number()));
        if let Some(own) = own
            && own.current_link().is_some()
            && let Err(error) = own.control(ControlMessage::LogLevel(level)).await
        {
            tracing::debug!(%error, "the log level of a session could not be set");
        }
    }

    /// The second child, if there is one.
    pub(super) fn second_child(&self) -> Option<Arc<Self>> {
        self.per_client()?.child().clone()
    }

    /// Every other connection, which are to be ended with this one.
    pub(super) fn take_others(&self) -> Vec<Arc<Self>> {
        self.per_client().map(PerClient::take_all).unwrap_or_default()
    }

    /// Opens a client's session when it is its turn.
    pub(super) async fn may_open<T>(
        &self,
        open: impl Future<Output = Result<T, UpstreamError>>,
    ) -> Result<T, UpstreamError> {
        let shared = match &self.manner {
            Manner::OfClient { shared, .. } => shared.upgrade(),
            Manner::Shared(_) | Manner::LegacyChild => None,
        };
        let opening = shared.as_ref().and_then(|shared| shared.per_client()).map(PerClient::opening);
        let _turn = match opening {
            Some(opening) => opening.acquire().await.ok(),
            None => None,
        };
        open.await
    }
}

/// Takes out the session that was used longest ago, of those that are not in use.
fn longest_unused(sessions: &mut HashMap<u64, Arc<Upstream>>) -> Option<Arc<Upstream>> {
    let unused = sessions.iter().filter(|(_, own)| own.busy.load(Ordering::Relaxed) == 0);
    let (number, _) = unused.min_by_key(|(_, own)| own.last_used.load(Ordering::Relaxed))?;
    let number = *number;
    sessions.remove(&number)
}

fn says_roots_changed(capabilities: &str) -> bool {
    highwater_mcp::text::pointer(capabilities, &["roots", "listChanged"])
        .is_some_and(highwater_mcp::text::is_true)
}

/// Whether a failure to open a session says nothing about what the server speaks.
fn says_nothing(cause: &Cause) -> bool {
    match cause {
        Cause::Unreachable(_)
        | Cause::NoConnection(_)
        | Cause::WantsOauth
        | Cause::ShuttingDown
        | Cause::BackingOff(_)
        | Cause::NotStarted(_)
        | Cause::NoProgram { .. }
        | Cause::Silent(_)
        | Cause::Wedged(_)
        | Cause::Disconnected
        | Cause::Changed => true,
        Cause::Status(status) => matches!(status, 401 | 403 | 407 | 429 | 500 | 502..=504),
        Cause::Gone(_)
        | Cause::SilentStart(_)
        | Cause::TimedOut(_)
        | Cause::TooLarge { .. }
        | Cause::WebPage
        | Cause::Malformed(_) => false,
    }
}
