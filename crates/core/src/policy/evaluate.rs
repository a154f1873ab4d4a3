//! One evaluation: a fact is read where something still depends on it, and where no rule fires nothing is allocated.

use highwater_notation::{Arguments, Found};

use super::Facts;
use super::condition::{Condition, Subject, Test};
use super::effect::Effect;
use super::fact_table::{Fact, View};
use super::kind::{Phase, Truth};
use super::rule::{Named, Rule, RuleSet};
use super::value::{Because, Val};
use super::waiver::Waiver;
use crate::decide::{FlowRule, FlowViolations};

/// How many facts are remembered in one evaluation.
const KEPT: usize = 24;

/// The rules, looking at one action.
#[derive(Debug)]
pub struct Reading<'a> {
    pub(super) set: &'a RuleSet,
    phase: Phase,
    view: View<'a>,
    /// What has been read so far, by slot. Here and not on the heap, because every call makes one; the few facts of a
    /// large policy that do not fit are read again.
    values: [Option<Val<'a>>; KEPT],
    /// The arguments, once somebody asked for one: nothing where they cannot be known.
    arguments: Option<Option<Vec<Found<'a>>>>,
}

/// A rule that fires.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    /// Which.
    pub rule: &'a Rule,
    /// What follows, after waivers; of a dry run, what would.
    pub effect: Effect,
    /// The waiver that lowered it.
    pub waiver: Option<&'a Waiver>,
    /// Whether it holds, or only may.
    pub truth: Truth,
}

// === impl Hit ===

impl Hit<'_> {
    /// What follows: nothing, if the rule is a dry run.
    pub fn enforced(&self) -> Effect {
        if self.rule.dry_run { Effect::Allow } else { self.effect }
    }
}

// === impl RuleSet ===

impl RuleSet {
    /// Looks at one action. `flow` is what the flow rules found; rules can build on it.
    pub fn read<'a>(&'a self, phase: Phase, facts: &'a Facts<'a>, flow: FlowViolations) -> Reading<'a> {
        Reading { set: self, phase, view: View { facts, flow }, values: [None; KEPT], arguments: None }
    }
}

// === impl Reading ===

impl<'a> Reading<'a> {
    /// Every rule of the phase that fires, the strictest first and then by name: the order of the files means
    /// nothing. Where none fires, nothing is allocated for it.
    pub fn hits(&mut self) -> Vec<Hit<'a>> {
        let plan = self.set.plan(self.phase);
        let mut hits = Vec::new();
        let (named, by_id) = (self.candidates(&plan.by_name), self.candidates(&plan.by_id));
        for block in plan.general.blocks() {
            let alive = block.survivors(|test| self.test(test));
            for index in block.places(alive) {
                hits.extend(self.hit(index));
            }
        }
        for index in named.iter().chain(by_id) {
            hits.extend(self.hit(*index));
        }
        hits.sort_by(|a, b| (b.effect, &a.rule.name).cmp(&(a.effect, &b.rule.name)));
        hits
    }

    fn hit(&mut self, index: usize) -> Option<Hit<'a>> {
        let rule = self.set.rules.get(index)?;
        let truth = self.truth(&rule.condition);
        if !truth.restricts() {
            return None;
        }
        let waiver = if rule.effect > Effect::Confirm { self.waiver(&rule.waivers) } else { None };
        let effect = if waiver.is_some() { rule.effect.waived() } else { rule.effect };
        Some(Hit { rule, effect, waiver, truth })
    }

    /// The waiver that lowers a finding of this flow rule, if one does here and now.
    pub fn waiver_of_flow(&mut self, rule: FlowRule) -> Option<&'a Waiver> {
        self.waiver(self.set.waivers_of(rule))
    }

    /// What a condition is worth.
    pub(super) fn truth(&mut self, condition: &Condition) -> Truth {
        condition.truth(&mut |test| self.test(test))
    }

    /// What a test is worth.
    pub(super) fn test(&mut self, test: &Test) -> Truth {
        match test.fact {
            Some(fact) => test.on(self.value(test.slot.0, fact)),
            None if self.is_foreign(test) => Truth::False,
            None => test.on_argument(self.argument(test.slot.0)),
        }
    }

    /// Whether a test of an argument does not concern the tool: it declares no such argument, and the call brings none.
    /// Then it does not hold, turned round or not. Of arguments that nobody has chosen yet it is the declared ones that
    /// will be.
    fn is_foreign(&mut self, test: &Test) -> bool {
        let Some(parameters) = self.view.facts.parameters else { return false };
        let slot = test.slot.0;
        let Some(Subject::Argument(pointer)) = self.set.subjects.get(slot) else { return false };
        !parameters.hold(pointer)
            && (self.view.facts.arguments == Arguments::Unknown
                || self.argument(slot) == Some(&Found::Missing))
    }

    /// Waivers loosen, so they apply only where their condition certainly holds.
    fn waiver(&mut self, waivers: &'a [usize]) -> Option<&'a Waiver> {
        let now = self.view.facts.now;
        waivers
            .iter()
            .filter_map(|index| self.set.waivers.get(*index))
            .find(|waiver| waiver.in_force(now) && self.truth(&waiver.condition).loosens())
    }

    /// What the fact at this slot says.
    pub(super) fn value(&mut self, slot: usize, fact: &Fact) -> Val<'a> {
        if let Some(Some(known)) = self.values.get(slot) {
            return *known;
        }
        let value = self.fetch(fact);
        if let Some(place) = self.values.get_mut(slot) {
            *place = Some(value);
        }
        value
    }

    fn fetch(&self, fact: &Fact) -> Val<'a> {
        if fact.phases.has(self.phase) { (fact.get)(&self.view) } else { Val::Unknown(Because::OtherPhase) }
    }

    fn candidates(&self, named: &'a Named) -> &'a [usize] {
        named.fact.map_or(&[], |fact| named.for_value(self.fetch(fact)))
    }

    /// What stands at the argument of this slot. The first to ask has all of them looked up.
    pub(super) fn argument(&mut self, slot: usize) -> Option<&Found<'a>> {
        let (set, phase, arguments) = (self.set, self.phase, self.view.facts.arguments);
        let found = self.arguments.get_or_insert_with(|| match (arguments, phase) {
            (Arguments::Known(text), Phase::Call | Phase::Resource | Phase::Result) => set.wanted.find(text),
            (Arguments::Unknown, _) | (_, Phase::List) => None,
        });
        found.as_ref()?.get(slot)
    }
}
