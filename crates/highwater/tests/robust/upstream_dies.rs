//! A server's process ends in the middle of calls: its callers hear of it at once, nobody else notices, and the next
//! call starts it again.

use std::time::Duration;

use highwater_testkit::client::{Client, Era, Reply, Request};
use highwater_testkit::wait;
use serde_json::json;
use tokio::time::Instant;

use crate::audit::settled;
use crate::processes::Process;
use crate::stage::{Ground, Stage, assert_echo, failure, until};

/// What the caller of a dead server waits at most.
const AT_ONCE: Duration = Duration::from_secs(1);
/// How often it is tried: the machine may be busy with something else, but not every time.
const TRIES: usize = 3;

#[tokio::test]
async fn a_server_killed_in_mid_call_answers_its_caller_at_once_and_the_next_call_restarts_it() {
    let stage = Stage::of(&["a", "b"]).await;
    for era in [Era::Legacy, Era::Modern] {
        killed_again_and_again(&stage, &stage.client(era).await, |_, server| server).await;
    }
    let starts = 1 + 2 * TRIES;
    assert_eq!(stage.status("a").await["starts"], starts);
    assert_eq!(stage.status("b").await["starts"], 1);
    let audit = settled(&stage.gateway.home().data_dir()).await;
    assert_eq!(audit.outcomes_of("a", "hang"), vec!["failed"; 2 * TRIES]);
    assert_eq!(audit.outcomes_of("b", "sleep"), vec!["delivered"; 2 * TRIES]);
}

#[tokio::test]
async fn a_guard_killed_in_mid_call_takes_its_server_along() {
    let stage = Stage::of(&["a", "b"]).await;
    let client = stage.client(Era::Modern).await;
    killed_again_and_again(&stage, &client, |guard, _| guard).await;
    settled(&stage.gateway.home().data_dir()).await;
}

/// Kills one of the server's two processes in the middle of a call, with a call of another server in flight.
async fn killed_again_and_again(stage: &Stage, client: &Client, pick: fn(Process, Process) -> Process) {
    let mut fastest = Duration::MAX;
    for attempt in 0..TRIES {
        assert_echo(client, "a", "before").await;
        let sleeping = format!("other-{attempt}-{:?}", client.era());
        let gate = stage.gate();
        let other = client.begin(gate.call("b", &sleeping)).await.unwrap();
        stage.journal("b").wait("tools/call", &sleeping).await.unwrap();
        let hanging = format!("doomed-{attempt}-{:?}", client.era());
        let doomed = client.begin(Request::call("a__hang", &json!({ "mark": hanging }))).await.unwrap();
        stage.journal("a").wait("tools/call", &hanging).await.unwrap();

        let (guard, server) = stage.processes("a").await;
        let (guard_pid, server_pid) = (guard.pid, server.pid);
        let victim = pick(guard, server);
        let killed = Instant::now();
        victim.kill();
        let answer = doomed.answer().await.unwrap();
        fastest = fastest.min(killed.elapsed());
        let text = failure(&answer);
        assert!(text.contains("server `a` ended before it answered (killed by signal 9)"), "{text}");
        assert!(text.contains("may have taken effect"), "{text}");

        gate.open();
        assert_eq!(other.answer().await.unwrap().text().unwrap(), "waited");
        assert_echo(client, "a", "after").await;
        let (guard, server) = stage.processes("a").await;
        assert_ne!((guard.pid, server.pid), (guard_pid, server_pid));
    }
    assert!(fastest < AT_ONCE, "the fastest answer took {fastest:?}");
}

#[tokio::test]
async fn everybody_in_flight_is_answered_when_their_server_dies() {
    let stage = Stage::of(&["a"]).await;
    let legacy = stage.client(Era::Legacy).await;
    let modern = stage.client(Era::Modern).await;
    let mut doomed = Vec::new();
    for number in 0..20 {
        let client = if number % 2 == 0 { &legacy } else { &modern };
        let mark = format!("doomed-{number}.");
        doomed.push(client.begin(Request::call("a__hang", &json!({ "mark": mark }))).await.unwrap());
        stage.journal("a").wait("tools/call", &mark).await.unwrap();
    }
    let (_, server) = stage.processes("a").await;
    server.kill();
    for pending in doomed {
        let text = failure(&pending.answer().await.unwrap());
        assert!(text.contains("killed by signal 9"), "{text}");
    }
    assert_echo(&legacy, "a", "after").await;
    let audit = settled(&stage.gateway.home().data_dir()).await;
    assert_eq!(audit.outcomes_of("a", "hang"), vec!["failed"; 20]);
}

#[tokio::test]
async fn a_server_that_ends_itself_is_told_apart_and_started_again() {
    let stage = Stage::of(&["a", "b"]).await;
    let client = stage.client(Era::Legacy).await;
    assert_echo(&client, "a", "before").await;
    let text = failure(&client.call("a__crash", json!({})).await.unwrap());
    assert!(text.contains("server `a` ended before it answered (exit code 3)"), "{text}");
    let status = stage.status_where("a", |status| status["state"] == "failed").await;
    assert!(status["error"].as_str().unwrap().contains("exit code 3"), "{status:#}");
    assert_echo(&client, "a", "after").await;
    assert_eq!(stage.status("a").await["state"], "up");
}

#[tokio::test]
async fn a_server_that_ends_on_every_call_is_left_alone_for_a_while_and_costs_nobody_else_anything() {
    let stage = Stage::of(&["a", "b"]).await;
    let client = stage.client(Era::Modern).await;
    let mut heard = Vec::new();
    for number in 0..20 {
        heard.push(failure(&client.call("a__crash", json!({})).await.unwrap()));
        assert_echo(&client, "b", &format!("beside-{number}")).await;
    }
    let waits = |text: &String| text.contains("failed a moment ago and is tried again in");
    let crashes = |text: &String| text.contains("exit code 3");
    assert!(heard.iter().all(|text| waits(text) || crashes(text)), "{heard:#?}");
    assert!(heard.iter().any(waits), "{heard:#?}");
    assert!(
        heard.iter().filter(|text| waits(text)).all(|text| text.contains("nothing was executed")),
        "{heard:#?}"
    );
    // It comes back by itself once it has been left alone.
    let back = wait::until("an answer", async || {
        let answer = client.call("a__echo", json!({ "body": "back" })).await.unwrap();
        if answer.is_tool_error() {
            let text = failure(&answer);
            assert!(text.contains("tried again in"), "{text}");
            return None;
        }
        Some(answer)
    });
    assert_eq!(back.await.unwrap().at("/result/structuredContent/body"), "back");
    assert_eq!(stage.status("b").await["starts"], 1);
    settled(&stage.gateway.home().data_dir()).await;
}

#[tokio::test]
async fn a_server_killed_between_calls_is_not_noticed() {
    let stage = Stage::of(&["a"]).await;
    let client = stage.client(Era::Legacy).await;
    for number in 0..3 {
        assert_echo(&client, "a", &format!("round-{number}")).await;
        let (_, server) = stage.processes("a").await;
        server.kill();
        server.gone().await;
        // Whether or not the gateway has seen it yet: nothing was sent, so the call can be made again.
        let answer = client.call("a__echo", json!({ "body": "again" })).await.unwrap();
        if answer.is_tool_error() {
            let text = failure(&answer);
            assert!(text.contains("killed by signal 9"), "{text}");
        }
    }
    assert_echo(&client, "a", "after").await;
    settled(&stage.gateway.home().data_dir()).await;
}

#[tokio::test]
async fn a_server_that_dies_while_its_caller_is_being_asked_ends_the_call() {
    let ground = Ground::new();
    let mut entry = ground.stdio("a");
    // A legacy server asks in the middle of the call; to a modern one the call is over when it asks.
    entry["args"] = json!(["--stdio", "--extras", "--era", "legacy"]);
    let stage = ground.serve(&json!({ "flow": "observe", "servers": { "a": entry } })).await;
    let asked = |era| {
        stage.gateway.http(era).capabilities(json!({ "elicitation": {} })).answering(|_| Reply::Silence)
    };
    let legacy = asked(Era::Legacy).connect().await.unwrap();
    let doomed = legacy.begin(Request::call("a__ask_elicit", &json!({ "message": "well?" }))).await.unwrap();
    until("the person is asked", || !legacy.asked().is_empty()).await;
    let (_, server) = stage.processes("a").await;
    server.kill();
    let text = failure(&doomed.answer().await.unwrap());
    assert!(text.contains("server `a`") && text.contains("killed by signal 9"), "{text}");
    assert_echo(&legacy, "a", "after").await;

    // A modern caller was sent away with a question; its answer comes too late.
    let modern = asked(Era::Modern).connect().await.unwrap();
    let question = Request::call("a__ask_elicit", &json!({ "message": "well?" })).once();
    let answer = modern.send(question).await.unwrap();
    assert_eq!(answer.at("/result/resultType"), "input_required", "{}", answer.raw());
    let (_, server) = stage.processes("a").await;
    server.kill();
    server.gone().await;
    let key = answer.at("/result/inputRequests").as_object().unwrap().keys().next().unwrap().clone();
    let again = Request::new("tools/call").params(json!({
        "name": "a__ask_elicit", "arguments": { "message": "well?" },
        "requestState": answer.at("/result/requestState"),
        "inputResponses": { key: { "action": "accept", "content": { "answer": "late" } } } }));
    let late = modern.send(again.once()).await.unwrap();
    let text = failure(&late);
    assert!(text.contains("killed by signal 9") || text.contains("expired"), "{text}");
    assert_echo(&modern, "a", "after").await;
    settled(&stage.gateway.home().data_dir()).await;
}

#[tokio::test]
async fn a_subscription_outlives_the_server_it_was_made_at() {
    let stage = Stage::of(&["a"]).await;
    let legacy = stage.gateway.http(Era::Legacy).connect().await.unwrap();
    let modern = stage.gateway.http(Era::Modern).connect().await.unwrap();
    let listed = legacy.request("resources/list", json!({})).await.unwrap().at("/result/resources");
    let watched = listed.as_array().unwrap().iter().map(|resource| resource["uri"].as_str().unwrap());
    let watched = watched.into_iter().find(|uri| uri.contains("watched-resource")).unwrap().to_owned();
    legacy.request("resources/subscribe", json!({ "uri": watched })).await.unwrap().result().unwrap();
    let listening = modern.listen(json!({ "resourceSubscriptions": [watched] })).await.unwrap();
    for round in 0..2 {
        let updated = "notifications/resources/updated";
        legacy.call("a__touch_resource", json!({})).await.unwrap().text().unwrap();
        legacy.next_notification(updated).await.unwrap();
        modern.next_notification(updated).await.unwrap();
        let (_, server) = stage.processes("a").await;
        server.kill();
        server.gone().await;
        // Nobody calls: it is started again for those who wait for news.
        stage.status_where("a", |status| status["state"] == "up" && status["starts"] == round + 2).await;
        until("it is subscribed to again", || subscriptions(&stage) > 1 + round).await;
    }
    listening.close().await.unwrap();
}

/// How often a server was asked to tell of changes of the resource.
fn subscriptions(stage: &Stage) -> usize {
    let notes = stage.journal("a").notes();
    let asks = |method: &str| ["resources/subscribe", "subscriptions/listen"].contains(&method);
    let ours = notes.iter().filter(|note| note.method.as_deref().is_some_and(asks));
    ours.filter(|note| note.raw.contains("watched-resource")).count()
}
