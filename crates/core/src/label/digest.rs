//! The fingerprint of a label, for where the label itself has no room.

use std::borrow::Cow;
use std::fmt;

use aws_lc_rs::digest::{Context, SHA256};
use highwater_notation::{from_hex, to_hex};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Label, TextSet};

/// What is hashed first, so that no other digest is one of a label.
const DOMAIN: &[u8] = b"highwater label 1";

/// SHA-256 over everything of a label: its bits, those of a newer build too, its scopes, its origins and the names of
/// its classes.
///
/// The same label has the same digest however it came about, and in every gateway; another label has another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LabelDigest([u8; 32]);

// === impl LabelDigest ===

impl LabelDigest {
    /// The digest of a label.
    pub fn of(label: &Label) -> Self {
        let mut context = Context::new(&SHA256);
        part(&mut context, DOMAIN);
        context.update(&label.bits.to_i64().to_be_bytes());
        for set in [&label.scopes, &label.origins] {
            texts(&mut context, set);
        }
        // Its bits say whether there are any: a label without them has the digest that it always had.
        if !label.names.is_empty() {
            texts(&mut context, &label.names);
        }
        let mut bytes = [0; 32];
        bytes.copy_from_slice(context.finish().as_ref());
        Self(bytes)
    }

    /// Reads the hexadecimal form, and no other.
    pub fn parse(text: &str) -> Option<Self> {
        from_hex(text).map(Self)
    }
}

/// A set, in its own order. That it is open is among the bits.
fn texts(context: &mut Context, set: &TextSet) {
    context.update(&(set.members().len() as u64).to_be_bytes());
    for text in set.members() {
        part(context, text.as_bytes());
    }
}

/// With the length in front, so that no text runs into the next.
fn part(context: &mut Context, bytes: &[u8]) {
    context.update(&(bytes.len() as u64).to_be_bytes());
    context.update(bytes);
}

impl fmt::Display for LabelDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

impl fmt::Debug for LabelDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for LabelDigest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LabelDigest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("no digest"))
    }
}
