//! Does to labels what follows from what hosts tell, and puts it on record.

use highwater_audit::{AuditEvent, Happened};
use highwater_core::annotation::DataClass;
use highwater_core::id::SessionKey;
use highwater_core::label::Label;
use highwater_core::trust::TrustLevel;
use highwater_hosts::binding::{ConversationKey, Effect, Finding, FirstLabel, Node};
use highwater_hosts::host::Host;
use highwater_notation::Timestamp;
use highwater_store::{SessionRecord, StoreError};

use super::node::node_of_key;
use super::state::{Owed, State};
use crate::gateway::{Gateway, now};

/// How many sessions are looked at for what an account has read lately.
const MOST_RECENT: u32 = 1000;

impl Gateway {
    /// Does what is owed, in order. What fails stays owed, with everything after it.
    pub(super) async fn pay(&self, state: &mut State) -> Result<(), StoreError> {
        while let Some(owed) = state.owed.front().cloned() {
            match &owed {
                Owed::Effect(effect) => self.apply(state, effect).await?,
                Owed::Result(node, label, reply) => {
                    self.take_in_result(node, label, &reply.tool).await?;
                    self.tell_native_reply(node, reply, label);
                }
                Owed::Mention(node, label) => self.take_in_result(node, label, "@file").await?,
            }
            state.owed.pop_front();
        }
        Ok(())
    }

    async fn apply(&self, state: &mut State, effect: &Effect) -> Result<(), StoreError> {
        match effect {
            Effect::Begin(node, first) => self.begin_node(state, node, first).await,
            Effect::Join(from, into) => {
                let (label, _) = self.labels_of_nodes(std::slice::from_ref(from)).await?;
                if self.raise_node(into, &label).await? {
                    self.remark(
                        into,
                        "joined",
                        "what another one of its conversations has read is part of it",
                    );
                }
                Ok(())
            }
            Effect::Beside(node, others) => {
                let label = match others.as_slice() {
                    [] => self.read_lately().await?,
                    others => self.possible_labels(others).await?,
                };
                self.session_of_node(node).begin_hosted(&Label::bottom(), Some(&label)).await?;
                self.remark(
                    node,
                    "unconfirmed",
                    "the conversation turned up elsewhere while another one could have started it",
                );
                Ok(())
            }
            Effect::End(node) => {
                let session = self.session_of_node(node);
                session.end();
                self.evidence.forget(session.key());
                Ok(())
            }
            Effect::Finding(node, finding) => {
                let (what, detail) = finding_words(node.conversation.host, finding);
                tracing::warn!(session = %self.session_of_node(node).key(), "{detail}");
                self.raise_node(node, &unaccounted(node.conversation.host)).await?;
                self.remark(node, what, &detail);
                Ok(())
            }
        }
    }

    async fn begin_node(&self, state: &mut State, node: &Node, first: &FirstLabel) -> Result<(), StoreError> {
        let session = self.session_of_node(node);
        let nothing = Label::bottom();
        let host = node.conversation.host.title();
        match first {
            FirstLabel::Fresh => {
                self.bring_words(node, true).await;
                session.begin_hosted(&nothing, None).await?;
                self.remark(node, "conversation", &format!("{host} began a conversation"));
            }
            FirstLabel::FreshBeside(others) => {
                self.bring_words(node, true).await;
                let beside = self.possible_labels(others).await?;
                session.begin_hosted(&nothing, Some(&beside)).await?;
                let detail = format!("{host} began a conversation while another one could have started it");
                self.remark(node, "unconfirmed", &detail);
            }
            FirstLabel::Stored => {
                let is_confirmed = state.binding.is_confirmed(&node.conversation);
                if !session.begin_hosted(&nothing, None).await? && is_confirmed {
                    state.late.insert(node.clone());
                }
                self.bring_words(node, false).await;
                if session.current().await?.pending.is_some() {
                    // Nobody said so before we were started again, either.
                    state.binding.doubt_again(&node.conversation);
                } else if !is_confirmed {
                    session.begin_hosted(&nothing, Some(&self.read_lately().await?)).await?;
                }
                let what = if is_confirmed { "conversation" } else { "unconfirmed" };
                self.remark(node, what, &format!("{host} goes on with a conversation"));
            }
            FirstLabel::CopyOf(originals) => {
                let (label, beside) = self.labels_of_nodes(originals).await?;
                if node.agent.is_some() {
                    // Before anything is read in it, so that it is known that nothing was.
                    let root = Node { conversation: node.conversation.clone(), agent: None };
                    self.evidence.share(&session, &self.session_of_node(&root)).await;
                }
                session.begin_hosted(&label, beside.as_ref()).await?;
                if node.agent.is_none() {
                    self.bring_words(node, false).await;
                }
                let what = if node.agent.is_some() { "sub-agent" } else { "conversation" };
                self.remark(node, what, &format!("{host} began it with the label of the one it comes from"));
            }
        }
        Ok(())
    }

    async fn take_in_result(&self, node: &Node, label: &Label, tool: &str) -> Result<(), StoreError> {
        if self.raise_node(node, label).await? {
            self.remark(
                node,
                "host-tool",
                &format!("`{tool}` of {} raised the label", node.conversation.host.title()),
            );
        }
        Ok(())
    }

    /// Raises the label of a node. Whether that is news.
    pub(super) async fn raise_node(&self, node: &Node, label: &Label) -> Result<bool, StoreError> {
        let session = self.session_of_node(node);
        // So that it is known whether it rises.
        session.current().await?;
        Ok(self.road.sessions.absorb(&session, label, false).await?.raised)
    }

    /// Everything that some nodes may hold.
    async fn possible_labels(&self, nodes: &[Node]) -> Result<Label, StoreError> {
        let (label, beside) = self.labels_of_nodes(nodes).await?;
        Ok(beside.into_iter().fold(label, |label, beside| label.joined(&beside)))
    }

    /// Whether a conversation that was there before we were started, and of which nothing was heard since, has read what
    /// strangers wrote.
    pub(super) async fn were_others_untrusted(
        &self,
        state: &State,
        conversation: &ConversationKey,
    ) -> Result<bool, StoreError> {
        let is_other = |session: &SessionRecord| {
            let found = node_of_key(session.key.as_str());
            found.is_some_and(|(other, _)| other != *conversation && !state.binding.knows(&other))
        };
        let sessions = self.used_lately().await?;
        Ok(sessions.iter().any(|session| session.label.untrusted() && is_other(session)))
    }

    async fn used_lately(&self) -> Result<Vec<SessionRecord>, StoreError> {
        let quiet = u64::try_from(self.settings.load().quiet.as_millis()).unwrap_or(u64::MAX);
        let since = Timestamp(now().0.saturating_sub(quiet));
        let mut sessions = self.store.sessions(None, None, MOST_RECENT).await?;
        sessions.retain(|session| session.seen >= since);
        Ok(sessions)
    }

    /// What the account has read lately, in any conversation.
    async fn read_lately(&self) -> Result<Label, StoreError> {
        let sessions = self.used_lately().await?;
        Ok(sessions.iter().fold(Label::bottom(), |label, session| label.joined(&session.label)))
    }

    /// Puts on record what became of a node.
    pub(super) fn remark(&self, node: &Node, what: &str, detail: &str) {
        self.remark_on(self.session_of_node(node).key(), what, detail);
    }

    fn remark_on(&self, session: &SessionKey, what: &str, detail: &str) {
        let happened = Happened::Remark { session, what, detail };
        if let Err(error) = self.audit.append(&AuditEvent { time: now(), id: None, happened }) {
            tracing::error!(%error, "what a host told could not be recorded in the audit log");
        }
    }
}

/// What a conversation may hold in which something happened that no hook told of.
pub(super) fn unaccounted(host: Host) -> Label {
    let label = Label::bottom().with_integrity(TrustLevel::None).with_class(DataClass::Unclassified);
    label.with_origin(&format!("host:{host}:unannounced"))
}

fn finding_words(host: Host, finding: &Finding) -> (&'static str, String) {
    let host = host.title();
    match finding {
        Finding::RanUnanswered(call) => (
            "ran-unanswered",
            format!(
                "a tool of {host} ran although its hook got no answer (call `{call}`): it is off, or was stopped or killed"
            ),
        ),
        Finding::ContradictoryCall(call) => (
            "contradictory-call",
            format!("a call of {host} was announced twice, differently (call `{call}`)"),
        ),
        Finding::SecondPrompt(turn) => (
            "second-prompt",
            format!("a second prompt came in one turn of {host} (turn `{turn}`): another process sent it"),
        ),
    }
}
