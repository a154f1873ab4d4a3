//! Keys in our own name. Nobody else may write them: what arrives with one is stripped of it.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::edit::Edit;
use crate::era::meta_key::OURS;
use crate::text::members;

/// The vocabulary that our own keys belong to, in remarks.
pub(super) const NAME: &str = "highwater";

/// What a tool does, as we judge it.
pub const CONTRACT: &str = "dev.highwater/contract";
/// The hints of a tool as its server wrote them, where we wrote others.
pub const DECLARED: &str = "dev.highwater/declared";
/// The label of a reply and of the session it came into.
pub const LABEL: &str = "dev.highwater/label";
/// The decision by which a reply was released.
pub const DECISION: &str = "dev.highwater/decision";
/// What would become of a call.
pub const OUTLOOK: &str = "dev.highwater/outlook";

/// The keys of a `_meta` that only we may write.
pub fn forged(meta: &str) -> Vec<String> {
    // Nearly every message is without. A key may be written with escapes.
    static SPELT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(OURS));
    if SPELT.find(meta.as_bytes()).is_none() && memchr::memchr(b'\\', meta.as_bytes()).is_none() {
        return Vec::new();
    }
    members(meta).filter(|(key, _)| key.starts_with(OURS)).map(|(key, _)| key.into_owned()).collect()
}

/// Edits that take these keys away, unless others put something in their place.
pub(super) fn remove<'a>(keys: &'a [String], edits: &mut Vec<(&'a str, Edit<'a>)>) {
    for key in keys {
        if !edits.iter().any(|(named, _)| named == key) {
            edits.push((key, Edit::Remove));
        }
    }
}
