//! The decision. `judge` runs every gate and keeps every finding; `decide` is `judge` plus the minting of a
//! `Permit`. Order never matters: the strictest effect wins, and the explanation is complete.

mod ask;
mod permit;
mod reply;
mod structural;
mod verdict;

pub use crate::policy::Effect;
pub use ask::{AskFacts, AskKind, AskPass, AskVerdict, decide_ask};
pub use permit::{Mismatch, Permit, PermittedAction};
pub use reply::{Pass, Received, ReplyFacts, ReplyVerdict, ResultType, decide_reply};
pub use verdict::{Denial, Finding, FindingId, Judgement, Reason, Verdict};

use crate::policy::{Facts, Policy};

/// A gate looks at the facts and adds what it finds.
type Gate = fn(&Policy, &Facts<'_>, &mut Vec<Finding>);

/// Every gate there is. A new one is a new line here and a file beside this one.
const GATES: &[Gate] = &[structural::grant, structural::allow_list, structural::extra_method];

/// What the gates say of an action, without permitting anything.
///
/// For whoever only wants an answer: lists, explanations, replays, a second judgement.
pub fn judge(policy: &Policy, facts: &Facts<'_>) -> Judgement {
    let mut findings = Vec::new();
    for gate in GATES {
        gate(policy, facts, &mut findings);
    }
    Judgement::of(findings)
}

/// Judges an action and, if it is allowed, makes the one proof that opens its upstream.
pub fn decide(policy: &Policy, facts: &Facts<'_>) -> Verdict {
    let judgement = judge(policy, facts);
    match judgement.effect() {
        Effect::Allow => Verdict::Allow(Permit::mint(facts)),
        // Nobody can be asked yet and no reply be edited, so what needs it does not happen.
        Effect::Redact | Effect::Confirm | Effect::Passkey | Effect::Block => {
            Verdict::Block(Denial::new(facts.decision.clone(), judgement))
        }
    }
}

#[cfg(test)]
mod tests;
