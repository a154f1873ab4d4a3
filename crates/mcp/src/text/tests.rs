//! What `text` promises, case by case.

use super::{elements, integer, is_object, member, members, pointer, quote, string_member, unquote};

#[test]
fn quoting_and_unquoting_are_inverse() {
    for text in ["", "plain", "\"", "\\", "a\\\"b\n\r\t\u{0}\u{1f}\u{7f}é\u{2028}😀", "\\u0041", "/"] {
        let quoted = quote(text);
        assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text);
        assert_eq!(unquote(&quoted).as_deref(), Some(text));
        assert_eq!(unquote(&serde_json::to_string(text).unwrap()).as_deref(), Some(text));
    }
}

#[test]
fn escapes_are_read_as_json_reads_them() {
    assert_eq!(unquote(r#""\u0041\/\b\f\ud83d\ude00\\u0041""#).as_deref(), Some("A/\u{8}\u{c}😀\\u0041"));
}

#[test]
fn half_a_character_hides_nothing_around_it() {
    assert_eq!(unquote(r#""a\ud83db""#).as_deref(), Some("a\u{fffd}b"));
    assert_eq!(unquote(r#""\ud83d\ud83d\ude00""#).as_deref(), Some("\u{fffd}😀"));
    assert_eq!(unquote(r#""\ude00\ud83d\n""#).as_deref(), Some("\u{fffd}\u{fffd}\n"));
}

#[test]
fn garbage_reads_as_nothing() {
    for raw in [
        "",
        "\"",
        "a",
        "\"a",
        "\"a\"b",
        "\"a\" ",
        "\"\\\"",
        "\"\\u00\"",
        "\"\\u+041\"",
        "\"\\ué12\"",
        "\"\\x\"",
        "5",
    ] {
        assert_eq!(unquote(raw), None, "{raw}");
    }
    for raw in ["", "{", "[", "}", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":{", "{1:2}", "{,}", "nul", "é"]
    {
        assert_eq!(members(raw).count(), 0, "{raw}");
        assert_eq!(member(raw, "a"), None, "{raw}");
    }
    assert_eq!(elements("[1,2").collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(elements("[1,,2]").collect::<Vec<_>>(), ["1"]);
    assert_eq!(elements("{}").count(), 0);
}

#[test]
fn members_come_in_order_with_their_bytes() {
    let object = " { \"b\" : 1.0 ,\"\\u0061\":\"x\\\\\" , \"c\":{ \"d\":[ \"}\" ] },\"\":null } ";
    let found: Vec<_> = members(object).collect();
    let expected = [("b", "1.0"), ("a", "\"x\\\\\""), ("c", "{ \"d\":[ \"}\" ] }"), ("", "null")];
    assert_eq!(found.iter().map(|(key, value)| (key.as_ref(), *value)).collect::<Vec<_>>(), expected);
    assert_eq!(member(object, "a"), Some("\"x\\\\\""));
    assert_eq!(member(object, ""), Some("null"));
    assert_eq!(member(object, "\\u0061"), None);
    assert_eq!(string_member(object, "a").as_deref(), Some("x\\"));
    assert_eq!(string_member(object, "b"), None);
}

#[test]
fn elements_come_in_order_with_their_bytes() {
    let array = " [ 1 , \"a,]\" ,[2],{ \"x\" : 3 }, true ] ";
    assert_eq!(elements(array).collect::<Vec<_>>(), ["1", "\"a,]\"", "[2]", "{ \"x\" : 3 }", "true"]);
    assert_eq!(elements("[]").count(), 0);
}

#[test]
fn a_pointer_walks_objects_and_arrays() {
    let raw = r#"{"a":[{"b":1},{"b":{"c":"x"}}],"0":5}"#;
    assert_eq!(pointer(raw, &["a", "1", "b", "c"]), Some("\"x\""));
    assert_eq!(pointer(raw, &["0"]), Some("5"));
    assert_eq!(pointer(raw, &[]), Some(raw));
    assert_eq!(pointer(raw, &["a", "2"]), None);
    assert_eq!(pointer(raw, &["a", "b"]), None);
}

#[test]
fn integers_are_never_rounded() {
    assert_eq!(integer("-9223372036854775808"), Some(i64::MIN));
    for raw in ["9223372036854775808", "1.0", "1e3", "\"1\"", "", "-", "+1", "null"] {
        assert_eq!(integer(raw), None, "{raw}");
    }
    assert!(is_object("{}") && !is_object("[]"));
}

#[test]
fn a_run_of_backslashes_decides_where_a_string_ends() {
    for run in 0..40 {
        let body = "\\".repeat(run * 2);
        let array = format!("[\"{body}\",\"{body}\\\"\",1]");
        assert_eq!(elements(&array).last(), Some("1"));
        assert_eq!(elements(&array).count(), 3);
    }
}
