//! [`Node`] to the shapes of the file, by serde, reporting every problem instead of the first.
//!
//! Unknown keys are reported and skipped. A [`Field`] whose value is wrong becomes [`Field::Broken`], and
//! reading goes on with the next.

mod path;
mod reader;
mod shape;
mod tree;

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use self::path::Path;
use self::reader::{DELIBERATE, FIELD, Reader, SCALAR, WRITTEN};
pub use self::shape::{FromShape, Json, Shape, Shaped};
pub(crate) use self::tree::{OneOrMany, Tree, Trees};
use crate::diagnose::Problems;
use crate::human::Scalar;
use crate::node::{Node, Span};

/// A value and the place where it was written.
#[derive(Debug, Clone)]
pub struct Written<T> {
    /// Where it stands.
    pub span: Span,
    /// What stands there.
    pub value: T,
}

/// A key of the file: not there, there but wrong (and reported), or read.
#[derive(Debug, Clone, Default)]
pub enum Field<T> {
    /// The key is not there, or nothing stands behind it.
    #[default]
    Absent,
    /// The value is wrong, and was reported.
    Broken,
    /// The value.
    Read(Written<T>),
}

/// A field where nothing after the colon is an error, because leaving it out means the opposite of an empty list.
#[derive(Debug, Clone)]
pub(crate) struct Deliberate<T>(pub(crate) Field<T>);

/// A mapping whose keys are the operator's own names, in the order of the file.
#[derive(Debug, Clone)]
pub struct Entries<T>(pub Vec<(Written<String>, T)>);

/// Reads the whole file. `None` means that nothing in it could be read, and that it was reported.
pub(crate) fn read<'t, T: Deserialize<'t>>(
    node: &'t Node,
    text: &'t str,
    problems: &'t Problems,
) -> Option<T> {
    let reader = Reader { node, text, path: &Path::Root, problems, trees: None };
    T::deserialize(reader).map_err(|fault| problems.push(fault.0)).ok()
}

/// Reads a file of which parts are taken as they stand; these are found in `trees`.
pub(crate) fn read_with_trees<'t, T: Deserialize<'t>>(
    node: &'t Node,
    text: &'t str,
    problems: &'t Problems,
    trees: &Trees<'t>,
) -> Option<T> {
    let reader = Reader { node, text, path: &Path::Root, problems, trees: Some(trees) };
    T::deserialize(reader).map_err(|fault| problems.push(fault.0)).ok()
}

/// Reads one such part, which messages call `name`.
pub(crate) fn read_part<'t, T: Deserialize<'t>>(
    name: &'static str,
    node: &'t Node,
    text: &'t str,
    problems: &'t Problems,
    trees: &Trees<'t>,
) -> Option<Written<T>> {
    let reader = Reader { node, text, path: &Path::Part(name), problems, trees: Some(trees) };
    match Field::deserialize(reader) {
        Ok(Field::Read(written)) => Some(written),
        Ok(Field::Absent) => {
            problems.report(node.span, format!("{name} is empty"), "write it out, or remove it");
            None
        }
        Ok(Field::Broken) => None,
        Err(fault) => {
            problems.push(fault.0);
            None
        }
    }
}

// === impl Field ===

impl<T> Field<T> {
    /// The value with its place, if there is one.
    pub fn read(&self) -> Option<&Written<T>> {
        match self {
            Field::Read(written) => Some(written),
            Field::Absent | Field::Broken => None,
        }
    }

    /// Whether nothing was written.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Field::Absent)
    }

    /// The value, if there is one.
    pub fn value(&self) -> Option<&T> {
        self.read().map(|written| &written.value)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(FIELD, LocatedVisitor(PhantomData))
    }
}

impl<T> Default for Deliberate<T> {
    fn default() -> Self {
        Self(Field::Absent)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Deliberate<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(DELIBERATE, LocatedVisitor(PhantomData)).map(Self)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_newtype_struct(WRITTEN, LocatedVisitor(PhantomData))? {
            Field::Read(written) => Ok(written),
            Field::Absent | Field::Broken => Err(de::Error::custom("a value is needed here")),
        }
    }
}

struct LocatedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for LocatedVisitor<T> {
    type Value = Field<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Field::Absent)
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(Field::Broken)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let start = parts.next_element()?.unwrap_or_default();
        let end = parts.next_element()?.unwrap_or_default();
        Ok(match parts.next_element()? {
            Some(value) => Field::Read(Written { span: Span { start, end }, value }),
            None => Field::Broken,
        })
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ScalarVisitor;

        impl Visitor<'_> for ScalarVisitor {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }

            fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(text.to_owned()))
            }
        }

        deserializer.deserialize_newtype_struct(SCALAR, ScalarVisitor)
    }
}

// === impl Entries ===

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
            type Value = Entries<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = members.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

// === schemas: a place is nothing the operator writes ===

macro_rules! schema_of_inner {
    ($wrapper:ident) => {
        impl<T: JsonSchema> JsonSchema for $wrapper<T> {
            fn inline_schema() -> bool {
                T::inline_schema()
            }

            fn schema_name() -> Cow<'static, str> {
                T::schema_name()
            }

            fn schema_id() -> Cow<'static, str> {
                T::schema_id()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                T::json_schema(generator)
            }
        }
    };
}

schema_of_inner!(Field);
schema_of_inner!(Deliberate);
schema_of_inner!(Written);

impl<T: JsonSchema> JsonSchema for Entries<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Map_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": generator.subschema_for::<T>() })
    }
}
