//! A second look at a condition that loads: can it ever hold, and will it surprise its author?
//!
//! Only what is cheap and certain; the analysis of `highwater check` decides the rest.

use highwater_core::policy::{Check, Condition, Fact, FactName, Kind, Subject, Test};
use highwater_notation::suggest::listed;

use super::Compiler;
use crate::error::{RuleError, RuleErrorCode as Code};

/// Notes an error for tests that can never hold, alone or together.
pub(super) fn contradiction(condition: &Condition, compiler: &mut Compiler) {
    let mut errors = Vec::new();
    visit(condition, &compiler.subjects, &mut errors);
    compiler.errors.extend(errors);
}

fn visit(condition: &Condition, subjects: &[Subject], errors: &mut Vec<RuleError>) {
    match condition {
        Condition::Test(test) => {
            if let Some(subject) = subjects.get(test.slot().0).filter(|subject| never(test, subject)) {
                let error = RuleError::new(Code::Contradiction, test.span(), "this can never hold");
                errors.push(error.help(match kind(subject) {
                    Some(Kind::Int(least, most)) => {
                        format!("`{}` is a number from {least} to {most}", subject.path())
                    }
                    Some(kind) => {
                        let words = kind.words().unwrap_or_default();
                        format!("`{}` is one of {}, in this order", subject.path(), listed(words))
                    }
                    None => "ask for a value that can be there, or leave the test out".to_owned(),
                }));
            }
        }
        Condition::Any(parts) => parts.iter().for_each(|part| visit(part, subjects, errors)),
        Condition::All(parts) => {
            let before = errors.len();
            parts.iter().for_each(|part| visit(part, subjects, errors));
            if errors.len() == before {
                errors.extend(clash(condition, subjects));
            }
        }
    }
}

/// Two tests of one fact that exclude each other.
fn clash(all: &Condition, subjects: &[Subject]) -> Option<RuleError> {
    let tests: Vec<&Test> = all.required().collect();
    for (index, test) in tests.iter().enumerate() {
        let subject = subjects.get(test.slot().0)?;
        let earlier =
            tests.get(..index).unwrap_or_default().iter().filter(|other| other.slot() == test.slot());
        for other in earlier {
            if exclude(test, other, subject) {
                let (first, second) = if test.span() < other.span() { (test, other) } else { (other, test) };
                let message = format!("these two tests of `{}` can never hold together", subject.path());
                return Some(
                    RuleError::new(Code::Contradiction, second.span(), message)
                        .help("write `or`, or `in` with a list, if either is meant")
                        .also(first.span(), "the other one"),
                );
            }
        }
    }
    None
}

/// Whether no value at all passes the test.
fn never(test: &Test, subject: &Subject) -> bool {
    let kind = kind(subject);
    let passes_none = match (test.check(), kind) {
        (Check::Among(wanted), _) => words(test, kind, *wanted) == 0,
        (Check::Above(bound), Some(Kind::Int(_, most))) => !test.negated() && *bound >= most,
        (Check::Below(bound), Some(Kind::Int(least, _))) => !test.negated() && *bound <= least,
        (Check::Number(wanted), Some(Kind::Int(least, most))) => {
            !test.negated() && !wanted.iter().any(|number| (least..=most).contains(number))
        }
        _ => false,
    };
    passes_none && !matches!(kind, Some(Kind::OneOf(_)))
}

/// Whether no value passes both.
fn exclude(a: &Test, b: &Test, subject: &Subject) -> bool {
    if a.check() == b.check() {
        return a.negated() != b.negated();
    }
    let kind = kind(subject);
    match (a.check(), b.check()) {
        // Several members of a possible set may come true, and a set has many members: only scalars exclude.
        (Check::Among(x), Check::Among(y)) => {
            !matches!(kind, Some(Kind::OneOf(_))) && words(a, kind, *x) & words(b, kind, *y) == 0
        }
        (Check::Text(x), Check::Text(y)) if !matches!(kind, Some(Kind::Open { .. })) => {
            match (a.negated(), b.negated()) {
                (false, false) => !x.iter().any(|text| y.contains(text)),
                (false, true) => x.iter().all(|text| y.contains(text)),
                (true, false) => y.iter().all(|text| x.contains(text)),
                (true, true) => false,
            }
        }
        (
            Check::Above(_) | Check::Below(_) | Check::Number(_),
            Check::Above(_) | Check::Below(_) | Check::Number(_),
        ) if !a.negated() && !b.negated() => {
            let ((from, to), (least, most)) = (bounds(a.check()), bounds(b.check()));
            from.max(least) > to.min(most)
        }
        _ => false,
    }
}

/// The words that pass the test.
fn words(test: &Test, kind: Option<Kind>, wanted: u64) -> u64 {
    let all = u64::MAX >> (64_usize.saturating_sub(kind.and_then(Kind::words).map_or(2, <[_]>::len)));
    if test.negated() { all & !wanted } else { all & wanted }
}

/// The numbers that may pass the check.
fn bounds(check: &Check) -> (i64, i64) {
    match check {
        Check::Above(bound) => (bound.saturating_add(1), i64::MAX),
        Check::Below(bound) => (i64::MIN, bound.saturating_sub(1)),
        Check::Number(numbers) => {
            (numbers.first().copied().unwrap_or(i64::MAX), numbers.last().copied().unwrap_or(i64::MIN))
        }
        Check::Among(_) | Check::Has(_) | Check::Text(_) | Check::Matches(_) | Check::Exists => {
            (i64::MIN, i64::MAX)
        }
    }
}

fn kind(subject: &Subject) -> Option<Kind> {
    subject.fact().map(|fact| fact.kind)
}

/// Notes a warning for each test of an argument that nothing keeps from firing where a tool that has the argument is
/// called without it.
pub(super) fn unguarded(condition: &Condition, compiler: &mut Compiler) {
    let mut warnings = Vec::new();
    walk(condition, &mut Vec::new(), &compiler.subjects, &mut warnings);
    compiler.warnings.extend(warnings);
}

fn walk<'c>(
    condition: &'c Condition,
    guards: &mut Vec<&'c Test>,
    subjects: &[Subject],
    warnings: &mut Vec<RuleError>,
) {
    match condition {
        Condition::Any(parts) => parts.iter().for_each(|part| walk(part, guards, subjects, warnings)),
        Condition::All(parts) => {
            let outer = guards.len();
            guards.extend(condition.required());
            parts.iter().for_each(|part| walk(part, guards, subjects, warnings));
            guards.truncate(outer);
        }
        Condition::Test(test) => {
            let Some(Subject::Argument(pointer)) = subjects.get(test.slot().0) else { return };
            let guarded = *test.check() == Check::Exists
                || guards.iter().any(|guard| match subjects.get(guard.slot().0) {
                    Some(Subject::Argument(other)) => {
                        *guard.check() == Check::Exists && !guard.negated() && pointer.holds(other)
                    }
                    Some(Subject::Fact(fact)) => names_the_target(fact),
                    None => false,
                });
            if !guarded {
                let path = format!("arguments.{}", pointer.as_str());
                warnings.push(
                    RuleError::new(
                        Code::UnguardedArgument,
                        test.span(),
                        format!("this also fires for tools that have `{path}` and are called without it, because a missing argument is unknown"),
                    )
                    .help(format!("add `{{ fact: {path}, exists: true }}`, or a test of `tool.name`")),
                );
            }
        }
    }
}

/// Whether a test of this fact picks out single tools, prompts or resources, whose arguments are known.
fn names_the_target(fact: &Fact) -> bool {
    use FactName::{PromptName, ResourceUri, ToolId, ToolName};
    matches!(fact.name, Some(ToolId | ToolName | PromptName | ResourceUri))
}
