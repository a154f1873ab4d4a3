//! What agent hosts tell through their hooks, and what comes of it: which conversation a call belongs to, with which label
//! conversations and sub-agents begin, and what a host's own tools have brought into them.
//!
//! Hooks come by two roads: `highwater hook` on the socket of the data directory, and the hidden tool on the client's own
//! connection. Both lead to `hear`. What follows for labels is stored before anything is answered, and what could not be
//! stored is owed: nothing of these hosts goes on before it is paid.

mod bind;
mod evidence;
mod hear;
mod label;
mod native;
mod node;
mod shell;
mod state;
mod tool;
mod words;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use highwater_config::Settings;
use highwater_hosts::EventError;
use highwater_hosts::ancestry::Ancestry;
use highwater_hosts::answer::Verdict;
use highwater_hosts::binding::HostProcess;
use highwater_hosts::event::CallId;
use highwater_hosts::host::{HookName, Host};
use highwater_store::StoreError;
use thiserror::Error;
use tokio::sync::Mutex;

pub(crate) use bind::Bound;
pub(crate) use node::node_of_key;
pub use state::HookStatus;
use state::State;
pub(crate) use tool::is_hidden_tool;

/// The name under which hosts know us unless somebody said another.
pub const USUAL_NAME: &str = "highwater";

/// Everything that hosts have told.
pub(crate) struct Hosts {
    /// Held while an event is taken in: what it does to labels is done before the next is looked at.
    state: Mutex<State>,
    /// Whether anything was ever told. Without hooks a call costs no more than this.
    heard: AtomicBool,
    began: Instant,
}

/// What a command hook was told, and by whom.
#[derive(Clone, Debug)]
pub struct CommandHook<'a> {
    pub host: Host,
    /// The event for which the command was installed.
    pub hook: HookName,
    /// What the host wrote to its standard input.
    pub input: &'a [u8],
    /// The name under which the host knows us as an MCP server.
    pub server: &'a str,
    /// The process of the host.
    pub process: Option<HostProcess>,
    /// The process of another host whose tool started that one.
    pub outer: Option<HostProcess>,
    pub ancestry: Ancestry,
}

/// What a command hook is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookAnswer {
    pub verdict: Verdict,
    /// The call that it is about. That the host has the answer is to be noted with it.
    pub call: Option<CallId>,
}

/// Why a hook gets no answer.
#[derive(Debug, Error)]
pub enum HookFault {
    #[error(transparent)]
    Event(#[from] EventError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

// === impl Hosts ===

impl Hosts {
    pub(crate) fn new(settings: &Settings) -> Self {
        let quiet = u64::try_from(settings.quiet.as_millis()).unwrap_or(u64::MAX);
        Self { state: Mutex::new(State::new(quiet)), heard: AtomicBool::new(false), began: Instant::now() }
    }

    /// Whether any hook was ever heard.
    pub(crate) fn are_heard(&self) -> bool {
        self.heard.load(Ordering::Acquire)
    }

    /// Milliseconds since we were started.
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
