//! Conditions: the tree as written to the words core checks. Only the shape is judged here.

use highwater_core::policy;
use highwater_notation::suggest::{choose, listed};
use highwater_rules::{ConditionSource, Operator, Spanned, ValueSource, Written};

use crate::diagnose::Problems;
use crate::node::{Node, Span, Value};

/// Reads conditions from one text and reports what has not the shape of one.
#[derive(Clone, Copy)]
pub(crate) struct ConditionReader<'c> {
    pub(crate) text: &'c str,
    pub(crate) problems: &'c Problems,
}

/// What joins conditions.
const JOINS: [&str; 3] = ["and", "or", "not"];

impl ConditionReader<'_> {
    /// The long form: `and`, `or`, `not`, or a test.
    pub(crate) fn conditions(self, node: &Node) -> Option<ConditionSource> {
        let Value::Map(entries) = &node.value else {
            self.wrong(node, "a condition must be a mapping");
            return None;
        };
        let named = |name: &str| entries.iter().find(|(key, _)| key.name() == name);
        let Some((key, inside)) = JOINS.iter().find_map(|join| named(join)) else {
            return self.test(node, entries);
        };
        if let Some((other, _)) = entries.iter().find(|(other, _)| other.span != key.span) {
            self.problems.report_code(
                "unknown-key",
                other.span,
                format!("`{}` cannot stand beside `{}`", other.name(), key.name()),
                format!("put both into a list: `and: [{{ {}: … }}, {{ {}: … }}]`", key.name(), other.name()),
            );
            return None;
        }
        let span = span(key.span);
        match key.name() {
            "not" => Some(ConditionSource::Not { span, of: Box::new(self.conditions(inside)?) }),
            join => {
                let Value::List(items) = &inside.value else {
                    self.problems.report_code(
                        "wrong-type",
                        inside.span,
                        format!("`{join}` must be a list of conditions, not {}", inside.kind()),
                        format!("write `{join}: [{{ fact: …, equals: … }}, …]`"),
                    );
                    return None;
                };
                // Every item is read, so that each can report.
                let items: Vec<_> = items.iter().map(|item| self.conditions(item)).collect();
                let of = items.into_iter().collect::<Option<Vec<_>>>()?;
                Some(match join {
                    "and" => ConditionSource::All { span, of },
                    _ => ConditionSource::Any { span, of },
                })
            }
        }
    }

    /// `{ fact: PATH, OPERATOR: VALUE }`.
    fn test(self, node: &Node, entries: &[(Node, Node)]) -> Option<ConditionSource> {
        let Some((_, path)) = entries.iter().find(|(key, _)| key.name() == "fact") else {
            let help = match entries {
                [(key, _), ..] if key.name().contains('.') => {
                    format!(
                        "write `{{ fact: {}, equals: … }}`, or use the short form `when:` above it",
                        key.name()
                    )
                }
                [(key, _), ..] => choose(key.name(), &["and", "or", "not", "fact"]),
                [] => "write `{ fact: PATH, OPERATOR: VALUE }`".to_owned(),
            };
            let (code, at) = match entries {
                [(key, _), ..] => ("unknown-key", key.span),
                [] => ("empty-condition", node.span),
            };
            self.problems.report_code(
                code,
                at,
                "this is neither `and`, `or`, `not` nor a test of a fact",
                help,
            );
            return None;
        };
        let Value::Text(name) = &path.value else {
            self.wrong(path, "`fact` must be the path of a fact");
            return None;
        };
        let operators: Vec<_> = entries.iter().filter(|(key, _)| key.name() != "fact").collect();
        let (operator, value) = self.one_operator(path.span, &operators)?;
        let fact = Spanned::new(name.clone(), span(path.span));
        Some(ConditionSource::Test { fact, operator, value })
    }

    /// The short form: `PATH: VALUE` or `PATH: { OPERATOR: VALUE }`, all of which must hold.
    pub(crate) fn when(self, node: &Node) -> Option<ConditionSource> {
        let Value::Map(entries) = &node.value else {
            self.wrong(node, "`when` must be a mapping from facts to values");
            return None;
        };
        if entries.is_empty() {
            self.problems.report_code(
                "empty-condition",
                node.span,
                "`when` with nothing in it always holds",
                "write what must hold, such as `when: { session.private: true }`",
            );
            return None;
        }
        let tests: Vec<_> = entries.iter().map(|(key, value)| self.short(key, value)).collect();
        let of = tests.into_iter().collect::<Option<Vec<_>>>()?;
        Some(ConditionSource::All { span: span(node.span), of })
    }

    fn short(self, key: &Node, value: &Node) -> Option<ConditionSource> {
        if JOINS.contains(&key.name()) || key.name() == "fact" {
            self.problems.report_code(
                "unknown-key",
                key.span,
                format!("`{}` belongs to the long form", key.name()),
                "write `conditions:` in place of `when:`",
            );
            return None;
        }
        let fact = Spanned::new(key.name().to_owned(), span(key.span));
        let (operator, value) = match &value.value {
            Value::Map(operators) => self.one_operator(key.span, &operators.iter().collect::<Vec<_>>())?,
            _ => (Spanned::new("equals".to_owned(), span(value.span)), self.value(value)),
        };
        Some(ConditionSource::Test { fact, operator, value })
    }

    fn one_operator(self, fact: Span, operators: &[&(Node, Node)]) -> Option<(Spanned<String>, ValueSource)> {
        match operators {
            [(operator, value)] => {
                Some((Spanned::new(operator.name().to_owned(), span(operator.span)), self.value(value)))
            }
            [] => {
                self.problems.report_code(
                    "unknown-operator",
                    fact,
                    "this test has no operator",
                    format!("add one of {}", listed(&Operator::WORDS)),
                );
                None
            }
            [_, (second, _), ..] => {
                self.problems.report_code(
                    "unknown-operator",
                    second.span,
                    format!("a test has one operator, and `{}` is a second", second.name()),
                    "make it two tests: `conditions: { and: [{ fact: … }, { fact: … }] }`",
                );
                None
            }
        }
    }

    /// A value as written.
    pub(crate) fn value(self, node: &Node) -> ValueSource {
        let value = match &node.value {
            Value::Bool { value, .. } => Written::Bool(*value),
            Value::Number { defined } => match defined.of(self.text).parse() {
                Ok(number) => Written::Int(number),
                Err(_) => Written::Other("a number that is not whole"),
            },
            Value::Text(text) => Written::Text(text.clone()),
            Value::List(items) => Written::List(items.iter().map(|item| self.value(item)).collect()),
            Value::Null { .. } | Value::Map(_) => Written::Other(node.kind()),
        };
        ValueSource { span: span(node.span), value }
    }

    fn wrong(self, node: &Node, message: &str) {
        self.problems.report_code(
            "wrong-type",
            node.span,
            format!("{message}, not {}", node.kind()),
            "write `{ fact: session.private, equals: true }`",
        );
    }
}

/// A place as core counts it.
pub(crate) fn span(Span { start, end }: Span) -> policy::Span {
    policy::Span { start, end }
}

/// A place of core as the file counts it.
pub(crate) fn place(policy::Span { start, end }: policy::Span) -> Span {
    Span { start, end }
}

/// The condition as one reads it, without places: equal conditions are shown alike.
pub(crate) fn shown(condition: &ConditionSource) -> String {
    let joined = |of: &[ConditionSource], word: &str| {
        let parts: Vec<String> = of.iter().map(shown).collect();
        format!("({})", parts.join(word))
    };
    match condition {
        ConditionSource::All { of, .. } => joined(of, " and "),
        ConditionSource::Any { of, .. } => joined(of, " or "),
        ConditionSource::Not { of, .. } => format!("not {}", shown(of)),
        ConditionSource::Test { fact, operator, value } => {
            format!("{} {} {}", fact.value, operator.value, shown_value(value))
        }
    }
}

fn shown_value(value: &ValueSource) -> String {
    match &value.value {
        Written::Bool(value) => value.to_string(),
        Written::Int(value) => value.to_string(),
        Written::Text(text) => format!("{text:?}"),
        Written::List(items) => {
            format!("[{}]", items.iter().map(shown_value).collect::<Vec<_>>().join(", "))
        }
        Written::Other(what) => (*what).to_owned(),
    }
}
