//! Brings a reply home: names, eras and ids as the client knows them, every other byte as the upstream sent it.

use std::borrow::Cow;

use highwater_core::id::DecisionId;
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::{Era, reply as shape};
use highwater_mcp::error_code;
use highwater_mcp::method::Method;
use highwater_mcp::text::{member, pointer, quote, string_member};
use highwater_store::Appended;
use highwater_upstream::Reply;

use super::arrival::Course;
use super::{Arrival, Refusal};
use crate::client::Answer;
use crate::gateway::Gateway;
use crate::seal::Purpose;

/// An answer that may be released: made from a reply whose outcome is on record, or from a refusal.
#[derive(Debug)]
pub(crate) struct Delivery(Answer);

// === impl Delivery ===

impl Delivery {
    /// A refusal carries nothing of an upstream, so nothing has to be on record for it beyond what is there already.
    pub(super) fn refusal(bytes: Vec<u8>, code: Option<i64>) -> Self {
        Self(Answer { bytes: bytes.into(), code })
    }

    /// A reply, once its outcome is on record.
    pub(super) fn recorded(bytes: Vec<u8>, code: Option<i64>, _recorded: Appended) -> Self {
        Self(Answer { bytes: bytes.into(), code })
    }

    /// Opens the delivery.
    pub(crate) fn into_answer(self) -> Answer {
        self.0
    }
}

impl Gateway {
    /// Makes the answer to a request out of the upstream's reply.
    pub(super) fn deliver(
        &self,
        arrival: &Arrival,
        course: &Course,
        decision: &DecisionId,
        reply: Reply,
        recorded: Appended,
    ) -> Result<Delivery, Refusal> {
        let to = arrival.client.era();
        if let Some(error) = reply.frame.error() {
            if let Some(result) = self.url_round(arrival, course, decision, error, reply.era) {
                return Ok(Delivery::recorded(
                    error_code::result_response(arrival.id(), &result),
                    None,
                    recorded,
                ));
            }
            let error = shape::error(error, course.method, reply.era, to);
            let error = in_clients_words(arrival, course, error);
            let code = member(&error, "code").and_then(|code| code.parse().ok());
            return Ok(Delivery::recorded(error_message(arrival.id(), &error), code, recorded));
        }
        let result = reply.frame.result().unwrap_or("{}");
        let result = shape::result(result, course.method, reply.era, to);
        let result = course.names.schemes.rewrite_result(course.upstream(), &result);
        let result = self.wrap_task_ids(arrival, course, &result);
        let state = (to == Era::Modern && reply.era == Era::Modern)
            .then(|| string_member(&result, "requestState"))
            .flatten();
        let result = match state {
            // A foreign state that looks like ours would be refused when it comes back, so it travels inside one of ours.
            Some(state) if Purpose::RequestState.claims(&state) => {
                let wrapped = self.wrap_state(arrival, &state).ok_or_else(|| Refusal::internal(decision))?;
                edit_object(&result, &[("requestState", Edit::Set(&quote(&wrapped)))]).into()
            }
            _ => result,
        };
        Ok(Delivery::recorded(error_code::result_response(arrival.id(), &result), None, recorded))
    }
}

/// An error that names the resource names it as the client did.
fn in_clients_words<'a>(arrival: &Arrival, course: &Course, error: Cow<'a, str>) -> Cow<'a, str> {
    let asked = arrival.frame.param("uri").filter(|_| course.method == Some(Method::ReadResource));
    match asked {
        Some(asked) if pointer(&error, &["data", "uri"]).is_some() => {
            Cow::Owned(edit_object(&error, &[("data", Edit::Merge(&[("uri", Edit::Set(asked))]))]))
        }
        _ => error,
    }
}

fn error_message(id: &str, error: &str) -> Vec<u8> {
    let mut out = String::with_capacity(error.len() + id.len() + 40);
    out.push_str(r#"{"jsonrpc":"2.0","id":"#);
    out.push_str(id);
    out.push_str(r#","error":"#);
    out.push_str(error);
    out.push('}');
    out.into_bytes()
}
