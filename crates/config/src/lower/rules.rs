//! Rules and waivers of all files: from the tree as written to the compiled set.

use highwater_rules::{ConditionSource, RuleError, RuleSource, Spanned, WaiverSource};

use super::Lowering;
use super::condition::{ConditionReader, place, span};
use crate::diagnose::Problem;
use crate::file::ConfigFile;
use crate::file::rule::{RuleFile, WaiverFile};
use crate::node::{Node, Span, Value};
use crate::read::{Field, Tree, Written, read_part};
use crate::settings::Rules;

/// The keys of a file of rules.
const RULES: &str = "rules";
const WAIVERS: &str = "waivers";

impl<'l> Lowering<'l> {
    /// Every rule and waiver of the configuration and its rule files, compiled together.
    pub(super) fn rules(&self, file: &ConfigFile, rules_files: &'l [Node]) -> Option<Rules> {
        let before = self.problems.count();
        let mut rules = Vec::new();
        let mut waivers = Vec::new();
        if let Some(tree) = file.rules.value().and_then(|tree| self.trees.node(*tree)) {
            self.rule_list(tree, &mut rules);
        }
        self.waiver_list(file.waivers.value().and_then(|tree| self.trees.node(*tree)), &mut waivers);
        for node in rules_files {
            self.rule_file(node, &mut rules, &mut waivers);
        }
        match Rules::compile(&rules, &waivers) {
            Ok((set, warnings)) => {
                let names = rules.iter().map(|rule| place(rule.name.span)).collect();
                let entries = waivers.iter().map(|waiver| place(waiver.span)).collect();
                self.problems.place_rules(names, entries);
                for warning in warnings {
                    self.problems.warn(problem(warning));
                }
                (self.problems.count() == before).then_some(set)
            }
            Err(errors) => {
                errors.into_iter().for_each(|error| self.problems.push(problem(error)));
                None
            }
        }
    }

    /// A file of rules: a list, or a mapping with `rules` and `waivers`.
    fn rule_file(&self, node: &'l Node, rules: &mut Vec<RuleSource>, waivers: &mut Vec<WaiverSource>) {
        let Value::Map(entries) = &node.value else { return self.rule_list(node, rules) };
        for (key, value) in entries {
            match key.name() {
                RULES => self.rule_list(value, rules),
                WAIVERS => self.waiver_list(Some(value), waivers),
                other => self.problems.report_code(
                    "unknown-key",
                    key.span,
                    format!("unknown key `{other}` in a file of rules"),
                    "the keys here are `rules`, `waivers`",
                ),
            }
        }
    }

    /// A list of rules, or a mapping that holds one, as documents print them.
    fn rule_list(&self, node: &'l Node, rules: &mut Vec<RuleSource>) {
        let items = match &node.value {
            Value::List(items) => items,
            Value::Null { .. } => return,
            Value::Map(entries) => {
                return match entries.as_slice() {
                    [(key, inside)] if key.name() == RULES && !matches!(inside.value, Value::Map(_)) => {
                        self.rule_list(inside, rules);
                    }
                    _ => self.not_a_list(node, RULES, "write `rules: [{ name: …, effect: …, when: … }]`"),
                };
            }
            _ => return self.not_a_list(node, RULES, "write `rules: [{ name: …, effect: …, when: … }]`"),
        };
        for item in items {
            if let Value::Text(name) = &item.value {
                rules.extend(self.shipped(name, item.span));
                continue;
            }
            let before = self.problems.count();
            let Some(written) = read_part("a rule", item, self.text, self.problems, self.trees) else {
                continue;
            };
            // What seems missing may have been misspelt, or be wrong in another way.
            rules.extend(self.rule(&written, self.problems.count() == before));
        }
    }

    fn waiver_list(&self, node: Option<&'l Node>, waivers: &mut Vec<WaiverSource>) {
        let items = match node.map(|node| (node, &node.value)) {
            Some((_, Value::List(items))) => items,
            None | Some((_, Value::Null { .. })) => return,
            Some((node, _)) => {
                return self.not_a_list(
                    node,
                    WAIVERS,
                    "write `waivers: [{ waive: […], when: …, until: …, reason: … }]`",
                );
            }
        };
        for item in items {
            let before = self.problems.count();
            let Some(written) = read_part("a waiver", item, self.text, self.problems, self.trees) else {
                continue;
            };
            // Core says what a waiver lacks; of one that is wrong already, that may be what is misspelt.
            if self.problems.count() == before {
                waivers.extend(self.waiver(&written));
            }
        }
    }

    /// `whole` says that nothing was wrong with it so far.
    fn rule(&self, Written { span: at, value: file }: &Written<RuleFile>, whole: bool) -> Option<RuleSource> {
        let conditionless = matches!((&file.conditions, &file.when), (Field::Absent, Field::Absent));
        let lacks = [file.name.is_absent(), file.effect.is_absent(), conditionless];
        if !whole && lacks.contains(&true) {
            return None;
        }
        let help = "add `name: …`; findings and waivers go by it";
        let name = self.named(&file.name, *at, "the rule has no `name`", help);
        let help = "say what happens: `redact`, `confirm`, `passkey` or `block`";
        let effect = self.named(&file.effect, *at, "the rule has no `effect`", help);
        let condition = self.condition(*at, "the rule", &file.conditions, &file.when);
        Some(RuleSource {
            name: name?,
            effect: effect?,
            condition: condition?,
            message: file.message.value().cloned(),
            phase: file.phase.read().map(spanned),
            non_monotone: file.non_monotone.value().copied().unwrap_or(false),
            dry_run: file.dry_run.value().copied().unwrap_or(false),
        })
    }

    fn waiver(&self, Written { span: at, value: file }: &Written<WaiverFile>) -> Option<WaiverSource> {
        let when = match (&file.conditions, &file.when) {
            // Core says what a waiver lacks.
            (Field::Absent, Field::Absent) => None,
            (conditions, when) => Some(self.condition(*at, "the waiver", conditions, when)?),
        };
        Some(WaiverSource {
            span: span(*at),
            waive: file.waive.value().into_iter().flatten().map(spanned).collect(),
            when,
            until: file.until.read().map(spanned),
            reason: file.reason.read().map(spanned),
        })
    }

    /// The condition in whichever form it is written.
    pub(super) fn condition(
        &self,
        at: Span,
        whose: &str,
        conditions: &Field<Tree>,
        when: &Field<Tree>,
    ) -> Option<ConditionSource> {
        let reader = ConditionReader { text: self.text, problems: self.problems };
        match (conditions, when) {
            (Field::Read(_), Field::Read(when)) => {
                self.report(
                    when.span,
                    format!("{whose} has both `conditions` and `when`"),
                    "keep one of the two",
                );
                None
            }
            (Field::Read(tree), Field::Absent) => {
                self.trees.node(tree.value).and_then(|node| reader.conditions(node))
            }
            (Field::Absent, Field::Read(tree)) => {
                self.trees.node(tree.value).and_then(|node| reader.when(node))
            }
            (Field::Absent, Field::Absent) => {
                self.problems.report_code(
                    "empty-condition",
                    at,
                    format!("{whose} has no condition"),
                    "write `when: { session.private: true }`, or `conditions:` for the long form",
                );
                None
            }
            (Field::Broken, _) | (_, Field::Broken) => None,
        }
    }

    fn named(&self, field: &Field<String>, at: Span, message: &str, help: &str) -> Option<Spanned<String>> {
        match field {
            Field::Read(written) => Some(spanned(written)),
            Field::Broken => None,
            Field::Absent => {
                self.report(at, message, help);
                None
            }
        }
    }

    fn not_a_list(&self, node: &Node, key: &str, help: &str) {
        let message = format!("`{key}` must be a list, not {}", node.kind());
        self.problems.report_code("wrong-type", node.span, message, help);
    }
}

/// What core found, as a problem of the file.
pub(crate) fn problem(error: RuleError) -> Problem {
    Problem {
        code: Some(error.code.as_str()),
        message: error.message,
        help: Some(error.suggestion),
        span: Some(place(error.span)),
        also: error.also.map(|(at, what)| Box::new((what, place(at)))),
    }
}

fn spanned(written: &Written<String>) -> Spanned<String> {
    Spanned::new(written.value.clone(), span(written.span))
}
