//! What `frame` promises, case by case.

use bytes::Bytes;

use super::{Frame, FrameKind};
use crate::scan::{ScanRules, Violation};

fn parse(text: &str) -> Frame {
    Frame::parse(Bytes::copy_from_slice(text.as_bytes()), &ScanRules::FROM_CLIENT).unwrap()
}

#[test]
fn parts_of_a_request_keep_their_bytes() {
    let frame = parse(
        r#" { "method" : "tools\/call", "params": { "name":"n\u0061me", "_meta" : {"k":{ "a" : 1 }, "pr\u006fgressToken":12345678901234567890123456789012},
            "arguments":{ "z":1.50, "a":[ ] } } , "id" : 123456789012345678901234567890 , "jsonrpc":"2.0", "extra":[1] } "#,
    );
    assert_eq!(frame.kind(), FrameKind::Request);
    assert_eq!(frame.id(), Some("123456789012345678901234567890"));
    assert_eq!(frame.method(), Some("tools/call"));
    assert_eq!(frame.param("name"), Some(r#""n\u0061me""#));
    assert_eq!(frame.param("arguments"), Some(r#"{ "z":1.50, "a":[ ] }"#));
    assert_eq!(frame.param("absent"), None);
    assert_eq!(frame.meta("k"), Some(r#"{ "a" : 1 }"#));
    assert_eq!(frame.meta("progressToken"), Some("12345678901234567890123456789012"));
    assert_eq!(frame.meta("a"), None);
    assert!(frame.params().is_some_and(|params| params.starts_with("{ \"name\"") && params.ends_with("} }")));
    assert_eq!((frame.result(), frame.error(), frame.result_member("name")), (None, None, None));
}

#[test]
fn each_kind_shows_only_its_own_parts() {
    let notification = parse(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
    assert_eq!(notification.kind(), FrameKind::Notification);
    assert_eq!((notification.id(), notification.params()), (None, None));

    let response = parse(r#"{"jsonrpc":"2.0","id":"a\"b","result":{"isError":true,"_meta":{"k":1}}}"#);
    assert_eq!(response.kind(), FrameKind::Response);
    assert_eq!(response.id(), Some(r#""a\"b""#));
    assert_eq!(response.method(), None);
    assert_eq!(response.result_member("isError"), Some("true"));
    assert_eq!(response.param("isError"), None);
    assert_eq!(response.meta("k"), Some("1"));

    let error = parse(r#"{"jsonrpc":"2.0","id":-4,"error":{"code":-32603,"message":"m"}}"#);
    assert_eq!(error.kind(), FrameKind::Error);
    assert_eq!((error.id(), error.result(), error.error_member("code")), (Some("-4"), None, Some("-32603")));

    // A result need not be an object to be passed on.
    assert_eq!(parse(r#"{"jsonrpc":"2.0","id":1,"result":null}"#).result(), Some("null"));
}

#[test]
fn what_is_no_message_is_refused() {
    let table = [
        ("5", "", -32600),
        ("{}", "", -32600),
        (r#"{"jsonrpc":"2.1","id":1,"method":"m"}"#, "/jsonrpc", -32600),
        (r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#, "/jsonrpc", -32600),
        (r#"{"id":1,"method":"m"}"#, "", -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, "", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, "/id", -32600),
        (r#"{"jsonrpc":"2.0","id":1.0,"method":"m"}"#, "/id", -32600),
        (r#"{"jsonrpc":"2.0","id":1e3,"method":"m"}"#, "/id", -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#, "/id", -32600),
        (r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, "/id", -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":null}"#, "/method", -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m\n"}"#, "/method", -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]}"#, "/params", -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#, "/params", -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#, "", -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","error":{}}"#, "", -32600),
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, "", -32600),
        (r#"{"jsonrpc":"2.0","result":{}}"#, "", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"result":{}}"#, "/id", -32600),
        (r#"{"jsonrpc":"2.0","error":{}}"#, "", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, "/id", -32600),
        (r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#, "/error", -32600),
    ];
    for (message, path, code) in table {
        let error =
            Frame::parse(Bytes::from_static(message.as_bytes()), &ScanRules::FROM_CLIENT).unwrap_err();
        assert_eq!((error.path.as_str(), error.code()), (path, code), "{message}");
    }
}

#[test]
fn a_server_may_say_that_it_could_not_read_the_id() {
    for message in [
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error"}}"#,
    ] {
        let frame = Frame::parse(Bytes::from_static(message.as_bytes()), &ScanRules::FROM_SERVER).unwrap();
        assert_eq!((frame.kind(), frame.id()), (FrameKind::Error, None));
    }
    let request = r#"{"jsonrpc":"2.0","id":null,"method":"roots/list"}"#;
    let error = Frame::parse(Bytes::from_static(request.as_bytes()), &ScanRules::FROM_SERVER).unwrap_err();
    assert!(matches!(error.violation, Violation::NotAnEnvelope(_)));
}

#[test]
fn members_beyond_the_noted_ones_are_still_found() {
    let many: Vec<_> = (0..200).map(|n| format!(r#""k{n}":{n}"#)).collect();
    let many = many.join(",");
    let frame = parse(&format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{{many},"_meta":{{{many}}}}}}}"#));
    for n in 0..200 {
        let expected = n.to_string();
        assert_eq!(frame.param(&format!("k{n}")), Some(expected.as_str()));
        assert_eq!(frame.meta(&format!("k{n}")), Some(expected.as_str()));
    }
    assert_eq!((frame.param("k200"), frame.meta("k200")), (None, None));
}

#[test]
fn only_the_members_of_the_body_itself_are_params() {
    let frame =
        parse(r#"{"jsonrpc":"2.0","method":"m","x":{"a":1},"params":{"b":[{"a":1}],"c":{"_meta":{"a":1}}}}"#);
    assert_eq!((frame.param("a"), frame.meta("a"), frame.param("b")), (None, None, Some(r#"[{"a":1}]"#)));
}

#[test]
fn a_slice_shares_the_buffer_of_the_message() {
    let frame = parse(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"arguments":{"a":1}}}"#);
    let part = frame.param("arguments").unwrap();
    let slice = frame.slice(part);
    assert_eq!(slice, part);
    assert_eq!(slice.as_ptr(), part.as_ptr());
    let clone = frame.clone();
    assert_eq!(clone.bytes().as_ptr(), frame.bytes().as_ptr());
    // Text from elsewhere is copied, and neither text is mistaken for a part of the other.
    let foreign = String::from(r#"{"a":1}"#);
    assert_eq!(frame.slice(&foreign), foreign);
    assert_eq!(frame.slice(""), "");
}

#[test]
fn a_frame_in_a_log_shows_no_content() {
    let frame = parse(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"secret":"hunter2"}}"#);
    assert!(!format!("{frame:?}").contains("hunter2"));
}
