//! A server that is a child of ours: one message a line over its pipes, all calls on one conversation.

mod calls;
mod conversation;
mod heartbeat;
mod lines;
mod listen;
mod message_owner;
mod negotiate;
mod process;
mod stderr;
mod writer;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use highwater_mcp::era::Era;
use highwater_mcp::frame::Frame;
use tokio::sync::watch;
use tokio::time::Instant;

pub(crate) use stderr::StderrTail;

use crate::error::{Cause, UpstreamError};
use crate::link::{Greeting, LinkWorld, Outbound};
use crate::spec::{RememberedEra, ServerSpec};
use listen::Listening;
use process::Process;

/// A live conversation with a child.
pub(crate) struct StdioLink {
    listening: Listening,
    process: Process,
    greeting: Arc<Greeting>,
}

// === impl StdioLink ===

impl StdioLink {
    /// Starts the child and greets it.
    pub(crate) async fn connect(
        spec: &ServerSpec,
        wire: &LinkWorld,
        remembered: Option<RememberedEra>,
    ) -> Result<(Self, RememberedEra), UpstreamError> {
        let (process, greeting) = negotiate::meet(spec, wire, remembered).await?;
        let era = match greeting.era {
            Era::Legacy => RememberedEra::Legacy,
            Era::Modern => RememberedEra::Modern,
        };
        Ok((Self { listening: Listening::default(), process, greeting: Arc::new(greeting) }, era))
    }

    pub(crate) async fn exchange(&self, outbound: Outbound<'_>) -> Result<Frame, UpstreamError> {
        self.process.conversation.exchange(outbound).await
    }

    pub(crate) fn greeting(&self) -> &Arc<Greeting> {
        &self.greeting
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.process.conversation.calls.is_over()
    }

    /// Why the conversation is over, if it is.
    pub(crate) fn ended_by(&self) -> Option<Cause> {
        self.process.conversation.calls.over()
    }

    /// Becomes true when the child has ended.
    pub(crate) fn ended(&self) -> watch::Receiver<bool> {
        self.process.ended()
    }

    /// The guard's process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Tells a legacy child that a client's roots changed.
    pub(crate) fn roots_changed(&self) {
        if self.greeting.era == Era::Legacy {
            self.process.conversation.notify("notifications/roots/list_changed", None);
        }
    }

    /// Modern only: list changes, and these resources.
    pub(crate) async fn set_subscriptions(&self, uris: &[String]) -> Result<(), UpstreamError> {
        self.listening.listen(&self.process.conversation, &self.greeting, uris).await
    }

    /// When the child last said anything; before that, when it was started.
    pub(crate) fn heard(&self) -> Instant {
        self.process.conversation.heard.last()
    }

    /// When the oldest request was made that waits for an answer.
    pub(crate) fn owes_since(&self) -> Option<Instant> {
        let conversation = &self.process.conversation;
        conversation.calls.oldest(conversation.listening.load(Ordering::Relaxed))
    }

    /// Whether the child waits for the answer to a question of its own.
    pub(crate) fn asks(&self) -> bool {
        self.process.conversation.asks()
    }

    /// Whether something of the child's tree was stopped.
    pub(crate) fn has_stopped(&self) -> bool {
        self.process.has_stopped()
    }

    /// Ends a child that does not answer, with its whole tree; its calls fail for this reason at once.
    pub(crate) async fn give_up(&self, cause: Cause, grace: Duration) {
        self.process.give_up(&cause, grace).await;
    }

    pub(crate) async fn close(&self, grace: Duration) {
        self.process.end(grace).await;
    }
}
