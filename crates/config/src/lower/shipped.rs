//! Rules that come with the program and are switched on by their names, such as `rules: [builtin:graduated]`.

use highwater_notation::suggest::listed;
use highwater_rules::{ConditionSource, RuleSource, Spanned, ValueSource, Written};

use super::Lowering;
use super::condition::span;
use crate::node::Span;

/// What the name of each starts with.
const PREFIX: &str = "builtin:";

/// One rule of a set: its name, what it does, the facts that must all be so, and what people are told.
struct Shipped {
    name: &'static str,
    effect: &'static str,
    when: &'static [(&'static str, FactKind)],
    message: &'static str,
}

/// What a fact must be.
enum FactKind {
    True,
    Word(&'static str),
}

/// Confirmation by degrees: what reads or adds passes, what is said to destroy asks. A default is no claim: a tool of
/// which nobody says anything is one that writes. Whose word counts may say that a tool only adds, whoever says more.
const GRADUATED: &[Shipped] = &[Shipped {
    name: "graduated",
    effect: "confirm",
    when: &[("tool.callWith", FactKind::Word("call_tool_destructive")), ("tool.destructive", FactKind::True)],
    message: "the call may destroy something",
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
        let test = |(fact, sought): &(&str, FactKind)| {
            let value = match sought {
                FactKind::True => Written::Bool(true),
                FactKind::Word(word) => Written::Text((*word).to_owned()),
            };
            let value = ValueSource { span: span(at), value };
            ConditionSource::Test { fact: spanned(fact), operator: spanned("equals"), value }
        };
        RuleSource {
            name: spanned(self.name),
            effect: spanned(self.effect),
            condition: ConditionSource::All { span: span(at), of: self.when.iter().map(test).collect() },
            message: Some(self.message.to_owned()),
            phase: None,
            non_monotone: false,
            dry_run: false,
        }
    }
}
