//! The finding of a flow rule: which facts it saw, in the words of the fact table.

use super::{Flow, FlowPolicy};
use crate::annotation::{Word, Words};
use crate::decide::{Effect, Finding, FindingId, Reason};
use crate::policy::{Facts, FlowRule, SeenValue};

impl Flow {
    /// What people are told of a violated rule.
    pub(in crate::decide) fn finding(
        &self,
        rule: FlowRule,
        effect: Effect,
        policy: &FlowPolicy,
        facts: &Facts<'_>,
    ) -> Finding {
        let (session, contract) = (facts.session, facts.contract);
        let id = FindingId::Flow(rule);
        let finding = match rule {
            FlowRule::Write => {
                let mut finding = Finding::new(id, effect, Reason::NotCleared);
                if let Some(leak) = self.leak {
                    let reasons = [
                        (Reason::NotCleared, leak.at_destination.is_empty()),
                        (Reason::NotAccepted, leak.not_accepted.is_empty()),
                    ];
                    finding.reasons =
                        reasons.into_iter().filter(|(_, empty)| !empty).map(|(reason, _)| reason).collect();
                }
                finding
                    .saw("session.sensitivity", words(session.classes()))
                    .saw(
                        "tool.annotations.inputMetadata.destination",
                        words(contract.destination().members()),
                    )
                    .saw("clearance", words(policy.clearance.admits_at_all(contract.destination())))
            }
            FlowRule::Act => Finding::new(id, effect, Reason::UntrustedActs)
                .saw("tool.annotations.inputMetadata.outcomes", words(contract.outcomes().members()))
                .saw("tool.annotations.inputMetadata.destination", words(contract.destination().members())),
            FlowRule::Read => Finding::new(id, effect, Reason::UntrustedReads)
                .saw("tool.annotations.returnMetadata.sensitivity", words(self.read.unwrap_or(Words::EMPTY))),
        };
        finding.saw("session.integrity", SeenValue::Text(session.integrity().as_str().to_owned()))
    }
}

/// The words of a set.
fn words<T: Word>(set: Words<T>) -> SeenValue {
    SeenValue::Many(set.iter().map(|word| word.as_str().to_owned()).collect())
}
