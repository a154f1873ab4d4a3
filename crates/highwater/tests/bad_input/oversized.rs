//! Messages larger than `limits.max_message`: refused without being kept, wherever they come from.

use highwater_testkit::client::{Era, MODERN};
use tokio::io::AsyncWriteExt;

use crate::fronts::{Front, call};
use crate::raw_http::{Head, RawReply, connect};
use crate::stage::{NEVER, assert_only_calls, gateway, home};

/// What is allowed where nothing is configured.
const MAX_MESSAGE: usize = 4 << 20;

/// A call of exactly so many bytes.
fn sized(era: Era, mark: &str, bytes: usize) -> String {
    let empty = call(era, &format!(r#""name":"up__echo","arguments":{{"body":"","x":"{mark}"}}"#));
    let body = format!(r#""body":"{}""#, "x".repeat(bytes - empty.len()));
    let message = empty.replace(r#""body":"""#, &body);
    assert_eq!(message.len(), bytes);
    message
}

#[tokio::test]
async fn over_http_the_announced_size_is_enough_to_refuse() {
    let (gateway, journal) = gateway().await;
    let head = Head::post(&gateway).with("MCP-Protocol-Version", MODERN);
    let mut stream = connect(&gateway).await;
    let announced = (MAX_MESSAGE + 1).to_string();
    let head = head.with("Content-Length", &announced).with("Connection", "close");
    stream.write_all(head.text().as_bytes()).await.unwrap();
    // Not a byte of the body is sent.
    assert_refused(&RawReply::read(&mut stream).await);
    assert_only_calls(&journal, 0);
}

#[tokio::test]
async fn over_http_a_body_of_unknown_size_is_read_to_the_limit() {
    let (gateway, journal) = gateway().await;
    let head = Head::post(&gateway).with("MCP-Protocol-Version", MODERN);
    let mut stream = connect(&gateway).await;
    let head = head.with("Transfer-Encoding", "chunked").with("Connection", "close");
    stream.write_all(head.text().as_bytes()).await.unwrap();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let opening = format!("{:x}\r\n{NEVER}\r\n", NEVER.len());
    stream.write_all(opening.as_bytes()).await.unwrap();
    for _ in 0..MAX_MESSAGE / 0x10000 {
        stream.write_all(chunk.as_bytes()).await.unwrap();
    }
    assert_refused(&RawReply::read(&mut stream).await);
    assert_only_calls(&journal, 0);
}

#[tokio::test]
async fn over_http_a_client_that_sends_everything_hears_why_it_was_refused() {
    let (gateway, journal) = gateway().await;
    for _ in 0..5 {
        let message = sized(Era::Modern, NEVER, MAX_MESSAGE + 1);
        let reply = Head::post(&gateway).with("MCP-Protocol-Version", MODERN).send(&gateway, &message).await;
        assert_refused(&reply);
    }
    assert_only_calls(&journal, 0);
}

#[tokio::test]
async fn over_http_the_session_outlives_the_refusal_and_the_limit_itself_is_allowed() {
    let (gateway, journal) = gateway().await;
    for era in [Era::Legacy, Era::Modern] {
        let front = Front::http(&gateway, era).await;
        let heard = front.say(sized(era, NEVER, MAX_MESSAGE + 1).as_bytes()).await;
        assert_eq!(heard.status, Some(413), "{heard:?}");
        assert_eq!(heard.message["error"]["code"], -32600, "{heard:?}");
        front.assert_usable(0).await;
        let heard = front.say(sized(era, "largest", MAX_MESSAGE).as_bytes()).await;
        assert_eq!(heard.message["result"]["structuredContent"]["x"], "largest");
    }
    assert_only_calls(&journal, 4);
}

#[tokio::test]
async fn over_stdio_a_line_that_is_too_long_is_refused_once_and_the_next_one_is_read() {
    let (home, journal) = home();
    for era in [Era::Legacy, Era::Modern] {
        let front = Front::stdio(&home, era).await;
        for size in [MAX_MESSAGE + 1, 3 * MAX_MESSAGE] {
            let heard = front.say(sized(era, NEVER, size).as_bytes()).await;
            assert_eq!(heard.message["error"]["code"], -32600, "{heard:?}");
            assert_eq!(heard.message["error"]["data"]["path"], "", "{heard:?}");
            assert_eq!(heard.message["id"], serde_json::Value::Null, "{heard:?}");
            front.assert_usable(size).await;
        }
        let heard = front.say(sized(era, "largest", MAX_MESSAGE).as_bytes()).await;
        assert_eq!(heard.message["result"]["structuredContent"]["x"], "largest");
    }
    assert_only_calls(&journal, 6);
}

fn assert_refused(reply: &RawReply) {
    assert_eq!((reply.status, reply.code()), (413, -32600), "{reply:?}");
    let error = &reply.json()["error"];
    assert_eq!(error["data"]["path"], "", "{reply:?}");
    assert!(error["message"].as_str().unwrap().contains("limits.max_message"), "{reply:?}");
}
