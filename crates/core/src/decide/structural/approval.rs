//! The contract's own wish for a person, and an upstream's requirement of a verified approval.

use crate::annotation::{ApprovalWish, Axis};
use crate::decide::{Effect, Finding, FindingId, Reason};
use crate::policy::{Facts, Policy, SeenValue};

/// Where a contract asks in so many words that a person looks, one does.
pub(super) fn wanted(_: &Policy, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let (effect, reason) = match facts.contract.approval() {
        _ if facts.contract.requires_verified() => (Effect::Passkey, Reason::VerifiedApprovalRequired),
        ApprovalWish::None => return,
        ApprovalWish::Confirm => (Effect::Confirm, Reason::PersonWanted),
        ApprovalWish::Passkey => (Effect::Passkey, Reason::PasskeyWanted),
    };
    let text = |word: &str| SeenValue::Text(word.to_owned());
    let by = facts.contract.basis(Axis::Approval);
    findings.push(
        Finding::new(FindingId::Approval, effect, reason)
            .saw("tool.approval", text(facts.contract.approval().as_str()))
            .saw("tool.approval.by", text(by.as_str())),
    );
}
