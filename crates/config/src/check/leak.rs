//! Whether a call of which something holds can go ahead without anybody being asked.

use highwater_core::decide::{FlowMode, FlowPolicy};
use highwater_core::policy::{Effect, Phase, Rule, RuleSet};
use highwater_notation::Timestamp;

use super::analyse::questions;
use super::policy::PolicyModel;
use super::situation::Situation;
use super::space::GaveUp;
use super::world::World;

/// A way through.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) virtual_servers: Vec<String>,
    /// How flows are judged there.
    pub(crate) mode: FlowMode,
    /// Whether the condition certainly holds there, or only may.
    pub(crate) certain: bool,
    pub(crate) situation: Situation,
}

/// Looks for a way under every flow policy. `asked` holds the condition as its only rule.
pub(crate) fn ways(
    asked: &RuleSet,
    rules: &RuleSet,
    flows: &[(FlowPolicy, Vec<&str>)],
    now: Timestamp,
    most_nodes: usize,
) -> Result<Vec<Way>, GaveUp> {
    let mut found = Vec::new();
    let Some(question) = asked.rules().first() else { return Ok(found) };
    for (flow, virtual_servers) in flows {
        for phase in [Phase::Call, Phase::Resource] {
            if question.phases().has(phase)
                && let Some(way) = way(question, asked, rules, flow, virtual_servers, phase, now, most_nodes)?
            {
                found.push(way);
            }
        }
    }
    Ok(found)
}

#[expect(clippy::too_many_arguments, reason = "one question, spelled out")]
fn way(
    question: &Rule,
    asked: &RuleSet,
    rules: &RuleSet,
    flow: &FlowPolicy,
    virtual_servers: &[&str],
    phase: Phase,
    now: Timestamp,
    most_nodes: usize,
) -> Result<Option<Way>, GaveUp> {
    let mut world = World::new(phase, virtual_servers, questions(&[rules, asked]), most_nodes)?;
    let policy = PolicyModel::new(&mut world, flow, rules, now)?;
    let model = world.flow(flow)?;
    let wanted = world.rails(&model, question.condition(), |slot| asked.subject(slot))?;
    for (certain, wanted) in [(true, wanted.must), (false, wanted.may)] {
        let wanted = world.space.spellable(wanted)?;
        let through = policy.without(&mut world, wanted, Effect::Confirm)?;
        if let Some(values) = world.space.example(through)? {
            let situation = Situation::new(&world, &values, now);
            let virtual_servers = virtual_servers.iter().map(|name| (*name).to_owned()).collect();
            return Ok(Some(Way { virtual_servers, mode: flow.mode, certain, situation }));
        }
    }
    Ok(None)
}
