//! Reads JSON text that has been scanned, without parsing it into values.
//!
//! Everything here is total: on text that is not JSON a function returns nothing and an iterator stops.
//! Nothing here validates; that is [`scan`](crate::scan)'s task.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use memchr::memchr;

use crate::scan::plain_length;

/// A string up to this length is looked at word by word; a longer one is worth a search.
const SHORT: usize = 32;

/// The text of a JSON string literal.
///
/// Half a surrogate pair, which servers may send inside a value, reads as U+FFFD: what inspects text must
/// see the rest of it.
pub fn unquote(raw: &str) -> Option<Cow<'_, str>> {
    // Most are short and plain: what stands between the quotes is the text.
    if let Some(inner) = raw.get(1..raw.len().saturating_sub(1))
        && inner.len() <= SHORT
        && raw.starts_with('"')
        && raw.ends_with('"')
        && plain_length(inner.as_bytes()) == inner.len()
    {
        return Some(Cow::Borrowed(inner));
    }
    let end = skip_string(raw.as_bytes(), 0)?;
    if end != raw.len() {
        return None;
    }
    unescape(raw.get(1..end - 1)?)
}

/// The JSON string literal of a text.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote_into(&mut out, text);
    out
}

/// Appends the JSON string literal of a text.
pub fn quote_into(out: &mut String, text: &str) {
    out.push('"');
    // Most texts are plain.
    if plain_length(text.as_bytes()) == text.len() {
        out.push_str(text);
        out.push('"');
        return;
    }
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        let (plain, special) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        let mut after = special.chars();
        match after.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some(control) => out.push_str(&format!("\\u{:04x}", u32::from(control))),
            None => {}
        }
        rest = after.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// The members of an object, in order: unescaped key and raw value.
pub fn members(object: &str) -> Members<'_> {
    Members { text: object, spans: MemberSpans::new(object) }
}

/// The elements of an array, in order, raw.
pub fn elements(array: &str) -> Elements<'_> {
    let start = skip_whitespace(array.as_bytes(), 0);
    let opened = array.as_bytes().get(start) == Some(&b'[');
    Elements { text: array, next: opened.then_some(start + 1), first: true }
}

/// The raw value of one member of an object.
pub fn member<'a>(object: &'a str, key: &str) -> Option<&'a str> {
    let mut spans = MemberSpans::new(object);
    spans.find(|found| key_is(object, &found.key, key)).and_then(|found| object.get(found.value))
}

/// The raw value at the end of a path of keys and array positions.
pub fn pointer<'a>(raw: &'a str, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(raw, |raw, step| {
        if is_array(raw) { elements(raw).nth(step.parse().ok()?) } else { member(raw, step) }
    })
}

/// The text of one member of an object, if it is a string.
pub fn string_member<'a>(object: &'a str, key: &str) -> Option<Cow<'a, str>> {
    unquote(member(object, key)?)
}

/// The value of an integer that fits. A fraction or an exponent is no integer here.
pub fn integer(raw: &str) -> Option<i64> {
    let digits = raw.strip_prefix('-').unwrap_or(raw);
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| raw.parse().ok())?
}

pub fn is_object(raw: &str) -> bool {
    raw.starts_with('{')
}

pub fn is_array(raw: &str) -> bool {
    raw.starts_with('[')
}

pub fn is_string(raw: &str) -> bool {
    raw.starts_with('"')
}

pub fn is_number(raw: &str) -> bool {
    raw.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

pub fn is_true(raw: &str) -> bool {
    raw == "true"
}

pub fn is_false(raw: &str) -> bool {
    raw == "false"
}

pub fn is_null(raw: &str) -> bool {
    raw == "null"
}

/// Iterator of [`members`].
#[derive(Clone, Debug)]
pub struct Members<'a> {
    text: &'a str,
    spans: MemberSpans<'a>,
}

/// Iterator of [`elements`].
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    text: &'a str,
    next: Option<usize>,
    first: bool,
}

/// Where the members of an object are.
#[derive(Clone, Debug)]
pub(crate) struct MemberSpans<'a> {
    bytes: &'a [u8],
    next: Option<usize>,
    first: bool,
}

/// Where one member is. The key's span includes its quotes.
#[derive(Clone, Debug)]
pub(crate) struct MemberSpan {
    pub(crate) key: Range<usize>,
    pub(crate) value: Range<usize>,
}

// === impl Members ===

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let span = self.spans.next()?;
        let key = unquote(self.text.get(span.key)?)?;
        Some((key, self.text.get(span.value)?))
    }
}

// === impl Elements ===

impl<'a> Iterator for Elements<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        let start = next_item(bytes, self.next.take()?, &mut self.first, b']')?;
        let end = skip_value(bytes, start)?;
        self.next = Some(end);
        self.text.get(start..end)
    }
}

// === impl MemberSpans ===

impl<'a> MemberSpans<'a> {
    pub(crate) fn new(object: &'a str) -> Self {
        let bytes = object.as_bytes();
        let start = skip_whitespace(bytes, 0);
        let opened = bytes.get(start) == Some(&b'{');
        Self { bytes, next: opened.then_some(start + 1), first: true }
    }
}

impl Iterator for MemberSpans<'_> {
    type Item = MemberSpan;

    fn next(&mut self) -> Option<MemberSpan> {
        let key_start = next_item(self.bytes, self.next.take()?, &mut self.first, b'}')?;
        let key_end = skip_string(self.bytes, key_start)?;
        let colon = skip_whitespace(self.bytes, key_end);
        if self.bytes.get(colon) != Some(&b':') {
            return None;
        }
        let value_start = skip_whitespace(self.bytes, colon + 1);
        let value_end = skip_value(self.bytes, value_start)?;
        self.next = Some(value_end);
        Some(MemberSpan { key: key_start..key_end, value: value_start..value_end })
    }
}

/// Whether a key, given with its quotes, is this one.
pub(crate) fn key_is(text: &str, span: &Range<usize>, key: &str) -> bool {
    let Some(inner) = text.get(span.start + 1..span.end.saturating_sub(1)) else { return false };
    // An escape is longer than what it stands for. So only a longer spelling needs to be unescaped, and
    // most keys are told apart by their length.
    match inner.len().cmp(&key.len()) {
        Ordering::Less => false,
        Ordering::Equal => inner == key && memchr(b'\\', inner.as_bytes()).is_none(),
        Ordering::Greater => {
            memchr(b'\\', inner.as_bytes()).is_some() && unescape(inner).is_some_and(|text| text == key)
        }
    }
}

/// Where the next member or element starts; nothing at the end of the container.
fn next_item(bytes: &[u8], at: usize, first: &mut bool, close: u8) -> Option<usize> {
    let at = skip_whitespace(bytes, at);
    let byte = *bytes.get(at)?;
    if byte == close {
        return None;
    }
    if std::mem::take(first) {
        return Some(at);
    }
    (byte == b',').then(|| skip_whitespace(bytes, at + 1))
}

fn skip_whitespace(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

/// The end of the string that opens at `at`.
fn skip_string(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    // Most strings are short and plain, and end before a search has begun.
    let body = bytes.get(at..)?;
    let plain = plain_length(body.get(..SHORT).unwrap_or(body));
    if body.get(plain) == Some(&b'"') {
        return Some(at + plain + 1);
    }
    let mut from = at;
    loop {
        let quote = from + memchr(b'"', bytes.get(from..)?)?;
        // Looking back from the quote beats stopping at every escape: quotes are rarer than escapes. A
        // run of backslashes is counted once, since it ends at this quote.
        let run = bytes.get(at..quote)?.iter().rev().take_while(|byte| **byte == b'\\').count();
        if run % 2 == 0 {
            return Some(quote + 1);
        }
        from = quote + 1;
        at = from;
    }
}

/// The end of the value that starts at `at`.
fn skip_value(bytes: &[u8], at: usize) -> Option<usize> {
    match *bytes.get(at)? {
        b'"' => skip_string(bytes, at),
        b'{' | b'[' => skip_container(bytes, at),
        _ => {
            let rest = bytes.get(at..)?;
            let length = rest
                .iter()
                .position(|byte| {
                    matches!(byte, b',' | b']' | b'}' | b':' | b'"' | b' ' | b'\t' | b'\n' | b'\r')
                })
                .unwrap_or(rest.len());
            (length > 0).then_some(at + length)
        }
    }
}

fn skip_container(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match *bytes.get(at)? {
            b'"' => {
                at = skip_string(bytes, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// The text of what stands between the quotes of a literal.
pub(crate) fn unescape(inner: &str) -> Option<Cow<'_, str>> {
    let Some(first) = memchr(b'\\', inner.as_bytes()) else { return Some(Cow::Borrowed(inner)) };
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    let mut next = Some(first);
    while let Some(at) = next {
        let (plain, escape) = rest.split_at_checked(at)?;
        out.push_str(plain);
        let mut after = escape.chars();
        after.next();
        match after.next()? {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'u' => {
                let (c, tail) = unescape_unicode(after.as_str())?;
                out.push(c);
                after = tail.chars();
            }
            c @ ('"' | '\\' | '/') => out.push(c),
            _ => return None,
        }
        rest = after.as_str();
        next = memchr(b'\\', rest.as_bytes());
    }
    out.push_str(rest);
    Some(Cow::Owned(out))
}

/// The character whose four hexadecimal digits open the text, its second half included if it has one.
fn unescape_unicode(text: &str) -> Option<(char, &str)> {
    let (unit, tail) = hex4(text)?;
    if !(0xD800..0xE000).contains(&unit) {
        return Some((char::from_u32(unit)?, tail));
    }
    let second = tail.strip_prefix("\\u").and_then(hex4).filter(|(low, _)| (0xDC00..0xE000).contains(low));
    match second {
        Some((low, tail)) if unit < 0xDC00 => {
            Some((char::from_u32(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))?, tail))
        }
        _ => Some((char::REPLACEMENT_CHARACTER, tail)),
    }
}

fn hex4(text: &str) -> Option<(u32, &str)> {
    let (digits, tail) = text.split_at_checked(4)?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u32::from_str_radix(digits, 16).ok())?.map(|unit| (unit, tail))
}

#[cfg(test)]
mod tests;
