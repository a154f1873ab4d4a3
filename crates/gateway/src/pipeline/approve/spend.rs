//! The one place where a yes is used up. What the store says of that is final: a call rests on it once, or not at all.

use highwater_core::approval::{ApprovalCall, Evidence, GrantOutcome, ResumedRound, RoundOutcome};
use highwater_core::decide::{Answer, Approval, Effect, Escalation, Proof, QuestionDigest, Unapproved};
use highwater_store::ApprovalRequest;

use super::super::Refusal;
use super::super::permitted::Basis;
use super::super::proposed::Proposed;
use super::given::SpendableApproval;
use super::page_request::{PageRequest, failed, granted};
use super::prior_consent::{DelegatedCall, around, predicted_reply, recalled};
use super::{Approvals, HeldCall};
use crate::approvals::ApprovalFault;

/// What came of using up a yes.
pub(super) enum Spending {
    /// The call may rest on it, if it is allowed with it.
    Spent(Proposed, Result<Approval, Unapproved>, Basis),
    /// Somebody else was faster, or its time is over: it is asked anew.
    NotSpent(Proposed, Escalation),
}

// === impl Approvals ===

impl Approvals {
    /// Uses up the yes that was found, and writes down that it was said.
    pub(super) async fn spend(
        &self,
        call: &mut HeldCall<'_>,
        proposed: Proposed,
        escalation: Escalation,
    ) -> Result<Spending, Refusal> {
        let Some(given) = call.given.take() else { return Err(Refusal::internal(&proposed.decision)) };
        let here = call.on_page.as_ref();
        match (given, here) {
            (SpendableApproval::Form(question, kept), _) => {
                if let Some(kept) = kept {
                    self.keep_answer(&proposed, kept).await;
                }
                let by = format!("a form of {}", proposed.caller.principal);
                // The form showed all that is sent, and the operator says that a person answers it.
                let basis = Basis::on_record(format!("question {question}")).seen().said_by(&by);
                let approval = escalation.answered(question, Answer::Approve);
                Ok(Spending::Spent(proposed, approval, basis))
            }
            (SpendableApproval::Challenge, _) => {
                let question = escalation.question();
                self.judge.recorder.answer_by(&proposed, question, Answer::Approve, "with its challenge")?;
                let approval = match &proposed.relayed {
                    Some(relayed) => escalation.agreed(relayed),
                    None => Err(Unapproved::AnotherQuestion(escalation)),
                };
                Ok(Spending::Spent(proposed, approval, Basis::default()))
            }
            (SpendableApproval::Permit(question, by), _) => self.say_by(proposed, escalation, question, by),
            (SpendableApproval::Remembered(question, by), Ok(here)) => {
                // Whoever said yes once and for later has not said it once more.
                let (told, scope, reply) = (escalation.told(), proposed.scope(), predicted_reply(&proposed));
                let listed = self.judge.sessions.listed_call(&proposed);
                let recalled = recalled(here, &proposed, (&told, listed.as_ref()), &scope, &reply);
                let beside = here.approval_service.use_beside(&recalled, here.signable.hash).await;
                beside.map_err(|fault| failed(&proposed, &fault))?;
                self.say_by(proposed, escalation, question, by)
            }
            (SpendableApproval::Mandate(_), Ok(here)) => {
                self.use_mandate(call, here, proposed, escalation).await
            }
            (SpendableApproval::Evidence(evidence), Ok(here)) => {
                self.use_evidence(call, here, proposed, escalation, &evidence).await
            }
            (SpendableApproval::Round(round), Ok(here)) => {
                self.take_round(here, proposed, escalation, *round).await
            }
            (SpendableApproval::Grant(request), Ok(here)) => {
                self.use_grant(here, proposed, escalation, &request).await
            }
            (
                SpendableApproval::Remembered(..)
                | SpendableApproval::Mandate(_)
                | SpendableApproval::Evidence(_)
                | SpendableApproval::Round(_)
                | SpendableApproval::Grant(_),
                Err(_),
            ) => Err(Refusal::internal(&proposed.decision)),
        }
    }

    /// A word that was said before, to this very question.
    fn say_by(
        &self,
        proposed: Proposed,
        escalation: Escalation,
        question: QuestionDigest,
        by: String,
    ) -> Result<Spending, Refusal> {
        self.judge.recorder.answer_by(&proposed, question, Answer::Approve, &by)?;
        let approval = escalation.answered(question, Answer::Approve);
        Ok(Spending::Spent(proposed, approval, Basis::on_record(by)))
    }

    /// One use of a mandate.
    async fn use_mandate(
        &self,
        call: &HeldCall<'_>,
        here: &PageRequest<'_>,
        proposed: Proposed,
        escalation: Escalation,
    ) -> Result<Spending, Refusal> {
        let Some(delegated) = DelegatedCall::of(here, call.arrival, &proposed, &escalation) else {
            return Ok(Spending::NotSpent(proposed, escalation));
        };
        let used = here.approval_service.use_mandate(&delegated.held_against(here, &proposed)).await;
        let hash = delegated.hash();
        let Some((mandate, spent, receipt)) = used.map_err(|fault| failed(&proposed, &fault))? else {
            return Ok(Spending::NotSpent(proposed, escalation));
        };
        let by = format!("mandate {} of {}", mandate.id, mandate.user);
        self.judge.recorder.answer_by(&proposed, escalation.question(), Answer::Approve, &by)?;
        let basis = Basis::on_record(by).with_receipts(vec![receipt]);
        Ok(Spending::Spent(proposed, escalation.signed(Proof::Mandate(spent), hash), basis))
    }

    /// A signature that came with its call (SEP-2672): checks 4 to 14.
    async fn use_evidence(
        &self,
        held: &HeldCall<'_>,
        here: &PageRequest<'_>,
        proposed: Proposed,
        escalation: Escalation,
        evidence: &Evidence,
    ) -> Result<Spending, Refusal> {
        let signable = &here.signable;
        let call = ApprovalCall {
            principal: &proposed.caller.principal,
            tool: &signable.tool,
            upstream: Some(proposed.action.upstream()),
            definition: signable.definition,
            class: here.class,
            arguments: &signable.arguments,
        };
        let around = around(held.arrival, &proposed, &escalation);
        let (spent, receipt) = match here.approval_service.native(evidence, &call, &around).await {
            Ok(signed) => signed,
            Err(ApprovalFault::Rejected(rejection)) => return Err(Refusal::rejected(&rejection, None)),
            Err(fault) => return Err(failed(&proposed, &fault)),
        };
        let by = spent.verified().user().to_string();
        self.judge.recorder.answer_by(&proposed, escalation.question(), Answer::Approve, &by)?;
        let basis = Basis::on_record(format!("receipt {receipt}")).with_receipts(vec![receipt]).seen();
        let approval = escalation.signed(Proof::Native(spent), signable.hash);
        Ok(Spending::Spent(proposed, approval, basis))
    }

    /// A round of an execution that a person agreed to.
    async fn take_round(
        &self,
        here: &PageRequest<'_>,
        proposed: Proposed,
        escalation: Escalation,
        round: ResumedRound,
    ) -> Result<Spending, Refusal> {
        let hash = here.signable.hash_for(Some(round.action()), &proposed, here.approval_service.server());
        let taken = here.approval_service.take_round(round.id(), round.ends()).await;
        let taken = taken.map_err(|fault| failed(&proposed, &fault))?;
        let spent = round.spend(taken).map_err(|outcome| match outcome {
            RoundOutcome::Expired => Refusal::expired(),
            RoundOutcome::Taken | RoundOutcome::AlreadyTaken => Refusal::taken(),
        })?;
        let by = format!("continued, {}", spent.round().by());
        self.judge.recorder.answer_by(&proposed, escalation.question(), Answer::Approve, &by)?;
        let basis = Basis::on_record(spent.round().by());
        Ok(Spending::Spent(proposed, escalation.signed(Proof::Round(spent), hash), basis))
    }

    /// A yes that was given on the page.
    async fn use_grant(
        &self,
        here: &PageRequest<'_>,
        proposed: Proposed,
        escalation: Escalation,
        request: &ApprovalRequest,
    ) -> Result<Spending, Refusal> {
        let (hash, definition) = (here.signable.hash, here.signable.definition);
        let scope = proposed.scope();
        let caller = (&proposed.caller.principal, &scope);
        let used = here.approval_service.use_grant(request, caller, hash, definition).await;
        let used = used.map_err(|fault| failed(&proposed, &fault))?;
        let spent = match granted(request).spend(used) {
            Ok(spent) => spent,
            Err(GrantOutcome::Declined) => {
                return Err(self.judge.recorder.declined(&proposed, &escalation.declined()));
            }
            Err(GrantOutcome::Changed) => return Err(Refusal::changed(&proposed.decision)),
            Err(
                GrantOutcome::Consumed
                | GrantOutcome::AlreadyConsumed
                | GrantOutcome::Pending
                | GrantOutcome::Expired
                | GrantOutcome::Short
                | GrantOutcome::Unknown,
            ) => return Ok(Spending::NotSpent(proposed, escalation)),
        };
        let by = request.decided_by.as_deref().unwrap_or_default();
        let basis = Basis::on_record(format!("approval {}", request.id)).seen().said_by(by);
        let basis = if request.kind == Effect::Passkey {
            let receipts = here.approval_service.receipts_for(&request.id).await;
            basis.with_receipts(receipts.map_err(|fault| failed(&proposed, &fault))?)
        } else {
            basis
        };
        self.judge.recorder.answer_by(&proposed, escalation.question(), Answer::Approve, by)?;
        Ok(Spending::Spent(proposed, escalation.signed(Proof::Grant(spent), hash), basis))
    }
}
