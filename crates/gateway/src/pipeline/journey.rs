//! Calls that take more than one leg: questions of a modern upstream for a legacy client, and tasks across the eras.
//! Each leg is an action of its own, judged and recorded like the first.

use std::sync::{Arc, Weak};
use std::time::Duration;

use highwater_core::action::{Action, ActionKind};
use highwater_core::approval::{Round, Undisturbed};
use highwater_core::id::DecisionId;
use highwater_core::seal::Purpose;
use highwater_mcp::era::{Era, reply};
use highwater_mcp::error_code::{self, MISSING_CLIENT_CAPABILITY, REPLY_WITHHELD, UPSTREAM_UNAVAILABLE};
use highwater_mcp::frame::Frame;
use highwater_mcp::method::Method;
use highwater_mcp::scan::ScanRules;
use highwater_mcp::text::{member, pointer, quote, string_member};
use highwater_upstream::Reply;
use highwater_upstream::apart;
use highwater_upstream::channel;
use tokio::time::Instant;

use super::approve::Consent;
use super::arrival::{Course, RoutedAction, TaskBridge};
use super::forward::Flight;
use super::inputs::Questions;
use super::undertaking::Undertaking;
use super::{Arrival, Refusal};
use crate::gateway::{Gateway, now};
use crate::greet::TASKS_EXTENSION;

/// How often a modern upstream may ask back in the course of one call of a legacy client.
const MAX_ROUNDS: usize = 8;

/// How often a task is asked after, at most and at least, whatever its server suggests.
const POLL_FLOOR: Duration = Duration::from_millis(100);
const POLL_CEILING: Duration = Duration::from_secs(5);

/// What has happened on the way.
#[derive(Default)]
pub(super) struct Journey {
    rounds: usize,
    polls: u64,
    began: Option<Instant>,
    /// The task we wait for in the client's place: its id as JSON text, and what cancels it.
    task: Option<(String, TaskWatch)>,
    /// The reply to come only says that answers were taken.
    updating: bool,
    /// Where a person agreed to the call: the session, if it has heard nobody since but the call's own server.
    heard: Option<Undisturbed>,
}

/// Where a reply leads.
pub(super) enum Leg {
    /// It is the answer.
    Arrived(Reply),
    /// There is more to do first, perhaps as a part of what a person has agreed to.
    On(Box<RoutedAction>, Option<Consent>),
}

/// Cancels a task that nobody waits for any more.
struct TaskWatch {
    gateway: Weak<Gateway>,
    arrival: Option<Arrival>,
}

impl Drop for TaskWatch {
    fn drop(&mut self) {
        let (Some(gateway), Some(arrival)) = (self.gateway.upgrade(), self.arrival.take()) else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { gateway.act(&arrival).await });
        }
    }
}

// === impl Journey ===

impl Journey {
    /// The answer is there: a task that led to it needs no cancelling.
    pub(super) fn ended(&mut self) {
        if let Some((_, watch)) = &mut self.task {
            watch.arrival = None;
        }
    }

    /// The session after what the server said on this leg, if it has heard nobody else since a person agreed.
    fn hear(&mut self, leg: &Undertaking) -> Option<Undisturbed> {
        let before = leg.consented.as_ref().map(|consented| consented.heard()).or(self.heard.as_ref())?;
        self.heard = Some(before.with(&leg.said()));
        self.heard.clone()
    }
}

impl Gateway {
    /// Whether a reply is the answer, or another leg comes first.
    pub(super) async fn next_leg(
        &self,
        arrival: &Arrival,
        course: &Course,
        flight: &mut Flight,
        reply: Reply,
        journey: &mut Journey,
    ) -> Result<Leg, Refusal> {
        let same_era = arrival.client.era() == Era::Modern || reply.era == Era::Legacy;
        if course.task == TaskBridge::None
            && (same_era || !self.asks_of_legacy(arrival, &reply) && !wants_tasks_declared(course, &reply))
        {
            return Ok(Leg::Arrived(reply));
        }
        apart(self.leg_between(arrival, course, flight, reply, journey)).await
    }

    /// The same, where two eras meet or a task is waited for.
    async fn leg_between(
        &self,
        arrival: &Arrival,
        course: &Course,
        flight: &mut Flight,
        reply: Reply,
        journey: &mut Journey,
    ) -> Result<Leg, Refusal> {
        if course.task == TaskBridge::Legacy && course.method == Some(Method::CallTool) {
            return Ok(self.fetch_legacy_task(course, flight, reply));
        }
        if arrival.client.era() == Era::Modern || reply.era == Era::Legacy {
            return Ok(Leg::Arrived(reply));
        }
        if let Some(questions) = self.questions_for_legacy(arrival, &reply) {
            if journey.rounds == MAX_ROUNDS {
                flight.settle_round(&reply);
                let message = "the server asked back too often and was stopped";
                return Err(Refusal::about(flight.decision(), REPLY_WITHHELD, message));
            }
            journey.rounds += 1;
            flight.settle_round(&reply);
            let asked = Arc::clone(&flight.undertaking);
            let (state, since) = (questions.state(), now());
            let mut routed = self.collect_answers(arrival, course, &asked, questions).await?;
            // Sealed as for a client that keeps it, so that there is one way to go on; now that the questions were put,
            // they are in the session's label.
            let seal = |state: String| self.left_open(arrival, course, &asked, (&reply, since), &state);
            let round = state.and_then(seal).and_then(|round| Round::open(&self.seal, &round));
            routed.heard = journey.hear(&asked).map(Box::new);
            return Ok(Leg::On(Box::new(routed), round.map(|round| Consent::Round(Box::new(round)))));
        }
        if wants_tasks_declared(course, &reply) {
            flight.settle_round(&reply);
            return Ok(Leg::On(Box::new(declared(course, flight.undertaking.action.params())), None));
        }
        if course.task != TaskBridge::Modern {
            return Ok(Leg::Arrived(reply));
        }
        self.follow_modern_task(arrival, course, flight, reply, journey).await
    }

    /// A legacy server made the task we asked for: its result is what the client wants. Questions come on the way.
    fn fetch_legacy_task(&self, course: &Course, flight: &mut Flight, reply: Reply) -> Leg {
        let task =
            reply.frame.result().and_then(|result| pointer(result, &["task", "taskId"])).map(str::to_owned);
        let Some(task) = task else { return Leg::Arrived(reply) };
        flight.settle_round(&reply);
        let params = format!(r#"{{"taskId":{task}}}"#);
        let action =
            Action::new(ActionKind::TaskStep, course.upstream().clone(), "tasks/result", task, params);
        // The result of the task is the result of the call, so the course keeps the call's method.
        let course = Course { task: TaskBridge::None, ..course.clone() };
        Leg::On(Box::new(RoutedAction::new(action, course)), None)
    }

    /// A modern server made a task for a call of a legacy client: we wait for it in the client's place.
    async fn follow_modern_task(
        &self,
        arrival: &Arrival,
        course: &Course,
        flight: &mut Flight,
        reply: Reply,
        journey: &mut Journey,
    ) -> Result<Leg, Refusal> {
        let Some(result) = reply.frame.result() else { return Ok(Leg::Arrived(reply)) };
        let is_task = course.task == TaskBridge::Modern
            && (journey.task.is_some() || reply::result_type(result, reply.era) == reply::ResultType::Task);
        if !is_task {
            return Ok(Leg::Arrived(reply));
        }
        let decision = flight.decision().clone();
        let named = member(result, "taskId").map(str::to_owned);
        let task =
            journey.task.as_ref().map(|(task, _)| task.clone()).or(named).ok_or_else(|| broken(&decision))?;
        if journey.task.is_none() {
            let watch = self.watch(arrival, course, &task).ok_or_else(|| broken(&decision))?;
            journey.task = Some((task.clone(), watch));
        }
        let get = task_step(course, "tasks/get", &task, format!(r#"{{"taskId":{task}}}"#));
        if std::mem::take(&mut journey.updating) {
            flight.settle_round(&reply);
            return Ok(Leg::On(Box::new(get), None));
        }
        match string_member(result, "status").as_deref() {
            Some("completed") => {
                return inlined(reply, "result").map(Leg::Arrived).ok_or_else(|| broken(&decision));
            }
            Some("failed") => {
                return inlined(reply, "error").map(Leg::Arrived).ok_or_else(|| broken(&decision));
            }
            Some("cancelled") => {
                flight.settle_round(&reply);
                return Err(Refusal::about(&decision, UPSTREAM_UNAVAILABLE, "the server cancelled the task"));
            }
            Some("input_required") => {
                let questions = Questions::read(result);
                flight.settle_round(&reply);
                let answers = self.ask_all(arrival, &flight.undertaking, &questions).await?;
                let params = format!(r#"{{"taskId":{task},"inputResponses":{answers}}}"#);
                journey.updating = true;
                return Ok(Leg::On(Box::new(task_step(course, "tasks/update", &task, params)), None));
            }
            _ => {}
        }
        let wait =
            member(result, "pollIntervalMs").and_then(|wait| wait.parse().ok()).map(Duration::from_millis);
        flight.settle_round(&reply);
        let began = *journey.began.get_or_insert_with(Instant::now);
        if began.elapsed() > course.station.upstream.spec().timeouts.call {
            let message = "the server's task takes too long and was cancelled";
            return Err(Refusal::about(&decision, UPSTREAM_UNAVAILABLE, message));
        }
        journey.polls += 1;
        self.say_progress(arrival, course, journey.polls).await;
        tokio::time::sleep(wait.unwrap_or(POLL_FLOOR).clamp(POLL_FLOOR, POLL_CEILING)).await;
        Ok(Leg::On(Box::new(get), None))
    }

    /// The request that ends a task, ready for when nobody waits for it any more.
    fn watch(&self, arrival: &Arrival, course: &Course, task: &str) -> Option<TaskWatch> {
        let own = highwater_mcp::text::unquote(task)?;
        let principal = arrival.client.caller().principal.as_str();
        let tool = course.tool.as_ref().map(|tool| &*tool.own);
        let shown = self.seal.close(Purpose::TaskId, &(principal, course.upstream().as_str(), own, tool))?;
        let params = format!(r#"{{"taskId":{}}}"#, quote(&shown));
        let message = error_code::request("0", "tasks/cancel", Some(&params));
        let frame = Frame::parse(message.into(), &ScanRules::FROM_CLIENT).ok()?;
        let (outlet, _) = channel::channel(1);
        let (client, world) = (arrival.client.clone(), Arc::clone(&arrival.world));
        let session = arrival.session.clone();
        let method = Some(Method::CancelTask);
        let arrival =
            Arrival { client, session, method, frame, outlet, attended: false, variant: None, world };
        Some(TaskWatch { gateway: self.myself(), arrival: Some(arrival) })
    }

    /// Shows a client that wants progress that its call is alive.
    async fn say_progress(&self, arrival: &Arrival, course: &Course, count: u64) {
        let Some(token) = &course.progress else { return };
        let params = format!(r#"{{"progressToken":{token},"progress":{count}}}"#);
        let message = error_code::notification("notifications/progress", Some(&params));
        if arrival.outlet.send(message.into()).await.is_err() {
            tracing::debug!("nobody reads the progress of a task any more");
        }
    }
}

/// Whether a modern server refused only because the client did not say that it knows tasks. Nothing was executed.
fn wants_tasks_declared(course: &Course, reply: &Reply) -> bool {
    let Some(error) = reply.frame.error() else { return false };
    let code = member(error, "code").and_then(|code| code.parse::<i64>().ok());
    let wanted = pointer(error, &["data", "requiredCapabilities", "extensions", TASKS_EXTENSION]);
    course.method == Some(Method::CallTool)
        && course.task == TaskBridge::None
        && code == Some(MISSING_CLIENT_CAPABILITY)
        && wanted.is_some()
}

/// The same call with the tasks extension declared.
fn declared(course: &Course, params: &str) -> RoutedAction {
    let target = string_member(params, "name").unwrap_or_default().into_owned();
    let action = Action::new(ActionKind::CallTool, course.upstream().clone(), "tools/call", target, params);
    RoutedAction::new(action, Course { task: TaskBridge::Modern, ..course.clone() })
}

fn task_step(course: &Course, method: &'static str, task: &str, params: String) -> RoutedAction {
    let action = Action::new(ActionKind::TaskStep, course.upstream().clone(), method, task, params);
    RoutedAction::new(action, course.clone())
}

/// The reply that a finished task carries inside.
fn inlined(reply: Reply, part: &str) -> Option<Reply> {
    let inner = member(reply.frame.result()?, part)?;
    let message = match part {
        "error" => format!(r#"{{"jsonrpc":"2.0","id":{},"error":{inner}}}"#, reply.number).into_bytes(),
        _ => error_code::result_response(&reply.number.to_string(), inner),
    };
    let frame = Frame::parse(message.into(), &ScanRules::FROM_SERVER).ok()?;
    Some(Reply { frame, ..reply })
}

fn broken(decision: &DecisionId) -> Refusal {
    Refusal::about(decision, REPLY_WITHHELD, "the server's task ended without a result")
}
