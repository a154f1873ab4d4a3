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
type GateModel = (Function, Vec<(Effect, Function)>);

/// What the gates look at.
pub(crate) struct FlowParts<'w> {
    pub(crate) space: &'w mut Space,
    pub(crate) policy: &'w FlowPolicy,
    pub(crate) session: &'w LabelModel,
    pub(crate) contract: &'w ContractModel,
    /// Whether files in doubt are run or handed on.
    pub(crate) doubted: Function,
}

/// Makes the model of one gate.
pub(crate) type MakeGate = fn(&mut FlowParts<'_>) -> Result<GateModel, GaveUp>;

/// How each gate is modelled. One that is not may speak at any time, and say anything: no answer then rests on it.
pub(crate) fn modelled(rule: FlowRule) -> Option<MakeGate> {
    match rule {
        FlowRule::Write => Some(write),
        FlowRule::Act => Some(act),
        FlowRule::Doubt => Some(doubt),
        FlowRule::Read => Some(read),
    }
}

// === impl FlowModel ===

impl FlowModel {
    pub(crate) fn new(
        mut of: FlowParts<'_>,
        modelled: fn(FlowRule) -> Option<MakeGate>,
    ) -> Result<Self, GaveUp> {
        let mut model = Self { violated: Vec::new(), findings: Vec::new() };
        for rule in FlowRule::ALL {
            let (violated, effects) = modelled(*rule).unwrap_or(anything)(&mut of)?;
            model.violated.push(violated);
            model.findings.extend(effects.into_iter().map(|(effect, when)| (*rule, effect, when)));
        }
        Ok(model)
    }
}

/// Private data would go where it may not.
fn write(
    FlowParts { space, policy, session, contract, .. }: &mut FlowParts<'_>,
) -> Result<GateModel, GaveUp> {
    if policy.mode == FlowMode::Samos {
        let private = session.private(space)?;
        let violated = space.diagram.and(private, contract.destination(Destination::Public))?;
        return Ok((violated, vec![(Effect::Block, violated)]));
    }
    let public = watched_public(space, policy.mode, session, contract)?;
    // A tool that keeps nothing and passes nothing on receives nothing.
    let keeps = Destination::ALL.iter().filter(|to| **to != Destination::Ephemeral);
    let keeps = keeps.map(|to| contract.destination(*to)).collect::<Vec<_>>();
    let keeps = space.diagram.any(keeps)?;
    let refused = contract.refuses(space, session)?;
    let (mut leaks, mut grave) = (Vec::new(), Vec::new());
    for (class, refused) in DataClass::ALL.iter().zip(refused) {
        // The model knows of the operator's own classes that there are some, and not which; so with scopes that are
        // cleared one by one.
        let admits = |to: Destination| match class {
            DataClass::Named => policy.clearance.admits_every_name(to),
            DataClass::Regulated => policy.clearance.admits_every_scope(to),
            _ => policy.clearance.admits(to).contains(*class),
        };
        let closed = Destination::ALL.iter().filter(|to| !admits(**to));
        let closed = closed.map(|to| match to {
            Destination::Public => public,
            to => contract.destination(*to),
        });
        let closed = space.diagram.any(closed.collect::<Vec<_>>())?;
        let held = space.diagram.and(session.class(*class), closed)?;
        let refused = space.diagram.and(refused, keeps)?;
        let leak = space.diagram.or(held, refused)?;
        leaks.push(leak);
        if matches!(class, DataClass::Credentials | DataClass::Regulated) {
            grave.push(leak);
        }
    }
    let violated = space.diagram.any(leaks)?;
    let flagged = space.diagram.and(violated, session.malicious)?;
    grave.push(flagged);
    let grave = space.diagram.any(grave)?;
    let effects = match policy.mode {
        FlowMode::Observe => Vec::new(),
        FlowMode::Balanced => vec![(Effect::Confirm, violated), (Effect::Block, grave)],
        FlowMode::Strict | FlowMode::Samos => vec![(Effect::Block, violated)],
    };
    Ok((violated, effects))
}

/// When arguments may become public and that is looked at: not where a trusted session only fetches something, unless in
/// `strict`.
fn watched_public(
    space: &mut Space,
    mode: FlowMode,
    session: &LabelModel,
    contract: &ContractModel,
) -> Result<Function, GaveUp> {
    let public = contract.destination(Destination::Public);
    if mode == FlowMode::Strict {
        return Ok(public);
    }
    let looks = contract.benign(space)?;
    let unwatched = space.diagram.minus(looks, session.untrusted())?;
    Ok(space.diagram.minus(public, unwatched)?)
}

/// Untrusted text would decide an act.
fn act(FlowParts { space, policy, session, contract, .. }: &mut FlowParts<'_>) -> Result<GateModel, GaveUp> {
    let irreversible = contract.outcome(Outcome::Irreversible);
    let acts = space.diagram.or(contract.outcome(Outcome::Consequential), irreversible)?;
    let acts = match policy.mode {
        FlowMode::Samos => NEVER,
        FlowMode::Strict => space.diagram.or(acts, contract.destination(Destination::Public))?,
        FlowMode::Observe | FlowMode::Balanced => acts,
    };
    let violated = space.diagram.and(acts, session.untrusted())?;
    let grave = space.diagram.and(irreversible, session.untrusted())?;
    let effects = match policy.mode {
        FlowMode::Observe | FlowMode::Samos => Vec::new(),
        FlowMode::Balanced => vec![(Effect::Confirm, violated)],
        FlowMode::Strict => vec![(Effect::Confirm, violated), (Effect::Passkey, grave)],
    };
    Ok((violated, effects))
}

/// Files in doubt would be run or handed on.
fn doubt(
    FlowParts { space, policy, contract, doubted, .. }: &mut FlowParts<'_>,
) -> Result<GateModel, GaveUp> {
    let irreversible = contract.outcome(Outcome::Irreversible);
    let grave = space.diagram.and(irreversible, *doubted)?;
    Ok(match policy.mode {
        FlowMode::Samos => (NEVER, Vec::new()),
        FlowMode::Observe => (*doubted, Vec::new()),
        FlowMode::Balanced => (*doubted, vec![(Effect::Confirm, *doubted)]),
        FlowMode::Strict => (*doubted, vec![(Effect::Confirm, *doubted), (Effect::Passkey, grave)]),
    })
}

/// A doubtful session would get private data.
fn read(FlowParts { space, policy, session, contract, .. }: &mut FlowParts<'_>) -> Result<GateModel, GaveUp> {
    let private = contract.returns_private(space)?;
    let violated = space.diagram.and(private, session.untrusted())?;
    let violated = match policy.mode {
        FlowMode::Samos => {
            let high = session.private(space)?;
            let violated = space.diagram.minus(violated, high)?;
            // What may be public is called, and its reply judged.
            let irreversible = contract.outcome(Outcome::Irreversible);
            let acts = space.diagram.or(contract.outcome(Outcome::Consequential), irreversible)?;
            let may_be_public = space.diagram.and(contract.returns.said, contract.returns.none)?;
            let left_to_reply = space.diagram.minus(may_be_public, acts)?;
            space.diagram.minus(violated, left_to_reply)?
        }
        FlowMode::Observe | FlowMode::Balanced | FlowMode::Strict => violated,
    };
    let effects = match policy.mode {
        FlowMode::Observe | FlowMode::Balanced => Vec::new(),
        FlowMode::Strict | FlowMode::Samos => vec![(Effect::Block, violated)],
    };
    Ok((violated, effects))
}

/// A gate of which nothing is known.
fn anything(FlowParts { space, .. }: &mut FlowParts<'_>) -> Result<GateModel, GaveUp> {
    let violated = space.switch()?;
    let effects = [Effect::Confirm, Effect::Passkey, Effect::Block].map(|effect| {
        let chosen = space.switch()?;
        Ok((effect, space.diagram.and(violated, chosen)?))
    });
    Ok((violated, effects.into_iter().collect::<Result<_, GaveUp>>()?))
}
