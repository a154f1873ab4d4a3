//! Random rules, waivers, questions and changes over the facts of the small domain.

use highwater_core::annotation::Outcome;
use highwater_core::decide::FlowMode;
use highwater_core::policy::Span;
use highwater_rules::{ConditionSource, RuleSource, Spanned, ValueSource, WaiverSource, Written, compile};

use super::super::dice::Dice;
use super::super::policy;

pub(super) const OUTCOMES: &str = "tool.annotations.inputMetadata.outcomes";

/// Everything one comparison is about.
#[derive(Debug)]
pub(super) struct Drawn {
    pub(super) mode: FlowMode,
    pub(super) rules: Vec<RuleSource>,
    pub(super) waivers: Vec<WaiverSource>,
    pub(super) query: ConditionSource,
    /// The rule that the change replaces, and by what.
    changed: Option<(usize, RuleSource)>,
}

// === impl Drawn ===

impl Drawn {
    /// The rules before or after the change.
    pub(super) fn rules_of(&self, changed: bool) -> Vec<RuleSource> {
        let mut rules = self.rules.clone();
        if let Some((place, rule)) = self.changed.as_ref().filter(|_| changed) {
            rules[*place] = rule.clone();
        }
        rules
    }
}

pub(super) fn drawn(dice: &mut Dice) -> Drawn {
    let mode = dice.of(&[FlowMode::Balanced, FlowMode::Balanced, FlowMode::Strict, FlowMode::Samos]);
    let rules = rules(dice);
    let waivers = waivers(&rules, dice);
    let query = loop {
        let query = grow(2, dice);
        if loads(&rule("query", "block", query.clone(), None)) {
            break query;
        }
    };
    let changed = (!rules.is_empty()).then(|| {
        let place = dice.below(rules.len());
        let old = &rules[place];
        let condition =
            ConditionSource::All { span: Span::default(), of: vec![old.condition.clone(), leaf(dice)] };
        let narrowed = RuleSource { condition, ..old.clone() };
        let effect = spanned(dice.of(&["redact", "confirm", "passkey", "block"]));
        let milder_or_stricter = RuleSource { effect, ..old.clone() };
        (place, if dice.one_in(2) && loads(&narrowed) { narrowed } else { milder_or_stricter })
    });
    Drawn { mode, rules, waivers, query, changed }
}

/// A rule with two tests of one fact.
pub(super) fn two_tests(dice: &mut Dice) -> RuleSource {
    let span = Span::default();
    let maybe_not = |test: ConditionSource, dice: &mut Dice| match dice.one_in(3) {
        true => ConditionSource::Not { span, of: Box::new(test) },
        false => test,
    };
    let path = |test: &ConditionSource| policy::mentioned([test]);
    let first = leaf(dice);
    let second = std::iter::repeat_with(|| leaf(dice)).find(|second| path(second) == path(&first)).unwrap();
    let of = vec![maybe_not(first, dice), maybe_not(second, dice)];
    rule("both", "block", ConditionSource::All { span, of }, Some("call"))
}

fn spanned(text: &str) -> Spanned<String> {
    Spanned::new(text.to_owned(), Span::default())
}

pub(super) fn rule(name: &str, effect: &str, condition: ConditionSource, phase: Option<&str>) -> RuleSource {
    RuleSource {
        name: spanned(name),
        effect: spanned(effect),
        condition,
        message: None,
        phase: phase.map(spanned),
        non_monotone: true,
        dry_run: false,
    }
}

fn loads(rule: &RuleSource) -> bool {
    compile(std::slice::from_ref(rule), &[]).is_ok()
}

fn test(path: &str, operator: &str, written: Written) -> ConditionSource {
    ConditionSource::Test { fact: spanned(path), operator: spanned(operator), value: value(written) }
}

fn value(value: Written) -> ValueSource {
    ValueSource { span: Span::default(), value }
}

fn text(text: &str) -> Written {
    Written::Text(text.to_owned())
}

fn leaf(dice: &mut Dice) -> ConditionSource {
    let list = |words: &[&str]| Written::List(words.iter().map(|word| value(text(word))).collect());
    match dice.below(12) {
        0 => test("session.untrusted", "equals", Written::Bool(dice.one_in(2))),
        1 => test("session.malicious", "equals", Written::Bool(dice.one_in(2))),
        2 => test("session.private", "equals", Written::Bool(dice.one_in(2))),
        3 | 4 => test(OUTCOMES, "equals", text(dice.of(Outcome::NAMES))),
        5 => test(OUTCOMES, "in", list(&[dice.of(Outcome::NAMES), dice.of(Outcome::NAMES)])),
        6 => test("tool.name", "equals", text(dice.of(&["send", "read"]))),
        7 => test("tool.name", "in", list(&["send", "read"])),
        8 => test("arguments.a", "equals", text(dice.of(&["x", "y"]))),
        9 => test("arguments.a", "greaterThan", Written::Int(10)),
        10 => test("arguments.a", "equals", Written::Bool(true)),
        _ => test("arguments.a", "exists", Written::Bool(dice.one_in(2))),
    }
}

fn grow(depth: usize, dice: &mut Dice) -> ConditionSource {
    let (span, many) = (Span::default(), 1 + dice.below(3));
    match dice.below(if depth == 0 { 1 } else { 5 }) {
        4 | 3 => ConditionSource::All { span, of: (0..many).map(|_| grow(depth - 1, dice)).collect() },
        2 => ConditionSource::Any { span, of: (0..many).map(|_| grow(depth - 1, dice)).collect() },
        1 => ConditionSource::Not { span, of: Box::new(grow(depth - 1, dice)) },
        _ => leaf(dice),
    }
}

/// Up to five rules that load; some narrow another, so that it shadows them.
fn rules(dice: &mut Dice) -> Vec<RuleSource> {
    let mut rules: Vec<RuleSource> = Vec::new();
    for _ in 0..5 {
        let span = Span::default();
        let condition = match (rules.last(), dice.below(8)) {
            (Some(other), 0..3) => {
                ConditionSource::All { span, of: vec![other.condition.clone(), leaf(dice)] }
            }
            // What can be dead and does not look it: one thing and its opposite, and malice in a trusted session.
            (Some(other), 3) => {
                let not = ConditionSource::Not { span, of: Box::new(other.condition.clone()) };
                ConditionSource::All { span, of: vec![other.condition.clone(), not] }
            }
            (_, 4) => {
                let malicious = test("session.malicious", "equals", Written::Bool(true));
                let trusted = test("session.untrusted", "equals", Written::Bool(false));
                ConditionSource::All { span, of: vec![malicious, leaf(dice), trusted] }
            }
            _ => grow(2, dice),
        };
        let effect = dice.of(&["redact", "confirm", "passkey", "passkey", "block", "block"]);
        let phase = dice.of(&[None, Some("call")]);
        let rule = rule(&format!("r{}", rules.len()), effect, condition, phase);
        if loads(&rule) {
            rules.push(rule);
        }
    }
    rules
}

/// Waivers of the rules and of a flow rule, as far as they load.
fn waivers(rules: &[RuleSource], dice: &mut Dice) -> Vec<WaiverSource> {
    let mut waivers = Vec::new();
    for _ in 0..dice.below(3) {
        let names: Vec<&str> = rules.iter().map(|rule| &*rule.name.value).chain(["act"]).collect();
        let name = dice.of(&names);
        let waiver = WaiverSource {
            span: Span::default(),
            waive: vec![spanned(&if name == "act" { "flow.act".to_owned() } else { format!("rule.{name}") })],
            when: Some(grow(1, dice)),
            until: Some(spanned("2999-01-01")),
            reason: Some(spanned("because")),
        };
        if compile(rules, std::slice::from_ref(&waiver)).is_ok() {
            waivers.push(waiver);
        }
    }
    waivers
}
