//! Changes named members of one object and copies every other byte.

use crate::text::{MemberSpans, is_object, key_is, quote, quote_into};

/// What becomes of one member.
#[derive(Clone, Copy, Debug)]
pub enum Edit<'a> {
    /// Gives the member this value, as JSON text. A missing member is appended.
    Set(&'a str),
    /// Drops the member.
    Remove,
    /// Edits the object that the member holds. A member that is missing or holds something else becomes an
    /// object made of what these edits set; if they set nothing it stays as it is.
    Merge(&'a [(&'a str, Edit<'a>)]),
}

/// The object with its edits applied. New members come last, in the order of the edits; everything that
/// no edit names keeps its bytes and its place, whitespace included.
///
/// A key should be named by one edit; the first counts. Text that is no object is treated as
/// [`Edit::Merge`] treats such a member.
pub fn edit_object(raw: &str, edits: &[(&str, Edit<'_>)]) -> String {
    let mut out = String::with_capacity(raw.len() + added_length(edits));
    edit(&mut out, raw, edits);
    out
}

/// Like [`edit_object`], appended to a buffer.
pub fn edit_object_into(out: &mut Vec<u8>, raw: &str, edits: &[(&str, Edit<'_>)]) {
    out.reserve(raw.len() + added_length(edits));
    edit(out, raw, edits);
}

/// A text with one part of it, borrowed from it, replaced. Nothing if the part is not from there.
pub fn replace_part(whole: &str, part: &str, with: &str) -> Option<String> {
    let span = crate::scan::span_in(whole, part)?;
    let (before, after) = (whole.get(..span.start)?, whole.get(span.end..)?);
    let mut out = String::with_capacity(before.len() + with.len() + after.len());
    out.push_str(before);
    out.push_str(with);
    out.push_str(after);
    Some(out)
}

/// A buffer that takes text.
trait Sink {
    fn text(&mut self, text: &str);

    /// A key in its quotes.
    fn key(&mut self, key: &str) {
        self.text(&quote(key));
    }
}

impl Sink for String {
    fn text(&mut self, text: &str) {
        self.push_str(text);
    }

    fn key(&mut self, key: &str) {
        quote_into(self, key);
    }
}

impl Sink for Vec<u8> {
    fn text(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }
}

fn edit(out: &mut impl Sink, raw: &str, edits: &[(&str, Edit<'_>)]) {
    if !is_object(raw.trim_start()) {
        if sets_anything(edits) {
            build(out, edits);
        } else {
            out.text(raw);
        }
        return;
    }
    let mut copy = Copy { out, raw, copied: 0 };
    let mut met = vec![false; edits.len()];
    // End of the last member, removed or not, and whether one before it was kept.
    let mut previous_end = raw.find('{').map_or(0, |brace| brace + 1);
    let mut kept_any = false;
    let mut skip_separator = false;
    for span in MemberSpans::new(raw) {
        if std::mem::take(&mut skip_separator) {
            copy.skip_to(span.key.start);
        }
        let named = edits.iter().position(|(key, _)| key_is(raw, &span.key, key));
        match named.and_then(|index| edits.get(index)).map(|(_, edit)| edit) {
            Some(Edit::Remove) => {
                // One comma goes with the member: the one before it, or, for the first, the one after.
                if kept_any {
                    copy.up_to(previous_end);
                } else {
                    copy.up_to(span.key.start);
                    skip_separator = true;
                }
                copy.skip_to(span.value.end);
            }
            Some(Edit::Set(value)) => {
                copy.up_to(span.value.start);
                copy.out.text(value);
                copy.skip_to(span.value.end);
                kept_any = true;
            }
            Some(Edit::Merge(inner)) => {
                copy.up_to(span.value.start);
                edit(copy.out, raw.get(span.value.clone()).unwrap_or_default(), inner);
                copy.skip_to(span.value.end);
                kept_any = true;
            }
            None => kept_any = true,
        }
        if let Some(met) = named.and_then(|index| met.get_mut(index)) {
            *met = true;
        }
        previous_end = span.value.end;
    }
    copy.up_to(previous_end);
    append_missing(copy.out, edits, &met, kept_any);
    copy.up_to(raw.len());
}

/// Copies the original piece by piece.
struct Copy<'a, S: Sink> {
    out: &'a mut S,
    raw: &'a str,
    copied: usize,
}

impl<S: Sink> Copy<'_, S> {
    fn up_to(&mut self, end: usize) {
        self.out.text(self.raw.get(self.copied..end).unwrap_or_default());
        self.copied = self.copied.max(end);
    }

    fn skip_to(&mut self, position: usize) {
        self.copied = position;
    }
}

/// Writes the members that are set and were not met, and the commas they need.
fn append_missing(out: &mut impl Sink, edits: &[(&str, Edit<'_>)], met: &[bool], mut comma: bool) {
    for (index, (key, edit)) in edits.iter().enumerate() {
        let named_before = edits.iter().take(index).any(|(other, _)| other == key);
        if met.get(index) == Some(&true) || named_before || !sets(edit) {
            continue;
        }
        if std::mem::replace(&mut comma, true) {
            out.text(",");
        }
        out.key(key);
        out.text(":");
        match edit {
            Edit::Set(value) => out.text(value),
            Edit::Merge(inner) => build(out, inner),
            Edit::Remove => {}
        }
    }
}

/// Writes an object of what the edits set.
fn build(out: &mut impl Sink, edits: &[(&str, Edit<'_>)]) {
    out.text("{");
    append_missing(out, edits, &[], false);
    out.text("}");
}

fn sets(edit: &Edit<'_>) -> bool {
    match edit {
        Edit::Set(_) => true,
        Edit::Remove => false,
        Edit::Merge(inner) => sets_anything(inner),
    }
}

fn sets_anything(edits: &[(&str, Edit<'_>)]) -> bool {
    edits.iter().any(|(_, edit)| sets(edit))
}

/// Room for what the edits add, so that a large object is not moved when it grows.
fn added_length(edits: &[(&str, Edit<'_>)]) -> usize {
    edits
        .iter()
        .map(|(key, edit)| {
            key.len()
                + 8
                + match edit {
                    Edit::Set(value) => value.len(),
                    Edit::Remove => 0,
                    Edit::Merge(inner) => added_length(inner),
                }
        })
        .sum()
}

#[cfg(test)]
mod tests;
