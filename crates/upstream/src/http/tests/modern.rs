//! Calls to a modern server, and its listen stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{mpsc, oneshot};

use super::server::{Pen, Reply, Seen, Server, error, event, events, result, stream};
use super::{Call, Gateway, SOON, spec, tools_call};
use crate::error::Cause;
use crate::event::CallEvent;
use crate::http::HttpLink;
use crate::link::Outbound;
use crate::spec::EraSetting;

const PLAIN: &str = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#;
const LISTENING: &str = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":false},"resources":{"listChanged":true,"subscribe":true}}}"#;

async fn server<F>(on_call: F) -> Server
where
    F: Fn(&Seen) -> Reply + Send + Sync + 'static,
{
    Server::start(move |seen| {
        let reply = if seen.method() == "server/discover" { result(&seen, PLAIN) } else { on_call(&seen) };
        async move { reply }
    })
    .await
}

async fn connect(gateway: &Gateway, server: &Server) -> HttpLink {
    gateway.connect(&spec(server, EraSetting::Modern)).await.unwrap().0
}

#[tokio::test]
async fn a_call_repeats_its_body_in_its_headers_and_is_answered_as_it_came() {
    let server = server(|seen| result(seen, r#"{"content" : [ ],"n":12345678901234567890123}"#)).await;
    let link = connect(&Gateway::new(), &server).await;
    let headers = [("Mcp-Param-Region".to_owned(), "eu west".to_owned())];
    let params = r#"{"name":"grüße","arguments":{"a":1}}"#;
    let outbound = Outbound { param_headers: &headers, ..tools_call(7, params, None) };
    let answer = link.exchange(outbound).await.unwrap();
    assert_eq!(
        answer.text(),
        r#"{"jsonrpc":"2.0","id":7,"result":{"content" : [ ],"n":12345678901234567890123}}"#
    );
    let seen = server.saw_method("tools/call").await;
    assert_eq!(
        seen.body,
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"grüße","arguments":{"a":1}}}"#
    );
    assert_eq!(seen.header("mcp-method"), Some("tools/call"));
    assert_eq!(seen.header("mcp-name"), Some("=?base64?Z3LDvMOfZQ==?="));
    assert_eq!(seen.header("mcp-param-region"), Some("eu west"));
    assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(seen.header("authorization"), Some("Bearer s3cret"));
}

#[tokio::test]
async fn names_come_from_the_member_that_the_method_names() {
    let server = server(|seen| result(seen, "{}")).await;
    let link = connect(&Gateway::new(), &server).await;
    for (number, method, params, name) in [
        (1, "resources/read", r#"{"uri":"file:///a"}"#, Some("file:///a")),
        (2, "prompts/get", r#"{"name":"p"}"#, Some("p")),
        (3, "tasks/get", r#"{"taskId":"t"}"#, Some("t")),
        (4, "tools/list", "{}", None),
    ] {
        let outbound =
            Outbound { number, method, params: Some(params), target: None, param_headers: &[], events: None };
        link.exchange(outbound).await.unwrap();
        assert_eq!(server.saw_method(method).await.header("mcp-name"), name, "{method}");
    }
}

#[tokio::test]
async fn what_a_server_says_before_its_answer_reaches_the_caller_in_order() {
    let server = server(|seen| {
        let mut text = String::from(": hello\n\nid: 1\ndata:\n\n");
        for message in [
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":8,"progress":1}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/new/thing","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#,
            r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        ] {
            text.push_str(&event(message));
        }
        text.push_str("event: ping\ndata: {}\n\n");
        text.push_str(&event(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, seen.id())));
        events(&text)
    })
    .await;
    let mut gateway = Gateway::new();
    let link = connect(&gateway, &server).await;
    let mut call = Call::new();
    let answer = link.exchange(tools_call(7, r#"{"name":"t"}"#, Some(&call.events))).await.unwrap();
    assert_eq!(answer.result(), Some("{}"));
    drop(call.events);
    let mut heard = Vec::new();
    while let Ok(event) = call.heard.try_recv() {
        heard.push(match event {
            CallEvent::Progress(frame) | CallEvent::Notification(frame) => frame.method().unwrap().to_owned(),
            CallEvent::Ask(ask) => ask.method,
            CallEvent::Retry(retry) => panic!("nothing broke: {retry:?}"),
        });
    }
    assert_eq!(heard, ["notifications/progress", "notifications/message", "notifications/new/thing"]);
    assert_eq!(gateway.notice().await, "ToolsChanged");
}

#[tokio::test]
async fn an_error_status_with_an_error_body_is_an_answer() {
    for (status, id) in [(400, "null"), (400, "7"), (404, "7"), (500, "7")] {
        let server = server(move |_| error(status, id, -32601)).await;
        let link = connect(&Gateway::new(), &server).await;
        let answer = link.exchange(tools_call(7, r#"{"name":"t"}"#, None)).await.unwrap();
        assert_eq!(answer.error_member("code"), Some("-32601"), "{status} {id}");
        assert!(!link.is_closed());
    }
}

#[tokio::test]
async fn an_answer_to_another_request_is_none() {
    for status in [200, 400] {
        let server = server(move |_| error(status, "8", -32601)).await;
        let link = connect(&Gateway::new(), &server).await;
        let error = link.exchange(tools_call(7, r#"{"name":"t"}"#, None)).await.unwrap_err();
        assert!(matches!(error.cause, Cause::Malformed(_) | Cause::Status(400)), "{error}");
        assert!(error.sent);
    }
}

#[tokio::test]
async fn a_server_that_left_the_era_has_to_be_met_anew() {
    let server = server(|seen| error(400, seen.id(), -32022)).await;
    let link = connect(&Gateway::new(), &server).await;
    let error = link.exchange(tools_call(7, r#"{"name":"t"}"#, None)).await.unwrap_err();
    assert!(!error.sent && link.is_closed(), "{error}");
}

#[tokio::test]
async fn a_stream_that_ends_without_an_answer_is_told() {
    let server = server(|_| events(": nothing\n\n")).await;
    let link = connect(&Gateway::new(), &server).await;
    let error = link.exchange(tools_call(7, r#"{"name":"t"}"#, None)).await.unwrap_err();
    assert_eq!((error.cause, error.sent), (Cause::Gone("the stream ended".to_owned()), true));
}

/// Tells when it is dropped.
struct Alarm(Option<oneshot::Sender<()>>);

impl Drop for Alarm {
    fn drop(&mut self) {
        self.0.take().unwrap().send(()).unwrap();
    }
}

#[tokio::test]
async fn dropping_a_call_closes_its_connection_before_any_answer() {
    let (called, mut calls) = mpsc::channel(1);
    let server = Server::start(move |seen| {
        let called = called.clone();
        async move {
            if seen.method() == "server/discover" {
                return result(&seen, PLAIN);
            }
            let (sender, gone) = oneshot::channel();
            let _alarm = Alarm(Some(sender));
            called.send(gone).await.unwrap();
            std::future::pending().await
        }
    })
    .await;
    let link = connect(&Gateway::new(), &server).await;
    let call = link.exchange(tools_call(7, r#"{"name":"t"}"#, None));
    let gone = tokio::select! {
        gone = calls.recv() => gone.unwrap(),
        _ = call => panic!("there is no answer"),
    };
    // The call was dropped with the select.
    tokio::time::timeout(SOON, gone).await.unwrap().unwrap();
}

#[tokio::test]
async fn dropping_a_call_closes_its_stream() {
    let (opened, mut pens) = mpsc::channel::<Pen>(1);
    let server = server(move |_| {
        let (pen, reply) = stream();
        opened.try_send(pen).unwrap();
        reply
    })
    .await;
    let link = connect(&Gateway::new(), &server).await;
    let mut call = Call::new();
    let exchange = link.exchange(tools_call(7, r#"{"name":"t"}"#, Some(&call.events)));
    let pen = tokio::select! {
        pen = async {
            let pen = pens.recv().await.unwrap();
            pen.say(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7}}"#).await;
            call.heard.recv().await.unwrap();
            pen
        } => pen,
        _ = exchange => panic!("there is no answer"),
    };
    pen.abandoned().await;
}

#[tokio::test]
async fn answers_of_both_kinds_leave_their_connection_for_the_next_call() {
    let server = server(|seen| {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, seen.id());
        if seen.body.contains("streamed") {
            let (pen, reply) = stream();
            tokio::spawn(async move {
                pen.say(&answer).await;
                tokio::task::yield_now().await;
            });
            return reply;
        }
        result(seen, "{}")
    })
    .await;
    let link = connect(&Gateway::new(), &server).await;
    for number in 0..20 {
        let name = if number % 2 == 0 { r#"{"name":"streamed"}"# } else { r#"{"name":"whole"}"# };
        link.exchange(tools_call(number, name, None)).await.unwrap();
    }
    // One more is made when a call comes while the last stream is just ending.
    assert!(server.connections() <= 2, "{}", server.connections());
}

/// A server that can be listened to: every listen stream is handed to the test.
async fn listened(refuse_from: usize) -> (Server, mpsc::Receiver<(Seen, Pen)>) {
    let (opened, listeners) = mpsc::channel(8);
    let count = Arc::new(AtomicUsize::new(0));
    let server = Server::start(move |seen| {
        let (opened, count) = (opened.clone(), Arc::clone(&count));
        async move {
            match seen.method().as_str() {
                "server/discover" => result(&seen, LISTENING),
                "subscriptions/listen" if count.fetch_add(1, Ordering::SeqCst) >= refuse_from => {
                    error(404, seen.id(), -32601)
                }
                "subscriptions/listen" => {
                    let (pen, reply) = stream();
                    let ack = format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}},"notifications":{{}}}}}}"#,
                        seen.id()
                    );
                    tokio::spawn(async move {
                        pen.say(&ack).await;
                        opened.send((seen, pen)).await.unwrap();
                    });
                    reply
                }
                _ => result(&seen, "{}"),
            }
        }
    })
    .await;
    (server, listeners)
}

#[tokio::test]
async fn one_stream_carries_list_changes_and_subscribed_resources() {
    let (server, mut listeners) = listened(usize::MAX).await;
    let mut gateway = Gateway::new();
    let link = connect(&gateway, &server).await;
    let (first, first_pen) = listeners.recv().await.unwrap();
    assert!(
        first.body.contains(r#""notifications":{"toolsListChanged":true,"resourcesListChanged":true}"#),
        "{}",
        first.body
    );
    first_pen.say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).await;
    assert_eq!(gateway.notice().await, "ToolsChanged");

    link.set_subscriptions(&["file:///\"a".to_owned()]).await.unwrap();
    let (second, second_pen) = listeners.recv().await.unwrap();
    assert!(second.body.contains(r#""resourceSubscriptions":["file:///\"a"]"#), "{}", second.body);
    first_pen.abandoned().await;
    second_pen
        .say(r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///\"a"}}"#)
        .await;
    assert!(gateway.notice().await.starts_with("ResourceUpdated"));

    // The same wish needs no new stream.
    link.set_subscriptions(&["file:///\"a".to_owned()]).await.unwrap();
    link.close(SOON).await;
    second_pen.abandoned().await;
    assert!(link.is_closed());
    assert!(listeners.try_recv().is_err());
}

#[tokio::test]
async fn a_listen_stream_that_ends_is_opened_anew_and_what_may_have_changed_is_told() {
    let (server, mut listeners) = listened(usize::MAX).await;
    let mut gateway = Gateway::new();
    let _link = connect(&gateway, &server).await;
    let (_, pen) = listeners.recv().await.unwrap();
    drop(pen);
    listeners.recv().await.unwrap();
    assert_eq!(gateway.notice().await, "ToolsChanged");
    assert_eq!(gateway.notice().await, "ResourcesChanged");
}

#[tokio::test]
async fn a_refused_subscription_is_told_and_calls_go_on() {
    let (server, _listeners) = listened(1).await;
    let link = connect(&Gateway::new(), &server).await;
    let error = link.set_subscriptions(&["file:///a".to_owned()]).await.unwrap_err();
    assert_eq!(
        error.cause,
        Cause::Malformed("it refused `subscriptions/listen` with error -32601".to_owned())
    );
    link.exchange(tools_call(7, r#"{"name":"t"}"#, None)).await.unwrap();
}
