//! One token sees nothing of another: sessions, streams, tasks, subscriptions, questions, labels.

use highwater_testkit::client::peer::{Journal, fixture_program};
use highwater_testkit::client::{Era, Request, Setup};
use http::Method;
use serde_json::json;

use crate::stage::{PROGRAM, Stage};

#[tokio::test]
async fn the_session_of_another_does_not_exist() {
    let stage = Stage::new(json!({})).await;
    let (ada, eve) = (stage.full("ada").await, stage.full("eve").await);
    let client = stage.client(Era::Legacy, &ada).await;
    let session = client.session().unwrap().to_owned();
    let stranger = stage.setup(Era::Legacy, &eve).connect_silently().await.unwrap();
    let headers = [
        ("mcp-session-id", session.as_str()),
        ("mcp-protocol-version", "2025-11-25"),
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
    ];
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for (method, body) in [(Method::POST, list), (Method::GET, ""), (Method::DELETE, "")] {
        let reply = stranger.exchange(method.clone(), body.to_owned(), &headers).await.unwrap();
        assert_eq!(reply.status, 404, "{method}: {}", reply.body);
    }
    // The printed agent token is one more agent.
    let (status, _) = {
        let agent = stage.setup(Era::Legacy, stage.gateway.agent_token()).connect_silently().await.unwrap();
        let reply = agent.exchange(Method::POST, list.to_owned(), &headers).await.unwrap();
        (reply.status, reply.body)
    };
    assert_eq!(status, 404);
    client.call("a__look", json!({})).await.unwrap().ok().unwrap();
}

#[tokio::test]
async fn what_one_agent_read_is_not_in_the_label_of_another() {
    let labels = json!({ "look": {
        "inputMetadata": { "destination": "ephemeral", "sensitivity": "any", "outcomes": "benign" },
        "returnMetadata": { "source": "untrustedPublic", "sensitivity": "none" } } });
    let home = crate::stage::home(&json!({}));
    let mut config = crate::stage::config(home.path());
    config["servers"]["a"]["labels"] = labels;
    home.configure(&config.to_string()).unwrap();
    let stage = Stage::in_home(home).await;
    let (ada, eve) = (stage.full("ada").await, stage.full("eve").await);
    stage.client(Era::Modern, &ada).await.call("a__look", json!({})).await.unwrap().ok().unwrap();
    stage.client(Era::Modern, &eve).await.request("tools/list", json!({})).await.unwrap();
    let (_, sessions) = stage.api(Method::GET, "/api/v1/sessions", None).await;
    for session in sessions.as_array().unwrap() {
        let tainted = session["label"]["flags"].as_array().unwrap().iter().any(|flag| flag == "openWorld");
        assert_eq!(tainted, session["principal"] == "ada", "{session}");
    }
    assert!(sessions.as_array().unwrap().iter().any(|session| session["principal"] == "ada"), "{sessions}");
}

/// A stage whose server `f` has tasks and asks back.
async fn with_fixture() -> Stage {
    let home = crate::stage::home(&json!({}));
    let mut config = crate::stage::config(home.path());
    config["servers"]["f"] = json!({
        "command": fixture_program(std::path::Path::new(PROGRAM)).unwrap(),
        "args": ["--stdio", "--extras"],
        "era": "legacy",
        "env": { "FIXTURE_LOG": home.path().join("f.jsonl") },
        "trust": { "server_trust": "tool", "verified": true },
    });
    home.configure(&config.to_string()).unwrap();
    Stage::in_home(home).await
}

#[tokio::test]
async fn the_question_put_to_one_agent_is_not_answered_by_another() {
    let stage = with_fixture().await;
    let (ada, eve) = (stage.full("ada").await, stage.full("eve").await);
    let asking = |secret: &str| {
        let capabilities = json!({ "elicitation": { "form": {} }, "sampling": {}, "roots": {} });
        stage.setup(Era::Modern, secret).capabilities(capabilities)
    };
    let ada = asking(&ada).connect().await.unwrap();
    let eve = asking(&eve).connect().await.unwrap();
    let asked =
        ada.send(Request::call("f__test_elicitation", &json!({ "message": "who?" })).once()).await.unwrap();
    let state = asked.at("/result/requestState");
    assert!(state.is_string(), "{}", asked.raw());
    let questions = asked.at("/result/inputRequests");
    let key = questions.as_object().unwrap().keys().next().unwrap().clone();
    let answers =
        json!({ key: { "action": "accept", "content": { "username": "x", "email": "x@example.com" } } });
    let params = json!({
        "name": "f__test_elicitation", "arguments": { "message": "who?" },
        "requestState": state, "inputResponses": answers,
    });
    let stolen = eve.send(Request::new("tools/call").params(params.clone()).once()).await.unwrap();
    assert!(stolen.is_tool_error() || stolen.error_code().is_some(), "{}", stolen.raw());
    let own = ada.send(Request::new("tools/call").params(params).once()).await.unwrap();
    assert!(!own.is_tool_error() && own.error_code().is_none(), "{}", own.raw());
}

#[tokio::test]
async fn the_task_of_one_agent_is_unknown_to_another() {
    let stage = with_fixture().await;
    let (ada, eve) = (stage.full("ada").await, stage.full("eve").await);
    let ada = stage.client(Era::Legacy, &ada).await;
    let strangers = [
        stage.client(Era::Legacy, &eve).await,
        stage.client(Era::Modern, &eve).await,
        stage.piped(Era::Legacy, Some(&eve)).await,
        stage.piped(Era::Modern, None).await,
    ];
    let params = json!({ "name": "f__task_optional", "arguments": {}, "task": {} });
    let started = ada.request("tools/call", params).await.unwrap();
    let id = started.at("/result/task/taskId");
    assert!(id.is_string(), "{}", started.raw());
    for eve in &strangers {
        for method in ["tasks/get", "tasks/result", "tasks/cancel", "tasks/update"] {
            let stolen = eve.request(method, json!({ "taskId": id })).await.unwrap();
            let invented = eve.request(method, json!({ "taskId": "made-up" })).await.unwrap();
            assert_eq!(stolen.at("/error"), invented.at("/error"), "{method}: {}", stolen.raw());
            assert!(!stolen.at("/error").is_null(), "{method}: {}", stolen.raw());
        }
    }
    let heard = Journal::at(stage.gateway.home().path().join("f.jsonl"));
    assert_eq!(
        heard.of("tasks/cancel").len() + heard.of("tasks/get").len() + heard.of("tasks/result").len(),
        0
    );
    let own = ada.request("tasks/get", json!({ "taskId": id })).await.unwrap();
    assert!(own.error_code().is_none(), "{}", own.raw());
}

#[tokio::test]
async fn the_events_of_one_agent_are_not_taken_up_by_another() {
    let stage = with_fixture().await;
    let (ada, eve) = (stage.full("ada").await, stage.full("eve").await);
    let (ada, eve) = (stage.client(Era::Legacy, &ada).await, stage.client(Era::Legacy, &eve).await);
    let params = json!({ "name": "f__progress", "arguments": { "steps": 4, "ms": 40 }, "_meta": { "progressToken": "t" } });
    let body = json!({ "jsonrpc": "2.0", "id": 100, "method": "tools/call", "params": params });
    let mut events = ada.open(Method::POST, body.to_string(), &[]).await.unwrap();
    let (id, _) = events.next_message().await.unwrap();
    let id = id.unwrap();
    drop(events);
    // Under the session that they belong to, and under the thief's own.
    for session in [ada.session().unwrap(), eve.session().unwrap()] {
        let headers = [("mcp-session-id", session), ("last-event-id", id.as_str())];
        let stolen = eve.exchange(Method::GET, "", &headers).await.unwrap();
        assert_eq!(stolen.status, 404, "{}", stolen.body);
    }
    let mut rest = ada.open(Method::GET, "", &[("last-event-id", &id)]).await.unwrap();
    assert_eq!(rest.next_message().await.unwrap().1.at("/params/progress"), 2);
}

const WATCHED: &str = "f+test://watched-resource";
const UPDATED: &str = "notifications/resources/updated";

#[tokio::test]
async fn what_one_agent_subscribed_to_is_told_to_nobody_else_and_ended_by_nobody_else() {
    let stage = with_fixture().await;
    let (ada, eve) = (stage.full("ada").await, stage.full("eve").await);
    let streaming = |secret: &str| Setup::http(stage.gateway.endpoint()).era(Era::Legacy).token(secret);
    let (old, new) = (streaming(&ada).connect().await.unwrap(), stage.client(Era::Modern, &ada).await);
    let thieves = [streaming(&eve).connect().await.unwrap(), stage.client(Era::Modern, &eve).await];
    let pipe = stage.piped(Era::Legacy, Some(&eve)).await;
    old.request("resources/subscribe", json!({ "uri": WATCHED })).await.unwrap().ok().unwrap();
    let _ear = new.listen(json!({ "resourceSubscriptions": [WATCHED] })).await.unwrap();
    let _thief_ear = thieves[1].listen(json!({ "toolsListChanged": true })).await.unwrap();
    // To take it back one must have it; the server is not told.
    for thief in [&thieves[0], &pipe] {
        thief.request("resources/unsubscribe", json!({ "uri": WATCHED })).await.unwrap();
    }
    for _ in 0..2 {
        pipe.call("f__touch_resource", json!({})).await.unwrap().ok().unwrap();
        old.next_notification(UPDATED).await.unwrap();
        new.next_notification(UPDATED).await.unwrap();
    }
    // Something that everybody hears, after everything that only some should.
    pipe.call("f__add_tool", json!({ "name": "late" })).await.unwrap().ok().unwrap();
    for thief in [&thieves[0], &thieves[1], &pipe] {
        thief.next_notification("notifications/tools/list_changed").await.unwrap();
        let heard = thief.arrivals();
        assert!(!heard.iter().any(|message| message.method() == Some(UPDATED)), "{heard:?}");
    }
}

#[tokio::test]
async fn nobody_takes_back_what_another_asked() {
    let stage = Stage::new(json!({})).await;
    let (ada, eve) = (stage.full("ada").await, stage.full("eve").await);
    let client = stage.client(Era::Legacy, &ada).await;
    let held = client.begin(Request::call("a__slow", &json!({})).once()).await.unwrap();
    stage.journal("a").wait("tools/call", "slow").await.unwrap();
    let id: serde_json::Value = serde_json::from_str(held.id()).unwrap();
    for thief in [
        stage.client(Era::Legacy, &eve).await,
        stage.client(Era::Modern, &eve).await,
        stage.piped(Era::Legacy, Some(&eve)).await,
    ] {
        // Some are told that there is no such request, which is as good.
        let _told = thief.notify("notifications/cancelled", Some(json!({ "requestId": id }))).await;
        thief.call("a__look", json!({})).await.unwrap().ok().unwrap();
    }
    assert_eq!(stage.reached("a", "notifications/cancelled", ""), 0);
    held.cancel().await.unwrap();
    stage.journal("a").wait("notifications/cancelled", "").await.unwrap();
}

#[tokio::test]
async fn nobody_answers_what_another_was_asked() {
    let stage = with_fixture().await;
    let (ada, eve) = (stage.full("ada").await, stage.full("eve").await);
    let asking = json!({ "elicitation": {} });
    let ada = stage.setup(Era::Legacy, &ada).capabilities(asking.clone()).connect().await.unwrap();
    let eve = stage.setup(Era::Legacy, &eve).capabilities(asking).connect().await.unwrap();
    let params = json!({ "name": "f__test_elicitation", "arguments": { "message": "who?" } });
    let body = json!({ "jsonrpc": "2.0", "id": 100, "method": "tools/call", "params": params });
    let mut events = ada.open(Method::POST, body.to_string(), &[]).await.unwrap();
    let (_, question) = events.next_message().await.unwrap();
    assert_eq!(question.method(), Some("elicitation/create"), "{}", question.raw());
    let id: serde_json::Value = serde_json::from_str(question.id().unwrap()).unwrap();
    for (who, client) in [("eve", &eve), ("ada", &ada)] {
        let content = json!({ "username": who, "email": "x@example.com" });
        let answer =
            json!({ "jsonrpc": "2.0", "id": id, "result": { "action": "accept", "content": content } });
        let taken = client.exchange(Method::POST, answer.to_string(), &[]).await.unwrap();
        assert_eq!(taken.status, 202, "{}", taken.body);
    }
    let (_, answer) = events.next_message().await.unwrap();
    assert!(answer.raw().contains("ada") && !answer.raw().contains("eve"), "{}", answer.raw());
}

#[tokio::test]
async fn a_log_line_of_one_agents_call_is_not_told_to_another() {
    const LOGGED: &str = "notifications/message";
    let stage = with_fixture().await;
    let (ada, eve) = (stage.full("ada").await, stage.full("eve").await);
    let streaming = |secret: &str| Setup::http(stage.gateway.endpoint()).era(Era::Legacy).token(secret);
    let ada = streaming(&ada).connect().await.unwrap();
    let (busy, idle) = (streaming(&eve).connect().await.unwrap(), stage.piped(Era::Legacy, Some(&eve)).await);
    // Alone, it is hers.
    let alone = ada.call("f__log", json!({ "text": "one of ada" })).await.unwrap();
    assert_eq!(alone.heard(LOGGED).len(), 1, "{}", alone.raw());
    // While another agent's call runs, nobody can tell whose it is.
    let held = busy.begin(Request::call("f__hang", &json!({})).once()).await.unwrap();
    let heard = Journal::at(stage.gateway.home().path().join("f.jsonl"));
    heard.wait("tools/call", "hang").await.unwrap();
    ada.call("f__log", json!({ "text": "two of ada" })).await.unwrap().ok().unwrap();
    held.cancel().await.unwrap();
    // Something that everybody hears, after everything that only some should.
    ada.call("f__add_tool", json!({ "name": "late" })).await.unwrap().ok().unwrap();
    for other in [&busy, &idle] {
        other.next_notification("notifications/tools/list_changed").await.unwrap();
        let arrived = other.arrivals();
        assert!(!arrived.iter().any(|message| message.raw().contains("of ada")), "{arrived:?}");
    }
}
