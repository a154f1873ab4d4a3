//! Text to [`Node`]: the one place that knows which YAML parser is used.

use crate::diagnose::Problem;
use crate::load::COMMENT_HELP;
use crate::node::{Node, Span, Value};

/// Deeper nesting than this is no configuration; the bound keeps recursion over the tree shallow.
const MAX_DEPTH: usize = 32;
/// More values than this is no configuration either.
const MAX_NODES: usize = 200_000;
/// How much aliases may add up to; they repeat a few shared lines, not the file.
const MAX_REPEATED: usize = 20_000;

/// The column at which the names of servers stand in most files, counted from one.
const LEVEL_OF_NAMES: u64 = 3;

const TOO_LARGE: &str = "the file is nested too deeply, or too large";

/// Parses one YAML document; JSON is YAML.
///
/// Only the first fault can be reported: after it the parser has lost its place.
pub(crate) fn parse(text: &str) -> Result<Node, Problem> {
    use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
    use serde_saphyr::{Error, Location, Spanned};

    struct Raw(Value);

    struct RawVisitor;

    impl<'de> Deserialize<'de> for Raw {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(RawVisitor)
        }
    }

    impl<'de> Visitor<'de> for RawVisitor {
        type Value = Raw;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a value")
        }

        fn visit_unit<E>(self) -> Result<Raw, E> {
            Ok(Raw(Value::Null { spelled: true }))
        }

        fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
            Ok(Raw(Value::Bool { value, defined: Span::default() }))
        }

        fn visit_u64<E>(self, _: u64) -> Result<Raw, E> {
            Ok(Raw(Value::Number { defined: Span::default() }))
        }

        fn visit_i64<E>(self, _: i64) -> Result<Raw, E> {
            Ok(Raw(Value::Number { defined: Span::default() }))
        }

        fn visit_f64<E>(self, _: f64) -> Result<Raw, E> {
            Ok(Raw(Value::Number { defined: Span::default() }))
        }

        fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
            Ok(Raw(Value::Text(value.to_owned())))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
            let mut list = Vec::new();
            while let Some(item) = items.next_element::<Spanned<Raw>>()? {
                list.push(node(item));
            }
            Ok(Raw(Value::List(list)))
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
            let mut map = Vec::new();
            while let Some((key, value)) = entries.next_entry::<Spanned<String>, Spanned<Raw>>()? {
                map.push((Node { span: span(&key.referenced), value: Value::Text(key.value) }, node(value)));
            }
            Ok(Raw(Value::Map(map)))
        }
    }

    /// Errors point to where a value is used; its text stands where it was defined. Aliases make the two differ.
    fn node(raw: Spanned<Raw>) -> Node {
        let defined = span(&raw.defined);
        let value = match raw.value.0 {
            Value::Null { .. } => Value::Null { spelled: defined.start < defined.end },
            Value::Bool { value, .. } => Value::Bool { value, defined },
            Value::Number { .. } => Value::Number { defined },
            other => other,
        };
        Node { span: span(&raw.referenced), value }
    }

    fn span(location: &Location) -> Span {
        let offset = |n: Option<u64>| n.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let start = offset(location.span().byte_offset());
        Span { start, end: start + offset(location.span().byte_len()) }
    }

    let options = serde_saphyr::options! {
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
        budget: serde_saphyr::budget! { max_depth: MAX_DEPTH, max_nodes: MAX_NODES, max_documents: 2 },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_REPEATED, max_replay_stack_depth: 8 },
    };
    serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options).map(node).map_err(|error| {
        let (message, help) = match &error {
            Error::DuplicateMappingKey { key: Some(key), .. } => {
                // Two servers whose keys stand at the level of their names have each of them twice.
                let is_part = matches!(key.as_str(), "command" | "args" | "url" | "env" | "headers")
                    && error.location().is_some_and(|location| location.column() <= LEVEL_OF_NAMES);
                let help = "the keys of a server are indented further than its name";
                (format!("duplicate key `{key}`"), is_part.then(|| help.to_owned()))
            }
            Error::MultipleDocuments { .. } => (
                "the file holds more than one YAML document".to_owned(),
                Some("remove the `---` line, and what follows it".to_owned()),
            ),
            Error::NullIntoString { .. } | Error::Unexpected { .. } => {
                ("a key must be text".to_owned(), None)
            }
            Error::Budget { .. } => (TOO_LARGE.to_owned(), None),
            Error::RecursiveReferencesRequireWeakTypes { .. } => {
                ("an anchor cannot be used inside itself".to_owned(), None)
            }
            other => explain(&other.to_string()),
        };
        // Syntax errors know their line and column alone.
        let at = error.location().map(|l| {
            let found = span(&l);
            match l.span().byte_offset() {
                Some(_) => found,
                None => at_position(text, l.line(), l.column()),
            }
        });
        let help = help.or_else(|| comment_help(text));
        let code = matches!(error, Error::DuplicateMappingKey { .. }).then_some("duplicate-key");
        Problem { code, message, help, span: at, also: None }
    })
}

/// Turns the parser's own sentence into ours: without its position, which is shown as a caret.
fn explain(sentence: &str) -> (String, Option<String>) {
    let text = sentence.split_once(" at line ").map_or(sentence, |(text, _)| text).replace('\'', "`");
    if text.contains("limit exceeded") {
        return (TOO_LARGE.to_owned(), None);
    }
    let help = if text.contains("tabs disallowed") || text.contains("tab character") {
        Some("indent with spaces")
    } else if text.contains("mapping values are not allowed") {
        Some("quote a value that contains `: `")
    } else if ["`@`", "`%`", "```"].iter().any(|sign| text.contains(sign)) {
        Some("quote a value that starts with `@`, `%` or a backtick")
    } else {
        None
    };
    (format!("this is not valid YAML: {text}"), help.map(str::to_owned))
}

/// Editors allow `//` comments in their JSON, and people paste them.
fn comment_help(text: &str) -> Option<String> {
    let commented = text.lines().any(|line| line.contains("//") && !line.contains("://"));
    commented.then(|| COMMENT_HELP.to_owned())
}

/// The place of a line and column, both counted from one, columns in characters.
fn at_position(text: &str, line: u64, column: u64) -> Span {
    let index = |n: u64| usize::try_from(n.saturating_sub(1)).unwrap_or(usize::MAX);
    let mut offset = 0;
    for (number, content) in text.split_inclusive('\n').enumerate() {
        if number == index(line) {
            let within: usize = content.chars().take(index(column)).map(char::len_utf8).sum();
            return Span { start: offset + within, end: offset + within };
        }
        offset += content.len();
    }
    Span { start: text.len(), end: text.len() }
}
