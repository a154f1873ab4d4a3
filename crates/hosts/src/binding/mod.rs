//! Which conversation, sub-agent and turn an MCP call belongs to, by what the hooks told.
//!
//! A [`Binding`] holds what was heard of one account's conversations. Hook events go to [`Binding::hear`],
//! MCP calls to [`Binding::bind_call`], both in the order in which they arrive; what is to be done to labels
//! comes back as [`Effect`]s and as the [`CallBinding`]. Time enters as milliseconds of any clock that never
//! goes back.
//!
//! What holds, whatever arrives in whatever order:
//!
//! - A call is tied to a conversation only by one announcement of its id. The first one counts; a second one
//!   with other content voids both. An announcement serves one call.
//! - A conversation that is known never begins again: no event takes a label away.
//! - What is doubtful is tied to everything it may belong to, never to less.
//! - Memory is bounded. What was pushed out counts as never heard, which is the stricter side.

mod announcements;
mod conversation;
mod hear;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::call_meta::CallMeta;
use crate::event::{AgentId, CallId, ConversationId, HostEvent, ToolCall, TurnId};
use crate::host::Host;
use crate::words::PromptOrigin;

use announcements::{Announcements, Claim};
use conversation::Conversation;

/// Conversations that are remembered at a time. The one that was silent longest is forgotten first; its
/// label is in the store.
pub const MAX_CONVERSATIONS: usize = 1024;

/// Sub-agents of one conversation that are told apart. Further ones count as the conversation itself.
pub const MAX_AGENTS: usize = 64;

/// Announced calls of one conversation that are remembered, used ones included.
pub const MAX_CALLS: usize = 256;

/// Prompts of one conversation that are remembered.
pub const MAX_PROMPTS: usize = 16;

/// Connections that are remembered.
pub const MAX_CONNECTIONS: usize = 512;

/// Names under which hosts know us that are remembered.
pub const MAX_SERVERS: usize = 16;

/// A client's connection, by the number that the gateway gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// The process of a host: its id and when it started, which together are used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostProcess {
    pub id: u32,
    pub started: u64,
}

/// The way on which an event came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// A call of the hidden tool on the client's own connection.
    Tool(ConnectionId),
    /// `highwater hook`, run by this process of the host as far as can be told.
    Command(Option<HostProcess>),
}

/// One conversation of a host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConversationKey {
    pub host: Host,
    pub id: ConversationId,
}

/// What bears a label: a conversation, or a sub-agent of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    pub conversation: ConversationKey,
    pub agent: Option<AgentId>,
}

/// With which label a node begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstLabel {
    /// A clean one.
    Fresh,
    /// A clean one, beside which the labels of these are judged until the person has said that the
    /// conversation is theirs.
    FreshBeside(Vec<Node>),
    /// The one in the store, or else that of a conversation that is presumed.
    Stored,
    /// The join of these.
    CopyOf(Vec<Node>),
}

/// What follows from an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Begin(Node, FirstLabel),
    /// The label of the first is joined into that of the second.
    Join(Node, Node),
    /// Labels of these are judged beside the first until the conversation is confirmed. Where none is named,
    /// they are forgotten: whatever the account has read lately counts.
    Beside(Node, Vec<Node>),
    /// The conversation is over.
    End(Node),
    Finding(Node, Finding),
}

/// Something that should not happen. Each raises the label of its node as an unannounced call does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A tool ran although its `PreToolUse` was never answered: the hook is off, or was stopped or killed.
    RanUnanswered(CallId),
    /// Two announcements of one call id with different contents.
    ContradictoryCall(CallId),
    /// A second prompt in one turn, which is another process's message. It is not kept.
    SecondPrompt(TurnId),
}

/// To what an MCP call belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallBinding {
    /// A hook announced it.
    Announced {
        node: Node,
        /// Others whose labels join in for this call: the connection speaks for them, and only a command says
        /// that this call is not theirs. Usually none.
        beside: Vec<Node>,
        /// The turn whose prompt it follows from.
        turn: Option<TurnId>,
    },
    /// Hooks are at work in this conversation and none announced the call. It takes the join of these
    /// labels, each of which is raised.
    Unannounced { nodes: Vec<Node>, why: Unannounced },
    /// Nothing was heard of whoever calls: hooks are not installed.
    Unbound,
}

/// Why a call counts as unannounced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unannounced {
    /// The request bears no call id, which the host gives to every call of a model.
    NoCallId,
    /// No `PreToolUse` told this id.
    NeverHeard,
    /// It was announced for another tool, conversation or sub-agent.
    OtherCall,
    /// It was announced twice, differently.
    Contradictory,
    /// A call with this id was made before.
    UsedBefore,
}

/// The prompt with which a turn began. It is not yet anybody's words: see [`words`](crate::words).
#[derive(Clone, Debug, PartialEq)]
pub struct KeptPrompt {
    pub event: HostEvent,
    /// Where it came from by what the host said beside calls of the same turn. Codex does; for Claude Code
    /// the transcript is asked.
    pub origin: PromptOrigin,
}

/// A conversation that the person has not said is theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unconfirmed {
    pub conversation: ConversationKey,
    pub folder: Option<String>,
    /// When it was first heard of.
    pub since: u64,
}

/// What was heard of the conversations of one account.
#[derive(Debug)]
pub struct Binding {
    /// The names under which hosts know us as an MCP server.
    servers: Vec<String>,
    /// How long the commands of another conversation make a new one doubtful, in milliseconds.
    quiet: u64,
    conversations: BTreeMap<ConversationKey, Conversation>,
    connections: BTreeMap<ConnectionId, Connection>,
    announcements: Announcements,
    /// When a conversation that is forgotten last ran a command: what cannot be looked at any more is doubtful.
    forgotten_command: Option<u64>,
}

/// What was heard of one connection.
#[derive(Debug, Default)]
struct Connection {
    conversations: BTreeMap<ConversationKey, Tie>,
    last_used: u64,
}

/// How surely a conversation uses a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tie {
    /// A command announced a call that came there, after the connection was another's.
    Claimed,
    /// It was the first there, or the host itself called the hidden tool there.
    Sure,
}

// === impl Binding ===

impl Binding {
    pub fn new(servers: Vec<String>, quiet: u64) -> Self {
        Self {
            servers,
            quiet,
            conversations: BTreeMap::new(),
            connections: BTreeMap::new(),
            announcements: Announcements::default(),
            forgotten_command: None,
        }
    }

    /// Learns a name under which a host knows us, as its own server and as that of a plugin.
    pub fn know_server(&mut self, name: &str) {
        for name in [name.to_owned(), format!("plugin:{name}:{name}")] {
            if self.servers.len() < MAX_SERVERS && !self.servers.contains(&name) {
                self.servers.push(name);
            }
        }
    }

    /// Whether a tool of a host is one of ours: the road has judged it already.
    pub fn is_ours(&self, call: &ToolCall) -> bool {
        self.servers.iter().any(|server| call.is_at(server))
    }

    /// Ties a `tools/call` to what announced it. `goes_on` says that the request is a further round of a call
    /// that was tied before: it bears the same id.
    pub fn bind_call(
        &mut self,
        connection: ConnectionId,
        meta: Option<&CallMeta>,
        tool: &str,
        goes_on: bool,
        now: u64,
    ) -> CallBinding {
        let Some((meta, call)) = meta.and_then(|meta| Some((meta, meta.call.as_ref()?))) else {
            return self.unannounced(connection, meta, Unannounced::NoCallId);
        };
        let claim = Claim { host: meta.host, call, connection, goes_on };
        let announced = match self.announcements.claim(&claim, |announced| {
            let is_same_tool = self.servers.iter().any(|server| announced.call.calls(server, tool));
            let is_same_conversation =
                meta.conversation.as_ref().is_none_or(|id| *id == announced.conversation);
            // Codex says in whose thread a call is made; Claude Code leaves it to the hook.
            let is_same_agent = meta.host == Host::ClaudeCode || meta.agent == announced.agent;
            is_same_tool && is_same_conversation && is_same_agent
        }) {
            Ok(announced) => announced,
            Err(why) => return self.unannounced(connection, Some(meta), why),
        };
        let key = ConversationKey { host: meta.host, id: announced.conversation.clone() };
        let (agent, turn) = (announced.agent.clone(), announced.turn.clone());
        self.tie(connection, &key, Tie::Claimed, now);
        let beside = self.others_on(connection, &key);
        let Some(conversation) = self.conversations.get_mut(&key) else {
            return self.unannounced(connection, Some(meta), Unannounced::NeverHeard);
        };
        conversation.last_heard = now;
        if let Some(turn) = meta.turn.as_ref().filter(|_| meta.agent.is_none()) {
            conversation.note_origin(turn, &meta.origin);
        }
        let node = conversation.node(&key, agent.as_ref());
        let turn = conversation.request_of(agent.as_ref(), turn).filter(|_| beside.is_empty());
        CallBinding::Announced { node, beside, turn }
    }

    /// To what a request belongs that is no call of a tool: everything that is alive on its connection.
    /// Nothing where no hook was heard.
    pub fn nodes_of(&self, connection: ConnectionId) -> Vec<Node> {
        let Some(connection) = self.connections.get(&connection) else { return Vec::new() };
        self.widest(&connection.conversations.keys().cloned().collect())
    }

    /// Notes that the answer to a `PreToolUse` has been given to the host.
    pub fn note_answer(&mut self, host: Host, call: &CallId) {
        self.announcements.note_answer(host, call);
    }

    /// The prompt with which a turn of the conversation began.
    pub fn prompt(&self, conversation: &ConversationKey, turn: &TurnId) -> Option<&KeptPrompt> {
        self.conversations.get(conversation)?.prompt(turn)
    }

    /// The turns whose prompts came before that of this one, oldest first.
    pub fn turns_before(&self, conversation: &ConversationKey, turn: &TurnId) -> Vec<TurnId> {
        let conversation = self.conversations.get(conversation);
        conversation.map(|found| found.turns_before(turn).cloned().collect()).unwrap_or_default()
    }

    /// The conversation that a process of a host ran last.
    pub fn conversation_in(&self, process: HostProcess) -> Option<ConversationKey> {
        let run = self.conversations.iter().filter(|(_, found)| found.process == Some(process));
        run.max_by_key(|(_, found)| found.last_heard).map(|(key, _)| key.clone())
    }

    /// Whether the conversation is one that the person has opened, as far as anybody can tell.
    pub fn is_confirmed(&self, conversation: &ConversationKey) -> bool {
        self.conversations.get(conversation).is_some_and(|conversation| conversation.confirmed)
    }

    /// The conversations about which the person can be asked.
    pub fn unconfirmed(&self) -> Vec<Unconfirmed> {
        let unconfirmed = self.conversations.iter().filter(|(_, found)| !found.confirmed);
        let unconfirmed = unconfirmed.map(|(key, found)| Unconfirmed {
            conversation: key.clone(),
            folder: found.folder.clone(),
            since: found.since,
        });
        unconfirmed.collect()
    }

    /// Every node of a conversation.
    pub fn nodes_in(&self, conversation: &ConversationKey) -> Vec<Node> {
        let found = self.conversations.get(conversation);
        found.map(|found| found.nodes(conversation, false)).unwrap_or_default()
    }

    /// Whether to ask the person if the conversation is theirs: once, at the first act that needs it.
    pub fn should_ask(&mut self, conversation: &ConversationKey) -> bool {
        match self.conversations.get_mut(conversation) {
            Some(found) if !found.confirmed && !found.asked => {
                found.asked = true;
                true
            }
            _ => false,
        }
    }

    /// Takes a conversation for one that the person has not said is theirs: nobody said so before it was forgotten.
    pub fn doubt_again(&mut self, conversation: &ConversationKey) {
        if let Some(found) = self.conversations.get_mut(conversation) {
            found.confirmed = false;
        }
    }

    /// Whether anything was heard of a conversation that is still remembered.
    pub fn knows(&self, conversation: &ConversationKey) -> bool {
        self.conversations.contains_key(conversation)
    }

    /// Sets when a conversation that is forgotten last ran a command, and gives what was known of it before.
    pub fn set_forgotten_command(&mut self, at: Option<u64>) -> Option<u64> {
        std::mem::replace(&mut self.forgotten_command, at)
    }

    /// Takes the person's word that a conversation is theirs. Whether it was in doubt; then the labels
    /// beside its own are dropped.
    pub fn confirm(&mut self, conversation: &ConversationKey) -> bool {
        let found = self.conversations.get_mut(conversation);
        found.is_some_and(|conversation| !std::mem::replace(&mut conversation.confirmed, true))
    }

    /// Forgets a connection that was closed.
    pub fn close(&mut self, connection: ConnectionId) {
        self.connections.remove(&connection);
    }

    /// Remembers that a conversation uses a connection.
    fn tie(&mut self, connection: ConnectionId, conversation: &ConversationKey, tie: Tie, now: u64) {
        if !self.connections.contains_key(&connection) && self.connections.len() >= MAX_CONNECTIONS {
            let oldest = self.connections.iter().min_by_key(|(_, connection)| connection.last_used);
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                self.connections.remove(&oldest);
            }
        }
        let connection = self.connections.entry(connection).or_default();
        connection.last_used = now;
        let tie = if connection.conversations.is_empty() { Tie::Sure } else { tie };
        let known = connection.conversations.entry(conversation.clone()).or_insert(tie);
        *known = tie.max(*known);
    }

    /// Who else a connection speaks for, as far as this conversation is not surely there.
    fn others_on(&self, connection: ConnectionId, key: &ConversationKey) -> Vec<Node> {
        let Some(connection) = self.connections.get(&connection) else { return Vec::new() };
        if connection.conversations.get(key) == Some(&Tie::Sure) {
            return Vec::new();
        }
        let others = connection.conversations.keys().filter(|other| *other != key);
        let known = others.filter_map(|other| Some((other, self.conversations.get(other)?)));
        known.flat_map(|(other, conversation)| conversation.nodes(other, true)).collect()
    }

    /// A call that no hook announced: it belongs to everything it may belong to.
    fn unannounced(
        &mut self,
        connection: ConnectionId,
        meta: Option<&CallMeta>,
        why: Unannounced,
    ) -> CallBinding {
        let tied = self.connections.get(&connection);
        let tied = tied.map(|connection| connection.conversations.keys().cloned().collect());
        let mut keys: BTreeSet<ConversationKey> = tied.unwrap_or_default();
        let named = meta.and_then(|meta| {
            let id = meta.conversation.clone()?;
            Some(ConversationKey { host: meta.host, id })
        });
        keys.extend(named.filter(|key| self.conversations.contains_key(key)));
        // The id was announced, so hooks are at work, even if nothing ties them to this connection yet.
        if why != Unannounced::NoCallId && why != Unannounced::NeverHeard {
            let announced = meta.and_then(|meta| {
                let id = self.announcements.conversation_of(meta.host, meta.call.as_ref()?)?;
                Some(ConversationKey { host: meta.host, id })
            });
            keys.extend(announced);
        }
        let nodes = self.widest(&keys);
        if nodes.is_empty() { CallBinding::Unbound } else { CallBinding::Unannounced { nodes, why } }
    }

    /// Every node of these conversations that is alive, or all of them where none is.
    fn widest(&self, keys: &BTreeSet<ConversationKey>) -> Vec<Node> {
        let nodes = |only_alive: bool| -> Vec<Node> {
            let known = keys.iter().filter_map(|key| Some((key, self.conversations.get(key)?)));
            known.flat_map(|(key, conversation)| conversation.nodes(key, only_alive)).collect()
        };
        let alive = nodes(true);
        if alive.is_empty() { nodes(false) } else { alive }
    }
}
