//! The one road. Everything a client wants done at an upstream comes through `run`, and nothing else reaches one.
//!
//! Read `run` from top to bottom; each verb is a file beside this one.

mod answer;
mod arrival;
mod ask;
mod deliver;
mod forward;
mod gather;
mod held;
mod inputs;
mod journey;
mod record;
mod refuse;
mod route;
mod tasks;

use std::sync::Arc;

use highwater_core::action::Action;
use highwater_core::audit::Ruling;
use highwater_core::decide::{PermittedAction, ReplyVerdict, Verdict, decide, decide_reply, label_reply};
use highwater_core::id::DecisionId;
use highwater_core::label::Label;
use highwater_core::policy::Facts;

pub(crate) use arrival::Arrival;
use arrival::RoutedAction;
pub(crate) use deliver::Delivery;
use forward::{Flight, Landing};
pub(crate) use held::HeldCalls;
use held::Resumed;
use journey::{Journey, Leg};
pub(crate) use refuse::Refusal;

use highwater_mcp::error_code::REPLY_WITHHELD;

use crate::client::Client;
use crate::gateway::Gateway;

impl Gateway {
    /// Takes one action from its arrival to its delivery.
    pub(crate) async fn run(&self, arrival: &Arrival) -> Result<Delivery, Refusal> {
        // A request that answers a question we hold open continues the call that asked it.
        let (mut flight, mut course) = match self.resume(arrival).await? {
            Resumed::Continued(flight, course) => (flight, course),
            Resumed::AskedAgain(delivery) => return Ok(delivery),
            Resumed::Fresh(state) => {
                let routed = self.route(arrival, state.as_deref()).await?;
                let course = routed.course.clone();
                (self.decide_and_forward(arrival, routed).await?, course)
            }
        };
        let mut journey = Journey::default();
        let received = loop {
            match self.accompany(arrival, &course, &mut flight).await {
                // A modern client is asked by ending its request; the call itself stays open.
                Landing::Asked(ask, recorded) => return self.hold(arrival, course, flight, ask, recorded),
                Landing::Reply(reply) => {
                    match self.next_leg(arrival, &course, &mut flight, reply, &mut journey).await? {
                        Leg::Arrived(reply) => break self.gather_reply(reply),
                        Leg::On(routed) => {
                            course = routed.course.clone();
                            flight = self.decide_and_forward(arrival, routed).await?;
                        }
                    }
                }
                Landing::Failed(error) => return Err(self.upstream_failed(flight, error)),
            }
        };
        journey.ended();
        let (policy, decision) = (&arrival.world.policy, flight.decision().clone());
        let action = Arc::clone(&flight.action);
        let facts = facts_of(arrival, &decision, &action);
        let labelled = label_reply(policy, &facts, received);
        match decide_reply(policy, &facts, flight.obligations, labelled) {
            // The outcome is on record before the first byte is released.
            ReplyVerdict::Pass(pass) => {
                let redact = |_, _| Err(Refusal::about(&decision, REPLY_WITHHELD, "the reply is withheld"));
                let reply = pass.into_reply(redact)?;
                let appended = flight.settle(&reply).map_err(|error| self.unrecorded(&flight, error))?;
                self.deliver(arrival, &course, flight.decision(), reply, appended)
            }
            ReplyVerdict::Hold(held) => Err(self.withhold(flight, &held.unasked())),
            ReplyVerdict::Withhold(denial) => Err(self.withhold(flight, &denial)),
        }
    }

    /// Judges an action and, if it may happen, sends it off with its trace already written.
    async fn decide_and_forward(&self, arrival: &Arrival, routed: RoutedAction) -> Result<Flight, Refusal> {
        let RoutedAction { action, course } = routed;
        let decision = self.next_decision();
        let caller = arrival.client.caller();
        let facts = facts_of(arrival, &decision, &action);
        let policy = &arrival.world.policy;
        let permit = match decide(policy, &facts) {
            Verdict::Allow(permit) => permit,
            Verdict::Escalate(escalation) => {
                return Err(self.block(policy, &facts, caller, &escalation.unasked()));
            }
            Verdict::Block(denial) => {
                let refusal = self.block(policy, &facts, caller, &denial);
                return Err(refusal.hiding(&denial, arrival));
            }
        };
        // Write-ahead: an irreversible call leaves its trace before it happens.
        let written = self
            .record_decision(policy, &facts, caller, permit.judgement(), Ruling::Allowed)
            .map_err(|error| Refusal::unrecorded(&decision, &error))?;
        let obligations = permit.obligations();
        let permitted = PermittedAction::bind(action, permit).map_err(|_| Refusal::internal(&decision))?;
        if let (Client::Modern(_), Some(level)) = (&arrival.client, arrival.client.log_level()) {
            course.station.want_log_level(level).await;
        }
        Ok(self.forward(arrival, &course, permitted, obligations, written))
    }
}

/// What is known of an action. No label is kept yet, so every session is as if it had read nothing.
fn facts_of<'a>(arrival: &'a Arrival, decision: &'a DecisionId, action: &'a Action) -> Facts<'a> {
    static NOTHING_READ: Label = Label::bottom();
    let caller = arrival.client.caller();
    Facts::of(decision, &caller.principal, &caller.virtual_server, action).under(&NOTHING_READ)
}
