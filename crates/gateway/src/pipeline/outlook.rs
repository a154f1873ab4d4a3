//! Our own answer to `tools/resolve`: what would apply to a call with these arguments, in this session, without making it.
//! No reasons: a hijacked model would look for the ungated path.

use std::sync::Arc;

use highwater_core::action::{Action, ActionKind};
use highwater_core::annotation::Contract;
use highwater_core::decide::{Effect, demands};
use highwater_core::label::{Label, TextSet};
use highwater_mcp::annotations::emit::{Outlook, resolution, resolution_of_tool};
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::Era;
use highwater_mcp::error_code;

use super::arrival::{RoutedAction, ToolName};
use super::proposed::Proposed;
use super::{Arrival, Delivery, Refusal, Road};
use crate::handshake::by_us;

/// A call that is not made, judged.
pub(super) struct Foreseen {
    tool: ToolName,
    pub(super) proposed: Proposed,
    pub(super) effect: Effect,
}

/// Says what would become of a call.
pub(super) async fn outlook(road: &Road, arrival: &Arrival) -> Result<Delivery, Refusal> {
    let Foreseen { tool, proposed, effect } = foresee(road, arrival).await?;
    let no_tool = || Refusal::unknown("tool", "", &[]);
    let outlook = Outlook { effect: effect.as_str(), would_taint: taints(&proposed) };
    let (names, contract) = (&proposed.route.names, &proposed.reply_contract);
    let entry = names.tools.get(&tool.shown).ok_or_else(no_tool)?;
    let result = match arrival.client.era() {
        Era::Modern => {
            // Of a call through a variant it speaks under the name that was asked about.
            let asked = arrival.variant.map_or(&*tool.shown, |variant| variant.as_str());
            let plain = resolution(asked, contract, outlook);
            edit_object(&plain, &[("resultType", Edit::Set(r#""complete""#))])
        }
        Era::Legacy => match names.listed_tool(entry) {
            Some(shown) => resolution_of_tool(shown, contract, outlook),
            None => return Err(no_tool()),
        },
    };
    let result = by_us(arrival.client.era(), &result);
    Ok(Delivery::ours(error_code::result_response(arrival.id(), &result), None))
}

/// Judges a call that is not made.
pub(super) async fn foresee(road: &Road, arrival: &Arrival) -> Result<Foreseen, Refusal> {
    let RoutedAction { action, route, .. } = road.router.route(arrival, None).await?;
    let tool = route.tool.clone().ok_or_else(|| Refusal::unknown("tool", "", &[]))?;
    // Judged as the call it speaks of, which is not made.
    let (upstream, own) = (route.upstream().clone(), Arc::clone(&tool.own));
    let action = Action::new(ActionKind::CallTool, upstream, "tools/call", own, action.params().to_owned());
    let standing = arrival.client.caller().standing();
    if !standing.grant.reaches_tool(route.upstream(), &tool.own) {
        return Err(Refusal::unknown("tool", &tool.shown, &[]));
    }
    let proposed = road.judge.gather(arrival, RoutedAction::new(action, route)).await.weighing_earlier();
    // What is held is not described either.
    if proposed.known().is_held() {
        return Err(Refusal::unknown("tool", &tool.shown, &[]));
    }
    let effect = demands(&proposed.policy, &proposed.facts()).effect;
    Ok(Foreseen { tool, proposed, effect })
}

/// Whether the reply to a call would raise its session's label.
pub(super) fn taints(proposed: &Proposed) -> bool {
    would_taint(&proposed.before.label, &proposed.reply_contract)
}

/// Whether a reply by this contract would raise this label.
pub(super) fn would_taint(session: &Label, contract: &Contract) -> bool {
    !session.covers(&without_origins(contract.reply_label()))
}

/// What of a label changes what a session may do: where something came from does not.
fn without_origins(label: &Label) -> Label {
    Label::from_sets(label.bits(), label.scopes().clone(), label.names().clone(), TextSet::EMPTY)
}
