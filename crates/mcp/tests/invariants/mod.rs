//! What holds for any bytes at all. The property tests, the corpus test and the fuzz targets share it.

use std::collections::HashSet;
use std::fmt;

use bytes::Bytes;
use highwater_mcp::edit::{Edit, edit_object, edit_object_into};
use highwater_mcp::frame::{Frame, FrameKind};
use highwater_mcp::scan::{ScanRules, Violation, scan_value};
use highwater_mcp::{text, text::unquote};
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A scan agrees with serde_json about what is JSON, and with [`Strict`] about what is unambiguous; a
/// frame shows what serde_json reads.
pub(crate) fn frame_holds(data: &[u8]) {
    let lenient =
        std::str::from_utf8(data).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
    for rules in [ScanRules::FROM_CLIENT, ScanRules::FROM_SERVER] {
        match scan_value(data, &rules) {
            Ok(accepted) => {
                assert!(lenient, "accepted, though it is no JSON");
                assert_eq!(accepted.as_bytes(), data);
            }
            Err(error) => {
                let is_syntax = matches!(
                    error.violation,
                    Violation::NotUtf8
                        | Violation::ByteOrderMark
                        | Violation::Syntax(_)
                        | Violation::TrailingBytes
                );
                assert!(!(is_syntax && lenient), "refused as no JSON: {error}");
                assert_eq!(is_syntax, error.code() == -32700);
                assert!(error.offset <= data.len());
            }
        }
        if let Ok(frame) = Frame::parse(Bytes::copy_from_slice(data), &rules) {
            assert!(scan_value(data, &rules).is_ok());
            shows_what_serde_reads(&frame);
        }
    }
    let accepted = scan_value(data, &ScanRules::FROM_CLIENT);
    match strictly_read(data, ScanRules::FROM_CLIENT.max_depth) {
        // The scan counts the bytes and values too, which the reader does not.
        Some(true) => assert!(accepted.is_ok() || data.len() > 1_000_000, "refused: {accepted:?}"),
        Some(false) => assert!(accepted.is_err(), "accepted, though it is ambiguous"),
        None => {}
    }
    if let Ok(text) = std::str::from_utf8(data) {
        reading_is_total(text);
    }
}

fn shows_what_serde_reads(frame: &Frame) {
    assert_eq!(
        frame.method().is_some(),
        matches!(frame.kind(), FrameKind::Request | FrameKind::Notification)
    );
    assert!(
        frame.kind() == FrameKind::Error || frame.id().is_some() || frame.kind() == FrameKind::Notification
    );
    // A number beyond every float, or half a character, is more than a `Value` can hold.
    let Ok(root) = serde_json::from_slice::<Value>(frame.bytes()) else { return };
    let read = |raw: Option<&str>| raw.map(|raw| serde_json::from_str::<Value>(raw).expect("a part is JSON"));
    assert_eq!(root.get("jsonrpc"), Some(&Value::from("2.0")));
    assert_eq!(read(frame.id()).as_ref(), root.get("id").filter(|id| !id.is_null()));
    assert_eq!(frame.method(), root.get("method").and_then(Value::as_str));
    assert_eq!(read(frame.params()).as_ref(), root.get("params").filter(|_| frame.method().is_some()));
    assert_eq!(read(frame.result()).as_ref(), root.get("result"));
    assert_eq!(read(frame.error()).as_ref(), root.get("error"));
    for (part, raw) in [("params", frame.params()), ("result", frame.result()), ("error", frame.error())] {
        let Some(body) = raw.and(root.get(part)).and_then(Value::as_object) else { continue };
        for (key, value) in body {
            let member = match part {
                "params" => frame.param(key),
                "result" => frame.result_member(key),
                _ => frame.error_member(key),
            };
            assert_eq!(read(member).as_ref(), Some(value), "{part}.{key}");
            let found = raw.and_then(|raw| text::member(raw, key));
            assert_eq!(found, member);
        }
        for (key, value) in body.get("_meta").and_then(Value::as_object).into_iter().flatten() {
            assert_eq!(read(frame.meta(key)).as_ref(), Some(value), "_meta.{key}");
        }
    }
    if let Some(part) = frame.params().or(frame.result()).or(frame.error()) {
        assert_eq!(frame.slice(part).as_ptr(), part.as_ptr());
    }
}

/// Nothing that reads raw text may panic or run on, whatever the text is.
fn reading_is_total(raw: &str) {
    let members: Vec<_> = text::members(raw).collect();
    let elements = text::elements(raw).count();
    assert!(members.len() + elements <= raw.len());
    for (key, value) in &members {
        assert!(unquote(&text::quote(key)).as_deref() == Some(key));
        let _ = (unquote(value), text::pointer(value, &["0", "a"]));
    }
    let _ = (unquote(raw), text::member(raw, "a"), text::integer(raw));
    assert_eq!(unquote(&text::quote(raw)).as_deref(), Some(raw));
}

/// An edit script: the object on the first line, then one edit per line. `-key` removes, `=key value`
/// sets, `-key.inner` and `=key.inner value` do so inside an object.
///
/// Parsing the output equals editing the parsed input, and what no edit names keeps its bytes.
pub(crate) fn edit_holds(data: &[u8]) {
    let Ok(script) = std::str::from_utf8(data) else { return };
    let mut lines = script.split('\n');
    let raw = lines.next().unwrap_or_default();
    let edits: Vec<(&str, Vec<(&str, Edit<'_>)>)> = lines.take(40).filter_map(edit_of_line).collect();
    let edits: Vec<(&str, Edit<'_>)> = edits
        .iter()
        .map(|(key, inner)| match inner.as_slice() {
            [("", edit)] => (*key, *edit),
            inner => (*key, Edit::Merge(inner)),
        })
        .collect();

    let edited = edit_object(raw, &edits);
    let mut appended = b"x".to_vec();
    edit_object_into(&mut appended, raw, &edits);
    assert_eq!(appended.get(1..), Some(edited.as_bytes()));

    if scan_value(raw.as_bytes(), &ScanRules::FROM_SERVER).is_err() || !text::is_object(raw.trim_start()) {
        return;
    }
    scan_value(edited.as_bytes(), &ScanRules { max_depth: 200, ..ScanRules::FROM_SERVER })
        .expect("still strict JSON");
    if let Ok(Value::Object(mut expected)) = serde_json::from_str(raw)
        && apply(&mut expected, &edits).is_some()
    {
        assert_eq!(serde_json::from_str::<Value>(&edited).ok(), Some(Value::Object(expected)), "{edited}");
    }
    // Untouched members: same bytes, same order, before all that is new.
    let named = |key: &str| edits.iter().any(|(named, _)| *named == key);
    let before: Vec<_> = text::members(raw).filter(|(key, _)| !named(key)).collect();
    let after: Vec<_> = text::members(&edited).filter(|(key, _)| !named(key)).collect();
    assert_eq!(before, after);
    if edits.iter().all(|(key, edit)| matches!(edit, Edit::Remove) && text::member(raw, key).is_none()) {
        assert_eq!(edited, raw);
    }
}

fn edit_of_line(line: &str) -> Option<(&str, Vec<(&str, Edit<'_>)>)> {
    let (place, edit) = match line.split_at_checked(1)? {
        ("-", place) => (place, Edit::Remove),
        ("=", rest) => {
            let (place, value) = rest.split_once(' ')?;
            scan_value(value.as_bytes(), &ScanRules::FROM_CLIENT).ok()?;
            (place, Edit::Set(value))
        }
        _ => return None,
    };
    if place.contains("$serde_json::private::") {
        return None;
    }
    let (key, inner) = place.split_once('.').unwrap_or((place, ""));
    Some((key, vec![(inner, edit)]))
}

/// The edits on a parsed object; nothing if a value cannot be parsed.
fn apply(object: &mut Map<String, Value>, edits: &[(&str, Edit<'_>)]) -> Option<()> {
    for (index, (key, edit)) in edits.iter().enumerate() {
        if edits.iter().take(index).any(|(earlier, _)| earlier == key) {
            continue;
        }
        match edit {
            Edit::Set(value) => {
                object.insert((*key).to_owned(), serde_json::from_str(value).ok()?);
            }
            Edit::Remove => {
                object.remove(*key);
            }
            Edit::Merge(inner) => {
                let mut made = Map::new();
                apply(&mut made, inner)?;
                match object.get_mut(*key) {
                    Some(Value::Object(found)) => apply(found, inner)?,
                    _ if made.is_empty() => {}
                    _ => {
                        object.insert((*key).to_owned(), Value::Object(made));
                    }
                }
            }
        }
    }
    Some(())
}

/// Whether serde_json reads the bytes with no key twice and no more depth than allowed; nothing if it
/// stumbles over a number that is merely large.
fn strictly_read(data: &[u8], max_depth: usize) -> Option<bool> {
    let mut reader = serde_json::Deserializer::from_slice(data);
    match Strict(max_depth).deserialize(&mut reader).and_then(|()| reader.end()) {
        Ok(()) => Some(true),
        Err(error) if error.to_string().starts_with("number out of range") => None,
        Err(_) => Some(false),
    }
}

/// Reads any value and refuses a key that comes twice.
struct Strict(usize);

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unambiguous JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let inner = self.0.checked_sub(1).ok_or_else(|| A::Error::custom("too deep"))?;
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            // serde_json takes such a key for an instruction to itself; the scan refuses it.
            if key.starts_with("$serde_json::private::") || !seen.insert(key) {
                return Err(A::Error::custom("key twice"));
            }
            map.next_value_seed(Strict(inner))?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let inner = self.0.checked_sub(1).ok_or_else(|| A::Error::custom("too deep"))?;
        while seq.next_element_seed(Strict(inner))?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
