//! Who is connected: legacy sessions, modern listeners, and how many requests are running.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use highwater_core::id::{Principal, UpstreamId, VirtualServerId};
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::meta_key::SUBSCRIPTION_ID;
use highwater_mcp::error_code;
use highwater_notation::Timestamp;
use highwater_store::SessionHandle;
use highwater_upstream::control::ListKind;
use tokio::sync::Notify;

use crate::catalog::{View, Viewer, VirtualServer};
use crate::client::{LegacySession, Outlet};
use crate::tokens::Token;

/// Everybody who may have to be told something.
#[derive(Default)]
pub(crate) struct Registry {
    sessions: Mutex<HashMap<Arc<str>, Arc<LegacySession>>>,
    listeners: Mutex<HashMap<u64, Arc<Listener>>>,
    next_listener: AtomicU64,
    running: AtomicUsize,
    /// Of which lists clients are to be told that they may have changed.
    pending: Mutex<BTreeMap<VirtualServerId, Vec<Changed>>>,
}

/// A modern client's open `subscriptions/listen`.
pub(crate) struct Listener {
    pub(crate) virtual_server: VirtualServerId,
    /// The agent session that what it hears belongs to.
    pub(crate) session: SessionHandle,
    /// What its client came in with.
    pub(crate) token: Arc<Token>,
    /// The id of the listen request, as JSON text.
    pub(crate) id: String,
    pub(crate) wants: Wants,
    /// Subscribed resources: what the client calls each, whose it is and what the owner calls it.
    pub(crate) resources: Mutex<Vec<(String, UpstreamId, String)>>,
    pub(crate) outlet: Outlet,
    /// What is to be said once the acknowledgement is out; nothing is kept back afterwards.
    pub(crate) early: Mutex<Option<Vec<Bytes>>>,
    /// Told when the gateway ends the subscription.
    pub(crate) closing: Notify,
    /// What its client was last shown, or told of.
    pub(crate) shown: ShownLists,
}

/// What a client was last shown of each list, or told to look at; nothing where that is not known.
#[derive(Default)]
pub(crate) struct ShownLists(Mutex<BTreeMap<ListKind, Arc<View>>>);

/// Which changes a listener wants to hear of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wants {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
}

/// A list that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Changed {
    Tools,
    Prompts,
    Resources,
}

/// Counts a running request for as long as it lives.
pub(crate) struct Running<'a>(&'a AtomicUsize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

// === impl Registry ===

impl Registry {
    pub(crate) fn add_session(&self, session: Arc<LegacySession>) {
        self.sessions().insert(Arc::clone(&session.id), session);
    }

    pub(crate) fn remove_session(&self, id: &str) -> Option<Arc<LegacySession>> {
        self.sessions().remove(id)
    }

    pub(crate) fn session_count(&self) -> usize {
        self.sessions().len()
    }

    /// The sessions of one virtual server.
    pub(crate) fn sessions_of(&self, virtual_server: &VirtualServerId) -> Vec<Arc<LegacySession>> {
        self.sessions()
            .values()
            .filter(|session| session.caller.virtual_server == *virtual_server)
            .cloned()
            .collect()
    }

    /// The sessions of one principal.
    pub(crate) fn sessions_of_principal(&self, principal: &Principal) -> Vec<Arc<LegacySession>> {
        self.sessions().values().filter(|session| session.caller.principal == *principal).cloned().collect()
    }

    /// The principals that are connected although the time of their token is over.
    pub(crate) fn overdue(&self, now: Timestamp) -> BTreeSet<Principal> {
        let over = |token: &&Arc<Token>| token.is_over(now);
        let principal = |token: &Arc<Token>| token.principal.clone();
        let of_sessions: BTreeSet<Principal> = self
            .sessions()
            .values()
            .map(|session| &session.caller.token)
            .filter(over)
            .map(principal)
            .collect();
        let listeners = self.listeners();
        let of_listeners = listeners.values().map(|listener| &listener.token).filter(over).map(principal);
        of_sessions.into_iter().chain(of_listeners).collect()
    }

    /// Ends the open subscriptions of one principal.
    pub(crate) fn close_listeners_of(&self, principal: &Principal) {
        for listener in self.listeners().values().filter(|listener| listener.token.principal == *principal) {
            listener.closing.notify_one();
        }
    }

    pub(crate) fn add_listener(&self, listener: Arc<Listener>) -> u64 {
        let number = self.next_listener.fetch_add(1, Ordering::Relaxed);
        self.listeners().insert(number, listener);
        number
    }

    pub(crate) fn remove_listener(&self, number: u64) {
        self.listeners().remove(&number);
    }

    /// The listeners of one virtual server.
    pub(crate) fn listeners_of(&self, virtual_server: &VirtualServerId) -> Vec<Arc<Listener>> {
        self.listeners()
            .values()
            .filter(|listener| listener.virtual_server == *virtual_server)
            .cloned()
            .collect()
    }

    /// Ends every open subscription.
    pub(crate) fn close_listeners(&self) {
        for listener in self.listeners().values() {
            listener.closing.notify_one();
        }
    }

    /// Counts a request until the returned value is dropped.
    pub(crate) fn begin(&self) -> Running<'_> {
        self.running.fetch_add(1, Ordering::AcqRel);
        Running(&self.running)
    }

    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::Acquire)
    }

    /// Whether anybody is connected to a virtual server who may be told something.
    pub(crate) fn has_clients(&self, virtual_server: &VirtualServerId) -> bool {
        !self.sessions_of(virtual_server).is_empty() || !self.listeners_of(virtual_server).is_empty()
    }

    /// Notes that lists of a virtual server may have changed. Whether nothing was noted of it before.
    pub(crate) fn note_change(&self, virtual_server: &VirtualServerId, changes: &[Changed]) -> bool {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = !pending.contains_key(virtual_server);
        let noted = pending.entry(virtual_server.clone()).or_default();
        noted.extend(changes.iter().filter(|change| !noted.contains(change)).copied().collect::<Vec<_>>());
        is_first
    }

    /// Takes what was noted of a virtual server.
    pub(crate) fn take_changes(&self, virtual_server: &VirtualServerId) -> Vec<Changed> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.remove(virtual_server).unwrap_or_default()
    }

    /// Tells the clients of a virtual server of the lists that are not what they were shown.
    pub(crate) fn announce(&self, server: &VirtualServer, changes: &[Changed]) {
        for session in self.sessions_of(&server.id) {
            let standing = session.caller.standing();
            let now = server.view_now(&session.caller.viewer(&standing));
            for change in changes.iter().filter(|change| session.shown.is_news(**change, &now)) {
                (session.aside)(error_code::notification(change.method(), None).into());
            }
        }
        for listener in self.listeners_of(&server.id) {
            let standing = listener.token.standing();
            let viewer = Viewer { principal: &listener.token.principal, standing: &standing };
            let now = server.view_now(&viewer);
            let wanted = changes.iter().filter(|change| change.wanted(listener.wants));
            for change in wanted.filter(|change| listener.shown.is_news(**change, &now)) {
                listener.tell(change.method(), "{}");
            }
        }
    }

    /// Notes that a modern client was shown a list. Which of its principal's listeners is the same client nobody knows: what
    /// those have seen that were shown another is not known any more.
    pub(crate) fn note_listed(&self, principal: &Principal, kind: ListKind, view: &Arc<View>) {
        let listeners = self.listeners();
        for listener in listeners.values().filter(|listener| listener.token.principal == *principal) {
            listener.shown.doubt(kind, view);
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<LegacySession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listeners(&self) -> MutexGuard<'_, HashMap<u64, Arc<Listener>>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Listener ===

impl Listener {
    /// Sends a notification on the listen stream, marked with the id of the listen request.
    pub(crate) fn tell(&self, method: &str, params: &str) {
        let marked = [(SUBSCRIPTION_ID, Edit::Set(self.id.as_str()))];
        let params = edit_object(params, &[("_meta", Edit::Merge(&marked))]);
        let message = Bytes::from(error_code::notification(method, Some(&params)));
        if let Some(early) = &mut *self.early.lock().unwrap_or_else(PoisonError::into_inner) {
            early.push(message);
            return;
        }
        self.send(message);
    }

    pub(crate) fn resources(&self) -> MutexGuard<'_, Vec<(String, UpstreamId, String)>> {
        self.resources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the client calls this resource, if it subscribed to it.
    pub(crate) fn subscribed_as(&self, upstream: &UpstreamId, own: &str) -> Option<String> {
        self.resources()
            .iter()
            .find(|(_, owner, uri)| owner == upstream && uri == own)
            .map(|(shown, _, _)| shown.clone())
    }

    /// The acknowledgement is out: what came before it follows.
    pub(crate) fn acknowledged(&self) {
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        for message in early.take().unwrap_or_default() {
            self.send(message);
        }
    }

    fn send(&self, message: Bytes) {
        // A listener that does not read misses a hint to look again; it is not waited for.
        if self.outlet.try_send(message).is_err() {
            tracing::debug!("a listener does not read; a change notice is dropped");
        }
    }
}

// === impl ShownLists ===

impl ShownLists {
    /// The client is shown all lists.
    pub(crate) fn note_all(&self, view: &Arc<View>) {
        Changed::ALL.iter().for_each(|change| self.note(change.lists(), view));
    }

    /// The client is shown these lists.
    pub(crate) fn note(&self, kinds: &[ListKind], view: &Arc<View>) {
        let mut shown = self.shown();
        for kind in kinds {
            shown.insert(*kind, Arc::clone(view));
        }
    }

    /// Whether what the client would see now is anything else than what it was shown; from now on that is what it was told of.
    fn is_news(&self, change: Changed, now: &Arc<View>) -> bool {
        let mut shown = self.shown();
        let mut is_news = false;
        for kind in change.lists() {
            let before = shown.insert(*kind, Arc::clone(now));
            is_news |= before.is_none_or(|before| !Arc::ptr_eq(&before, now) && !before.is_alike(*kind, now));
        }
        is_news
    }

    /// Somebody who may be this client was shown a list.
    fn doubt(&self, kind: ListKind, view: &Arc<View>) {
        let mut shown = self.shown();
        if shown.get(&kind).is_some_and(|before| !Arc::ptr_eq(before, view)) {
            shown.remove(&kind);
        }
    }

    fn shown(&self) -> MutexGuard<'_, BTreeMap<ListKind, Arc<View>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Changed ===

impl Changed {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];

    fn lists(self) -> &'static [ListKind] {
        match self {
            Self::Tools => &[ListKind::Tools],
            Self::Prompts => &[ListKind::Prompts],
            Self::Resources => &[ListKind::Resources, ListKind::ResourceTemplates],
        }
    }

    fn method(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
        }
    }

    fn wanted(self, wants: Wants) -> bool {
        match self {
            Self::Tools => wants.tools,
            Self::Prompts => wants.prompts,
            Self::Resources => wants.resources,
        }
    }
}
