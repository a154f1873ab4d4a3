//! How a client's person can be asked: by a form where a form is enough and the client has them, else on the page, to
//! which the client leads by what it can do.

use highwater_core::action::ActionKind;
use highwater_core::decide::{AskKind, Effect, Escalation};
use highwater_core::grant::Forms;
use highwater_mcp::annotations::VERIFIED_APPROVAL;
use highwater_mcp::method::Method;

use super::super::Arrival;
use super::super::proposed::{Earlier, Proposed};
use super::question::{Channel, Situation};
use super::{Approvals, HeldCall, arguments};
use crate::client::{Client, declares};

/// Requests that can end with a question: only the modern era has that, and only these methods.
const MAY_END_WITH_QUESTION: [Method; 3] = [Method::CallTool, Method::GetPrompt, Method::ReadResource];

// === impl Approvals ===

impl Approvals {
    /// What the question of a call is opened with, as everything is now.
    pub(super) fn situation(
        &self,
        call: &HeldCall<'_>,
        proposed: &Proposed,
        escalation: &Escalation,
    ) -> Situation {
        let here = call.on_page.as_ref().ok();
        Situation {
            grade: escalation.grade(),
            is_round: call.round.is_some(),
            // The evidence holds one signature: where several people must sign, it is none.
            is_signed: call.evidence.is_some() && here.is_some_and(|here| here.quorum.is_none()),
            relayed: proposed.relayed.is_some(),
            is_call: here
                .map_or(proposed.action.kind() == ActionKind::CallTool, |here| here.signable.is_call),
            signable: here.is_some(),
            quorum: here.is_some_and(|here| here.quorum.is_some()),
            channel: self.channel(call, proposed, escalation),
        }
    }

    /// How this client's person is asked. A client that brings a signature, or whose person was sent to the page, is not
    /// asked by a form.
    fn channel(&self, call: &HeldCall<'_>, proposed: &Proposed, escalation: &Escalation) -> Option<Channel> {
        let arrival = call.arrival;
        let may_form =
            call.visit.is_none() && !(self.judge.service.is_some() && is_signed(arrival, proposed));
        let form = form_channel(arrival).filter(|_| may_form && call_in_form(proposed, escalation).is_some());
        form.or_else(|| self.page_channel(call, proposed, escalation.grade()))
    }

    /// How a client's person is brought to the page. Nobody is called to what nobody waits for.
    fn page_channel(&self, call: &HeldCall<'_>, proposed: &Proposed, grade: Effect) -> Option<Channel> {
        let arrival = call.arrival;
        let approval_service = self.judge.service.as_ref().filter(|_| arrival.attended)?;
        let client = &arrival.client;
        let native =
            client.speaks_approval() || proposed.standing.native || approval_service.is_native_only();
        // A call that brings what its server verifies has no room for a signature of ours.
        let is_call = call.on_page.as_ref().is_ok_and(|here| here.signable.is_call);
        // What takes no passkey has no challenge: such a client is asked like every other (§4.2).
        if native && is_call && proposed.relayed.is_none() && grade == Effect::Passkey {
            return Some(Channel::MissingEvidence);
        }
        Some(match client {
            Client::Legacy(_) if declares(client.capabilities(), AskKind::ElicitUrl) => Channel::UrlRequest,
            Client::Modern(_) if returns_page(arrival) => Channel::UrlResult,
            Client::Legacy(_) | Client::Modern(_) => Channel::Page,
        })
    }

    /// The same for a reply: nobody can call for it again, so that the call is held or its request is ended.
    pub(super) fn reply_channel(
        &self,
        arrival: &Arrival,
        proposed: &Proposed,
        escalation: &Escalation,
    ) -> Option<Channel> {
        let form = form_channel(arrival).filter(|_| shown_in_form(proposed, escalation).is_some());
        let page = || {
            self.judge.service.as_ref().filter(|_| arrival.attended)?;
            Some(if returns_page(arrival) { Channel::UrlResult } else { Channel::Page })
        };
        form.or_else(page)
    }
}

/// Whether a call brings a signature of its own, and not one for its server.
pub(super) fn is_signed(arrival: &Arrival, proposed: &Proposed) -> bool {
    arrival.method == Some(Method::CallTool)
        && proposed.relayed.is_none()
        && arrival.frame.meta(VERIFIED_APPROVAL).is_some()
}

/// The arguments of a call as a form shows them, where it may ask. Whether a conversation is new is said on the page or in
/// the terminal, not by a client.
pub(super) fn call_in_form(proposed: &Proposed, escalation: &Escalation) -> Option<String> {
    shown_in_form(proposed, escalation).filter(|_| proposed.earlier == Earlier::Indifferent)
}

/// The arguments as a form shows them, where it may ask and can show all of them. Whether a person stands behind it is for
/// the operator to say.
pub(super) fn shown_in_form(proposed: &Proposed, escalation: &Escalation) -> Option<String> {
    let may_ask = escalation.takes_form(proposed.label()) && proposed.standing.forms == Forms::Person;
    may_ask.then(|| arguments::shown(proposed)).flatten()
}

/// How a client that has forms is sent one.
fn form_channel(arrival: &Arrival) -> Option<Channel> {
    if !arrival.attended || !declares(arrival.client.capabilities(), AskKind::ElicitForm) {
        return None;
    }
    match &arrival.client {
        Client::Legacy(_) => Some(Channel::FormRequest),
        Client::Modern(_) => may_end_with_question(arrival).then_some(Channel::FormResult),
    }
}

/// Whether a request may end with the address of a page.
fn returns_page(arrival: &Arrival) -> bool {
    matches!(arrival.client, Client::Modern(_))
        && declares(arrival.client.capabilities(), AskKind::ElicitUrl)
        && may_end_with_question(arrival)
}

fn may_end_with_question(arrival: &Arrival) -> bool {
    arrival.method.is_some_and(|method| MAY_END_WITH_QUESTION.contains(&method))
}
