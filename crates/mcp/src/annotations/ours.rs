//! Keys in our own name. Nobody else may write them: what arrives with one is stripped of it.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::edit::{Edit, edit_object};
use crate::era::meta_key::OURS;
use crate::scan::span_in;
use crate::text::{elements, is_array, is_object, members};

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

/// A result without our keys in the `_meta` of its blocks, of their resources, of its messages.
///
/// Rare, and therefore simple: [`reply_says`](super::reply_says) tells when it is needed.
pub fn without_ours_in_blocks(result: &str) -> String {
    stripped_members(result, &["content", "contents", "messages"])
}

/// The object with these members stripped, wherever they hold blocks.
fn stripped_members(object: &str, keys: &[&str]) -> String {
    let held =
        members(object).filter(|(key, raw)| keys.contains(&&**key) && (is_array(raw) || is_object(raw)));
    let stripped: Vec<(String, String)> = held.map(|(key, raw)| (key.into_owned(), stripped(raw))).collect();
    let edits: Vec<(&str, Edit<'_>)> =
        stripped.iter().map(|(key, raw)| (key.as_str(), Edit::Set(raw))).collect();
    edit_object(object, &edits)
}

/// A block, or a list of blocks, without our keys.
fn stripped(raw: &str) -> String {
    if !is_array(raw) {
        let block = stripped_members(raw, &["resource", "content"]);
        let forged = crate::text::member(&block, "_meta").map(forged).unwrap_or_default();
        let mut removals = Vec::new();
        remove(&forged, &mut removals);
        return edit_object(&block, &[("_meta", Edit::Merge(&removals))]);
    }
    let mut out = String::with_capacity(raw.len());
    let mut copied = 0;
    for (element, span) in elements(raw).filter_map(|element| Some((element, span_in(raw, element)?))) {
        out.push_str(raw.get(copied..span.start).unwrap_or_default());
        out.push_str(&if is_object(element) { stripped(element) } else { element.to_owned() });
        copied = span.end;
    }
    out.push_str(raw.get(copied..).unwrap_or_default());
    out
}

/// Edits that take these keys away, unless others put something in their place.
pub(super) fn remove<'a>(keys: &'a [String], edits: &mut Vec<(&'a str, Edit<'a>)>) {
    for key in keys {
        if !edits.iter().any(|(named, _)| named == key) {
            edits.push((key, Edit::Remove));
        }
    }
}
