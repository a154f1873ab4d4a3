//! The desk on the road: one request behind the button and the passkey, whatever the client can do. What a person agreed
//! to is judged again and used up before it is done, and nothing is done for a caller who has gone.

use std::sync::Arc;

use highwater_core::approval::{ActionHash, AuthenticatorClass, Grant, GrantOutcome, Quorum};
use highwater_core::decide::{Answer, Approval, Effect, Escalation, Permit, Proof, Unapproved, Verdict};
use highwater_core::grant::CallVariant;
use highwater_core::pin::PinDigest;
use highwater_mcp::annotations::VERIFIED_APPROVAL;
use highwater_mcp::error_code::INVALID_PARAMS;
use highwater_mcp::text::string_member;
use highwater_store::{ApprovalRequest, RequestState};

use super::super::arrival::Course;
use super::super::undertaking::Undertaking;
use super::super::{Arrival, Refusal};
use super::signable::{NotSignable, Signable};
use super::wait::Waited;
use super::{Approved, MAX_QUESTIONS, context};
use crate::approvals::{AskAnswer, By, ContextView, Desk, DeskFault, NewAsk, told_of};
use crate::gateway::Gateway;

/// What the person in front of a modern client did when they were sent to the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pipeline) enum PageAnswer {
    /// They agreed to open it. That is no approval.
    Opened,
    /// They did not want to.
    Refused,
    /// Nothing was said.
    Nothing,
}

/// An action at the desk: as it is signed, and what the operator wants for it.
pub(super) struct AtDesk<'a> {
    pub(super) desk: &'a Arc<Desk>,
    pub(super) signable: Signable,
    pub(super) class: AuthenticatorClass,
    pub(super) quorum: Option<Quorum>,
    pub(super) delegable: bool,
}

/// What becomes of a question that may have been answered.
pub(super) enum Settled {
    /// It was, and the action may be done.
    Granted(Permit),
    /// This one is still open.
    Open(Escalation),
}

impl Gateway {
    /// Holds an action until a person has answered at the desk.
    pub(super) async fn approve_at_desk(
        &self,
        desk: &Arc<Desk>,
        arrival: &Arrival,
        course: &Course,
        undertaking: &mut Undertaking,
        escalation: Escalation,
        mut page: Option<PageAnswer>,
    ) -> Result<Approved<Permit>, Refusal> {
        let signable = match Signable::of(arrival, course, undertaking, desk.server()) {
            Ok(signable) => signable,
            Err(NotSignable::Kind) => return Err(self.unasked(undertaking, &escalation.unasked())),
            Err(NotSignable::Request(why)) => return Err(Refusal::invalid(INVALID_PARAMS, why)),
        };
        let mut escalation = escalation;
        let mut here = AtDesk::of(desk, signable, undertaking);
        // What its server verifies is no signature for us.
        let signed = here.signable.is_call && undertaking.relayed.is_none();
        let evidence = signed.then(|| arrival.frame.meta(VERIFIED_APPROVAL)).flatten();
        if let Some(evidence) = evidence {
            desk.note_native(&undertaking.caller.principal);
            // The evidence holds one signature: where several people must sign, it is none.
            if here.quorum.is_none() {
                let permit = self.approve_natively(&here, arrival, course, undertaking, escalation, evidence);
                return permit.await.map(Approved::Granted);
            }
        }
        for _ in 0..MAX_QUESTIONS {
            escalation = match self.approved_before(&here, arrival, course, undertaking, escalation).await? {
                Settled::Granted(permit) => return Ok(Approved::Granted(permit)),
                Settled::Open(escalation) => escalation,
            };
            undertaking.sealed = undertaking.sealed || self.seals(undertaking);
            let request = self.ask_at_desk(&here, arrival, course, undertaking, &escalation).await;
            let request = match request.map_err(|fault| failed(undertaking, &fault))? {
                AskAnswer::Open(request) => *request,
                AskAnswer::Declined => return Err(self.declined(undertaking, &escalation.declined())),
                AskAnswer::TooMany => return Err(Refusal::too_many_questions(&undertaking.decision)),
                AskAnswer::Paused => return Err(Refusal::paused(&undertaking.decision, undertaking.name())),
                AskAnswer::Resetting => {
                    return Err(Refusal::resetting(&undertaking.decision, undertaking.name()));
                }
            };
            let said = page.take();
            if said == Some(PageAnswer::Refused) {
                let by = By::Client(undertaking.caller.principal.as_str());
                desk.decline(&request.id, by).await.map_err(|fault| failed(undertaking, &fault))?;
                return Err(self.declined(undertaking, &escalation.declined()));
            }
            let request = if request.state == RequestState::Approved {
                request
            } else {
                match self.await_person(&here, arrival, undertaking, &request, said).await? {
                    Waited::Approved(request) => *request,
                    Waited::Asked(delivery) => return Ok(Approved::Asked(delivery)),
                    Waited::Declined => return Err(self.declined(undertaking, &escalation.declined())),
                    Waited::Over => continue,
                }
            };
            // Never without somebody who waits for it: the answer stays for the identical call that comes next.
            if !arrival.is_awaited() {
                return Err(Refusal::gone(&undertaking.decision));
            }
            self.refresh(course, undertaking)?;
            here.signable.definition = self.definition_now(undertaking, &here.signable);
            self.look_again(undertaking).await;
            escalation = match self.judge(undertaking).await {
                Verdict::Allow(permit) => return Ok(Approved::Granted(permit)),
                Verdict::Block(denial) => return Err(self.block(undertaking, &denial)),
                Verdict::Escalate(escalation) => escalation,
            };
            if !escalation.is_answered_by(&granted(&request)) {
                let ended = desk.end(&request, "it does not cover what is found now").await;
                ended.map_err(|fault| failed(undertaking, &fault))?;
                self.record_escalation(undertaking, &escalation)?;
                continue;
            }
            escalation = match self.use_up(&here, undertaking, &request, escalation).await? {
                Settled::Granted(permit) => return Ok(Approved::Granted(permit)),
                Settled::Open(escalation) => escalation,
            };
        }
        Err(self.declined(undertaking, &escalation.unasked()))
    }

    /// Puts the question to the desk.
    async fn ask_at_desk(
        &self,
        here: &AtDesk<'_>,
        arrival: &Arrival,
        course: &Course,
        undertaking: &Undertaking,
        escalation: &Escalation,
    ) -> Result<AskAnswer, DeskFault> {
        let told = escalation.told();
        let definition = definition_text(course, undertaking);
        let context = self.stories.with(undertaking.session().key(), |story| {
            let findings = escalation.findings();
            context::around(undertaking, findings, &here.signable, story, definition.as_deref())
        });
        // What is remembered is compared, and so would have to be kept.
        let context =
            ContextView { rememberable: context.rememberable.filter(|_| !undertaking.sealed), ..context };
        let ask = NewAsk {
            kind: escalation.grade(),
            user: undertaking.standing.user.clone(),
            principal: &undertaking.caller.principal,
            session: undertaking.session().key(),
            caller: arrival.caller_name(),
            tool: &here.signable.tool,
            upstream: Some(undertaking.action.upstream()),
            definition: here.signable.definition,
            arguments: &here.signable.arguments,
            action: here.signable.hash,
            context,
            told: &told,
            question: escalation.question(),
            class: here.class,
            quorum: here.quorum.clone().filter(|_| escalation.grade() == Effect::Passkey),
            sealed: undertaking.sealed,
            decision: &undertaking.decision,
        };
        here.desk.ask(ask).await
    }

    /// Uses up what a person said, and judges the action once more with it.
    async fn use_up(
        &self,
        here: &AtDesk<'_>,
        undertaking: &mut Undertaking,
        request: &ApprovalRequest,
        escalation: Escalation,
    ) -> Result<Settled, Refusal> {
        let (hash, definition) = (here.signable.hash, here.signable.definition);
        let principal = undertaking.caller.principal.clone();
        let used = here.desk.use_grant(request, &principal, hash, definition).await;
        let used = used.map_err(|fault| failed(undertaking, &fault))?;
        let spent = match granted(request).spend(used) {
            Ok(spent) => spent,
            Err(GrantOutcome::Declined) => return Err(self.declined(undertaking, &escalation.declined())),
            Err(GrantOutcome::Changed) => return Err(Refusal::changed(&undertaking.decision)),
            // Somebody else was faster, or its time is over: it is asked anew.
            Err(_) => return Ok(Settled::Open(escalation)),
        };
        if request.kind == Effect::Passkey {
            let receipts = here.desk.receipts_for(&request.id).await;
            undertaking.receipts = receipts.map_err(|fault| failed(undertaking, &fault))?;
        }
        let by = request.decided_by.as_deref().unwrap_or_default();
        self.record_answer_by(undertaking, escalation.question(), Answer::Approve, by)?;
        undertaking.agreed = Some(format!("approval {}", request.id).into());
        self.with_proof(undertaking, escalation, Proof::Grant(spent), hash).await
    }

    /// Judges an action with the proof that a person agreed to it.
    pub(super) async fn with_proof(
        &self,
        undertaking: &mut Undertaking,
        escalation: Escalation,
        proof: Proof,
        action: ActionHash,
    ) -> Result<Settled, Refusal> {
        let approved = escalation.signed(proof, action);
        self.settle(undertaking, approved).await
    }

    /// Judges an approved call once more, or says why it is not approved. What the approval does not answer stays open.
    pub(super) async fn settle(
        &self,
        undertaking: &mut Undertaking,
        approved: Result<Approval, Unapproved>,
    ) -> Result<Settled, Refusal> {
        match approved {
            Ok(approval) => match self.judge_approved(undertaking, approval).await {
                Verdict::Allow(permit) => Ok(Settled::Granted(permit)),
                Verdict::Escalate(another) => Ok(Settled::Open(another)),
                Verdict::Block(denial) => Err(self.block(undertaking, &denial)),
            },
            Err(Unapproved::Declined(denial)) => Err(self.declined(undertaking, &denial)),
            Err(Unapproved::AnotherQuestion(escalation)) => Ok(Settled::Open(escalation)),
        }
    }

    /// How what is called is defined now (G16).
    pub(super) fn definition_now(&self, undertaking: &Undertaking, signable: &Signable) -> Option<PinDigest> {
        let (kind, name) = signable.defined.as_ref()?;
        let world = self.world.load_full();
        let names = world.virtual_server(&undertaking.caller.virtual_server)?.known();
        names.contracts(undertaking.action.upstream())?.definition(*kind, name)
    }
}

// === impl AtDesk ===

impl<'a> AtDesk<'a> {
    pub(super) fn of(desk: &'a Arc<Desk>, signable: Signable, undertaking: &Undertaking) -> Self {
        let settings = desk.settings();
        let action = &undertaking.action;
        let called = signable.defined.as_ref().map_or(&**action.target(), |(_, name)| name);
        let said = settings.tool(action.upstream(), called).filter(|_| signable.is_call);
        let destructive = undertaking.told.variant() == CallVariant::Destructive;
        Self {
            desk,
            class: said.map(|said| said.class).unwrap_or_default(),
            quorum: said.and_then(|said| said.quorum.clone()),
            delegable: said.and_then(|said| said.delegable).unwrap_or(!destructive),
            signable,
        }
    }
}

/// What a person said, as far as a call may rest on it once it is used up.
pub(super) fn granted(request: &ApprovalRequest) -> Grant {
    Grant {
        request: request.id.clone(),
        principal: request.principal.clone(),
        action: request.action,
        grade: request.kind,
        told: told_of(&request.told),
    }
}

/// The tool as its server defines it.
fn definition_text(course: &Course, undertaking: &Undertaking) -> Option<String> {
    let tool = undertaking.tool.as_ref()?;
    let stock = course.station.stock()?;
    let mut items = stock.tools.items.iter().filter_map(|item| std::str::from_utf8(item).ok());
    items.find(|item| string_member(item, "name").as_deref() == Some(&tool.own)).map(str::to_owned)
}

/// The desk could not do its part, so nothing is done.
pub(super) fn failed(undertaking: &Undertaking, fault: &DeskFault) -> Refusal {
    tracing::error!(error = %fault, decision = %undertaking.decision, "refused: a person could not be asked");
    Refusal::unaskable(&undertaking.decision, undertaking.name())
}
