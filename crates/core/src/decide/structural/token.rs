//! What the caller's token grants: until when, where, and which calls. The same gates for every kind of action.

use crate::action::ActionKind;
use crate::decide::{Finding, FindingId, Reason};
use crate::grant::is_below;
use crate::policy::{Facts, Policy, SeenValue};

/// A token grants nothing once its time is over, not even to a call that was held meanwhile.
pub(super) fn in_time(_: &Policy, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    if facts.grant.is_over(facts.now) {
        findings.push(Finding::block(FindingId::Token, Reason::TokenExpired));
    }
}

/// The virtual server, the server and the tool must be within what the token reaches.
pub(super) fn in_scope(_: &Policy, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let (grant, upstream) = (facts.grant, facts.action.upstream());
    if !grant.enters(facts.virtual_server) {
        findings.push(Finding::block(FindingId::Token, Reason::VirtualServerNotGranted));
    }
    if !grant.servers.covers(upstream) {
        findings.push(Finding::block(FindingId::Token, Reason::ServerNotGranted));
    }
    let tool = match facts.action.kind() {
        ActionKind::CallTool | ActionKind::ResolveTool | ActionKind::CreateChallenge => {
            Some(&**facts.action.target())
        }
        // The target is a task or a question, so the tool is whose call it belongs to.
        ActionKind::TaskStep | ActionKind::Answer => facts.tool_name,
        ActionKind::ReadResource
        | ActionKind::GetPrompt
        | ActionKind::Complete
        | ActionKind::Subscribe
        | ActionKind::ExtraMethod => None,
    };
    if tool.is_some_and(|tool| !grant.tools.covers(upstream, tool)) {
        findings.push(Finding::block(FindingId::Token, Reason::ToolNotGranted));
    }
}

/// The token must hold what the action needs: the greater of the variant used and the class of the effective contract.
pub(super) fn permitted(_: &Policy, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    if let Some(missing) = facts.missing() {
        let held = facts.grant.permissions.iter().map(|held| held.as_str().to_owned()).collect();
        findings.push(
            Finding::block(FindingId::Token, Reason::PermissionNotGranted)
                .saw("call.needs", SeenValue::Text(missing.as_str().to_owned()))
                .saw("agent.permissions", SeenValue::Many(held)),
        );
    }
}

/// A variant below the tool's class is refused even to who may do more: it says that the caller takes the tool for
/// something else than it is.
pub(super) fn meant(_: &Policy, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let class = facts.class();
    if let Some(variant) = facts.variant.filter(|variant| is_below(Some(*variant), class)) {
        findings.push(
            Finding::block(FindingId::Intent, Reason::VariantBelowClass)
                .saw("call.variant", SeenValue::Text(variant.as_str().to_owned()))
                .saw("tool.callWith", SeenValue::Text(class.as_str().to_owned())),
        );
    }
}
