//! How a server is doing, for people.

use std::sync::atomic::Ordering;
use std::time::Duration;

use highwater_mcp::era::Era;

use super::Upstream;

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
    pub last_error: Option<String>,
    /// The last lines of a child's stderr, oldest first. Values of its environment are left out.
    pub stderr: Vec<String>,
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

    /// How the server is doing.
    pub fn health(&self) -> Health {
        let supervisor = self.supervisor();
        let (state, link) = supervisor.view();
        let trouble = self.trouble.why();
        let last_error = trouble.as_ref().map(ToString::to_string).or_else(|| supervisor.last_error());
        let state = match (state, trouble) {
            // The next use tries again at once.
            (HealthState::Up, Some(why)) => {
                HealthState::Failed { why: why.to_string(), retry_in: Duration::ZERO }
            }
            (state, _) => state,
        };
        let greeting = link.as_ref().map(|link| link.greeting());
        Health {
            era: greeting.map(|greeting| greeting.era),
            version: greeting.map(|greeting| greeting.version.clone()),
            in_flight: self.in_flight.load(Ordering::Relaxed),
            starts: supervisor.starts(),
            last_error,
            stderr: self.wire.murmur.lines(),
            pid: link.as_ref().and_then(|link| link.pid()),
            state,
        }
    }
}
