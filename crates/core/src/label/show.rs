//! How a label is written down for people, the API and `_meta`.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::{Label, TextSet};
use crate::annotation::{ClassSet, DataClass};

/// A set of classes in the published spelling: plain words, and `{"regulated":{"scopes":[…]}}`.
struct Secrecy<'a> {
    classes: ClassSet,
    scopes: &'a TextSet,
    names: &'a TextSet,
    /// Whether the word `none` stands before them.
    none: bool,
}

/// Writes classes in the published spelling, `none` first where nothing at all is possible.
pub(crate) fn publish<S: Serializer>(
    classes: ClassSet,
    (scopes, names): (&TextSet, &TextSet),
    none: bool,
    to: S,
) -> Result<S::Ok, S::Error> {
    Secrecy { classes, scopes, names, none }.serialize(to)
}

struct Regulated<'a>(&'a TextSet);
struct Flags<'a>(&'a Label);

impl Serialize for Secrecy<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(None)?;
        if self.none {
            list.serialize_element("none")?;
        }
        for class in self.classes.iter() {
            match class {
                DataClass::Regulated => list.serialize_element(&Regulated(self.scopes))?,
                DataClass::Named => {
                    // Where others may be in it, the class itself says so.
                    if self.names.is_open() {
                        list.serialize_element(class.as_str())?;
                    }
                    for name in self.names.members() {
                        list.serialize_element(&**name)?;
                    }
                }
                DataClass::User
                | DataClass::Pii
                | DataClass::Financial
                | DataClass::Credentials
                | DataClass::Confidential
                | DataClass::Unclassified => list.serialize_element(class.as_str())?,
            }
        }
        list.end()
    }
}

impl Serialize for Regulated<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        struct Scopes<'a>(&'a TextSet);
        impl Serialize for Scopes<'_> {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let mut map = to.serialize_map(Some(1))?;
                map.serialize_entry("scopes", self.0)?;
                map.end()
            }
        }
        let mut map = to.serialize_map(Some(1))?;
        map.serialize_entry("regulated", &Scopes(self.0))?;
        map.end()
    }
}

impl Serialize for Flags<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let label = self.0;
        let flags = [
            (label.open_world(), "openWorld"),
            (label.malicious(), "malicious"),
            (label.wrote_externally(), "wroteExternally"),
            (label.scopes().is_open(), "scopesTruncated"),
            (label.origins().is_open(), "originsTruncated"),
        ];
        to.collect_seq(flags.iter().filter(|(set, _)| *set).map(|(_, name)| name))
    }
}

impl Serialize for Label {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(5))?;
        map.serialize_entry(
            "secrecy",
            &Secrecy { classes: self.classes(), scopes: &self.scopes, names: &self.names, none: false },
        )?;
        map.serialize_entry("integrity", &self.integrity())?;
        map.serialize_entry("origins", &self.origins)?;
        map.serialize_entry("flags", &Flags(self))?;
        map.serialize_entry("sources", &self.sources())?;
        map.end()
    }
}
