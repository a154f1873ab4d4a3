//! The desk on the road: one request behind the button and the passkey, whatever the client can do. What a person agreed
//! to is judged again and used up before it is done, and nothing is done for a caller who has gone.

use std::sync::Arc;

use highwater_core::approval::{AuthenticatorClass, Grant, GrantOutcome, Quorum};
use highwater_core::decide::{Answer, Effect, Escalation, Proof};
use highwater_core::grant::CallVariant;
use highwater_core::pin::PinDigest;
use highwater_mcp::annotations::VERIFIED_APPROVAL;
use highwater_mcp::error_code::INVALID_PARAMS;
use highwater_mcp::text::string_member;
use highwater_store::{ApprovalRequest, RequestState};

use super::super::judge::Settled;
use super::super::permitted::Basis;
use super::super::proposed::{Earlier, Proposed};
use super::super::{Arrival, Refusal};
use super::signable::{NotSignable, Signable};
use super::wait::{Waited, has_link};
use super::{Approvals, Approved, MAX_QUESTIONS, context};
use crate::approvals::{AskAnswer, By, ContextView, Desk, DeskFault, NewAsk, told_of};

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

// === impl Approvals ===

impl Approvals {
    /// Holds an action until a person has answered at the desk.
    pub(super) async fn approve_at_desk(
        &self,
        desk: &Arc<Desk>,
        arrival: &Arrival,
        proposed: Proposed,
        escalation: Escalation,
        mut page: Option<PageAnswer>,
    ) -> Result<Approved, Refusal> {
        let signable = match Signable::of(arrival, &proposed, desk.server()) {
            Ok(signable) => signable,
            Err(NotSignable::Kind) => {
                return Err(self.judge.recorder.unasked(&proposed, &escalation.unasked()));
            }
            Err(NotSignable::Request(why)) => return Err(Refusal::invalid(INVALID_PARAMS, why)),
        };
        let (mut proposed, mut escalation) = (proposed, escalation);
        let mut here = AtDesk::of(desk, signable, &proposed);
        // What its server verifies is no signature for us.
        let signed = here.signable.is_call && proposed.relayed.is_none();
        let evidence = signed.then(|| arrival.frame.meta(VERIFIED_APPROVAL)).flatten();
        if let Some(evidence) = evidence {
            arrival.client.note_approval();
            // The evidence holds one signature: where several people must sign, it is none.
            if here.quorum.is_none() {
                return self.approve_natively(&here, arrival, proposed, escalation, evidence).await;
            }
        }
        for _ in 0..MAX_QUESTIONS {
            (proposed, escalation) = match self.approved_before(&here, arrival, proposed, escalation).await? {
                Settled::Granted(proposed, granted) => return Ok(Approved::of(proposed, granted)),
                Settled::Open(proposed, escalation) => (proposed, escalation),
            };
            let sealed = proposed.sealed || self.judge.seals(&proposed);
            proposed = proposed.sealed_if(sealed);
            let request = self.ask_at_desk(&here, arrival, &proposed, &escalation).await;
            let request = match request.map_err(|fault| failed(&proposed, &fault))? {
                AskAnswer::Open(request) => *request,
                AskAnswer::Declined => {
                    return Err(self.judge.recorder.declined(&proposed, &escalation.declined()));
                }
                AskAnswer::TooMany => return Err(Refusal::too_many_questions(&proposed.decision)),
                AskAnswer::Paused => return Err(Refusal::paused(&proposed.decision, proposed.name())),
                AskAnswer::Resetting => return Err(Refusal::resetting(&proposed.decision, proposed.name())),
            };
            let said = page.take();
            if said == Some(PageAnswer::Refused) {
                let by = By::Client(proposed.caller.principal.as_str());
                desk.decline(&request.id, by).await.map_err(|fault| failed(&proposed, &fault))?;
                return Err(self.judge.recorder.declined(&proposed, &escalation.declined()));
            }
            let request = if request.state == RequestState::Approved {
                request
            } else {
                match self.await_person(&here, arrival, &proposed, &request, said).await? {
                    Waited::Approved(request) => *request,
                    Waited::Asked(delivery) => return Ok(Approved::Asked(delivery)),
                    Waited::Declined => {
                        return Err(self.judge.recorder.declined(&proposed, &escalation.declined()));
                    }
                    Waited::Over => {
                        // A person may have said that this is a new conversation.
                        proposed = self.judge.sessions.read_again(self.judge.renewed(proposed)?).await;
                        (proposed, escalation) = match self.judge.judge(proposed).await? {
                            Settled::Granted(proposed, granted) => {
                                return Ok(Approved::of(proposed, granted));
                            }
                            Settled::Open(proposed, escalation) => (proposed, escalation),
                        };
                        continue;
                    }
                }
            };
            // Never without somebody who waits for it: the answer stays for the identical call that comes next.
            if !arrival.is_awaited() {
                return Err(Refusal::gone(&proposed.decision));
            }
            self.settle_earlier(&proposed).await?;
            proposed = self.judge.sessions.read_again(self.judge.renewed(proposed)?).await;
            here.signable.definition = self.definition_now(&proposed, &here.signable);
            (proposed, escalation) = match self.judge.judge(proposed).await? {
                Settled::Granted(proposed, granted) => return Ok(Approved::of(proposed, granted)),
                Settled::Open(proposed, escalation) => (proposed, escalation),
            };
            if !escalation.is_answered_by(&granted(&request)) {
                let ended = desk.end(&request, "it does not cover what is found now").await;
                ended.map_err(|fault| failed(&proposed, &fault))?;
                self.judge.recorder.escalation(&proposed, &escalation)?;
                continue;
            }
            (proposed, escalation) = match self.use_up(&here, proposed, &request, escalation).await? {
                Settled::Granted(proposed, granted) => return Ok(Approved::of(proposed, granted)),
                Settled::Open(proposed, escalation) => (proposed, escalation),
            };
        }
        Err(self.judge.recorder.declined(&proposed, &escalation.unasked()))
    }

    /// A yes to a call that was asked about because of what was read before a silence, and not the word that this is a new
    /// conversation: it is the same one.
    async fn settle_earlier(&self, proposed: &Proposed) -> Result<(), Refusal> {
        if proposed.earlier == Earlier::Indifferent {
            return Ok(());
        }
        let joined = proposed.session().join_pending(proposed.before.epoch).await;
        joined.map_err(|error| failed(proposed, &DeskFault::Store(error)))
    }

    /// Puts the question to the desk.
    async fn ask_at_desk(
        &self,
        here: &AtDesk<'_>,
        arrival: &Arrival,
        proposed: &Proposed,
        escalation: &Escalation,
    ) -> Result<AskAnswer, DeskFault> {
        let told = escalation.told();
        let definition = definition_text(proposed);
        let context = self.judge.sessions.stories.with(proposed.session().key(), |story| {
            let findings = escalation.findings();
            context::around(proposed, findings, &here.signable, story, definition.as_deref())
        });
        // What is remembered is compared, and so would have to be kept.
        let rememberable =
            (!proposed.sealed).then(|| self.rememberable(proposed, &here.signable, &told)).flatten();
        let context = ContextView { rememberable, ..context };
        let ask = NewAsk {
            kind: escalation.grade(),
            user: proposed.standing.user.clone(),
            principal: &proposed.caller.principal,
            session: &proposed.scope(),
            caller: arrival.caller_name(),
            tool: &here.signable.tool,
            upstream: Some(proposed.action.upstream()),
            definition: here.signable.definition,
            arguments: &here.signable.arguments,
            action: here.signable.hash,
            context,
            told: &told,
            question: escalation.question(),
            class: here.class,
            quorum: here.quorum.clone().filter(|_| escalation.grade() == Effect::Passkey),
            sealed: proposed.sealed,
            has_link: has_link(here, arrival, proposed, escalation.grade()),
            decision: &proposed.decision,
        };
        here.desk.ask(ask).await
    }

    /// Uses up what a person said, and judges the action once more with it.
    async fn use_up(
        &self,
        here: &AtDesk<'_>,
        proposed: Proposed,
        request: &ApprovalRequest,
        escalation: Escalation,
    ) -> Result<Settled, Refusal> {
        let (hash, definition) = (here.signable.hash, here.signable.definition);
        let scope = proposed.scope();
        let caller = (&proposed.caller.principal, &scope);
        let used = here.desk.use_grant(request, caller, hash, definition).await;
        let used = used.map_err(|fault| failed(&proposed, &fault))?;
        let spent = match granted(request).spend(used) {
            Ok(spent) => spent,
            Err(GrantOutcome::Declined) => {
                return Err(self.judge.recorder.declined(&proposed, &escalation.declined()));
            }
            Err(GrantOutcome::Changed) => return Err(Refusal::changed(&proposed.decision)),
            // Somebody else was faster, or its time is over: it is asked anew.
            Err(_) => return Ok(Settled::Open(proposed, escalation)),
        };
        let by = request.decided_by.as_deref().unwrap_or_default();
        let basis = Basis::on_record(format!("approval {}", request.id)).seen().said_by(by);
        let basis = if request.kind == Effect::Passkey {
            let receipts = here.desk.receipts_for(&request.id).await;
            basis.with_receipts(receipts.map_err(|fault| failed(&proposed, &fault))?)
        } else {
            basis
        };
        self.judge.recorder.answer_by(&proposed, escalation.question(), Answer::Approve, by)?;
        let signed = escalation.signed(Proof::Grant(spent), hash);
        self.judge.judge_answered(proposed, signed, basis).await
    }

    /// How what is called is defined now (G16).
    pub(super) fn definition_now(&self, proposed: &Proposed, signable: &Signable) -> Option<PinDigest> {
        let (kind, name) = signable.defined.as_ref()?;
        self.judge.definition_now(proposed, *kind, name)
    }
}

// === impl AtDesk ===

impl<'a> AtDesk<'a> {
    pub(super) fn of(desk: &'a Arc<Desk>, signable: Signable, proposed: &Proposed) -> Self {
        let settings = desk.settings();
        let action = &proposed.action;
        let called = signable.defined.as_ref().map_or(&**action.target(), |(_, name)| name);
        let said = settings.tool(action.upstream(), called).filter(|_| signable.is_call);
        let destructive = proposed.reply_contract.variant() == CallVariant::Destructive;
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
pub(super) fn definition_text(proposed: &Proposed) -> Option<String> {
    let tool = proposed.route.tool.as_ref()?;
    let stock = proposed.route.station.stock()?;
    let mut items = stock.tools.items.iter().filter_map(|item| std::str::from_utf8(item).ok());
    items.find(|item| string_member(item, "name").as_deref() == Some(&tool.own)).map(str::to_owned)
}

/// The desk could not do its part, so nothing is done.
pub(super) fn failed(proposed: &Proposed, fault: &DeskFault) -> Refusal {
    tracing::error!(error = %fault, decision = %proposed.decision, "refused: a person could not be asked");
    Refusal::unaskable(&proposed.decision, proposed.name())
}
