//! Every operator on every kind: when it is true, when false, when unknown.

use std::sync::Arc;

use highwater_core::policy::*;
use highwater_notation::Arguments;

use super::support::{Call, blocking, condition};
use crate::compile_case;

/// What the compiled test is worth for a value.
fn on(path: &str, operator: &str, value: &str, of: Val<'_>) -> Truth {
    let set = blocking(&format!(
        r#"{{"and":[{{"fact":"{path}","{operator}":{value}}},{{"fact":"server.verified","equals":true}}]}}"#
    ));
    let tests = set.rules()[0].condition().tests();
    let test = tests.iter().find(|test| set.subject(test.slot()).unwrap().path() == path).unwrap();
    test.of(test.check().on(of))
}

const FALSE: Truth = Truth::False;
const TRUE: Truth = Truth::True;
const UNKNOWN: Truth = Truth::Unknown;

#[test]
fn a_flag() {
    for (operator, value, on_false, on_true, on_both) in [
        ("equals", "true", FALSE, TRUE, UNKNOWN),
        ("equals", "false", TRUE, FALSE, UNKNOWN),
        ("in", "[true]", FALSE, TRUE, UNKNOWN),
        ("in", "[true,false]", TRUE, TRUE, TRUE),
    ] {
        let path = "tool.approved";
        assert_eq!(on(path, operator, value, Val::flag(false)), on_false, "{operator} {value}");
        assert_eq!(on(path, operator, value, Val::flag(true)), on_true, "{operator} {value}");
        assert_eq!(on(path, operator, value, Val::Among(0b11)), on_both, "{operator} {value}");
        assert_eq!(on(path, operator, value, Val::Unknown(Because::Undeclared)), UNKNOWN);
        assert_eq!(on(path, operator, value, Val::Absent), FALSE);
    }
}

#[test]
fn a_number() {
    let between = |least, most| Val::Int { least, most };
    for (operator, value, of, expected) in [
        ("greaterThan", "50", between(51, 51), TRUE),
        ("greaterThan", "50", between(50, 50), FALSE),
        ("greaterThan", "50", between(50, 51), UNKNOWN),
        ("greaterThan", "50", between(51, 90), TRUE),
        ("lessThan", "50", between(49, 49), TRUE),
        ("lessThan", "50", between(50, 50), FALSE),
        ("lessThan", "50", between(10, 50), UNKNOWN),
        ("equals", "50", between(50, 50), TRUE),
        ("equals", "50", between(49, 49), FALSE),
        ("equals", "50", between(10, 60), UNKNOWN),
        ("equals", "50", between(51, 60), FALSE),
        ("in", "[10,50]", between(50, 50), TRUE),
        ("in", "[10,50]", between(20, 20), FALSE),
        ("in", "[10,50]", between(20, 60), UNKNOWN),
        ("in", "[10,50]", between(20, 30), FALSE),
    ] {
        let rule = format!(
            r#"{{"rules":[{{"name":"r","effect":"block","non_monotone":true,"conditions":{{"fact":"session.risk","{operator}":{value}}}}}]}}"#
        );
        let set = super::support::rules(&rule);
        let test = set.rules()[0].condition().tests()[0];
        assert_eq!(test.of(test.check().on(of)), expected, "{operator} {value} on {of:?}");
    }
}

#[test]
fn a_text() {
    for (operator, value, of, expected) in [
        ("equals", r#""send""#, "send", TRUE),
        ("equals", r#""send""#, "Send", FALSE),
        ("in", r#"["read","send","list"]"#, "send", TRUE),
        ("in", r#"["read","list"]"#, "send", FALSE),
        ("matches", r#""se*""#, "send", TRUE),
        ("matches", r#""se?""#, "send", FALSE),
    ] {
        assert_eq!(on("tool.name", operator, value, Val::Text(of)), expected, "{operator} {value}");
        assert_eq!(on("tool.name", operator, value, Val::Unknown(Because::Undeclared)), UNKNOWN);
        assert_eq!(on("tool.name", operator, value, Val::Absent), FALSE);
    }
}

#[test]
fn a_word_and_its_rank() {
    // none < tool < agent < system < user < owner
    for (operator, value, of, expected) in [
        ("equals", r#""tool""#, 0b10, TRUE),
        ("equals", r#""tool""#, 0b1, FALSE),
        ("equals", r#""tool""#, 0b11, UNKNOWN),
        ("in", r#"["none","tool"]"#, 0b11, TRUE),
        ("in", r#"["none","tool"]"#, 0b110, UNKNOWN),
        ("greaterThan", r#""tool""#, 0b100, TRUE),
        ("greaterThan", r#""tool""#, 0b10, FALSE),
        ("greaterThan", r#""tool""#, 0b110, UNKNOWN),
        ("lessThan", r#""tool""#, 0b1, TRUE),
        ("lessThan", r#""tool""#, 0b10, FALSE),
        ("lessThan", r#""tool""#, 0b11, UNKNOWN),
        ("greaterThan", r#""user""#, 0b100000, TRUE),
    ] {
        assert_eq!(
            on("server.trust", operator, value, Val::Among(of)),
            expected,
            "{operator} {value} on {of:b}"
        );
    }
}

#[test]
fn a_closed_set() {
    let path = "tool.capabilities"; // network, filesystem, environment, execution, software_libraries
    for (operator, value, has, may, expected) in [
        ("contains", r#""network""#, 0b1, 0, TRUE),
        ("equals", r#""network""#, 0b11, 0, TRUE),
        ("contains", r#""network""#, 0b10, 0, FALSE),
        ("contains", r#""network""#, 0b10, 0b1, UNKNOWN),
        ("in", r#"["network","execution"]"#, 0b1000, 0, TRUE),
        ("in", r#"["network","execution"]"#, 0b0110, 0, FALSE),
        ("in", r#"["network","execution"]"#, 0b0110, 0b1, UNKNOWN),
    ] {
        assert_eq!(on(path, operator, value, Val::Set { has, may }), expected, "{operator} {value}");
    }
}

#[test]
fn an_open_set() {
    let members: [Arc<str>; 1] = ["https://a.example".into()];
    let others: [Arc<str>; 1] = ["urn:b".into()];
    let full = |open| Val::Texts { members: &members, others: &others, open };
    let empty = |open| Val::Texts { members: &[], others: &[], open };
    let truncated = Some(Because::Truncated);
    for (operator, value, of, expected) in [
        ("contains", r#""urn:b""#, full(None), TRUE),
        ("equals", r#""urn:b""#, full(truncated), TRUE),
        ("contains", r#""urn:c""#, full(None), FALSE),
        ("contains", r#""urn:c""#, full(truncated), UNKNOWN),
        ("in", r#"["urn:c","urn:b"]"#, full(None), TRUE),
        ("matches", r#""https:*""#, full(None), TRUE),
        ("matches", r#""ftp:*""#, full(None), FALSE),
        ("matches", r#""ftp:*""#, full(truncated), UNKNOWN),
        ("exists", "true", full(None), TRUE),
        ("exists", "true", empty(None), FALSE),
        ("exists", "true", empty(truncated), UNKNOWN),
        ("exists", "false", full(None), FALSE),
        ("exists", "false", empty(None), TRUE),
    ] {
        assert_eq!(
            on("tool.annotations.attribution", operator, value, of),
            expected,
            "{operator} {value} on {of:?}"
        );
    }
}

#[test]
fn a_possible_set() {
    // ephemeral, system, user, internal, public
    for (operator, value, of, expected) in [
        ("equals", r#""public""#, 0b10000, TRUE),
        ("equals", r#""public""#, 0b01000, FALSE),
        ("equals", r#""public""#, 0b11000, UNKNOWN),
        ("contains", r#""public""#, 0b11000, UNKNOWN),
        ("in", r#"["internal","public"]"#, 0b11000, TRUE),
        ("in", r#"["internal","public"]"#, 0b11100, UNKNOWN),
        ("in", r#"["internal","public"]"#, 0b00100, FALSE),
    ] {
        let path = "tool.annotations.inputMetadata.destination";
        assert_eq!(on(path, operator, value, Val::Among(of)), expected, "{operator} {value} on {of:b}");
    }
}

#[test]
fn an_argument() {
    for (operator, value, arguments, expected) in [
        ("equals", r#""kim""#, r#"{"a":"kim"}"#, TRUE),
        ("equals", r#""kim""#, r#"{"a":"tom"}"#, FALSE),
        ("equals", r#""kim""#, "{}", UNKNOWN),
        ("equals", r#""kim""#, r#"{"a":["kim"]}"#, UNKNOWN),
        ("equals", r#""kim""#, r#"{"a":null}"#, UNKNOWN),
        ("equals", r#""5""#, r#"{"a":5}"#, UNKNOWN),
        ("equals", "5", r#"{"a":5}"#, TRUE),
        ("equals", "5", r#"{"a":6}"#, FALSE),
        ("equals", "5", r#"{"a":5.0}"#, UNKNOWN),
        ("equals", "5", r#"{"a":"5"}"#, UNKNOWN),
        ("equals", "true", r#"{"a":true}"#, TRUE),
        ("equals", "true", r#"{"a":false}"#, FALSE),
        ("equals", "true", r#"{"a":"true"}"#, UNKNOWN),
        ("in", r#"["kim","tom"]"#, r#"{"a":"tom"}"#, TRUE),
        ("in", "[1,2]", r#"{"a":3}"#, FALSE),
        ("in", "[1,2]", r#"{"a":"x"}"#, UNKNOWN),
        ("greaterThan", "5", r#"{"a":6}"#, TRUE),
        ("greaterThan", "5", r#"{"a":5}"#, FALSE),
        ("greaterThan", "5", r#"{"a":6.5}"#, UNKNOWN),
        ("lessThan", "5", r#"{"a":4}"#, TRUE),
        ("lessThan", "5", r#"{"a":5}"#, FALSE),
        ("lessThan", "5", "{}", UNKNOWN),
        ("matches", r#""*@x""#, r#"{"a":"kim@x"}"#, TRUE),
        ("matches", r#""*@x""#, r#"{"a":"kim@y"}"#, FALSE),
        ("matches", r#""*@x""#, r#"{"a":7}"#, UNKNOWN),
        ("exists", "true", r#"{"a":null}"#, TRUE),
        ("exists", "true", "{}", FALSE),
        ("exists", "false", "{}", TRUE),
        ("exists", "false", r#"{"a":[]}"#, FALSE),
    ] {
        let text = format!(r#"{{"fact":"arguments.a","{operator}":{value}}}"#);
        let case = compile_case(&condition(&text)).unwrap();
        assert_eq!(case.truth(Arguments::Known(arguments)), expected, "{text} on {arguments}");
        assert_eq!(case.truth(Arguments::Unknown), UNKNOWN, "{text}");
        assert_eq!(case.truth(Arguments::Known("{")), UNKNOWN, "{text}");
        let rules = blocking(&text);
        assert_eq!(
            Call::of("send").arguing(arguments).truth(&rules, Phase::Call),
            expected,
            "{text} on {arguments}"
        );
    }
}

#[test]
fn and_is_the_least_or_the_greatest_and_not_turns_round() {
    // An argument that is missing, one that is there, one that is another.
    let arguments = Arguments::Known(r#"{"yes":"1","no":"2"}"#);
    let part = |truth: Truth| match truth {
        FALSE => r#"{"fact":"arguments.no","equals":"1"}"#,
        UNKNOWN => r#"{"fact":"arguments.missing","equals":"1"}"#,
        TRUE => r#"{"fact":"arguments.yes","equals":"1"}"#,
    };
    let worth = |text: String| compile_case(&condition(&text)).unwrap().truth(arguments);
    for (a, turned) in [(FALSE, TRUE), (UNKNOWN, UNKNOWN), (TRUE, FALSE)] {
        assert_eq!(worth(format!(r#"{{"not":{}}}"#, part(a))), turned);
        for b in [FALSE, UNKNOWN, TRUE].into_iter().filter(|b| *b != a) {
            let both = format!("{},{}", part(a), part(b));
            assert_eq!(worth(format!(r#"{{"and":[{both}]}}"#)), a.min(b));
            assert_eq!(worth(format!(r#"{{"or":[{both}]}}"#)), a.max(b));
            assert_eq!(worth(format!(r#"{{"not":{{"and":[{both}]}}}}"#)), !a.min(b));
            assert_eq!(worth(format!(r#"{{"not":{{"or":[{both}]}}}}"#)), !a.max(b));
        }
    }
}
