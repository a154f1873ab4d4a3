//! What each event does to what is known.

use super::announcements::Heard;
use super::conversation::Conversation;
use super::{
    Binding, Carrier, ConversationKey, Effect, Finding, FirstLabel, HostProcess, MAX_CONVERSATIONS, Node, Tie,
};
use crate::event::{EventKind, HostEvent, StartSource, ToolCall};

/// The tools by which agents run commands, in the hosts' names.
const SHELLS: [&str; 1] = ["Bash"];

/// Why a conversation may not be the person's own.
struct Doubt {
    nodes: Vec<Node>,
    /// Whether there may be more of them, which are forgotten.
    forgotten: bool,
}

// === impl Doubt ===

impl Doubt {
    fn is_there(&self) -> bool {
        self.forgotten || !self.nodes.is_empty()
    }
}

// === impl Binding ===

impl Binding {
    /// Takes an event in. `is_untrusted` says of a node whether its label is one of strangers' text.
    pub fn hear(
        &mut self,
        event: &HostEvent,
        carrier: Carrier,
        now: u64,
        is_untrusted: &dyn Fn(&Node) -> bool,
    ) -> Vec<Effect> {
        let key = ConversationKey { host: event.host, id: event.conversation.clone() };
        let process = process_of(carrier);
        let was_known = self.conversations.contains_key(&key);
        let mut effects = Vec::new();
        match &event.kind {
            EventKind::Start(source) => {
                effects.extend(self.start(&key, source, carrier, now, is_untrusted));
            }
            _ if !was_known => {
                // Hooks were installed, or we were started, in the middle of it; or it was forgotten, which must
                // not make it more than it was.
                let doubt = self.doubt(&key, now, is_untrusted);
                self.remember(&key, Conversation::new(!doubt.is_there(), process, now));
                effects.push(Effect::Begin(root(&key), FirstLabel::Stored));
            }
            _ => {}
        }
        if let Carrier::Tool(connection) = carrier {
            self.tie(connection, &key, Tie::Sure, now);
        }
        let Some(conversation) = self.conversations.get_mut(&key) else { return effects };
        conversation.last_heard = now;
        if conversation.folder.is_none() {
            conversation.folder = event.folder.clone();
        }
        if !matches!(event.kind, EventKind::End(_)) {
            conversation.alive = true;
        }
        let agent = event.agent.as_ref().map(|agent| &agent.id);
        if let Some(agent) = agent
            && conversation.hear_agent(agent)
        {
            let child = conversation.node(&key, Some(agent));
            effects.push(Effect::Begin(child, FirstLabel::CopyOf(vec![root(&key)])));
        }
        let node = conversation.node(&key, agent);
        match &event.kind {
            EventKind::Prompt(_) if !conversation.keep_prompt(event) => {
                let turn = event.turn.clone();
                effects.extend(turn.map(|turn| Effect::Finding(node, Finding::SecondPrompt(turn))));
            }
            EventKind::Before(call) => {
                if SHELLS.contains(&call.tool.as_str()) {
                    conversation.last_command = Some(now);
                }
                if self.announcements.announce(event, call) == Heard::Contradictory {
                    effects.push(Effect::Finding(node, Finding::ContradictoryCall(call.id.clone())));
                }
            }
            EventKind::After(call, _) => effects.extend(self.ran(event, &node, call, was_known)),
            EventKind::SubagentStop(_) => {
                if let Some(agent) = agent {
                    conversation.end_agent(agent);
                }
                // Where sub-agents are not told apart the node is the conversation itself.
                if node.agent.is_some() {
                    effects.push(Effect::Join(node, root(&key)));
                }
            }
            EventKind::End(_) => {
                conversation.alive = false;
                effects.push(Effect::End(root(&key)));
            }
            EventKind::Prompt(_)
            | EventKind::Start(_)
            | EventKind::Permission { .. }
            | EventKind::Batch(_)
            | EventKind::SubagentStart
            | EventKind::Instructions { .. }
            | EventKind::Notice(_)
            | EventKind::Unknown(_) => {}
        }
        effects
    }

    /// A conversation that begins or goes on.
    fn start(
        &mut self,
        key: &ConversationKey,
        source: &StartSource,
        carrier: Carrier,
        now: u64,
        is_untrusted: &dyn Fn(&Node) -> bool,
    ) -> Vec<Effect> {
        let process = process_of(carrier);
        let doubt = self.doubt(key, now, is_untrusted);
        let before = self.run_by(process, key);
        let was_confirmed = before.as_ref().is_some_and(|before| self.is_confirmed(before));
        // One process has one conversation at a time.
        for (other, found) in &mut self.conversations {
            if other != key && process.is_some() && found.process == process {
                found.alive = false;
            }
        }
        if self.conversations.contains_key(key) {
            return self.go_on(key, carrier, doubt);
        }
        let (confirmed, label) = match source {
            // The person typed `/clear` into a conversation that was theirs.
            StartSource::Clear if was_confirmed => (true, FirstLabel::Fresh),
            StartSource::Startup | StartSource::Clear if !doubt.is_there() => (true, FirstLabel::Fresh),
            // Whose label would have to be beside it is forgotten.
            StartSource::Startup | StartSource::Clear if doubt.forgotten => (false, FirstLabel::Stored),
            StartSource::Startup | StartSource::Clear => (false, FirstLabel::FreshBeside(doubt.nodes)),
            StartSource::Resume | StartSource::Compact => (!doubt.is_there(), FirstLabel::Stored),
            // The host does not say of what it is a copy, so it is one of everything that it may be.
            StartSource::Fork | StartSource::Unknown(_) => {
                let originals = self.possible_originals(key, before.as_ref());
                let label =
                    if originals.is_empty() { FirstLabel::Stored } else { FirstLabel::CopyOf(originals) };
                (!doubt.is_there(), label)
            }
        };
        self.remember(key, Conversation::new(confirmed, process, now));
        vec![Effect::Begin(root(key), label)]
    }

    /// A conversation that is known goes on. No event takes its label away; but one that turns up in another
    /// process, or on another connection, may have been taken over from a shell.
    fn go_on(&mut self, key: &ConversationKey, carrier: Carrier, doubt: Doubt) -> Vec<Effect> {
        let is_elsewhere = match carrier {
            Carrier::Tool(connection) => {
                let tied = self.connections.get(&connection);
                !tied.is_some_and(|connection| connection.conversations.contains_key(key))
            }
            Carrier::Command(process) => {
                self.conversations.get(key).is_some_and(|known| known.process != process)
            }
        };
        let Some(known) = self.conversations.get_mut(key) else { return Vec::new() };
        known.process = process_of(carrier).or(known.process);
        if !is_elsewhere || !doubt.is_there() {
            return Vec::new();
        }
        known.confirmed = false;
        vec![Effect::Beside(root(key), doubt.nodes)]
    }

    /// A tool has run: its `PreToolUse` must have been answered.
    fn ran(&self, event: &HostEvent, node: &Node, call: &ToolCall, was_known: bool) -> Option<Effect> {
        // The answer to a call from before we listened was given by nobody, and that is no finding.
        let is_finding = was_known && !self.announcements.was_answered(event.host, &call.id);
        is_finding.then(|| Effect::Finding(node.clone(), Finding::RanUnanswered(call.id.clone())))
    }

    /// Which conversations could have started this one from their shell: they hold strangers' text and have run
    /// commands not long ago.
    fn doubt(&self, key: &ConversationKey, now: u64, is_untrusted: &dyn Fn(&Node) -> bool) -> Doubt {
        let lately = |at: Option<u64>| at.is_some_and(|at| now.saturating_sub(at) < self.quiet);
        let others = self.conversations.iter();
        let others = others.filter(|(other, found)| *other != key && lately(found.last_command));
        let nodes = others.flat_map(|(other, found)| found.nodes(other, false));
        let nodes = nodes.filter(|node| is_untrusted(node)).collect();
        Doubt { nodes, forgotten: lately(self.forgotten_command) }
    }

    /// The conversation that a process ran last, other than this one.
    fn run_by(&self, process: Option<HostProcess>, key: &ConversationKey) -> Option<ConversationKey> {
        let process = process?;
        let run = self
            .conversations
            .iter()
            .filter(|(other, found)| *other != key && found.process == Some(process));
        run.max_by_key(|(_, found)| found.last_heard).map(|(other, _)| other.clone())
    }

    /// What a conversation may be a copy of.
    fn possible_originals(&self, key: &ConversationKey, before: Option<&ConversationKey>) -> Vec<Node> {
        let originals = self.conversations.iter().filter(|(other, _)| {
            other.host == key.host && *other != key && before.is_none_or(|before| *other == before)
        });
        originals.map(|(other, _)| root(other)).collect()
    }

    /// Keeps a conversation; the one that was silent longest gives way.
    fn remember(&mut self, key: &ConversationKey, conversation: Conversation) {
        if self.conversations.len() >= MAX_CONVERSATIONS {
            let oldest = self.conversations.iter().min_by_key(|(_, found)| (found.alive, found.last_heard));
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                let forgotten = self.conversations.remove(&oldest);
                let command = forgotten.and_then(|forgotten| forgotten.last_command);
                self.forgotten_command = self.forgotten_command.max(command);
                self.announcements.forget(oldest.host, &oldest.id);
                for connection in self.connections.values_mut() {
                    connection.conversations.remove(&oldest);
                }
            }
        }
        self.conversations.insert(key.clone(), conversation);
    }
}

fn process_of(carrier: Carrier) -> Option<HostProcess> {
    match carrier {
        Carrier::Command(process) => process,
        Carrier::Tool(_) => None,
    }
}

fn root(key: &ConversationKey) -> Node {
    Node { conversation: key.clone(), agent: None }
}
