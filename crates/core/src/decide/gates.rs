//! Every gate asked, every finding kept.

use super::finding::{Finding, PerMode};
use super::flow::{Flow, FlowMode, FlowPolicy};
use super::rules;
use super::structural;
use super::verdict::{Demands, Judgement, Redactions};
use crate::label::Label;
use crate::policy::{Effect, Facts, FlowRule, FlowViolations, Phase, Policy, Reading};

/// What the gates say of an action, without permitting anything.
///
/// For whoever only wants an answer: lists, explanations, replays, a second judgement.
pub fn judge(policy: &Policy, facts: &Facts<'_>) -> Judgement {
    let bench = Bench::call(policy, facts);
    let findings = bench.structural();
    bench.judge(findings, |mode| bench.flow_of_call(mode))
}

/// What [`judge`] demands of the caller, without the explanation.
///
/// For whoever asks often: the second of the two judgements of a call, and the listing of many tools.
pub fn demands(policy: &Policy, facts: &Facts<'_>) -> Demands {
    let bench = Bench::call(policy, facts);
    let structural = Judgement::of(bench.structural()).effect();
    bench.demands(structural, |mode| bench.flow_of_call(mode))
}

/// What the gates say of a message of an upstream, with the label it really has. `facts` hold what it says of itself.
pub(super) fn judge_reply(
    policy: &Policy,
    facts: &Facts<'_>,
    mut findings: Vec<Finding>,
    agreed: bool,
    label: &Label,
) -> Judgement {
    structural::still_granted(policy, facts, &mut findings);
    let bench = Bench { policy, flow: policy.flow_for(facts), facts, phase: Phase::Result };
    // A person who agreed to this reading has agreed to it.
    let seen = |_| if agreed { Flow::NONE } else { Flow::of_reply(facts.session, label) };
    bench.judge(findings, seen)
}

/// Everything that is looked at in one judgement.
struct Bench<'a> {
    policy: &'a Policy,
    flow: FlowPolicy,
    facts: &'a Facts<'a>,
    phase: Phase,
}

// === impl Bench ===

impl<'a> Bench<'a> {
    fn call(policy: &'a Policy, facts: &'a Facts<'a>) -> Self {
        Self { policy, flow: policy.flow_for(facts), facts, phase: facts.phase() }
    }

    fn structural(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for gate in structural::GATES {
            gate(self.policy, self.facts, &mut findings);
        }
        findings
    }

    fn flow_of_call(&self, mode: FlowMode) -> Flow {
        Flow::of(&self.flow, mode, self.facts.contract, self.facts.session)
    }

    fn read(&self, violations: FlowViolations) -> Reading<'a> {
        self.policy.rules().read(self.phase, self.facts, violations)
    }

    /// The findings of the flow rules and of the operator's rules, added to those of the structural gates.
    fn judge(&self, mut findings: Vec<Finding>, seen: impl Fn(FlowMode) -> Flow) -> Judgement {
        let mode = self.flow.mode;
        if mode == FlowMode::Observe {
            let violations = self.observe(&seen, &mut findings);
            return Judgement::new(findings, Redactions::NONE, violations);
        }
        let (flows, violations) = self.enforced(&seen);
        let mut reading = self.read(violations);
        for rule in FlowRule::ALL {
            let strictest = self.strictest(&flows, rule);
            if let Some((flow, effect)) = strictest.filter(|(_, effect)| *effect > Effect::Allow) {
                let finding = flow.finding(rule, effect, &self.flow, self.facts);
                findings.push(rules::waive_flow(&mut reading, rule, finding));
            }
        }
        let redactions = rules::findings(&mut reading, &mut findings);
        Judgement::new(findings, redactions, violations)
    }

    /// What each enforced mode sees, and what any of them finds violated.
    fn enforced(&self, seen: &impl Fn(FlowMode) -> Flow) -> ([Option<(FlowMode, Flow)>; 2], FlowViolations) {
        let mut modes = self.flow.modes().map(|mode| (mode, seen(mode)));
        let flows = [modes.next(), modes.next()];
        let found = |rule: &FlowRule| flows.iter().flatten().any(|(_, flow)| flow.violations().has(*rule));
        (flows, FlowRule::ALL.into_iter().filter(found).collect())
    }

    /// What follows from a rule, and the reading of it that the strictest mode has.
    fn strictest<'f>(
        &self,
        flows: &'f [Option<(FlowMode, Flow)>],
        rule: FlowRule,
    ) -> Option<(&'f Flow, Effect)> {
        let effects =
            flows.iter().flatten().map(|(mode, flow)| (flow, flow.effect(rule, *mode, self.facts.session)));
        effects.max_by_key(|(_, effect)| *effect)
    }

    fn demands(&self, structural: Effect, seen: impl Fn(FlowMode) -> Flow) -> Demands {
        let mode = self.flow.mode;
        if mode == FlowMode::Observe {
            return Demands { effect: structural, redactions: Redactions::NONE };
        }
        let (flows, violations) = self.enforced(&seen);
        let mut reading = self.read(violations);
        let mut demands = rules::demands(&mut reading);
        for rule in FlowRule::ALL {
            let effect = self.strictest(&flows, rule).map_or(Effect::Allow, |(_, effect)| effect);
            demands.effect = demands.effect.max(rules::waived_flow(&mut reading, rule, effect));
        }
        Demands { effect: demands.effect.max(structural), ..demands }
    }

    /// Nothing is enforced; what every mode would have done is kept.
    fn observe(&self, seen: &impl Fn(FlowMode) -> Flow, findings: &mut Vec<Finding>) -> FlowViolations {
        let flows = FlowMode::ENFORCING.map(|mode| (mode, seen(mode)));
        let found = flows.map(|(_, flow)| flow.violations());
        let all =
            FlowRule::ALL.into_iter().filter(|rule| found.iter().any(|found| found.has(*rule))).collect();
        // The modes differ in what the flow rules find. Unless a rule builds on that, it fires in all of them alike.
        let alike =
            found.iter().all(|other| *other == all) || !self.policy.rules().mentions("flow.violations");
        let mut reading = self.read(all);
        let mut noted = Vec::new();
        for (mode, flow) in flows {
            if !alike {
                reading = self.read(flow.violations());
            }
            for rule in FlowRule::ALL.into_iter().filter(|rule| flow.violations().has(*rule)) {
                let effect = flow.effect(rule, mode, self.facts.session);
                let finding = flow.finding(rule, effect, &self.flow, self.facts);
                note(&mut noted, &[mode], rules::waive_flow(&mut reading, rule, finding));
            }
            if !alike {
                self.note_rules(&mut reading, &[mode], &mut noted);
            }
        }
        if alike {
            self.note_rules(&mut reading, &FlowMode::ENFORCING, &mut noted);
        }
        findings.append(&mut noted);
        all
    }

    fn note_rules(&self, reading: &mut Reading<'a>, modes: &[FlowMode], noted: &mut Vec<Finding>) {
        let mut fired = Vec::new();
        rules::findings(reading, &mut fired);
        for finding in fired {
            note(noted, modes, finding);
        }
    }
}

/// Keeps what these modes would have done, under one finding for all modes.
fn note(noted: &mut Vec<Finding>, modes: &[FlowMode], finding: Finding) {
    let effect = finding.effect;
    let place = noted.iter().position(|known| known.id == finding.id).unwrap_or_else(|| {
        noted.push(Finding { effect: Effect::Allow, ..finding });
        noted.len() - 1
    });
    if let Some(known) = noted.get_mut(place) {
        let would = known.would.get_or_insert(PerMode::all(Effect::Allow));
        for mode in modes {
            would.set(*mode, effect);
        }
    }
}
