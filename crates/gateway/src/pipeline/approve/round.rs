//! A call that a person approved and whose server asks for more goes on without asking them again (G25): what it needs is
//! sealed when the question leaves, and taken once when the answers come.

use highwater_core::approval::{LeftOpen, Round, RoundCall, RoundFault, RoundOutcome};
use highwater_core::decide::{Answer, Escalation, Proof, Verdict};
use highwater_core::id::Timestamp;
use highwater_mcp::era::reply as shape;
use highwater_mcp::error_code::INVALID_PARAMS;
use highwater_upstream::Reply;

use super::super::arrival::Course;
use super::super::undertaking::Undertaking;
use super::super::{Arrival, Refusal};
use super::desk::{Settled, failed};
use super::signable::Signable;
use crate::gateway::{Gateway, now};

impl Gateway {
    /// Seals what an approved call needs to go on, where its server wants something back. Nothing for every other reply:
    /// a server that keeps no state is asked anew, and so are people. Its question is in the session's label by now.
    pub(in crate::pipeline) fn left_open(
        &self,
        arrival: &Arrival,
        course: &Course,
        undertaking: &Undertaking,
        (reply, asked): (&Reply, Timestamp),
        state: &str,
    ) -> Option<String> {
        let consented = undertaking.consented.as_ref()?;
        if shape::type_of(&reply.frame, reply.era) != shape::ResultType::InputRequired {
            return None;
        }
        let server = self.desk()?.server();
        let signable = Signable::of(arrival, course, undertaking, server).ok()?;
        let open = LeftOpen {
            id: &self.fresh_id(),
            by: undertaking.agreed.as_deref().unwrap_or_default(),
            session: undertaking.session().key(),
            upstream: undertaking.action.upstream(),
            action: signable.hash_for(consented.signed(), undertaking, server),
            definition: signable.definition,
            state,
            said: &undertaking.said(),
            now: asked,
        };
        consented.leave_open(&self.seal, &open)
    }

    /// Goes on with an approved call, judged with everything as it is now. What the person was not told is asked.
    pub(super) async fn go_on(
        &self,
        arrival: &Arrival,
        course: &Course,
        undertaking: &mut Undertaking,
        escalation: Escalation,
        round: Round,
    ) -> Result<Settled, Refusal> {
        let Some(desk) = self.desk() else { return Ok(Settled::Open(escalation)) };
        let Ok(signable) = Signable::of(arrival, course, undertaking, desk.server()) else {
            return Ok(Settled::Open(escalation));
        };
        self.refresh(course, undertaking)?;
        self.look_again(undertaking).await;
        let escalation = match self.judge(undertaking).await {
            Verdict::Allow(permit) => return Ok(Settled::Granted(permit)),
            Verdict::Block(denial) => return Err(self.block(undertaking, &denial)),
            Verdict::Escalate(escalation) => escalation,
        };
        let hash = signable.hash_for(Some(round.action()), undertaking, desk.server());
        let call = RoundCall {
            principal: &undertaking.caller.principal,
            session: undertaking.session().key(),
            action: &undertaking.action,
            hash,
            definition: self.definition_now(undertaking, &signable),
            now: now(),
        };
        let round = round.resume(&call).map_err(|fault| match fault {
            RoundFault::Foreign => {
                Refusal::invalid(INVALID_PARAMS, "`params.requestState` was not made for this request")
            }
            RoundFault::Expired => Refusal::expired(),
            RoundFault::Changed => Refusal::changed(&undertaking.decision),
        })?;
        // Not taken: whoever answers the new question lets this very round go on.
        if !escalation.goes_on_with(&round) {
            return Ok(Settled::Open(escalation));
        }
        if !arrival.is_awaited() {
            return Err(Refusal::gone(&undertaking.decision));
        }
        let taken = desk.take_round(round.id(), round.ends()).await;
        let taken = taken.map_err(|fault| failed(undertaking, &fault))?;
        let spent = round.spend(taken).map_err(|outcome| match outcome {
            RoundOutcome::Expired => Refusal::expired(),
            RoundOutcome::Taken | RoundOutcome::AlreadyTaken => Refusal::taken(),
        })?;
        self.record_escalation(undertaking, &escalation)?;
        let by = format!("continued, {}", spent.round().by());
        self.record_answer_by(undertaking, escalation.question(), Answer::Approve, &by)?;
        undertaking.agreed = Some(spent.round().by().into());
        self.with_proof(undertaking, escalation, Proof::Round(spent), hash).await
    }
}
