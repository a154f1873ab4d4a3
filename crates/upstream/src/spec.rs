//! What an upstream is told when it is made: how to reach its server and how long to wait.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use highwater_core::id::UpstreamId;

/// One configured server.
#[derive(Clone)]
pub struct ServerSpec {
    /// The operator's name for it.
    pub id: UpstreamId,
    /// How it is reached.
    pub transport: Transport,
    /// Which protocol era to speak.
    pub era: EraSetting,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// How many calls may be in flight at once; more wait their turn.
    pub concurrency: usize,
    /// The largest message accepted from the server.
    pub max_reply: usize,
    /// How often a call is tried again when its connection fails.
    pub retries: Retries,
    /// Whether calls that may change something run one after another, in the order in which they came.
    pub ordered_writes: bool,
}

/// How often a call is tried again when its connection fails, if it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// How often at most, after the first time.
    pub times: u32,
    /// The wait before the first of them; it doubles with each.
    pub wait: Duration,
}

/// How a server is reached.
#[derive(Clone)]
pub enum Transport {
    /// A child process, one message a line.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// The environment it gets besides the safe set.
        env: BTreeMap<String, String>,
        /// Where it starts.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP of either era, or HTTP+SSE.
    Http {
        /// The endpoint.
        url: String,
        /// Headers sent with every request, such as the operator's credentials.
        headers: Vec<(String, String)>,
    },
}

/// Which era to speak, as the operator wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EraSetting {
    /// Probe, and remember.
    Auto,
    /// 2026-07-28 only.
    Modern,
    /// `initialize` only, over stdio or Streamable HTTP.
    Legacy,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

/// What a server turned out to speak; kept by the caller over restarts and handed back as a first guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RememberedEra {
    /// 2026-07-28.
    Modern,
    /// A version with `initialize`, over stdio or Streamable HTTP.
    Legacy,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// From spawn or first request until the greeting is complete, probe included.
    pub start: Duration,
    /// For the answer to the era probe.
    pub probe: Duration,
    /// For an answer to a call; progress and open questions start it anew.
    pub call: Duration,
    /// How long a child may say nothing while something is asked of it before it is asked whether it is there.
    pub silence: Duration,
}

// === impl Retries ===

impl Retries {
    /// Nothing is tried again.
    pub const NEVER: Self = Self { times: 0, wait: Duration::ZERO };
}
