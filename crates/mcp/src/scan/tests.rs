//! What `scan` promises, case by case.

use bytes::Bytes;

use super::{ScanError, ScanRules, Violation, scan_value};
use crate::frame::Frame;

const CLIENT: ScanRules = ScanRules::FROM_CLIENT;
const SERVER: ScanRules = ScanRules::FROM_SERVER;
const SMALL: ScanRules = ScanRules { max_bytes: 400, max_depth: 5, max_values: 12, ..CLIENT };

fn refusal(bytes: &[u8], rules: &ScanRules) -> ScanError {
    match Frame::parse(Bytes::copy_from_slice(bytes), rules) {
        Err(error) => error,
        Ok(_) => panic!("accepted: {}", String::from_utf8_lossy(bytes)),
    }
}

/// A tool call whose arguments hold `rest`.
fn call(arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
    )
}

#[test]
fn every_violation_has_its_place_and_its_code() {
    use Violation::*;
    let syntax = |what| Syntax(what);
    let table: &[(&str, Violation, &str, i64)] = &[
        ("", syntax("unexpected end"), "", -32700),
        ("  \n", syntax("unexpected end"), "", -32700),
        ("\u{feff}{}", ByteOrderMark, "", -32700),
        ("{} x", TrailingBytes, "", -32700),
        ("{}{}", TrailingBytes, "", -32700),
        ("{\"a\":nul}", syntax("expected a value"), "/a", -32700),
        ("{\"a\":NaN}", syntax("expected a value"), "/a", -32700),
        ("{\"a\" 1}", syntax("expected `:`"), "/a", -32700),
        ("{\"a\":1,}", syntax("expected a key in quotes"), "", -32700),
        ("{a:1}", syntax("expected a key in quotes"), "", -32700),
        ("{\"a\":1 \"b\":2}", syntax("expected `,` or `}`"), "/a", -32700),
        ("{\"a\":[1 2]}", syntax("expected `,` or `]`"), "/a/0", -32700),
        ("{\"a\":[1,]}", syntax("expected a value"), "/a/1", -32700),
        ("{\"a\":[1,2", syntax("unexpected end"), "/a/1", -32700),
        ("{\"a\":\"b", syntax("unexpected end in a string"), "/a", -32700),
        ("{\"a\":\"b\\", syntax("unexpected end in a string"), "/a", -32700),
        ("{\"a\":\"\\x\"}", syntax("bad escape in a string"), "/a", -32700),
        ("{\"a\":\"\\u12g4\"}", syntax("bad escape in a string"), "/a", -32700),
        ("{\"a\":\"\n\"}", syntax("control character in a string"), "/a", -32700),
        ("{\"a\":01}", syntax("bad number"), "/a", -32700),
        ("{\"a\":-}", syntax("bad number"), "/a", -32700),
        ("{\"a\":1.}", syntax("bad number"), "/a", -32700),
        ("{\"a\":1e+}", syntax("bad number"), "/a", -32700),
        ("{\"a\":.5}", syntax("expected a value"), "/a", -32700),
        ("{\"a\":+1}", syntax("expected a value"), "/a", -32700),
        ("{\"a\":/**/1}", syntax("expected a value"), "/a", -32700),
        ("{\"a\":[[[[[1]]]]]}", TooDeep { limit: 5 }, "/a/0/0/0/0", -32600),
        ("{\"a\":[1,2,3,4,5,6,7,8,9,10,11]}", TooManyValues { limit: 12 }, "/a/10", -32600),
        (r#"{"a":1,"b":2,"a":3}"#, DuplicateKey, "/a", -32600),
        (&call(r#"{"a":1,"\u0061":2}"#), DuplicateKey, "/params/arguments/a", -32600),
        (&call(r#"{"x":[{"a":1,"a":2}]}"#), DuplicateKey, "/params/arguments/x/0/a", -32600),
        (
            &call(r#"{"\u0024serde_json::private::RawValue":"[]"}"#),
            ReservedKey,
            "/params/arguments/$serde_json::private::RawValue",
            -32600,
        ),
        (&call(r#"{"a":"\ud800"}"#), LoneSurrogate, "/params/arguments/a", -32600),
        (&call(r#"{"a":"\ud800\ud800\udc00"}"#), LoneSurrogate, "/params/arguments/a", -32600),
        (&call(r#"{"a":"\udc00"}"#), LoneSurrogate, "/params/arguments/a", -32600),
        (&call(r#"{"b":1,"\udfff":1}"#), LoneSurrogate, "/params/arguments", -32600),
        (r#"{"Jsonrpc":"2.0"}"#, KeyCase { expected: "jsonrpc" }, "/Jsonrpc", -32600),
        (r#"{"ID":1}"#, KeyCase { expected: "id" }, "/ID", -32600),
        (r#"{"\u0049d":1}"#, KeyCase { expected: "id" }, "/Id", -32600),
        ("{\"param\u{17f}\":{}}", KeyCase { expected: "params" }, "/param\u{17f}", -32600),
        (r#"{"params":{"Name":"t"}}"#, KeyCase { expected: "name" }, "/params/Name", -32600),
        (r#"{"params":{"_META":{}}}"#, KeyCase { expected: "_meta" }, "/params/_META", -32600),
        (r#"{"params":{"taskid":""}}"#, KeyCase { expected: "taskId" }, "/params/taskid", -32600),
        (
            "{\"params\":{\"ta\u{17f}\u{212a}\":1}}",
            KeyCase { expected: "task" },
            "/params/ta\u{17f}\u{212a}",
            -32600,
        ),
        ("[]", Batch, "", -32600),
        (r#" [{"jsonrpc":"2.0","method":"ping","id":1}]"#, Batch, "", -32600),
        (r#"{"params":{"_meta":null}}"#, ParamsNotObject, "/params/_meta", -32602),
        (&call("[]"), ParamsNotObject, "/params/arguments", -32602),
        (r#"{"params":{"name":"a\u0000b"}}"#, ControlInName, "/params/name", -32602),
        ("{\"params\":{\"uri\":\"a\u{85}\"}}", ControlInName, "/params/uri", -32602),
    ];
    for (message, violation, path, code) in table {
        let error = refusal(message.as_bytes(), &SMALL);
        assert_eq!(
            (&error.violation, error.path.as_str(), error.code()),
            (violation, *path, *code),
            "{message}"
        );
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_before_they_are_read() {
    for bytes in [&b"{\"a\":\"\xff\"}"[..], b"\xc0\xaf", b"{\"a\":\"\xed\xa0\x80\"}", b"\xf4\x90\x80\x80"] {
        let error = refusal(bytes, &CLIENT);
        assert_eq!((error.violation.clone(), error.code()), (Violation::NotUtf8, -32700));
        assert!(error.offset < bytes.len());
    }
}

#[test]
fn size_is_counted_in_bytes() {
    let message = format!(r#"{{"jsonrpc":"2.0","method":"{}"}}"#, "m".repeat(400 - 29));
    assert_eq!(message.len(), 400);
    assert!(Frame::parse(Bytes::from(message.clone()), &SMALL).is_ok());
    let error = refusal(format!("{message} ").as_bytes(), &SMALL);
    assert_eq!(error.violation, Violation::TooLarge { limit: 400, size: 401 });
    assert_eq!(error.code(), -32600);
}

#[test]
fn depth_is_the_number_of_open_containers() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    for rules in [CLIENT, SERVER] {
        assert!(scan_value(nested(rules.max_depth).as_bytes(), &rules).is_ok());
        assert!(serde_json::from_str::<serde_json::Value>(&nested(rules.max_depth)).is_ok());
        assert!(scan_value(nested(rules.max_depth + 1).as_bytes(), &rules).is_err());
    }
    // Far beyond any stack: depth costs memory of ours only up to the limit.
    assert!(scan_value("[".repeat(1_000_000).as_bytes(), &CLIENT).is_err());
}

#[test]
fn a_server_may_cut_a_character_in_a_value_but_not_in_a_key() {
    let message = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\ud83d"}]}}"#;
    assert!(Frame::parse(Bytes::from_static(message.as_bytes()), &SERVER).is_ok());
    assert_eq!(refusal(message.as_bytes(), &CLIENT).path, "/result/content/0/text");
    let key = r#"{"jsonrpc":"2.0","id":1,"result":{"\ud83d":1}}"#;
    assert_eq!(refusal(key.as_bytes(), &SERVER).violation, Violation::LoneSurrogate);
}

#[test]
fn case_of_params_matters_from_clients_and_of_the_envelope_always() {
    let params = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"Level":"info"}}"#;
    assert!(Frame::parse(Bytes::from_static(params.as_bytes()), &SERVER).is_ok());
    assert_eq!(refusal(params.as_bytes(), &CLIENT).violation, Violation::KeyCase { expected: "level" });
    let envelope = r#"{"jsonrpc":"2.0","id":1,"Result":{}}"#;
    assert_eq!(refusal(envelope.as_bytes(), &SERVER).violation, Violation::KeyCase { expected: "result" });
    // Deeper down a key may be spelled as its owner likes.
    let arguments = call(r#"{"Name":1,"name":2,"_META":3}"#);
    assert!(Frame::parse(Bytes::from(arguments), &CLIENT).is_ok());
}

#[test]
fn duplicates_are_found_among_few_and_among_many_keys() {
    for count in [2, 15, 16, 17, 18, 40, 2000] {
        for repeated in [0, count / 2, count - 1] {
            let keys: Vec<_> = (0..count).map(|n| format!(r#""key{n}":{{"key{n}":{n}}}"#)).collect();
            let unique = format!("{{{}}}", keys.join(","));
            assert!(scan_value(unique.as_bytes(), &CLIENT).is_ok());
            let doubled = format!(r#"{{"o":{{{},"k\u0065y{repeated}":0}}}}"#, keys.join(","));
            let Err(error) = scan_value(doubled.as_bytes(), &CLIENT) else { panic!("{count} {repeated}") };
            assert_eq!(error.violation, Violation::DuplicateKey);
            assert_eq!(error.path, format!("/o/key{repeated}"));
        }
    }
}

#[test]
fn the_same_key_in_different_objects_is_no_duplicate() {
    let text = r#"{"a":{"a":{"a":1},"b":{"a":1}},"b":[{"a":1},{"a":2}],"c":{"a":{}}}"#;
    assert_eq!(scan_value(text.as_bytes(), &CLIENT), Ok(text));
}

#[test]
fn a_refusal_carries_the_id_only_if_it_is_certain() {
    let recovered = |message: &str| refusal(message.as_bytes(), &CLIENT).recovered_id().map(str::to_owned);
    assert_eq!(recovered(&call(r#"{"a":1,"a":1}"#)).as_deref(), Some("7"));
    assert_eq!(recovered(r#"{"jsonrpc":"2.0","id":"x\u0079","method":5}"#).as_deref(), Some(r#""x\u0079""#));
    assert_eq!(recovered(r#"{"jsonrpc":"1.0","id":3,"method":"m"}"#).as_deref(), Some("3"));
    assert_eq!(recovered(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#), None);
    assert_eq!(recovered(r#"{"jsonrpc":"2.0","method":"m","params":{"a":1,"a":1},"id":1}"#), None);
    assert_eq!(recovered(r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#), None);
    assert_eq!(recovered(r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#), None);
    // The id of an answer belongs to the other side's requests.
    assert_eq!(recovered(r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":1}}"#), None);
    assert_eq!(recovered(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#), None);
}

#[test]
fn messages_say_what_and_where() {
    let said = |message: &str| refusal(message.as_bytes(), &SMALL).to_string();
    assert_eq!(said(&call(r#"{"a":1,"a":1}"#)), "duplicate key `a` at /params/arguments");
    assert_eq!(said(r#"{"a":1,"a":1}"#), "duplicate key `a` at the top of the message");
    assert_eq!(said(r#"{"params":{"Name":1}}"#), "the key at /params/Name must be spelled `name`");
    assert_eq!(said(&call("null")), "/params/arguments must be an object");
    assert_eq!(said(r#"{"a":tru}"#), "not valid JSON: expected a value at byte 5 (/a)");
}

#[test]
fn a_refusal_is_an_answer_that_names_the_place() {
    let answer = refusal(call(r#"{"a":1,"a":1}"#).as_bytes(), &CLIENT).response();
    let expected = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"duplicate key `a` at /params/arguments","data":{"path":"/params/arguments/a"}}}"#;
    assert_eq!(String::from_utf8(answer).unwrap(), expected);
    let answer = refusal(b"[]", &CLIENT).response();
    assert!(answer.starts_with(br#"{"jsonrpc":"2.0","id":null,"#));
}

#[test]
fn a_path_is_a_pointer_that_fits_in_an_answer() {
    let path = |text: &str| scan_value(text.as_bytes(), &CLIENT).map_err(|error| error.path).unwrap_err();
    assert_eq!(path(r#"{"a/b":{"~":[0,{"\u0000\n":x"#), "/a~1b/~0/1/\\u{0}\\u{a}");
    assert_eq!(path(r#"{"":{"":x"#), "//");
    let long = format!(r#"{{"{}":x"#, "k".repeat(10_000));
    assert_eq!(path(&long), format!("/{}…", "k".repeat(64)));
    let deep: String = (0..60).map(|n| format!(r#"{{"{n:040}":"#)).collect();
    assert!(path(&deep).len() < 600);
}

#[test]
fn any_json_can_be_scanned_as_a_value() {
    for text in ["0", "-0.0e-00", " true ", "null", "\"\"", "[]", " { } ", "1e999", "\"\\ud83d\\ude00\""] {
        assert_eq!(scan_value(text.as_bytes(), &CLIENT), Ok(text));
    }
    // What makes a message means nothing elsewhere.
    assert!(scan_value(br#"{"ID":1,"params":{"NAME":1,"_meta":0}}"#, &CLIENT).is_ok());
}

#[test]
fn string_bodies_stop_at_the_right_byte_wherever_it_is() {
    for length in 0..200 {
        for stop in ["\"", "\\n\"", "\u{1f}\"", "\u{7f}\"", "é\"", "\u{10ffff}\""] {
            let text = format!("\"{}{stop}", "x".repeat(length));
            let expected = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            assert_eq!(scan_value(text.as_bytes(), &CLIENT).is_ok(), expected, "{text:?}");
        }
        let open = format!("\"{}", "x".repeat(length));
        assert!(scan_value(open.as_bytes(), &CLIENT).is_err());
    }
}
