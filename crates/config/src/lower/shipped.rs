//! Rules that come with the program and are switched on by their names, such as `rules: [builtin:graduated]`.

use highwater_core::policy::suggest::listed;
use highwater_core::policy::{ConditionSource, RuleSource, Spanned, ValueSource, Written};

use super::Lowering;
use super::condition::span;
use crate::node::Span;

/// What the name of each starts with.
const PREFIX: &str = "builtin:";

/// One rule of a set: its name, what it does, the truth it asks for, and what people are told.
struct Shipped {
    name: &'static str,
    effect: &'static str,
    fact: &'static str,
    message: &'static str,
}

/// Confirmation by degrees: what only looks or adds passes, what may destroy asks.
const GRADUATED: &[Shipped] = &[Shipped {
    name: "graduated",
    effect: "confirm",
    fact: "tool.destructive",
    message: "the call may destroy something, or nobody whose word counts says that it does not",
}];

/// Every set, by what stands behind the prefix.
const SETS: &[(&str, &[Shipped])] = &[("graduated", GRADUATED)];

/// What can be written in place of a rule.
pub(crate) fn names() -> Vec<String> {
    SETS.iter().map(|(name, _)| format!("{PREFIX}{name}")).collect()
}

impl Lowering<'_> {
    /// The rules of a set that comes with the program.
    pub(super) fn shipped(&self, name: &str, at: Span) -> Vec<RuleSource> {
        let wanted = name.strip_prefix(PREFIX);
        if let Some((_, rules)) = SETS.iter().find(|(set, _)| Some(*set) == wanted) {
            return rules.iter().map(|rule| rule.source(at)).collect();
        }
        let all = names();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        self.problems.report_code(
            "unknown-rules",
            at,
            format!("there is no set of rules `{name}`"),
            format!("write a rule as `{{ name: …, effect: …, when: … }}`, or one of {}", listed(&all)),
        );
        Vec::new()
    }
}

// === impl Shipped ===

impl Shipped {
    fn source(&self, at: Span) -> RuleSource {
        let spanned = |text: &str| Spanned::new(text.to_owned(), span(at));
        let value = ValueSource { span: span(at), value: Written::Bool(true) };
        RuleSource {
            name: spanned(self.name),
            effect: spanned(self.effect),
            condition: ConditionSource::Test { fact: spanned(self.fact), operator: spanned("equals"), value },
            message: Some(self.message.to_owned()),
            phase: None,
            non_monotone: false,
        }
    }
}
