//! Takes an event in: what it tells of conversations first, then what a tool of the host has brought.

use std::sync::atomic::Ordering;

use highwater_hosts::answer::Verdict;
use highwater_hosts::binding::{Carrier, ConversationKey, Effect, Node};
use highwater_hosts::event::{CallId, EventKind, HostEvent, Outcome, ToolCall};
use highwater_hosts::host::Host;
use highwater_hosts::sample::is_made_up;
use highwater_hosts::table::read_payload;
use highwater_hosts::words::mentioned_files;
use highwater_store::StoreError;

use super::evidence::NativeReply;
use super::native::{Told, label_of_mention, label_of_result};
use super::state::{Owed, State};
use super::{CommandHook, HookAnswer, HookFault, HookStatus};
use crate::gateway::Gateway;

/// How many files that a prompt mentions are looked at.
const MAX_MENTIONS: usize = 64;

impl Gateway {
    /// Takes in what a command hook was told. What it does to labels is stored when this returns.
    ///
    /// # Errors
    ///
    /// The input is no event of this host, or what follows from it could not be stored.
    pub async fn hear_command(&self, told: &CommandHook<'_>) -> Result<HookAnswer, HookFault> {
        let event = read_payload(told.host, told.hook, told.input)?;
        let call = match &event.kind {
            EventKind::Before(call) => Some(call.id.clone()),
            _ => None,
        };
        if !is_made_up(&event.conversation) {
            let mut state = self.hosts.state.lock().await;
            state.binding.know_server(told.server);
            state.note(&event, Some(told.ancestry));
            let outer = told.outer.and_then(|outer| state.binding.conversation_in(outer));
            self.hear(&mut state, &event, Carrier::Command(told.process)).await?;
            if let Some(outer) = outer {
                self.nest(&mut state, &event, &outer).await?;
            }
        }
        // The host's own tools are heard and not judged.
        Ok(HookAnswer { verdict: Verdict::Pass, call })
    }

    /// Notes that the host has the answer to a hook.
    pub async fn note_hook_answer(&self, host: Host, call: &CallId) {
        self.hosts.state.lock().await.binding.note_answer(host, call);
    }

    /// The hosts whose hooks were heard since the gateway was started.
    pub async fn hook_status(&self) -> Vec<HookStatus> {
        self.hosts.state.lock().await.hosts()
    }

    pub(super) async fn hear(
        &self,
        state: &mut State,
        event: &HostEvent,
        carrier: Carrier,
    ) -> Result<(), StoreError> {
        self.hosts.heard.store(true, Ordering::Release);
        let conversation = ConversationKey { host: event.host, id: event.conversation.clone() };
        let (now, is_untrusted) = (self.hosts.now(), |node: &Node| self.is_untrusted(node));
        // What ran before we were started may have run a command: who forgets is not to be less careful.
        let is_doubted =
            !state.binding.knows(&conversation) && self.were_others_untrusted(state, &conversation).await?;
        let before = is_doubted.then(|| state.binding.set_forgotten_command(Some(now)));
        let effects = state.binding.hear(event, carrier, now, &is_untrusted);
        if let Some(before) = before {
            state.binding.set_forgotten_command(before);
        }
        state.owed.extend(effects.into_iter().map(Owed::Effect));
        let node = Node { conversation, agent: event.agent.as_ref().map(|agent| agent.id.clone()) };
        let brought = |state: &State, call: &ToolCall, outcome: &Outcome| {
            // The road has labelled what our own tools answered.
            let is_ours = state.binding.is_ours(call);
            let label = (!is_ours).then(|| {
                let places = &self.world.load().places;
                label_of_result(&Told { event, call, outcome, places })
            });
            let reply = || NativeReply::of(event.host, call, outcome);
            label.flatten().map(|label| Owed::Result(node.clone(), label, reply()))
        };
        let raised: Vec<Owed> = match &event.kind {
            EventKind::Prompt(prompt) => self.mentioned(event, prompt, &node),
            EventKind::After(call, outcome) => {
                // What a tool printed may be what a host below it has read.
                let below = state.below(&node.conversation).into_iter().map(root);
                let below = below.map(|child| Owed::Effect(Effect::Join(child, node.clone())));
                below.chain(brought(state, call, outcome)).collect()
            }
            EventKind::Batch(calls) => {
                calls.iter().filter_map(|(call, outcome)| brought(state, call, outcome)).collect()
            }
            _ => Vec::new(),
        };
        state.owed.extend(raised);
        self.pay(state).await
    }

    /// A host that a tool of another one has started is a sub-agent of that conversation: it has read what that one has.
    async fn nest(
        &self,
        state: &mut State,
        event: &HostEvent,
        outer: &ConversationKey,
    ) -> Result<(), StoreError> {
        let child = ConversationKey { host: event.host, id: event.conversation.clone() };
        if state.nest(&child, outer) {
            state.owed.push_back(Owed::Effect(Effect::Join(root(outer.clone()), root(child))));
        }
        self.pay(state).await
    }

    /// What files bring in that a prompt mentions. Names of files that are not there are names of something else.
    fn mentioned(&self, event: &HostEvent, prompt: &str, node: &Node) -> Vec<Owed> {
        if event.host != Host::ClaudeCode || event.agent.is_some() {
            return Vec::new();
        }
        let places = &self.world.load().places;
        let files = mentioned_files(prompt).into_iter().take(MAX_MENTIONS);
        let labels = files.filter_map(|file| label_of_mention(event, &file, places));
        labels.map(|label| Owed::Mention(node.clone(), label)).collect()
    }
}

fn root(conversation: ConversationKey) -> Node {
    Node { conversation, agent: None }
}
