//! The GET stream of a legacy session, on which messages name no call.

use tokio::sync::mpsc;

use super::server::{Pen, Seen, Server, empty, result, stream};
use super::{Call, Gateway, SOON, permitted, spec, tools_call};
use crate::event::CallEvent;
use crate::spec::EraSetting;

const TOOL: &str = r#"{"name":"t"}"#;
const QUESTION: &str = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}"#;
const REFUSED: &str =
    r#"{"jsonrpc":"2.0","id":"q","error":{"code":-32601,"message":"this cannot be asked now"}}"#;

/// A server whose GET streams and calls are handed to the test.
async fn server() -> (Server, mpsc::Receiver<(Seen, Pen)>, mpsc::Receiver<(Seen, Pen)>) {
    let (opened, streams) = mpsc::channel(8);
    let (called, calls) = mpsc::channel(8);
    let server = Server::start(move |seen| {
        let (opened, called) = (opened.clone(), called.clone());
        async move {
            match (seen.verb.as_str(), seen.method().as_str()) {
                ("POST", "initialize") => {
                    let greeting =
                        r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}}}"#;
                    let mut reply = result(&seen, greeting);
                    reply.headers_mut().insert("mcp-session-id", "s".parse().unwrap());
                    reply
                }
                ("POST", "tools/call") => {
                    let (pen, reply) = stream();
                    called.send((seen, pen)).await.unwrap();
                    reply
                }
                ("GET", _) if seen.header("last-event-id") == Some("over") => empty(404),
                ("GET", _) => {
                    let (pen, reply) = stream();
                    opened.send((seen, pen)).await.unwrap();
                    reply
                }
                _ => empty(202),
            }
        }
    })
    .await;
    (server, streams, calls)
}

async fn finish((seen, pen): (Seen, Pen)) {
    pen.say(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, seen.id())).await;
}

#[tokio::test]
async fn notices_come_over_the_get_stream() {
    let (server, mut streams, _calls) = server().await;
    let mut gateway = Gateway::new();
    let (_link, _) = gateway.connect(&spec(&server, EraSetting::Legacy)).await.unwrap();
    let (_, pen) = streams.recv().await.unwrap();
    for (method, notice) in [
        ("notifications/tools/list_changed", "ToolsChanged"),
        ("notifications/prompts/list_changed", "PromptsChanged"),
        ("notifications/resources/list_changed", "ResourcesChanged"),
        ("notifications/resources/updated", "ResourceUpdated"),
        ("notifications/message", "Log"),
    ] {
        pen.write("data: garbage\n\n").await;
        pen.say(&format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{}}}}"#)).await;
        let told = gateway.notice().await;
        assert!(told.starts_with(notice), "{told}");
    }
    pen.say(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
    server.saw(|seen| seen.body == r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
}

#[tokio::test]
async fn a_question_belongs_to_the_only_call_in_flight() {
    let (server, mut streams, mut calls) = server().await;
    let gateway = Gateway::new();
    let (link, _) = gateway.connect(&spec(&server, EraSetting::Legacy)).await.unwrap();
    let (_, pen) = streams.recv().await.unwrap();

    // None in flight: nobody can be asked.
    pen.say(QUESTION).await;
    server.saw(|seen| seen.body == REFUSED).await;
    assert!(!gateway.world.asks_back());

    // One: it is asked, and progress finds it by its number.
    let mut call = Call::new();
    let events = call.events.clone();
    let talk = async {
        let open = calls.recv().await.unwrap();
        pen.say(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7}}"#).await;
        assert!(matches!(call.event().await, CallEvent::Progress(_)));
        pen.say(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#).await;
        assert!(matches!(call.event().await, CallEvent::Notification(_)));
        pen.say(&QUESTION.replace(r#""q""#, "5")).await;
        let CallEvent::Ask(ask) = call.event().await else { panic!("a question comes") };
        assert!(gateway.world.asks_back());
        ask.answer.give(permitted("result", r#"{"action":"decline"}"#));
        server.saw(|seen| seen.body == r#"{"jsonrpc":"2.0","id":5,"result":{"action":"decline"}}"#).await;
        finish(open).await;
    };
    let (answer, ()) = tokio::join!(link.exchange(tools_call(7, TOOL, Some(&events))), talk);
    answer.unwrap();

    // Two: whose would it be?
    let (mut one, mut two) = (Call::new(), Call::new());
    let talk = async {
        let (first, second) = (calls.recv().await.unwrap(), calls.recv().await.unwrap());
        pen.say(r#"{"jsonrpc":"2.0","id":6,"method":"sampling/createMessage","params":{}}"#).await;
        server.saw(|seen| seen.body.starts_with(r#"{"jsonrpc":"2.0","id":6,"error":{"code":-32601"#)).await;
        finish(first).await;
        finish(second).await;
    };
    let exchanges = async {
        tokio::join!(
            link.exchange(tools_call(8, TOOL, Some(&one.events))),
            link.exchange(tools_call(9, TOOL, Some(&two.events)))
        )
    };
    let ((first, second), ()) = tokio::join!(exchanges, talk);
    first.unwrap();
    second.unwrap();
    assert!(one.heard.try_recv().is_err() && two.heard.try_recv().is_err());
}

#[tokio::test]
async fn a_control_message_in_flight_is_asked_nothing() {
    let (server, mut streams, mut calls) = server().await;
    let (link, _) = Gateway::new().connect(&spec(&server, EraSetting::Legacy)).await.unwrap();
    let (_, pen) = streams.recv().await.unwrap();
    let talk = async {
        let open = calls.recv().await.unwrap();
        pen.say(QUESTION).await;
        server.saw(|seen| seen.body == REFUSED).await;
        open.1.say(&QUESTION.replace(r#""q""#, "3")).await;
        let refused =
            r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"this cannot be asked now"}}"#;
        server.saw(|seen| seen.body == refused).await;
        finish(open).await;
    };
    let (answer, ()) = tokio::join!(link.exchange(tools_call(7, TOOL, None)), talk);
    answer.unwrap();
}

#[tokio::test]
async fn a_broken_get_stream_is_taken_up_or_what_may_have_changed_is_told() {
    let (server, mut streams, _calls) = server().await;
    let mut gateway = Gateway::new();
    let (link, _) = gateway.connect(&spec(&server, EraSetting::Legacy)).await.unwrap();
    let (_, pen) = streams.recv().await.unwrap();
    pen.write("retry: 1\n\n").await;
    drop(pen);
    let (again, pen) = streams.recv().await.unwrap();
    assert_eq!(again.header("last-event-id"), None);
    assert_eq!(gateway.notice().await, "ToolsChanged");
    pen.write("id: 8\ndata:\n\n").await;
    drop(pen);
    let (again, pen) = streams.recv().await.unwrap();
    assert_eq!(again.header("last-event-id"), Some("8"));

    // The server says that the session is over.
    pen.write("id: over\ndata:\n\n").await;
    drop(pen);
    server.saw(|seen| seen.header("last-event-id") == Some("over")).await;
    tokio::time::timeout(SOON, async {
        while !link.is_closed() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    // So that somebody looks, and greets the server anew.
    assert_eq!(gateway.notice().await, "ToolsChanged");
    assert!(gateway.notices.try_recv().is_err());
}
