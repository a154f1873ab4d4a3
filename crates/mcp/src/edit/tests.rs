//! What `edit` promises, case by case.

use super::Edit::{Merge, Remove, Set};
use super::{Edit, edit_object, edit_object_into};

#[test]
fn untouched_members_keep_bytes_and_places() {
    let raw = " {\n  \"b\" : 1.50 ,\n  \"a\":[ 1e2 , {} ],\n\t\"c\":\"\\u0041\"\n} ";
    let table: &[(&[(&str, Edit<'_>)], &str)] = &[
        (&[], raw),
        (&[("x", Remove)], raw),
        (&[("b", Set("2"))], " {\n  \"b\" : 2 ,\n  \"a\":[ 1e2 , {} ],\n\t\"c\":\"\\u0041\"\n} "),
        (&[("b", Remove)], " {\n  \"a\":[ 1e2 , {} ],\n\t\"c\":\"\\u0041\"\n} "),
        (&[("a", Remove)], " {\n  \"b\" : 1.50,\n\t\"c\":\"\\u0041\"\n} "),
        (&[("c", Remove)], " {\n  \"b\" : 1.50 ,\n  \"a\":[ 1e2 , {} ]\n} "),
        (&[("b", Remove), ("a", Remove)], " {\n  \"c\":\"\\u0041\"\n} "),
        (&[("a", Remove), ("c", Remove)], " {\n  \"b\" : 1.50\n} "),
        (&[("b", Remove), ("c", Remove)], " {\n  \"a\":[ 1e2 , {} ]\n} "),
        (&[("a", Remove), ("b", Remove), ("c", Remove)], " {\n  \n} "),
        (
            &[("z", Set("0")), ("b", Remove), ("y", Set("{}"))],
            " {\n  \"a\":[ 1e2 , {} ],\n\t\"c\":\"\\u0041\",\"z\":0,\"y\":{}\n} ",
        ),
        (&[("a", Remove), ("b", Remove), ("c", Remove), ("d", Set("4"))], " {\n  \"d\":4\n} "),
    ];
    for (edits, expected) in table {
        assert_eq!(edit_object(raw, edits), *expected, "{edits:?}");
        let mut out = b"before".to_vec();
        edit_object_into(&mut out, raw, edits);
        assert_eq!(out, format!("before{expected}").into_bytes());
    }
}

#[test]
fn keys_are_compared_unescaped_and_written_escaped() {
    assert_eq!(edit_object(r#"{"\u0061":1}"#, &[("a", Set("2"))]), r#"{"\u0061":2}"#);
    assert_eq!(edit_object("{}", &[("a\"\n", Set("2"))]), r#"{"a\"\n":2}"#);
}

#[test]
fn a_merge_edits_the_object_inside() {
    let edits: &[(&str, Edit<'_>)] = &[("_meta", Merge(&[("k", Set("1")), ("dev.highwater/x", Remove)]))];
    let merged = |raw: &str| edit_object(raw, edits);
    assert_eq!(
        merged(r#"{"a":1, "_meta": { "dev.highwater/x":0, "t": 2 }}"#),
        r#"{"a":1, "_meta": { "t": 2,"k":1 }}"#
    );
    assert_eq!(merged(r#"{"a":1}"#), r#"{"a":1,"_meta":{"k":1}}"#);
    assert_eq!(merged(r#"{"_meta":null}"#), r#"{"_meta":{"k":1}}"#);
    let only_removes: &[(&str, Edit<'_>)] = &[("_meta", Merge(&[("k", Remove)]))];
    for (raw, expected) in [
        (r#"{"a":1}"#, r#"{"a":1}"#),
        (r#"{"_meta":5}"#, r#"{"_meta":5}"#),
        (r#"{"_meta":{"k":1}}"#, r#"{"_meta":{}}"#),
    ] {
        assert_eq!(edit_object(raw, only_removes), expected);
    }
    let nested: &[(&str, Edit<'_>)] = &[("a", Merge(&[("b", Merge(&[("c", Set("1"))])), ("d", Merge(&[]))]))];
    assert_eq!(edit_object("{}", nested), r#"{"a":{"b":{"c":1}}}"#);
}

#[test]
fn the_first_edit_of_a_key_counts() {
    assert_eq!(edit_object(r#"{"a":0}"#, &[("a", Set("1")), ("a", Set("2"))]), r#"{"a":1}"#);
    assert_eq!(edit_object("{}", &[("a", Set("1")), ("a", Set("2"))]), r#"{"a":1}"#);
    assert_eq!(edit_object("{}", &[("a", Remove), ("a", Set("2"))]), "{}");
}

#[test]
fn what_is_no_object_becomes_one_only_if_something_is_set() {
    for raw in ["null", "[1]", "\"{\"", ""] {
        assert_eq!(edit_object(raw, &[("a", Remove)]), raw);
        assert_eq!(edit_object(raw, &[("a", Set("1"))]), r#"{"a":1}"#);
    }
}
