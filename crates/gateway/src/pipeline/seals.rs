//! What goes out sealed and must come back unchanged: request states, task ids, rounds of approved calls. Nothing of it is
//! kept here.

use std::borrow::Cow;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use highwater_core::action::Action;
use highwater_core::approval::{Consented, LeftOpen, ROUND_LIFETIME_MS, Round};
use highwater_core::grant::CallVariant;
use highwater_core::seal::{Purpose, Seal};
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::error_code::INVALID_PARAMS;
use highwater_mcp::text::{elements, is_array, is_object, member, members, quote_into, unquote};
use serde::{Deserialize, Serialize};

use super::suspended::SUSPENSION;
use super::{Arrival, Refusal};
use crate::client::Client;
use crate::gateway::now;

/// Seals and opens.
pub(crate) struct Seals {
    pub(super) seal: Seal,
}

/// What our `requestState` says.
#[derive(Debug, Serialize, Deserialize)]
struct SealedState {
    principal: String,
    session: String,
    method: String,
    /// Digest of the parameters without the answers.
    params: String,
    /// In milliseconds since the Unix epoch.
    expires: u64,
    #[serde(flatten)]
    goes_on: GoesOn,
}

/// What a request with our state goes on with.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum GoesOn {
    /// A suspended call.
    Suspended(String),
    /// A question to a person, which this answers.
    Asked(String),
    /// A call for which a person was sent to a page, with what it brings back to its upstream.
    Page { state: Option<String>, answers: Option<String> },
    /// An approved execution, sealed once more.
    Round(String),
    /// The upstream's own state, which had to be wrapped.
    Wrapped(String),
}

// === impl Seals ===

impl Seals {
    pub(crate) fn new(seal: Seal) -> Self {
        Self { seal }
    }

    /// Opens a state that was made for this request.
    pub(super) fn open_state(&self, arrival: &Arrival, text: &str) -> Result<GoesOn, Refusal> {
        let Client::Modern(_) = &arrival.client else { return Err(foreign_state()) };
        let state: SealedState = self.seal.open(Purpose::RequestState, text).ok_or_else(foreign_state)?;
        let fits = state.principal == arrival.client.caller().principal.as_str()
            && state.session == arrival.session.key().as_str()
            && Some(state.method.as_str()) == arrival.frame.method()
            && state.params == params_digest(arrival);
        if !fits {
            return Err(foreign_state());
        }
        if state.expires < now().0 {
            return Err(Refusal::expired());
        }
        Ok(state.goes_on)
    }

    /// Opens what an approved execution needs to go on.
    pub(super) fn open_round(&self, sealed: &str) -> Option<Round> {
        Round::open(&self.seal, sealed)
    }

    /// Seals what an approved execution needs to go on.
    pub(super) fn leave_open(&self, consented: &Consented, open: &LeftOpen<'_>) -> Option<String> {
        consented.leave_open(&self.seal, open)
    }

    /// Seals what the client's next request goes on with.
    pub(super) fn state(&self, arrival: &Arrival, goes_on: GoesOn) -> Option<String> {
        let lasts = match goes_on {
            // When exactly it is over is inside.
            GoesOn::Round(_) => ROUND_LIFETIME_MS,
            _ => u64::try_from(SUSPENSION.as_millis()).unwrap_or(u64::MAX),
        };
        let state = SealedState {
            principal: arrival.client.caller().principal.as_str().to_owned(),
            session: arrival.session.key().as_str().to_owned(),
            method: arrival.frame.method().unwrap_or_default().to_owned(),
            params: params_digest(arrival),
            expires: now().0.saturating_add(lasts),
            goes_on,
        };
        self.seal.close(Purpose::RequestState, &state)
    }
}

// === impl GoesOn ===

impl GoesOn {
    /// A call for which a person is sent to a page. What it brings back to its upstream stays with it meanwhile.
    pub(super) fn page(action: &Action) -> Self {
        let state = member(action.params(), "requestState").and_then(unquote).map(Cow::into_owned);
        let answers = member(action.params(), "inputResponses").map(str::to_owned);
        Self::Page { state, answers }
    }
}

/// The refusal of a state that is not this request's.
pub(super) fn foreign_state() -> Refusal {
    Refusal::invalid(INVALID_PARAMS, "`params.requestState` was not made for this request")
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
