//! Calls to a child of ours: what goes out, what comes back, and what comes before it.

use crate::support::{CLIENT, LONG, call, event, permit, script, text};
use highwater_core::action::ActionKind;
use highwater_mcp::era::ClientMeta;
use highwater_mcp::era::Era;
use highwater_mcp::frame::FrameKind;
use highwater_upstream::control::{ControlMessage, ControlReply, ListKind, LogLevel};
use highwater_upstream::error::Cause;
use highwater_upstream::event::{CallEvent, NoticeKind};
use highwater_upstream::{CallClient, HealthState, Party};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::sync::mpsc::channel;
use tokio::time::{Duration, timeout};

#[tokio::test]
async fn a_legacy_server_is_called_as_it_expects() {
    let stage = script("legacy").set();
    let (sink, _) = channel(1);
    let client = CallClient {
        party: Party::Modern,
        capabilities: r#"{"sampling":{}}"#,
        log_level: Some("info"),
        progress: false,
        meta: ClientMeta::Kept,
        definition_guard: None,
    };
    let params = r#"{"name":"echo","arguments":{"text":"a\u0041","n":12345678901234567890123},"_meta":{"k":1,"progressToken":"theirs"}}"#;
    let action = permit(ActionKind::CallTool, "tools/call", "echo", params);
    let reply = stage.upstream.perform(action, client, &sink).await.unwrap();
    assert_eq!(text(&reply), "aA");
    assert_eq!(reply.era, Era::Legacy);
    assert_eq!(reply.frame.id().unwrap(), reply.number.to_string());
    let saw = std::fs::read_to_string(stage.path("saw")).unwrap();
    let sent = saw.lines().last().unwrap();
    assert!(sent.contains(r#""arguments":{"text":"a\u0041","n":12345678901234567890123}"#), "{sent}");
    assert!(sent.contains(r#""_meta":{"k":1}"#), "{sent}");
}

#[tokio::test]
async fn a_modern_server_is_told_the_version_with_every_request() {
    let stage = script("modern").set();
    assert_eq!(stage.text("echo", r#"{"text":"hello"}"#).await, "hello");
    let sent = stage.saw_at_last(|message| message["method"] == "tools/call").await;
    let meta = &sent["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "highwater");
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
}

#[tokio::test]
async fn the_server_s_own_error_is_a_reply() {
    let stage = script("legacy").set();
    let reply = stage.call("refuse", "{}").await.unwrap();
    assert_eq!(reply.frame.kind(), FrameKind::Error);
    assert_eq!(reply.frame.error_member("code"), Some("-32602"));
}

#[tokio::test]
async fn a_permit_for_another_server_opens_nothing() {
    let mut stage = script("legacy").set();
    let other = highwater_upstream::Upstream::new(
        highwater_upstream::ServerSpec {
            id: highwater_core::id::UpstreamId::new("other"),
            ..stage.upstream.spec().clone()
        },
        std::sync::Arc::new(highwater_upstream::World {
            notices: mpsc::channel(1).0,
            guard: "/nonexistent".into(),
            safe_env: Vec::new(),
            client_info: "{}".to_owned(),
            remember: std::sync::Arc::new(|_, _| {}),
        }),
        None,
    );
    let (sink, _) = channel(1);
    let error = other.perform(call("echo", "{}"), CLIENT, &sink).await.unwrap_err();
    assert!(!error.sent);
    assert_eq!(other.health().state, HealthState::Idle);
    assert!(stage.notices.try_recv().is_err());
}

#[tokio::test]
async fn progress_reaches_the_call_it_belongs_to_before_the_answer() {
    let stage = script("legacy").set();
    let (sink, mut events) = channel(16);
    let (other_sink, mut other_events) = channel(16);
    let wants = CallClient { progress: true, ..CLIENT };
    let (one, other) = tokio::join!(
        stage.upstream.perform(call("progress", r#"{"steps":5}"#), wants, &sink),
        stage.upstream.perform(call("progress", r#"{"steps":2}"#), wants, &other_sink),
    );
    drop((sink, other_sink));
    let (one, other) = (one.unwrap(), other.unwrap());
    let mut steps = Vec::new();
    while let Some(CallEvent::Progress(frame)) = events.recv().await {
        assert_eq!(frame.param("progressToken").unwrap(), one.number.to_string());
        steps.push(frame.param("progress").unwrap().to_owned());
    }
    assert_eq!(steps, ["0", "1", "2", "3", "4"]);
    assert!(matches!(other_events.recv().await, Some(CallEvent::Progress(frame))
        if frame.param("progressToken").unwrap() == other.number.to_string()));
}

#[tokio::test]
async fn a_caller_that_does_not_read_its_events_delays_nobody_else() {
    let stage = script("legacy").set();
    let (sink, mut events) = channel(1);
    let wants = CallClient { progress: true, ..CLIENT };
    let upstream = std::sync::Arc::clone(&stage.upstream);
    let slow =
        tokio::spawn(
            async move { upstream.perform(call("progress", r#"{"steps":50}"#), wants, &sink).await },
        );
    event(&mut events).await;
    assert_eq!(stage.text("echo", r#"{"text":"quick"}"#).await, "quick");
    assert!(!slow.is_finished());
    let rest = async { while events.recv().await.is_some() {} };
    timeout(LONG, rest).await.unwrap();
    assert!(slow.await.unwrap().is_ok());
}

#[tokio::test]
async fn notifications_belong_to_the_only_call_in_flight() {
    let mut stage = script("legacy").set();
    let (sink, mut events) = channel(16);
    stage.upstream.perform(call("log", "{}"), CLIENT, &sink).await.unwrap();
    let CallEvent::Notification(log) = event(&mut events).await else { panic!("a log line") };
    assert_eq!(log.method(), Some("notifications/message"));
    let CallEvent::Notification(other) = event(&mut events).await else { panic!("the unknown one") };
    assert_eq!(
        other.text().trim(),
        r#"{"jsonrpc": "2.0", "method": "notifications/x/later", "params": {"novelty": true}}"#
    );

    // With two in flight nobody can say whose a log line is.
    let (upstream, file) = (std::sync::Arc::clone(&stage.upstream), stage.path("go"));
    let waits = format!(r#"{{"file":"{}"}}"#, file.display());
    let waiting =
        tokio::spawn(async move { upstream.perform(call("wait", &waits), CLIENT, &channel(1).0).await });
    stage.saw_at_last(|message| message["params"]["name"] == "wait").await;
    stage.call("log", "{}").await.unwrap();
    assert!(matches!(stage.notice().await, NoticeKind::SomebodysLog(_)));
    std::fs::write(file, "").unwrap();
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_server() {
    for habit in ["legacy", "modern"] {
        let stage = script(habit).set();
        let upstream = std::sync::Arc::clone(&stage.upstream);
        let hanging =
            tokio::spawn(async move { upstream.perform(call("hang", "{}"), CLIENT, &channel(1).0).await });
        let sent = stage.saw_at_last(|message| message["params"]["name"] == "hang").await;
        hanging.abort();
        let cancelled = stage.saw_at_last(|message| message["method"] == "notifications/cancelled").await;
        assert_eq!(cancelled["params"]["requestId"], sent["id"]);
        assert_eq!(cancelled["params"]["reason"], Value::Null);
        assert_eq!(stage.upstream.health().in_flight, 0);
        assert_eq!(stage.text("echo", r#"{"text":"on"}"#).await, "on");
    }
}

#[tokio::test]
async fn a_question_is_answered_through_the_call() {
    let stage = script("legacy").set();
    let (sink, mut events) = channel(4);
    let asking = stage.upstream.perform(call("ask", "{}"), CLIENT, &sink);
    let answering = async {
        let CallEvent::Ask(ask) = event(&mut events).await else { panic!("a question") };
        assert_eq!(ask.method, "elicitation/create");
        assert_eq!(ask.params.as_deref(), Some(&br#"{"message": "well?"}"#[..]));
        ask.answer.give(permit(
            ActionKind::Answer,
            "result",
            "",
            r#"{"action":"accept","content":{"n":1.50}}"#,
        ));
    };
    let (reply, ()) = tokio::join!(asking, answering);
    let answer: Value = serde_json::from_str(&text(&reply.unwrap())).unwrap();
    assert_eq!(answer, json!({"result": {"action": "accept", "content": {"n": 1.5}}}));
    let log = std::fs::read_to_string(stage.path("saw")).unwrap();
    assert!(
        log.contains(r#""result":{"action":"accept","content":{"n":1.50}}"#),
        "the answer is passed on as it is"
    );
}

#[tokio::test]
async fn a_question_that_is_refused_or_dropped_is_answered_all_the_same() {
    let stage = script("legacy").set();
    let unanswered: Value = serde_json::from_str(&stage.text("ask", "{}").await).unwrap();
    assert_eq!(unanswered["error"]["code"], -32603, "nobody answers in a user's name");
    let dropped: Value =
        serde_json::from_str(&stage.text("ask", r#"{"method":"roots/list"}"#).await).unwrap();
    assert_eq!(dropped["error"]["code"], -32603);
    let unknown: Value = serde_json::from_str(&stage.text("ask", r#"{"method":"x/y"}"#).await).unwrap();
    assert_eq!(unknown["error"]["code"], -32601);

    let (sink, mut events) = channel(4);
    let asking = stage.upstream.perform(call("ask", r#"{"method":"sampling/createMessage"}"#), CLIENT, &sink);
    let refusing = async {
        let CallEvent::Ask(ask) = event(&mut events).await else { panic!("a question") };
        ask.answer.refuse(-32601, "this client does not sample");
    };
    let (reply, ()) = tokio::join!(asking, refusing);
    let refused: Value = serde_json::from_str(&text(&reply.unwrap())).unwrap();
    assert_eq!(refused["error"], json!({"code": -32601, "message": "this client does not sample"}));

    let (sink, mut events) = channel(4);
    let asking = stage.upstream.perform(call("ask", r#"{"method":"sampling/createMessage"}"#), CLIENT, &sink);
    let answering = async {
        let CallEvent::Ask(ask) = event(&mut events).await else { panic!("a question") };
        ask.answer.give(permit(ActionKind::Answer, "error", "", r#"{"code":-1,"message":"rejected"}"#));
    };
    let (reply, ()) = tokio::join!(asking, answering);
    let rejected: Value = serde_json::from_str(&text(&reply.unwrap())).unwrap();
    assert_eq!(rejected["error"], json!({"code": -1, "message": "rejected"}));
}

#[tokio::test]
async fn a_question_while_several_calls_are_in_flight_is_refused_and_then_calls_take_turns() {
    let stage = script("legacy").set();
    let waits = format!(r#"{{"file":"{}"}}"#, stage.path("go").display());
    let upstream = std::sync::Arc::clone(&stage.upstream);
    let waiting =
        tokio::spawn(async move { upstream.perform(call("wait", &waits), CLIENT, &channel(1).0).await });
    stage.saw_at_last(|message| message["params"]["name"] == "wait").await;
    let (sink, mut events) = channel(4);
    let reply = stage.upstream.perform(call("ask", "{}"), CLIENT, &sink).await.unwrap();
    let refused: Value = serde_json::from_str(&text(&reply)).unwrap();
    assert_eq!(refused["error"]["code"], -32601);
    assert!(events.try_recv().is_err());

    // The first call is still in flight, so the next one waits for it.
    let upstream = std::sync::Arc::clone(&stage.upstream);
    let (sink, mut events) = channel(4);
    let asking = tokio::spawn(async move { upstream.perform(call("ask", "{}"), CLIENT, &sink).await });
    tokio::task::yield_now().await;
    assert!(!asking.is_finished());
    std::fs::write(stage.path("go"), "").unwrap();
    let CallEvent::Ask(ask) = event(&mut events).await else { panic!("a question") };
    assert!(waiting.is_finished());
    ask.answer.give(permit(ActionKind::Answer, "result", "", r#"{"action":"decline"}"#));
    assert_eq!(text(&asking.await.unwrap().unwrap()), r#"{"result": {"action": "decline"}}"#);
}

#[tokio::test]
async fn a_question_that_is_taken_back_is_not_answered_and_costs_no_call_of_the_same_number() {
    let stage = script("legacy").set();
    let (sink, mut events) = channel(4);
    let reply = stage.upstream.perform(call("ask_and_withdraw", "{}"), CLIENT, &sink).await.unwrap();
    assert_eq!(text(&reply), "never mind");
    let CallEvent::Ask(ask) = event(&mut events).await else { panic!("a question") };
    ask.answer.give(permit(ActionKind::Answer, "result", "", r#"{"action":"accept"}"#));
    stage.call("echo", "{}").await.unwrap();
    assert!(!stage.saw_methods().contains(&"answer".to_owned()));
}

#[tokio::test]
async fn a_modern_server_may_not_ask_and_a_ping_is_answered_by_us() {
    let stage = script("modern").set();
    let (sink, mut events) = channel(4);
    let reply = stage.upstream.perform(call("ask", "{}"), CLIENT, &sink).await.unwrap();
    let refused: Value = serde_json::from_str(&text(&reply)).unwrap();
    assert_eq!(refused["error"]["code"], -32601);
    assert!(events.try_recv().is_err());
    assert_eq!(stage.text("ping", "{}").await, "{}");
}

#[tokio::test]
async fn no_more_calls_than_allowed_are_in_flight() {
    let mut limited = script("legacy");
    limited.concurrency = 1;
    let stage = limited.set();
    let waits = format!(r#"{{"file":"{}"}}"#, stage.path("go").display());
    let upstream = std::sync::Arc::clone(&stage.upstream);
    let first =
        tokio::spawn(async move { upstream.perform(call("wait", &waits), CLIENT, &channel(1).0).await });
    stage.saw_at_last(|message| message["params"]["name"] == "wait").await;
    let upstream = std::sync::Arc::clone(&stage.upstream);
    let second = tokio::spawn(async move {
        upstream.perform(call("echo", r#"{"text":"2"}"#), CLIENT, &channel(1).0).await
    });
    // A message of ours passes by the waiting call, so the server would have seen that one by now.
    assert!(matches!(stage.upstream.control(ControlMessage::Ping).await, Ok(ControlReply::Done)));
    assert!(!stage.saw().iter().any(|message| message["params"]["name"] == "echo"));
    std::fs::write(stage.path("go"), "").unwrap();
    first.await.unwrap().unwrap();
    assert_eq!(text(&second.await.unwrap().unwrap()), "2");
}

#[tokio::test]
async fn a_list_is_asked_for_page_by_page() {
    for habit in ["legacy", "modern"] {
        let stage = script(habit).set();
        let listed = stage.upstream.control(ControlMessage::List(ListKind::Tools)).await.unwrap();
        let ControlReply::Listing(listing) = listed else { panic!("a listing") };
        assert_eq!(listing.items.len(), 3);
        assert_eq!(listing.items[2], r#"{"name": "tool2", "inputSchema": {"type": "object"}}"#);
        // It has no prompts, and is not asked for them.
        let listed = stage.upstream.control(ControlMessage::List(ListKind::Prompts)).await.unwrap();
        assert!(matches!(listed, ControlReply::Listing(listing) if listing.items.is_empty()));
        assert!(!stage.saw_methods().contains(&"prompts/list".to_owned()));
    }
}

#[tokio::test]
async fn a_legacy_server_is_told_the_log_level_and_a_modern_one_is_not() {
    let stage = script("legacy").set();
    stage.upstream.control(ControlMessage::LogLevel(LogLevel::Warning)).await.unwrap();
    let told = stage.saw_at_last(|message| message["method"] == "logging/setLevel").await;
    assert_eq!(told["params"]["level"], "warning");
    let stage = script("modern").set();
    stage.upstream.control(ControlMessage::LogLevel(LogLevel::Warning)).await.unwrap();
    stage.upstream.control(ControlMessage::Ping).await.unwrap();
    assert!(!stage.saw_methods().contains(&"logging/setLevel".to_owned()));
}

#[tokio::test]
async fn changes_are_told_to_the_gateway() {
    let mut stage = script("legacy").set();
    stage.call("changed", "{}").await.unwrap();
    assert!(matches!(stage.notice().await, NoticeKind::ToolsChanged));
    assert!(matches!(stage.notice().await, NoticeKind::PromptsChanged));
    assert!(matches!(stage.notice().await, NoticeKind::ResourcesChanged));
    let NoticeKind::ResourceUpdated(frame) = stage.notice().await else { panic!("an update") };
    assert_eq!(frame.param("uri"), Some(r#""test://a""#));
}

#[tokio::test]
async fn the_child_gets_its_listed_environment_and_the_safe_set() {
    let mut listed = script("legacy");
    listed.env.insert("TOKEN".to_owned(), "abc".to_owned());
    let stage = listed.set();
    let environment: Value = serde_json::from_str(&stage.text("environment", "{}").await).unwrap();
    let names: Vec<&String> = environment.as_object().unwrap().keys().collect();
    // Python sets LC_CTYPE for itself.
    let expected = ["PATH", "TOKEN", "LC_CTYPE"];
    assert!(names.iter().all(|name| expected.contains(&name.as_str())), "{names:?}");
    assert_eq!(environment["TOKEN"], "abc");
}

#[tokio::test]
async fn a_hanging_call_is_given_up_and_cancelled_and_progress_restarts_its_clock() {
    let mut hasty = script("legacy");
    let patience = Duration::from_secs(4);
    hasty.timeouts.call = patience;
    let stage = hasty.set();
    let error = stage.call("hang", "{}").await.unwrap_err();
    assert_eq!(error.cause, Cause::TimedOut(patience));
    assert!(error.sent);
    stage.saw_at_last(|message| message["method"] == "notifications/cancelled").await;

    let (sink, mut events) = channel(16);
    let wants = CallClient { progress: true, ..CLIENT };
    let reply = stage.upstream.perform(call("progress", r#"{"steps":9,"pause":0.5}"#), wants, &sink).await;
    assert!(reply.is_ok(), "it took longer than its patience, but was never silent for so long");
    assert!(matches!(events.recv().await, Some(CallEvent::Progress(_))));
}

#[tokio::test]
async fn a_question_stops_the_clock() {
    let mut hasty = script("legacy");
    hasty.timeouts.call = Duration::from_secs(4);
    let stage = hasty.set();
    let (sink, mut events) = channel(4);
    let asking = stage.upstream.perform(call("ask", "{}"), CLIENT, &sink);
    let thinking = async {
        let CallEvent::Ask(ask) = event(&mut events).await else { panic!("a question") };
        // Longer than the call may take.
        tokio::time::sleep(Duration::from_secs(5)).await;
        ask.answer.give(permit(ActionKind::Answer, "result", "", r#"{"action":"accept"}"#));
    };
    let (reply, ()) = tokio::join!(asking, thinking);
    assert_eq!(text(&reply.unwrap()), r#"{"result": {"action": "accept"}}"#);
}
