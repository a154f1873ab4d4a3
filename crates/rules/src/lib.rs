//! From rules as written to rules in force. Everything that can be wrong is found here, and all of it at once.
//!
//! The core evaluates what is made here, and says of each rule and waiver itself which way it moves as a label rises.

mod case;
mod draft;
mod error;
pub mod limits;
mod look;
mod operator;
mod source;
mod waivers;

use std::collections::HashMap;
use std::sync::Arc;

use highwater_core::policy::{
    Check, CheckedRule, Condition, Effect, Fact, FlowRule, Input, Phase, Phases, RuleSet, Slot, Span,
    Subject, Waiver,
};
use highwater_notation::suggest::{choose, listed};

use crate::error::RuleErrorCode as Code;
use draft::{Draft, Use};

pub use case::{compile_case, compile_cases};
pub use error::{RuleError, RuleErrorCode};
pub use operator::Operator;
pub use source::{ConditionSource, RuleSource, Spanned, ValueSource, WaiverSource, Written};

/// Rules in force, and what is worth a look although it loads.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The rules and waivers.
    pub set: RuleSet,
    /// What their author should look at.
    pub warnings: Vec<RuleError>,
}

/// Checks rules and waivers, of all files together, and makes them ready to be evaluated.
pub fn compile(rules: &[RuleSource], waivers: &[WaiverSource]) -> Result<RuleSet, Vec<RuleError>> {
    check(rules, waivers).map(|compiled| compiled.set)
}

/// The same, with what is worth a look.
pub fn check(rules: &[RuleSource], waivers: &[WaiverSource]) -> Result<Compiled, Vec<RuleError>> {
    compile_by(Compiler::default(), rules, waivers)
}

/// The same for rules that ask for what nothing produces yet.
#[cfg(test)]
fn compile_early(rules: &[RuleSource], waivers: &[WaiverSource]) -> Result<RuleSet, Vec<RuleError>> {
    compile_by(Compiler { early: true, ..Compiler::default() }, rules, waivers).map(|compiled| compiled.set)
}

/// Rules and waivers that are checked, and which waivers name which.
#[derive(Default)]
struct Parts {
    rules: Vec<CheckedRule>,
    waivers: Vec<Waiver>,
    /// The waivers that name each flow gate, in the order of [`FlowRule::ALL`].
    flow_waivers: [Vec<usize>; FlowRule::ALL.len()],
}

fn compile_by(
    mut compiler: Compiler,
    rules: &[RuleSource],
    waivers: &[WaiverSource],
) -> Result<Compiled, Vec<RuleError>> {
    if let Some(first_too_many) = rules.get(limits::RULES) {
        let message = format!("there are {} rules, and at most {} are allowed", rules.len(), limits::RULES);
        compiler.errors.push(
            RuleError::new(Code::TooLarge, first_too_many.name.span, message)
                .help("make one rule of those that differ only in a value: `in` takes a list"),
        );
    }
    let mut parts = Parts::default();
    let mut names: HashMap<&str, Span> = HashMap::new();
    for source in rules.iter().take(limits::RULES) {
        if let Some(first) = names.insert(&source.name.value, source.name.span) {
            compiler.errors.push(
                RuleError::new(
                    Code::DuplicateName,
                    source.name.span,
                    format!("another rule is called `{}`", source.name.value),
                )
                .help("give each rule a name of its own; findings and waivers go by it")
                .also(first, "the first one is here"),
            );
        }
        parts.rules.extend(compiler.rule(source));
    }
    compiler.waivers(&mut parts, waivers, &names);
    if !compiler.errors.is_empty() {
        compiler.errors.sort_by_key(|error| error.span);
        return Err(compiler.errors);
    }
    let Parts { rules, waivers, flow_waivers } = parts;
    let set = RuleSet::new(rules, waivers, flow_waivers, compiler.subjects);
    Ok(Compiled { set, warnings: compiler.warnings })
}

/// What is shared by all conditions of a set.
#[derive(Default)]
struct Compiler {
    /// Whether facts may be asked for that nothing produces.
    early: bool,
    subjects: Vec<Subject>,
    slots: HashMap<String, Slot>,
    errors: Vec<RuleError>,
    warnings: Vec<RuleError>,
}

// === impl Compiler ===

impl Compiler {
    fn rule(&mut self, source: &RuleSource) -> Option<CheckedRule> {
        let sound = self.name(source);
        let effect = self.effect(source);
        let written = self.phase(source);
        let mut draft = Draft::new(self, Use::Rule { may_loosen: source.non_monotone });
        let condition = draft.condition(&source.condition);
        let mentions = std::mem::take(&mut draft.mentions);
        let phases = self.phases(&mentions, written?)?;
        let (condition, effect) = (condition?, effect?);
        look::contradiction(&condition, self);
        look::unguarded(&condition, self);
        sound.then(|| CheckedRule {
            name: source.name.value.as_str().into(),
            effect,
            message: source.message.as_deref().map(Arc::from),
            redacts: (effect == Effect::Redact).then(|| redacted(&condition, &self.subjects)).flatten(),
            condition,
            phases,
            dry_run: source.dry_run,
            waivers: Vec::new(),
        })
    }

    fn name(&mut self, source: &RuleSource) -> bool {
        let name = &source.name.value;
        let error = if name.is_empty() {
            RuleError::new(Code::WrongType, source.name.span, "the rule has no name")
                .help("findings and waivers go by it; say what the rule guards")
        } else if name.chars().count() > limits::NAME {
            let message = format!("the name is longer than {} characters", limits::NAME);
            RuleError::new(Code::TooLarge, source.name.span, message)
                .help("make it shorter; `message` is for people and may be long")
        } else if name.chars().any(char::is_control) {
            RuleError::new(Code::WrongType, source.name.span, "the name has control characters in it")
                .help("write it with letters, digits and `-`")
        } else {
            return true;
        };
        self.errors.push(error);
        false
    }

    fn effect(&mut self, source: &RuleSource) -> Option<Effect> {
        let word = &source.effect;
        let effect = Effect::of_rule_word(&word.value);
        if word.value == "allow" {
            self.errors.push(
                RuleError::new(Code::AllowRule, word.span, "a rule cannot have the effect `allow`")
                    .help("the strictest effect wins, so it would never matter; to let something through, write a waiver for the finding that stops it"),
            );
        } else if effect.is_none() {
            self.errors.push(
                RuleError::new(
                    Code::OutsideDomain,
                    word.span,
                    format!("no effect is called `{}`", word.value),
                )
                .help(choose(&word.value, &Effect::RULE_WORDS)),
            );
        }
        effect
    }

    /// The phase the rule writes; the outer `None` is an error.
    #[expect(
        clippy::option_option,
        reason = "`None` is a mistake, `Some(None)` is a rule that leaves the phase to us"
    )]
    fn phase(&mut self, source: &RuleSource) -> Option<Option<(Phase, Span)>> {
        let Some(word) = &source.phase else { return Some(None) };
        if let Some(phase) = Phase::of_word(&word.value) {
            return Some(Some((phase, word.span)));
        }
        self.errors.push(
            RuleError::new(Code::OutsideDomain, word.span, format!("no phase is called `{}`", word.value))
                .help(choose(&word.value, &Phase::WORDS)),
        );
        None
    }

    /// Where on the road a rule with these facts is evaluated.
    fn phases(&mut self, mentions: &[Mention], written: Option<(Phase, Span)>) -> Option<Phases> {
        let mut possible = Phases::ALL;
        for (index, mention) in mentions.iter().enumerate() {
            possible = possible.and(mention.phases);
            if possible.is_empty() {
                self.never_together(mention, mentions.get(..index).unwrap_or_default());
                return None;
            }
        }
        if let Some((phase, span)) = written {
            if possible.has(phase) {
                return Some(Phases::of(&[phase]));
            }
            let missing = mentions.iter().find(|mention| !mention.phases.has(phase));
            let message = match missing {
                Some(mention) => format!("`{}` is not known in phase `{}`", mention.path, phase.as_str()),
                None => format!("the rule cannot be evaluated in phase `{}`", phase.as_str()),
            };
            let error = RuleError::new(Code::NoCommonPhase, span, message)
                .help(format!("remove `phase`; the rule is then evaluated in {}", evaluated(possible)));
            self.errors.push(match missing {
                Some(mention) => {
                    error.also(mention.span, format!("`{}` is known in {}", mention.path, mention.phases))
                }
                None => error,
            });
            return None;
        }
        Some(evaluated(possible))
    }

    fn never_together(&mut self, mention: &Mention, before: &[Mention]) {
        let clash = before.iter().find(|other| other.phases.and(mention.phases).is_empty());
        let (message, also) = match clash {
            Some(other) => (
                format!("`{}` and `{}` are never known at the same time", other.path, mention.path),
                Some((other.span, format!("`{}` is known in {}", other.path, other.phases))),
            ),
            None => {
                let paths: Vec<&str> =
                    before.iter().chain([mention]).map(|mention| mention.path.as_str()).collect();
                (format!("{} are never known at the same time", listed(&paths)), None)
            }
        };
        let mut error = RuleError::new(Code::NoCommonPhase, mention.span, message)
            .help(format!("`{}` is known in {}; make two rules of it", mention.path, mention.phases));
        error.also = also;
        self.errors.push(error);
    }

    /// The place of a subject, the same for all who mention it.
    fn slot(&mut self, path: &str, subject: Subject) -> Slot {
        if let Some(slot) = self.slots.get(path) {
            return *slot;
        }
        let slot = Slot(self.subjects.len());
        self.subjects.push(subject);
        self.slots.insert(path.to_owned(), slot);
        slot
    }
}

/// A fact that a condition mentions, and when it is known.
struct Mention {
    path: String,
    phases: Phases,
    span: Span,
}

/// The phases of those possible in which a rule is evaluated if it does not say: before the action if it can be,
/// and then not again afterwards, so that nobody is asked twice. Listing is never chosen by itself.
fn evaluated(possible: Phases) -> Phases {
    let before = possible.and(Phases::of(&[Phase::Call, Phase::Resource]));
    if before.is_empty() { possible.and(Phases::of(&[Phase::Result])) } else { before }
}

/// The sightings in the reply that a condition names.
fn redacted(condition: &Condition, subjects: &[Subject]) -> Option<u64> {
    let is_of_reply = |fact: &Fact| fact.depends_on(Input::Detectors) && fact.depends_on(Input::Reply);
    let named = condition.tests().into_iter().filter(|test| !test.negated()).fold(0, |bits, test| {
        match (subjects.get(test.slot().0), test.check()) {
            (Some(Subject::Fact(fact)), Check::Has(words)) if is_of_reply(fact) => bits | words,
            _ => bits,
        }
    });
    (named != 0).then_some(named)
}

#[cfg(test)]
mod tests;
