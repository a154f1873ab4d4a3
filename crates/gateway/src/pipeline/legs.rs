//! Calls that take more than one leg: questions of a modern upstream for a legacy client, and tasks across the eras.
//! Each leg is an action of its own, judged and recorded like the first.

use std::sync::{Arc, Weak};
use std::time::Duration;

use highwater_core::action::{Action, ActionKind};
use highwater_core::id::DecisionId;
use highwater_mcp::era::{Era, reply};
use highwater_mcp::error_code::{self, MISSING_CLIENT_CAPABILITY, REPLY_WITHHELD, UPSTREAM_UNAVAILABLE};
use highwater_mcp::frame::Frame;
use highwater_mcp::method::Method;
use highwater_mcp::scan::ScanRules;
use highwater_mcp::text::{member, pointer, quote, string_member};
use highwater_upstream::Reply;
use highwater_upstream::box_cold;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::approve::Consent;
use super::arrival::{CallUnderWay, Route, RoutedAction, TaskBridge};
use super::inputs::{Questions, asks_of_legacy, questions_for_legacy};
use super::permitted::Permitted;
use super::sent::Sent;
use super::{Arrival, Refusal, Road};
use crate::gateway::{Gateway, now};
use crate::handshake::TASKS_EXTENSION;

/// How often a modern upstream may ask back in the route of one call of a legacy client.
const MAX_ROUNDS: usize = 8;

/// How often a task is asked after, at most and at least, whatever its server suggests.
const POLL_FLOOR: Duration = Duration::from_millis(100);
const POLL_CEILING: Duration = Duration::from_secs(5);

/// What has happened on the way.
#[derive(Default)]
pub(super) struct Legs {
    rounds: usize,
    polls: u64,
    began: Option<Instant>,
    /// The task we wait for in the client's place: its id as JSON text, and what cancels it.
    task: Option<(String, TaskWatch)>,
    /// The reply to come only says that answers were taken.
    updating: bool,
    /// The call as it began, and the session if it has heard nobody since but the call's own server.
    call: Option<CallUnderWay>,
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

// === impl Legs ===

impl Legs {
    /// The answer is there: a task that led to it needs no cancelling.
    pub(super) fn ended(&mut self) {
        if let Some((_, watch)) = &mut self.task {
            watch.arrival = None;
        }
    }

    /// The call after this leg: with what its server said on it, and with what a person agreed to on the way.
    fn after(&mut self, leg: &Permitted) -> CallUnderWay {
        let call = self.call.get_or_insert_with(|| leg.under_way());
        if leg.consented.is_some() {
            call.consented.clone_from(&leg.consented);
            call.heard = leg.undisturbed();
        }
        call.heard = call.heard.with(&leg.heard());
        call.agreed |= leg.is_agreed();
        call.clone()
    }
}

/// Whether a reply is the answer, or another leg comes first.
pub(super) async fn next_leg(
    road: &Road,
    arrival: &Arrival,
    sent: &mut Sent,
    reply: Reply,
    legs: &mut Legs,
) -> Result<Leg, Refusal> {
    let route = &sent.permitted.route;
    let same_era = arrival.client.era() == Era::Modern || reply.era == Era::Legacy;
    if route.task == TaskBridge::None
        && (same_era || !asks_of_legacy(arrival, &reply) && !wants_tasks_declared(route, &reply))
    {
        return Ok(Leg::Arrived(reply));
    }
    box_cold(leg_between(road, arrival, sent, reply, legs)).await
}

/// The same, where two eras meet or a task is waited for.
async fn leg_between(
    road: &Road,
    arrival: &Arrival,
    sent: &mut Sent,
    reply: Reply,
    legs: &mut Legs,
) -> Result<Leg, Refusal> {
    let permitted = Arc::clone(&sent.permitted);
    legs.after(&permitted);
    let route = &permitted.route;
    if route.task == TaskBridge::Legacy && route.method == Some(Method::CallTool) {
        return Ok(fetch_legacy_task(route, sent, reply));
    }
    if arrival.client.era() == Era::Modern || reply.era == Era::Legacy {
        return Ok(Leg::Arrived(reply));
    }
    if let Some(questions) = questions_for_legacy(arrival, &reply) {
        if legs.rounds == MAX_ROUNDS {
            sent.settle_round(&reply);
            let message = "the server asked back too often and was stopped";
            return Err(Refusal::about(sent.decision(), REPLY_WITHHELD, message));
        }
        legs.rounds += 1;
        sent.settle_round(&reply);
        let (state, since) = (questions.state(), now());
        let routed = road.questions.collect_answers(arrival, &permitted, questions).await?;
        // Sealed as for a client that keeps it, so that there is one way to go on; now that the questions were put,
        // they are in the session's label.
        let seal = |state: String| road.approvals.left_open(arrival, &permitted, (&reply, since), &state);
        let round = state.and_then(seal).and_then(|round| road.seals.open_round(&round));
        let routed = RoutedAction { call: Some(Box::new(legs.after(&permitted).sent_as_round())), ..routed };
        return Ok(Leg::On(Box::new(routed), round.map(|round| Consent::Round(Box::new(round)))));
    }
    if wants_tasks_declared(route, &reply) {
        sent.settle_round(&reply);
        return Ok(Leg::On(Box::new(declared(route, permitted.action.params())), None));
    }
    if route.task != TaskBridge::Modern {
        return Ok(Leg::Arrived(reply));
    }
    follow_modern_task(road, arrival, sent, reply, legs).await
}

/// A legacy server made the task we asked for: its result is what the client wants. Questions come on the way.
fn fetch_legacy_task(route: &Route, sent: &mut Sent, reply: Reply) -> Leg {
    let task =
        reply.frame.result().and_then(|result| pointer(result, &["task", "taskId"])).map(str::to_owned);
    let Some(task) = task else { return Leg::Arrived(reply) };
    sent.settle_round(&reply);
    let params = format!(r#"{{"taskId":{task}}}"#);
    let action = Action::new(ActionKind::TaskStep, route.upstream().clone(), "tasks/result", task, params);
    // The result of the task is the result of the call, so the route keeps the call's method.
    let route = Route { task: TaskBridge::None, ..route.clone() };
    Leg::On(Box::new(RoutedAction::new(action, route)), None)
}

/// A modern server made a task for a call of a legacy client: we wait for it in the client's place.
async fn follow_modern_task(
    road: &Road,
    arrival: &Arrival,
    sent: &mut Sent,
    reply: Reply,
    legs: &mut Legs,
) -> Result<Leg, Refusal> {
    let Some(result) = reply.frame.result() else { return Ok(Leg::Arrived(reply)) };
    let permitted = Arc::clone(&sent.permitted);
    let route = &permitted.route;
    let is_task = route.task == TaskBridge::Modern
        && (legs.task.is_some() || reply::result_type(result, reply.era) == reply::ResultType::Task);
    if !is_task {
        return Ok(Leg::Arrived(reply));
    }
    let decision = sent.decision().clone();
    let named = member(result, "taskId").map(str::to_owned);
    let task = legs.task.as_ref().map(|(task, _)| task.clone()).or(named).ok_or_else(|| broken(&decision))?;
    if legs.task.is_none() {
        let watch = watch(road, arrival, route, &task).ok_or_else(|| broken(&decision))?;
        legs.task = Some((task.clone(), watch));
    }
    let get = task_step(route, "tasks/get", &task, format!(r#"{{"taskId":{task}}}"#));
    if std::mem::take(&mut legs.updating) {
        sent.settle_round(&reply);
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
            sent.settle_round(&reply);
            return Err(Refusal::about(&decision, UPSTREAM_UNAVAILABLE, "the server cancelled the task"));
        }
        Some("input_required") => {
            let questions = Questions::read(result);
            sent.settle_round(&reply);
            let answers = road.questions.ask_all(arrival, &permitted, &questions).await?;
            let params = format!(r#"{{"taskId":{task},"inputResponses":{answers}}}"#);
            legs.updating = true;
            let update = task_step(route, "tasks/update", &task, params);
            let update = RoutedAction { call: Some(Box::new(legs.after(&permitted))), ..update };
            return Ok(Leg::On(Box::new(update), None));
        }
        _ => {}
    }
    let wait = member(result, "pollIntervalMs").and_then(|wait| wait.parse().ok()).map(Duration::from_millis);
    sent.settle_round(&reply);
    let began = *legs.began.get_or_insert_with(Instant::now);
    if began.elapsed() > route.catalog_server.upstream.spec().timeouts.call {
        let message = "the server's task takes too long and was cancelled";
        return Err(Refusal::about(&decision, UPSTREAM_UNAVAILABLE, message));
    }
    legs.polls += 1;
    say_progress(arrival, legs.polls).await;
    tokio::time::sleep(wait.unwrap_or(POLL_FLOOR).clamp(POLL_FLOOR, POLL_CEILING)).await;
    Ok(Leg::On(Box::new(get), None))
}

/// The request that ends a task, ready for when nobody waits for it any more.
fn watch(road: &Road, arrival: &Arrival, route: &Route, task: &str) -> Option<TaskWatch> {
    let shown = road.seals.task_id(arrival, route, task)?;
    let params = format!(r#"{{"taskId":{}}}"#, quote(&shown));
    let message = error_code::request("0", "tasks/cancel", Some(&params));
    let frame = Frame::parse(message.into(), &ScanRules::FROM_CLIENT).ok()?;
    let (outlet, _) = mpsc::channel(1);
    let (client, world) = (arrival.client.clone(), Arc::clone(&arrival.world));
    let (session, host) = (arrival.session.clone(), arrival.host.clone());
    let (method, attended, variant) = (Some(Method::CancelTask), false, None);
    let arrival = Arrival { client, session, host, method, frame, outlet, attended, variant, world };
    Some(TaskWatch { gateway: Weak::clone(&road.gateway), arrival: Some(arrival) })
}

/// Shows a client that wants progress that its call is alive.
async fn say_progress(arrival: &Arrival, count: u64) {
    let Some(token) = arrival.progress_token() else { return };
    let params = format!(r#"{{"progressToken":{token},"progress":{count}}}"#);
    let message = error_code::notification("notifications/progress", Some(&params));
    if arrival.outlet.send(message.into()).await.is_err() {
        tracing::debug!("nobody reads the progress of a task any more");
    }
}

/// Whether a modern server refused only because the client did not say that it knows tasks. Nothing was executed.
fn wants_tasks_declared(route: &Route, reply: &Reply) -> bool {
    let Some(error) = reply.frame.error() else { return false };
    let code = member(error, "code").and_then(|code| code.parse::<i64>().ok());
    let wanted = pointer(error, &["data", "requiredCapabilities", "extensions", TASKS_EXTENSION]);
    route.method == Some(Method::CallTool)
        && route.task == TaskBridge::None
        && code == Some(MISSING_CLIENT_CAPABILITY)
        && wanted.is_some()
}

/// The same call with the tasks extension declared.
fn declared(route: &Route, params: &str) -> RoutedAction {
    let target = string_member(params, "name").unwrap_or_default().into_owned();
    let action = Action::new(ActionKind::CallTool, route.upstream().clone(), "tools/call", target, params);
    RoutedAction::new(action, Route { task: TaskBridge::Modern, ..route.clone() })
}

fn task_step(route: &Route, method: &'static str, task: &str, params: String) -> RoutedAction {
    let action = Action::new(ActionKind::TaskStep, route.upstream().clone(), method, task, params);
    RoutedAction::new(action, route.clone())
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
