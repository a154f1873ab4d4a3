//! The serde deserializer over [`Node`].

use std::fmt;

use highwater_notation::suggest::{choose, listed};
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use super::path::Path;
use super::shape::{self, Shape};
use super::tree::Trees;
use crate::diagnose::{Problem, Problems};
use crate::file::foreign;
use crate::node::{Node, Value};

/// Hands one node to serde.
#[derive(Clone, Copy)]
pub(super) struct Reader<'de, 'p> {
    pub(super) node: &'de Node,
    pub(super) text: &'de str,
    pub(super) path: &'p Path<'p>,
    pub(super) problems: &'de Problems,
    pub(super) trees: Option<&'p Trees<'de>>,
}

/// A problem that stops the reading of one value.
#[derive(Debug)]
pub(super) struct Fault(pub(super) Problem);

/// The names by which [`Field`](super::Field), [`Deliberate`](super::Deliberate),
/// [`Written`](super::Written), [`Scalar`](crate::human::Scalar), [`Tree`](super::Tree) and
/// [`OneOrMany`](super::OneOrMany) make themselves known to [`Reader`].
pub(super) const FIELD: &str = "highwater::Field";
pub(super) const WRITTEN: &str = "highwater::Written";
pub(super) const DELIBERATE: &str = "highwater::Deliberate";
pub(super) const SCALAR: &str = "highwater::Scalar";
pub(super) const JSON: &str = "highwater::Json";
pub(super) const SHAPED: &str = "highwater::Shaped";
pub(super) const TREE: &str = "highwater::Tree";
pub(super) const ONE_OR_MANY: &str = "highwater::OneOrMany";

const LIST: &str = "a list";
const TEXT: &str = "text";
const NUMBER: &str = "a whole number";
const MAPPING: &str = "a mapping of keys to values";
const SWITCH: &str = "`true` or `false`";

impl<'de> Reader<'de, '_> {
    fn wrong(self, expected: &str) -> Fault {
        let message = match &self.node.value {
            Value::Null { .. } => format!("{} must be {expected}, but is empty", self.path),
            _ => format!("{} must be {expected}, not {}", self.path, self.node.kind()),
        };
        Fault(Problem {
            code: Some("wrong-type"),
            message,
            help: self.remedy(expected),
            span: Some(self.node.span),
            also: None,
        })
    }

    /// The way out of the slips everybody makes.
    fn remedy(self, expected: &str) -> Option<String> {
        Some(match (expected, self.scalar()) {
            (LIST, Some(item)) => format!("write `[{item}]`"),
            (LIST, None) => "write `[…, …]`, or one item a line behind `-`".to_owned(),
            (SWITCH, Some("yes" | "on" | "1")) => "write `true`".to_owned(),
            (SWITCH, Some("no" | "off" | "0")) => "write `false`".to_owned(),
            (SWITCH, _) => format!("write {SWITCH}"),
            (TEXT, Some(_)) => "put it in quotes".to_owned(),
            (TEXT, None) => "write a single text".to_owned(),
            (NUMBER, _) => "write digits alone, such as `8`".to_owned(),
            (MAPPING, Some(word)) if self.path.last() == Some("trust") => match word {
                "verified" | "true" => "write `trust: { verified: true }`".to_owned(),
                "none" | "tool" | "agent" | "system" | "user" | "owner" => {
                    format!("write `trust: {{ server_trust: {word} }}`")
                }
                _ => "write `trust: { verified: true }`, or `trust: { server_trust: tool }`".to_owned(),
            },
            (MAPPING, _) => "write `key: value` pairs, each on a line of its own, or in `{ }`".to_owned(),
            _ => return None,
        })
    }

    /// A scalar as text; numbers and truth values as they were written.
    fn scalar(self) -> Option<&'de str> {
        match &self.node.value {
            Value::Text(text) => Some(text),
            Value::Bool { defined, .. } | Value::Number { defined } => {
                Some(defined.of(self.text).trim_matches(['"', '\'']))
            }
            Value::Null { .. } | Value::List(_) | Value::Map(_) => None,
        }
    }

    fn entries(self) -> Result<&'de [(Node, Node)], Fault> {
        match &self.node.value {
            Value::Map(entries) => Ok(entries),
            _ => Err(self.wrong(MAPPING)),
        }
    }

    fn report_unknown_key(self, key: &Node, known: &[&str]) {
        let message = match self.path {
            Path::Root => format!("unknown key `{}`", key.name()),
            place => format!("unknown key `{}` in {place}", key.name()),
        };
        let help = foreign::help(key.name(), known).unwrap_or_else(|| match choose(key.name(), known) {
            found if found.starts_with("did you mean") => found,
            _ => format!("the keys here are {}", listed(known)),
        });
        self.problems.report_unknown_key(self.path.to_string(), key.span, message, help);
    }
}

impl<'de> Deserializer<'de> for Reader<'de, '_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Null { .. } => visitor.visit_unit(),
            Value::Bool { value, .. } => visitor.visit_bool(*value),
            Value::Number { .. } | Value::Text(_) => visitor.visit_str(self.scalar().unwrap_or_default()),
            Value::List(_) => self.deserialize_seq(visitor),
            Value::Map(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Bool { value, .. } => visitor.visit_bool(*value),
            _ => Err(self.wrong(SWITCH)),
        }
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let number = match &self.node.value {
            Value::Number { .. } => self.scalar().and_then(|written| written.parse().ok()),
            _ => None,
        };
        visitor.visit_u64(number.ok_or_else(|| self.wrong(NUMBER))?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Text(text) => visitor.visit_str(text),
            _ => Err(self.wrong(TEXT)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match (name, &self.node.value) {
            (FIELD, Value::Null { .. }) => visitor.visit_unit(),
            (FIELD, _) => visitor.visit_seq(Located { reader: self, step: 0, forgiving: true }),
            // A list whose items were all commented out must not read as no list at all.
            (DELIBERATE, Value::Null { spelled: false }) => {
                self.problems.report(
                    self.node.span,
                    format!("{} is empty", self.path),
                    "write `[]` for none, or remove the key for all",
                );
                visitor.visit_none()
            }
            (DELIBERATE, _) => self.deserialize_newtype_struct(FIELD, visitor),
            (WRITTEN, _) => visitor.visit_seq(Located { reader: self, step: 0, forgiving: false }),
            (SCALAR, _) => visitor.visit_str(self.scalar().ok_or_else(|| self.wrong(TEXT))?),
            (JSON, node) => {
                visitor.visit_string(shape::json(self.node, node, self.text).map_err(Fault)?.to_string())
            }
            (SHAPED, _) => visitor.visit_seq(ShapeAndValue { reader: self, step: 0 }),
            (TREE, _) => match self.trees {
                Some(trees) => visitor.visit_u64(trees.keep(self.node)),
                None => Err(self.wrong("something else")),
            },
            (ONE_OR_MANY, Value::List(_)) => self.deserialize_seq(visitor),
            (ONE_OR_MANY, _) => visitor.visit_seq(Single(Some(self))),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::List(items) => visitor.visit_seq(Items { reader: self, items, index: 0 }),
            _ => Err(self.wrong(LIST)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let entries = self.entries()?;
        visitor.visit_map(Members { reader: self, entries, known: None, value: None })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let entries = self.entries()?;
        visitor.visit_map(Members { reader: self, entries, known: Some(known), value: None })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let word = self.scalar().ok_or_else(|| self.wrong(&format!("one of {}", listed(known))))?;
        if !known.contains(&word) {
            return Err(<Fault as de::Error>::unknown_variant(word, known).within(self));
        }
        visitor.visit_enum(de::value::StrDeserializer::<Fault>::new(word))
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u128 f32 f64 char bytes byte_buf option unit unit_struct tuple
        tuple_struct ignored_any
    }
}

/// Hands out where a value starts, where it ends, and the value.
struct Located<'de, 'p> {
    reader: Reader<'de, 'p>,
    step: u8,
    /// Report a wrong value and hand out none, instead of failing.
    forgiving: bool,
}

impl<'de> SeqAccess<'de> for Located<'de, '_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        self.step += 1;
        let span = self.reader.node.span;
        match self.step {
            1 => seed.deserialize(span.start.into_deserializer()).map(Some),
            2 => seed.deserialize(span.end.into_deserializer()).map(Some),
            _ => match seed.deserialize(self.reader).map_err(|fault| fault.within(self.reader)) {
                Ok(value) => Ok(Some(value)),
                Err(Fault(problem)) if self.forgiving => {
                    self.reader.problems.push(problem);
                    Ok(None)
                }
                Err(fault) => Err(fault),
            },
        }
    }
}

/// Hands out what a value is, and the value.
struct ShapeAndValue<'de, 'p> {
    reader: Reader<'de, 'p>,
    step: u8,
}

impl<'de> SeqAccess<'de> for ShapeAndValue<'de, '_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        self.step += 1;
        match self.step {
            1 => seed.deserialize(Shape::of(self.reader.node).word().into_deserializer()).map(Some),
            _ => seed.deserialize(self.reader).map_err(|fault| fault.within(self.reader)).map(Some),
        }
    }
}

struct Items<'de, 'p> {
    reader: Reader<'de, 'p>,
    items: &'de [Node],
    index: usize,
}

impl<'de> SeqAccess<'de> for Items<'de, '_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        let Some(node) = self.items.get(self.index) else { return Ok(None) };
        let path = Path::Item(self.reader.path, self.index);
        self.index += 1;
        seed.deserialize(Reader { node, path: &path, ..self.reader }).map(Some)
    }
}

/// Hands out one value as if it were a list of one.
struct Single<'de, 'p>(Option<Reader<'de, 'p>>);

impl<'de> SeqAccess<'de> for Single<'de, '_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        self.0.take().map(|reader| seed.deserialize(reader)).transpose()
    }
}

struct Members<'de, 'p> {
    reader: Reader<'de, 'p>,
    entries: &'de [(Node, Node)],
    /// The keys of a struct; `None` where the keys are names.
    known: Option<&'static [&'static str]>,
    value: Option<&'de (Node, Node)>,
}

impl<'de> MapAccess<'de> for Members<'de, '_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        while let [entry, rest @ ..] = self.entries {
            self.entries = rest;
            let key = &entry.0;
            match self.known {
                Some(known) if !known.contains(&key.name()) => self.reader.report_unknown_key(key, known),
                _ => {
                    self.value = Some(entry);
                    return seed.deserialize(Reader { node: key, ..self.reader }).map(Some);
                }
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let Some((key, node)) = self.value.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        let path = Path::Key(self.reader.path, key.name());
        seed.deserialize(Reader { node, path: &path, ..self.reader })
    }
}

// === impl Fault ===

impl Fault {
    /// Gives a fault that a value's own parser raised its subject and place.
    fn within(self, reader: Reader<'_, '_>) -> Self {
        match self.0.span {
            Some(_) => self,
            None => {
                let message = match self.0.code {
                    Some("outside-domain") => format!("{} for {}", self.0.message, reader.path),
                    _ => format!("{}: {}", reader.path, self.0.message),
                };
                Self(Problem { message, span: Some(reader.node.span), ..self.0 })
            }
        }
    }
}

impl de::Error for Fault {
    /// A second line of the message is its help.
    fn custom<T: fmt::Display>(message: T) -> Self {
        let text = message.to_string();
        let (message, help) = match text.split_once('\n') {
            Some((message, help)) => (message.to_owned(), Some(help.to_owned())),
            None => (text, None),
        };
        Self(Problem { message, help, ..Problem::default() })
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        Self(Problem {
            code: Some("outside-domain"),
            message: format!("unknown value `{word}`"),
            help: Some(choose(word, known)),
            ..Problem::default()
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Fault {}
