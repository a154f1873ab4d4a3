//! What `error_code` promises, case by case.

use bytes::Bytes;

use super::{REFUSED, error_response, notification, request, result_response};
use crate::frame::{Frame, FrameKind};
use crate::scan::ScanRules;

fn parse(bytes: Vec<u8>) -> Frame {
    Frame::parse(Bytes::from(bytes), &ScanRules::FROM_SERVER).unwrap()
}

#[test]
fn what_we_write_is_what_we_accept() {
    let error = parse(error_response(None, REFUSED, "no \"such\"\ncall", Some(r#"{"path":"/a"}"#)));
    assert_eq!((error.kind(), error.id()), (FrameKind::Error, None));
    assert_eq!(error.error(), Some(r#"{"code":403100,"message":"no \"such\"\ncall","data":{"path":"/a"}}"#));

    let error = parse(error_response(Some("\"x\""), -32601, "m", None));
    assert_eq!((error.id(), error.error()), (Some("\"x\""), Some(r#"{"code":-32601,"message":"m"}"#)));

    let response = parse(result_response("18446744073709551616", "{ }"));
    assert_eq!((response.id(), response.result()), (Some("18446744073709551616"), Some("{ }")));

    let call = parse(request("1", "tools/call", Some(r#"{"name":"t"}"#)));
    assert_eq!(
        (call.kind(), call.method(), call.param("name")),
        (FrameKind::Request, Some("tools/call"), Some("\"t\""))
    );

    let note = parse(notification("notifications/x\"y", None));
    assert_eq!(
        (note.kind(), note.method(), note.params()),
        (FrameKind::Notification, Some("notifications/x\"y"), None)
    );
}
