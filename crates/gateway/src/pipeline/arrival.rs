//! What arrives on the road, and what it becomes when it is known where it goes.

use std::sync::Arc;

use highwater_core::action::Action;
use highwater_core::approval::{Consented, Undisturbed};
use highwater_core::grant::CallVariant;
use highwater_core::id::UpstreamId;
use highwater_core::label::Label;
use highwater_mcp::era::meta_key;
use highwater_mcp::frame::Frame;
use highwater_mcp::method::Method;
use highwater_mcp::text::string_member;
use highwater_store::SessionHandle;

use super::layout::Layout;
use super::local::LocalFacts;
use super::proposed::EffectiveContract;
use super::value_origins::ValueOrigins;
use crate::catalog::{CatalogServer, Contracts, Known, Merged};
use crate::client::{Client, Outlet};
use crate::handshake::short;
use crate::hosts::Bound;
use crate::world::World;

/// A request of a client that wants something done at an upstream.
pub(crate) struct Arrival {
    pub(crate) client: Client,
    /// The agent session it belongs to.
    pub(crate) session: SessionHandle,
    /// The conversation of a host that it belongs to, if hooks tell of one.
    pub(crate) host: Option<Arc<Bound>>,
    /// `None` for a method outside MCP.
    pub(crate) method: Option<Method>,
    pub(crate) frame: Frame,
    /// Where what precedes the answer goes.
    pub(crate) outlet: Outlet,
    /// Somebody waits for the answer and could be asked; not so for what we do on a client's behalf.
    pub(crate) attended: bool,
    /// The variant through which a tool is called, where it is called through one: what the caller takes it for.
    pub(crate) variant: Option<CallVariant>,
    /// The state of the gateway that this request sees.
    pub(crate) world: Arc<World>,
}

/// An action whose destination is known, not judged yet.
pub(crate) struct RoutedAction {
    pub(crate) action: Arc<Action>,
    pub(crate) route: Route,
    /// Where the parts of its parameters are.
    pub(super) layout: Layout,
    /// The call that it brings something to, where it does.
    pub(super) call: Option<Box<CallUnderWay>>,
}

/// A call that is under way. What is brought to it is judged as the call is.
#[derive(Clone)]
pub(crate) struct CallUnderWay {
    /// What the call was judged by.
    pub(super) contract: EffectiveContract,
    /// What everything that comes back is labelled by.
    pub(super) reply_contract: EffectiveContract,
    /// What its arguments name and run on this machine.
    pub(super) local: LocalFacts,
    /// Where its values come from.
    pub(super) origins: ValueOrigins,
    /// Whether a person agreed to it.
    pub(super) agreed: bool,
    /// What they agreed to, where its server waits for what is brought. What is sent as a round of the call has a proof of
    /// its own, which is good once.
    pub(super) consented: Option<Arc<Consented>>,
    /// The session, if it has heard nobody since the call was permitted but the call's own server.
    pub(super) heard: Undisturbed,
}

/// What of a call under way is no new question, as long as nobody but its own server was heard since it was permitted.
#[derive(Clone, Debug)]
pub(crate) enum Excuse {
    /// Nothing.
    Nothing,
    /// That the session holds words of strangers by now.
    Strangers,
    /// What a person was told who agreed to it, and the same.
    Told(Arc<Consented>, Undisturbed),
}

// === impl CallUnderWay ===

impl CallUnderWay {
    /// What is no new question in a session of this label.
    pub(super) fn excuse(&self, session: &Label) -> Excuse {
        match &self.consented {
            _ if self.heard.is_disturbed(session) => Excuse::Nothing,
            Some(consented) => Excuse::Told(Arc::clone(consented), self.heard.clone()),
            None if self.agreed => Excuse::Nothing,
            None => Excuse::Strangers,
        }
    }

    /// The same for what is sent as a round of the call.
    pub(super) fn sent_as_round(self) -> Self {
        Self { consented: None, ..self }
    }
}

/// Where an action goes, and all that is needed to bring its reply home.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) catalog_server: Arc<CatalogServer>,
    /// Keeps the server up, even if the configuration no longer has it.
    pub(crate) _bound: Arc<()>,
    /// The names in force when the request was routed.
    pub(crate) names: Arc<Merged>,
    /// What is known of everything the server offers.
    pub(crate) contracts: Arc<Contracts>,
    /// What is known of the tool, resource or prompt.
    pub(crate) known: Arc<Known>,
    /// The tool as the client calls it, and as its server does.
    pub(crate) tool: Option<ToolName>,
    pub(crate) method: Option<Method>,
    /// How we speak of tasks for a client that does not.
    pub(crate) task: TaskBridge,
}

/// What a tool is called on either side.
#[derive(Clone, Debug)]
pub(crate) struct ToolName {
    pub(crate) shown: Arc<str>,
    pub(crate) own: Arc<str>,
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

    /// Whether somebody still waits for the answer. A broken connection does not end a legacy client's request, but nothing
    /// that a person had to agree to begins while nobody is there to hear of it.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.outlet.is_closed()
            && match &self.client {
                Client::Legacy(session) => session.is_awaited(self.id()),
                Client::Modern(_) => true,
            }
    }

    /// The client's own progress token as JSON text, if it wants progress.
    pub(crate) fn progress_token(&self) -> Option<&str> {
        self.frame.meta(meta_key::PROGRESS_TOKEN)
    }

    /// What the client calls itself. Nobody has checked it.
    pub(crate) fn caller_name(&self) -> String {
        match &self.client {
            Client::Legacy(session) => session.name.clone(),
            Client::Modern(_) => {
                let info = self.frame.meta(meta_key::CLIENT_INFO);
                info.and_then(|info| string_member(info, "name")).map(|name| short(&name)).unwrap_or_default()
            }
        }
    }
}

// === impl RoutedAction ===

impl RoutedAction {
    pub(super) fn new(action: Action, route: Route) -> Self {
        Self { layout: Layout::of(&action), action: Arc::new(action), route, call: None }
    }
}

// === impl Route ===

impl Route {
    pub(crate) fn upstream(&self) -> &UpstreamId {
        self.catalog_server.id()
    }
}
