//! A configuration that loads, and everything that can be said of it without running it.

use highwater_core::decide::{FlowMode, FlowPolicy};
use highwater_core::policy::{Effect, Phase, RuleSet};
use highwater_notation::Timestamp;
use highwater_rules::{RuleSource, Spanned, compile};

use super::analyse::{Useless, useless};
use super::difference::{Side, changes};
use super::leak::{Way, ways};
use super::situation::Situation;
use super::space::GaveUp;
use super::witness::Witness;
use crate::diagnose::{Diagnostic, Diagnostics, Place, Problems};
use crate::lower::condition::{ConditionReader, span};
use crate::lower::rules::problem;
use crate::node::Value;
use crate::settings::Settings;
use crate::source::Sources;
use crate::yaml::parse;

/// A diagram of more nodes than this is given up.
const MOST_NODES: usize = 1_000_000;

/// A configuration that loads.
#[derive(Debug, Clone)]
pub struct Checked {
    /// What it says.
    pub settings: Settings,
    /// What is worth a look although it loads.
    pub warnings: Vec<Diagnostic>,
    /// Where each rule is written, in the order of the compiled set.
    pub(crate) rules: Vec<Place>,
    /// Where each waiver is written.
    pub(crate) waivers: Vec<Place>,
}

/// Why a question about a configuration has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unanswered {
    /// The rules are too many or too entangled.
    TooLarge,
    /// The analysis and the gates disagree. This is a defect of Highwater.
    Disagreement,
}

/// A kind of call that goes ahead without anybody being asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Leak {
    /// The virtual servers through which it does.
    pub virtual_servers: Vec<String>,
    /// Whether flows are only observed there, so that nothing but the operator's rules stops a call.
    pub observed: bool,
    /// Whether the condition certainly holds of it, or only may.
    pub certain: bool,
    /// What follows: `allow`, or `redact` where the reply is edited.
    pub effect: Effect,
    /// An example.
    pub witness: Witness,
}

/// A kind of call that two configurations treat differently.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The virtual servers through which it is called.
    pub virtual_servers: Vec<String>,
    /// What the old configuration does.
    pub before: Effect,
    /// What the new one does.
    pub after: Effect,
    /// The findings of the old one, the strictest first.
    pub found_before: Vec<(String, Effect)>,
    /// The findings of the new one.
    pub found_after: Vec<(String, Effect)>,
    /// An example.
    pub witness: Witness,
}

// === impl Checked ===

impl Checked {
    /// Rules that never fire or never decide, rules that were accepted although they may fall silent, and waivers
    /// that have ended.
    ///
    /// # Errors
    ///
    /// The rules are too entangled to tell.
    pub fn analyse(&self, now: Timestamp) -> Result<Vec<Diagnostic>, Unanswered> {
        let rules = self.settings.rules.set();
        let mut found = Vec::new();
        for (rule, place) in rules.rules().iter().zip(&self.rules).filter(|(rule, _)| !rule.monotone()) {
            found.push(warning(
                "non-monotone",
                place,
                format!("rule `{}` may fall silent as a session reads more, which was accepted", rule.name()),
                "each decision that involves it reads the store first",
            ));
        }
        for (waiver, place) in rules.waivers().iter().zip(&self.waivers) {
            if !waiver.in_force(now) {
                let message = format!("this waiver has ended: {}", waiver.reason());
                found.push(warning(
                    "expired-waiver",
                    place,
                    message,
                    "remove it, or give it a later `until`",
                ));
            }
        }
        for (index, useless) in useless(rules, &self.flows(), now, MOST_NODES)? {
            let (Some(rule), Some(place)) = (rules.rules().get(index), self.rules.get(index)) else {
                continue;
            };
            let name = rule.name();
            found.push(match useless {
                Useless::Dead => warning(
                    "dead-rule",
                    place,
                    format!("rule `{name}` never fires: its condition can never hold"),
                    "remove it, or look for a test that excludes another",
                ),
                Useless::Shadowed { by: Some(by) } => warning(
                    "shadowed-rule",
                    place,
                    format!("rule `{name}` never decides: `{by}` fires whenever it does and is at least as strict"),
                    "remove one of the two, or make this one stricter",
                ),
                Useless::Shadowed { by: None } => warning(
                    "shadowed-rule",
                    place,
                    format!("rule `{name}` never decides: whenever it fires, others that are at least as strict do"),
                    "remove it, or make it stricter",
                ),
            });
        }
        found.sort_by(|one, other| order(one).cmp(&order(other)));
        Ok(found)
    }

    /// Whether a call of which the condition holds, or may hold, can go ahead without anybody being asked: the ways
    /// through. None means that no path allows it.
    ///
    /// # Errors
    ///
    /// What is wrong with the condition, or that there is no answer.
    pub fn leaks(
        &self,
        condition: &str,
        now: Timestamp,
    ) -> Result<Result<Vec<Leak>, Unanswered>, Diagnostics> {
        let asked = question(condition)?;
        Ok(self.leaks_of(&asked, now))
    }

    fn leaks_of(&self, asked: &RuleSet, now: Timestamp) -> Result<Vec<Leak>, Unanswered> {
        let rules = self.settings.rules.set();
        let mut leaks = Vec::new();
        for way in ways(asked, rules, &self.flows(), now, MOST_NODES)? {
            // The gates have the last word.
            let effect = self.judged(&way.situation);
            if effect > Effect::Redact {
                return Err(Unanswered::Disagreement);
            }
            let witness = Witness::new(&way.situation, &[rules, asked]);
            let Way { virtual_servers, mode, certain, .. } = way;
            let observed = mode == FlowMode::Observe;
            leaks.push(Leak { virtual_servers, observed, certain, effect, witness });
        }
        Ok(leaks)
    }

    /// What calls are treated differently than by `old`, for the virtual servers that both have.
    ///
    /// # Errors
    ///
    /// There is no answer.
    pub fn changes(&self, old: &Self, now: Timestamp) -> Result<Vec<Change>, Unanswered> {
        let mut groups: Vec<(FlowPolicy, FlowPolicy, Vec<&str>)> = Vec::new();
        for server in &self.settings.virtual_servers {
            let Some(before) = old.settings.virtual_server(&server.name) else { continue };
            match groups.iter_mut().find(|(was, is, _)| *was == before.flow && *is == server.flow) {
                Some((_, _, names)) => names.push(&server.name),
                None => groups.push((before.flow.clone(), server.flow.clone(), vec![&server.name])),
            }
        }
        let mut found = Vec::new();
        for (was, is, names) in groups {
            let before = Side { flow: was, rules: old.settings.rules.set() };
            let after = Side { flow: is, rules: self.settings.rules.set() };
            for change in changes(before.clone(), after.clone(), &names, now, MOST_NODES)? {
                if old.judged(&change.situation) != change.before
                    || self.judged(&change.situation) != change.after
                {
                    return Err(Unanswered::Disagreement);
                }
                found.push(Change {
                    virtual_servers: names.iter().map(|name| (*name).to_owned()).collect(),
                    before: change.before,
                    after: change.after,
                    found_before: change.found_before,
                    found_after: change.found_after,
                    witness: Witness::new(&change.situation, &[before.rules, after.rules]),
                });
            }
        }
        Ok(found)
    }

    /// The flow policies in use, with the virtual servers that have them.
    fn flows(&self) -> Vec<(FlowPolicy, Vec<&str>)> {
        let mut flows: Vec<(FlowPolicy, Vec<&str>)> = Vec::new();
        for server in &self.settings.virtual_servers {
            match flows.iter_mut().find(|(flow, _)| *flow == server.flow) {
                Some((_, names)) => names.push(&server.name),
                None => flows.push((server.flow.clone(), vec![&server.name])),
            }
        }
        flows
    }

    /// What the gates say of a situation.
    fn judged(&self, situation: &Situation) -> Effect {
        let flow = self
            .settings
            .virtual_server(situation.virtual_server().as_str())
            .map(|server| server.flow.clone());
        situation.judged(&flow.unwrap_or_default(), self.settings.rules.set())
    }
}

/// Reads the condition of a question, in either form, as a rule of its own.
fn question(text: &str) -> Result<RuleSet, Diagnostics> {
    let sources = Sources::new("the condition", text);
    let problems = Problems::default();
    let asked = asked(text, &problems);
    problems.into_result(&sources, asked)
}

fn asked(text: &str, problems: &Problems) -> Option<RuleSet> {
    let node = parse(text).map_err(|problem| problems.push(problem)).ok()?;
    let reader = ConditionReader { text, problems };
    let long = ["and", "or", "not", "fact"].iter().any(|key| node.member(key).is_some());
    let condition = match &node.value {
        Value::Map(_) if !long => reader.when(&node)?,
        _ => reader.conditions(&node)?,
    };
    let at = span(node.span);
    let rule = RuleSource {
        name: Spanned::new("question".to_owned(), at),
        effect: Spanned::new("block".to_owned(), at),
        condition,
        message: None,
        phase: None,
        non_monotone: true,
        dry_run: false,
    };
    let asked = match compile(&[rule], &[]) {
        Ok(asked) => asked,
        Err(errors) => {
            errors.into_iter().for_each(|error| problems.push(problem(error)));
            return None;
        }
    };
    let phases = asked.rules().first().map(|rule| rule.phases());
    if !phases.is_some_and(|phases| phases.has(Phase::Call) || phases.has(Phase::Resource)) {
        problems.report_code(
            "no-common-phase",
            node.span,
            "the condition can only be known after the call",
            "ask about what is known before it: `session.…`, `tool.…`, `server.…`, `arguments.…`",
        );
        return None;
    }
    Some(asked)
}

fn warning(code: &'static str, place: &Place, message: String, help: &str) -> Diagnostic {
    let (place, help) = (Some(place.clone()), Some(help.to_owned()));
    Diagnostic { code: Some(code), message, help, place, also: None }
}

fn order(diagnostic: &Diagnostic) -> (Option<&str>, usize) {
    let place = diagnostic.place.as_ref();
    (place.map(|place| place.file.as_str()), place.map_or(0, |place| place.line))
}

impl From<GaveUp> for Unanswered {
    fn from(_: GaveUp) -> Self {
        Self::TooLarge
    }
}
