//! Judges an action under the session's label, and says what the verdict leads to. On a store that other gateways share
//! the label known here may be old: the action is judged twice, and the store is asked only where that could make a
//! difference.

use std::sync::Arc;

use highwater_core::action::ActionKind;
use highwater_core::decide::{
    Approval, Effect, Escalation, Judgement, Unapproved, Verdict, decide, decide_approved, demands,
};
use highwater_core::id::DecisionId;
use highwater_core::label::Label;
use highwater_core::pin::PinDigest;
use highwater_pins::PinKind;

use super::Refusal;
use super::arrival::Excuse;
use super::gather::step;
use super::permitted::{Basis, Granted};
use super::proposed::{EffectiveContract, Proposed};
use super::record::Recorder;
use super::sessions::{Sessions, is_unread};
use crate::approvals::ApprovalService;
use crate::catalog::Contracts;
use crate::decision_ids::DecisionIds;
use crate::gateway::now;
use crate::world::CurrentWorld;

/// Gathers what is known of actions and judges them.
pub(crate) struct Judge {
    pub(super) sessions: Arc<Sessions>,
    pub(super) recorder: Recorder,
    pub(super) world: Arc<CurrentWorld>,
    /// Where people answer; nothing where nobody can be asked on a page.
    pub(super) service: Option<Arc<ApprovalService>>,
    pub(super) ids: DecisionIds,
}

/// What a verdict leads to; a block is a refusal.
pub(super) enum Settled {
    /// The action may be done.
    Granted(Proposed, Granted),
    /// A person is asked first.
    Open(Proposed, Escalation),
}

// === impl Judge ===

impl Judge {
    /// Judges an action. What is blocked is on record and refused.
    pub(super) async fn judge(&self, proposed: Proposed) -> Result<Settled, Refusal> {
        let (proposed, verdict) = self.verdict(proposed).await;
        let Verdict::Escalate(escalation) = verdict else {
            return self.settle(proposed, verdict, Basis::default());
        };
        let (proposed, verdict) = match &proposed.excuse {
            Excuse::Told(consented, heard) => match escalation.continued(consented, heard) {
                Ok(approval) => {
                    let verdict = decide_approved(&proposed.policy, &proposed.facts(), approval);
                    (proposed, verdict)
                }
                Err(Unapproved::AnotherQuestion(escalation)) => (proposed, Verdict::Escalate(escalation)),
                Err(Unapproved::Declined(denial)) => (proposed, Verdict::Block(denial)),
            },
            Excuse::Strangers if escalation.asks_of_strangers_alone() => {
                let step = EffectiveContract::Narrowed(Arc::new(step(&proposed.contract)));
                self.verdict(proposed.judged_by(step)).await
            }
            Excuse::Strangers | Excuse::Nothing => (proposed, Verdict::Escalate(escalation)),
        };
        self.settle(proposed, verdict, Basis::default())
    }

    /// Judges an action again with what a person said, as everything is now. What the answer does not cover stays open.
    pub(super) async fn judge_answered(
        &self,
        proposed: Proposed,
        answered: Result<Approval, Unapproved>,
        basis: Basis,
    ) -> Result<Settled, Refusal> {
        match answered {
            Ok(approval) => {
                let proposed = self.sessions.read_again(proposed).await.at(now()).weighing_earlier();
                let verdict = decide_approved(&proposed.policy, &proposed.facts(), approval);
                self.settle(proposed, verdict, basis)
            }
            Err(Unapproved::AnotherQuestion(escalation)) => Ok(Settled::Open(proposed, escalation)),
            Err(Unapproved::Declined(denial)) => Err(self.recorder.declined(&proposed, &denial)),
        }
    }

    /// What is decided of an action, which may be judged under a label that was read anew.
    pub(super) async fn verdict(&self, proposed: Proposed) -> (Proposed, Verdict) {
        let proposed = if self.sessions.store.is_shared() && !is_certain(&proposed) {
            self.sessions.read_again(proposed).await
        } else {
            proposed
        };
        let proposed = proposed.weighing_earlier();
        let verdict = decide(&proposed.policy, &proposed.facts());
        (proposed, verdict)
    }

    fn settle(&self, proposed: Proposed, verdict: Verdict, basis: Basis) -> Result<Settled, Refusal> {
        // Not what the session has taken in stands in the way, but that nobody can tell what it is.
        let blind = |judgement: &Judgement| {
            is_unread(&proposed.before)
                && demands(&proposed.policy, &proposed.facts_under(&Label::bottom())).effect
                    < judgement.effect()
        };
        match verdict {
            Verdict::Allow(permit) => Ok(Settled::Granted(proposed, Granted { permit, basis })),
            Verdict::Escalate(escalation) if blind(escalation.judgement()) => {
                Err(self.recorder.unread(&proposed, escalation.judgement()))
            }
            Verdict::Block(denial) if blind(denial.judgement()) => {
                Err(self.recorder.unread(&proposed, denial.judgement()))
            }
            Verdict::Escalate(escalation) => Ok(Settled::Open(proposed, escalation)),
            Verdict::Block(denial) => Err(self.recorder.block(&proposed, &denial, &basis)),
        }
    }

    /// The action under the policy of this moment, unless its tool's definition changed: a person may have thought for
    /// long.
    pub(super) fn renewed(&self, proposed: Proposed) -> Result<Proposed, Refusal> {
        let world = self.world.load_full();
        let gone = || Refusal::changed(&proposed.decision);
        let server = world.virtual_server(&proposed.caller.virtual_server).ok_or_else(gone)?;
        let names = server.known();
        let contracts = names.contracts(proposed.action.upstream()).ok_or_else(gone)?;
        if let Some(tool) = &proposed.route.tool {
            let was = &proposed.route.contracts;
            let defined = |contracts: &Contracts| contracts.definition(PinKind::Tool, &tool.own);
            if contracts.tool(&tool.own).contract != proposed.known().contract
                || defined(contracts) != defined(was)
            {
                return Err(gone());
            }
        }
        Ok(proposed.by(Arc::clone(&world.policy)))
    }

    /// How the tool that is called is defined now.
    pub(super) fn tool_definition(&self, proposed: &Proposed) -> Option<PinDigest> {
        let tool = proposed.route.tool.as_ref()?;
        self.definition_now(proposed, PinKind::Tool, &tool.own)
    }

    /// How something of the action's server is defined now (G16).
    pub(super) fn definition_now(&self, proposed: &Proposed, kind: PinKind, name: &str) -> Option<PinDigest> {
        let world = self.world.load_full();
        let names = world.virtual_server(&proposed.caller.virtual_server)?.known();
        names.contracts(proposed.action.upstream())?.definition(kind, name)
    }

    /// Whether nothing of a call that waits for a person may stay behind but what an auditor can open. What is read is
    /// named in the log, so its address is no secret.
    pub(super) fn seals(&self, proposed: &Proposed) -> bool {
        let Some(service) = &self.service else { return false };
        let action = &proposed.action;
        match action.kind() {
            // What a call is given later goes with its arguments.
            ActionKind::CallTool
            | ActionKind::CreateChallenge
            | ActionKind::GetPrompt
            | ActionKind::Answer => {}
            ActionKind::ResolveTool
            | ActionKind::Complete
            | ActionKind::ReadResource
            | ActionKind::Subscribe
            | ActionKind::TaskStep
            | ActionKind::ExtraMethod => return false,
        }
        let tool = proposed.route.tool.as_ref().map(|tool| &*tool.own);
        service.seals(action.upstream(), tool, proposed.label(), &proposed.contract)
    }

    /// A name for the next decision.
    pub(super) fn next_decision(&self) -> DecisionId {
        self.ids.next()
    }
}

/// Whether no label that the session could have would make the answer another. Only a plain yes is certain: a refusal
/// may rest on a label that a person has lowered elsewhere.
fn is_certain(proposed: &Proposed) -> bool {
    let policy = &proposed.policy;
    let known = demands(policy, &proposed.facts());
    known.effect <= Effect::Redact
        && policy.rules().monotone()
        && known == demands(policy, &proposed.facts_at_worst())
}
