//! What tells agent sessions apart: the kinds of session key, who owns a session, and how a key is written.

use highwater_core::id::{Principal, SessionKey, VirtualServerId};
use serde::Serialize;

use crate::StoreError;

/// What a session's key was made from. All keys are scoped under the principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionKind {
    /// The id that an agent host has for its own conversation, or for a sub-agent of it, told by its hooks.
    Host,
    /// A context id in the endpoint's path.
    Context,
    /// A transport session that we minted, in the handshake era.
    Transport,
    /// A connection over standard input and output.
    Connection,
    /// An id that the client chose and whose token may choose.
    Client,
    /// The principal itself: the widest.
    Principal,
    /// What one principal does without anybody saying which conversation it belongs to.
    Presumed,
    /// Requests that come without any session. Such a key is only ever a way into a presumed conversation.
    Stateless,
}

/// Whose session it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOwner {
    /// Who asks.
    pub principal: Principal,
    /// Through which virtual server first.
    pub virtual_server: VirtualServerId,
    /// What the key was made from.
    pub kind: SessionKind,
}

// === impl SessionKind ===

impl SessionKind {
    /// The key of a session of this kind. `id` says which; the principal's own session has none.
    pub fn key(self, principal: &Principal, id: &str) -> SessionKey {
        // The principal may hold a slash, the id comes last: no two pairs make the same key.
        let principal = principal.as_str().replace('%', "%25").replace('/', "%2F");
        let word = self.word();
        match self {
            Self::Principal | Self::Presumed | Self::Stateless => {
                SessionKey::new(format!("{word}/{principal}"))
            }
            Self::Host | Self::Context | Self::Transport | Self::Connection | Self::Client => {
                SessionKey::new(format!("{word}/{principal}/{id}"))
            }
        }
    }

    /// The kind as it is stored.
    pub fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Context => "context",
            Self::Transport => "transport",
            Self::Connection => "connection",
            Self::Client => "client",
            Self::Principal => "principal",
            Self::Presumed => "presumed",
            Self::Stateless => "stateless",
        }
    }

    pub(crate) fn from_word(word: &str) -> Result<Self, StoreError> {
        let all = [
            Self::Host,
            Self::Context,
            Self::Transport,
            Self::Connection,
            Self::Client,
            Self::Principal,
            Self::Presumed,
            Self::Stateless,
        ];
        let found = all.into_iter().find(|kind| kind.word() == word);
        found.ok_or(StoreError::Foreign { what: "a session of an unknown kind" })
    }
}

// === impl SessionOwner ===

impl SessionOwner {
    /// The owner of the principal's presumed conversation.
    pub(crate) fn presumed(&self) -> Self {
        Self { kind: SessionKind::Presumed, ..self.clone() }
    }

    /// The key of the principal's presumed conversation.
    pub(crate) fn presumed_key(&self) -> SessionKey {
        SessionKind::Presumed.key(&self.principal, "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_sessions_share_a_key() {
        let key = |principal: &str, id: &str| SessionKind::Context.key(&Principal::new(principal), id);
        assert_eq!(key("agent", "a").as_str(), "context/agent/a");
        assert_ne!(key("agent/a", "b"), key("agent", "a/b"));
        assert_ne!(key("agent%2Fa", "b"), key("agent/a", "b"));
        assert_eq!(SessionKind::Principal.key(&Principal::new("agent"), "").as_str(), "principal/agent");
    }
}
