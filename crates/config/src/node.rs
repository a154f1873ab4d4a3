//! The parsed file as a tree in which every key and value knows where it was written.

/// A range of bytes in the text of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last.
    pub end: usize,
}

/// One value of the file.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) value: Value,
}

#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// `null`, `~`, or nothing at all after the colon; `spelled` tells the first two from the last.
    Null {
        spelled: bool,
    },
    Bool {
        value: bool,
        defined: Span,
    },
    /// A number is kept as the place where it was written: `1.10` is not `1.1` once it is an argument.
    Number {
        defined: Span,
    },
    Text(String),
    List(Vec<Node>),
    /// Keys and values in the order of the file. A key is always text; the parser has refused duplicates.
    Map(Vec<(Node, Node)>),
}

impl Span {
    /// The text of this place.
    pub(crate) fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }

    /// The same place in a text that starts `by` bytes later.
    pub(crate) fn moved(self, by: usize) -> Self {
        Self { start: self.start + by, end: self.end + by }
    }

    /// The place of `part` within this place, or all of it.
    pub(crate) fn narrow(self, text: &str, part: &str) -> Self {
        match self.of(text).find(part) {
            Some(offset) => Self { start: self.start + offset, end: self.start + offset + part.len() },
            None => self,
        }
    }
}

impl Node {
    /// This with another pasted into it. Mappings are merged, and lists joined that stand at the top of a file, where they
    /// hold things beside each other; everything else is replaced.
    pub(crate) fn with_pasted(self, pasted: Self, is_root: bool) -> Self {
        match (self.value, pasted.value) {
            (Value::Map(mut entries), Value::Map(others)) => {
                for (key, other) in others {
                    let Some(place) = entries.iter().position(|(known, _)| known.name() == key.name()) else {
                        entries.push((key, other));
                        continue;
                    };
                    let (known, value) = entries.remove(place);
                    let value = match (value.value, other.value) {
                        (Value::List(mut items), Value::List(more)) if is_root => {
                            items.extend(more);
                            Self { span: value.span, value: Value::List(items) }
                        }
                        (held, other_value) => Self { span: value.span, value: held }
                            .with_pasted(Self { span: other.span, value: other_value }, false),
                    };
                    entries.insert(place, (known, value));
                }
                Self { span: self.span, value: Value::Map(entries) }
            }
            (_, value) => Self { span: pasted.span, value },
        }
    }

    /// The name a key stands for.
    pub(crate) fn name(&self) -> &str {
        match &self.value {
            Value::Text(name) => name,
            _ => "",
        }
    }

    /// The places of all literal values under `env`, `headers`, `postgres` and `webhook`, which is where people put secrets. A value
    /// that takes its secret from a variable shows nothing.
    pub(crate) fn secrets(&self, text: &str) -> Vec<Span> {
        let mut found = Vec::new();
        self.collect_secrets(text, false, &mut found);
        found
    }

    fn collect_secrets(&self, text: &str, guarded: bool, found: &mut Vec<Span>) {
        match &self.value {
            Value::List(items) => items.iter().for_each(|item| item.collect_secrets(text, guarded, found)),
            Value::Map(entries) => {
                for (key, value) in entries {
                    value.collect_secrets(
                        text,
                        guarded || matches!(key.name(), "env" | "headers" | "postgres" | "webhook"),
                        found,
                    );
                }
            }
            Value::Text(_) | Value::Number { .. } if guarded && !self.span.of(text).contains("${") => {
                found.push(self.span);
            }
            Value::Null { .. } | Value::Bool { .. } | Value::Number { .. } | Value::Text(_) => {}
        }
    }

    /// The places where a comment of JSON has become part of a key or a value, which YAML allows: after
    /// `[a, // why` and a line break, `b]` would be one argument that nobody wrote.
    pub(crate) fn swallowed_comments(&self, text: &str) -> Vec<Span> {
        match &self.value {
            Value::Text(_) => {
                let written = self.span.of(text);
                let comment = written.starts_with("//") || written.starts_with("/*");
                if comment && written.contains(char::is_whitespace) { vec![self.span] } else { Vec::new() }
            }
            Value::List(items) => items.iter().flat_map(|item| item.swallowed_comments(text)).collect(),
            Value::Map(entries) => {
                let both = entries.iter().flat_map(|(key, value)| [key, value]);
                both.flat_map(|node| node.swallowed_comments(text)).collect()
            }
            Value::Null { .. } | Value::Bool { .. } | Value::Number { .. } => Vec::new(),
        }
    }

    /// The value of a key, if this is a mapping that has it.
    pub(crate) fn member(&self, name: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|(key, _)| key.name() == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The same tree, read from a text that starts `by` bytes later.
    pub(crate) fn moved(self, by: usize) -> Self {
        let value = match self.value {
            Value::Bool { value, defined } => Value::Bool { value, defined: defined.moved(by) },
            Value::Number { defined } => Value::Number { defined: defined.moved(by) },
            Value::List(items) => Value::List(items.into_iter().map(|item| item.moved(by)).collect()),
            Value::Map(entries) => {
                Value::Map(entries.into_iter().map(|(key, value)| (key.moved(by), value.moved(by))).collect())
            }
            other @ (Value::Null { .. } | Value::Text(_)) => other,
        };
        Self { span: self.span.moved(by), value }
    }

    /// What this value is, in the words of a message.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null { .. } => "nothing",
            Value::Bool { .. } => "true or false",
            Value::Number { .. } => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}
