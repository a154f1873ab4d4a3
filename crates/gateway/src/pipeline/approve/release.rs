//! A reply that a person must see first, at the desk: the call has run, so the reply waits here and nothing is run again.

use std::sync::Arc;

use highwater_core::approval::{ActionHash, CanonicalArguments, ReservedAction, ToolName};
use highwater_core::decide::{Answer, HeldReply, Proof, ReplyVerdict, decide_reply_approved};
use highwater_store::{ApprovalRequest, RequestState};
use tokio::time::Instant;

use super::super::arrival::Course;
use super::super::gather::Letter;
use super::super::undertaking::Undertaking;
use super::super::{Arrival, Delivery, Flight, Refusal};
use super::desk::{failed, granted};
use crate::approvals::{AskAnswer, AskView, ContextView, Desk, NewAsk, rules_of};
use crate::gateway::Gateway;

impl Gateway {
    /// Holds a reply until a person has answered at the desk, and releases it if they agreed.
    pub(super) async fn release_at_desk(
        &self,
        desk: &Arc<Desk>,
        arrival: &Arrival,
        course: &Course,
        mut flight: Flight,
        held: HeldReply<Letter>,
    ) -> Result<Delivery, Refusal> {
        let undertaking = Arc::clone(&flight.undertaking);
        let answer = self.ask_about_reply(desk, arrival, &undertaking, &held).await;
        let request = match answer {
            Ok(Some(request)) => request,
            // Nobody agreed while its caller waited.
            Ok(None) => return Err(self.withhold(&mut flight, &held.unasked())),
            Err(refusal) => {
                drop(self.withhold(&mut flight, &held.unasked()));
                return Err(refusal);
            }
        };
        let principal = &undertaking.caller.principal;
        let used = desk.use_grant(&request, principal, request.action, None).await;
        let grant = granted(&request);
        let Some(spent) = used.ok().and_then(|used| grant.spend(used).ok()) else {
            return Err(self.withhold(&mut flight, &held.unasked()));
        };
        let by = request.decided_by.as_deref().unwrap_or_default();
        self.record_answer_by(&undertaking, held.escalation().question(), Answer::Approve, by)?;
        let approved = match held.signed(Proof::Grant(spent), request.action) {
            Ok(approved) => approved,
            Err(denial) => return Err(self.withhold(&mut flight, &denial)),
        };
        let policy = Arc::clone(&self.world.load().policy);
        let now = self.label_of_moment(undertaking.session()).await;
        let standing = undertaking.caller.standing();
        let facts = undertaking.facts_of_reply(&now.label, &standing.grant);
        match decide_reply_approved(&policy, &facts, approved) {
            ReplyVerdict::Pass(pass) => self.commit(arrival, course, flight, pass).await,
            ReplyVerdict::Hold(held) => Err(self.withhold(&mut flight, &held.unasked())),
            ReplyVerdict::Withhold(denial) => Err(self.withhold(&mut flight, &denial)),
        }
    }

    /// Asks, and waits as long as a call is held.
    async fn ask_about_reply(
        &self,
        desk: &Arc<Desk>,
        arrival: &Arrival,
        undertaking: &Undertaking,
        held: &HeldReply<Letter>,
    ) -> Result<Option<ApprovalRequest>, Refusal> {
        let escalation = held.escalation();
        let reply: String = held.digest().iter().map(|byte| format!("{byte:02x}")).collect();
        let text = format!(r#"{{"action":"{}","reply":"{reply}"}}"#, undertaking.action.digest());
        let Ok(arguments) = CanonicalArguments::read(Some(&text)) else { return Ok(None) };
        let tool = ToolName::reserved(ReservedAction::Release);
        let says = super::words::question_about_reply(undertaking, escalation.findings());
        let told = escalation.told();
        let asks = rules_of(&told).into_iter().map(|rule| AskView { rule, says: says.clone() }).collect();
        let context = ContextView {
            asks,
            decision: Some(undertaking.decision.to_string()),
            session: Some(undertaking.session().key().to_string()),
            ..ContextView::default()
        };
        let ask = NewAsk {
            kind: escalation.grade(),
            user: undertaking.standing.user.clone(),
            principal: &undertaking.caller.principal,
            session: undertaking.session().key(),
            caller: arrival.caller_name(),
            tool: &tool,
            upstream: Some(undertaking.action.upstream()),
            definition: None,
            arguments: &arguments,
            action: ActionHash::of(&tool, &arguments, desk.server()),
            context,
            told: &told,
            question: escalation.question(),
            class: Default::default(),
            quorum: None,
            decision: &undertaking.decision,
        };
        self.record_asked(undertaking, escalation.question(), "page")?;
        let asked = desk.ask(ask).await.map_err(|fault| failed(undertaking, &fault))?;
        let AskAnswer::Open(request) = asked else { return Ok(None) };
        let until = Instant::now() + desk.settings().hold;
        let settled = desk.settled(&request.id, until).await.map_err(|fault| failed(undertaking, &fault))?;
        Ok(settled.filter(|request| request.state == RequestState::Approved && arrival.is_awaited()))
    }
}
