//! What `schema_headers` promises, case by case.

use super::{InvalidSchemaHeader, ParamHeader, ParamKind, check_values, header_values, param_headers};
use crate::headers::HeaderProblem;

const SCHEMA: &str = r#"{"type":"object","properties":{
    "region":{"type":"string","x-mcp-header":"Region"},
    "query":{"type":"string"},
    "options":{"type":"object","properties":{"limit":{"x-mcp-header":"Limit","type":"integer"}}},
    "force":{"type":"boolean","x-mcp\u002dheader":"Force"}}}"#;

fn headers() -> Vec<ParamHeader> {
    param_headers(SCHEMA).unwrap()
}

#[test]
fn headers_are_found_at_any_depth_of_properties() {
    let header = |name: &str, path: &[&str], kind| ParamHeader {
        header: name.to_owned(),
        path: path.iter().map(|step| (*step).to_owned()).collect(),
        kind,
    };
    let expected = [
        header("Region", &["region"], ParamKind::String),
        header("Limit", &["options", "limit"], ParamKind::Integer),
        header("Force", &["force"], ParamKind::Boolean),
    ];
    assert_eq!(headers(), expected);
    assert_eq!(param_headers(r#"{"type":"object"}"#), Ok(vec![]));
    assert_eq!(param_headers("true"), Ok(vec![]));
}

#[test]
fn a_property_or_a_value_called_like_the_keyword_is_none() {
    let schema = r#"{"properties":{"x-mcp-header":{"type":"string"},"a":{"type":"object","default":{"x-mcp-header":"A"},
        "enum":[{"x-mcp-header":"A"}],"examples":[{"x-mcp-header":1}],"const":{"x-mcp-header":2}}}}"#;
    assert_eq!(param_headers(schema), Ok(vec![]));
}

#[test]
fn an_invalid_use_is_refused() {
    use InvalidSchemaHeader::*;
    let at = |place: &str| place.to_owned();
    let property = |inner: &str| format!(r#"{{"properties":{{"a":{inner}}}}}"#);
    let table = [
        (property(r#"{"type":"string","x-mcp-header":""}"#), BadName(at("a"))),
        (property(r#"{"type":"string","x-mcp-header":"a b"}"#), BadName(at("a"))),
        (property(r#"{"type":"string","x-mcp-header":"a\r\nb"}"#), BadName(at("a"))),
        (property(r#"{"type":"string","x-mcp-header":"é"}"#), BadName(at("a"))),
        (property(r#"{"type":"string","x-mcp-header":5}"#), BadName(at("a"))),
        (property(r#"{"type":"number","x-mcp-header":"A"}"#), BadType(at("a"))),
        (property(r#"{"type":"object","x-mcp-header":"A"}"#), BadType(at("a"))),
        (property(r#"{"type":["string","null"],"x-mcp-header":"A"}"#), BadType(at("a"))),
        (property(r#"{"x-mcp-header":"A"}"#), BadType(at("a"))),
        (
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#
                .to_owned(),
            Repeated(at("b"), at("a")),
        ),
        (r#"{"type":"string","x-mcp-header":"A"}"#.to_owned(), Unreachable(at(""))),
        (
            property(r#"{"type":"array","items":{"type":"string","x-mcp-header":"A"}}"#),
            Unreachable(at("a")),
        ),
    ];
    for (schema, expected) in table {
        assert_eq!(param_headers(&schema), Err(expected), "{schema}");
    }
    for keyword in ["oneOf", "anyOf", "allOf", "prefixItems"] {
        let schema =
            format!(r#"{{"{keyword}":[{{"properties":{{"b":{{"type":"string","x-mcp-header":"A"}}}}}}]}}"#);
        assert_eq!(param_headers(&schema), Err(Unreachable(at("b"))), "{schema}");
    }
    for keyword in ["not", "if", "then", "else", "items", "additionalProperties", "contains"] {
        let schema =
            format!(r#"{{"{keyword}":{{"properties":{{"b":{{"type":"string","x-mcp-header":"A"}}}}}}}}"#);
        assert_eq!(param_headers(&schema), Err(Unreachable(at("b"))), "{schema}");
    }
    for keyword in ["$defs", "definitions", "patternProperties", "dependentSchemas"] {
        let schema = format!(r#"{{"{keyword}":{{"x":{{"type":"string","x-mcp-header":"A"}}}}}}"#);
        assert_eq!(param_headers(&schema), Err(Unreachable(at(""))), "{schema}");
    }
}

#[test]
fn the_walk_is_bounded() {
    let deep = r#"{"not":"#.repeat(100) + r#"{"x-mcp-header":1}"# + &"}".repeat(100);
    assert_eq!(param_headers(&deep), Err(InvalidSchemaHeader::TooComplex));
    let wide = format!(r#"{{"x-":"\\","anyOf":[{}]}}"#, vec!["{}"; 20_000].join(","));
    assert_eq!(param_headers(&wide), Err(InvalidSchemaHeader::TooComplex));
    let many: Vec<_> =
        (0..65).map(|n| format!(r#""p{n}":{{"type":"string","x-mcp-header":"H{n}"}}"#)).collect();
    let many = format!(r#"{{"properties":{{{}}}}}"#, many.join(","));
    assert_eq!(param_headers(&many), Err(InvalidSchemaHeader::TooMany));
}

#[test]
fn values_are_repeated_as_text() {
    let values = |arguments: &str| header_values(&headers(), Some(arguments));
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        values(r#"{"force":false,"options":{"limit":-5},"region":"us\u002dwest1","query":"q"}"#),
        [pair("Region", "us-west1"), pair("Limit", "-5"), pair("Force", "false")],
    );
    assert_eq!(values(r#"{"region":"Zürich"}"#), [pair("Region", "=?base64?WsO8cmljaA==?=")]);
    assert_eq!(values(r#"{"region":null,"options":5,"force":[true]}"#), []);
    assert_eq!(header_values(&headers(), None), []);
}

fn problem(arguments: &str, sent: &[(&str, &'static str)]) -> Option<(String, HeaderProblem)> {
    let get = |name: &str| sent.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    check_values(&headers(), Some(arguments), get).err().map(|found| (found.header, found.problem))
}

#[test]
fn sent_headers_must_agree_with_the_arguments() {
    use HeaderProblem::*;
    let found = |header: &str, problem| Some((header.to_owned(), problem));
    assert_eq!(problem("{}", &[]), None);
    assert_eq!(problem(r#"{"region":"a"}"#, &[("mcp-param-region", "a")]), None);
    assert_eq!(problem(r#"{"region":"Zürich"}"#, &[("mcp-param-region", "=?base64?WsO8cmljaA==?=")]), None);
    assert_eq!(problem(r#"{"region":"a"}"#, &[]), found("mcp-param-region", Missing));
    assert_eq!(
        problem(r#"{"region":"a"}"#, &[("mcp-param-region", "A")]),
        found("mcp-param-region", Differs)
    );
    assert_eq!(
        problem(r#"{"region":null}"#, &[("mcp-param-region", "null")]),
        found("mcp-param-region", Unexpected)
    );
    assert_eq!(problem("{}", &[("mcp-param-region", "")]), found("mcp-param-region", Unexpected));
    let broken = [("mcp-param-region", "=?base64?Y?=")];
    assert_eq!(problem(r#"{"region":"a"}"#, &broken), found("mcp-param-region", BadEncoding));
    assert_eq!(problem(r#"{"force":true}"#, &[("mcp-param-force", "true")]), None);
    assert_eq!(problem(r#"{"force":true}"#, &[("mcp-param-force", "1")]), found("mcp-param-force", Differs));
    assert_eq!(problem(r#"{"force":{}}"#, &[("mcp-param-force", "{}")]), found("mcp-param-force", Differs));
    // A string of digits is a string.
    assert_eq!(
        problem(r#"{"region":"7"}"#, &[("mcp-param-region", "07")]),
        found("mcp-param-region", Differs)
    );
}

#[test]
fn integers_are_compared_as_numbers() {
    let limit = |body: &str, header: &'static str| {
        problem(&format!(r#"{{"options":{{"limit":{body}}}}}"#), &[("mcp-param-limit", header)]).is_none()
    };
    for (body, header) in [
        ("42", "42"),
        ("42", "42.0"),
        ("42.0", "42"),
        ("4.2e1", "42"),
        ("420e-1", "42"),
        ("-7", "-07"),
        ("0", "-0"),
        ("9007199254740991", "9007199254740991"),
        ("12345678901234567890123", "12345678901234567890123"),
    ] {
        assert!(limit(body, header), "{body} {header}");
    }
    for (body, header) in [
        ("42", "43"),
        ("42", "42.5"),
        ("42", "4 2"),
        ("42", ""),
        ("9007199254740993", "9007199254740992"),
        ("12345678901234567890123", "12345678901234567890124"),
        ("1", "1e-99999"),
    ] {
        assert!(!limit(body, header), "{body} {header}");
    }
}
