//! A call under way: sends a permitted action off and keeps it company, relays what precedes the reply, puts questions to the client.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use highwater_audit::Outcome;
use highwater_core::action::{Action, ActionKind};
use highwater_core::decide::{
    PermittedAction, Received, ReplyFacts, ReplyVerdict, ResultType, decide_reply, label_reply,
};
use highwater_core::id::DecisionId;
use highwater_core::label::Label;
use highwater_mcp::annotations::result_says;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::Era;
use highwater_mcp::era::reply::without_ours;
use highwater_mcp::error_code::{self, UPSTREAM_UNAVAILABLE};
use highwater_mcp::frame::Frame;
use highwater_mcp::text::string_member;
use highwater_store::Joined;
use highwater_upstream::box_cold;
use highwater_upstream::control::LogLevel;
use highwater_upstream::error::UpstreamError;
use highwater_upstream::event::{Ask, CallEvent, CallSink};
use highwater_upstream::{CallClient, DefinitionGuard, Reply, WriteTurn};
use tokio::sync::mpsc;

use super::approve::named_capabilities;
use super::arrival::{Route, TaskBridge};
use super::ask::{Cleared, ServerQuestions};
use super::context::SentMeta;
use super::definition_guard::JudgedServer;
use super::objects::prints_of_params;
use super::permitted::Permitted;
use super::record::{End, OpenRecord};
use super::{Arrival, Refusal};
use crate::client::Client;
use crate::handshake::TASKS_EXTENSION;

/// How many events of one call may wait for a slow client before its upstream is slowed down.
const EVENT_BUFFER: usize = 16;

/// A call under way. Dropping it cancels the call upstream and records that.
pub(super) struct Sent {
    work: Pin<Box<dyn Future<Output = Result<Reply, UpstreamError>> + Send>>,
    events: mpsc::Receiver<CallEvent>,
    /// Held, and declared after the receiver, so that the end of the work does not close the channel: that would wake
    /// this very task for nothing, and another core with it.
    _open: CallSink,
    pub(super) record: OpenRecord,
    /// What was judged; whatever comes back is judged with it.
    pub(super) permitted: Arc<Permitted>,
    /// What the reply is, once it is there: what is kept from the client goes on record with its label, too.
    pub(super) reply_label: Option<Label>,
    /// Whether the reply was reported as malicious.
    pub(super) flagged: bool,
}

/// How a stretch of a call ends.
pub(super) enum CallEnd {
    /// With a reply: a result or an error of the upstream.
    Reply(Reply),
    /// With a question to a modern client.
    Asked(Ask, Box<Cleared>),
    /// Without a reply.
    Failed(UpstreamError),
}

// === impl Sent ===

impl Sent {
    pub(super) fn decision(&self) -> &DecisionId {
        self.record.decision()
    }

    /// Puts a round that ended with questions on record. Nothing is released by it, so a failure to write shows when the
    /// next round is recorded.
    pub(super) fn settle_round(&mut self, reply: &Reply) {
        let (bytes, detail) = (reply.frame.bytes().len(), Some("asked back"));
        let provenance = Some(self.permitted.provenance());
        let end = End { bytes, detail, provenance, ..End::default() };
        if let Err(error) = self.record.settle(Outcome::Delivered, end) {
            tracing::error!(%error, "a round of questions could not be recorded");
        }
    }

    /// Sends a permitted action whose decision is on record. `turn` is its place among the writes to its server, where
    /// these are kept in order.
    pub(super) fn send(
        arrival: &Arrival,
        permitted: Permitted,
        action: PermittedAction,
        turn: Option<WriteTurn>,
        record: OpenRecord,
    ) -> Self {
        let meta = SentMeta::of(&permitted);
        let (sender, events) = mpsc::channel(EVENT_BUFFER);
        let open = sender.clone();
        let route = &permitted.route;
        let catalog_server = Arc::clone(&route.catalog_server);
        let judged_server = JudgedServer::of(route);
        let client = arrival.client.clone();
        let progress = arrival.progress_token().is_some();
        let (task, agreed) = (route.task, permitted.is_agreed());
        let work = Box::pin(async move {
            let log_level = client.log_level().map(LogLevel::as_str);
            let declared = if agreed {
                Cow::Owned(named_capabilities(client.capabilities()))
            } else {
                Cow::Borrowed(client.capabilities())
            };
            let capabilities = match task {
                TaskBridge::Modern => Cow::Owned(with_tasks(&declared)),
                TaskBridge::None | TaskBridge::Legacy => declared,
            };
            let client = CallClient {
                party: client.party(),
                capabilities: &capabilities,
                log_level,
                progress,
                meta: meta.as_meta(),
                definition_guard: judged_server
                    .as_ref()
                    .map(|judged_server| judged_server as &dyn DefinitionGuard),
            };
            catalog_server.upstream.perform(action, client, &sender, turn).await
        });
        Self {
            work,
            events,
            _open: open,
            record,
            permitted: Arc::new(permitted),
            reply_label: None,
            flagged: false,
        }
    }

    /// Stays with a call until it ends: relays what precedes the reply, puts questions to the client.
    pub(super) async fn accompany(&mut self, questions: &ServerQuestions, arrival: &Arrival) -> CallEnd {
        // Made for the first question: most calls have none.
        let mut open = None;
        let permitted = Arc::clone(&self.permitted);
        loop {
            let event = tokio::select! {
                // What came before the reply goes out before the reply.
                biased;
                Some(event) = self.events.recv() => event,
                Some(()) = next_of(&mut open), if open.is_some() => continue,
                reply = &mut self.work => {
                    while let Ok(event) = self.events.try_recv() {
                        if let CallEvent::Progress(frame) | CallEvent::Notification(frame) = event {
                            box_cold(questions.relay(arrival, &permitted, &frame)).await;
                        }
                    }
                    return reply.map_or_else(CallEnd::Failed, CallEnd::Reply);
                }
            };
            match event {
                CallEvent::Progress(frame) | CallEvent::Notification(frame) => {
                    box_cold(questions.relay(arrival, &permitted, &frame)).await
                }
                CallEvent::Retry(retry) => box_cold(questions.judge.try_again(&permitted, retry)).await,
                CallEvent::Ask(ask) => match &arrival.client {
                    Client::Legacy(session) => {
                        let (session, during) = (Arc::clone(session), Arc::clone(&permitted));
                        let question = questions.question(arrival, session, during, ask);
                        open.get_or_insert_with(FuturesUnordered::new).push(box_cold(question));
                    }
                    Client::Modern(_) => {
                        if let Some((ask, cleared)) =
                            box_cold(questions.may_hold(arrival, &permitted, ask)).await
                        {
                            return CallEnd::Asked(ask, Box::new(cleared));
                        }
                    }
                },
            }
        }
    }
}

/// Takes a place among the writes to a server that wants them in order. Nothing for what writes nothing by its kind,
/// and for every other server.
pub(super) fn enqueue(route: &Route, action: &Action) -> Result<Option<WriteTurn>, Refusal> {
    match action.kind() {
        ActionKind::CallTool | ActionKind::ExtraMethod => route
            .catalog_server
            .upstream
            .enqueue()
            .map_err(|error| Refusal::invalid(UPSTREAM_UNAVAILABLE, error.to_string())),
        _ => Ok(None),
    }
}

// === impl ServerQuestions ===

impl ServerQuestions {
    /// Passes a notification of a call on to its caller: judged and labelled like a reply, since it is text of the
    /// upstream too.
    async fn relay(&self, arrival: &Arrival, permitted: &Permitted, frame: &Frame) {
        let Some(message) = outward_notification(arrival, frame) else { return };
        let cleared = self.clear_notification(permitted, frame).await;
        let Some(_joined) = cleared else { return };
        if arrival.outlet.send(message.into()).await.is_err() {
            tracing::debug!("nobody reads the events of a call any more");
        }
    }

    async fn clear_notification(&self, permitted: &Permitted, frame: &Frame) -> Option<Joined> {
        let claims = frame.params().map(result_says).unwrap_or_default().claims;
        let policy = &permitted.policy;
        let now = self.judge.sessions.current(permitted.session()).await;
        let standing = permitted.caller.standing();
        let facts = permitted.facts_of_reply(&now.label, &standing.grant);
        let sessions = &self.judge.sessions;
        let key = sessions.store.print_key();
        let marks = sessions.marks(permitted, &|| prints_of_params(key, frame), None).await.label;
        let known = ReplyFacts { claims, marks, ..ReplyFacts::new(ResultType::Complete) };
        let labelled = label_reply(policy, &facts, Received::new((), known));
        match decide_reply(policy, &facts, permitted.obligations, labelled) {
            ReplyVerdict::Pass(pass) if pass.redactions().is_empty() => {
                match self.judge.sessions.absorb_of(permitted, pass.label()).await {
                    Ok(absorbed) => Some(absorbed.joined),
                    Err(error) => {
                        let decision = &permitted.decision;
                        tracing::error!(%error, %decision, "withheld a notification: its label could not be stored");
                        None
                    }
                }
            }
            // Nobody is asked about a progress message, and nobody mends one.
            ReplyVerdict::Pass(_) | ReplyVerdict::Hold(_) | ReplyVerdict::Withhold(_) => {
                tracing::info!(decision = %permitted.decision, "withheld a notification by policy");
                None
            }
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
fn outward_notification(arrival: &Arrival, frame: &Frame) -> Option<Vec<u8>> {
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
            let token = arrival.progress_token()?;
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
