//! Parts of the file that serde cannot describe, such as conditions: they are taken as they stand.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use super::Written;
use super::reader::{ONE_OR_MANY, TREE};
use crate::node::Node;

/// A part of the file as it was parsed. It is kept beside the shapes, because serde can only carry its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tree(usize);

/// The parts that were taken as they stand.
#[derive(Debug, Default)]
pub(crate) struct Trees<'t>(RefCell<Vec<&'t Node>>);

/// One value or a list of values; the file does not tell one value from a list of one.
#[derive(Debug, Clone)]
pub(crate) struct OneOrMany<T>(pub(crate) Vec<Written<T>>);

// === impl Trees ===

impl<'t> Trees<'t> {
    /// Keeps a part and gives it a number.
    pub(super) fn keep(&self, node: &'t Node) -> u64 {
        let mut kept = self.0.borrow_mut();
        kept.push(node);
        kept.len() as u64 - 1
    }

    /// The part behind the number.
    pub(crate) fn node(&self, tree: Tree) -> Option<&'t Node> {
        self.0.borrow().get(tree.0).copied()
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TreeVisitor;

        impl Visitor<'_> for TreeVisitor {
            type Value = Tree;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Tree, E> {
                usize::try_from(number).map(Tree).map_err(E::custom)
            }
        }

        deserializer.deserialize_newtype_struct(TREE, TreeVisitor)
    }
}

// === impl OneOrMany ===

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ManyVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ManyVisitor<T> {
            type Value = OneOrMany<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or a list of values")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(OneOrMany(list))
            }
        }

        deserializer.deserialize_newtype_struct(ONE_OR_MANY, ManyVisitor(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("One_or_many_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        schemars::json_schema!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
    }
}
