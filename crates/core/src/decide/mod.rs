//! The decision. `judge` runs every gate and keeps every finding; `decide` is `judge` plus the minting of a
//! `Permit`. Order never matters: the strictest effect wins, and the explanation is complete.

mod ask;
mod attempt;
mod escalation;
mod finding;
mod flow;
mod gates;
mod overlook;
mod permit;
mod reply;
mod rules;
mod structural;
mod told;
mod told_findings;
mod verdict;
mod way_out;
mod what_if;

pub use crate::policy::Effect;
pub use ask::{AskFacts, AskKind, AskPass, AskVerdict, decide_ask};
pub use attempt::{Attempt, Conduct, Spent};
pub use escalation::{Agreement, Answer, Approval, Escalation, Proof, QuestionDigest, Unapproved};
pub use finding::{Finding, FindingId, PerMode, Reason, Waived};
pub use flow::{
    Clearance, Concern, DOUBTED_FILES, FlowFloor, FlowGate, FlowMode, FlowPolicy, FlowRule, FlowViolations,
};
pub use gates::{demands, judge};
pub use overlook::{FlowPolicies, Overlooked};
pub use permit::{Mismatch, Obligations, Permit, PermittedAction};
pub use reply::{
    ApprovedReply, HeldReply, Labelled, Pass, Received, ReplyFacts, ReplyVerdict, ResultType, decide_reply,
    decide_reply_approved, label_reply,
};
pub use told::{Asking, misjudged, refusal, ungranted, withheld};
pub use told_findings::Told;
pub use verdict::{Demands, Denial, Judgement, Redactions, Verdict};
pub use way_out::WayOut;
pub use what_if::{Otherwise, WhatIf};

use crate::policy::{Facts, Policy};

/// Judges an action and, if it is allowed, makes the one proof that opens its upstream.
pub fn decide(policy: &Policy, facts: &Facts<'_>) -> Verdict {
    settle(policy, facts, None)
}

/// Judges again an action that a person approved, with the policy and the label of this moment.
///
/// The approval meets what the person was asked, and nothing more: a block stays a block, and what they were not told
/// is a new question.
pub fn decide_approved(policy: &Policy, facts: &Facts<'_>, approval: Approval) -> Verdict {
    settle(policy, facts, Some(&approval))
}

fn settle(policy: &Policy, facts: &Facts<'_>, approval: Option<&Approval>) -> Verdict {
    let judgement = judge(policy, facts);
    let effect = judgement.effect();
    let explained = |judgement: Judgement| judgement.changed_by(what_if::what_if(policy, facts, effect));
    match effect {
        Effect::Allow | Effect::Redact => Verdict::Allow(Permit::mint(facts, judgement, None)),
        // What its server closes nobody opens here: a person who is asked by us is asked for nothing.
        Effect::Confirm | Effect::Passkey if judgement.is_closed_by_its_server() => {
            Verdict::Block(Denial::new(facts.decision.clone(), explained(judgement)))
        }
        Effect::Confirm | Effect::Passkey => {
            match approval.filter(|approval| approval.meets(facts, &judgement)) {
                Some(approval) => Verdict::Allow(Permit::mint(facts, judgement, Some(approval))),
                None => Verdict::Escalate(Escalation::new(facts, explained(judgement))),
            }
        }
        Effect::Block => Verdict::Block(Denial::new(facts.decision.clone(), explained(judgement))),
    }
}
