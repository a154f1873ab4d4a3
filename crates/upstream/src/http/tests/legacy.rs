//! Calls to a legacy server over Streamable HTTP: its session, its streams, its questions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::server::{Pen, Reply, Seen, Server, empty, error, event, events, result, stream, whole};
use super::{Call, Gateway, SOON, permitted, spec, tools_call};
use crate::error::Cause;
use crate::event::CallEvent;
use crate::http::HttpLink;
use crate::spec::EraSetting;

type Row = (&'static str, fn(&Seen) -> Reply);

const TOOL: &str = r#"{"name":"t"}"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#;

fn greet(seen: &Seen, version: &str) -> Option<Reply> {
    match (seen.verb.as_str(), seen.method().as_str()) {
        ("POST", "initialize") => {
            let greeting = format!(r#"{{"protocolVersion":"{version}","capabilities":{{}}}}"#);
            let mut reply = result(seen, &greeting);
            reply.headers_mut().insert("mcp-session-id", "session-1".parse().unwrap());
            Some(reply)
        }
        ("DELETE", _) => Some(empty(200)),
        ("GET", _) if seen.header("last-event-id").is_none() => Some(empty(405)),
        ("POST", "notifications/initialized" | "notifications/cancelled" | "") => Some(empty(202)),
        _ => None,
    }
}

/// A legacy server without a GET stream; the script answers calls and resumptions.
async fn server<F>(on_call: F) -> Server
where
    F: Fn(&Seen) -> Reply + Send + Sync + 'static,
{
    Server::start(move |seen| {
        let reply = greet(&seen, "2025-11-25").unwrap_or_else(|| on_call(&seen));
        async move { reply }
    })
    .await
}

/// A server that answers calls with streams, each handed to the test.
async fn streaming() -> (Server, mpsc::Receiver<Pen>) {
    let (opened, pens) = mpsc::channel(8);
    let server = server(move |_| {
        let (pen, reply) = stream();
        opened.try_send(pen).unwrap();
        reply
    })
    .await;
    (server, pens)
}

async fn connect(server: &Server) -> HttpLink {
    Gateway::new().connect(&spec(server, EraSetting::Legacy)).await.unwrap().0
}

#[tokio::test]
async fn every_request_names_session_and_version_and_the_end_is_told() {
    let server = server(|seen| result(seen, "{}")).await;
    let link = connect(&server).await;
    server.saw(|seen| seen.verb == "GET").await;
    link.exchange(tools_call(7, TOOL, None)).await.unwrap();
    link.close(SOON).await;
    assert!(link.is_closed());
    drop(link);
    let seen = server.seen();
    let delete = seen.iter().filter(|seen| seen.verb == "DELETE").count();
    assert_eq!(delete, 1);
    for (at, seen) in seen.iter().enumerate() {
        let expected = if at == 0 { (None, None) } else { (Some("session-1"), Some("2025-11-25")) };
        assert_eq!(
            (seen.header("mcp-session-id"), seen.header("mcp-protocol-version")),
            expected,
            "{}",
            seen.line()
        );
        assert_eq!(seen.header("authorization"), Some("Bearer s3cret"));
        assert_eq!(seen.header("mcp-method"), None);
        let accept =
            if seen.verb == "POST" { "application/json, text/event-stream" } else { "text/event-stream" };
        assert_eq!(seen.header("accept"), Some(accept));
    }
    let initialize = &seen[0].body;
    assert!(initialize.contains(r#""protocolVersion":"2025-11-25""#), "{initialize}");
    assert!(initialize.contains(r#""elicitation":{"form":{},"url":{}}"#), "{initialize}");
}

#[tokio::test]
async fn a_link_that_is_dropped_ends_its_session() {
    let server = server(|seen| result(seen, "{}")).await;
    drop(connect(&server).await);
    server.saw(|seen| seen.verb == "DELETE").await;
}

#[tokio::test]
async fn old_versions_are_not_told_their_version() {
    let server =
        Server::start(
            |seen| async move { greet(&seen, "2025-03-26").unwrap_or_else(|| result(&seen, "{}")) },
        )
        .await;
    let link = connect(&server).await;
    link.exchange(tools_call(7, TOOL, None)).await.unwrap();
    assert_eq!(server.saw_method("tools/call").await.header("mcp-protocol-version"), None);
}

#[tokio::test]
async fn a_session_id_that_is_no_text_is_refused() {
    let server = Server::start(|seen| async move {
        let mut reply = result(&seen, r#"{"protocolVersion":"2025-11-25"}"#);
        reply.headers_mut().insert("mcp-session-id", "a b".parse().unwrap());
        reply
    })
    .await;
    let error = Gateway::new().connect(&spec(&server, EraSetting::Legacy)).await.err().unwrap();
    assert_eq!(error.cause, Cause::Malformed("its session id is not valid".to_owned()));
}

#[tokio::test]
async fn a_lost_session_is_told_as_not_sent() {
    let refusals: &[fn(&Seen) -> Reply] = &[
        |_| empty(404),
        |seen| error(404, seen.id(), -32001),
        |_| error(400, "null", -32000),
        |seen| error(400, seen.id(), -32022),
    ];
    for (row, refusal) in refusals.iter().enumerate() {
        let server = server(refusal).await;
        let link = connect(&server).await;
        let lost = link.exchange(tools_call(7, TOOL, None)).await.unwrap_err();
        assert_eq!(lost.cause, Cause::Gone("its session is over".to_owned()), "row {row}");
        assert!(!lost.sent && link.is_closed(), "row {row}");
        let again = link.exchange(tools_call(8, TOOL, None)).await.unwrap_err();
        assert!(!again.sent);
        drop(link);
    }
    // Another error of the same status is the server's answer.
    let server = server(|seen| error(400, seen.id(), -32602)).await;
    let link = connect(&server).await;
    assert_eq!(link.exchange(tools_call(7, TOOL, None)).await.unwrap().error_member("code"), Some("-32602"));
    assert!(!link.is_closed());
}

#[tokio::test]
async fn a_question_in_the_middle_of_a_call_is_put_and_its_answer_posted() {
    let (server, mut pens) = streaming().await;
    let link = connect(&server).await;
    let mut call = Call::new();
    let talk = async {
        let pen = pens.recv().await.unwrap();
        pen.say(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}"#).await;
        assert!(matches!(call.heard.recv().await.unwrap(), CallEvent::Progress(_)));
        for (id, method, answer, posted) in [
            (
                r#""q-1""#,
                "elicitation/create",
                Some(("result", r#"{"action":"accept"}"#)),
                r#"{"jsonrpc":"2.0","id":"q-1","result":{"action":"accept"}}"#,
            ),
            (
                "2",
                "sampling/createMessage",
                Some(("error", r#"{"code":-1,"message":"no"}"#)),
                r#"{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}"#,
            ),
            (
                "3",
                "elicitation/create",
                None,
                r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"the question was not answered"}}"#,
            ),
            (
                "4",
                "roots/list",
                None,
                r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"the question was not answered"}}"#,
            ),
        ] {
            pen.say(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"message":"?"}}}}"#
            ))
            .await;
            let CallEvent::Ask(ask) = call.heard.recv().await.unwrap() else { panic!("a question comes") };
            assert_eq!(
                (ask.method.as_str(), ask.params.as_deref()),
                (method, Some(br#"{"message":"?"}"#.as_slice()))
            );
            if let Some((kind, params)) = answer {
                ask.answer.give(permitted(kind, params));
            } else {
                drop(ask);
            }
            server.saw(|seen| seen.body == posted).await;
        }
        // Nobody is asked about these.
        pen.say(r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#).await;
        server.saw(|seen| seen.body == r#"{"jsonrpc":"2.0","id":5,"result":{}}"#).await;
        pen.say(r#"{"jsonrpc":"2.0","id":6,"method":"tools/list"}"#).await;
        server.saw(|seen| seen.body.starts_with(r#"{"jsonrpc":"2.0","id":6,"error":{"code":-32601"#)).await;
        pen.say(ANSWER).await;
    };
    let (answer, ()) = tokio::join!(link.exchange(tools_call(7, TOOL, Some(&call.events))), talk);
    assert_eq!(answer.unwrap().text(), ANSWER);
    let answers = server.saw(|seen| seen.body.contains(r#""id":2,"#)).await;
    assert_eq!(answers.header("mcp-session-id"), Some("session-1"));
}

#[tokio::test]
async fn a_question_ends_with_its_call_and_a_late_answer_is_lost() {
    let (server, mut pens) = streaming().await;
    let link = connect(&server).await;
    let mut call = Call::new();
    let talk = async {
        let pen = pens.recv().await.unwrap();
        pen.say(r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}"#).await;
        let CallEvent::Ask(ask) = call.heard.recv().await.unwrap() else { panic!("a question comes") };
        pen.say(ANSWER).await;
        ask
    };
    let (answer, ask) = tokio::join!(link.exchange(tools_call(7, TOOL, Some(&call.events))), talk);
    answer.unwrap();
    let unanswered =
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the question was not answered"}}"#;
    server.saw(|seen| seen.body == unanswered).await;
    ask.answer.give(permitted("result", r#"{"action":"accept"}"#));
    link.close(SOON).await;
    assert!(!server.seen().iter().any(|seen| seen.body.contains("accept")));
}

#[tokio::test]
async fn a_question_that_the_server_takes_back_gets_no_answer() {
    let (server, mut pens) = streaming().await;
    let link = connect(&server).await;
    let mut call = Call::new();
    let talk = async {
        let pen = pens.recv().await.unwrap();
        pen.say(r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}"#).await;
        let CallEvent::Ask(ask) = call.heard.recv().await.unwrap() else { panic!("a question comes") };
        pen.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}"#).await;
        pen.say(ANSWER).await;
        ask
    };
    let (answer, ask) = tokio::join!(link.exchange(tools_call(7, TOOL, Some(&call.events))), talk);
    answer.unwrap();
    ask.answer.refuse(-1, "too late");
    link.close(SOON).await;
    assert!(!server.seen().iter().any(|seen| seen.body.contains(r#""id":"q""#)));
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_by_its_number() {
    let (server, mut pens) = streaming().await;
    let link = connect(&server).await;
    tokio::select! {
        _ = link.exchange(tools_call(7, TOOL, None)) => panic!("there is no answer"),
        pen = pens.recv() => drop(pen),
    }
    let cancelled = server.saw_method("notifications/cancelled").await;
    assert!(cancelled.body.contains(r#""params":{"requestId":7}"#), "{}", cancelled.body);
    // One that was answered is not.
    let (answer, ()) = tokio::join!(link.exchange(tools_call(7, TOOL, None)), async {
        pens.recv().await.unwrap().say(ANSWER).await;
    });
    answer.unwrap();
    link.close(SOON).await;
    assert_eq!(server.seen().iter().filter(|seen| seen.method() == "notifications/cancelled").count(), 1);
}

#[tokio::test]
async fn a_stream_that_breaks_is_taken_up_where_it_broke_after_the_time_asked_for() {
    let cuts = Arc::new(AtomicUsize::new(0));
    let server = server(move |seen| match seen.header("last-event-id") {
        None => events("id: a-1\nretry: 120\ndata:\n\n"),
        // The first attempt finds the server busy, the second brings one event and breaks again.
        Some("a-1") if cuts.fetch_add(1, Ordering::SeqCst) == 0 => {
            let (pen, mut reply) = stream();
            reply.headers_mut().insert("content-length", "99".parse().unwrap());
            drop(pen);
            reply
        }
        Some("a-1") => {
            let progress =
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7}}"#;
            events(&format!("id: a-2\n{}", event(progress)))
        }
        Some("a-2") => events(&event(ANSWER)),
        Some(other) => panic!("{other} was never sent"),
    })
    .await;
    let link = connect(&server).await;
    let mut call = Call::new();
    let before = Instant::now();
    let answer = link.exchange(tools_call(7, TOOL, Some(&call.events))).await.unwrap();
    assert_eq!(answer.text(), ANSWER);
    assert!(before.elapsed() >= Duration::from_millis(3 * 120), "{:?}", before.elapsed());
    assert!(matches!(call.heard.recv().await.unwrap(), CallEvent::Progress(_)));
    let resumed = server.saw(|seen| seen.header("last-event-id").is_some()).await;
    assert_eq!((resumed.verb.as_str(), resumed.header("mcp-session-id")), ("GET", Some("session-1")));
    assert_eq!(server.seen().iter().filter(|seen| seen.method() == "tools/call").count(), 1);
}

#[tokio::test]
async fn a_stream_that_cannot_be_taken_up_fails_its_call() {
    let rows: &[Row] = &[
        ("without ids", |_| events("data:\n\n: bye\n\n")),
        ("no resumption here", |seen| match seen.header("last-event-id") {
            None => events("id: a\nretry: 1\ndata:\n\n"),
            Some(_) => whole(400, "text/plain", "no"),
        }),
        ("always the same", |seen| match seen.header("last-event-id") {
            None => events("id: a\nretry: 1\ndata:\n\n"),
            Some(_) => events(": bye\n\n"),
        }),
    ];
    for (what, script) in rows {
        let server = server(script).await;
        let link = connect(&server).await;
        let gone = link.exchange(tools_call(7, TOOL, None)).await.unwrap_err();
        assert_eq!((gone.cause, gone.sent), (Cause::Gone("the stream ended".to_owned()), true), "{what}");
        assert!(server.seen().len() < 20, "{what}");
        assert!(!link.is_closed());
    }
}
