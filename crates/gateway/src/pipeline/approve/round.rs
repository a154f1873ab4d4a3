//! A call that a person approved and whose server asks for more goes on without asking them again (G25): what it needs is
//! sealed when the question leaves, and taken once when the answers come.

use highwater_core::approval::{LeftOpen, Round, RoundCall, RoundFault, RoundOutcome};
use highwater_core::decide::{Answer, Escalation, Proof};
use highwater_core::id::Timestamp;
use highwater_mcp::era::reply as shape;
use highwater_upstream::Reply;

use super::super::judge::Settled;
use super::super::permitted::{Basis, Permitted};
use super::super::proposed::Proposed;
use super::super::seals::foreign_state;
use super::super::{Arrival, Refusal};
use super::Approvals;
use super::desk::failed;
use super::signable::Signable;
use crate::gateway::{fresh_id, now};

// === impl Approvals ===

impl Approvals {
    /// Seals what an approved call needs to go on, where its server wants something back. Nothing for every other reply:
    /// a server that keeps no state is asked anew, and so are people. Its question is in the session's label by now.
    pub(in crate::pipeline) fn left_open(
        &self,
        arrival: &Arrival,
        permitted: &Permitted,
        (reply, asked): (&Reply, Timestamp),
        state: &str,
    ) -> Option<String> {
        let consented = permitted.consented.as_ref()?;
        if shape::type_of(&reply.frame, reply.era) != shape::ResultType::InputRequired {
            return None;
        }
        let server = self.judge.service.as_ref()?.server();
        let signable = Signable::of(arrival, permitted, server).ok()?;
        let open = LeftOpen {
            id: &fresh_id(),
            by: permitted.reference.as_deref().unwrap_or_default(),
            session: permitted.session().key(),
            upstream: permitted.action.upstream(),
            action: signable.hash_for(consented.signed(), permitted, server),
            definition: signable.definition,
            state,
            said: &permitted.heard(),
            now: asked,
        };
        self.seals.leave_open(consented, &open)
    }

    /// Goes on with an approved call, judged with everything as it is now. What the person was not told is asked.
    pub(super) async fn go_on(
        &self,
        arrival: &Arrival,
        proposed: Proposed,
        escalation: Escalation,
        round: Round,
    ) -> Result<Settled, Refusal> {
        let Some(desk) = &self.judge.service else { return Ok(Settled::Open(proposed, escalation)) };
        let Ok(signable) = Signable::of(arrival, &proposed, desk.server()) else {
            return Ok(Settled::Open(proposed, escalation));
        };
        let proposed = self.judge.sessions.read_again(self.judge.renewed(proposed)?).await;
        let (proposed, escalation) = match self.judge.judge(proposed).await? {
            Settled::Open(proposed, escalation) => (proposed, escalation),
            granted @ Settled::Granted(..) => return Ok(granted),
        };
        let hash = signable.hash_for(Some(round.action()), &proposed, desk.server());
        let call = RoundCall {
            principal: &proposed.caller.principal,
            session: proposed.session().key(),
            action: &proposed.action,
            hash,
            definition: self.definition_now(&proposed, &signable),
            now: now(),
        };
        let round = round.resume(&call).map_err(|fault| match fault {
            RoundFault::Foreign => foreign_state(),
            RoundFault::Expired => Refusal::expired(),
            RoundFault::Changed => Refusal::changed(&proposed.decision),
        })?;
        // Not taken: whoever answers the new question lets this very round go on.
        if !escalation.goes_on_with(&round) {
            return Ok(Settled::Open(proposed, escalation));
        }
        if !arrival.is_awaited() {
            return Err(Refusal::gone(&proposed.decision));
        }
        let taken = desk.take_round(round.id(), round.ends()).await;
        let taken = taken.map_err(|fault| failed(&proposed, &fault))?;
        let spent = round.spend(taken).map_err(|outcome| match outcome {
            RoundOutcome::Expired => Refusal::expired(),
            RoundOutcome::Taken | RoundOutcome::AlreadyTaken => Refusal::taken(),
        })?;
        self.judge.recorder.escalation(&proposed, &escalation)?;
        let by = format!("continued, {}", spent.round().by());
        self.judge.recorder.answer_by(&proposed, escalation.question(), Answer::Approve, &by)?;
        let basis = Basis::on_record(spent.round().by());
        let signed = escalation.signed(Proof::Round(spent), hash);
        self.judge.judge_answered(proposed, signed, basis).await
    }
}
