//! The calls that hooks have announced, until MCP brings them.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};

use super::{ConnectionId, MAX_CALLS, Unannounced};
use crate::event::{AgentId, CallId, ConversationId, HostEvent, ToolCall, TurnId};
use crate::host::Host;

/// One announced call.
#[derive(Debug)]
pub(super) struct Announced {
    pub(super) conversation: ConversationId,
    pub(super) agent: Option<AgentId>,
    pub(super) turn: Option<TurnId>,
    /// The call with an empty input: the input is only compared.
    pub(super) call: ToolCall,
    content: u64,
    /// Whether another announcement of the same id said something else.
    contradictory: bool,
    /// Whether the host got our answer.
    answered: bool,
    /// The connection on which the call came.
    used_on: Option<ConnectionId>,
}

/// What became of an announcement.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    First,
    Again,
    Contradictory,
}

/// An MCP call that looks for its announcement.
pub(super) struct Claim<'a> {
    pub(super) host: Host,
    pub(super) call: &'a CallId,
    pub(super) connection: ConnectionId,
    pub(super) goes_on: bool,
}

#[derive(Debug, Default)]
pub(super) struct Announcements {
    calls: BTreeMap<(Host, CallId), Announced>,
    /// The ids of each conversation in the order in which they were announced, so that one that floods
    /// pushes out its own alone.
    order: BTreeMap<(Host, ConversationId), VecDeque<CallId>>,
}

// === impl Announcements ===

impl Announcements {
    pub(super) fn announce(&mut self, event: &HostEvent, call: &ToolCall) -> Heard {
        let content = content(event, call);
        let key = (event.host, call.id.clone());
        if let Some(known) = self.calls.get_mut(&key) {
            if known.content == content {
                return Heard::Again;
            }
            known.contradictory = true;
            return Heard::Contradictory;
        }
        let order = self.order.entry((event.host, event.conversation.clone())).or_default();
        order.push_back(call.id.clone());
        if order.len() > MAX_CALLS
            && let Some(oldest) = order.pop_front()
        {
            self.calls.remove(&(event.host, oldest));
        }
        let announced = Announced {
            conversation: event.conversation.clone(),
            agent: event.agent.as_ref().map(|agent| agent.id.clone()),
            turn: event.turn.clone(),
            call: ToolCall { input: serde_json::Value::Null, ..call.clone() },
            content,
            contradictory: false,
            answered: false,
            used_on: None,
        };
        self.calls.insert(key, announced);
        Heard::First
    }

    /// The announcement of an MCP call, which is thereby used.
    pub(super) fn claim(
        &mut self,
        claim: &Claim<'_>,
        fits: impl FnOnce(&Announced) -> bool,
    ) -> Result<&Announced, Unannounced> {
        let found = self.calls.get_mut(&(claim.host, claim.call.clone())).ok_or(Unannounced::NeverHeard)?;
        if found.contradictory {
            return Err(Unannounced::Contradictory);
        }
        if !fits(found) {
            return Err(Unannounced::OtherCall);
        }
        match found.used_on {
            None if !claim.goes_on => found.used_on = Some(claim.connection),
            Some(_) if claim.goes_on => {}
            // A round of a call that was never made, or a second call under the id of the first.
            None => return Err(Unannounced::OtherCall),
            Some(_) => return Err(Unannounced::UsedBefore),
        }
        Ok(found)
    }

    pub(super) fn note_answer(&mut self, host: Host, call: &CallId) {
        if let Some(found) = self.calls.get_mut(&(host, call.clone())) {
            found.answered = true;
        }
    }

    pub(super) fn was_answered(&self, host: Host, call: &CallId) -> bool {
        self.calls.get(&(host, call.clone())).is_some_and(|found| found.answered)
    }

    pub(super) fn conversation_of(&self, host: Host, call: &CallId) -> Option<ConversationId> {
        self.calls.get(&(host, call.clone())).map(|found| found.conversation.clone())
    }

    /// Drops what a conversation announced.
    pub(super) fn forget(&mut self, host: Host, conversation: &ConversationId) {
        for call in self.order.remove(&(host, conversation.clone())).unwrap_or_default() {
            self.calls.remove(&(host, call));
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }
}

/// A digest of everything that an announcement says. Two contents of one digest would only let the first
/// stand, which is what a repeated announcement does anyway.
fn content(event: &HostEvent, call: &ToolCall) -> u64 {
    let mut hasher = DefaultHasher::new();
    event.conversation.hash(&mut hasher);
    event.turn.hash(&mut hasher);
    event.agent.as_ref().map(|agent| &agent.id).hash(&mut hasher);
    call.tool.hash(&mut hasher);
    // Members of objects are in the order of their names, so equal values have equal texts.
    call.input.to_string().hash(&mut hasher);
    hasher.finish()
}
