//! What `headers` promises, case by case.

use bytes::Bytes;

use super::{BadEncoding, HeaderProblem, check, decode_value, encode_value, expected_name};
use crate::frame::Frame;
use crate::scan::ScanRules;

#[test]
fn plain_values_stay_plain() {
    for text in ["", "us-west1", "a b", "test://x?y=1#~", "=?base64?", "?=", "=?BASE64?YQ==?="] {
        assert_eq!(encode_value(text), text);
        assert_eq!(decode_value(text).unwrap(), text);
    }
}

#[test]
fn everything_else_is_encoded_and_comes_back() {
    for text in [
        " a",
        "a ",
        "a\tb",
        "é",
        "日本",
        "a\r\nX-Evil: 1",
        "\u{0}",
        "\u{7f}",
        "=?base64?YQ==?=",
        "=?base64??=",
    ] {
        let encoded = encode_value(text);
        assert!(encoded.starts_with("=?base64?") && encoded.ends_with("?="), "{encoded}");
        assert!(encoded.bytes().all(|byte| matches!(byte, 0x21..=0x7e)));
        assert_eq!(decode_value(&encoded).unwrap(), text);
    }
    assert_eq!(encode_value("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?=");
}

#[test]
fn whitespace_around_a_value_is_not_part_of_it() {
    assert_eq!(decode_value(" \ta b\t ").unwrap(), "a b");
    assert_eq!(decode_value(" =?base64?YQ==?= ").unwrap(), "a");
}

#[test]
fn broken_base64_is_an_error_and_no_text() {
    for value in ["=?base64?YQ?=", "=?base64?Y Q==?=", "=?base64?YQ=?=", "=?base64?Y_-?=", "=?base64?/w==?="]
    {
        assert_eq!(decode_value(value), Err(BadEncoding), "{value}");
    }
}

#[test]
fn the_name_depends_on_the_method() {
    let params = Some(r#"{"name":"n\u0061","uri":"u","taskId":"t"}"#);
    for (method, name) in [
        ("tools/call", Some("na")),
        ("prompts/get", Some("na")),
        ("resources/read", Some("u")),
        ("tasks/get", Some("t")),
        ("tasks/update", Some("t")),
        ("tasks/cancel", Some("t")),
        ("tools/list", None),
        ("completion/complete", None),
    ] {
        assert_eq!(expected_name(method, params).as_deref(), name);
    }
    assert_eq!(expected_name("tools/call", Some("{}")), None);
    assert_eq!(expected_name("tools/call", None), None);
}

fn problem(method: &str, params: &str, headers: &[(&str, &'static str)]) -> Option<(String, HeaderProblem)> {
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let frame = Frame::parse(Bytes::from(text), &ScanRules::FROM_CLIENT).unwrap();
    let get = |name: &str| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    check(&frame, get).err().map(|mismatch| (mismatch.header, mismatch.problem))
}

#[test]
fn headers_and_body_must_agree() {
    use HeaderProblem::*;
    const V: (&str, &str) = ("mcp-protocol-version", "2026-07-28");
    const CALL: (&str, &str) = ("mcp-method", "tools/call");
    let found = |header: &str, problem| Some((header.to_owned(), problem));
    let params = r#"{"name":"caf\u00e9","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
    let name = ("mcp-name", " =?base64?Y2Fmw6k=?= ");
    let of = |headers: &[(&str, &'static str)]| problem("tools/call", params, headers);
    assert_eq!(of(&[V, CALL, name]), None);
    assert_eq!(of(&[CALL, name]), found("mcp-protocol-version", Missing));
    assert_eq!(
        of(&[("mcp-protocol-version", "2025-11-25"), CALL, name]),
        found("mcp-protocol-version", Differs)
    );
    assert_eq!(of(&[V, name]), found("mcp-method", Missing));
    assert_eq!(of(&[V, ("mcp-method", "Tools/call"), name]), found("mcp-method", Differs));
    assert_eq!(of(&[V, CALL]), found("mcp-name", Missing));
    assert_eq!(of(&[V, CALL, ("mcp-name", "other")]), found("mcp-name", Differs));
    assert_eq!(of(&[V, CALL, ("mcp-name", "=?base64?Y2Fmw6k?=")]), found("mcp-name", BadEncoding));
    let list = ("mcp-method", "tools/list");
    assert_eq!(problem("tools/list", "{}", &[V, list]), None);
    let message = super::HeaderMismatch::new("mcp-name", Differs);
    assert_eq!(
        (message.to_string().as_str(), message.code()),
        ("header `mcp-name` does not match the body", -32020)
    );
}
