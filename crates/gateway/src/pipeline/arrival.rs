//! What arrives on the road, and what it becomes when it is known where it goes.

use std::sync::Arc;

use highwater_core::action::Action;
use highwater_core::id::UpstreamId;
use highwater_mcp::frame::Frame;
use highwater_mcp::method::Method;

use crate::catalog::{Merged, Station};
use crate::client::{Client, Outlet};
use crate::world::World;

/// A request of a client that wants something done at an upstream.
pub(crate) struct Arrival {
    pub(crate) client: Client,
    /// `None` for a method outside MCP.
    pub(crate) method: Option<Method>,
    pub(crate) frame: Frame,
    /// Where what precedes the answer goes.
    pub(crate) outlet: Outlet,
    /// The state of the gateway that this request sees.
    pub(crate) world: Arc<World>,
}

/// An action whose destination is known, not judged yet.
pub(crate) struct RoutedAction {
    pub(crate) action: Action,
    pub(crate) course: Course,
}

/// All that is needed to bring a reply home.
#[derive(Clone)]
pub(crate) struct Course {
    pub(crate) station: Arc<Station>,
    /// The names in force when the request was routed.
    pub(crate) names: Arc<Merged>,
    pub(crate) method: Option<Method>,
    /// The client's own progress token as JSON text, if it wants progress.
    pub(crate) progress: Option<Box<str>>,
    /// How we speak of tasks for a client that does not.
    pub(crate) task: TaskBridge,
}

/// Tasks across the eras: a tool that can only be called as a task, for a client that knows no such task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskBridge {
    /// The call is passed on as it is.
    None,
    /// We ask a legacy server for a task and fetch its result.
    Legacy,
    /// We tell a modern server that we know tasks, and wait for the one it makes.
    Modern,
}

// === impl Arrival ===

impl Arrival {
    /// The exact text of the request's id.
    pub(crate) fn id(&self) -> &str {
        self.frame.id().unwrap_or("null")
    }
}

// === impl Course ===

impl Course {
    pub(crate) fn upstream(&self) -> &UpstreamId {
        self.station.id()
    }
}
