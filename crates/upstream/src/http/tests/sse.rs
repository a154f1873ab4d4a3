//! HTTP+SSE of 2024-11-05.

use std::time::Duration;

use tokio::sync::mpsc;

use super::server::{Pen, Seen, Server, empty, stream};
use super::{Call, Gateway, SOON, permitted, spec, tools_call};
use crate::error::{Cause, UpstreamError};
use crate::event::CallEvent;
use crate::http::HttpLink;
use crate::spec::{EraSetting, RememberedEra};

const TOOL: &str = r#"{"name":"t"}"#;

/// A server that greets; its stream and every other message are handed to the test.
async fn server(endpoint: &'static str) -> (Server, mpsc::Receiver<(Seen, Pen)>) {
    let (told, messages) = mpsc::channel::<(Seen, Pen)>(8);
    let line: std::sync::Arc<std::sync::Mutex<Option<Pen>>> = std::sync::Arc::default();
    let server = Server::start(move |seen| {
        let (told, line) = (told.clone(), std::sync::Arc::clone(&line));
        async move {
            if seen.verb == "GET" {
                let (pen, reply) = stream();
                pen.write(format!(": hello\n\nevent: endpoint\ndata: {endpoint}\n\n")).await;
                *line.lock().unwrap() = Some(pen);
                return reply;
            }
            if seen.path == "/mcp" {
                return empty(405);
            }
            let pen = line.lock().unwrap().clone().unwrap();
            match seen.method().as_str() {
                "initialize" => {
                    let answer = format!(
                        r#"{{"jsonrpc":"2.0","id":{},"result":{{"protocolVersion":"2024-11-05","capabilities":{{}}}}}}"#,
                        seen.id()
                    );
                    pen.say(&answer).await;
                }
                "notifications/initialized" | "notifications/cancelled" => {}
                "refused" => return empty(400),
                "slow" => {
                    finish(&seen, &pen).await;
                    pen.abandoned().await;
                }
                // The only pen left is the one that the test gets.
                "last" => {
                    line.lock().unwrap().take();
                    told.send((seen, pen)).await.unwrap();
                }
                _ => told.send((seen, pen)).await.unwrap(),
            }
            empty(202)
        }
    })
    .await;
    (server, messages)
}

async fn connect(server: &Server) -> Result<HttpLink, UpstreamError> {
    Ok(Gateway::new().connect(&spec(server, EraSetting::Sse)).await?.0)
}

async fn finish(seen: &Seen, pen: &Pen) {
    pen.say(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"for":{}}}}}"#, seen.id(), seen.id())).await;
}

#[tokio::test]
async fn answers_find_their_calls_in_any_order() {
    let (server, mut messages) = server("/messages?session=1").await;
    let (link, era) = Gateway::new().connect(&spec(&server, EraSetting::Auto)).await.unwrap();
    assert_eq!((era, link.greeting().version.as_str()), (RememberedEra::Sse, "2024-11-05"));
    let talk = async {
        let (first, pen) = messages.recv().await.unwrap();
        let (second, _) = messages.recv().await.unwrap();
        assert_eq!(first.path, "/messages?session=1");
        assert_eq!(first.header("authorization"), Some("Bearer s3cret"));
        pen.say(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#).await;
        finish(&second, &pen).await;
        finish(&first, &pen).await;
    };
    let exchanges = async {
        tokio::join!(link.exchange(tools_call(7, TOOL, None)), link.exchange(tools_call(8, TOOL, None)))
    };
    let ((one, two), ()) = tokio::join!(exchanges, talk);
    assert_eq!(one.unwrap().result(), Some(r#"{"for":7}"#));
    assert_eq!(two.unwrap().result(), Some(r#"{"for":8}"#));
}

#[tokio::test]
async fn a_server_may_answer_before_it_accepts() {
    let (server, _messages) = server("/messages").await;
    let link = connect(&server).await.unwrap();
    let mut slow = tools_call(7, TOOL, None);
    slow.method = "slow";
    assert_eq!(link.exchange(slow).await.unwrap().result(), Some(r#"{"for":7}"#));
}

#[tokio::test]
async fn questions_and_progress_reach_the_only_call() {
    let (server, mut messages) = server("/messages").await;
    let link = connect(&server).await.unwrap();
    let mut call = Call::new();
    let events = call.events.clone();
    let talk = async {
        let (seen, pen) = messages.recv().await.unwrap();
        pen.say(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7}}"#).await;
        assert!(matches!(call.event().await, CallEvent::Progress(_)));
        pen.say(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#).await;
        let CallEvent::Ask(ask) = call.event().await else { panic!("a question comes") };
        assert_eq!(ask.params, None);
        ask.answer.give(permitted("result", r#"{"roots":[]}"#));
        let (answer, _) = messages.recv().await.unwrap();
        assert_eq!(answer.body, r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#);
        finish(&seen, &pen).await;
    };
    let (answer, ()) = tokio::join!(link.exchange(tools_call(7, TOOL, Some(&events))), talk);
    answer.unwrap();
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_and_its_late_answer_dropped() {
    let (server, mut messages) = server("/messages").await;
    let link = connect(&server).await.unwrap();
    let (seen, pen) = tokio::select! {
        _ = link.exchange(tools_call(7, TOOL, None)) => panic!("there is no answer"),
        message = messages.recv() => message.unwrap(),
    };
    let cancelled = server.saw_method("notifications/cancelled").await;
    assert!(cancelled.body.contains(r#""params":{"requestId":7}"#), "{}", cancelled.body);
    finish(&seen, &pen).await;
    let (answer, ()) = tokio::join!(link.exchange(tools_call(8, TOOL, None)), async {
        let (seen, pen) = messages.recv().await.unwrap();
        finish(&seen, &pen).await;
    });
    assert_eq!(answer.unwrap().result(), Some(r#"{"for":8}"#));
}

#[tokio::test]
async fn a_broken_answer_fails_its_own_call_and_no_other() {
    let (server, mut messages) = server("/messages").await;
    let link = connect(&server).await.unwrap();
    let talk = async {
        let (_, pen) = messages.recv().await.unwrap();
        let (second, _) = messages.recv().await.unwrap();
        assert_eq!(second.id(), "8");
        pen.say("garbage").await;
        pen.say(r#"{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}"#).await;
        finish(&second, &pen).await;
    };
    let exchanges = async {
        tokio::join!(link.exchange(tools_call(7, TOOL, None)), link.exchange(tools_call(8, TOOL, None)))
    };
    let ((one, two), ()) = tokio::join!(exchanges, talk);
    let error = one.unwrap_err();
    assert!(matches!(error.cause, Cause::Malformed(_)) && error.sent, "{error}");
    two.unwrap();
    assert!(!link.is_closed());
}

#[tokio::test]
async fn the_end_of_the_stream_ends_the_link_and_what_waits_on_it() {
    let (server, mut messages) = server("/messages").await;
    let link = connect(&server).await.unwrap();
    let mut last = tools_call(7, TOOL, None);
    last.method = "last";
    let (answer, ()) = tokio::join!(link.exchange(last), async {
        drop(messages.recv().await.unwrap());
    });
    let gone = answer.unwrap_err();
    assert_eq!((gone.cause, gone.sent), (Cause::Gone("the stream ended".to_owned()), true));
    assert!(link.is_closed());
    let again = link.exchange(tools_call(8, TOOL, None)).await.unwrap_err();
    assert!(!again.sent);
}

#[tokio::test]
async fn a_message_that_is_refused_fails_its_call() {
    let (server, _messages) = server("/messages").await;
    let link = connect(&server).await.unwrap();
    let mut refused = tools_call(7, TOOL, None);
    refused.method = "refused";
    assert_eq!(link.exchange(refused).await.unwrap_err().cause, Cause::Status(400));
    link.close(SOON).await;
    assert!(link.is_closed());
}

#[tokio::test]
async fn an_endpoint_elsewhere_is_refused_and_never_spoken_to() {
    let other = Server::start(|_| async { empty(202) }).await;
    let elsewhere: &'static str = Box::leak(other.url().into_boxed_str());
    let (server, _messages) = server(elsewhere).await;
    let error = connect(&server).await.err().unwrap();
    assert_eq!(error.cause, Cause::Malformed("its `endpoint` is not a place of its own origin".to_owned()));
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn a_stream_without_an_endpoint_costs_the_start_time() {
    let server = Server::start(|_| async {
        let (pen, reply) = stream();
        tokio::spawn(async move { pen.abandoned().await });
        reply
    })
    .await;
    let mut spec = spec(&server, EraSetting::Sse);
    spec.timeouts.start = Duration::from_millis(100);
    let error = Gateway::new().connect(&spec).await.err().unwrap();
    assert_eq!(error.cause, Cause::SilentStart(Duration::from_millis(100)));
}
