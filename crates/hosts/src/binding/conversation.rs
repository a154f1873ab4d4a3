//! One conversation: its sub-agents, its prompts, and whether the person has opened it.

use std::collections::{BTreeMap, VecDeque};

use super::{ConversationKey, HostProcess, MAX_AGENTS, MAX_PROMPTS, Node};
use crate::event::{AgentId, HostEvent, TurnId};

/// What was heard of one conversation.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) alive: bool,
    pub(super) confirmed: bool,
    /// Whether the person was asked to confirm it.
    pub(super) asked: bool,
    /// The process that runs it.
    pub(super) process: Option<HostProcess>,
    pub(super) last_heard: u64,
    /// When it last ran a command of the shell.
    pub(super) last_command: Option<u64>,
    agents: BTreeMap<AgentId, Child>,
    prompts: VecDeque<HostEvent>,
}

/// A sub-agent.
#[derive(Debug)]
struct Child {
    alive: bool,
    /// The turn of the conversation in which it was started.
    request: Option<TurnId>,
}

// === impl Conversation ===

impl Conversation {
    pub(super) fn new(confirmed: bool, process: Option<HostProcess>, now: u64) -> Self {
        Self {
            alive: true,
            confirmed,
            asked: false,
            process,
            last_heard: now,
            last_command: None,
            agents: BTreeMap::new(),
            prompts: VecDeque::new(),
        }
    }

    /// The node of a sub-agent, or of the conversation itself.
    pub(super) fn node(&self, key: &ConversationKey, agent: Option<&AgentId>) -> Node {
        let agent = agent.filter(|agent| self.agents.contains_key(*agent)).cloned();
        Node { conversation: key.clone(), agent }
    }

    /// The conversation's own node and those of its sub-agents.
    pub(super) fn nodes(&self, key: &ConversationKey, only_alive: bool) -> Vec<Node> {
        let root = (!only_alive || self.alive).then(|| Node { conversation: key.clone(), agent: None });
        let agents = self.agents.iter().filter(|(_, child)| !only_alive || child.alive);
        let agents = agents.map(|(id, _)| Node { conversation: key.clone(), agent: Some(id.clone()) });
        root.into_iter().chain(agents).collect()
    }

    /// Notes that a sub-agent is at work. Whether it was not known before and is told apart from now on.
    pub(super) fn hear_agent(&mut self, agent: &AgentId) -> bool {
        if let Some(child) = self.agents.get_mut(agent) {
            child.alive = true;
            return false;
        }
        if self.agents.len() >= MAX_AGENTS {
            return false;
        }
        let request = self.prompts.back().and_then(|prompt| prompt.turn.clone());
        self.agents.insert(agent.clone(), Child { alive: true, request });
        true
    }

    /// Notes that a sub-agent is done. It may be continued later.
    pub(super) fn end_agent(&mut self, agent: &AgentId) {
        if let Some(child) = self.agents.get_mut(agent) {
            child.alive = false;
        }
    }

    /// Keeps a prompt. Whether it is the first of its turn, or the same one again.
    pub(super) fn keep_prompt(&mut self, event: &HostEvent) -> bool {
        let Some(turn) = &event.turn else { return true };
        if let Some(known) = self.prompt(turn) {
            return known.kind == event.kind && known.agent == event.agent;
        }
        self.prompts.push_back(event.clone());
        if self.prompts.len() > MAX_PROMPTS {
            self.prompts.pop_front();
        }
        true
    }

    pub(super) fn prompt(&self, turn: &TurnId) -> Option<&HostEvent> {
        self.prompts.iter().find(|prompt| prompt.turn.as_ref() == Some(turn))
    }

    /// The turn of the request that a call serves. A sub-agent may have turns of its own, whose prompt is
    /// its task; the request is the one that was open when it was started.
    pub(super) fn request_of(&self, agent: Option<&AgentId>, turn: Option<TurnId>) -> Option<TurnId> {
        let Some(child) = agent.and_then(|agent| self.agents.get(agent)) else { return turn };
        let is_the_users =
            turn.as_ref().and_then(|turn| self.prompt(turn)).is_some_and(|prompt| prompt.agent.is_none());
        if is_the_users { turn } else { child.request.clone() }
    }

    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.agents.len(), self.prompts.len())
    }
}
