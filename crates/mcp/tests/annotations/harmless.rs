//! Labels cannot be lowered by a server that nobody verified: for every vocabulary, declaring everything harmless
//! is no better than silence. A verified server is believed, where its vocabulary can loosen at all.

use std::collections::{BTreeMap, BTreeSet};

use highwater_mcp::annotations::known_keys;

use crate::contract::{annotated, milder, silence, unverified, verified, weighed};
use crate::table::HARMLESS;

/// Keys that only requests carry.
const OF_REQUESTS: &[&str] = &["io.modelcontextprotocol/flowOrigin"];

#[test]
fn an_unverified_server_gains_nothing_by_declaring_everything_harmless() {
    for (vocabulary, harmless, _) in HARMLESS {
        let contract = weighed(&annotated(harmless), unverified());
        assert_eq!(milder(&contract, &silence(unverified())), [""; 0], "{vocabulary}");
    }
}

#[test]
fn a_verified_server_is_believed() {
    for (vocabulary, harmless, believed) in HARMLESS {
        let contract = weighed(&annotated(harmless), verified());
        assert_eq!(&milder(&contract, &silence(verified())), believed, "{vocabulary}");
    }
}

#[test]
fn no_vocabularies_together_help_an_unverified_server() {
    let mut members: BTreeMap<String, String> = BTreeMap::new();
    for (_, harmless, _) in HARMLESS {
        for (key, raw) in highwater_mcp::text::members(&format!("{{{harmless}}}")) {
            members.insert(key.into_owned(), raw.to_owned());
        }
    }
    let all: Vec<String> = members.iter().map(|(key, raw)| format!(r#""{key}":{raw}"#)).collect();
    let contract = weighed(&annotated(&all.join(",")), unverified());
    assert_eq!(milder(&contract, &silence(unverified())), [""; 0]);
}

#[test]
fn no_single_value_of_any_key_helps_an_unverified_server() {
    let values = [
        "true",
        "false",
        "null",
        "0",
        "1",
        "[]",
        "{}",
        r#""none""#,
        r#""low""#,
        r#""high""#,
        r#""public""#,
        r#""trusted""#,
        r#""read""#,
        r#""auto""#,
        r#""benign""#,
        r#""ephemeral""#,
        r#"["benign","ephemeral","none"]"#,
        r#"{"required":"none"}"#,
        r#"{"acceptFrom":["unverified","tofu"]}"#,
        r#"{"effect":"read-only","egress":"none","dataSensitivity":"public"}"#,
        r#"{"destination":"ephemeral","sensitivity":["pii"],"outcomes":"benign","source":"system"}"#,
    ];
    for (_, key) in known_keys() {
        for value in values {
            let contract = weighed(&annotated(&format!(r#""{key}":{value}"#)), unverified());
            assert_eq!(milder(&contract, &silence(unverified())), [""; 0], "{key}: {value}");
        }
    }
}

#[test]
fn every_key_of_every_vocabulary_is_among_them() {
    let mut declared: BTreeSet<(&str, String)> = BTreeSet::new();
    for (vocabulary, harmless, _) in HARMLESS {
        let members = format!("{{{harmless}}}");
        declared
            .extend(highwater_mcp::text::members(&members).map(|(key, _)| (*vocabulary, key.into_owned())));
    }
    for (vocabulary, key) in known_keys().filter(|(_, key)| !OF_REQUESTS.contains(key)) {
        assert!(declared.contains(&(vocabulary, key.to_owned())), "{vocabulary}: {key}");
    }
}
