//! Who is on the other end of a front, in either era, and how to reach them.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::future::{AbortHandle, AbortRegistration};
use highwater_core::id::{Principal, UpstreamId, VirtualServerId};
use highwater_mcp::era::Era;
use highwater_mcp::frame::Frame;
use highwater_mcp::text::{member, pointer};
use highwater_store::{Joined, SessionHandle};
use highwater_upstream::control::LogLevel;
use highwater_upstream::{ClientSession, Party};
use tokio::sync::mpsc;
use tokio::sync::oneshot;

use crate::catalog::Viewer;
use crate::registry::ShownLists;
use crate::tokens::{Standing, Token};

/// Whose request it is and where it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) principal: Principal,
    pub(crate) virtual_server: VirtualServerId,
    /// What they came in with.
    pub(crate) token: Arc<Token>,
    /// Whether they came through the socket of the data directory, as whose user.
    pub(crate) local: bool,
    /// The agent session, whose label is raised by everything the client is given.
    pub(crate) session: SessionHandle,
}

/// The client behind one request.
#[derive(Clone)]
pub(crate) enum Client {
    /// A client that said `initialize`.
    Legacy(Arc<LegacySession>),
    /// A client that says who it is on every request.
    Modern(Arc<ModernClient>),
}

/// What a modern request says of its sender.
pub(crate) struct ModernClient {
    pub(crate) caller: Caller,
    /// Its capabilities as JSON text.
    pub(crate) capabilities: String,
    /// Whether it says that it lets calls be signed by itself.
    pub(crate) speaks_approval: bool,
    /// Which log messages it wants on this request.
    pub(crate) log_level: Option<LogLevel>,
}

/// What a legacy client says of itself when it is met.
pub(crate) struct Said {
    /// Its capabilities as JSON text.
    pub(crate) capabilities: String,
    /// The same as servers of its own era are told them, which is more.
    pub(crate) announced: String,
    /// Whether it says that it lets calls be signed by itself.
    pub(crate) speaks_approval: bool,
    /// What it calls itself.
    pub(crate) name: String,
}

/// A legacy client's transport session: MCP's notion, never a security key by itself.
pub(crate) struct LegacySession {
    /// The id on the wire; for stdio, a name for logs.
    pub(crate) id: Arc<str>,
    pub(crate) caller: Caller,
    /// The version agreed.
    pub(crate) version: &'static str,
    /// The client's capabilities as JSON text.
    pub(crate) capabilities: String,
    /// The session as servers know it.
    pub(crate) upstream: Arc<ClientSession>,
    /// Whether it says that it lets calls be signed by itself, or has done so.
    speaks_approval: AtomicBool,
    /// What it calls itself.
    pub(crate) name: String,
    /// Where messages go that belong to no request.
    pub(crate) aside: Aside,
    /// Ends whatever is open towards the client.
    pub(crate) hang_up: HangUp,
    /// What the client was last shown of each list, or told of.
    pub(crate) shown: ShownLists,
    state: Mutex<SessionState>,
    next_question: AtomicU64,
}

#[derive(Default)]
struct SessionState {
    log_level: Option<LogLevel>,
    /// Of requests that are answered on a stream: whether somebody reads it.
    presence: HashMap<Box<str>, Presence>,
    /// Running requests by the exact text of their id.
    in_flight: HashMap<Box<str>, AbortHandle>,
    /// Questions we put to the client, by our number.
    questions: HashMap<u64, oneshot::Sender<Frame>>,
    /// Subscribed resources: what the client calls them, whose they are and what the owner calls them.
    subscriptions: BTreeMap<String, (UpstreamId, String)>,
    /// It was ended, by its client or by us.
    is_over: bool,
}

/// Where messages go that belong to no request. Takes a message or says that nobody is there any more.
pub(crate) type Aside = Box<dyn Fn(Bytes) + Send + Sync>;

/// Ends whatever is open towards a client.
pub(crate) type HangUp = Box<dyn Fn() + Send + Sync>;

/// Whether somebody still waits for the answer to a request.
pub(crate) type Presence = Box<dyn Fn() -> bool + Send + Sync>;

/// Where whatever precedes the answer to a request goes.
pub(crate) type Outlet = mpsc::Sender<Bytes>;

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The whole message.
    pub(crate) bytes: Bytes,
    /// The JSON-RPC error code, if it is an error.
    pub(crate) code: Option<i64>,
    /// Proof that its label is stored. Kept until the first byte is handed over: nobody lowers a label meanwhile.
    pub(crate) _joined: Option<Joined>,
}

// === impl Caller ===

impl Caller {
    /// What they may at this moment.
    pub(crate) fn standing(&self) -> Arc<Standing> {
        self.token.standing()
    }

    /// As whom they look at lists.
    pub(crate) fn viewer<'a>(&'a self, standing: &'a Arc<Standing>) -> Viewer<'a> {
        Viewer { principal: &self.principal, standing }
    }
}

// === impl Client ===

impl Client {
    pub(crate) fn era(&self) -> Era {
        match self {
            Self::Legacy(_) => Era::Legacy,
            Self::Modern(_) => Era::Modern,
        }
    }

    pub(crate) fn caller(&self) -> &Caller {
        match self {
            Self::Legacy(session) => &session.caller,
            Self::Modern(client) => &client.caller,
        }
    }

    /// Whether it came through the socket of the data directory.
    pub(crate) fn is_local(&self) -> bool {
        self.caller().local
    }

    /// Who it is to servers.
    pub(crate) fn party(&self) -> Party<'_> {
        match self {
            Self::Legacy(session) => Party::Legacy(&session.upstream),
            Self::Modern(_) => Party::Modern,
        }
    }

    /// What the client declared, as JSON text.
    pub(crate) fn capabilities(&self) -> &str {
        match self {
            Self::Legacy(session) => &session.capabilities,
            Self::Modern(client) => &client.capabilities,
        }
    }

    /// Whether the client lets calls be signed by itself (G19): this connection in the legacy era, this request in the
    /// modern one. Never a token, which several clients may hold.
    pub(crate) fn speaks_approval(&self) -> bool {
        match self {
            Self::Legacy(session) => session.speaks_approval(),
            Self::Modern(client) => client.speaks_approval,
        }
    }

    /// Notes that the client used the methods or the evidence of SEP-2672. Each request of a modern one says it anew.
    pub(crate) fn note_approval(&self) {
        match self {
            Self::Legacy(session) => session.speaks_approval.store(true, Ordering::Relaxed),
            Self::Modern(_) => {}
        }
    }

    /// The log level the client wants, if it said.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        match self {
            Self::Legacy(session) => session.log_level(),
            Self::Modern(client) => client.log_level,
        }
    }

    /// Whether a log line of this level goes to the client: a modern one must have asked for it, a legacy one that
    /// never said anything gets what the server chooses to send.
    pub(crate) fn wants_log(&self, level: Option<LogLevel>) -> bool {
        match (self, self.log_level(), level) {
            (Self::Modern(_), None, _) => false,
            (Self::Legacy(_), None, _) | (_, Some(_), None) => true,
            (_, Some(wanted), Some(level)) => level >= wanted,
        }
    }
}

// === impl LegacySession ===

impl LegacySession {
    pub(crate) fn new(
        id: Arc<str>,
        caller: Caller,
        version: &'static str,
        said: Said,
        (aside, hang_up): (Aside, HangUp),
    ) -> Arc<Self> {
        let Said { capabilities, announced, speaks_approval, name } = said;
        Arc::new(Self {
            id,
            caller,
            version,
            capabilities,
            upstream: ClientSession::new(&announced),
            speaks_approval: AtomicBool::new(speaks_approval),
            name,
            aside,
            hang_up,
            shown: ShownLists::default(),
            state: Mutex::default(),
            next_question: AtomicU64::new(1),
        })
    }

    pub(crate) fn speaks_approval(&self) -> bool {
        self.speaks_approval.load(Ordering::Relaxed)
    }

    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.state().log_level
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.upstream.set_log_level(level);
        self.state().log_level = Some(level);
    }

    /// Notes a request as running and gives what lets it be cancelled. Nothing if one with this id is running already.
    pub(crate) fn begin(&self, id: &str) -> Option<AbortRegistration> {
        let mut state = self.state();
        if state.in_flight.contains_key(id) {
            return None;
        }
        let (handle, registration) = AbortHandle::new_pair();
        state.in_flight.insert(id.into(), handle);
        Some(registration)
    }

    pub(crate) fn end(&self, id: &str) {
        let mut state = self.state();
        state.in_flight.remove(id);
        if !state.presence.is_empty() {
            state.presence.remove(id);
        }
    }

    /// Learns how to tell whether somebody still waits for the answer to a running request.
    pub(crate) fn watch(&self, id: &str, presence: Presence) {
        let mut state = self.state();
        if state.in_flight.contains_key(id) {
            state.presence.insert(id.into(), presence);
        }
    }

    /// Whether somebody still waits for the answer to a request, as far as that can be told.
    pub(crate) fn is_awaited(&self, id: &str) -> bool {
        self.state().presence.get(id).is_none_or(|waits| waits())
    }

    /// Ends a running request; what it was doing is cancelled and recorded as it goes.
    pub(crate) fn cancel(&self, id: &str) {
        let running = self.state().in_flight.remove(id);
        if let Some(running) = running {
            running.abort();
        }
    }

    /// Ends everything that is running for the session, which is over.
    pub(crate) fn finish(&self) {
        let running: Vec<_> = {
            let mut state = self.state();
            state.is_over = true;
            state.in_flight.drain().collect()
        };
        for (_, running) in running {
            running.abort();
        }
    }

    /// Whether it was ended.
    pub(crate) fn is_over(&self) -> bool {
        self.state().is_over
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.state().in_flight.len()
    }

    /// A number for a new question, and where its answer will come.
    pub(crate) fn ask(&self) -> (u64, oneshot::Receiver<Frame>) {
        let number = self.next_question.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.state().questions.insert(number, sender);
        (number, receiver)
    }

    /// Takes a question back: nobody waits for its answer any more. Whether it was still unanswered.
    pub(crate) fn forget_question(&self, number: u64) -> bool {
        self.state().questions.remove(&number).is_some()
    }

    /// Hands an answer to whoever waits for it.
    pub(crate) fn answered(&self, frame: Frame) {
        let number = frame.id().and_then(|id| id.parse().ok());
        let waiting = number.and_then(|number: u64| self.state().questions.remove(&number));
        match waiting {
            Some(waiting) => {
                if waiting.send(frame).is_err() {
                    tracing::debug!("an answer came for a question nobody waits for any more");
                }
            }
            None => tracing::debug!("an answer came for a question that was not asked"),
        }
    }

    /// Notes a subscription.
    pub(crate) fn subscribe(&self, shown: &str, upstream: UpstreamId, own: String) {
        self.state().subscriptions.insert(shown.to_owned(), (upstream, own));
    }

    /// Takes a subscription back and says whose it was, if there was one.
    pub(crate) fn unsubscribe(&self, shown: &str) -> Option<(UpstreamId, String)> {
        self.state().subscriptions.remove(shown)
    }

    pub(crate) fn is_subscribed(&self, shown: &str) -> bool {
        self.state().subscriptions.contains_key(shown)
    }

    /// What the client calls this resource, if it subscribed to it.
    pub(crate) fn subscribed_as(&self, upstream: &UpstreamId, own: &str) -> Option<String> {
        let state = self.state();
        let found = state.subscriptions.iter().find(|(_, (owner, uri))| owner == upstream && uri == own);
        found.map(|(shown, _)| shown.clone())
    }

    /// Takes back every subscription, by what the client calls it, for when the session ends.
    pub(crate) fn take_subscriptions(&self) -> Vec<String> {
        std::mem::take(&mut self.state().subscriptions).into_keys().collect()
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether capabilities, as JSON text, include this way of being asked.
pub(crate) fn declares(capabilities: &str, kind: highwater_core::decide::AskKind) -> bool {
    use highwater_core::decide::AskKind;
    match kind {
        AskKind::Sample => member(capabilities, "sampling").is_some(),
        AskKind::Roots => member(capabilities, "roots").is_some(),
        // An empty capability means forms only.
        AskKind::ElicitForm => member(capabilities, "elicitation")
            .is_some_and(|modes| member(modes, "form").is_some() || member(modes, "url").is_none()),
        AskKind::ElicitUrl => pointer(capabilities, &["elicitation", "url"]).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_core::decide::AskKind;

    #[test]
    fn an_empty_elicitation_capability_means_forms_only() {
        assert!(declares(r#"{"elicitation":{}}"#, AskKind::ElicitForm));
        assert!(!declares(r#"{"elicitation":{}}"#, AskKind::ElicitUrl));
        assert!(declares(r#"{"elicitation":{"url":{}}}"#, AskKind::ElicitUrl));
        assert!(!declares(r#"{"elicitation":{"url":{}}}"#, AskKind::ElicitForm));
        assert!(!declares("{}", AskKind::Sample));
    }
}
