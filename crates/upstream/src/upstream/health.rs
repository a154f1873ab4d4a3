//! How a server is doing, for people.

use std::sync::atomic::Ordering;
use std::time::Duration;

use highwater_mcp::era::Era;

use super::Upstream;
use crate::error::Cause;

/// How a server is doing.
#[derive(Clone, Debug)]
pub struct Health {
    /// Whether it is up.
    pub state: HealthState,
    /// The era it speaks, if it is up.
    pub era: Option<Era>,
    /// The version agreed, if it is up.
    pub version: Option<String>,
    /// How many calls are in flight.
    pub in_flight: usize,
    /// How often it was started or connected to.
    pub starts: u64,
    /// What last went wrong with starting it or keeping it up.
    pub last_error: Option<Cause>,
    /// The last lines of a child's stderr and of its predecessors', oldest first. Values of its environment are left out.
    pub stderr: Vec<String>,
    /// Those of them that the child which was started last wrote.
    pub own_stderr: Vec<String>,
    /// The process id of a child's guard; the child is below it.
    pub pid: Option<u32>,
}

/// Whether a server is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HealthState {
    /// Nobody has used it yet.
    Idle,
    /// It is being started.
    Starting,
    /// It is up.
    Up,
    /// It is up and answers neither calls nor pings.
    NotAnswering,
    /// It could not be started, or broke, or was shut down.
    Failed {
        /// Why.
        why: String,
        /// When it may be tried again; zero means on next use.
        retry_in: Duration,
    },
}

// === impl Upstream ===

impl Upstream {
    /// Which connection or process this is, counted from the first; `None` while there is none.
    pub fn connection(&self) -> Option<u64> {
        let supervisor = self.supervisor();
        supervisor.is_up().then(|| supervisor.starts())
    }

    /// How many connections broke that should have held. A server whose process ended breaks them, so whoever answers after
    /// that may be another. A process of our own that ends has another `connection` instead.
    pub fn breaks(&self) -> u64 {
        self.wire.breaks().load(Ordering::Acquire)
    }

    /// How the server is doing.
    pub fn health(&self) -> Health {
        let supervisor = self.supervisor();
        let (state, link) = supervisor.view();
        let trouble = self.trouble.why();
        let silent = self.silence.cause();
        let is_silent = silent.is_some();
        let last_error = silent.or_else(|| trouble.clone()).or_else(|| supervisor.last_error());
        let state = match (state, trouble) {
            // The next use tries again at once.
            (HealthState::Up, Some(why)) => {
                HealthState::Failed { why: why.to_string(), retry_in: Duration::ZERO }
            }
            (HealthState::Up, None) if is_silent => HealthState::NotAnswering,
            (state, _) => state,
        };
        let greeting = link.as_ref().map(|link| link.greeting());
        Health {
            era: greeting.map(|greeting| greeting.era),
            version: greeting.map(|greeting| greeting.version.clone()),
            in_flight: self.in_flight.load(Ordering::Relaxed),
            starts: supervisor.starts(),
            last_error,
            stderr: self.wire.stderr_tail.lines(),
            own_stderr: self.wire.stderr_tail.own_lines(),
            pid: link.as_ref().and_then(|link| link.pid()),
            state,
        }
    }
}
