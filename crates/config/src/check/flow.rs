//! The flow rules of layer L1 as functions of label and contract, and what each mode does about them.

use highwater_core::annotation::{DataClass, Destination, Outcome};
use highwater_core::decide::{FlowMode, FlowPolicy};
use highwater_core::policy::{Effect, FlowRule};

use super::contract::ContractModel;
use super::diagram::{Function, NEVER};
use super::label::LabelModel;
use super::space::{GaveUp, Space};

/// When each rule is violated, and what follows.
#[derive(Debug)]
pub(crate) struct FlowModel {
    /// In the order of [`FlowRule::ALL`].
    pub(crate) violated: [Function; 3],
    /// What the mode does about it, when.
    pub(crate) findings: Vec<(FlowRule, Effect, Function)>,
}

// === impl FlowModel ===

impl FlowModel {
    pub(crate) fn new(
        space: &mut Space,
        policy: &FlowPolicy,
        session: &LabelModel,
        contract: &ContractModel,
    ) -> Result<Self, GaveUp> {
        let mode = policy.mode;
        let write = write(space, policy, session, contract)?;
        let (asked, grave) = act(space, mode, contract)?;
        let act = space.diagram.or(asked, grave)?;
        let act = space.diagram.and(act, session.untrusted())?;
        let grave = space.diagram.and(grave, session.untrusted())?;
        let private = contract.returns_private(space)?;
        let read = space.diagram.and(private, session.untrusted())?;
        let findings = match mode {
            FlowMode::Observe => Vec::new(),
            FlowMode::Balanced => {
                let doubtful = space.diagram.and(write, session.untrusted())?;
                vec![
                    (FlowRule::Write, Effect::Confirm, write),
                    (FlowRule::Write, Effect::Block, doubtful),
                    (FlowRule::Act, Effect::Confirm, act),
                ]
            }
            FlowMode::Strict => vec![
                (FlowRule::Write, Effect::Block, write),
                (FlowRule::Act, Effect::Confirm, act),
                (FlowRule::Act, Effect::Passkey, grave),
                (FlowRule::Read, Effect::Block, read),
            ],
            FlowMode::Samos => {
                vec![(FlowRule::Write, Effect::Block, write), (FlowRule::Read, Effect::Block, read)]
            }
        };
        Ok(Self { violated: [write, act, read], findings })
    }
}

/// Data would go where it may not.
fn write(
    space: &mut Space,
    policy: &FlowPolicy,
    session: &LabelModel,
    contract: &ContractModel,
) -> Result<Function, GaveUp> {
    if policy.mode == FlowMode::Samos {
        let private = session.private(space)?;
        return Ok(space.diagram.and(private, contract.destination(Destination::Public))?);
    }
    let mut leaks = Vec::new();
    for class in DataClass::ALL {
        let closed = Destination::ALL.iter().filter(|to| !policy.clearance.admits(**to).contains(*class));
        let closed = closed.map(|to| contract.destination(*to)).collect::<Vec<_>>();
        let closed = space.diagram.any(closed)?;
        leaks.push(space.diagram.and(session.class(*class), closed)?);
    }
    // A tool that keeps nothing and passes nothing on receives nothing.
    let keeps = Destination::ALL.iter().filter(|to| **to != Destination::Ephemeral);
    let keeps = keeps.map(|to| contract.destination(*to)).collect::<Vec<_>>();
    let keeps = space.diagram.any(keeps)?;
    let refused = contract.refuses(space, session)?;
    leaks.push(space.diagram.and(refused, keeps)?);
    Ok(space.diagram.any(leaks)?)
}

/// When a call counts as an act, and when as one that cannot be undone.
fn act(space: &mut Space, mode: FlowMode, contract: &ContractModel) -> Result<(Function, Function), GaveUp> {
    let irreversible = contract.outcome(Outcome::Irreversible);
    let acts = space.diagram.or(contract.outcome(Outcome::Consequential), irreversible)?;
    Ok(match mode {
        FlowMode::Samos => (NEVER, NEVER),
        FlowMode::Strict => {
            (space.diagram.or(acts, contract.destination(Destination::Public))?, irreversible)
        }
        FlowMode::Observe | FlowMode::Balanced => (acts, irreversible),
    })
}
