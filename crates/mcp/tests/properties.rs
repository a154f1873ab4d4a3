//! Properties over generated and mutated JSON; what they check is in [`invariants`].

#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod invariants;

use std::collections::HashSet;

use bytes::Bytes;
use highwater_mcp::frame::Frame;
use highwater_mcp::scan::ScanRules;
use highwater_mcp::text::unquote;
use proptest::bool::weighted;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Whitespace, mostly none.
fn space() -> impl Strategy<Value = String> {
    prop_oneof![6 => Just(String::new()), 1 => "[ \t\r\n]{1,3}"]
}

/// String literals, with escapes and halves of characters among them. Few keys, so that some collide.
fn key() -> impl Strategy<Value = String> {
    const KEYS: &[&str] = &[
        "a",
        "b",
        "c",
        r"\u0061",
        r"\u0062",
        "name",
        "arguments",
        "_meta",
        "Name",
        "id",
        "k\u{212a}",
        "",
        r"\n",
        "resultType",
        r"\\u0061",
        "dev.highwater/x",
    ];
    prop_oneof![8 => select(KEYS).prop_map(|key| format!("\"{key}\"")), 2 => string(), 1 => "\"[a-z]{1,40}\""]
}

fn string() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "x",
        "plain text of some length, longer than a word",
        "é",
        "😀",
        r"\n",
        r#"\""#,
        r"\\",
        r"\/",
        r"\u0000",
        r"\ud83d\ude00",
        r"\ud83d",
        r"\ude00",
        "\u{2028}",
        "{",
        "]",
        ",",
        ":",
    ];
    vec(select(PIECES), 0..6).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        select(&["null", "true", "false", "0", "-0", "1.50", "1e2", "-1E-7", "123456789012345678901234567890"][..])
            .prop_map(str::to_owned),
        any::<i64>().prop_map(|n| n.to_string()),
        string(),
    ]
}

/// Any JSON; with `unique` no key comes twice.
fn json(unique: bool) -> impl Strategy<Value = String> {
    scalar().prop_recursive(4, 24, 6, move |inner| {
        prop_oneof![
            (vec((space(), inner.clone(), space()), 0..6), space()).prop_map(|(items, space)| {
                let items: Vec<_> = items.into_iter().map(|(a, item, b)| format!("{a}{item}{b}")).collect();
                format!("[{space}{}]", items.join(","))
            }),
            object(inner, 6, unique),
        ]
    })
}

fn object(value: impl Strategy<Value = String>, most: usize, unique: bool) -> impl Strategy<Value = String> {
    let member = (space(), key(), space(), space(), value, space());
    (vec(member, 0..most), space()).prop_map(move |(mut members, space)| {
        let mut seen = HashSet::new();
        // Half a character in a key would have the whole object refused.
        let mut is_new = |key: &str| {
            unquote(key).is_some_and(|key| !key.contains('\u{fffd}') && seen.insert(key.into_owned()))
        };
        members.retain(|(_, key, ..)| !unique || is_new(key));
        let members: Vec<_> = members
            .into_iter()
            .map(|(a, key, b, c, value, d)| format!("{a}{key}{b}:{c}{value}{d}"))
            .collect();
        format!("{{{space}{}}}", members.join(","))
    })
}

/// Messages, most of them well-formed.
fn message() -> impl Strategy<Value = String> {
    let id =
        prop_oneof![string(), any::<u64>().prop_map(|n| n.to_string()), Just("null".to_owned()), scalar()];
    let body = select(&["params", "result", "error"][..]);
    (id, body, object(json(true), 20, true), weighted(0.9)).prop_map(|(id, body, value, fits)| {
        let method = if fits == (body == "params") { r#""method":"tools/call","# } else { "" };
        format!(r#"{{"jsonrpc":"2.0","id":{id},{method}"{body}":{value}}}"#)
    })
}

#[derive(Clone, Debug)]
enum Mutation {
    Overwrite(Index, u8),
    Insert(Index, u8),
    Delete(Index),
    Cut(Index),
    Double(Index, Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let byte = prop_oneof![any::<u8>(), select(&b"\"\\{}[]:,u0-.e \n\0\x1f\xed\xff"[..])];
    prop_oneof![
        (any::<Index>(), byte.clone()).prop_map(|(at, byte)| Mutation::Overwrite(at, byte)),
        (any::<Index>(), byte).prop_map(|(at, byte)| Mutation::Insert(at, byte)),
        any::<Index>().prop_map(Mutation::Delete),
        any::<Index>().prop_map(Mutation::Cut),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Mutation::Double(from, to)),
    ]
}

fn mutate(text: &str, mutations: &[Mutation]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for mutation in mutations {
        let length = bytes.len() + 1;
        match mutation {
            Mutation::Insert(at, byte) => bytes.insert(at.index(length), *byte),
            _ if bytes.is_empty() => {}
            Mutation::Overwrite(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Mutation::Delete(at) => {
                bytes.remove(at.index(bytes.len()));
            }
            Mutation::Cut(at) => bytes.truncate(at.index(length)),
            Mutation::Double(from, to) => {
                let (from, to) = (from.index(length), to.index(length));
                let piece = bytes[from.min(to)..from.max(to)].to_vec();
                bytes.splice(from..from, piece);
            }
        }
    }
    bytes
}

fn edit_line() -> impl Strategy<Value = String> {
    let place = select(&["a", "b", "name", "_meta", "_meta.a", "_meta.dev", "c.b", "new", "k.new", ""][..]);
    (place, proptest::option::of(json(true))).prop_map(|(place, value)| match value {
        Some(value) => format!("={place} {}", value.replace(['\n', '\r'], " ")),
        None => format!("-{place}"),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_scan_agrees_with_serde_json(text in any::<bool>().prop_flat_map(json), mutations in vec(mutation(), 0..3)) {
        invariants::frame_holds(&mutate(&text, &mutations));
    }

    #[test]
    fn a_frame_shows_what_serde_json_reads(text in message(), mutations in vec(mutation(), 0..2)) {
        invariants::frame_holds(text.as_bytes());
        invariants::frame_holds(&mutate(&text, &mutations));
    }

    #[test]
    fn an_edit_changes_what_it_names_and_nothing_else(
        object in object(json(true), 20, true),
        edits in vec(edit_line(), 0..5),
    ) {
        let object = object.replace(['\n', '\r'], " ");
        invariants::edit_holds(format!("{object}\n{}", edits.join("\n")).as_bytes());
    }

    #[test]
    fn an_edit_of_garbage_does_not_panic(
        object in object(json(true), 20, true),
        mutations in vec(mutation(), 1..4),
        edit in edit_line(),
    ) {
        let mut script = mutate(&object.replace(['\n', '\r'], " "), &mutations);
        script.push(b'\n');
        script.extend_from_slice(edit.as_bytes());
        invariants::edit_holds(&script);
    }

    #[test]
    fn ids_arguments_and_metadata_come_out_as_they_went_in(
        id in prop_oneof!["[1-9][0-9]{0,40}", "-[1-9][0-9]{0,40}", "\"[ -!#-\\[\\]-~é]{0,20}\""],
        arguments in prop_oneof![Just("{ \"z\":1.50,\"a\":12345678901234567890123456789012 }".to_owned()), "\\{\"[a-z]{1,9}\" : [1-9][0-9]{20,40} \\}"],
    ) {
        let text = format!(
            r#"{{"id":{id},"params":{{"_meta":{{"x":{arguments}}},"arguments":{arguments}}},"method":"m","jsonrpc":"2.0"}}"#
        );
        let frame = Frame::parse(Bytes::from(text), &ScanRules::FROM_CLIENT).expect("a message");
        prop_assert_eq!(frame.id(), Some(id.as_str()));
        prop_assert_eq!(frame.param("arguments"), Some(arguments.as_str()));
        prop_assert_eq!(frame.meta("x"), Some(arguments.as_str()));
    }
}
