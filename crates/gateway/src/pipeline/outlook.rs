//! Our own answer to `tools/resolve`: what would apply to a call with these arguments, in this session, without making it.
//! No reasons: a hijacked model would look for the ungated path.

use std::sync::Arc;

use highwater_core::action::{Action, ActionKind};
use highwater_core::decide::{Effect, demands};
use highwater_core::label::{Label, TextSet};
use highwater_mcp::annotations::emit::{Outlook, resolution, resolution_of_tool};
use highwater_mcp::edit::{Edit, edit_object};
use highwater_mcp::era::Era;
use highwater_mcp::error_code;

use super::arrival::{Course, ToolName};
use super::layout::Layout;
use super::undertaking::Undertaking;
use super::{Arrival, Delivery, Refusal};
use crate::gateway::Gateway;

/// A call that is not made, judged.
pub(super) struct Foreseen {
    course: Course,
    tool: ToolName,
    pub(super) undertaking: Undertaking,
    pub(super) effect: Effect,
}

impl Gateway {
    /// Says what would become of a call.
    pub(crate) async fn outlook(&self, arrival: &Arrival) -> Result<Delivery, Refusal> {
        let Foreseen { course, tool, undertaking, effect } = self.foreseen(arrival).await?;
        let no_tool = || Refusal::unknown("tool", "", &[]);
        let outlook = Outlook { effect: effect.as_str(), would_taint: taints(&undertaking) };
        let entry = course.names.tools.get(&tool.shown).ok_or_else(no_tool)?;
        let result = match arrival.client.era() {
            Era::Modern => {
                // Of a call through a variant it speaks under the name that was asked about.
                let asked = arrival.variant.map_or(&*tool.shown, |variant| variant.as_str());
                let plain = resolution(asked, &undertaking.told, outlook);
                edit_object(&plain, &[("resultType", Edit::Set(r#""complete""#))])
            }
            Era::Legacy => match course.names.listed_tool(entry) {
                Some(shown) => resolution_of_tool(shown, &undertaking.told, outlook),
                None => return Err(no_tool()),
            },
        };
        Ok(Delivery::ours(error_code::result_response(arrival.id(), &result), None))
    }

    /// Judges a call that is not made.
    pub(super) async fn foreseen(&self, arrival: &Arrival) -> Result<Foreseen, Refusal> {
        let routed = self.route(arrival, None).await?;
        let course = routed.course;
        let no_tool = || Refusal::unknown("tool", "", &[]);
        let tool = course.tool.clone().ok_or_else(no_tool)?;
        // Judged as the call it speaks of, which is not made.
        let params = routed.action.params().to_owned();
        let action = Action::new(
            ActionKind::CallTool,
            course.upstream().clone(),
            "tools/call",
            Arc::clone(&tool.own),
            params,
        );
        let standing = arrival.client.caller().standing();
        if !standing.grant.reaches_tool(course.upstream(), &tool.own) {
            return Err(Refusal::unknown("tool", &tool.shown, &[]));
        }
        let layout = Layout::of(&action);
        let undertaking = self.gather(arrival, &course, Arc::new(action), layout).await;
        // What is held is not described either.
        if undertaking.known.is_held() {
            return Err(Refusal::unknown("tool", &tool.shown, &[]));
        }
        let effect = demands(&undertaking.policy, &undertaking.facts()).effect;
        Ok(Foreseen { course, tool, undertaking, effect })
    }
}

/// Whether the reply to a call would raise its session's label.
pub(super) fn taints(undertaking: &Undertaking) -> bool {
    !undertaking.before.label.covers(&without_origins(undertaking.told.reply_label()))
}

/// What of a label changes what a session may do: where something came from does not.
fn without_origins(label: &Label) -> Label {
    Label::from_parts(label.bits(), label.scopes().clone(), TextSet::EMPTY)
}
