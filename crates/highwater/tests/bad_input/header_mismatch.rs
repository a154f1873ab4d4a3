//! Modern HTTP repeats parts of the body in headers. Whatever acts on headers alone must not be misled.

use highwater_testkit::client::gateway::Gateway;
use highwater_testkit::client::{Era, MODERN};

use crate::fronts::{MODERN_META, call};
use crate::raw_http::Head;
use crate::stage::{NEVER, assert_only_calls, gateway};

const HEADER_MISMATCH: i64 = -32020;

/// The headers of a call of `name`.
fn head(gateway: &Gateway, name: &str) -> Head {
    Head::post(gateway)
        .with("MCP-Protocol-Version", MODERN)
        .with("Mcp-Method", "tools/call")
        .with("Mcp-Name", name)
}

fn body(arguments: &str) -> String {
    call(Era::Modern, &format!(r#""name":"up__echo","arguments":{arguments}"#))
}

async fn assert_usable(gateway: &Gateway) {
    let reply = head(gateway, "up__echo").send(gateway, &body(r#"{"body":"fine"}"#)).await;
    assert_eq!(reply.json()["result"]["structuredContent"]["body"], "fine", "{reply:?}");
}

/// Every head is refused for what it says of the message, and the gateway goes on.
async fn assert_mismatches<const N: usize>(gateway: &Gateway, bad: [(&str, Head); N], message: &str) {
    let mut wrong = Vec::new();
    for (name, head) in bad {
        let reply = head.send(gateway, message).await;
        let answer = reply.json();
        if reply.status != 400 || answer["error"]["code"] != HEADER_MISMATCH || answer["id"] != 7 {
            wrong.push(format!("{name}: {reply:?}"));
        }
        assert_usable(gateway).await;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn a_header_that_is_missing_or_says_something_else_is_refused() {
    let (gateway, journal) = gateway().await;
    let good = head(&gateway, "up__echo");
    let bad = [
        ("no version", good.clone().without("MCP-Protocol-Version")),
        ("a legacy version", good.clone().with("MCP-Protocol-Version", "2025-11-25")),
        ("another version", good.clone().with("MCP-Protocol-Version", "2027-01-01")),
        ("a version twice", good.clone().and("MCP-Protocol-Version", "2025-11-25")),
        ("no method", good.clone().without("Mcp-Method")),
        ("another method", good.clone().with("Mcp-Method", "tools/list")),
        ("a method in capitals", good.clone().with("Mcp-Method", "Tools/Call")),
        ("an empty method", good.clone().with("Mcp-Method", "")),
        ("two methods", good.clone().and("Mcp-Method", "tools/list")),
        (
            "two methods, the right one last",
            good.clone().with("Mcp-Method", "tools/list").and("Mcp-Method", "tools/call"),
        ),
        ("no name", good.clone().without("Mcp-Name")),
        ("another name", good.clone().with("Mcp-Name", "up__sleep")),
        ("a name in capitals", good.clone().with("Mcp-Name", "UP__ECHO")),
        ("two names", good.clone().and("Mcp-Name", "up__sleep")),
        (
            "two names, the right one last",
            good.clone().with("Mcp-Name", "up__sleep").and("Mcp-Name", "up__echo"),
        ),
        ("the same name twice in one", good.clone().with("Mcp-Name", "up__echo, up__echo")),
        ("bad Base64", good.clone().with("Mcp-Name", "=?base64?@@@?=")),
        ("Base64 of another name", good.clone().with("Mcp-Name", "=?base64?dXBfX3NsZWVw?=")),
        ("Base64 of no text", good.clone().with("Mcp-Name", "=?base64?/w==?=")),
        ("markers in capitals", good.clone().with("Mcp-Name", "=?BASE64?dXBfX2VjaG8=?=")),
    ];
    let message = body(&format!(r#"{{"body":"{NEVER}"}}"#));
    let count = bad.len();
    assert_mismatches(&gateway, bad, &message).await;
    assert_only_calls(&journal, count);
}

#[tokio::test]
async fn headers_that_agree_are_taken_however_they_are_written() {
    let (gateway, journal) = gateway().await;
    let good = head(&gateway, "up__echo");
    let fine = [
        good.clone().without("Mcp-Name").with("mCP-nAME", "up__echo"),
        good.clone().with("Mcp-Name", "  up__echo\t"),
        good.clone().with("Mcp-Name", "=?base64?dXBfX2VjaG8=?="),
    ];
    let count = fine.len();
    for head in fine {
        let reply = head.send(&gateway, &body(r#"{"body":"fine"}"#)).await;
        assert_eq!(reply.json()["result"]["structuredContent"]["body"], "fine", "{reply:?}");
    }
    assert_only_calls(&journal, count);
}

#[tokio::test]
async fn a_modern_header_without_a_modern_body_is_refused_and_never_taken_for_legacy() {
    let (gateway, journal) = gateway().await;
    for meta in [
        String::new(),
        r#""_meta":{},"#.to_owned(),
        r#""_meta":{"io.modelcontextprotocol/clientCapabilities":{}},"#.to_owned(),
        MODERN_META.replace(r#","io.modelcontextprotocol/clientCapabilities":{}"#, ""),
        MODERN_META.replace(r#""2026-07-28""#, "20260728"),
    ] {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{{meta}"name":"up__echo","arguments":{{"body":"{NEVER}"}}}}}}"#
        );
        let reply = head(&gateway, "up__echo").send(&gateway, &message).await;
        assert_eq!(reply.status, 400, "{meta}: {reply:?}");
        assert!([HEADER_MISMATCH, -32602].contains(&reply.code()), "{meta}: {reply:?}");
    }
    assert_usable(&gateway).await;
    assert_only_calls(&journal, 1);
}

#[tokio::test]
async fn a_version_that_nobody_speaks_is_answered_with_those_we_do() {
    let (gateway, journal) = gateway().await;
    let message = body(&format!(r#"{{"body":"{NEVER}"}}"#)).replace(MODERN, "2099-01-01");
    let reply =
        head(&gateway, "up__echo").with("MCP-Protocol-Version", "2099-01-01").send(&gateway, &message).await;
    assert_eq!((reply.status, reply.code()), (400, -32022), "{reply:?}");
    let data = &reply.json()["error"]["data"];
    assert_eq!(data["requested"], "2099-01-01", "{reply:?}");
    assert_eq!(data["supported"][0], MODERN, "{reply:?}");
    assert!(data["supported"].as_array().unwrap().contains(&"2025-11-25".into()), "{reply:?}");
    assert_only_calls(&journal, 0);
}

#[tokio::test]
async fn an_argument_that_is_repeated_in_a_header_must_agree_with_it() {
    let (gateway, journal) = gateway().await;
    assert_usable(&gateway).await;
    let name = "up__test_routed_parameters";
    let good = head(&gateway, name).with("Mcp-Param-Region", "north").with("Mcp-Param-Limit", "3");
    let arguments = format!(r#"{{"region":"north","limit":3,"x":"{NEVER}"}}"#);
    let message = call(Era::Modern, &format!(r#""name":"{name}","arguments":{arguments}"#));
    let bad = [
        ("no region", good.clone().without("Mcp-Param-Region")),
        ("another region", good.clone().with("Mcp-Param-Region", "south")),
        ("two regions", good.clone().and("Mcp-Param-Region", "south")),
        ("no limit", good.clone().without("Mcp-Param-Limit")),
        ("another limit", good.clone().with("Mcp-Param-Limit", "4")),
        ("a limit that is no number", good.clone().with("Mcp-Param-Limit", "three")),
        ("a value that the body does not have", good.clone().with("Mcp-Param-Dry-Run", "true")),
    ];
    let count = bad.len();
    assert_mismatches(&gateway, bad, &message).await;
    let reply = good.send(&gateway, &message.replace(NEVER, "fine")).await;
    assert_eq!(reply.json()["result"]["content"][0]["text"], "Routed to north", "{reply:?}");
    assert_only_calls(&journal, count + 2);
}

#[tokio::test]
async fn a_modern_client_sends_no_answers() {
    let (gateway, journal) = gateway().await;
    let head = Head::post(&gateway).with("MCP-Protocol-Version", MODERN);
    for answer in [
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"x":"{NEVER}"}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":1,"message":"{NEVER}"}}}}"#),
    ] {
        let reply = head.send(&gateway, &answer).await;
        assert_eq!((reply.status, reply.code()), (400, -32600), "{reply:?}");
    }
    assert_usable(&gateway).await;
    assert_only_calls(&journal, 1);
}
