//! What the operator granted: servers, tools, methods.

use crate::action::ActionKind;
use crate::decide::{Finding, FindingId, Reason};
use crate::policy::{Facts, Policy};

/// The caller's virtual server must hold the upstream.
pub(super) fn held(policy: &Policy, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    if policy.admission(facts.action.upstream()).is_none() {
        findings.push(Finding::block(FindingId::Grant, Reason::UpstreamUnknown));
    }
    if !policy.holds(facts.virtual_server, facts.action.upstream()) {
        findings.push(Finding::block(FindingId::Grant, Reason::UpstreamNotHeld));
    }
}

/// A tool must be on its server's allow-list, where there is one.
pub(super) fn allow_list(policy: &Policy, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let names_tool = matches!(
        facts.action.kind(),
        ActionKind::CallTool | ActionKind::ResolveTool | ActionKind::CreateChallenge
    );
    if !names_tool {
        return;
    }
    let admitted = policy
        .admission(facts.action.upstream())
        .is_some_and(|admission| admission.admits_tool(facts.action.target()));
    if !admitted {
        findings.push(Finding::block(FindingId::AllowList, Reason::ToolNotAllowed));
    }
}

/// A method outside MCP must have been listed for its server.
pub(super) fn extra_method(policy: &Policy, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    if facts.action.kind() != ActionKind::ExtraMethod {
        return;
    }
    let listed = policy
        .admission(facts.action.upstream())
        .is_some_and(|admission| admission.extra_methods.contains(&**facts.action.method()));
    if !listed {
        findings.push(Finding::block(FindingId::Method, Reason::MethodNotListed));
    }
}
