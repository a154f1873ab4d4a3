//! The flow gates of layer L1 as functions of label and contract, and what each mode does about them.

use highwater_core::annotation::{DataClass, Destination, Outcome};
use highwater_core::decide::{FlowMode, FlowPolicy, FlowRule};
use highwater_core::policy::Effect;

use super::contract::ContractModel;
use super::diagram::{Function, NEVER};
use super::label::LabelModel;
use super::space::{GaveUp, Space};

/// When each gate is violated, and what follows.
#[derive(Debug)]
pub(crate) struct FlowModel {
    /// In the order of [`FlowRule::ALL`].
    pub(crate) violated: Vec<Function>,
    /// What the mode does about it, when.
    pub(crate) findings: Vec<(FlowRule, Effect, Function)>,
}

/// When one gate is violated, and what the mode does about it, when.
#[derive(Debug)]
pub(crate) struct GateModel {
    violated: Function,
    effects: Vec<(Effect, Function)>,
}

/// Makes the model of one gate.
pub(crate) type MakeGate =
    fn(&mut Space, &FlowPolicy, &LabelModel, &ContractModel) -> Result<GateModel, GaveUp>;

/// How each gate is modelled. One that is not may speak at any time, and say anything: no answer then rests on it.
pub(crate) fn modelled(rule: FlowRule) -> Option<MakeGate> {
    match rule {
        FlowRule::Write => Some(write),
        FlowRule::Act => Some(act),
        FlowRule::Read => Some(read),
    }
}

// === impl FlowModel ===

impl FlowModel {
    pub(crate) fn new(
        space: &mut Space,
        policy: &FlowPolicy,
        session: &LabelModel,
        contract: &ContractModel,
        modelled: fn(FlowRule) -> Option<MakeGate>,
    ) -> Result<Self, GaveUp> {
        let mut model = Self { violated: Vec::new(), findings: Vec::new() };
        for rule in FlowRule::ALL {
            let gate = match modelled(*rule) {
                Some(make) => make(space, policy, session, contract)?,
                None => anything(space)?,
            };
            model.violated.push(gate.violated);
            model.findings.extend(gate.effects.into_iter().map(|(effect, when)| (*rule, effect, when)));
        }
        Ok(model)
    }
}

/// Private data would go where it may not.
fn write(
    space: &mut Space,
    policy: &FlowPolicy,
    session: &LabelModel,
    contract: &ContractModel,
) -> Result<GateModel, GaveUp> {
    let violated = leak(space, policy, session, contract)?;
    let effects = match policy.mode {
        FlowMode::Observe => Vec::new(),
        FlowMode::Balanced => {
            let doubtful = space.diagram.and(violated, session.untrusted())?;
            vec![(Effect::Confirm, violated), (Effect::Block, doubtful)]
        }
        FlowMode::Strict | FlowMode::Samos => vec![(Effect::Block, violated)],
    };
    Ok(GateModel { violated, effects })
}

fn leak(
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

/// Untrusted text would decide an act.
fn act(
    space: &mut Space,
    policy: &FlowPolicy,
    session: &LabelModel,
    contract: &ContractModel,
) -> Result<GateModel, GaveUp> {
    let grave = contract.outcome(Outcome::Irreversible);
    let acts = space.diagram.or(contract.outcome(Outcome::Consequential), grave)?;
    let acts = match policy.mode {
        FlowMode::Samos => NEVER,
        FlowMode::Strict => space.diagram.or(acts, contract.destination(Destination::Public))?,
        FlowMode::Observe | FlowMode::Balanced => acts,
    };
    let violated = space.diagram.and(acts, session.untrusted())?;
    let effects = match policy.mode {
        FlowMode::Observe | FlowMode::Samos => Vec::new(),
        FlowMode::Balanced => vec![(Effect::Confirm, violated)],
        FlowMode::Strict => {
            vec![
                (Effect::Confirm, violated),
                (Effect::Passkey, space.diagram.and(grave, session.untrusted())?),
            ]
        }
    };
    Ok(GateModel { violated, effects })
}

/// A doubtful session would get private data.
fn read(
    space: &mut Space,
    policy: &FlowPolicy,
    session: &LabelModel,
    contract: &ContractModel,
) -> Result<GateModel, GaveUp> {
    let private = contract.returns_private(space)?;
    let violated = space.diagram.and(private, session.untrusted())?;
    let effects = match policy.mode {
        FlowMode::Observe | FlowMode::Balanced => Vec::new(),
        FlowMode::Strict | FlowMode::Samos => vec![(Effect::Block, violated)],
    };
    Ok(GateModel { violated, effects })
}

/// A gate of which nothing is known.
fn anything(space: &mut Space) -> Result<GateModel, GaveUp> {
    let violated = space.switch()?;
    let mut effects = Vec::new();
    for effect in [Effect::Confirm, Effect::Passkey, Effect::Block] {
        let chosen = space.switch()?;
        effects.push((effect, space.diagram.and(violated, chosen)?));
    }
    Ok(GateModel { violated, effects })
}
