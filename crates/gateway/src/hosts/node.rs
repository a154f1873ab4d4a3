//! The session of a host's conversation, or of a sub-agent of it.

use highwater_core::id::VirtualServerId;
use highwater_core::label::Label;
use highwater_hosts::binding::{ConversationKey, Node};
use highwater_hosts::event::ConversationId;
use highwater_hosts::host::Host;
use highwater_store::{SessionHandle, SessionKind, SessionOwner, StoreError};

use crate::gateway::Gateway;
use crate::world::DEFAULT_VIRTUAL_SERVER;

impl Gateway {
    /// The session of a node. Hosts and their hooks run under the account whose data directory this is, whichever tokens
    /// their connections come with: the key is the account's.
    pub(super) fn session_of_node(&self, node: &Node) -> SessionHandle {
        let principal = self.tokens.local.principal.clone();
        let kind = SessionKind::Host;
        let key = kind.key(&principal, &id_of(node));
        let virtual_server = VirtualServerId::new(DEFAULT_VIRTUAL_SERVER);
        self.store.session(&key, &SessionOwner { principal, virtual_server, kind })
    }

    /// The labels of some nodes, joined, and what counts beside them.
    pub(super) async fn labels_of_nodes(&self, nodes: &[Node]) -> Result<(Label, Option<Label>), StoreError> {
        let (mut label, mut beside) = (Label::bottom(), None);
        for node in nodes {
            let state = self.session_of_node(node).current().await?;
            label.join(&state.label);
            if let Some(pending) = &state.pending {
                beside.get_or_insert_with(Label::bottom).join(&pending.label);
            }
        }
        Ok((label, beside))
    }

    /// Whether a node has read what strangers wrote. One that cannot be looked at counts as if it had.
    pub(super) fn is_untrusted(&self, node: &Node) -> bool {
        let known = self.session_of_node(node).cached();
        known.is_none_or(|state| state.possible().untrusted())
    }
}

/// What tells a node from every other, in the key of its session.
fn id_of(node: &Node) -> String {
    let ConversationKey { host, id } = &node.conversation;
    match &node.agent {
        None => format!("{host}/{}", escaped(id.as_str())),
        Some(agent) => format!("{host}/{}/{}", escaped(id.as_str()), escaped(agent.as_str())),
    }
}

/// The conversation of a session's key, if it is a host's, and whether the session is that of a sub-agent.
pub(crate) fn node_of_key(key: &str) -> Option<(ConversationKey, bool)> {
    let mut parts = key.split('/');
    let is_hosts = parts.next() == Some(SessionKind::Host.word());
    let (host, id) = (parts.nth(1).filter(|_| is_hosts)?, parts.next()?);
    let id = ConversationId::new(&id.replace("%2F", "/").replace("%25", "%"))?;
    Some((ConversationKey { host: Host::from_name(host)?, id }, parts.next().is_some()))
}

fn escaped(id: &str) -> String {
    id.replace('%', "%25").replace('/', "%2F")
}

#[cfg(test)]
mod tests {
    use highwater_core::id::Principal;
    use highwater_hosts::event::AgentId;

    use super::*;

    fn node(id: &str, agent: Option<&str>) -> Node {
        let conversation = ConversationKey { host: Host::Codex, id: ConversationId::new(id).unwrap() };
        Node { conversation, agent: agent.map(|agent| AgentId::new(agent).unwrap()) }
    }

    #[test]
    fn a_key_leads_back_to_its_conversation() {
        for (id, agent) in [("01a1", None), ("a/b%2Fc", None), ("01a1", Some("x/y"))] {
            let node = node(id, agent);
            let key = SessionKind::Host.key(&Principal::new("local"), &id_of(&node));
            let is_agent = node.agent.is_some();
            assert_eq!(node_of_key(key.as_str()), Some((node.conversation, is_agent)), "{key}");
        }
        assert_eq!(node_of_key("context/local/codex/x"), None);
        assert_eq!(node_of_key("host/local/emacs/x"), None);
    }

    #[test]
    fn a_sub_agent_is_not_mistaken_for_a_conversation() {
        assert_ne!(id_of(&node("a/b", None)), id_of(&node("a", Some("b"))));
    }
}
