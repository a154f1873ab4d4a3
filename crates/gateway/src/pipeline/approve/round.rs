//! A call that a person approved and whose server asks for more goes on without asking them again (G25): what it needs is
//! sealed when the question leaves, and taken once when the answers come.

use highwater_core::approval::{LeftOpen, RoundCall, RoundFault};
use highwater_mcp::era::reply as shape;
use highwater_notation::Timestamp;
use highwater_upstream::Reply;

use super::super::permitted::Permitted;
use super::super::proposed::Proposed;
use super::super::seals::foreign_state;
use super::super::{Arrival, Refusal};
use super::given::SpendableApproval;
use super::signable::Signable;
use super::{Approvals, HeldCall};
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

    /// The round that the call goes on with, held against the call.
    pub(super) fn find_round(
        &self,
        call: &mut HeldCall<'_>,
        proposed: &Proposed,
    ) -> Result<Option<SpendableApproval>, Refusal> {
        let (Some(round), Ok(here)) = (call.round.take(), &call.on_page) else { return Ok(None) };
        let hash = here.signable.hash_for(Some(round.action()), proposed, here.approval_service.server());
        let resumed = round.resume(&RoundCall {
            principal: &proposed.caller.principal,
            session: proposed.session().key(),
            action: &proposed.action,
            hash,
            definition: self.definition_now(proposed, &here.signable),
            now: now(),
        });
        match resumed {
            Ok(round) => Ok(Some(SpendableApproval::Round(Box::new(round)))),
            Err(RoundFault::Foreign) => Err(foreign_state()),
            Err(RoundFault::Expired) => Err(Refusal::expired()),
            Err(RoundFault::Changed) => Err(Refusal::changed(&proposed.decision)),
        }
    }
}
