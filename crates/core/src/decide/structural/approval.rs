//! The contract's own wish for a person, and an upstream's requirement of a verified approval.

use highwater_notation::Arguments;

use crate::annotation::{ApprovalWish, Axis};
use crate::approval::RelayedApproval;
use crate::decide::{Effect, Finding, FindingId, Reason};
use crate::policy::{Facts, Policy, SeenValue};

/// Where a contract asks in so many words that a person looks, one does.
pub(super) fn wanted(_: &Policy, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    if facts.contract.requires_verified() {
        let relayed = facts.relayed.is_some_and(|relayed| belongs(relayed, facts));
        if !relayed {
            findings.push(told(facts, Effect::Passkey, Reason::VerifiedApprovalRequired));
            return;
        }
        // Its server verifies that, and it says nothing of what is asked here.
        findings.push(told(facts, Effect::Allow, Reason::VerifiedApprovalRelayed));
    }
    match facts.contract.wish() {
        ApprovalWish::None => {}
        ApprovalWish::Confirm => findings.push(told(facts, Effect::Confirm, Reason::PersonWanted)),
        ApprovalWish::Passkey => findings.push(told(facts, Effect::Passkey, Reason::PasskeyWanted)),
    }
}

fn told(facts: &Facts<'_>, effect: Effect, reason: Reason) -> Finding {
    let text = |word: &str| SeenValue::Text(word.to_owned());
    let by = facts.contract.basis(Axis::Approval);
    Finding::new(FindingId::Approval, effect, reason)
        .saw("tool.approval", text(facts.contract.approval().as_str()))
        .saw("tool.approval.by", text(by.as_str()))
}

/// Whether the evidence that is passed on is for exactly this call.
fn belongs(relayed: &RelayedApproval, facts: &Facts<'_>) -> bool {
    let Arguments::Known(arguments) = facts.arguments else { return false };
    let action = facts.action;
    relayed.covers(facts.principal, action.upstream(), action.target(), arguments)
}
