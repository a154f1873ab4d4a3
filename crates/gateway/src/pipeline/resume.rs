//! Takes up what a `requestState` of ours says was left open: a suspended call, a question to a person, a round of an
//! approved call.

use highwater_core::decide::Answer;
use highwater_mcp::text::{member, string_member};
use highwater_store::ApprovalRequest;
use highwater_upstream::box_cold;

use super::approve::{APPROVAL, Carried, Consent, PageAnswer, Resolved, WaitingReply};
use super::seals::{GoesOn, foreign_state};
use super::sent::Sent;
use super::suspended::{QUESTION, SuspendedCall, input_required};
use super::{Arrival, Delivery, Refusal, Road};

/// What a request turns out to be once its `requestState` was looked at.
pub(super) enum Resumed {
    /// A call of its own, with the upstream's state if we had wrapped it, and a person's answer if one was asked.
    Fresh(Option<String>, Option<Consent>),
    /// A reply that a person was asked about.
    Released(Box<WaitingReply>, Answer),
    /// The same, with what they said on the page.
    Fetched(Box<WaitingReply>, Option<Box<ApprovalRequest>>),
    /// The rest of a suspended call.
    Continued(Box<Sent>),
    /// A question that is still open; it is asked again.
    AskedAgain(Delivery),
}

/// Opens the state of a request.
pub(super) async fn resume(road: &Road, arrival: &Arrival, text: &str) -> Result<Resumed, Refusal> {
    let id = match road.seals.open_state(arrival, text)? {
        GoesOn::Suspended(id) => id,
        GoesOn::Asked(id) => return answered(road, arrival, &id, text).await,
        GoesOn::Page { state, answers } => {
            let consent = Consent::Page(page_answer(arrival), Carried { state, answers });
            return Ok(Resumed::Fresh(None, Some(consent)));
        }
        GoesOn::Round(round) => {
            let round = road.seals.open_round(&round).ok_or_else(foreign_state)?;
            let own = round.state().to_owned();
            return Ok(Resumed::Fresh(Some(own), Some(Consent::Round(Box::new(round)))));
        }
        GoesOn::Wrapped(state) => return Ok(Resumed::Fresh(Some(state), None)),
    };
    let SuspendedCall { principal, sent, ask, label } =
        road.suspended.calls.take(&id).ok_or_else(Refusal::expired)?;
    let answer = arrival.frame.param("inputResponses").and_then(|answers| member(answers, QUESTION));
    let Some(answer) = answer else {
        let again = input_required(arrival, sent.permitted.route.upstream(), &ask, text);
        // Its words may be in no label any more: a person may have lowered it since.
        let absorbed = road.sessions.absorb_of(&sent.permitted, &label).await;
        let absorbed = absorbed.map_err(|error| Refusal::unlabelled(sent.decision(), &error))?;
        if road.suspended.calls.put(&id, SuspendedCall { principal, sent, ask, label }).is_err() {
            return Err(Refusal::expired());
        }
        return Ok(Resumed::AskedAgain(Delivery::joined(again, absorbed.joined)));
    };
    box_cold(road.questions.give_text(arrival, &sent.permitted, ask, answer, false)).await;
    Ok(Resumed::Continued(Box::new(sent)))
}

/// Takes up a question to a person.
async fn answered(road: &Road, arrival: &Arrival, id: &str, state: &str) -> Result<Resumed, Refusal> {
    let approvals = &road.approvals;
    if let Some(request) = road.suspended.questions.at_page(id) {
        let said = page_answer(arrival);
        return box_cold(approvals.resume_at_page(arrival, (id, state), &request, said)).await;
    }
    Ok(match approvals.answered(arrival, id)? {
        Some(Resolved::Call(consent)) => Resumed::Fresh(None, Some(consent)),
        Some(Resolved::Reply(waiting, answer)) => Resumed::Released(waiting, answer),
        None => Resumed::AskedAgain(approvals.question_again(arrival, id, state)?),
    })
}

/// What a person did who was sent to a page, as their client says.
fn page_answer(arrival: &Arrival) -> PageAnswer {
    let answers = arrival.frame.param("inputResponses");
    let answer = answers.and_then(|answers| member(answers, APPROVAL));
    let Some(answer) = answer else { return PageAnswer::Nothing };
    match string_member(answer, "action").as_deref() {
        Some("accept") => PageAnswer::Opened,
        // Whatever is no plain yes to opening it is a no.
        _ => PageAnswer::Refused,
    }
}
