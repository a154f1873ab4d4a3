//! The canonical form, by the examples of RFC 8785 and by what a server could try.

use super::*;

#[test]
fn members_are_sorted_by_their_utf_16_units_and_blanks_go() {
    // The sample of RFC 8785, section 3.2.3.
    let text = "{\"\u{20ac}\":1,\"\\r\":2,\"\u{fb33}\":3,\"1\":4,\"\u{1f600}\":5,\"\u{80}\":6,\"\u{f6}\":7}";
    let sorted =
        "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}";
    assert_eq!(canonical(text).unwrap(), sorted);
    assert_eq!(canonical(" { \"b\" : [ 1 , {} ] , \"a\" : null } ").unwrap(), r#"{"a":null,"b":[1,{}]}"#);
    // What a key begins with stands before it, whatever follows.
    assert_eq!(
        canonical(r#"{"a b":1,"a!":2,"a":3,"\n":4,"":5}"#).unwrap(),
        r#"{"":5,"\n":4,"a":3,"a b":1,"a!":2}"#
    );
    assert_eq!(canonical(r#"{"a":1,"b":2,"a":3}"#).unwrap(), r#"{"a":3,"b":2}"#);
}

#[test]
fn what_is_no_json_is_none() {
    for text in [
        "",
        "{",
        "[1,]",
        "{\"a\"}",
        "01",
        "1.",
        ".5",
        "1e",
        "\"\n\"",
        "\"\\x\"",
        "\"\\u12\"",
        "nul",
        "1 2",
        "'a'",
    ] {
        assert_eq!(canonical(text), None, "{text}");
    }
    assert_eq!(canonical(&"[".repeat(1000)), None);
}

#[test]
fn numbers_are_written_as_the_rfc_has_them_and_never_rounded() {
    for (written, expected) in [
        ("0", "0"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("1.0", "1"),
        ("1e21", "1e+21"),
        ("1e20", "100000000000000000000"),
        ("333333333.33333329", "333333333.3333333"),
        ("4.50", "4.5"),
        ("2e-3", "0.002"),
        ("0.000001", "0.000001"),
        ("0.0000001", "1e-7"),
        ("0.000000000000000000000000001", "1e-27"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("5e-324", "5e-324"),
        ("-12.5", "-12.5"),
        ("9007199254740993", "9007199254740993"),
        // Two texts are equally near; the even one counts.
        ("1424953923781206.25", "1424953923781206.2"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1E400", "1e400"),
    ] {
        assert_eq!(canonical(written).as_deref(), Some(expected), "{written}");
    }
}

#[test]
fn texts_are_escaped_where_they_must_be_and_nowhere_else() {
    assert_eq!(
        canonical(r#""\u20ac$\u000F\nA'\u0042\u0022\u005c\\\"\/\u007f\ud83d\ude00""#).unwrap(),
        "\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\u{7f}😀\""
    );
    // Half a pair stands as it is, and two halves are two texts.
    assert_eq!(canonical(r#""\uD83D!""#).unwrap(), r#""\ud83d!""#);
    assert_ne!(canonical(r#""\ud83d""#), canonical(r#""\ud83e""#));
    assert_ne!(canonical(r#""\ud83d""#), canonical("\"\u{fffd}\""));
    assert_eq!(Json::parse(r#""\ude00\ud83d""#).unwrap().as_text(), Some("\u{fffd}\u{fffd}"));
    let both = canonical(r#"{"\ud83d":1,"\ud83e":2}"#).unwrap();
    assert_eq!(both, r#"{"\ud83d":1,"\ud83e":2}"#);
}
