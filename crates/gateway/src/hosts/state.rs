//! What is remembered of the conversations that hosts tell of, beside how calls are bound to them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use highwater_core::label::Label;
use highwater_hosts::ancestry::Ancestry;
use highwater_hosts::binding::{Binding, ConversationKey, Effect, MAX_CONVERSATIONS, MAX_PROMPTS, Node};
use highwater_hosts::event::{ConversationId, HostEvent, TurnId};
use highwater_hosts::host::Host;
use highwater_hosts::words::AcceptedWords;
use highwater_notation::Timestamp;
use serde::Serialize;

use super::USUAL_NAME;
use super::evidence::NativeReply;
use crate::gateway::now;

/// Everything that hosts have told.
pub(super) struct State {
    pub(super) binding: Binding,
    conversations: BTreeMap<ConversationKey, Heard>,
    /// What is still to be done to labels, in this order.
    pub(super) owed: VecDeque<Owed>,
    /// Nodes that were first heard of in the middle, of which nothing is stored.
    pub(super) late: BTreeSet<Node>,
    /// Conversations of hosts that a tool of another one started, with the one it belongs to.
    nested: BTreeMap<ConversationKey, ConversationKey>,
    hosts: BTreeMap<Host, HookStatus>,
    /// The latest events of made-up conversations, for whoever wants to know whether they arrived.
    made_up: VecDeque<(ConversationId, String)>,
}

/// How many made-up events are remembered: several runs of `doctor` at once.
const MAX_MADE_UP: usize = 256;

/// Something to be done to a label.
#[derive(Clone, Debug)]
pub(super) enum Owed {
    Effect(Effect),
    /// What a tool of the host has brought in.
    Result(Node, Label, NativeReply),
    /// What a file brings in that a prompt mentions.
    Mention(Node, Label),
}

/// What is remembered of one conversation.
#[derive(Debug)]
pub(super) struct Heard {
    /// What stood above the host when its last command hook ran.
    pub(super) ancestry: Ancestry,
    /// Whether people were told that a call of it was unannounced.
    pub(super) complained: bool,
    /// Where the host keeps the transcript, as it said first; nothing where it later said otherwise.
    transcript: Option<Option<String>>,
    /// The last turn whose prompt counts once somebody says that the conversation is theirs.
    pub(super) postponed: Option<(TurnId, AcceptedWords)>,
    /// Turns of which it is known whose words their prompts are, the oldest first.
    settled: VecDeque<TurnId>,
    last: Timestamp,
}

/// What is known of the hooks of one host.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookStatus {
    /// The host by its name on our command line.
    pub host: &'static str,
    /// The name that people know.
    pub title: &'static str,
    /// How many events came since the gateway was started.
    pub events: u64,
    /// Which event came last, and when.
    pub last_event: String,
    pub last: Timestamp,
    /// How many conversations were heard of.
    pub conversations: u64,
}

// === impl State ===

impl State {
    pub(super) fn new(quiet: u64) -> Self {
        let mut binding = Binding::new(Vec::new(), quiet);
        binding.know_server(USUAL_NAME);
        Self {
            binding,
            conversations: BTreeMap::new(),
            owed: VecDeque::new(),
            late: BTreeSet::new(),
            nested: BTreeMap::new(),
            hosts: BTreeMap::new(),
            made_up: VecDeque::new(),
        }
    }

    /// Notes that a made-up event came, of which nothing else comes.
    pub(super) fn note_made_up(&mut self, event: &HostEvent) {
        if self.made_up.len() >= MAX_MADE_UP {
            self.made_up.pop_front();
        }
        self.made_up.push_back((event.conversation.clone(), event.kind.name().to_owned()));
    }

    /// The events of a made-up conversation that came.
    pub(super) fn made_up(&self, conversation: &str) -> Vec<String> {
        let of = self.made_up.iter().filter(|(found, _)| found.as_str() == conversation);
        of.map(|(_, event)| event.clone()).collect()
    }

    /// Notes that an event came.
    pub(super) fn note(&mut self, event: &HostEvent, ancestry: Option<Ancestry>) {
        let key = ConversationKey { host: event.host, id: event.conversation.clone() };
        let is_new = !self.conversations.contains_key(&key);
        if is_new && self.conversations.len() >= MAX_CONVERSATIONS {
            let oldest = self.conversations.iter().min_by_key(|(_, heard)| heard.last);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.conversations.remove(&oldest);
                self.late.retain(|node| node.conversation != oldest);
                self.nested.remove(&oldest);
            }
        }
        let heard = self.conversations.entry(key).or_insert_with(Heard::new);
        heard.last = now();
        // A sub-agent may have a transcript of its own.
        if event.agent.is_none() {
            heard.note_transcript(event.transcript.as_ref());
        }
        if let Some(ancestry) = ancestry {
            heard.ancestry = ancestry;
        }
        let status = self.hosts.entry(event.host).or_insert_with(|| {
            let host = event.host.title();
            tracing::info!("hooks of {host} are at work; its conversations are told apart by its own ids");
            HookStatus::of(event.host)
        });
        status.events += 1;
        status.conversations += u64::from(is_new);
        status.last = heard.last;
        status.last_event = event.kind.name().to_owned();
    }

    pub(super) fn heard(&mut self, conversation: &ConversationKey) -> Option<&mut Heard> {
        self.conversations.get_mut(conversation)
    }

    /// Notes that a tool of a conversation has started the host of another one. Whether that is news.
    pub(super) fn nest(&mut self, child: &ConversationKey, parent: &ConversationKey) -> bool {
        child != parent && self.nested.insert(child.clone(), parent.clone()).as_ref() != Some(parent)
    }

    /// The conversations that tools of this one have started.
    pub(super) fn below(&self, parent: &ConversationKey) -> Vec<ConversationKey> {
        let below = self.nested.iter().filter(|(_, outer)| *outer == parent);
        below.map(|(child, _)| child.clone()).collect()
    }

    /// The hosts that were heard of.
    pub(super) fn hosts(&self) -> Vec<HookStatus> {
        self.hosts.values().cloned().collect()
    }
}

// === impl Heard ===

impl Heard {
    fn new() -> Self {
        Self {
            ancestry: Ancestry::Unknown,
            complained: false,
            transcript: None,
            postponed: None,
            settled: VecDeque::new(),
            last: now(),
        }
    }

    pub(super) fn transcript(&self) -> Option<String> {
        self.transcript.clone().flatten()
    }

    fn note_transcript(&mut self, path: Option<&String>) {
        let Some(path) = path else { return };
        match &self.transcript {
            None => self.transcript = Some(Some(path.clone())),
            Some(Some(known)) if known == path => {}
            Some(_) => self.transcript = Some(None),
        }
    }

    pub(super) fn is_settled(&self, turn: &TurnId) -> bool {
        self.settled.contains(turn)
    }

    pub(super) fn settle(&mut self, turn: &TurnId) {
        self.settled.push_back(turn.clone());
        if self.settled.len() > MAX_PROMPTS {
            self.settled.pop_front();
        }
    }
}

// === impl HookStatus ===

impl HookStatus {
    fn of(host: Host) -> Self {
        Self {
            host: host.name(),
            title: host.title(),
            events: 0,
            last_event: String::new(),
            last: now(),
            conversations: 0,
        }
    }
}
