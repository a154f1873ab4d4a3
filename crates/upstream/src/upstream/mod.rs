//! One configured server and the two ways to it. Behind them: it is started on first use, started again
//! when it broke, left alone for a while when it keeps breaking, and told nothing twice that could do it twice.

mod announced;
mod control;
mod health;
mod per_client;
mod perform;
mod retry;
mod silence;
mod subscribe;
mod supervise;
mod trouble;
mod write_queue;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use futures_util::future::join_all;
use highwater_core::id::UpstreamId;
use highwater_mcp::schema_headers::ParamHeader;
use tokio::sync::Semaphore;

pub use health::{Health, HealthState};
pub use perform::{Beside, CallClient, Connection, DefinitionGuard, Reply};
pub use write_queue::WriteTurn;

use crate::client_session::ClientSession;
use crate::control::LogLevel;
use crate::error::UpstreamError;
use crate::event::NoticeSink;
use crate::link::{Greeting, LinkWorld};
use crate::spec::{RememberedEra, ServerSpec};
use announced::Announced;
use per_client::{Manner, PerClient};
use silence::Silence;
use subscribe::Subscriptions;
use supervise::Supervisor;
use trouble::Trouble;
use write_queue::WriteQueue;

/// Keeps which era a server speaks.
pub type Remember = Arc<dyn Fn(&UpstreamId, RememberedEra) + Send + Sync>;

/// What every upstream of one gateway is given.
pub struct World {
    /// Where notices go.
    pub notices: NoticeSink,
    /// Our own executable, whose `guard` command stands over every child.
    pub guard: PathBuf,
    /// What every child gets of our environment; see `highwater_sandbox::is_safe_variable`.
    pub safe_env: Vec<(String, String)>,
    /// Our own `clientInfo` as JSON text.
    pub client_info: String,
    /// Told which era a server turned out to speak, so that it can be kept over restarts.
    pub remember: Remember,
}

/// One configured server.
pub struct Upstream {
    spec: Arc<ServerSpec>,
    wire: LinkWorld,
    /// Whose conversations these are.
    manner: Manner,
    supervisor: Mutex<Supervisor>,
    /// One for each call that may be in flight at the server.
    slots: Arc<Semaphore>,
    /// The same of this conversation, where it is not the shared one.
    own_slots: Option<Semaphore>,
    width: u32,
    in_flight: Arc<AtomicUsize>,
    /// What is under way over this conversation: while there is anything, it is not ended to be begun anew.
    busy: AtomicUsize,
    /// When it was last used, as its sort counts.
    last_used: AtomicU64,
    /// The conversation that somebody has looked at, where it is not the shared one.
    looked_at: AtomicU64,
    /// What the server is told of its clients, where they share it.
    announced: Announced,
    /// The line in which writes stand, where the operator wants them in order.
    write_queue: Option<Arc<WriteQueue>>,
    /// Whether the current link has answered a call.
    answered: AtomicBool,
    subscriptions: Subscriptions,
    /// Whether a child that is up says nothing any more.
    silence: Silence,
    /// Why the server could last not be reached over HTTP, until it answers again. A child's end shows by itself.
    trouble: Arc<Trouble>,
    /// Which arguments of which tool are repeated as headers; modern HTTP only.
    param_headers: Arc<RwLock<HashMap<String, Arc<[ParamHeader]>>>>,
    /// The level last asked for; a restarted legacy server is told again.
    log_level: Mutex<Option<LogLevel>>,
}

// === impl Upstream ===

impl Upstream {
    /// Makes an upstream; nothing is started yet. `remembered` is a first guess at the server's era.
    pub fn new(spec: ServerSpec, world: Arc<World>, remembered: Option<RememberedEra>) -> Arc<Self> {
        let width = u32::try_from(spec.concurrency.clamp(1, Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX >> 3);
        Arc::new(Self {
            wire: LinkWorld::new(spec.id.clone(), world),
            manner: Manner::Shared(Box::new(PerClient::new())),
            supervisor: Mutex::new(Supervisor::new(remembered)),
            slots: Arc::new(Semaphore::new(usize::try_from(width).unwrap_or(1))),
            own_slots: None,
            width,
            in_flight: Arc::default(),
            busy: AtomicUsize::new(0),
            last_used: AtomicU64::new(0),
            looked_at: AtomicU64::new(0),
            announced: Announced::default(),
            write_queue: spec.ordered_writes.then(Arc::default),
            answered: AtomicBool::new(false),
            subscriptions: Subscriptions::new(),
            silence: Silence::default(),
            trouble: Arc::default(),
            param_headers: Arc::default(),
            log_level: Mutex::default(),
            spec: Arc::new(spec),
        })
    }

    /// An upstream of the same server with a conversation of its own.
    fn beside(&self, spec: Arc<ServerSpec>, manner: Manner, session: Option<&ClientSession>) -> Arc<Self> {
        let level = match session {
            Some(session) => session.log_level(),
            None => *self.log_level.lock().unwrap_or_else(PoisonError::into_inner),
        };
        Arc::new(Self {
            wire: self.wire.beside(session),
            manner,
            supervisor: Mutex::new(Supervisor::new(None)),
            slots: Arc::clone(&self.slots),
            own_slots: Some(Semaphore::new(usize::try_from(self.width).unwrap_or(1))),
            width: self.width,
            in_flight: Arc::clone(&self.in_flight),
            busy: AtomicUsize::new(0),
            last_used: AtomicU64::new(0),
            looked_at: AtomicU64::new(0),
            announced: Announced::default(),
            write_queue: self.write_queue.clone(),
            answered: AtomicBool::new(false),
            subscriptions: Subscriptions::new(),
            silence: Silence::default(),
            trouble: Arc::clone(&self.trouble),
            param_headers: Arc::clone(&self.param_headers),
            log_level: Mutex::new(level),
            spec,
        })
    }

    /// The operator's name for the server.
    pub fn id(&self) -> &UpstreamId {
        &self.spec.id
    }

    /// How the server is reached.
    pub fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    /// What the server says of itself; connects if need be.
    pub async fn greet(self: &Arc<Self>) -> Result<Arc<Greeting>, UpstreamError> {
        Ok(Arc::clone(self.link().await?.greeting()))
    }

    /// Ends the server in good order: a child's input is closed, then it is asked to end, then it is ended; an
    /// HTTP session is closed. Calls in flight fail, later ones are refused.
    pub async fn shutdown(&self, grace: Duration) {
        let others = self.take_others();
        let ends = others.iter().map(|other| other.end(grace));
        tokio::join!(self.end(grace), join_all(ends));
    }

    /// Ends this conversation alone.
    async fn end(&self, grace: Duration) {
        if let Some(link) = self.stop() {
            link.close(grace).await;
        }
    }
}
