//! Sends a permitted action off and keeps it company: relays what precedes the reply, puts questions to the client.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use highwater_core::action::Action;
use highwater_core::audit::Outcome;
use highwater_core::decide::{Obligations, PermittedAction};
use highwater_core::id::DecisionId;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::Era;
use highwater_mcp::era::reply::without_ours;
use highwater_mcp::error_code;
use highwater_mcp::frame::Frame;
use highwater_mcp::text::string_member;
use highwater_store::{Appended, AuditError};
use highwater_upstream::channel;
use highwater_upstream::control::LogLevel;
use highwater_upstream::error::UpstreamError;
use highwater_upstream::event::{Ask, CallEvent, CallSink};
use highwater_upstream::{CallClient, Reply};

use super::Arrival;
use super::arrival::{Course, TaskBridge};
use super::inputs::Asked;
use super::record::OpenRecord;
use crate::client::Client;
use crate::gateway::Gateway;
use crate::greet::TASKS_EXTENSION;

/// How many events of one call may wait for a slow client before its upstream is slowed down.
const EVENT_BUFFER: usize = 16;

/// A call under way. Dropping it cancels the call upstream and records that.
pub(super) struct Flight {
    work: Pin<Box<dyn Future<Output = Result<Reply, UpstreamError>> + Send>>,
    events: channel::Receiver<CallEvent>,
    /// Held, and declared after the receiver, so that the end of the work does not close the channel: that would wake
    /// this very task for nothing, and another core with it.
    _open: CallSink,
    pub(super) record: OpenRecord,
    /// What was sent, for the judgement of the reply, and where the upstream wants it again with answers.
    pub(super) action: Arc<Action>,
    pub(super) obligations: Obligations,
}

/// How a stretch of a call ends.
pub(super) enum Landing {
    /// With a reply: a result or an error of the upstream.
    Reply(Reply),
    /// With a question to a modern client.
    Asked(Ask, Appended),
    /// Without a reply.
    Failed(UpstreamError),
}

// === impl Flight ===

impl Flight {
    pub(super) fn decision(&self) -> &DecisionId {
        self.record.decision()
    }

    /// Puts the outcome of a reply that will be delivered on record.
    pub(super) fn settle(&mut self, reply: &Reply) -> Result<Appended, AuditError> {
        let outcome = if reply.frame.error().is_some() { Outcome::UpstreamError } else { Outcome::Delivered };
        self.record.settle(outcome, reply.frame.bytes().len(), None, None)
    }

    /// Puts a round that ended with questions on record. Nothing is released by it, so a failure to write shows when the
    /// next round is recorded.
    pub(super) fn settle_round(&mut self, reply: &Reply) -> Asked {
        if let Err(error) =
            self.record.settle(Outcome::Delivered, reply.frame.bytes().len(), Some("asked back"), None)
        {
            tracing::error!(%error, "a round of questions could not be recorded");
        }
        Asked { decision: self.decision().clone(), params: self.action.params().into() }
    }
}

impl Gateway {
    /// Starts a permitted action whose decision is on record.
    pub(super) fn forward(
        &self,
        arrival: &Arrival,
        course: &Course,
        permitted: PermittedAction,
        obligations: Obligations,
        written: Appended,
    ) -> Flight {
        let record = OpenRecord::open(Arc::clone(&self.audit), permitted.decision().clone(), written);
        let action = Arc::clone(permitted.action());
        let (sender, events) = channel::channel(EVENT_BUFFER);
        let open = sender.clone();
        let upstream = Arc::clone(&course.station.upstream);
        let client = arrival.client.clone();
        let progress = course.progress.is_some();
        let task = course.task;
        let work = Box::pin(async move {
            let log_level = client.log_level().map(LogLevel::as_str);
            let capabilities = match task {
                TaskBridge::Modern => Cow::Owned(with_tasks(client.capabilities())),
                TaskBridge::None | TaskBridge::Legacy => Cow::Borrowed(client.capabilities()),
            };
            let client = CallClient { capabilities: &capabilities, log_level, progress };
            upstream.perform(permitted, client, &sender).await
        });
        Flight { work, events, _open: open, record, action, obligations }
    }

    /// Stays with a call until it lands.
    pub(super) async fn accompany(&self, arrival: &Arrival, course: &Course, flight: &mut Flight) -> Landing {
        // Made for the first question: most calls have none.
        let mut questions = None;
        let decision = flight.decision().clone();
        loop {
            let event = tokio::select! {
                // What came before the reply goes out before the reply.
                biased;
                Some(event) = flight.events.recv() => event,
                Some(()) = next_of(&mut questions), if questions.is_some() => continue,
                reply = &mut flight.work => {
                    while let Some(event) = flight.events.try_recv() {
                        if let CallEvent::Progress(frame) | CallEvent::Notification(frame) = event {
                            self.relay(arrival, course, &frame).await;
                        }
                    }
                    return reply.map_or_else(Landing::Failed, Landing::Reply);
                }
            };
            match event {
                CallEvent::Progress(frame) | CallEvent::Notification(frame) => {
                    self.relay(arrival, course, &frame).await
                }
                CallEvent::Ask(ask) => match &arrival.client {
                    Client::Legacy(session) => {
                        questions.get_or_insert_with(FuturesUnordered::new).push(self.question(
                            arrival,
                            Arc::clone(session),
                            course,
                            decision.clone(),
                            ask,
                        ));
                    }
                    Client::Modern(_) => {
                        if let Some((ask, recorded)) = self.may_hold(arrival, course, &decision, ask) {
                            return Landing::Asked(ask, recorded);
                        }
                    }
                },
            }
        }
    }

    /// Passes a notification of a call on to its caller.
    async fn relay(&self, arrival: &Arrival, course: &Course, frame: &Frame) {
        let Some(message) = outward_notification(arrival, course, frame) else { return };
        if arrival.outlet.send(message.into()).await.is_err() {
            tracing::debug!("nobody reads the events of a call any more");
        }
    }
}

/// The next question that is settled, or nothing if none is open.
async fn next_of<F: Future<Output = ()>>(questions: &mut Option<FuturesUnordered<F>>) -> Option<()> {
    let settled = questions.as_mut()?.next().await;
    if settled.is_none() {
        *questions = None;
    }
    settled
}

/// Capabilities that say, in a modern client's name, that tasks are understood.
fn with_tasks(capabilities: &str) -> String {
    let tasks = [(TASKS_EXTENSION, Edit::Set("{}"))];
    edit_object(capabilities, &[("extensions", Edit::Merge(&tasks))])
}

/// The notification as the caller should see it, if the caller should see it at all.
fn outward_notification(arrival: &Arrival, course: &Course, frame: &Frame) -> Option<Vec<u8>> {
    let method = frame.method()?;
    let unforged = frame.params().map(without_ours);
    let params = unforged.as_deref();
    // As it came, unless it spoke in our name.
    let whole = || match &unforged {
        Some(Cow::Owned(params)) => error_code::notification(method, Some(params)),
        Some(Cow::Borrowed(_)) | None => frame.bytes().to_vec(),
    };
    match method {
        "notifications/progress" => {
            let token = course.progress.as_deref()?;
            let params = edit_object(params?, &[("progressToken", Edit::Set(token))]);
            Some(error_code::notification(method, Some(&params)))
        }
        "notifications/message" => {
            let level = string_member(params?, "level").and_then(|level| LogLevel::parse(&level));
            arrival.client.wants_log(level).then(whole)
        }
        // The modern era learns by its retry that a page was visited.
        "notifications/elicitation/complete" if arrival.client.era() == Era::Modern => None,
        _ => Some(whole()),
    }
}
