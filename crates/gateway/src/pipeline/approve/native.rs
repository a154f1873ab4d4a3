//! A call that brings its own signature (SEP-2672): checks 1 to 14, then the judgement once more.

use highwater_core::approval::{ApprovalCall, Evidence};
use highwater_core::decide::{Answer, Escalation, Permit, Proof};

use super::super::arrival::Course;
use super::super::undertaking::Undertaking;
use super::super::{Arrival, Refusal};
use super::desk::{AtDesk, Settled, failed};
use crate::approvals::{Around, DeskFault, rules_of};
use crate::gateway::Gateway;

impl Gateway {
    /// Takes the evidence of a call.
    pub(super) async fn approve_natively(
        &self,
        here: &AtDesk<'_>,
        arrival: &Arrival,
        course: &Course,
        undertaking: &mut Undertaking,
        escalation: Escalation,
        evidence: &str,
    ) -> Result<Permit, Refusal> {
        let question = escalation.question();
        self.record_asked(undertaking, question, "evidence")?;
        let evidence =
            Evidence::parse(Some(evidence)).map_err(|reason| Refusal::rejected(&reason.into(), None))?;
        let signable = &here.signable;
        let principal = undertaking.caller.principal.clone();
        let call = ApprovalCall {
            principal: &principal,
            tool: &signable.tool,
            upstream: Some(undertaking.action.upstream()),
            definition: signable.definition,
            class: here.class,
            arguments: &signable.arguments,
        };
        let around = around(arrival, undertaking, &escalation);
        let (spent, receipt) = match here.desk.native(&evidence, &call, &around).await {
            Ok(signed) => signed,
            Err(DeskFault::Rejected(rejection)) => return Err(Refusal::rejected(&rejection, None)),
            Err(fault) => return Err(failed(undertaking, &fault)),
        };
        undertaking.receipts = vec![receipt.clone()];
        let by = spent.verified().user().to_string();
        self.record_answer_by(undertaking, question, Answer::Approve, &by)?;
        self.refresh(course, undertaking)?;
        undertaking.agreed = Some(format!("receipt {receipt}").into());
        match self.with_proof(undertaking, escalation, Proof::Native(spent), signable.hash).await? {
            Settled::Granted(permit) => Ok(permit),
            // Something was found in between that a signature does not answer.
            Settled::Open(escalation) => Err(self.unasked(undertaking, &escalation.unasked())),
        }
    }
}

/// What a receipt says beyond what was signed.
pub(super) fn around(arrival: &Arrival, undertaking: &Undertaking, escalation: &Escalation) -> Around {
    Around {
        caller: arrival.caller_name(),
        rules: rules_of(&escalation.told()),
        labels: highwater_core::audit::label_words(&undertaking.before.label).map(str::to_owned).collect(),
        decision: Some(undertaking.decision.clone()),
        sealed: undertaking.sealed,
    }
}
