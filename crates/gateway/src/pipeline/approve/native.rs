//! A call that brings its own signature (SEP-2672): checks 1 to 14, then the judgement once more.

use highwater_core::approval::{ApprovalCall, Evidence};
use highwater_core::decide::{Answer, Escalation, Proof};

use super::super::judge::Settled;
use super::super::permitted::Basis;
use super::super::proposed::Proposed;
use super::super::{Arrival, Refusal};
use super::desk::{AtDesk, failed};
use super::{Approvals, Approved};
use crate::approvals::{Around, DeskFault, rules_of};

// === impl Approvals ===

impl Approvals {
    /// Takes the evidence of a call.
    pub(super) async fn approve_natively(
        &self,
        here: &AtDesk<'_>,
        arrival: &Arrival,
        proposed: Proposed,
        escalation: Escalation,
        evidence: &str,
    ) -> Result<Approved, Refusal> {
        let question = escalation.question();
        self.judge.recorder.asked(&proposed, question, "evidence")?;
        let evidence =
            Evidence::parse(Some(evidence)).map_err(|reason| Refusal::rejected(&reason.into(), None))?;
        let signable = &here.signable;
        let call = ApprovalCall {
            principal: &proposed.caller.principal,
            tool: &signable.tool,
            upstream: Some(proposed.action.upstream()),
            definition: signable.definition,
            class: here.class,
            arguments: &signable.arguments,
        };
        let around = around(arrival, &proposed, &escalation);
        let (spent, receipt) = match here.desk.native(&evidence, &call, &around).await {
            Ok(signed) => signed,
            Err(DeskFault::Rejected(rejection)) => return Err(Refusal::rejected(&rejection, None)),
            Err(fault) => return Err(failed(&proposed, &fault)),
        };
        let by = spent.verified().user().to_string();
        self.judge.recorder.answer_by(&proposed, question, Answer::Approve, &by)?;
        let proposed = self.judge.renewed(proposed)?;
        let basis = Basis::on_record(format!("receipt {receipt}")).with_receipts(vec![receipt]).seen();
        let signed = escalation.signed(Proof::Native(spent), signable.hash);
        match self.judge.judge_answered(proposed, signed, basis).await? {
            Settled::Granted(proposed, granted) => Ok(Approved::of(proposed, granted)),
            // Something was found in between that a signature does not answer.
            Settled::Open(proposed, escalation) => {
                Err(self.judge.recorder.unasked(&proposed, &escalation.unasked()))
            }
        }
    }
}

/// What a receipt says beyond what was signed.
pub(super) fn around(arrival: &Arrival, proposed: &Proposed, escalation: &Escalation) -> Around {
    Around {
        caller: arrival.caller_name(),
        rules: rules_of(&escalation.told()),
        labels: highwater_core::audit::label_words(&proposed.label().told()).map(str::to_owned).collect(),
        decision: Some(proposed.decision.clone()),
        sealed: proposed.sealed,
    }
}
