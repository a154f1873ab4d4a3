//! What was agreed to before the call came: an answer that is remembered, and a mandate.

use std::path::Path;
use std::sync::Arc;

use highwater_core::action::ActionKind;
use highwater_core::annotation::{ArgumentRole, Destination};
use highwater_core::approval::{CanonicalArguments, PermitUse};
use highwater_core::decide::{Answer, Effect, Escalation, Proof, Told};
use highwater_core::label::Label;
use highwater_core::profile::{Named, Profile};
use highwater_mcp::text::{member, members};

use super::super::judge::Settled;
use super::super::permitted::Basis;
use super::super::proposed::Proposed;
use super::super::{Arrival, Refusal};
use super::Approvals;
use super::desk::{AtDesk, failed};
use super::native::around;
use super::signable::Signable;
use crate::approvals::{
    AskedCall, Mandated, Offer, Recalled, Rememberable, Surface, common_folder, is_content,
};
use crate::gateway::now;

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
            Settled::Open(proposed, escalation) => self.offer(&here, proposed, escalation).map(Box::new),
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

    /// A permit of the operator's file that covers the call. It is a word and no signature, so that it answers no more than
    /// a confirmation.
    pub(super) async fn permitted_by_file(
        &self,
        proposed: Proposed,
        escalation: Escalation,
    ) -> Result<Settled, Refusal> {
        let world = self.judge.world.load_full();
        let is_call = proposed.action.kind() == ActionKind::CallTool && proposed.relayed.is_none();
        if world.permits.is_empty() || !is_call || escalation.grade() != Effect::Confirm {
            return Ok(Settled::Open(proposed, escalation));
        }
        let Ok(arguments) = CanonicalArguments::read(member(proposed.action.params(), "arguments")) else {
            return Ok(Settled::Open(proposed, escalation));
        };
        let (aims, told) = (aims(&proposed, &arguments), escalation.told());
        let aims: Vec<&str> = aims.iter().map(String::as_str).collect();
        let call = PermitUse {
            principal: &proposed.caller.principal,
            upstream: proposed.action.upstream(),
            tool: proposed.action.target(),
            arguments: &arguments,
            types: proposed.known().shape.types(),
            aims: &aims,
            label: proposed.label(),
            told: &told,
            now: now(),
        };
        let Some(permit) = world.permits.iter().find(|permit| permit.admits(&call).is_ok()) else {
            return Ok(Settled::Open(proposed, escalation));
        };
        let by = format!("permit {}", permit.name());
        let question = escalation.question();
        self.judge.recorder.answer_by(&proposed, question, Answer::Approve, &by)?;
        let answered = escalation.answered(question, Answer::Approve);
        self.judge.judge_answered(proposed, answered, Basis::on_record(by)).await
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
        let (told, scope, reply) = (escalation.told(), proposed.scope(), predicted_reply(&proposed));
        let call = Recalled {
            principal: &proposed.caller.principal,
            session: &scope,
            tool: &here.signable.tool,
            upstream: Some(proposed.action.upstream()),
            definition: here.signable.definition,
            call: asked_call(&proposed, &here.signable, &told, &reply),
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
        let aims = aims(&proposed, called.arguments);
        let aims: Vec<&str> = aims.iter().map(String::as_str).collect();
        let around = around(arrival, &proposed, &escalation);
        let (session, reply) = (proposed.scope(), predicted_reply(&proposed));
        let call = Mandated {
            principal: &proposed.caller.principal,
            tool: &called.tool,
            upstream: Some(proposed.action.upstream()),
            definition: signable.definition,
            arguments: called.arguments,
            types: proposed.known().shape.types(),
            delegable: here.delegable,
            aims: &aims,
            session: &session,
            label: proposed.label(),
            reply: &reply,
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

    /// What may be kept of a yes to this question that is given in a form, if anything.
    fn offer(&self, here: &AtDesk<'_>, proposed: &Proposed, escalation: &Escalation) -> Option<Offer> {
        if escalation.grade() != Effect::Confirm {
            return None;
        }
        let (signable, told) = (&here.signable, escalation.told());
        Some(Offer {
            user: proposed.standing.user.clone(),
            principal: proposed.caller.principal.clone(),
            session: proposed.scope(),
            tool: signable.tool.clone(),
            upstream: Some(proposed.action.upstream().clone()),
            // Of a sealed call nothing is kept that could be compared.
            definition: signable.definition.filter(|_| !proposed.sealed)?,
            same: self
                .rememberable(proposed, signable, &told)
                .filter(|same| !same.scopes(Surface::Form).is_empty())?,
            told: serde_json::to_string(&told).ok()?.into(),
        })
    }

    /// What a yes to a question may cover beyond this one call, if anything.
    pub(super) fn rememberable(
        &self,
        proposed: &Proposed,
        signable: &Signable,
        told: &Told,
    ) -> Option<Rememberable> {
        let reply = predicted_reply(proposed);
        let told_with_reply = Told::with_reply(&proposed.policy, &proposed.facts(), &reply);
        let call = asked_call(proposed, signable, told, &reply);
        let places = Arc::clone(&self.judge.world.load().places);
        let home = places.home.as_deref().and_then(|home| Path::new(home).canonicalize().ok());
        let home = home.as_deref().and_then(Path::to_str);
        let folder = common_folder(call.files, &places, home);
        let call = AskedCall { folder: folder.as_deref(), told_with_reply: told_with_reply.as_ref(), ..call };
        Rememberable::of(signable.tool.as_str(), &call)
    }
}

/// A call whose answer may be remembered, or may have been.
fn asked_call<'a>(
    proposed: &'a Proposed,
    signable: &'a Signable,
    told: &'a Told,
    reply: &'a Label,
) -> AskedCall<'a> {
    let known = proposed.known();
    // Paths are those of this machine only at a server of this machine.
    let are_told =
        known.profile == Profile::Local && matches!(proposed.local.named, Named::Things | Named::InProjects);
    AskedCall {
        arguments: &signable.arguments,
        is_direct: signable.is_direct,
        contract: &proposed.contract,
        shape: &known.shape,
        page: signable.page(proposed),
        files: if are_told { &proposed.files.real } else { &[] },
        folder: None,
        label: proposed.label(),
        reply,
        told,
        told_with_reply: None,
    }
}

/// What the call adds to the session by the contract of its reply.
fn predicted_reply(proposed: &Proposed) -> Label {
    let contract = &proposed.reply_contract;
    let reply = contract.reply_label().clone();
    let goes_out = contract.destination().contains(Destination::Public);
    if goes_out { reply.with_wrote_externally() } else { reply }
}

/// The names of the arguments that say what is acted on and where.
fn aims(proposed: &Proposed, arguments: &CanonicalArguments) -> Vec<String> {
    let (contract, shape) = (&proposed.contract, &proposed.known().shape);
    members(arguments.as_str())
        .filter(|(name, value)| {
            let role = contract.role(&name.replace('~', "~0").replace('/', "~1"));
            role != ArgumentRole::Scalar && !is_content(contract, shape, name, value)
        })
        .map(|(name, _)| name.into_owned())
        .collect()
}
