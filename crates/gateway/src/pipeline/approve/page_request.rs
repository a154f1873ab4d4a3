//! The approval service on the road: one request behind the button and the passkey, whatever the client can do. What a person agreed
//! to is judged again and used up before it is done, and nothing is done for a caller who has gone.

use std::sync::Arc;

use highwater_core::approval::{AuthenticatorClass, Grant, Quorum};
use highwater_core::decide::{Effect, Escalation};
use highwater_core::grant::CallVariant;
use highwater_core::id::DecisionId;
use highwater_core::pin::PinDigest;
use highwater_mcp::annotations::VERIFIED_APPROVAL;
use highwater_mcp::text::string_member;
use highwater_store::{ApprovalRequest, RequestState, SessionKind};

use super::super::proposed::{Earlier, Proposed};
use super::super::{Arrival, Refusal};
use super::given::SpendableApproval;
use super::question::{Channel, Event};
use super::signable::{NotSignable, Signable};
use super::{Approvals, Asked, Consent, HeldCall, PutQuestion, context, value_words};
use crate::approvals::{ApprovalFault, ApprovalService, AskAnswer, By, ContextView, NewAsk, told_of};

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

/// An action at the approval service: as it is signed, and what the operator wants for it.
pub(super) struct PageRequest<'a> {
    pub(super) approval_service: &'a Arc<ApprovalService>,
    pub(super) signable: Signable,
    pub(super) class: AuthenticatorClass,
    pub(super) quorum: Option<Quorum>,
    pub(super) delegable: bool,
}

// === impl Approvals ===

impl Approvals {
    /// The call with what was brought to its question.
    pub(super) fn held_call<'a>(
        &'a self,
        arrival: &'a Arrival,
        proposed: &Proposed,
        consent: Option<Consent>,
    ) -> HeldCall<'a> {
        let on_page = match &self.judge.service {
            Some(approval_service) => Signable::of(arrival, proposed, approval_service.server())
                .map(|signable| PageRequest::of(approval_service, signable, proposed)),
            None => Err(NotSignable::Kind),
        };
        // What its server verifies is no signature for us.
        let may_sign = proposed.relayed.is_none() && on_page.as_ref().is_ok_and(|here| here.signable.is_call);
        let evidence = may_sign.then(|| arrival.frame.meta(VERIFIED_APPROVAL)).flatten();
        if evidence.is_some() {
            arrival.client.note_approval();
        }
        let call = HeldCall {
            arrival,
            on_page,
            round: None,
            evidence,
            visit: None,
            filled_in: None,
            given: None,
            put: None,
        };
        match consent {
            None => call,
            Some(Consent::Form(filled_in)) => HeldCall { filled_in: Some(filled_in), ..call },
            Some(Consent::Page(visit, _)) => HeldCall { visit: Some(visit), ..call },
            Some(Consent::Round(round)) => HeldCall { round: Some(round), ..call },
        }
    }

    /// Puts the question on the page, or joins the same one that waits there.
    pub(super) async fn ask_on_page(
        &self,
        channel: Channel,
        call: &mut HeldCall<'_>,
        proposed: &Proposed,
        escalation: &Escalation,
    ) -> Result<Asked, Refusal> {
        let Ok(here) = &call.on_page else { return Err(Refusal::internal(&proposed.decision)) };
        let asked = self.put_on_page(channel, here, call.arrival, proposed, escalation).await;
        let request = match asked.map_err(|fault| failed(proposed, &fault))? {
            AskAnswer::Open(request) => request,
            AskAnswer::Declined => return Ok(Asked::Event(Event::Declined)),
            AskAnswer::TooMany => return Ok(Asked::NotPut(Refusal::too_many_questions(&proposed.decision))),
            AskAnswer::Paused => {
                return Ok(Asked::NotPut(Refusal::paused(&proposed.decision, proposed.name())));
            }
            AskAnswer::Resetting => {
                return Ok(Asked::NotPut(Refusal::resetting(&proposed.decision, proposed.name())));
            }
        };
        if call.visit == Some(PageAnswer::Refused) {
            let by = By::Client(proposed.caller.principal.as_str());
            here.approval_service.decline(&request.id, by).await.map_err(|fault| failed(proposed, &fault))?;
            return Ok(Asked::Event(Event::Declined));
        }
        self.judge.sessions.note_question(proposed);
        Ok(Asked::Event(if request.state == RequestState::Approved {
            call.given = Some(SpendableApproval::Grant(request));
            Event::Collected
        } else {
            call.put = Some(PutQuestion::Request(request));
            Event::Put
        }))
    }

    /// Lets go of a yes that does not cover what is asked now. One that waits on the page ends with it.
    pub(super) async fn drop_given(
        &self,
        call: &mut HeldCall<'_>,
        proposed: &Proposed,
    ) -> Result<(), Refusal> {
        if let (Some(SpendableApproval::Grant(request)), Ok(here)) = (call.given.take(), &call.on_page) {
            let ended = here.approval_service.end(&request, "it does not cover what is found now").await;
            ended.map_err(|fault| failed(proposed, &fault))?;
        }
        call.round = None;
        Ok(())
    }

    /// A yes to a call that was asked about because of what was read before a silence, and not the word that this is a new
    /// conversation: it is the same one.
    pub(super) async fn settle_earlier(&self, proposed: &Proposed) -> Result<(), Refusal> {
        // Whose conversation it is a yes to one call does not say.
        let is_hosts = proposed.session().owner().kind == SessionKind::Host;
        if proposed.earlier == Earlier::Indifferent || is_hosts {
            return Ok(());
        }
        let joined = proposed.session().join_pending(proposed.before.epoch).await;
        joined.map_err(|error| failed(proposed, &ApprovalFault::Store(error)))
    }

    async fn put_on_page(
        &self,
        channel: Channel,
        here: &PageRequest<'_>,
        arrival: &Arrival,
        proposed: &Proposed,
        escalation: &Escalation,
    ) -> Result<AskAnswer, ApprovalFault> {
        let told = escalation.told();
        let sealed = proposed.sealed || self.judge.seals(proposed);
        let definition = definition_text(proposed);
        // What is kept of a sealed call says nothing of what the user named.
        let values = match sealed {
            true => (Vec::new(), Vec::new()),
            false => (self.value_words(proposed, escalation), self.judge.sessions.listed_as(proposed)),
        };
        let context = self.judge.sessions.stories.with(proposed.session().key(), |story| {
            let findings = escalation.findings();
            context::around(proposed, findings, &here.signable, story, definition.as_deref(), values)
        });
        // What is remembered is compared, and so would have to be kept.
        let rememberable = (!sealed).then(|| self.rememberable(proposed, &here.signable, &told)).flatten();
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
            sealed,
            has_link: channel.tells_client(),
            decision: &proposed.decision,
        };
        here.approval_service.ask(ask).await
    }

    /// Which values of a call are not in the user's request, and where they come from.
    pub(super) fn value_words(&self, proposed: &Proposed, escalation: &Escalation) -> Vec<String> {
        let sessions = &self.judge.sessions;
        let source = |decision: &DecisionId| sessions.reply_source(proposed, decision);
        value_words::sentences(proposed, escalation.findings(), &source)
    }

    /// How what is called is defined now (G16).
    pub(super) fn definition_now(&self, proposed: &Proposed, signable: &Signable) -> Option<PinDigest> {
        let (kind, name) = signable.defined.as_ref()?;
        self.judge.definition_now(proposed, *kind, name)
    }
}

// === impl PageRequest ===

impl<'a> PageRequest<'a> {
    pub(super) fn of(
        approval_service: &'a Arc<ApprovalService>,
        signable: Signable,
        proposed: &Proposed,
    ) -> Self {
        let settings = approval_service.settings();
        let action = &proposed.action;
        let called = signable.defined.as_ref().map_or(&**action.target(), |(_, name)| name);
        let said = settings.tool(action.upstream(), called).filter(|_| signable.is_call);
        let destructive = proposed.reply_contract.variant() == CallVariant::Destructive;
        Self {
            approval_service,
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
    let server_listing = proposed.route.catalog_server.server_listing()?;
    let mut items = server_listing.tools.items.iter().filter_map(|item| std::str::from_utf8(item).ok());
    items.find(|item| string_member(item, "name").as_deref() == Some(&tool.own)).map(str::to_owned)
}

/// The approval service could not do its part, so nothing is done.
pub(super) fn failed(proposed: &Proposed, fault: &ApprovalFault) -> Refusal {
    tracing::error!(error = %fault, decision = %proposed.decision, "refused: a person could not be asked");
    Refusal::unaskable(&proposed.decision, proposed.name())
}
