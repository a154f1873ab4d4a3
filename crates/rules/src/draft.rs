//! One condition in the making: names are looked up, tests typed, `not` pushed down to them, facts counted.

use highwater_core::policy::{Condition, FACTS, Fact, Moves, Phase, Phases, Rises, Span, Subject, Test};
use highwater_notation::Pointer;
use highwater_notation::suggest::{listed, nearest};

use super::operator::{self, Operator, Target};
use super::{Compiler, Mention};
use crate::error::{RuleError, RuleErrorCode as Code};
use crate::limits;
use crate::source::{ConditionSource, Spanned, ValueSource};

/// What a condition is for, and so what it may do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It restricts: it must not cease to hold as the label rises, unless its author accepts that.
    Rule { may_loosen: bool },
    /// It loosens: it must not begin to hold as the label rises.
    Waiver,
    /// It loosens, before anything but the arguments is known.
    Case,
}

/// The condition in the making.
pub(super) struct Draft<'c> {
    compiler: &'c mut Compiler,
    used: Use,
    nodes: usize,
    too_large: bool,
    /// The facts it mentions, in the order they are written.
    pub(super) mentions: Vec<Mention>,
}

impl<'c> Draft<'c> {
    pub(super) fn new(compiler: &'c mut Compiler, used: Use) -> Self {
        Self { compiler, used, nodes: 0, too_large: false, mentions: Vec::new() }
    }

    /// The checked condition; nothing where an error was noted.
    pub(super) fn condition(&mut self, source: &ConditionSource) -> Option<Condition> {
        self.part(source, false, 1).filter(|_| !self.too_large)
    }

    fn part(&mut self, source: &ConditionSource, negated: bool, depth: usize) -> Option<Condition> {
        self.nodes += 1;
        if self.nodes > limits::NODES || depth > limits::DEPTH {
            self.complain_of_size(source.span(), depth);
            return None;
        }
        match source {
            ConditionSource::Not { of, .. } => self.part(of, !negated, depth + 1),
            ConditionSource::All { span, of } => self.parts(*span, of, true, negated, depth),
            ConditionSource::Any { span, of } => self.parts(*span, of, false, negated, depth),
            ConditionSource::Test { fact, operator, value } => {
                self.test(fact, operator, value, negated).map(Condition::Test)
            }
        }
    }

    /// `not (a and b)` is `not a or not b`, in Kleene's logic too.
    fn parts(
        &mut self,
        span: Span,
        of: &[ConditionSource],
        all: bool,
        negated: bool,
        depth: usize,
    ) -> Option<Condition> {
        if of.is_empty() {
            let message = if all {
                "`and` with nothing in it always holds"
            } else {
                "`or` with nothing in it never holds"
            };
            let error = RuleError::new(Code::EmptyCondition, span, message);
            self.compiler.errors.push(error.help("list at least one test"));
            return None;
        }
        let mut parts = Vec::with_capacity(of.len());
        let mut whole = true;
        for source in of {
            // Every part is looked at, so that all mistakes are found at once.
            match self.part(source, negated, depth + 1) {
                Some(part) => parts.push(part),
                None => whole = false,
            }
        }
        whole.then(|| join(parts, all != negated, &self.compiler.subjects))
    }

    fn test(
        &mut self,
        fact: &Spanned<String>,
        word: &Spanned<String>,
        value: &ValueSource,
        negated: bool,
    ) -> Option<Test> {
        let subject = self.subject(fact);
        let operator = operator::read(word).map_err(|error| self.compiler.errors.push(error)).ok();
        let (subject, operator) = (subject?, operator?);
        let row = subject.fact();
        let target = row.map_or(Target::Argument, |row| Target::Fact(row.kind));
        let made = operator::make(&fact.value, target, operator, word.span, value)
            .map_err(|error| self.compiler.errors.push(error))
            .ok()?;
        let of_arguments = Phases::of(&[Phase::Call, Phase::Resource, Phase::Result]);
        let phases = row.map_or(of_arguments, |row| row.phases);
        self.mentions.push(Mention { path: fact.value.clone(), phases, span: fact.span });
        let negated = negated != made.negated;
        let slot = self.compiler.slot(&fact.value, subject);
        let span =
            Span { start: fact.span.start.min(value.span.start), end: fact.span.end.max(value.span.end) };
        let test = Test::new(slot, row, made.check, negated, span);
        if let Some(row) = row {
            self.moves(test.moves(), fact, operator, row.rises, value.span);
        }
        Some(test)
    }

    fn moves(&mut self, moves: Moves, fact: &Spanned<String>, operator: Operator, rises: Rises, at: Span) {
        let way = match rises {
            Rises::Up => "rises",
            Rises::Down => "falls",
            Rises::No => return,
        };
        let path = &fact.value;
        let error = match self.used {
            Use::Rule { may_loosen } if !moves.only_up => {
                if may_loosen {
                    return;
                }
                RuleError::new(
                    Code::NonMonotone,
                    at,
                    format!("`{path}` only {way} as the session takes in more, so the rule could cease to fire because of this `{}`", operator.as_str()),
                )
                .help("turn the test round, or write `non_monotone: true` to accept it at the price of a read of the store before each decision")
            }
            Use::Waiver if !moves.only_down => RuleError::new(
                Code::NonMonotone,
                at,
                format!("`{path}` only {way} as the session takes in more, so the waiver could begin to apply because of this `{}`", operator.as_str()),
            )
            .help("a waiver may ask only that the session has not taken in something; turn the test round"),
            Use::Rule { .. } | Use::Waiver | Use::Case => return,
        };
        self.compiler.errors.push(error.also(fact.span, "this fact moves with the session"));
    }

    fn subject(&mut self, fact: &Spanned<String>) -> Option<Subject> {
        if let Some(row) = Fact::of(&fact.value) {
            if self.used == Use::Case {
                let message = format!("a case cannot look at `{}`, only at `arguments.…`", fact.value);
                self.compiler
                    .errors
                    .push(RuleError::new(Code::UnknownFact, fact.span, message).help(
                        "a case says what a call is by its arguments alone; write a rule for the rest",
                    ));
                return None;
            }
            if let Some(why) = row.missing().filter(|_| !self.compiler.early) {
                let message = format!("`{}` is never known: {why}", fact.value);
                let error = RuleError::new(Code::UnproducedFact, fact.span, message);
                self.compiler.errors.push(error.help("leave the test out: it would hold always or never"));
                return None;
            }
            return Some(Subject::Fact(row));
        }
        let Some(pointer) = fact.value.strip_prefix("arguments.") else {
            let error =
                RuleError::new(Code::UnknownFact, fact.span, format!("no fact is called `{}`", fact.value));
            self.compiler.errors.push(error.help(meant(&fact.value)));
            return None;
        };
        let found = Pointer::parse(pointer).map(Subject::Argument);
        if found.is_none() {
            let message = format!("`{}` does not point into the arguments", fact.value);
            self.compiler.errors.push(
                RuleError::new(Code::UnknownFact, fact.span, message)
                    .help("write names and numbers with `/` between them, `~1` for a slash in a name and `~0` for a tilde"),
            );
        }
        found
    }

    fn complain_of_size(&mut self, span: Span, depth: usize) {
        if !self.too_large {
            self.too_large = true;
            let message = if depth > limits::DEPTH {
                format!("the condition nests deeper than {} levels", limits::DEPTH)
            } else {
                format!("the condition has more than {} parts", limits::NODES)
            };
            self.compiler
                .errors
                .push(RuleError::new(Code::TooLarge, span, message).help("make several rules of it"));
        }
    }
}

/// The way out of a path that no fact has.
fn meant(path: &str) -> String {
    if let Some((first, rest)) = path.split_once('.')
        && nearest(first, ["arguments"]).is_some()
    {
        return format!("did you mean `arguments.{rest}`?");
    }
    if let Some(found) = nearest(path, FACTS.iter().map(|row| row.path)) {
        return format!("did you mean `{found}`?");
    }
    // Only the end of a path, as annotations are called by themselves.
    let ends = |row: &&Fact| row.path.strip_suffix(path).is_some_and(|before| before.ends_with('.'));
    let found: Vec<&str> = FACTS.iter().filter(ends).map(|row| row.path).collect();
    match found.as_slice() {
        [] => "`highwater schema` lists every fact".to_owned(),
        [one] => format!("did you mean `{one}`?"),
        several => format!("write its whole path: one of {}", listed(several)),
    }
}

/// Puts parts together: an `All` inside an `All` is one, a single part stands for itself, cheap tests come first.
fn join(parts: Vec<Condition>, all: bool, subjects: &[Subject]) -> Condition {
    let mut flat = Vec::with_capacity(parts.len());
    for part in parts {
        match (part, all) {
            (Condition::All(inner), true) | (Condition::Any(inner), false) => flat.extend(inner),
            (part, _) => flat.push(part),
        }
    }
    flat.sort_by_key(|part| cost(part, subjects));
    if flat.len() == 1
        && let Some(only) = flat.pop()
    {
        return only;
    }
    if all { Condition::All(flat.into()) } else { Condition::Any(flat.into()) }
}

/// Arguments come last: to look at one of them their whole text is read.
fn cost(part: &Condition, subjects: &[Subject]) -> u8 {
    match part {
        Condition::Test(test) => match subjects.get(test.slot().0) {
            Some(Subject::Argument(_)) => 9,
            Some(Subject::Fact(_)) | None => test.check().cost(),
        },
        Condition::All(parts) | Condition::Any(parts) => {
            parts.iter().map(|part| cost(part, subjects)).max().unwrap_or(0).max(4)
        }
    }
}
