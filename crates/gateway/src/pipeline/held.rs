//! Calls that wait while a modern client answers a legacy upstream's question. The client's request has ended with
//! `input_required`; the upstream's call is still open. This is the one place where a call outlives its request.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use highwater_core::action::Action;
use highwater_core::approval::{ROUND_LIFETIME_MS, Round};
use highwater_core::decide::Answer;
use highwater_core::grant::CallVariant;
use highwater_core::id::{ApprovalId, Principal};
use highwater_core::label::Label;
use highwater_core::seal::Purpose;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::reply::without_ours;
use highwater_mcp::error_code::{INVALID_PARAMS, UPSTREAM_UNAVAILABLE, result_response};
use highwater_mcp::text::{
    elements, is_array, is_object, member, members, quote, quote_into, string_member, unquote,
};
use highwater_store::ApprovalRequest;
use highwater_upstream::apart;
use highwater_upstream::event::Ask;
use serde::{Deserialize, Serialize};

use super::approve::{APPROVAL, Answered, Carried, Consent, PageAnswer, WaitingReply};
use super::arrival::Course;
use super::ask::{Cleared, modern_question};
use super::forward::Flight;
use super::{Arrival, Delivery, Refusal};
use crate::client::Client;
use crate::gateway::{Gateway, now};

/// How long a held call waits for its answer.
pub(super) const HOLD: Duration = Duration::from_secs(300);

/// How many calls may be held in all, and for one principal.
const MAX_HELD: usize = 1024;
const MAX_HELD_EACH: usize = 64;

/// The key of the one question a held call asks.
const QUESTION: &str = "question";

/// The table of held calls.
#[derive(Default)]
pub(crate) struct HeldCalls {
    calls: Mutex<HashMap<String, HeldCall>>,
}

struct HeldCall {
    principal: Principal,
    flight: Flight,
    course: Course,
    ask: Ask,
    /// The label of the question.
    label: Label,
}

/// Too many calls wait for an answer already.
struct TooMany;

/// What our `requestState` says.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    principal: String,
    session: String,
    method: String,
    /// Digest of the parameters without the answers.
    params: String,
    /// In milliseconds since the Unix epoch.
    expires: u64,
    /// The held call this continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<String>,
    /// The question to a person that this answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<String>,
    /// The request that a person was sent to a page for.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<String>,
    /// The upstream's own state, where that had to be wrapped.
    #[serde(skip_serializing_if = "Option::is_none")]
    inner: Option<String>,
    /// What the client has answered the upstream, where a person is asked before it gets there.
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<String>,
    /// The approved execution that this goes on with, sealed once more.
    #[serde(skip_serializing_if = "Option::is_none")]
    round: Option<String>,
}

/// What a state is for.
#[derive(Default)]
struct Kept {
    held: Option<String>,
    asked: Option<String>,
    page: Option<String>,
    inner: Option<String>,
    answers: Option<String>,
    round: Option<String>,
}

/// What a request turns out to be once its `requestState` was looked at.
pub(super) enum Resumed {
    /// A call of its own, with the upstream's state if we had wrapped it, and a person's answer if one was asked.
    Fresh(Option<String>, Option<Consent>),
    /// A reply that a person was asked about.
    Released(Box<WaitingReply>, Answer),
    /// The same, with what they said on the page.
    Fetched(Box<WaitingReply>, Option<Box<ApprovalRequest>>),
    /// The rest of a held call.
    Continued(Box<(Flight, Course)>),
    /// A held call whose question is still open; it is asked again.
    AskedAgain(Delivery),
}

// === impl HeldCalls ===

impl HeldCalls {
    /// Keeps a call, or drops it, which cancels it, if too many are kept already.
    fn put(&self, id: &str, call: HeldCall) -> Result<(), TooMany> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let theirs = calls.values().filter(|held| held.principal == call.principal).count();
        if calls.len() >= MAX_HELD || theirs >= MAX_HELD_EACH {
            return Err(TooMany);
        }
        calls.insert(id.to_owned(), call);
        Ok(())
    }

    fn take(&self, id: &str) -> Option<HeldCall> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
    }

    /// Gives everything up: the calls are cancelled upstream and recorded as such.
    pub(crate) fn clear(&self) {
        let calls = std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner));
        drop(calls);
    }
}

impl Gateway {
    /// Ends a modern client's request with the upstream's question and keeps the call open behind it.
    pub(super) fn hold(
        &self,
        arrival: &Arrival,
        course: Course,
        flight: Flight,
        ask: Ask,
        cleared: Cleared,
    ) -> Result<Delivery, Refusal> {
        let decision = flight.decision().clone();
        let id = self.fresh_id();
        let state = self
            .seal_state(arrival, Kept { held: Some(id.clone()), ..Kept::default() })
            .ok_or_else(|| Refusal::internal(&decision))?;
        let answer = input_required(arrival, &ask, &state);
        let Cleared { recorded, joined, label } = cleared;
        let principal = arrival.client.caller().principal.clone();
        let call = HeldCall { principal, flight, course, ask, label };
        if self.held.put(&id, call).is_err() {
            // Dropped here, the call is cancelled upstream and recorded so.
            return Err(Refusal::about(
                &decision,
                UPSTREAM_UNAVAILABLE,
                "too many calls wait for an answer already",
            ));
        }
        expire_later(&self.held, id);
        Ok(Delivery::released(answer, None, recorded, joined))
    }

    /// Takes up what the `requestState` of a request says was left open.
    pub(super) async fn resume(&self, arrival: &Arrival, text: &str) -> Result<Resumed, Refusal> {
        let invalid =
            || Refusal::invalid(INVALID_PARAMS, "`params.requestState` was not made for this request");
        let Client::Modern(_) = &arrival.client else { return Err(invalid()) };
        let state: State = self.seal.open(Purpose::RequestState, text).ok_or_else(invalid)?;
        let caller = arrival.client.caller();
        let fits = state.principal == caller.principal.as_str()
            && state.session == arrival.session.key().as_str()
            && Some(state.method.as_str()) == arrival.frame.method()
            && state.params == params_digest(arrival);
        if !fits {
            return Err(invalid());
        }
        if state.expires < now().0 {
            return Err(Refusal::expired());
        }
        if let Some(id) = &state.asked {
            if let Some(request) = self.pending.at_page(id) {
                let said = page_answer(arrival);
                return apart(self.resume_at_page(arrival, (id, text), &request, said)).await;
            }
            return Ok(match self.answered(arrival, id)? {
                Some(Answered::Call(consent)) => Resumed::Fresh(None, Some(consent)),
                Some(Answered::Reply(waiting, answer)) => Resumed::Released(waiting, answer),
                None => Resumed::AskedAgain(self.question_again(arrival, id, text)?),
            });
        }
        if state.page.is_some() {
            let carried = Carried { state: state.inner, answers: state.answers };
            return Ok(Resumed::Fresh(None, Some(Consent::Page(page_answer(arrival), carried))));
        }
        if let Some(round) = &state.round {
            let round = Round::open(&self.seal, round).ok_or_else(invalid)?;
            let own = round.state().to_owned();
            return Ok(Resumed::Fresh(Some(own), Some(Consent::Round(Box::new(round)))));
        }
        let Some(id) = state.held else { return Ok(Resumed::Fresh(state.inner, None)) };
        let HeldCall { principal, flight, mut course, ask, label } =
            self.held.take(&id).ok_or_else(Refusal::expired)?;
        let answer = arrival.frame.param("inputResponses").and_then(|answers| member(answers, QUESTION));
        let Some(answer) = answer else {
            let again = input_required(arrival, &ask, text);
            // Its words may be in no label any more: a person may have lowered it since.
            let absorbed = self.absorb_of(&flight.undertaking, &label).await;
            let absorbed = absorbed.map_err(|error| Refusal::unlabelled(flight.decision(), &error))?;
            if self.held.put(&id, HeldCall { principal, flight, course, ask, label }).is_err() {
                return Err(Refusal::expired());
            }
            return Ok(Resumed::AskedAgain(Delivery::joined(again, absorbed.joined)));
        };
        apart(self.give_text(arrival, &course, ask, answer, false)).await;
        course.progress = arrival.frame.meta("progressToken").map(Into::into);
        Ok(Resumed::Continued(Box::new((flight, course))))
    }

    /// Wraps an upstream's own state that looks like ours.
    pub(super) fn wrap_state(&self, arrival: &Arrival, inner: &str) -> Option<String> {
        self.seal_state(arrival, Kept { inner: Some(inner.to_owned()), ..Kept::default() })
    }

    /// The state of an approved execution that its upstream left open.
    pub(super) fn round_state(&self, arrival: &Arrival, round: String) -> Option<String> {
        self.seal_state(arrival, Kept { round: Some(round), ..Kept::default() })
    }

    /// The state of a question to a person.
    pub(super) fn asked_state(&self, arrival: &Arrival, id: String) -> Option<String> {
        self.seal_state(arrival, Kept { asked: Some(id), ..Kept::default() })
    }

    /// The state of a request that a person is sent to a page for. What the action brings back to its upstream stays with
    /// it meanwhile.
    pub(super) fn page_state(&self, arrival: &Arrival, id: &ApprovalId, action: &Action) -> Option<String> {
        let inner = member(action.params(), "requestState").and_then(unquote).map(Cow::into_owned);
        let answers = member(action.params(), "inputResponses").map(str::to_owned);
        let page = Some(id.as_str().to_owned());
        self.seal_state(arrival, Kept { page, inner, answers, ..Kept::default() })
    }

    fn seal_state(&self, arrival: &Arrival, kept: Kept) -> Option<String> {
        let Kept { held, asked, page, inner, answers, round } = kept;
        let caller = arrival.client.caller();
        let hold = match round {
            // When exactly it is over is inside.
            Some(_) => ROUND_LIFETIME_MS,
            None => u64::try_from(HOLD.as_millis()).unwrap_or(u64::MAX),
        };
        let state = State {
            principal: caller.principal.as_str().to_owned(),
            session: arrival.session.key().as_str().to_owned(),
            method: arrival.frame.method().unwrap_or_default().to_owned(),
            params: params_digest(arrival),
            expires: now().0.saturating_add(hold),
            held,
            asked,
            page,
            inner,
            answers,
            round,
        };
        self.seal.close(Purpose::RequestState, &state)
    }
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

/// The `requestState` of a request, if it is one of ours.
pub(super) fn own_state(arrival: &Arrival) -> Option<Cow<'_, str>> {
    let state = arrival.frame.param("requestState").and_then(unquote);
    state.filter(|state| Purpose::RequestState.claims(state))
}

/// The digest of what is asked, without what changes from round to round.
fn params_digest(arrival: &Arrival) -> String {
    const CHANGING: [(&str, Edit<'static>); 3] =
        [("inputResponses", Edit::Remove), ("requestState", Edit::Remove), ("_meta", Edit::Remove)];
    let lasting = edit_object(arrival.frame.params().unwrap_or("{}"), &CHANGING);
    let mut sorted = String::with_capacity(lasting.len());
    // What the caller took the tool for is part of what was asked.
    sorted.push_str(arrival.variant.map_or("", CallVariant::as_str));
    sort(&lasting, &mut sorted);
    URL_SAFE_NO_PAD.encode(digest(&SHA256, sorted.as_bytes()))
}

/// Writes a value so that two texts of the same value are the same. Member order and escapes do not count, since clients
/// build the retry anew; numbers count as they are written, since no two programs read them alike.
fn sort(raw: &str, out: &mut String) {
    if is_object(raw) {
        let mut all: Vec<_> = members(raw).collect();
        all.sort_unstable();
        out.push('{');
        for (key, value) in all {
            quote_into(out, &key);
            out.push(':');
            sort(value, out);
            out.push(',');
        }
        out.push('}');
    } else if is_array(raw) {
        out.push('[');
        for element in elements(raw) {
            sort(element, out);
            out.push(',');
        }
        out.push(']');
    } else {
        match unquote(raw) {
            Some(text) => quote_into(out, &text),
            None => out.push_str(raw),
        }
    }
}

fn input_required(arrival: &Arrival, ask: &Ask, state: &str) -> Vec<u8> {
    let params = ask.params.as_deref().and_then(|params| std::str::from_utf8(params).ok());
    let params = params
        .map(|params| format!(r#","params":{}"#, modern_question(&without_ours(params))))
        .unwrap_or_default();
    let (method, state) = (quote(&ask.method), quote(state));
    let result = format!(
        r#"{{"resultType":"input_required","inputRequests":{{"{QUESTION}":{{"method":{method}{params}}}}},"requestState":{state}}}"#
    );
    result_response(arrival.id(), &result)
}

/// Gives a held call up when its time is over.
fn expire_later(held: &Arc<HeldCalls>, id: String) {
    let held: Weak<HeldCalls> = Arc::downgrade(held);
    tokio::spawn(async move {
        tokio::time::sleep(HOLD).await;
        if let Some(held) = held.upgrade() {
            drop(held.take(&id));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(raw: &str) -> String {
        let mut out = String::new();
        sort(raw, &mut out);
        out
    }

    #[test]
    fn two_texts_of_one_value_are_the_same_and_no_others() {
        let text = r#"{"b":[1,{"y":"\u0061","x":null}],"a":true}"#;
        assert_eq!(sorted(text), sorted(r#"{ "a" : true, "b" : [ 1, {"x":null,"y":"a"} ] }"#));
        for other in [
            r#"{"b":[1,{"y":"a","x":null}],"a":false}"#,
            r#"{"b":[1.0,{"y":"a","x":null}],"a":true}"#,
            r#"{"b":[{"y":"a","x":null},1],"a":true}"#,
            r#"{"b":[1,{"y":"A","x":null}],"a":true}"#,
        ] {
            assert_ne!(sorted(text), sorted(other), "{other}");
        }
        assert_ne!(sorted("9007199254740993"), sorted("9007199254740992"));
    }
}
