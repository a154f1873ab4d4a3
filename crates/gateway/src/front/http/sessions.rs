//! Transport sessions of legacy HTTP clients: bound to their principal, put away when they have been silent too long.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use highwater_config::Limits;
use highwater_core::id::{Principal, VirtualServerId};
use tokio::time::Instant;

use super::HttpFront;
use super::stream_log::StreamLog;
use crate::client::LegacySession;

/// How often silent sessions are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// How many streams of ended calls a session keeps for a client that comes back.
const KEPT_STREAMS: usize = 16;

/// The name of the stream that belongs to no call.
const ASIDE: &str = "aside";

/// All sessions of the front.
#[derive(Default)]
pub(super) struct HttpSessions {
    sessions: Mutex<HashMap<Arc<str>, Arc<HttpSession>>>,
}

/// One legacy client over HTTP.
pub(super) struct HttpSession {
    pub(super) session: Arc<LegacySession>,
    /// The stream of messages that belong to no call.
    pub(super) aside: Arc<StreamLog>,
    state: Mutex<SessionTable>,
}

struct SessionTable {
    streams: Vec<Arc<StreamLog>>,
    next_stream: u64,
    seen: Instant,
}

// === impl HttpSessions ===

impl HttpSessions {
    pub(super) fn add(&self, session: Arc<HttpSession>) {
        self.sessions().insert(Arc::clone(&session.session.id), session);
    }

    /// The session of this id, or else this one: two requests may take up one session at once.
    pub(super) fn add_or_get(&self, session: Arc<HttpSession>) -> Arc<HttpSession> {
        let id = Arc::clone(&session.session.id);
        match self.sessions().entry(id) {
            Entry::Occupied(there) if !there.get().session.is_over() => Arc::clone(there.get()),
            Entry::Occupied(mut ended) => {
                ended.insert(Arc::clone(&session));
                session
            }
            Entry::Vacant(free) => Arc::clone(free.insert(session)),
        }
    }

    /// The session of this id, if it goes on and belongs to this principal at this endpoint.
    pub(super) fn find(
        &self,
        id: &str,
        principal: &Principal,
        virtual_server: &VirtualServerId,
    ) -> Option<Arc<HttpSession>> {
        let found = self.sessions().get(id).cloned()?;
        let caller = &found.session.caller;
        if caller.principal != *principal
            || caller.virtual_server != *virtual_server
            || found.session.is_over()
        {
            return None;
        }
        found.state().seen = Instant::now();
        Some(found)
    }

    pub(super) fn remove(&self, id: &str) -> Option<Arc<HttpSession>> {
        self.sessions().remove(id)
    }

    /// Ends the streams that would stay open for ever, so that a stopping gateway need not wait for them.
    pub(super) fn close_asides(&self) {
        for session in self.sessions().values() {
            session.aside.close();
        }
    }

    /// Makes room for another session of this principal: its own longest silent one gives way, or else, where it has none
    /// and it is not its own bound that is met, one of whoever has most. Says what bound is met if none can.
    pub(super) fn make_room(
        &self,
        principal: &Principal,
        limits: &Limits,
    ) -> Result<Vec<Arc<HttpSession>>, &'static str> {
        let sessions = self.sessions();
        let own = sessions.values().filter(|session| session.session.caller.principal == *principal);
        if sessions.len() < limits.sessions && own.clone().count() < limits.sessions_per_token {
            return Ok(Vec::new());
        }
        let oldest = |sessions: &mut dyn Iterator<Item = &Arc<HttpSession>>| {
            sessions.filter(|session| session.is_idle()).min_by_key(|session| session.state().seen).cloned()
        };
        let mut count = HashMap::<&Principal, usize>::new();
        for session in sessions.values() {
            *count.entry(&session.session.caller.principal).or_default() += 1;
        }
        let mine = count.get(principal).copied().unwrap_or_default();
        if mine >= limits.sessions_per_token {
            let gives_way = oldest(&mut own.clone()).ok_or("limits.sessions_per_token")?;
            return Ok(vec![gives_way]);
        }
        let most =
            count.iter().max_by_key(|(_, count)| **count).map(|(principal, count)| (*principal, *count));
        let gives_way = match (oldest(&mut own.clone()), most) {
            (Some(own), _) => Some(own),
            (None, Some((other, count))) if count > mine + 1 => {
                oldest(&mut sessions.values().filter(|session| session.session.caller.principal == *other))
            }
            (None, _) => None,
        };
        gives_way.map(|gives_way| vec![gives_way]).ok_or("limits.sessions")
    }

    fn silent_for(&self, idle: Duration) -> Vec<Arc<HttpSession>> {
        self.sessions().values().filter(|session| session.is_silent(idle)).cloned().collect()
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<HttpSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl HttpSession ===

impl HttpSession {
    /// The stream of messages that belong to no call, before there is a session.
    pub(super) fn new_aside() -> Arc<StreamLog> {
        StreamLog::new(ASIDE.to_owned())
    }

    pub(super) fn new(session: Arc<LegacySession>, aside: Arc<StreamLog>) -> Arc<Self> {
        let state = SessionTable { streams: Vec::new(), next_stream: 1, seen: Instant::now() };
        Arc::new(Self { session, aside, state: Mutex::new(state) })
    }

    /// A new stream for the messages of one call.
    pub(super) fn new_stream(&self) -> Arc<StreamLog> {
        let mut state = self.state();
        let stream = StreamLog::new(format!("call{}", state.next_stream));
        state.next_stream += 1;
        state.streams.retain(|kept| !kept.is_done());
        let done: usize = state.streams.len().saturating_sub(KEPT_STREAMS);
        // Streams whose call is still running are never among the first to go: they are the newest.
        state.streams.drain(..done);
        state.streams.push(Arc::clone(&stream));
        stream
    }

    /// The stream that an event id names, and the number of the event.
    pub(super) fn stream_of(&self, event_id: &str) -> Option<(Arc<StreamLog>, u64)> {
        let (name, number) = event_id.rsplit_once('-')?;
        let number = number.parse().ok()?;
        if name == ASIDE {
            return Some((Arc::clone(&self.aside), number));
        }
        let state = self.state();
        let stream = state.streams.iter().find(|stream| stream.name() == name)?;
        Some((Arc::clone(stream), number))
    }

    fn is_silent(&self, idle: Duration) -> bool {
        self.state().seen.elapsed() > idle && self.is_idle()
    }

    /// Whether nothing is done for the session, and nobody listens.
    fn is_idle(&self) -> bool {
        self.session.in_flight() == 0 && !self.aside.is_read()
    }

    fn state(&self) -> MutexGuard<'_, SessionTable> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts sessions away that have been silent too long, for as long as the front exists.
pub(super) async fn sweep(front: Weak<HttpFront>) {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        let Some(front) = front.upgrade() else { return };
        front.gateway.cut_off_overdue();
        let idle = front.gateway.settings.load().limits.session_idle;
        front.sessions.silent_for(idle).iter().for_each(|silent| front.put_away(silent));
    }
}

impl HttpFront {
    /// Puts a session away. A client that names it again finds it.
    pub(super) fn put_away(&self, session: &HttpSession) {
        self.sessions.remove(&session.session.id);
        self.gateway.put_away(&session.session);
        session.aside.close();
    }
}
