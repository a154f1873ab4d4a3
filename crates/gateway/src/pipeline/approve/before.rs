//! What was agreed to before the call came: an answer that is remembered, and a mandate.

use highwater_core::annotation::ArgumentRole;
use highwater_core::decide::{Answer, Effect, Escalation, Proof};
use highwater_mcp::text::members;

use super::super::judge::Settled;
use super::super::permitted::Basis;
use super::super::proposed::Proposed;
use super::super::{Arrival, Refusal};
use super::Approvals;
use super::desk::{AtDesk, failed};
use super::native::around;
use super::signable::Signable;
use crate::approvals::{Mandated, Offer, Recalled, Rememberable};

// === impl Approvals ===

impl Approvals {
    /// Looks for a yes that was given before, for a client that would show a form, and for what may be offered there: the
    /// same as on the page, and never more.
    pub(super) async fn before_form(
        &self,
        arrival: &Arrival,
        proposed: Proposed,
        escalation: Escalation,
    ) -> Result<(Settled, Option<Box<Offer>>), Refusal> {
        // What cannot be signed is asked about as it came, and nothing of it is remembered.
        let here = self.judge.service.as_ref().and_then(|desk| {
            let signable = Signable::of(arrival, &proposed, desk.server()).ok()?;
            Some(AtDesk::of(desk, signable, &proposed))
        });
        let Some(here) = here else { return Ok((Settled::Open(proposed, escalation), None)) };
        let settled = self.approved_before(&here, arrival, proposed, escalation).await?;
        let offer = match &settled {
            Settled::Granted(..) => None,
            Settled::Open(proposed, escalation) => offer(&here, proposed, escalation).map(Box::new),
        };
        Ok((settled, offer))
    }

    /// A yes that was given when the challenge of this call was asked for: one call is one question.
    pub(super) async fn agreed_with_challenge(
        &self,
        proposed: Proposed,
        escalation: Escalation,
    ) -> Result<Settled, Refusal> {
        let Some(relayed) = &proposed.relayed else { return Ok(Settled::Open(proposed, escalation)) };
        let question = escalation.question();
        let approved = escalation.agreed(relayed);
        if approved.is_ok() {
            self.judge.recorder.answer_by(&proposed, question, Answer::Approve, "with its challenge")?;
        }
        self.judge.judge_answered(proposed, approved, Basis::default()).await
    }

    /// Looks for a yes that was given before and covers this call.
    pub(super) async fn approved_before(
        &self,
        here: &AtDesk<'_>,
        arrival: &Arrival,
        proposed: Proposed,
        escalation: Escalation,
    ) -> Result<Settled, Refusal> {
        match self.remembered(here, proposed, escalation).await? {
            Settled::Open(proposed, escalation) if here.signable.is_call && here.quorum.is_none() => {
                self.mandated(here, arrival, proposed, escalation).await
            }
            settled => Ok(settled),
        }
    }

    /// An answer that is remembered. Never one for a passkey.
    async fn remembered(
        &self,
        here: &AtDesk<'_>,
        proposed: Proposed,
        escalation: Escalation,
    ) -> Result<Settled, Refusal> {
        if escalation.grade() != Effect::Confirm {
            return Ok(Settled::Open(proposed, escalation));
        }
        let (told, scope) = (escalation.told(), proposed.scope());
        let call = Recalled {
            principal: &proposed.caller.principal,
            session: &scope,
            tool: &here.signable.tool,
            upstream: Some(proposed.action.upstream()),
            definition: here.signable.definition,
            arguments: &here.signable.arguments,
            is_direct: here.signable.is_direct,
            contract: &proposed.contract,
            page: here.signable.page(&proposed),
            label: proposed.label(),
            told: &told,
        };
        let recalled = here.desk.recall(&call).await.map_err(|fault| failed(&proposed, &fault))?;
        let Some(answer) = recalled else { return Ok(Settled::Open(proposed, escalation)) };
        let beside = here.desk.use_beside(&call, here.signable.hash).await;
        beside.map_err(|fault| failed(&proposed, &fault))?;
        let by = format!("remembered {} by {}", answer.id, answer.user);
        let question = escalation.question();
        self.judge.recorder.answer_by(&proposed, question, Answer::Approve, &by)?;
        let approved = escalation.answered(question, Answer::Approve);
        let proposed = if approved.is_ok() { self.judge.renewed(proposed)? } else { proposed };
        self.judge.judge_answered(proposed, approved, Basis::on_record(by)).await
    }

    /// A mandate that covers the call, used once.
    async fn mandated(
        &self,
        here: &AtDesk<'_>,
        arrival: &Arrival,
        proposed: Proposed,
        escalation: Escalation,
    ) -> Result<Settled, Refusal> {
        let signable = &here.signable;
        let Some(called) = signable.called(&proposed, here.desk.server()) else {
            return Ok(Settled::Open(proposed, escalation));
        };
        let names: Vec<String> =
            members(called.arguments.as_str()).map(|(name, _)| name.into_owned()).collect();
        let aims: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|name| match proposed.contract.role(&name.replace('~', "~0").replace('/', "~1")) {
                ArgumentRole::Scalar | ArgumentRole::Content => false,
                ArgumentRole::Query | ArgumentRole::Object | ArgumentRole::Target => true,
            })
            .collect();
        let around = around(arrival, &proposed, &escalation);
        let call = Mandated {
            principal: &proposed.caller.principal,
            tool: &called.tool,
            upstream: Some(proposed.action.upstream()),
            definition: signable.definition,
            arguments: called.arguments,
            delegable: here.delegable,
            aims: &aims,
            label: proposed.label(),
            around: &around,
        };
        let used = here.desk.use_mandate(&call).await.map_err(|fault| failed(&proposed, &fault))?;
        let Some((mandate, spent, receipt)) = used else {
            return Ok(Settled::Open(proposed, escalation));
        };
        let by = format!("mandate {} of {}", mandate.id, mandate.user);
        self.judge.recorder.answer_by(&proposed, escalation.question(), Answer::Approve, &by)?;
        let basis = Basis::on_record(by).with_receipts(vec![receipt]);
        let signed = escalation.signed(Proof::Mandate(spent), called.hash);
        self.judge.judge_answered(proposed, signed, basis).await
    }
}

/// What may be kept of a yes to this question, if anything.
fn offer(here: &AtDesk<'_>, proposed: &Proposed, escalation: &Escalation) -> Option<Offer> {
    if escalation.grade() != Effect::Confirm {
        return None;
    }
    let (signable, label) = (&here.signable, proposed.label());
    Some(Offer {
        user: proposed.standing.user.clone(),
        principal: proposed.caller.principal.clone(),
        session: proposed.scope(),
        tool: signable.tool.clone(),
        upstream: Some(proposed.action.upstream().clone()),
        // Of a sealed call nothing is kept that could be compared.
        definition: signable.definition.filter(|_| !proposed.sealed)?,
        // A form is the client's word, and whole hosts are not left to it.
        same: Rememberable::of(&signable.arguments, signable.is_direct, &proposed.contract, None, label)?,
        told: serde_json::to_string(&escalation.told()).ok()?.into(),
    })
}
