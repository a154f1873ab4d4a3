//! The rules in force: indexed, immutable. The crate `rules` checks what people write and makes them of it; which way each
//! moves as a label rises is told here, from its tests, whatever the compiler thought.

use std::collections::HashMap;
use std::sync::Arc;

use highwater_notation::{Pointer, Wanted};

use super::condition::{Check, Condition, Slot, Subject};
use super::effect::Effect;
use super::fact_table::{Fact, FactName};
use super::guard::Guarded;
use super::kind::{Input, Phase, Phases};
use super::value::Val;
use super::waiver::Waiver;
use crate::decide::FlowRule;

/// Every rule and waiver of one policy.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    pub(super) rules: Vec<Rule>,
    pub(super) waivers: Vec<Waiver>,
    /// The facts that some condition mentions, and no others: an evaluation reads these alone.
    pub(super) subjects: Vec<Subject>,
    /// The arguments among them.
    pub(super) wanted: Wanted,
    /// The waivers that name each flow gate, in the order of [`FlowRule::ALL`].
    pub(super) flow_waivers: [Vec<usize>; FlowRule::ALL.len()],
    plans: [Plan; 4],
}

/// One rule: what it asks, and what follows if it may hold.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(super) name: Arc<str>,
    pub(super) effect: Effect,
    pub(super) message: Option<Arc<str>>,
    pub(super) condition: Condition,
    pub(super) phases: Phases,
    pub(super) monotone: bool,
    pub(super) dry_run: bool,
    pub(super) redacts: Option<u64>,
    /// The waivers that name it.
    pub(super) waivers: Vec<usize>,
}

/// A rule that was checked, to be put in force.
#[derive(Clone, Debug)]
pub struct CheckedRule {
    /// Its name.
    pub name: Arc<str>,
    /// What follows if it fires.
    pub effect: Effect,
    /// What people are told.
    pub message: Option<Arc<str>>,
    /// When it fires.
    pub condition: Condition,
    /// Where on the road it is evaluated.
    pub phases: Phases,
    /// Whether it is only recorded what it would do.
    pub dry_run: bool,
    /// The kinds of sighting that it removes; all where it names none.
    pub redacts: Option<u64>,
    /// The waivers that name it, by their places.
    pub waivers: Vec<usize>,
}

/// Which rules one phase has to look at.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// Rules that may concern any action.
    pub(super) general: Guarded,
    /// Rules that concern only tools of certain names, by the name the server gave.
    pub(super) by_name: Named,
    /// The same, by the name the client calls.
    pub(super) by_id: Named,
}

/// Rules that can fire only where one fact is one of certain texts.
#[derive(Clone, Debug, Default)]
pub(super) struct Named {
    pub(super) fact: Option<&'static Fact>,
    every: Vec<usize>,
    by_text: HashMap<Box<str>, Vec<usize>>,
}

// === impl RuleSet ===

impl RuleSet {
    /// Puts rules and waivers in force. `flow_waivers` are the waivers that name each flow gate, in the order of
    /// [`FlowRule::ALL`]; what stands at a slot of a condition is the subject in that place.
    pub fn new(
        rules: Vec<CheckedRule>,
        waivers: Vec<Waiver>,
        flow_waivers: [Vec<usize>; FlowRule::ALL.len()],
        subjects: Vec<Subject>,
    ) -> Self {
        let rules = rules.into_iter().map(Rule::of).collect();
        let mut set = Self { rules, waivers, subjects, flow_waivers, ..Self::default() };
        set.index();
        set
    }

    /// No rules.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Every rule, in the order of the files.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Every waiver, in the order of the files.
    pub fn waivers(&self) -> &[Waiver] {
        &self.waivers
    }

    /// Whether no rule or waiver was accepted that may loosen as the label rises. Where one was, a decision reads
    /// the store first.
    pub fn monotone(&self) -> bool {
        self.rules.iter().all(|rule| rule.monotone) && self.waivers.iter().all(Waiver::is_monotone)
    }

    /// What stands at a slot.
    pub fn subject(&self, slot: Slot) -> Option<&Subject> {
        self.subjects.get(slot.0)
    }

    /// Every fact that some condition mentions.
    pub fn subjects(&self) -> &[Subject] {
        &self.subjects
    }

    /// Every row of the fact table that some condition mentions.
    pub fn facts(&self) -> impl Iterator<Item = &'static Fact> {
        self.subjects.iter().filter_map(Subject::fact)
    }

    /// Whether some condition mentions a fact that is made of this.
    pub fn depend_on(&self, input: Input) -> bool {
        self.facts().any(|fact| fact.depends_on(input))
    }

    pub(super) fn plan(&self, phase: Phase) -> &Plan {
        let [call, resource, result, list] = &self.plans;
        match phase {
            Phase::Call => call,
            Phase::Resource => resource,
            Phase::Result => result,
            Phase::List => list,
        }
    }

    pub(super) fn waivers_of(&self, rule: FlowRule) -> &[usize] {
        self.flow_waivers.get(rule as usize).map_or(&[], Vec::as_slice)
    }

    /// Sorts the rules of each phase by what can be known to rule them out at once.
    fn index(&mut self) {
        self.plans = Phase::ALL.map(|phase| {
            let mut plan = Plan::default();
            let rules = self.rules.iter().enumerate().filter(|(_, rule)| rule.phases.has(phase));
            let general = rules
                .filter_map(|(index, rule)| (!plan.add(index, rule, &self.subjects)).then_some(index))
                .collect();
            plan.general = Guarded::new(general, &self.rules);
            plan
        });
        self.wanted = Wanted::of(self.subjects.iter().map(Subject::argument));
    }
}

// === impl Rule ===

impl Rule {
    fn of(checked: CheckedRule) -> Self {
        let CheckedRule { name, effect, message, condition, phases, dry_run, redacts, waivers } = checked;
        let monotone = condition.tests().iter().all(|test| test.moves().only_up);
        Self { name, effect, message, condition, phases, monotone, dry_run, redacts, waivers }
    }

    /// Its name; the finding is `rule.` and this.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What follows if it fires.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// What people are told, never the model.
    pub fn message(&self) -> Option<&Arc<str>> {
        self.message.as_ref()
    }

    /// When it fires.
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// Where on the road it is evaluated.
    pub fn phases(&self) -> Phases {
        self.phases
    }

    /// Whether it can only begin to fire as the label rises, never cease.
    pub fn monotone(&self) -> bool {
        self.monotone
    }

    /// Whether it is only recorded what it would do.
    pub fn dry_run(&self) -> bool {
        self.dry_run
    }

    /// The kinds of sighting a `redact` rule removes, as bits of `response.sightings`; all where it names none.
    pub fn redacts(&self) -> Option<u64> {
        self.redacts
    }
}

// === impl Plan ===

impl Plan {
    /// Sorts a rule by the names it is about, if it is about any.
    fn add(&mut self, index: usize, rule: &Rule, subjects: &[Subject]) -> bool {
        for test in rule.condition.required().filter(|test| !test.negated) {
            let (Check::Text(texts), Some(Subject::Fact(fact))) = (&test.check, subjects.get(test.slot.0))
            else {
                continue;
            };
            let named = match fact.name {
                Some(FactName::ToolName) => &mut self.by_name,
                Some(FactName::ToolId) => &mut self.by_id,
                _ => continue,
            };
            named.add(index, fact, texts);
            return true;
        }
        false
    }
}

// === impl Named ===

impl Named {
    fn add(&mut self, index: usize, fact: &'static Fact, texts: &[Box<str>]) {
        self.fact = Some(fact);
        self.every.push(index);
        for text in texts {
            self.by_text.entry(text.clone()).or_default().push(index);
        }
    }

    /// The rules that can fire for this value: all of them where it is not known.
    pub(super) fn for_value(&self, value: Val<'_>) -> &[usize] {
        match value {
            Val::Text(text) => self.by_text.get(text).map_or(&[], Vec::as_slice),
            Val::Absent => &[],
            _ => &self.every,
        }
    }
}

// === impl Subject ===

impl Subject {
    /// The row of the fact table; nothing for an argument.
    pub fn fact(&self) -> Option<&'static Fact> {
        match self {
            Self::Fact(fact) => Some(fact),
            Self::Argument(_) => None,
        }
    }

    /// The pointer of an argument; nothing for a fact.
    pub fn argument(&self) -> Option<&Pointer> {
        match self {
            Self::Fact(_) => None,
            Self::Argument(pointer) => Some(pointer),
        }
    }

    /// The path as a rule writes it.
    pub fn path(&self) -> std::borrow::Cow<'static, str> {
        match self {
            Self::Fact(fact) => fact.path.into(),
            Self::Argument(pointer) => format!("arguments.{}", pointer.as_str()).into(),
        }
    }
}
