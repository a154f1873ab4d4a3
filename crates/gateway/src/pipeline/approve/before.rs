//! What was agreed to before the call came: an answer that is remembered, and a mandate.

use highwater_core::annotation::ArgumentRole;
use highwater_core::decide::{Answer, Effect, Escalation, Permit, Proof};
use highwater_mcp::text::members;

use super::super::arrival::Course;
use super::super::undertaking::Undertaking;
use super::super::{Arrival, Refusal};
use super::desk::{AtDesk, Settled, failed};
use super::native::around;
use super::signable::Signable;
use crate::approvals::{Mandated, Offer, Recalled, Rememberable};
use crate::gateway::Gateway;

/// A question that a form puts, and what may be kept of its answer.
pub(super) struct Posed {
    pub(super) escalation: Escalation,
    pub(super) offer: Option<Box<Offer>>,
}

impl Gateway {
    /// Looks for a yes that was given before, for a client that would show a form, and for what may be offered there: the
    /// same as on the page, and never more.
    pub(super) async fn before_form(
        &self,
        arrival: &Arrival,
        course: &Course,
        undertaking: &mut Undertaking,
        escalation: Escalation,
    ) -> Result<Result<Permit, Posed>, Refusal> {
        let open = |escalation| Ok(Err(Posed { escalation, offer: None }));
        let Some(desk) = self.desk() else { return open(escalation) };
        // What cannot be signed is asked about as it came, and nothing of it is remembered.
        let Ok(signable) = Signable::of(arrival, course, undertaking, desk.server()) else {
            return open(escalation);
        };
        let here = AtDesk::of(desk, signable, undertaking);
        let escalation = match self.approved_before(&here, arrival, course, undertaking, escalation).await? {
            Settled::Granted(permit) => return Ok(Ok(permit)),
            Settled::Open(escalation) => escalation,
        };
        let offer = offer(&here, undertaking, &escalation).map(Box::new);
        Ok(Err(Posed { escalation, offer }))
    }

    /// A yes that was given when the challenge of this call was asked for: one call is one question.
    pub(super) async fn agreed_with_challenge(
        &self,
        undertaking: &mut Undertaking,
        escalation: Escalation,
    ) -> Result<Settled, Refusal> {
        let Some(relayed) = &undertaking.relayed else { return Ok(Settled::Open(escalation)) };
        let question = escalation.question();
        let approved = escalation.agreed(relayed);
        if approved.is_ok() {
            self.record_answer_by(undertaking, question, Answer::Approve, "with its challenge")?;
        }
        self.settle(undertaking, approved).await
    }

    /// Looks for a yes that was given before and covers this call.
    pub(super) async fn approved_before(
        &self,
        here: &AtDesk<'_>,
        arrival: &Arrival,
        course: &Course,
        undertaking: &mut Undertaking,
        escalation: Escalation,
    ) -> Result<Settled, Refusal> {
        let escalation = match self.remembered(here, course, undertaking, escalation).await? {
            Settled::Open(escalation) => escalation,
            granted @ Settled::Granted(_) => return Ok(granted),
        };
        if !here.signable.is_call || here.quorum.is_some() {
            return Ok(Settled::Open(escalation));
        }
        self.mandated(here, arrival, undertaking, escalation).await
    }

    /// An answer that is remembered. Never one for a passkey.
    async fn remembered(
        &self,
        here: &AtDesk<'_>,
        course: &Course,
        undertaking: &mut Undertaking,
        escalation: Escalation,
    ) -> Result<Settled, Refusal> {
        if escalation.grade() != Effect::Confirm {
            return Ok(Settled::Open(escalation));
        }
        let told = escalation.told();
        let call = Recalled {
            principal: &undertaking.caller.principal,
            session: undertaking.session().key(),
            tool: &here.signable.tool,
            upstream: Some(undertaking.action.upstream()),
            definition: here.signable.definition,
            arguments: &here.signable.arguments,
            is_direct: here.signable.is_direct,
            contract: &undertaking.judged,
            label: &undertaking.before.label,
            told: &told,
        };
        let recalled = here.desk.recall(&call).await.map_err(|fault| failed(undertaking, &fault))?;
        let Some(answer) = recalled else { return Ok(Settled::Open(escalation)) };
        let beside = here.desk.use_beside(&call, here.signable.hash).await;
        beside.map_err(|fault| failed(undertaking, &fault))?;
        let by = format!("remembered {} by {}", answer.id, answer.user);
        let question = escalation.question();
        self.record_answer_by(undertaking, question, Answer::Approve, &by)?;
        let approved = escalation.answered(question, Answer::Approve);
        if approved.is_ok() {
            self.refresh(course, undertaking)?;
            undertaking.agreed = Some(by.into());
        }
        self.settle(undertaking, approved).await
    }

    /// A mandate that covers the call, used once.
    async fn mandated(
        &self,
        here: &AtDesk<'_>,
        arrival: &Arrival,
        undertaking: &mut Undertaking,
        escalation: Escalation,
    ) -> Result<Settled, Refusal> {
        let signable = &here.signable;
        let Some(called) = signable.called(undertaking, here.desk.server()) else {
            return Ok(Settled::Open(escalation));
        };
        let names: Vec<String> =
            members(called.arguments.as_str()).map(|(name, _)| name.into_owned()).collect();
        let aims: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|name| match undertaking.judged.role(&name.replace('~', "~0").replace('/', "~1")) {
                ArgumentRole::Scalar | ArgumentRole::Content => false,
                ArgumentRole::Query | ArgumentRole::Object | ArgumentRole::Target => true,
            })
            .collect();
        let around = around(arrival, undertaking, &escalation);
        let principal = undertaking.caller.principal.clone();
        let call = Mandated {
            principal: &principal,
            tool: &called.tool,
            upstream: Some(undertaking.action.upstream()),
            definition: signable.definition,
            arguments: called.arguments,
            delegable: here.delegable,
            aims: &aims,
            label: &undertaking.before.label,
            around: &around,
        };
        let used = here.desk.use_mandate(&call).await.map_err(|fault| failed(undertaking, &fault))?;
        let Some((mandate, spent, receipt)) = used else { return Ok(Settled::Open(escalation)) };
        undertaking.receipts = vec![receipt];
        let by = format!("mandate {} of {}", mandate.id, mandate.user);
        self.record_answer_by(undertaking, escalation.question(), Answer::Approve, &by)?;
        undertaking.agreed = Some(by.into());
        self.with_proof(undertaking, escalation, Proof::Mandate(spent), called.hash).await
    }
}

/// What may be kept of a yes to this question, if anything.
fn offer(here: &AtDesk<'_>, undertaking: &Undertaking, escalation: &Escalation) -> Option<Offer> {
    if escalation.grade() != Effect::Confirm {
        return None;
    }
    let (signable, label) = (&here.signable, &undertaking.before.label);
    Some(Offer {
        user: undertaking.standing.user.clone(),
        principal: undertaking.caller.principal.clone(),
        session: undertaking.session().key().clone(),
        tool: signable.tool.clone(),
        upstream: Some(undertaking.action.upstream().clone()),
        // Of a sealed call nothing is kept that could be compared.
        definition: signable.definition.filter(|_| !undertaking.sealed)?,
        same: Rememberable::of(&signable.arguments, signable.is_direct, &undertaking.judged, label)?,
        told: serde_json::to_string(&escalation.told()).ok()?.into(),
    })
}
