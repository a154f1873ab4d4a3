//! A policy as functions of what is the case: every finding it can make, and the effect of all together.

use highwater_core::decide::FlowPolicy;
use highwater_core::policy::{Effect, Phase, RuleSet};
use highwater_notation::Timestamp;

use super::diagram::{Function, NEVER};
use super::space::{GaveUp, Values};
use super::world::World;

/// The findings of one flow policy and one set of rules.
#[derive(Debug)]
pub(crate) struct PolicyModel {
    pub(crate) findings: Vec<FindingModel>,
    /// An upstream's own requirement of a passkey: a finding that no policy can change.
    structural: Function,
}

/// One finding that can be made.
#[derive(Debug, Clone)]
pub(crate) struct FindingModel {
    /// As explanations and waivers call it.
    pub(crate) name: String,
    /// Its place among the rules, if it is one.
    pub(crate) rule: Option<usize>,
    pub(crate) effect: Effect,
    pub(crate) fires: Function,
    /// When a waiver lowers it.
    pub(crate) waived: Function,
    /// Of a rule that redacts: what it removes; `None` for everything.
    pub(crate) redacts: Option<u64>,
    /// Whether something follows from it: a dry run is only recorded.
    pub(crate) enforced: bool,
}

// === impl PolicyModel ===

impl PolicyModel {
    /// The findings in the phase of the world. Waivers count if they are in force at this moment.
    pub(crate) fn new(
        world: &mut World,
        flow: &FlowPolicy,
        rules: &RuleSet,
        now: Timestamp,
    ) -> Result<Self, GaveUp> {
        let model = world.flow(flow)?;
        let mut waivers = Vec::new();
        for waiver in rules.waivers().iter().filter(|waiver| waiver.in_force(now)) {
            let rails = world.rails(&model, waiver.condition(), |slot| rules.subject(slot))?;
            waivers.push((waiver, rails.must));
        }
        let waived = |world: &mut World, name: &str| -> Result<Function, GaveUp> {
            let named =
                waivers.iter().filter(|(waiver, _)| waiver.findings().iter().any(|one| **one == *name));
            let named = named.map(|(_, must)| *must).collect::<Vec<_>>();
            Ok(world.space.diagram.any(named)?)
        };
        let mut findings = Vec::new();
        // Of a message the flow rules see more than its contract, and of a list nothing.
        let before = matches!(world.phase, Phase::Call | Phase::Resource);
        for (rule, effect, fires) in model.findings.iter().filter(|_| before) {
            let fires = world.space.spellable(*fires)?;
            let name = rule.finding().to_owned();
            let waived = waived(world, &name)?;
            let (rule, effect) = (None, *effect);
            findings.push(FindingModel { name, rule, effect, fires, waived, redacts: None, enforced: true });
        }
        for (index, rule) in rules.rules().iter().enumerate() {
            if !rule.phases().has(world.phase) {
                continue;
            }
            let rails = world.rails(&model, rule.condition(), |slot| rules.subject(slot))?;
            let name = format!("rule.{}", rule.name());
            let waived = waived(world, &name)?;
            findings.push(FindingModel {
                name,
                rule: Some(index),
                effect: rule.effect(),
                fires: world.space.spellable(rails.may)?,
                waived,
                redacts: rule.redacts(),
                enforced: !rule.dry_run(),
            });
        }
        let structural = if before { world.contract.requires_verified } else { NEVER };
        Ok(Self { findings, structural })
    }

    /// The findings of which something follows.
    pub(crate) fn enforced(&self) -> impl Iterator<Item = &FindingModel> {
        self.findings.iter().filter(|finding| finding.enforced)
    }

    /// When the effect is at least this one.
    pub(crate) fn at_least(&self, world: &mut World, least: Effect) -> Result<Function, GaveUp> {
        if least == Effect::Allow {
            return Ok(super::diagram::ALWAYS);
        }
        let mut reached = Vec::new();
        if least <= Effect::Passkey {
            reached.push(self.structural);
        }
        for finding in self.enforced() {
            reached.push(finding.reaches(world, least)?);
        }
        Ok(world.space.diagram.any(reached)?)
    }

    /// What is left of a function where the effect is below this one. Cheaper than [`PolicyModel::at_least`],
    /// since what is left is smaller than everything that reaches it.
    pub(crate) fn without(
        &self,
        world: &mut World,
        mut left: Function,
        least: Effect,
    ) -> Result<Function, GaveUp> {
        if least <= Effect::Passkey {
            left = world.space.diagram.minus(left, self.structural)?;
        }
        for finding in self.enforced() {
            let reached = finding.reaches(world, least)?;
            left = world.space.diagram.minus(left, reached)?;
        }
        Ok(left)
    }

    /// When the effect is exactly this one.
    pub(crate) fn exactly(&self, world: &mut World, effect: Effect) -> Result<Function, GaveUp> {
        let least = self.at_least(world, effect)?;
        let above = match EFFECTS.iter().find(|other| **other > effect) {
            Some(above) => self.at_least(world, *above)?,
            None => NEVER,
        };
        Ok(world.space.diagram.minus(least, above)?)
    }

    /// The findings of an example, after waivers, the strictest first.
    pub(crate) fn found(&self, world: &World, values: &Values) -> Vec<(&str, Effect)> {
        let has = |function: Function| world.space.value(function, values);
        let mut found: Vec<(&str, Effect)> = Vec::new();
        if has(self.structural) {
            found.push(("structural.approval", Effect::Passkey));
        }
        for finding in self.enforced().filter(|finding| has(finding.fires)) {
            let effect = if has(finding.waived) { finding.effect.waived() } else { finding.effect };
            match found.iter_mut().find(|(name, _)| *name == finding.name) {
                Some((_, known)) => *known = effect.max(*known),
                None => found.push((&finding.name, effect)),
            }
        }
        found.sort_by(|(one, a), (other, b)| b.cmp(a).then(one.cmp(other)));
        found
    }
}

/// The chain, mildest first.
pub(crate) const EFFECTS: [Effect; 5] =
    [Effect::Allow, Effect::Redact, Effect::Confirm, Effect::Passkey, Effect::Block];

// === impl FindingModel ===

impl FindingModel {
    /// When this finding alone has at least this effect.
    pub(crate) fn reaches(&self, world: &mut World, least: Effect) -> Result<Function, GaveUp> {
        if self.effect < least {
            return Ok(NEVER);
        }
        // A waiver leaves a question.
        if least <= Effect::Confirm {
            return Ok(self.fires);
        }
        Ok(world.space.diagram.minus(self.fires, self.waived)?)
    }
}
