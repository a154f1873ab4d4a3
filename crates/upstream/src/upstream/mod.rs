//! One configured server and the two doors to it. Behind the doors: it is started on first use, started again
//! when it broke, left alone for a while when it keeps breaking, and told nothing twice that could do it twice.

mod control;
mod health;
mod perform;
mod retry;
mod subscribe;
mod supervise;
mod trouble;
mod turns;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use highwater_core::id::UpstreamId;
use highwater_mcp::schema_headers::ParamHeader;
use tokio::sync::Semaphore;

pub use health::{Health, HealthState};
pub use perform::{CallClient, Doorkeeper, Reply};
pub use turns::Turn;

use crate::control::LogLevel;
use crate::error::UpstreamError;
use crate::event::NoticeSink;
use crate::link::{Greeting, LinkWorld};
use crate::spec::{RememberedEra, ServerSpec};
use subscribe::Subscriptions;
use supervise::Supervisor;
use trouble::Trouble;
use turns::Turns;

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
    spec: ServerSpec,
    wire: LinkWorld,
    supervisor: Mutex<Supervisor>,
    /// One for each call that may be in flight.
    slots: Semaphore,
    width: u32,
    in_flight: AtomicUsize,
    /// The line in which writes stand, where the operator wants them in order.
    turns: Option<Arc<Turns>>,
    /// Whether the current link has answered a call.
    answered: AtomicBool,
    subscriptions: Subscriptions,
    /// Why the server could last not be reached over HTTP, until it answers again. A child's end shows by itself.
    trouble: Trouble,
    /// Which arguments of which tool are repeated as headers; modern HTTP only.
    param_headers: RwLock<HashMap<String, Arc<[ParamHeader]>>>,
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
            supervisor: Mutex::new(Supervisor::new(remembered)),
            slots: Semaphore::new(usize::try_from(width).unwrap_or(1)),
            width,
            in_flight: AtomicUsize::new(0),
            turns: spec.ordered_writes.then(Arc::default),
            answered: AtomicBool::new(false),
            subscriptions: Subscriptions::new(),
            trouble: Trouble::default(),
            param_headers: RwLock::default(),
            log_level: Mutex::default(),
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
        if let Some(link) = self.stop() {
            link.close(grace).await;
        }
    }
}
