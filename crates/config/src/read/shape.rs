//! Values that may be written in more than one way, and values that are passed on as JSON.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use super::reader::{JSON, SHAPED};
use crate::diagnose::Problem;
use crate::node::{Node, Value};

/// What a value looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Nothing stands there.
    Nothing,
    /// A truth value.
    Switch,
    /// A number.
    Number,
    /// Text.
    Text,
    /// A list.
    List,
    /// A mapping of keys to values.
    Mapping,
}

/// A type that reads itself in one way or another, depending on what stands there.
pub trait FromShape: Sized {
    /// Reads the value by asking `value` for its next element, once, as the type that fits the shape.
    ///
    /// # Errors
    ///
    /// What reading that type complains about, or that the shape does not fit at all.
    fn from_shape<'de, A: SeqAccess<'de>>(shape: Shape, value: A) -> Result<Self, A::Error>;
}

/// A value that is read by its [`FromShape`].
#[derive(Debug, Clone)]
pub struct Shaped<T>(pub T);

/// Any value, as JSON. Numbers stay exactly what was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Json(pub serde_json::Value);

// === impl Shape ===

impl Shape {
    const ALL: [Self; 6] = [Self::Nothing, Self::Switch, Self::Number, Self::Text, Self::List, Self::Mapping];

    pub(super) fn of(node: &Node) -> Self {
        match &node.value {
            Value::Null { .. } => Self::Nothing,
            Value::Bool { .. } => Self::Switch,
            Value::Number { .. } => Self::Number,
            Value::Text(_) => Self::Text,
            Value::List(_) => Self::List,
            Value::Map(_) => Self::Mapping,
        }
    }

    /// The word by which the shape crosses serde.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Switch => "true or false",
            Self::Number => "a number",
            Self::Text => "text",
            Self::List => "a list",
            Self::Mapping => "a mapping",
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

// === impl Shaped ===

impl<'de, T: FromShape> Deserialize<'de> for Shaped<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ShapedVisitor<T>(PhantomData<T>);

        impl<'de, T: FromShape> Visitor<'de> for ShapedVisitor<T> {
            type Value = Shaped<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
                let word: String = parts.next_element()?.unwrap_or_default();
                let shape = Shape::ALL.into_iter().find(|shape| shape.word() == word);
                let shape = shape.ok_or_else(|| de::Error::custom("a value is needed here"))?;
                T::from_shape(shape, parts).map(Shaped)
            }
        }

        deserializer.deserialize_newtype_struct(SHAPED, ShapedVisitor(PhantomData))
    }
}

// === impl Json ===

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct JsonVisitor;

        impl Visitor<'_> for JsonVisitor {
            type Value = Json;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Json, E> {
                serde_json::from_str(text).map(Json).map_err(E::custom)
            }
        }

        deserializer.deserialize_newtype_struct(JSON, JsonVisitor)
    }
}

/// A node as JSON. `node` gives the place for complaints about `value`, which is its own.
pub(super) fn json(node: &Node, value: &Value, text: &str) -> Result<serde_json::Value, Problem> {
    Ok(match value {
        Value::Null { .. } => serde_json::Value::Null,
        Value::Bool { value, .. } => (*value).into(),
        Value::Number { defined } => {
            let written = defined.of(text);
            serde_json::from_str(written).map_err(|_| Problem {
                code: Some("wrong-type"),
                message: format!("`{written}` is not a number of JSON"),
                help: Some("quote it if it is text".to_owned()),
                span: Some(node.span),
                also: None,
            })?
        }
        Value::Text(text) => text.as_str().into(),
        Value::List(items) => {
            let items = items.iter().map(|item| json(item, &item.value, text));
            items.collect::<Result<Vec<_>, _>>()?.into()
        }
        Value::Map(entries) => {
            let member = |(key, member): &(Node, Node)| {
                Ok((key.name().to_owned(), json(member, &member.value, text)?))
            };
            serde_json::Value::Object(entries.iter().map(member).collect::<Result<_, _>>()?)
        }
    })
}
