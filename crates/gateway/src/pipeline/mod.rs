//! The one road. Everything a client wants done at an upstream comes through `run`, and nothing else reaches one.
//!
//! Read `run` from top to bottom; each verb is a file beside this one.

mod absorb;
mod again;
mod answer;
mod approve;
mod arrival;
mod ask;
mod context;
mod decide;
mod deliver;
mod door;
mod forward;
mod gather;
mod held;
mod inputs;
mod journey;
mod layout;
mod marks;
mod objects;
mod outlook;
mod record;
mod refuse;
mod relay;
mod resolve;
mod route;
mod search;
mod tasks;
mod unapproved;
mod undertaking;

use std::pin::pin;
use std::sync::Arc;

use highwater_core::action::ActionKind;
use highwater_core::decide::{PermittedAction, ReplyVerdict, Verdict, decide_reply, label_reply};
use highwater_upstream::Reply;
use highwater_upstream::apart;

use approve::Approved;
pub(crate) use approve::PendingQuestions;
pub(crate) use approve::through;
use approve::{Consent, WaitingReply};
pub(crate) use arrival::Arrival;
use arrival::{Course, RoutedAction};
pub(crate) use deliver::Delivery;
use forward::{Flight, Landing, Leave};
pub(crate) use held::HeldCalls;
use held::Resumed;
use journey::{Journey, Leg};
use layout::Layout;
pub(crate) use objects::may_keep;
pub(crate) use refuse::Refusal;
pub(crate) use relay::CREATE_CHALLENGE;

use crate::client::Client;
use crate::gateway::Gateway;

/// How the first stretch of the road ends.
enum Departure {
    /// The action is on its way.
    Gone(Flight, Course),
    /// A person is asked first, by ending the client's request.
    Asked(Delivery),
}

impl Gateway {
    /// Takes one action from its arrival to its delivery.
    pub(crate) async fn run(&self, arrival: &Arrival) -> Result<Delivery, Refusal> {
        // A request that answers a question we hold open continues the call that asked it.
        let resumed = match held::own_state(arrival) {
            None => Resumed::Fresh(None, None),
            Some(state) => apart(self.resume(arrival, &state)).await?,
        };
        let (mut flight, mut course) = match resumed {
            Resumed::Continued(held) => *held,
            Resumed::AskedAgain(delivery) => return Ok(delivery),
            Resumed::Released(waiting, answer) => {
                let WaitingReply { flight, course, held } = *waiting;
                return apart(self.release_approved(arrival, &course, flight, held, answer)).await;
            }
            Resumed::Fetched(waiting, request) => {
                let WaitingReply { flight, course, held } = *waiting;
                let request = request.map(|request| *request);
                return apart(self.release_granted(arrival, &course, flight, held, request)).await;
            }
            Resumed::Fresh(state, consent) => {
                arrival.session.note_call();
                let routed = self.route(arrival, state.as_deref()).await?;
                // Pinned where it is made: it is large, and would be moved twice on its way into this future.
                match pin!(self.depart(arrival, routed, consent)).await? {
                    Departure::Gone(flight, course) => (flight, course),
                    Departure::Asked(delivery) => return Ok(delivery),
                }
            }
        };
        let mut journey = Journey::default();
        let reply = loop {
            match self.accompany(arrival, &course, &mut flight).await {
                // A modern client is asked by ending its request; the call itself stays open.
                Landing::Asked(ask, cleared) => return self.hold(arrival, course, flight, ask, cleared),
                Landing::Reply(reply) => {
                    match self.next_leg(arrival, &course, &mut flight, reply, &mut journey).await? {
                        Leg::Arrived(reply) => break reply,
                        Leg::On(routed, round) => match self.depart(arrival, *routed, round).await? {
                            Departure::Gone(next, onward) => (flight, course) = (next, onward),
                            Departure::Asked(delivery) => return Ok(delivery),
                        },
                    }
                }
                Landing::Failed(error) => return Err(apart(self.upstream_failed(flight, error)).await),
            }
        };
        journey.ended();
        pin!(self.arrive(arrival, &course, flight, reply)).await
    }

    /// Judges an action and, if it may happen, sends it off with its trace already written.
    async fn depart(
        &self,
        arrival: &Arrival,
        routed: RoutedAction,
        consent: Option<Consent>,
    ) -> Result<Departure, Refusal> {
        let RoutedAction { action, course, layout, heard } = routed;
        // A person's answer is about exactly the action they were asked about.
        let (action, layout) = match &consent {
            Some(consent) if !matches!(consent, Consent::Round(_)) => {
                let asked = consent.asked(action);
                let layout = Layout::of(&asked);
                (asked, layout)
            }
            Some(_) | None => (Arc::new(action), layout),
        };
        // Taken before anything is waited for: writes that are kept in order keep the order in which they came.
        let mut turn = self.line_up(&course, &action)?;
        let mut undertaking = self.gather(arrival, &course, action, layout).await;
        if let Some(heard) = heard {
            apart(self.listen_again(&mut undertaking, &heard)).await;
        }
        // A server that verifies approvals itself is not called without what it verifies.
        if undertaking.known.gated {
            self.meet_gate(arrival, &course, &mut undertaking)?;
        }
        let permit = match self.judge(&mut undertaking).await {
            Verdict::Allow(permit) => permit,
            Verdict::Escalate(escalation) => {
                // Nobody waits for somebody else's question to be answered.
                drop(turn.take());
                // Rare and large: boxed, or every call would be born with the room for it.
                let approving = self.approve(arrival, &course, &mut undertaking, escalation, consent);
                match apart(approving).await? {
                    Approved::Granted(permit) => {
                        turn = self.line_up(&course, &undertaking.action)?;
                        permit
                    }
                    Approved::Asked(delivery) => return Ok(Departure::Asked(delivery)),
                }
            }
            Verdict::Block(denial) => {
                return Err(self.block(&undertaking, &denial).hiding(&denial, arrival));
            }
        };
        // Nothing can be removed from a reply yet, so what would need that is not done.
        if !permit.obligations().redactions().is_empty() {
            return Err(self.unredactable(&undertaking, &permit));
        }
        self.spend_relayed(arrival, &course, &undertaking, &permit)?;
        if undertaking.action.kind() == ActionKind::CreateChallenge {
            undertaking.agreement = permit.agreement().cloned();
        }
        // Whoever reads what this writes reads what the session has read.
        self.mark_written(&mut undertaking)
            .await
            .map_err(|error| Refusal::unmarked(&undertaking.decision, &error))?;
        // Write-ahead: an irreversible call leaves its trace before it happens.
        let record = self
            .record_departure(&undertaking, &permit)
            .await
            .map_err(|error| Refusal::unrecorded(&undertaking.decision, &error))?;
        let obligations = permit.obligations();
        undertaking.consented = permit.consented().cloned();
        let permitted = PermittedAction::bind(Arc::clone(&undertaking.action), permit)
            .map_err(|_| Refusal::internal(&undertaking.decision))?;
        if let (Client::Modern(_), Some(level)) = (&arrival.client, arrival.client.log_level()) {
            course.station.want_log_level(level).await;
        }
        let leave = Leave { permitted, obligations, turn };
        let flight = self.forward(arrival, &course, Arc::new(undertaking), leave, record);
        Ok(Departure::Gone(flight, course))
    }

    /// Labels a reply, judges it, and releases it once its label and its outcome are stored.
    async fn arrive(
        &self,
        arrival: &Arrival,
        course: &Course,
        mut flight: Flight,
        reply: Reply,
    ) -> Result<Delivery, Refusal> {
        let undertaking = Arc::clone(&flight.undertaking);
        let received = self.gather_reply(&undertaking, reply).await;
        let policy = &undertaking.policy;
        // The session as it is before this reply, with whatever else came meanwhile.
        let now = self.label_of_moment(undertaking.session()).await;
        let standing = undertaking.caller.standing();
        let facts = undertaking.facts_of_reply(&now.label, &standing.grant);
        let labelled = label_reply(policy, &facts, received);
        let pass = match decide_reply(policy, &facts, flight.obligations, labelled) {
            ReplyVerdict::Pass(pass) => pass,
            ReplyVerdict::Hold(held) => {
                return apart(self.approve_reply(arrival, course, flight, held)).await;
            }
            ReplyVerdict::Withhold(denial) => return Err(self.withhold(&mut flight, &denial)),
        };
        self.commit(arrival, course, flight, pass).await
    }
}
