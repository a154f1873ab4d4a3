//! The one road. Everything a client wants done at an upstream comes through `run`, and nothing else reaches one.
//!
//! Read `run` from top to bottom; each verb is a file beside this one.

mod answer;
mod approve;
mod arrival;
mod ask;
mod asked_page;
mod context;
mod definition_guard;
mod deliver;
mod files;
mod flagged;
mod gather;
mod inputs;
mod judge;
mod layout;
mod legs;
mod local;
mod objects;
mod outage;
mod outlook;
mod permitted;
mod proposed;
mod record;
mod refuse;
mod relay;
mod resend;
mod resolve;
mod resource_list;
mod resume;
mod road;
mod route;
mod seals;
mod search;
mod sent;
mod sessions;
mod suspended;
mod tasks;
#[cfg(test)]
mod tests;
mod trace;
mod unapproved;
mod value_origins;
mod withheld;

use std::pin::pin;
use std::sync::Arc;

use highwater_core::decide::{PermittedAction, ReplyVerdict, decide_reply, label_reply};
use highwater_store::StoreError;
use highwater_upstream::{Reply, box_cold};
use tracing::Instrument;

pub(crate) use approve::through;
use approve::{Approved, Consent, ReplyApproved, WaitingReply};
pub use approve::{ReplySource, value_sentences};
pub(crate) use arrival::Arrival;
use arrival::RoutedAction;
pub(crate) use deliver::Delivery;
use deliver::commit;
use judge::Settled;
use legs::{Leg, Legs, next_leg};
pub(crate) use local::{followed, places, work_tree};
pub(crate) use objects::may_keep;
use permitted::Permitted;
use proposed::Proposed;
pub(crate) use refuse::Refusal;
pub(crate) use relay::CREATE_CHALLENGE;
use resume::{Resumed, resume};
pub(crate) use road::{Road, RoadParts};
use search::Served;
use sent::{CallEnd, Sent, enqueue};

use crate::client::{Answer, Client};
use crate::gateway::Gateway;

/// After this many milliseconds the answer to a call is noted as a use of its conversation, as the call was.
const LONG_CALL: u64 = 1000;

/// How the first stretch of the road ends.
enum Departure {
    /// The action is on its way.
    Sent(Sent),
    /// A person is asked first, by ending the client's request.
    Asked(Delivery),
}

impl Gateway {
    /// Takes one action from its arrival to its delivery.
    pub(crate) async fn run(&self, arrival: &Arrival) -> Result<Delivery, Refusal> {
        let road = &self.road;
        // A request that answers a question we hold open continues the call that asked it.
        let resumed = match seals::own_state(arrival) {
            None => Resumed::Fresh(None, None),
            Some(state) => box_cold(resume(road, arrival, &state)).await?,
        };
        let mut sent = match resumed {
            Resumed::Continued(sent) => *sent,
            Resumed::AskedAgain(delivery) => return Ok(delivery),
            Resumed::Released(waiting, answer) => {
                let WaitingReply { sent, held } = *waiting;
                let approved = box_cold(road.approvals.release_answered(sent, held, answer)).await?;
                return self.deliver_approved(arrival, approved).await;
            }
            Resumed::Fetched(waiting, request) => {
                let WaitingReply { sent, held } = *waiting;
                let request = request.map(|request| *request);
                let approved = box_cold(road.approvals.release_granted(sent, held, request)).await?;
                return self.deliver_approved(arrival, approved).await;
            }
            Resumed::Fresh(state, consent) => {
                arrival.session.note_call();
                if road.sessions.evidence.wants_people(&arrival.session) {
                    self.look_up_people().await;
                }
                let routed = road.router.route(arrival, state.as_deref()).await?;
                // Pinned where it is made: it is large, and would be moved twice on its way into this future.
                match pin!(self.depart(arrival, routed, consent)).await? {
                    Departure::Sent(sent) => sent,
                    Departure::Asked(delivery) => return Ok(delivery),
                }
            }
        };
        let mut legs = Legs::default();
        let reply = loop {
            match sent.accompany(&road.questions, arrival).await {
                // A modern client is asked by ending its request; the call itself stays open.
                CallEnd::Asked(ask, cleared) => {
                    return road.suspended.suspend(&road.seals, arrival, sent, ask, *cleared);
                }
                CallEnd::Reply(reply) => match next_leg(road, arrival, &mut sent, reply, &mut legs).await? {
                    Leg::Arrived(reply) => break reply,
                    Leg::On(routed, consent) => match self.depart(arrival, *routed, consent).await? {
                        Departure::Sent(next) => sent = next,
                        Departure::Asked(delivery) => return Ok(delivery),
                    },
                },
                CallEnd::Failed(error) => return Err(box_cold(sent.failed(&road.sessions, error)).await),
            }
        };
        legs.ended();
        pin!(self.arrive(arrival, sent, reply)).await
    }

    /// Judges an action and, if it may happen, sends it off with its trace already written.
    async fn depart(
        &self,
        arrival: &Arrival,
        routed: RoutedAction,
        consent: Option<Consent>,
    ) -> Result<Departure, Refusal> {
        let road = &self.road;
        // A person's answer is about exactly the action they were asked about.
        let routed = match &consent {
            Some(consent) => consent.asked(routed),
            None => routed,
        };
        // Taken before anything is waited for: writes that are kept in order keep the order in which they came.
        let turn = enqueue(&routed.route, &routed.action)?;
        let proposed = road.judge.gather(arrival, routed).await;
        trace::name(&proposed);
        tracing::debug!(decision = %proposed.decision, "gathered");
        // A server that verifies approvals itself is not called without what it verifies.
        let proposed =
            if proposed.known().gated { road.relay.meet_gate(arrival, proposed)? } else { proposed };
        let judged = road.judge.judge(proposed).await;
        let (proposed, granted, turn) = match judged.map_err(|refusal| refusal.hiding(arrival))? {
            Settled::Granted(proposed, granted) => (proposed, granted, turn),
            Settled::Open(proposed, escalation) => {
                tracing::debug!(decision = %proposed.decision, grade = escalation.grade().as_str(), "a person is asked");
                // Nobody waits for somebody else's question to be answered.
                drop(turn);
                // Rare and large: boxed, or every call would be born with the room for it.
                match box_cold(road.approvals.approve(arrival, proposed, escalation, consent)).await? {
                    Approved::Granted(proposed, granted) => {
                        let turn = enqueue(&proposed.route, &proposed.action)?;
                        (*proposed, granted, turn)
                    }
                    Approved::Asked(delivery) => return Ok(Departure::Asked(delivery)),
                }
            }
        };
        // Nothing can be removed from a reply yet, so what would need that is not done.
        if !granted.permit.obligations().redactions().is_empty() {
            return Err(road.recorder.unredactable(&proposed, &granted.permit));
        }
        let unavailable = |proposed: &Proposed, error: &StoreError| {
            road.recorder.unavailable(proposed, granted.permit.judgement(), error)
        };
        // While the store is away nothing is sent whose reply would have to stay here.
        if road.sessions.store.is_failing() {
            let released =
                box_cold(road.sessions.would_release(&proposed, granted.permit.obligations())).await;
            released.map_err(|error| unavailable(&proposed, &error))?;
        }
        road.relay.spend_relayed(arrival, &proposed, &granted.permit)?;
        road.sessions.clear_doubts(&proposed, &granted.permit, &granted.basis).await;
        // Whoever reads what this writes reads what the session has read.
        let marked = road.sessions.mark_written(proposed, granted.basis.seen).await;
        let (proposed, marked) = marked.map_err(|(proposed, error)| unavailable(&proposed, &error))?;
        // What leaves for the public has left, whatever becomes of the reply.
        let exit = road.sessions.note_exit(&proposed).await;
        let raised = exit.map_err(|error| unavailable(&proposed, &error))?;
        // Write-ahead: an irreversible call leaves its trace before it happens.
        let mut record = road
            .recorder
            .departure(&proposed, &granted)
            .await
            .map_err(|error| Refusal::unrecorded(&proposed.decision, &error))?;
        record.raised = raised;
        tracing::debug!(decision = %proposed.decision, "allowed and on record");
        road.sessions.tell_sent(&proposed, &granted.permit, &granted.basis);
        let permitted = Permitted::new(proposed, &granted, marked);
        let action = PermittedAction::bind(Arc::clone(&permitted.action), granted.permit)
            .map_err(|_| Refusal::internal(&permitted.decision))?;
        if let (Client::Modern(_), Some(level)) = (&arrival.client, arrival.client.log_level()) {
            permitted.route.catalog_server.want_log_level(level).await;
        }
        tracing::debug!(decision = %permitted.decision, "sent");
        Ok(Departure::Sent(Sent::send(arrival, permitted, action, turn, record)))
    }

    /// Labels a reply, judges it, and releases it once its label and its outcome are stored.
    async fn arrive(&self, arrival: &Arrival, mut sent: Sent, reply: Reply) -> Result<Delivery, Refusal> {
        let road = &self.road;
        let permitted = Arc::clone(&sent.permitted);
        tracing::debug!(decision = %permitted.decision, bytes = reply.frame.bytes().len(), "answered");
        let received = road.sessions.gather_reply(&permitted, reply).await;
        let policy = &permitted.policy;
        // The session as it is before this reply, with whatever else came meanwhile.
        let now = road.sessions.current(permitted.session()).await;
        let standing = permitted.caller.standing();
        // What nobody has settled counts here: the agent may still have it, and the call has run.
        let session = now.possible();
        let facts = permitted.facts_of_reply(&session, &standing.grant);
        // A conversation that waits for its server is not silent.
        if facts.now.0.saturating_sub(permitted.now.0) > LONG_CALL {
            permitted.session().note_call();
        }
        let labelled = label_reply(policy, &facts, received);
        sent.flagged = labelled.is_flagged();
        if sent.flagged {
            flagged::tell_people(road, arrival, &permitted, labelled.label()).await;
        }
        sent.reply_label = Some(labelled.label().clone());
        match decide_reply(policy, &facts, permitted.obligations, labelled) {
            ReplyVerdict::Pass(pass) => commit(road, arrival, sent, pass).await,
            ReplyVerdict::Hold(held) => {
                let approved = box_cold(road.approvals.approve_reply(arrival, sent, *held)).await?;
                self.deliver_approved(arrival, approved).await
            }
            ReplyVerdict::Withhold(denial) => Err(sent.withhold(&denial)),
        }
    }

    /// Releases a reply that a person agreed to, or asks them.
    async fn deliver_approved(
        &self,
        arrival: &Arrival,
        approved: ReplyApproved,
    ) -> Result<Delivery, Refusal> {
        match approved {
            ReplyApproved::Passed(sent, pass) => box_cold(commit(&self.road, arrival, sent, pass)).await,
            ReplyApproved::Asked(delivery) => Ok(delivery),
        }
    }

    /// Says what would become of a call that is not made.
    pub(crate) async fn foresee(&self, arrival: &Arrival) -> Answer {
        let delivery = outlook::outlook(&self.road, arrival).await;
        delivery.unwrap_or_else(|refusal| refusal.into_delivery(arrival)).into_answer()
    }

    /// Answers with the resources that a client may see.
    pub(crate) async fn list_resources(&self, arrival: &Arrival) -> Answer {
        let delivery = resource_list::list(&self.road, arrival).await;
        delivery.unwrap_or_else(|refusal| refusal.into_delivery(arrival)).into_answer()
    }

    /// Takes an action down the road.
    pub(crate) async fn act(&self, arrival: &Arrival) -> Answer {
        let delivery =
            async { self.run(arrival).await.unwrap_or_else(|refusal| refusal.into_delivery(arrival)) };
        delivery.instrument(trace::span_of(arrival)).await.into_answer()
    }

    /// Serves a request that names a tool where some virtual server offers tools of our own.
    pub(crate) async fn act_as_meant(&self, arrival: Arrival) -> Answer {
        match search::serve(&self.road, arrival).await {
            Served::Call(arrival) => self.act(&arrival).await,
            Served::Outlook(arrival) => self.foresee(&arrival).await,
            Served::Answered(delivery) => delivery.into_answer(),
        }
    }
}
