//! Every gate asked, every finding kept.

use super::finding::{Finding, PerMode};
use super::flow::{Flow, FlowInput, FlowMode, FlowPolicy, FlowRule, FlowViolations};
use super::rules;
use super::structural;
use super::verdict::{Demands, Judgement};
use crate::label::Label;
use crate::policy::{Effect, Facts, Input, Phase, Policy, Reading};

/// What the gates say of an action, without permitting anything.
///
/// For whoever only wants an answer: lists, explanations, replays, a second judgement.
pub fn judge(policy: &Policy, facts: &Facts<'_>) -> Judgement {
    let bench = Bench::call(policy, facts);
    bench.judge(bench.structural())
}

/// What [`judge`] demands of the caller, without the explanation.
///
/// For whoever asks often: the second of the two judgements of a call, and the listing of many tools.
pub fn demands(policy: &Policy, facts: &Facts<'_>) -> Demands {
    let bench = Bench::call(policy, facts);
    bench.demands(Judgement::of(bench.structural()).effect())
}

/// What the gates say of a message of an upstream, with the label it really has. `facts` hold what it says of itself;
/// what a person has agreed to is not asked again.
pub(super) fn judge_reply(
    policy: &Policy,
    facts: &Facts<'_>,
    mut findings: Vec<Finding>,
    agreed: FlowViolations,
    label: &Label,
) -> Judgement {
    structural::still_granted(policy, facts, &mut findings);
    let of_replies: FlowViolations =
        FlowRule::ALL.iter().copied().filter(|rule| rule.gate().of_replies).collect();
    let bench = Bench {
        policy,
        flow: policy.flow_for(facts),
        facts,
        phase: Phase::Result,
        reply: Some(label),
        asked: of_replies.minus(agreed),
    };
    bench.judge(findings)
}

/// Everything that is looked at in one judgement.
struct Bench<'a> {
    policy: &'a Policy,
    flow: FlowPolicy,
    facts: &'a Facts<'a>,
    phase: Phase,
    /// The label of the reply, if it is one that is judged.
    reply: Option<&'a Label>,
    /// The flow gates that are asked.
    asked: FlowViolations,
}

// === impl Bench ===

impl<'a> Bench<'a> {
    fn call(policy: &'a Policy, facts: &'a Facts<'a>) -> Self {
        let (flow, phase) = (policy.flow_for(facts), facts.phase());
        Self { policy, flow, facts, phase, reply: None, asked: FlowViolations::all() }
    }

    fn structural(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for gate in structural::GATES {
            gate(self.policy, self.facts, &mut findings);
        }
        findings
    }

    fn input(&self, mode: FlowMode) -> FlowInput<'_> {
        FlowInput { policy: &self.flow, mode, facts: self.facts, reply: self.reply }
    }

    fn flow(&self, mode: FlowMode) -> Flow {
        Flow::of(&self.input(mode), self.asked)
    }

    fn read(&self, violations: FlowViolations) -> Reading<'a> {
        self.policy.rules().read(self.phase, self.facts, violations)
    }

    /// The findings of the flow gates and of the operator's rules, added to those of the structural gates.
    fn judge(&self, mut findings: Vec<Finding>) -> Judgement {
        let (flows, violations) = self.enforced();
        if self.flow.mode == FlowMode::Observe {
            return self.observe(findings, violations);
        }
        let mut reading = self.read(violations);
        for rule in violations.iter() {
            let Some((mode, effect)) = strictest(&flows, rule) else { continue };
            if effect > Effect::Allow {
                let finding = rule.report(&self.input(mode), effect);
                findings.push(rules::waive_flow(&mut reading, rule, finding));
            }
        }
        let redactions = rules::findings(&mut reading, &mut findings);
        Judgement::new(findings, redactions, violations)
    }

    /// What each enforced mode says, and what is violated in any of them.
    fn enforced(&self) -> ([Option<Flow>; 2], FlowViolations) {
        let mut modes = self.flow.modes().map(|mode| self.flow(mode));
        let flows = [modes.next(), modes.next()];
        let violations =
            flows.iter().flatten().fold(FlowViolations::EMPTY, |all, flow| all.union(flow.violations()));
        (flows, violations)
    }

    fn demands(&self, structural: Effect) -> Demands {
        let (flows, violations) = self.enforced();
        let mut reading = self.read(violations);
        let mut demands = rules::demands(&mut reading);
        for rule in violations.iter() {
            let effect = strictest(&flows, rule).map_or(Effect::Allow, |(_, effect)| effect);
            demands.effect = demands.effect.max(rules::waived_flow(&mut reading, rule, effect));
        }
        Demands { effect: demands.effect.max(structural), ..demands }
    }

    /// Of the flow gates nothing is enforced, and what every mode would have done is kept. The operator's rules are
    /// enforced; those that look at flow are told of `violations`.
    fn observe(&self, mut findings: Vec<Finding>, violations: FlowViolations) -> Judgement {
        let flows = FlowMode::ENFORCING.map(|mode| self.flow(mode));
        // The modes differ in what the flow gates find. Unless a rule builds on that, it fires in all of them alike.
        let alike = flows.iter().all(|flow| flow.violations() == violations)
            || !self.policy.rules().depend_on(Input::Flow);
        let mut reading = self.read(violations);
        let mut enforced = Vec::new();
        let redactions = rules::findings(&mut reading, &mut enforced);
        let (mut noted, mut elsewhere) = (Vec::new(), Vec::new());
        for flow in flows {
            if !alike {
                reading = self.read(flow.violations());
                let mut fired = Vec::new();
                rules::findings(&mut reading, &mut fired);
                fired.into_iter().for_each(|finding| note(&mut elsewhere, flow.mode, finding));
            }
            for rule in flow.violations().iter() {
                let finding = rule.report(&self.input(flow.mode), flow.effect(rule));
                note(&mut noted, flow.mode, rules::waive_flow(&mut reading, rule, finding));
            }
        }
        findings.append(&mut noted);
        if !alike {
            differ(&mut enforced, elsewhere);
        }
        findings.append(&mut enforced);
        Judgement::new(findings, redactions, violations)
    }
}

/// What follows from a gate in the mode that is strictest about it.
fn strictest(flows: &[Option<Flow>], rule: FlowRule) -> Option<(FlowMode, Effect)> {
    flows.iter().flatten().map(|flow| (flow.mode, flow.effect(rule))).max_by_key(|(_, effect)| *effect)
}

/// Keeps what a mode would have done, under one finding for all modes.
fn note(noted: &mut Vec<Finding>, mode: FlowMode, finding: Finding) {
    let effect = finding.would.map_or(finding.effect, |would| would.get(mode));
    let place = noted.iter().position(|known| known.id == finding.id).unwrap_or_else(|| {
        noted.push(Finding { effect: Effect::Allow, would: None, ..finding });
        noted.len() - 1
    });
    if let Some(known) = noted.get_mut(place) {
        known.would.get_or_insert(PerMode::all(Effect::Allow)).set(mode, effect);
    }
}

/// Adds to the findings of rules what they would have done in other modes, and those that speak in other modes alone.
fn differ(enforced: &mut Vec<Finding>, elsewhere: Vec<Finding>) {
    for finding in &mut *enforced {
        finding.would.get_or_insert(PerMode::all(Effect::Allow));
    }
    for other in elsewhere {
        match enforced.iter_mut().find(|finding| finding.id == other.id) {
            Some(finding) if !finding.dry_run => finding.would = other.would,
            Some(_) => {}
            None => enforced.push(other),
        }
    }
    for finding in enforced.iter_mut().filter(|finding| !finding.dry_run) {
        finding.would = finding.would.filter(|would| *would != PerMode::all(finding.effect));
    }
}
