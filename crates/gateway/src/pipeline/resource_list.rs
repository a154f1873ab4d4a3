//! A list of resources is a reply: names and descriptions that servers chose, and strangers for them. Each server's part is
//! judged as a read of everything that it names, raises the session's label and is on record before the list is sent. A
//! part that may not be released is left out, and the list says so.

use std::sync::Arc;

use highwater_audit::Outcome;
use highwater_core::action::{Action, ActionKind};
use highwater_core::decide::{
    Judgement, Pass, Received, ReplyFacts, ReplyVerdict, ResultType, decide_reply, label_reply,
};
use highwater_core::id::UpstreamId;
use highwater_marks::{Name, Reading};
use highwater_mcp::error_code::INVALID_PARAMS;
use highwater_mcp::method::Method;
use highwater_store::{Appended, Joined};
use highwater_upstream::control::ListKind;

use super::arrival::{Route, RoutedAction, TaskBridge};
use super::judge::Settled;
use super::permitted::Basis;
use super::proposed::Proposed;
use super::record::{End, OpenRecord};
use super::sessions::Absorbed;
use super::{Arrival, Delivery, Refusal, Road};
use crate::catalog::{Merged, ResourcePart};
use crate::dispatch::{NO_CURSOR, NO_VIRTUAL_SERVER};

/// What the record says of a part whose label could not be stored.
const UNSTORED: &str = "its label could not be stored, so it is not listed";

/// A part that may be shown: in the session's label, and on record.
struct VisiblePart {
    recorded: Appended,
    joined: Joined,
}

/// Answers with the resources that a client may see.
pub(super) async fn list(road: &Road, arrival: &Arrival) -> Result<Delivery, Refusal> {
    if arrival.frame.param("cursor").is_some() {
        return Err(Refusal::invalid(INVALID_PARAMS, NO_CURSOR));
    }
    let caller = arrival.client.caller();
    let server = arrival.world.virtual_server(&caller.virtual_server);
    let server = server.ok_or_else(|| Refusal::invalid(INVALID_PARAMS, NO_VIRTUAL_SERVER))?;
    let standing = caller.standing();
    let (names, view) = server.look_with_resources(&caller.viewer(&standing)).await;
    if let Some(gateway) = road.gateway.upgrade() {
        gateway.note_listed(&arrival.client, ListKind::Resources, &view);
    }
    let granted = |upstream: &UpstreamId| standing.grant.shows_data_of(upstream);
    let (mut shown, mut left_out) = (Vec::new(), Vec::new());
    for part in names.resource_parts().iter().filter(|part| granted(&part.upstream)) {
        match show(road, arrival, &names, part).await {
            Some(part) => shown.push(part),
            None => left_out.push(&part.upstream),
        }
    }
    // On a store that others share no proof holds for ever.
    let mut proofs = None;
    for VisiblePart { recorded, joined } in shown {
        let renewed = joined.renewed(|label| road.world.load().overlooks(label)).await;
        let joined = renewed.map_err(|error| {
            tracing::error!(%error, "a list of resources is not sent: its label could not be stored");
            Refusal::unlisted()
        })?;
        // The one before is let go when the next is held, so that nobody lowers the label in between.
        proofs = Some((recorded, joined));
    }
    let (era, id) = (arrival.client.era(), arrival.id());
    let bytes = if left_out.is_empty() {
        view.list_response(ListKind::Resources, era, id)
    } else {
        names.resources_without(granted, &left_out, (era, id))
    };
    Ok(match proofs {
        Some((recorded, joined)) => Delivery::released(bytes, None, recorded, joined),
        None => Delivery::ours(bytes, None),
    })
}

/// Judges, labels and records one server's part. Nothing, if it is left out.
async fn show(
    road: &Road,
    arrival: &Arrival,
    names: &Arc<Merged>,
    part: &ResourcePart,
) -> Option<VisiblePart> {
    let routed = routed(arrival, names, part)?;
    let proposed = road.judge.gather(arrival, routed).await;
    let (proposed, granted) = match road.judge.judge(proposed).await {
        Ok(Settled::Granted(proposed, granted)) => (proposed, granted),
        // Nobody is asked about a list.
        Ok(Settled::Open(proposed, escalation)) => {
            road.recorder.block(&proposed, &escalation.unasked(), &Basis::default());
            return None;
        }
        Err(_) => return None,
    };
    let recorded = road.recorder.permit(&proposed, &granted);
    let mut record = recorded.inspect_err(|error| tracing::error!(%error, "a list is not on record")).ok()?;
    let marks = road.sessions.marks_of(&proposed, &listed(part)).await.joined(&part.said);
    let now = road.sessions.current(proposed.session()).await;
    let facts = proposed.facts_of_reply(&now.label, &proposed.standing.grant);
    let known = ReplyFacts { marks, ..ReplyFacts::new(ResultType::Complete) };
    let labelled = label_reply(&proposed.policy, &facts, Received::new((), known));
    match decide_reply(&proposed.policy, &facts, granted.permit.obligations(), labelled) {
        ReplyVerdict::Pass(pass) if pass.redactions().is_empty() => {
            release(road, &proposed, pass, &mut record).await
        }
        ReplyVerdict::Pass(pass) => withheld(&mut record, pass.judgement()),
        ReplyVerdict::Hold(held) => withheld(&mut record, held.unasked().judgement()),
        ReplyVerdict::Withhold(denial) => withheld(&mut record, denial.judgement()),
    }
}

async fn release(
    road: &Road,
    proposed: &Proposed,
    pass: Pass<()>,
    record: &mut OpenRecord,
) -> Option<VisiblePart> {
    let label = pass.label();
    let absorbed = road.sessions.absorb(proposed.session(), label, proposed.is_verified()).await;
    let Absorbed { joined, raised, before } = match absorbed {
        Ok(absorbed) => absorbed,
        Err(error) => {
            tracing::error!(%error, decision = %record.decision(), "{UNSTORED}");
            let end = End { detail: Some(UNSTORED), label: Some(label), ..End::default() };
            settle(record, Outcome::Withheld, end);
            return None;
        }
    };
    if let (true, Some(before)) = (raised, &before) {
        road.sessions.note_legs(proposed, before, label);
    }
    let (judgement, provenance) = (Some(pass.judgement()), Some(proposed.provenance()));
    let end = End { judgement, label: Some(label), raised, provenance, ..End::default() };
    let recorded = settle(record, Outcome::Delivered, end)?;
    Some(VisiblePart { recorded, joined })
}

fn withheld(record: &mut OpenRecord, judgement: &Judgement) -> Option<VisiblePart> {
    settle(record, Outcome::Withheld, End { judgement: Some(judgement), ..End::default() });
    None
}

fn settle(record: &mut OpenRecord, outcome: Outcome, end: End<'_>) -> Option<Appended> {
    let settled = record.settle(outcome, end);
    settled.inspect_err(|error| tracing::error!(%error, "how a list ended is not on record")).ok()
}

/// The list as what it is judged as: a read of what it names, for which nothing is sent.
fn routed(arrival: &Arrival, names: &Arc<Merged>, part: &ResourcePart) -> Option<RoutedAction> {
    let catalog_server = arrival.world.catalog_servers.get(&part.upstream)?;
    let route = Route {
        catalog_server: Arc::clone(catalog_server),
        _bound: catalog_server.bound(),
        contracts: Arc::clone(names.contracts(&part.upstream)?),
        names: Arc::clone(names),
        known: Arc::clone(&part.known),
        tool: None,
        method: Some(Method::ListResources),
        task: TaskBridge::None,
    };
    let method = Method::ListResources.as_str();
    let action = Action::new(ActionKind::ReadResource, part.upstream.clone(), method, method, "{}");
    Some(RoutedAction::new(action, route))
}

/// The stored things that a list names, each as a read of it would ask for its marks.
fn listed(part: &ResourcePart) -> Vec<Reading> {
    let read = |uri: &Arc<str>| Reading { resource: Some(Name::new(uri)), ..Reading::default() };
    part.uris.iter().map(read).collect()
}

impl Refusal {
    /// The label of a list went out of date and could not be stored again.
    fn unlisted() -> Self {
        let message =
            "the gateway's session store is away, so the list cannot be given; try again in a moment";
        Self::invalid(highwater_mcp::error_code::STORE_UNAVAILABLE, message)
    }
}
