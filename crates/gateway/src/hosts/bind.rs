//! To which conversation of a host a request belongs.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};

use highwater_core::label::Label;
use highwater_hosts::binding::{CallBinding, ConnectionId, ConversationKey, Node, Unannounced};
use highwater_hosts::event::TurnId;
use highwater_hosts::host::Host;
use highwater_mcp::frame::Frame;
use highwater_mcp::method::Method;
use highwater_mcp::text::unquote;
use highwater_notation::Timestamp;
use highwater_store::{SessionHandle, StoreError};

use super::label::unaccounted;
use super::state::State;
use super::tool::meta_of;
use super::words::LOOKS;
use crate::client::Client;
use crate::gateway::{Gateway, now};

/// Numbers for connections, by their names.
static NUMBERS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// What a request belongs to.
#[derive(Debug)]
pub(crate) struct Bound {
    /// The session under which it is judged.
    pub(crate) session: SessionHandle,
    /// Others that it may belong to: what it brings in is theirs, too.
    others: Vec<SessionHandle>,
    pub(crate) node: Node,
    /// The turn whose prompt it follows from, where a hook has told.
    pub(crate) turn: Option<TurnId>,
    /// Where and when the conversation was opened, while nobody has said that it is theirs.
    pub(crate) opened: Option<Opened>,
}

/// A conversation that nobody has said is theirs.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) host: Host,
    pub(crate) folder: Option<String>,
    pub(crate) at: Timestamp,
}

// === impl Bound ===

impl Bound {
    /// Whether it may belong to several conversations.
    pub(crate) fn is_shared(&self) -> bool {
        !self.others.is_empty()
    }
}

impl Gateway {
    /// The conversation of a host that a request belongs to, if hooks tell of one.
    ///
    /// # Errors
    ///
    /// What hosts have told could not be stored, so nothing can be said of any label.
    pub(crate) async fn bind(
        &self,
        client: &Client,
        method: Option<Method>,
        frame: &Frame,
    ) -> Result<Option<Bound>, StoreError> {
        if !self.is_of_this_account(client) {
            return Ok(None);
        }
        let bound = self.bound(client, method, frame).await?;
        if let Some(bound) = &bound {
            self.learn_words(bound, &client.caller().token).await?;
        }
        Ok(bound)
    }

    async fn bound(
        &self,
        client: &Client,
        method: Option<Method>,
        frame: &Frame,
    ) -> Result<Option<Bound>, StoreError> {
        let mut state = self.hosts.state.lock().await;
        self.pay(&mut state).await?;
        let connection = self.connection_of(client);
        let binding = match (method, frame.param("name").and_then(unquote)) {
            (Some(Method::CallTool), Some(tool)) => {
                // What is garbled is no call id.
                let meta = meta_of(frame).unwrap_or_default();
                let goes_on =
                    frame.param("requestState").is_some() || frame.param("inputResponses").is_some();
                state.binding.bind_call(connection, meta.as_ref(), &tool, goes_on, self.hosts.now())
            }
            _ => {
                let nodes = state.binding.nodes_of(connection);
                return self.belonging_to(&mut state, client, nodes).await;
            }
        };
        match binding {
            CallBinding::Unbound => Ok(None),
            CallBinding::Announced { node, beside, turn } => {
                let nodes = [vec![node], beside].concat();
                let bound = self.belonging_to(&mut state, client, nodes).await?;
                Ok(bound.map(|bound| Bound { others: Vec::new(), turn, ..bound }))
            }
            CallBinding::Unannounced { nodes, why } => {
                for node in &nodes {
                    self.raise_node(node, &unaccounted(node.conversation.host)).await?;
                    self.complain(&mut state, node, why).await;
                }
                self.belonging_to(&mut state, client, nodes).await
            }
        }
    }

    /// A request that belongs to the first of these nodes and may belong to the others.
    async fn belonging_to(
        &self,
        state: &mut State,
        client: &Client,
        nodes: Vec<Node>,
    ) -> Result<Option<Bound>, StoreError> {
        let Some((node, others)) = nodes.split_first() else { return Ok(None) };
        let session = self.session_of_node(node);
        let (mut label, _) = self.labels_of_nodes(others).await?;
        // A conversation that was first heard of in the middle has read what its connection has.
        if state.late.contains(node) {
            label.join(&client.caller().session.current().await?.possible());
        }
        if label != Label::bottom() {
            self.raise_node(node, &label).await?;
        }
        state.late.remove(node);
        let others = others.iter().map(|other| self.session_of_node(other)).collect();
        let opened = self.opened(state, &node.conversation);
        Ok(Some(Bound { session, others, node: node.clone(), turn: None, opened }))
    }

    /// Where and when a conversation was opened, if nobody has said that it is theirs.
    fn opened(&self, state: &State, conversation: &ConversationKey) -> Option<Opened> {
        if state.binding.is_confirmed(conversation) {
            return None;
        }
        let found =
            state.binding.unconfirmed().into_iter().find(|found| found.conversation == *conversation)?;
        let at = Timestamp(now().0.saturating_sub(self.hosts.now().saturating_sub(found.since)));
        Some(Opened { host: conversation.host, folder: found.folder, at })
    }

    /// Takes a person's word that a conversation is theirs: what counted beside its label counts no more, and what is
    /// typed in it are their words.
    pub(crate) async fn confirm_conversation(
        &self,
        conversation: &ConversationKey,
        (person, reason): (&str, &str),
    ) -> Result<(), StoreError> {
        let mut state = self.hosts.state.lock().await;
        state.binding.confirm(conversation);
        for node in state.binding.nodes_in(conversation) {
            let session = self.session_of_node(&node);
            let known = session.current().await?;
            if known.pending.is_some() {
                session.begin_anew(None, known.epoch, &Label::bottom(), person, reason).await?;
            }
        }
        let postponed = state.heard(conversation).and_then(|heard| heard.postponed.take());
        drop(state);
        match postponed {
            Some((turn, accepted)) => {
                let root = Node { conversation: conversation.clone(), agent: None };
                self.learn(&root, &turn, accepted, LOOKS).await
            }
            None => Ok(()),
        }
    }

    /// Joins what a request has brought in to everything that it may belong to.
    ///
    /// # Errors
    ///
    /// It could not be stored: nothing of it may be released.
    pub(crate) async fn share(&self, bound: &Bound) -> Result<(), StoreError> {
        if bound.others.is_empty() {
            return Ok(());
        }
        let label = bound.session.current().await?.label.clone();
        for other in &bound.others {
            self.road.sessions.absorb(other, &label, false).await?;
        }
        Ok(())
    }

    /// Tells people, once in a conversation, that calls come that no hook announced.
    async fn complain(&self, state: &mut State, node: &Node, why: Unannounced) {
        let (host, session) = (node.conversation.host, self.session_of_node(node));
        let reason = words(why);
        self.remark(node, "unannounced-call", reason);
        let complained = match state.heard(&node.conversation) {
            Some(heard) => std::mem::replace(&mut heard.complained, true),
            None => false,
        };
        if complained {
            return;
        }
        let message = format!(
            "{} made a call that none of its hooks announced: {reason}. What it does with its own tools is no longer seen. \
             Run `highwater doctor {host}` to find out which hooks are off, and `highwater connect {host}` to switch them on.",
            host.title()
        );
        tracing::warn!(session = %session.key(), "{message}");
        let principal = &session.owner().principal;
        if let Err(error) = self.store.note(principal, Some(session.key()), "hooks", message).await {
            tracing::warn!(%error, "a notice about hooks was not kept");
        }
    }

    /// Whether a client runs under the account whose data directory this is, as hooks do.
    pub(crate) fn is_of_this_account(&self, client: &Client) -> bool {
        let settings = self.settings.load();
        client.is_local() || (settings.listen.is_loopback() && settings.allowed_hosts.is_empty())
    }

    /// The number of a client's connection, for as long as we run.
    pub(super) fn connection_of(&self, client: &Client) -> ConnectionId {
        let caller = client.caller();
        let name: Arc<str> = match client {
            Client::Legacy(session) => Arc::clone(&session.id),
            Client::Modern(_) => caller.session.way().unwrap_or_else(|| caller.session.key()).as_str().into(),
        };
        ConnectionId(NUMBERS.hash_one((caller.principal.as_str(), name)))
    }
}

fn words(why: Unannounced) -> &'static str {
    match why {
        Unannounced::NoCallId => "the request bears no call id",
        Unannounced::NeverHeard => "no hook told of this call",
        Unannounced::OtherCall => "it was announced as another call",
        Unannounced::Contradictory => "it was announced twice, differently",
        Unannounced::UsedBefore => "a call with this id was made before",
    }
}
