//! One conversation: its sub-agents, its prompts, and whether the person has opened it.

use std::collections::{BTreeMap, VecDeque};

use super::{ConversationKey, HostProcess, KeptPrompt, MAX_AGENTS, MAX_PROMPTS, Node};
use crate::event::{AgentId, EventKind, HostEvent, TurnId};
use crate::words::{MAX_PROMPT, PromptOrigin};

/// What was heard of one conversation.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) alive: bool,
    pub(super) confirmed: bool,
    /// Whether the person was asked to confirm it.
    pub(super) asked: bool,
    /// The process that runs it.
    pub(super) process: Option<HostProcess>,
    /// Where it works, and since when.
    pub(super) folder: Option<String>,
    pub(super) since: u64,
    pub(super) last_heard: u64,
    /// When it last ran a command of the shell.
    pub(super) last_command: Option<u64>,
    agents: BTreeMap<AgentId, Child>,
    prompts: VecDeque<KeptPrompt>,
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
            folder: None,
            since: now,
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
        let request = self.prompts.back().and_then(|prompt| prompt.event.turn.clone());
        self.agents.insert(agent.clone(), Child { alive: true, request });
        true
    }

    /// Notes that a sub-agent is done. It may be continued later.
    pub(super) fn end_agent(&mut self, agent: &AgentId) {
        if let Some(child) = self.agents.get_mut(agent) {
            child.alive = false;
        }
    }

    /// Keeps a prompt. Whether it is the first of its turn, or the same one again. Tasks of sub-agents are
    /// nobody's words, and many of them would push the request out: they are not kept.
    pub(super) fn keep_prompt(&mut self, event: &HostEvent) -> bool {
        let Some(turn) = event.turn.as_ref().filter(|_| event.agent.is_none()) else { return true };
        let event = bounded(event);
        if let Some(known) = self.prompt(turn) {
            return known.event.kind == event.kind;
        }
        self.prompts.push_back(KeptPrompt { event, origin: PromptOrigin::Unrecorded });
        if self.prompts.len() > MAX_PROMPTS {
            self.prompts.pop_front();
        }
        true
    }

    pub(super) fn prompt(&self, turn: &TurnId) -> Option<&KeptPrompt> {
        self.prompts.iter().find(|prompt| prompt.event.turn.as_ref() == Some(turn))
    }

    /// The turns that came before this one, oldest first; all of them where its prompt is not kept.
    pub(super) fn turns_before(&self, turn: &TurnId) -> impl Iterator<Item = &TurnId> {
        self.prompts
            .iter()
            .filter_map(|prompt| prompt.event.turn.as_ref())
            .take_while(move |known| *known != turn)
    }

    /// Notes what a host says beside a call of where the prompt of its turn came from. What was said first
    /// stays, unless it is contradicted.
    pub(super) fn note_origin(&mut self, turn: &TurnId, origin: &PromptOrigin) {
        let mut prompts = self.prompts.iter_mut();
        let Some(prompt) = prompts.find(|prompt| prompt.event.turn.as_ref() == Some(turn)) else { return };
        if prompt.origin == PromptOrigin::Unrecorded {
            prompt.origin = origin.clone();
        } else if prompt.origin != *origin {
            prompt.origin = PromptOrigin::Other("contradictory".to_owned());
        }
    }

    /// The turn of the request that a call serves. A sub-agent may have turns of its own, whose prompt is
    /// its task; the request is the one that was open when it was started.
    pub(super) fn request_of(&self, agent: Option<&AgentId>, turn: Option<TurnId>) -> Option<TurnId> {
        let Some(child) = agent.and_then(|agent| self.agents.get(agent)) else { return turn };
        let is_the_conversations = turn.as_ref().is_some_and(|turn| self.prompt(turn).is_some());
        if is_the_conversations { turn } else { child.request.clone() }
    }

    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.agents.len(), self.prompts.len())
    }
}

/// A prompt as it is kept. One that is too long to be anybody's words stays too long, and no longer than that.
fn bounded(event: &HostEvent) -> HostEvent {
    let mut event = event.clone();
    if let EventKind::Prompt(text) = &mut event.kind
        && text.len() > MAX_PROMPT
    {
        let end = (MAX_PROMPT + 1..text.len()).find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(text.len()));
        text.shrink_to_fit();
    }
    event
}
