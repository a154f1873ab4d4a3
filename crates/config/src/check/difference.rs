//! What a change of rules, waivers, modes or clearances does to calls: which kinds become stricter or milder.

use highwater_core::decide::FlowPolicy;
use highwater_core::policy::{Effect, FactName, Phase, RuleSet};
use highwater_notation::Timestamp;

use super::analyse::questions;
use super::policy::{EFFECTS, PolicyModel};
use super::situation::Situation;
use super::space::GaveUp;
use super::world::World;

/// The policy that one virtual server has.
#[derive(Debug, Clone)]
pub(crate) struct Side<'s> {
    pub(crate) flow: FlowPolicy,
    pub(crate) rules: &'s RuleSet,
}

/// A kind of call whose effect changes.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) before: Effect,
    pub(crate) after: Effect,
    /// What each side finds in the example.
    pub(crate) found_before: Vec<(String, Effect)>,
    pub(crate) found_after: Vec<(String, Effect)>,
    pub(crate) situation: Situation,
}

/// Every pair of effects that some call goes between, with an example; what becomes milder comes first.
pub(crate) fn changes(
    before: Side<'_>,
    after: Side<'_>,
    virtual_servers: &[&str],
    now: Timestamp,
    most_nodes: usize,
) -> Result<Vec<Changed>, GaveUp> {
    let mut found = Vec::new();
    for phase in [Phase::Call, Phase::Resource] {
        let asked = questions(&[before.rules, after.rules]);
        let mut world = World::new(phase, virtual_servers, asked, most_nodes)?;
        let mut mentioned = before.rules.facts().chain(after.rules.facts());
        if !mentioned.any(|fact| fact.name == Some(FactName::ToolRequiresApproval)) {
            world.contract.leave_aside_own_approval(&mut world.space)?;
        }
        let old = PolicyModel::new(&mut world, &before.flow, before.rules, now)?;
        let new = PolicyModel::new(&mut world, &after.flow, after.rules, now)?;
        for from in EFFECTS {
            for to in EFFECTS.into_iter().filter(|to| *to != from) {
                // One example for each pair of effects; of calls, if a call goes between them.
                if found.iter().any(|change: &Changed| (change.before, change.after) == (from, to)) {
                    continue;
                }
                let (was, is) = (old.exactly(&mut world, from)?, new.exactly(&mut world, to)?);
                let both = world.space.diagram.and(was, is)?;
                let Some(values) = world.space.example(both)? else { continue };
                let owned = |found: Vec<(&str, Effect)>| -> Vec<(String, Effect)> {
                    found.into_iter().map(|(name, effect)| (name.to_owned(), effect)).collect()
                };
                found.push(Changed {
                    before: from,
                    after: to,
                    found_before: owned(old.found(&world, &values)),
                    found_after: owned(new.found(&world, &values)),
                    situation: Situation::new(&world, &values, now),
                });
            }
        }
    }
    found.sort_by_key(|change| {
        (change.after > change.before, std::cmp::Reverse(change.before.max(change.after)))
    });
    Ok(found)
}
