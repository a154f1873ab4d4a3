//! Brings a reply home: names, eras and ids as the client knows them, every other byte as the upstream sent it.

use std::borrow::Cow;
use std::sync::Arc;

use highwater_audit::Outcome;
use highwater_core::action::ActionKind;
use highwater_core::decide::Pass;
use highwater_core::label::{Label, TextSet};
use highwater_core::seal::Purpose;
use highwater_mcp::annotations::emit::{self, ReplyNote};
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::{Era, reply as shape};
use highwater_mcp::error_code;
use highwater_mcp::method::Method;
use highwater_mcp::text::{member, pointer, quote, unquote};
use highwater_store::{Appended, Joined};
use highwater_upstream::{Reply, box_cold};

use super::arrival::Route;
use super::gather::Answered;
use super::permitted::Permitted;
use super::record::End;
use super::seals::GoesOn;
use super::sent::Sent;
use super::sessions::Absorbed;
use super::withheld::unrecorded;
use super::{Arrival, Refusal, Road, flagged, objects};
use crate::client::{Answer, Client};
use crate::gateway::now;

/// What the record says of a reply that was released while its label waits for the store.
const UNSTORED: &str = "its label waits for the session store, which fails; no decision looks at it";

/// An answer that may be released: made from a reply whose label and whose outcome are stored, or in our own words.
#[derive(Debug)]
pub(crate) struct Delivery(Answer);

// === impl Delivery ===

impl Delivery {
    /// Our own words carry nothing of an upstream, so nothing has to be stored for them beyond what is already.
    pub(super) fn ours(bytes: Vec<u8>, code: Option<i64>) -> Self {
        Self(Answer { bytes: bytes.into(), code, _joined: None })
    }

    /// Something that was on record before, once it is in the session's label again.
    pub(super) fn joined(bytes: Vec<u8>, joined: Joined) -> Self {
        Self(Answer { bytes: bytes.into(), code: None, _joined: Some(joined) })
    }

    /// What an upstream says, once its label and its outcome are stored.
    pub(super) fn released(bytes: Vec<u8>, code: Option<i64>, _recorded: Appended, joined: Joined) -> Self {
        Self(Answer { bytes: bytes.into(), code, _joined: Some(joined) })
    }

    /// Opens the delivery.
    pub(crate) fn into_answer(self) -> Answer {
        self.0
    }
}

/// Stores everything that must be stored before the first byte of a reply, and makes the answer of it.
pub(super) async fn commit(
    road: &Road,
    arrival: &Arrival,
    mut sent: Sent,
    pass: Pass<Answered>,
) -> Result<Delivery, Refusal> {
    let permitted = Arc::clone(&sent.permitted);
    let decision = &permitted.decision;
    let (label, judgement, sources) =
        (pass.label().clone(), pass.judgement().clone(), pass.sources().clone());
    let answered = pass.into_reply(|_, _| Err(())).map_err(|()| sent.unredacted())?;
    let Answered { reply, resources, marked } = answered;
    let marks = marked.as_deref().map_or(&[][..], |met| &met.marks);
    // What a server answers with an error it has not done.
    if reply.frame.error().is_some() {
        road.sessions.wrote_nothing(&permitted).await;
    }
    let handles = objects::handles(permitted.route.upstream(), &resources, &reply.frame);
    if let Err(error) = road.sessions.mark_handles(&permitted, handles, &label).await {
        return Err(sent.unlabelled(&error));
    }
    let stored = match marked.as_deref() {
        Some(met) => Cow::Owned(label.clone().joined(&met.held)),
        None => Cow::Borrowed(&label),
    };
    let Absorbed { joined, raised, .. } = match road.sessions.absorb_of(&permitted, &stored).await {
        Ok(absorbed) => absorbed,
        Err(error) => return Err(sent.unlabelled(&error)),
    };
    // The outcome is on record before the first byte is released.
    let outcome = if reply.frame.error().is_some() { Outcome::UpstreamError } else { Outcome::Delivered };
    let bytes = reply.frame.bytes().len();
    let detail = joined.is_postponed().then_some(UNSTORED);
    let provenance = Some(permitted.provenance().labelled(Some(&label)));
    let end =
        End { bytes, detail, judgement: Some(&judgement), label: Some(&label), raised, provenance, marks };
    let recorded = sent.record.settle_with_others(outcome, end).await;
    let recorded = recorded.map_err(|error| unrecorded(decision, &error))?;
    let labels = Labels { reply: &label, sources: &sources, joined: &joined };
    let (bytes, code) = answer(road, arrival, &permitted, (&reply, sent.flagged), labels).await?;
    // On a store that others share the proof does not hold for ever.
    let renewed = joined.renewed(|label| road.world.load().overlooks(label)).await;
    let joined = renewed.map_err(|error| Refusal::unlabelled(decision, &error))?;
    road.sessions.tell_reply(&permitted, &reply.frame, &label);
    tracing::debug!(%decision, raised, "labelled and delivered");
    Ok(Delivery::released(bytes, code, recorded, joined))
}

/// What there is to tell of a reply's label.
struct Labels<'a> {
    reply: &'a Label,
    sources: &'a TextSet,
    joined: &'a Joined,
}

/// The answer to a request out of the upstream's reply, with its error code if it is an error.
async fn answer(
    road: &Road,
    arrival: &Arrival,
    permitted: &Permitted,
    (reply, flagged): (&Reply, bool),
    Labels { reply: label, sources, joined }: Labels<'_>,
) -> Result<(Vec<u8>, Option<i64>), Refusal> {
    let (to, route) = (arrival.client.era(), &permitted.route);
    if let Some(error) = reply.frame.error() {
        if let Some(result) = box_cold(road.questions.url_round(arrival, permitted, error, reply.era)).await {
            return Ok((error_code::result_response(arrival.id(), &result), None));
        }
        let error = shape::error(error, route.method, reply.era, to);
        let error = in_clients_words(arrival, route, error);
        let error = without_oracle(error);
        let error = box_cold(road.questions.with_error_pages_marked(arrival, permitted, error)).await?;
        if let Client::Legacy(session) = &arrival.client {
            road.questions.pages.note_error(route.upstream(), &error, session.upstream.number());
        }
        let code = member(&error, "code").and_then(|code| code.parse().ok());
        return Ok((error_message(arrival.id(), &error), code));
    }
    let result = shape::result_of(&reply.frame, route.method, reply.era, to);
    let result = route.names.schemes.rewrite_result(route.upstream(), &result);
    let result = road.seals.wrap_task_ids(arrival, route, &reply.frame, &result);
    let result = match shape::type_of(&reply.frame, reply.era) {
        shape::ResultType::InputRequired => {
            let marked = box_cold(road.questions.with_pages_marked(arrival, permitted, &result)).await?;
            Cow::Owned(marked.into_owned())
        }
        _ => result,
    };
    let state = (to == Era::Modern && reply.era == Era::Modern)
        .then(|| reply.frame.result_member("requestState").and_then(unquote))
        .flatten();
    let round = state
        .as_deref()
        .and_then(|state| road.approvals.left_open(arrival, permitted, (reply, now()), state));
    let result = match state {
        // What goes on with an approval comes back with it, and once.
        Some(_) if round.is_some() => {
            let sealed = round.and_then(|round| road.seals.state(arrival, GoesOn::Round(round)));
            let sealed = sealed.ok_or_else(|| Refusal::internal(&permitted.decision))?;
            edit_object(&result, &[("requestState", Edit::Set(&quote(&sealed)))]).into()
        }
        // A foreign state that looks like ours would be refused when it comes back, so it travels inside one of ours.
        Some(state) if Purpose::RequestState.claims(&state) => {
            let wrapped = road
                .seals
                .state(arrival, GoesOn::Wrapped(state.into_owned()))
                .ok_or_else(|| Refusal::internal(&permitted.decision))?;
            edit_object(&result, &[("requestState", Edit::Set(&quote(&wrapped)))]).into()
        }
        _ => result,
    };
    // A challenge goes on as it came, and without a `_meta` of ours.
    if permitted.action.kind() == ActionKind::CreateChallenge {
        let result = road.relay.issued(arrival, permitted, &result);
        return Ok((error_code::result_response(arrival.id(), &result), None));
    }
    // A receipt holds nothing to be labelled, and strict clients take it only empty.
    if matches!(route.method, Some(Method::Subscribe | Method::Unsubscribe)) {
        return Ok((error_code::result_response(arrival.id(), &result), None));
    }
    let warned = flagged.then(|| flagged::with_warning(permitted, &result)).flatten();
    let result = warned.map_or(result, Cow::Owned);
    // What another agent wrote counts, and nothing is told of it.
    let (told, session) = (label.told(), joined.state().label.told());
    let note = ReplyNote { reply: &told, sources, session: &session, decision: permitted.decision.as_str() };
    let own = reply.frame.result_member("_meta").and_then(|_| member(&result, "_meta"));
    let meta = emit::reply_meta(own, &note);
    let mut out = Vec::with_capacity(arrival.id().len() + result.len() + meta.len() + 48);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(arrival.id().as_bytes());
    out.extend_from_slice(br#","result":"#);
    emit::with_meta(&mut out, &result, own, &meta);
    out.push(b'}');
    Ok((out, None))
}

/// An error without what an upstream's flow policy says of who contributed: a hijacked model would learn which way is
/// open.
fn without_oracle(error: Cow<'_, str>) -> Cow<'_, str> {
    const VIOLATION: &str = "io.modelcontextprotocol/flowPolicyViolation";
    if pointer(&error, &["data", VIOLATION]).is_none() {
        return error;
    }
    tracing::info!("an upstream refused data by its flow policy");
    Cow::Owned(edit_object(&error, &[("data", Edit::Merge(&[(VIOLATION, Edit::Remove)]))]))
}

/// An error that names the resource names it as the client did.
fn in_clients_words<'a>(arrival: &Arrival, route: &Route, error: Cow<'a, str>) -> Cow<'a, str> {
    let asked = arrival.frame.param("uri").filter(|_| route.method == Some(Method::ReadResource));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_flow_policy_says_stays_here() {
        let error = r#"{"code":1,"data":{"io.modelcontextprotocol/flowPolicyViolation":{"x":1},"a":2}}"#;
        assert_eq!(without_oracle(error.into()), r#"{"code":1,"data":{"a":2}}"#);
        assert!(matches!(without_oracle(r#"{"code":1}"#.into()), Cow::Borrowed(_)));
    }
}
