//! Rules that never fire, and rules that never matter because others always decide before them.

use highwater_core::decide::FlowPolicy;
use highwater_core::policy::{Effect, Phase, RuleSet};
use highwater_notation::Timestamp;

use super::policy::{FindingModel, PolicyModel};
use super::space::GaveUp;
use super::world::{Questions, World};

/// What the analysis found out about one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Useless {
    /// It never fires.
    Dead,
    /// Whenever it fires, something at least as strict does.
    Shadowed {
        /// The finding that always does, if it is always the same one.
        by: Option<String>,
    },
}

/// The same policy in every phase and under every flow policy in which its rules are evaluated.
struct Scenes {
    scenes: Vec<(World, PolicyModel)>,
}

/// Every rule that is of no use, by its place in the set. `flows` are the flow policies in use, with the virtual
/// servers that have them.
pub(crate) fn useless(
    rules: &RuleSet,
    flows: &[(FlowPolicy, Vec<&str>)],
    now: Timestamp,
    most_nodes: usize,
) -> Result<Vec<(usize, Useless)>, GaveUp> {
    let mut scenes = Scenes::new(rules, flows, now, most_nodes)?;
    let mut found: Vec<(usize, Useless)> = Vec::new();
    // From the last to the first: of two rules that say the same, the later one is the one too many.
    for index in (0..rules.rules().len()).rev() {
        let gone: Vec<usize> = found.iter().map(|(index, _)| *index).collect();
        let is_dry_run = rules.rules().get(index).is_some_and(|rule| rule.dry_run());
        if !scenes.fires(index)? {
            found.push((index, Useless::Dead));
        } else if !is_dry_run && !scenes.decides(index, &gone)? {
            let by = scenes.culprit(index, &gone)?;
            found.push((index, Useless::Shadowed { by }));
        }
    }
    found.reverse();
    Ok(found)
}

// === impl Scenes ===

impl Scenes {
    fn new(
        rules: &RuleSet,
        flows: &[(FlowPolicy, Vec<&str>)],
        now: Timestamp,
        most_nodes: usize,
    ) -> Result<Self, GaveUp> {
        let mut scenes = Vec::new();
        for phase in Phase::ALL {
            if !rules.rules().iter().any(|rule| rule.phases().has(phase)) {
                continue;
            }
            for (flow, virtual_servers) in flows {
                let mut world = World::new(phase, virtual_servers, questions(&[rules]), most_nodes)?;
                let policy = PolicyModel::new(&mut world, flow, rules, now)?;
                scenes.push((world, policy));
            }
        }
        Ok(Self { scenes })
    }

    /// Whether the rule can fire at all.
    fn fires(&mut self, index: usize) -> Result<bool, GaveUp> {
        for (world, policy) in &mut self.scenes {
            if let Some(rule) = policy.rule(index)
                && world.space.possible(rule.fires)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the rule can be the strictest of all but those that are `gone`.
    fn decides(&mut self, index: usize, gone: &[usize]) -> Result<bool, GaveUp> {
        for (world, policy) in &mut self.scenes {
            let Some(rule) = policy.rule(index) else { continue };
            let others: Vec<&FindingModel> = policy.others(rule, gone).collect();
            // Where a waiver lowers it to a question, it must be the only question.
            let mut alone = Vec::new();
            for effect in [rule.effect, rule.effect.waived()] {
                let mut left = rule.reaches(world, effect)?;
                // Of a rule that is waived, what it still reaches is a question.
                if effect != rule.effect {
                    left = world.space.diagram.and(left, rule.waived)?;
                }
                // One by one: what is left of a rule is smaller than all others together.
                for other in &others {
                    let covered = other.reaches(world, effect)?;
                    left = world.space.diagram.minus(left, covered)?;
                }
                alone.push(left);
            }
            let alone = world.space.diagram.any(alone)?;
            if world.space.possible(alone)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The one finding that always covers the rule.
    fn culprit(&mut self, index: usize, gone: &[usize]) -> Result<Option<String>, GaveUp> {
        let mut candidates: Option<Vec<String>> = None;
        for (world, policy) in &mut self.scenes {
            let Some(rule) = policy.rule(index) else { continue };
            let mut covering: Vec<String> = Vec::new();
            for other in policy.others(rule, gone) {
                let mut left = Vec::new();
                for effect in [rule.effect, rule.effect.waived()] {
                    let (mine, theirs) = (rule.reaches(world, effect)?, other.reaches(world, effect)?);
                    left.push(world.space.diagram.minus(mine, theirs)?);
                }
                let left = world.space.diagram.any(left)?;
                if !world.space.possible(left)? && !covering.contains(&other.name) {
                    covering.push(other.name.clone());
                }
            }
            candidates = Some(match candidates {
                Some(before) => before.into_iter().filter(|name| covering.contains(name)).collect(),
                None => covering,
            });
        }
        // A rule is nearer to whoever wrote this one than a gate.
        let mut candidates = candidates.unwrap_or_default();
        candidates.sort_by_key(|name| !name.starts_with("rule."));
        Ok(candidates.into_iter().next())
    }
}

// === impl PolicyModel ===

impl PolicyModel {
    /// The finding of a rule, if the rule is evaluated in this phase.
    fn rule(&self, index: usize) -> Option<&FindingModel> {
        self.findings.iter().find(|finding| finding.rule == Some(index))
    }

    /// What can make a rule superfluous: findings that do at least what it does. Redacting is done beside
    /// everything else, so only another rule that redacts can replace one.
    fn others<'p>(
        &'p self,
        rule: &'p FindingModel,
        gone: &'p [usize],
    ) -> impl Iterator<Item = &'p FindingModel> {
        self.enforced().filter(move |other| {
            let is_other = other.rule != rule.rule && other.rule.is_none_or(|index| !gone.contains(&index));
            is_other
                && match rule.effect {
                    Effect::Redact => {
                        other.effect == Effect::Redact
                            && match (other.redacts, rule.redacts) {
                                (None, _) => true,
                                (Some(_), None) => false,
                                (Some(more), Some(fewer)) => fewer & !more == 0,
                            }
                    }
                    Effect::Allow | Effect::Confirm | Effect::Passkey | Effect::Block => true,
                }
        })
    }
}

/// What several sets of rules ask.
pub(crate) fn questions(sets: &[&RuleSet]) -> Questions {
    let mut questions = Questions::default();
    for rules in sets {
        let conditions = rules.rules().iter().map(|rule| rule.condition());
        let waivers = rules.waivers().iter().map(|waiver| waiver.condition());
        for condition in conditions.chain(waivers) {
            questions.note(condition, |slot| rules.subject(slot));
        }
    }
    questions
}
