//! What an agent's token grants: which calls, at which servers, of which tools, through which virtual server, how
//! strictly judged and until when. The rule that everything here serves: a call needs the greater of the variant that
//! was used and the class of the tool's effective contract, and what an agent says of itself widens nothing.
//!
//! The class of a tool and the variant of a call are one scale, [`CallVariant`]: the class is
//! [`Contract::variant`](crate::annotation::Contract::variant), made of claims by their authority, so that an unverified
//! server's `readOnlyHint: true` leaves its tool at `write`.

mod forms;
mod limits;
mod name;
mod permission;
mod scope;
mod words;

pub use forms::Forms;
pub use limits::Limits;
pub use name::{LONGEST_NAME, NAME_RULE, name_fault};
pub use permission::{Permission, Permissions, is_below, required};
pub use scope::{ServerScope, ToolPattern, ToolScope};
pub use words::AcceptedWords;

pub use crate::annotation::CallVariant;

use std::sync::LazyLock;

use highwater_notation::Timestamp;
use serde::{Deserialize, Serialize};

use crate::decide::FlowFloor;
use crate::id::{UpstreamId, VirtualServerId};

/// What one token grants. Each field narrows; nothing in it widens another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// Which calls. By membership: whoever may destroy may not therefore read.
    pub permissions: Permissions,
    /// At which servers.
    pub servers: ServerScope,
    /// Which tools of those servers. Resources and prompts are a matter of server and permission.
    #[serde(default)]
    pub tools: ToolScope,
    /// The one virtual server the token opens; every one if there is none here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_server: Option<VirtualServerId>,
    /// The least with which its calls are judged, where the virtual server would do with less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowFloor>,
    /// From when on it grants nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

// === impl Grant ===

impl Grant {
    /// Everything, for ever: the operator's own agent, and whoever needs no token.
    pub fn everything() -> &'static Self {
        static EVERYTHING: LazyLock<Grant> = LazyLock::new(|| Grant {
            permissions: Permissions::all(),
            servers: ServerScope::All,
            tools: ToolScope::All,
            virtual_server: None,
            flow: None,
            expires: None,
        });
        &EVERYTHING
    }

    /// Nothing: a token that was revoked, and the worst that can be supposed of a caller.
    pub fn nothing() -> &'static Self {
        static NOTHING: LazyLock<Grant> = LazyLock::new(|| Grant {
            permissions: Permissions::EMPTY,
            servers: ServerScope::only([]),
            tools: ToolScope::only([]),
            ..Grant::everything().clone()
        });
        &NOTHING
    }

    /// Whether the token grants this.
    pub fn permits(&self, permission: Permission) -> bool {
        self.permissions.contains(permission)
    }

    /// Whether the token opens this virtual server.
    pub fn enters(&self, virtual_server: &VirtualServerId) -> bool {
        self.virtual_server.as_ref().is_none_or(|only| only == virtual_server)
    }

    /// Whether the token's time is over.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| now >= expires)
    }

    /// Whether the tool, by its server's own name, is within the token's servers and tools, whatever its class.
    pub fn reaches_tool(&self, upstream: &UpstreamId, own: &str) -> bool {
        self.servers.covers(upstream) && self.tools.covers(upstream, own)
    }

    /// Whether a tool of this class is listed: it is within reach, and a plain call to it is permitted.
    pub fn shows_tool(&self, upstream: &UpstreamId, own: &str, class: CallVariant) -> bool {
        self.permits(class.into()) && self.reaches_tool(upstream, own)
    }

    /// Whether the resources and prompts of a server are listed.
    pub fn shows_data_of(&self, upstream: &UpstreamId) -> bool {
        self.permits(Permission::Read) && self.servers.covers(upstream)
    }

    /// Whether lists need no look at single entries, since everything is shown.
    pub fn shows_everything(&self) -> bool {
        self.servers == ServerScope::All
            && self.tools == ToolScope::All
            && CallVariant::ALL.iter().all(|class| self.permits((*class).into()))
    }
}

#[cfg(test)]
mod tests;
