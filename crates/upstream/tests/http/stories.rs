//! What works, works over every transport.

use highwater_core::action::ActionKind;
use highwater_mcp::era::Era;
use highwater_upstream::control::{ControlMessage, ControlReply, ListKind, LogLevel};
use highwater_upstream::event::{CallEvent, NoticeKind};
use serde_json::Value;
use tokio::sync::mpsc::channel;
use tokio::time::timeout;

use super::support::{ALL, CLIENT, LONG, Speaks, call, permit, text};

#[tokio::test]
async fn the_era_is_found_out_and_lists_and_answers_come_as_they_were_written() {
    for speaks in ALL {
        let stage = speaks.set().await;
        let greeting = stage.upstream.greet().await.unwrap();
        let era = if speaks == Speaks::Modern { Era::Modern } else { Era::Legacy };
        assert_eq!(greeting.era, era, "{speaks:?}");
        stage.upstream.control(ControlMessage::Ping).await.unwrap();
        let tools = stage.upstream.control(ControlMessage::List(ListKind::Tools)).await.unwrap();
        let ControlReply::Listing(tools) = tools else { panic!("a list") };
        let echo = tools.items.iter().find(|item| item.starts_with(br#"{"name": "echo""#));
        let echo = std::str::from_utf8(echo.expect("echo is listed")).unwrap();
        assert!(echo.contains("12345678901234567890123") && echo.contains("[1e2, 0.10]"), "{echo}");
        let reply = stage.call("echo", r#"{"n":12345678901234567890123,"z":1e2,"a":0.10}"#).await.0.unwrap();
        let result = reply.frame.result().unwrap();
        assert!(result.contains(r#"{"n":12345678901234567890123,"z":1e2,"a":0.10}"#), "{speaks:?}: {result}");
        stage.upstream.shutdown(LONG).await;
        assert_eq!(stage.count("HTTP DELETE"), usize::from(speaks == Speaks::Legacy));
        for line in stage.saw() {
            assert_eq!(line["headers"]["x-key"], "s3cret", "{line}");
        }
    }
}

#[tokio::test]
async fn progress_and_logs_come_before_the_answer() {
    for speaks in ALL {
        let stage = speaks.set().await;
        let (reply, heard) = stage.call("progress", r#"{"steps":5,"ms":1}"#).await;
        assert_eq!(text(&reply.unwrap()), "5 steps");
        let steps: Vec<&str> = heard
            .iter()
            .map(|event| match event {
                CallEvent::Progress(frame) => frame.param("progress").unwrap(),
                other => panic!("nothing but progress: {other:?}"),
            })
            .collect();
        assert_eq!(steps, ["1", "2", "3", "4", "5"], "{speaks:?}");
        if speaks != Speaks::Modern {
            stage.upstream.control(ControlMessage::LogLevel(LogLevel::Debug)).await.unwrap();
            let (reply, heard) = stage.call("log", r#"{"level":"info","text":"hello"}"#).await;
            reply.unwrap();
            assert!(matches!(heard.as_slice(), [CallEvent::Notification(_)]), "{speaks:?}: {heard:?}");
        }
    }
}

#[tokio::test]
async fn a_question_is_put_and_answered_in_the_manner_of_the_era() {
    for speaks in ALL {
        let stage = speaks.set().await;
        let (sink, mut events) = channel(8);
        let asking = stage.upstream.perform(call("ask_elicit", r#"{"message":"Who?"}"#), CLIENT, &sink);
        let answering = async {
            if speaks == Speaks::Modern {
                return;
            }
            let CallEvent::Ask(ask) = events.recv().await.unwrap() else { panic!("a question comes") };
            assert_eq!(ask.method, "elicitation/create");
            let answer = r#"{"action":"accept","content":{"answer":"me"}}"#;
            ask.answer.give(permit(ActionKind::Answer, "result", "asked", answer));
        };
        let both = async { tokio::join!(asking, answering).0 };
        let reply = timeout(LONG, both).await.unwrap().unwrap();
        if speaks == Speaks::Modern {
            assert_eq!(reply.frame.result_member("resultType"), Some(r#""input_required""#));
        } else {
            assert!(text(&reply).contains("me"), "{speaks:?}: {}", text(&reply));
        }
    }
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled() {
    for speaks in ALL {
        let stage = speaks.set().await;
        let (sink, _events) = channel(8);
        tokio::select! {
            _ = stage.upstream.perform(call("hang", "{}"), CLIENT, &sink) => panic!("it never answers"),
            _ = stage.saw_at_last(|line| line["method"] == "tools/call") => {}
        }
        stage.saw_at_last(|line| line["method"] == "cancelled").await;
        let told = usize::from(speaks != Speaks::Modern);
        assert_eq!(stage.count("notifications/cancelled"), told, "{speaks:?}");
        assert_eq!(stage.text("sleep", r#"{"ms":1}"#).await, "slept 1 ms");
    }
}

#[tokio::test]
async fn changes_and_subscribed_resources_are_told() {
    for speaks in ALL {
        let mut stage = speaks.set().await;
        // A server that all clients share is met anew for one that can do more than it was told.
        stage.upstream.expect_modern(CLIENT.capabilities);
        stage.upstream.greet().await.unwrap();
        if speaks == Speaks::Legacy {
            stage.saw_at_last(|line| line["method"] == "HTTP GET").await;
        }
        stage.text("add_tool", r#"{"name":"fresh"}"#).await;
        assert!(matches!(stage.notice().await, NoticeKind::ToolsChanged), "{speaks:?}");
        let uri = r#"{"uri":"test://watched-resource"}"#;
        let subscribe = permit(ActionKind::Subscribe, "resources/subscribe", "test://watched-resource", uri);
        let (sink, _events) = channel(1);
        let reply = stage.upstream.perform(subscribe, CLIENT, &sink).await.unwrap();
        assert!(reply.frame.result().is_some(), "{:?}", reply.frame.text());
        stage.text("touch_resource", uri).await;
        let NoticeKind::ResourceUpdated(frame) = stage.notice().await else { panic!("an update") };
        assert_eq!(frame.param("uri"), Some(r#""test://watched-resource""#));
        if speaks == Speaks::Modern {
            // The server ends the stream; it is opened anew with the same wishes, and what may have changed
            // meanwhile is told.
            stage.text("end_subscriptions", "{}").await;
            assert!(matches!(stage.notice().await, NoticeKind::ToolsChanged));
            while !matches!(stage.notice().await, NoticeKind::ResourcesChanged) {}
            stage.text("touch_resource", uri).await;
            assert!(matches!(stage.notice().await, NoticeKind::ResourceUpdated(_)));
        }
    }
}

#[tokio::test]
async fn marked_arguments_are_repeated_as_headers() {
    let stage = Speaks::Modern.set().await;
    stage.upstream.control(ControlMessage::List(ListKind::Tools)).await.unwrap();
    let arguments = r#"{"region":"süd","limit":7,"options":{"dry":true}}"#;
    stage.call("test_routed_parameters", arguments).await.0.unwrap();
    let seen = stage.saw_at_last(|line| line["headers"]["mcp-name"] == "test_routed_parameters").await;
    assert_eq!(seen["headers"]["mcp-param-region"], "=?base64?c8O8ZA==?=");
    assert_eq!(seen["headers"]["mcp-param-limit"], "7");
    assert_eq!(seen["headers"]["mcp-param-dry-run"], "true");
}

#[tokio::test]
async fn a_stream_that_the_server_hangs_up_on_is_taken_up_again() {
    let stage = Speaks::Legacy.set().await;
    assert_eq!(
        stage.text("test_reconnection", "{}").await,
        "This answer waited for the client to come back."
    );
    let resumed = stage.saw().into_iter().filter(|line| line["headers"]["last-event-id"] != Value::Null);
    assert_eq!(resumed.count(), 1);
    assert_eq!(stage.count("tools/call"), 1);
}

#[tokio::test]
async fn many_calls_at_once_find_their_own_answers() {
    for speaks in ALL {
        let stage = speaks.set().await;
        let calls = (0..200).map(|number| {
            let upstream = &stage.upstream;
            async move {
                let (sink, _events) = channel(1);
                let arguments = format!(r#"{{"n":{number}}}"#);
                let reply = upstream.perform(call("echo", &arguments), CLIENT, &sink).await.unwrap();
                assert_eq!(text(&reply), arguments);
            }
        });
        timeout(LONG, futures_util::future::join_all(calls)).await.unwrap();
        assert_eq!(stage.count("tools/call"), 200, "{speaks:?}");
    }
}
