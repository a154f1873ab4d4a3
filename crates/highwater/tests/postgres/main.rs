//! Gateways whose labels are in PostgreSQL: two of them share every taint, and an outage closes what depends on labels
//! without stopping the rest. What people approve is in it, too, and holds once for all of them.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod approvals;
mod ceremony;
#[path = "../support/labelled.rs"]
mod labelled;
#[path = "../approvals/person.rs"]
#[expect(dead_code, reason = "other tests press the button")]
mod person;
#[path = "../support/traces.rs"]
mod traces;

use highwater_store::PostgresServer;
use highwater_testkit::client::{Answer, Era};
use highwater_testkit::wait::until;
use http::Method;
use labelled::{ACT, LOOK, STRANGE, Stage, done, home, refused};
use serde_json::{Value, json};

/// Only looks, and finds what anybody may know, at a server that keeps nothing.
const GLANCE: &str = "desk__test_audio_content";

/// A server that does not say whose data it takes.
const PLAIN: [&str; 1] = ["--stdio"];
/// One that does.
const PARTICULAR: [&str; 2] = ["--stdio", "--extras"];

async fn gateway(url: &str) -> Stage {
    Stage::in_home(home(&PLAIN, &json!({ "store": { "postgres": url, "timeout": "60s" } }))).await
}

/// Waits until the gateway says that it is ready again.
async fn recovered(stage: &Stage) {
    let ready = async || (stage.api(Method::GET, "/readyz", &Value::Null).await.0 == 200).then_some(());
    let recovered = until("the gateway recovers", ready).await;
    recovered.unwrap_or_else(|error| panic!("{error:#}:\n{}", stage.gateway.log()));
}

/// Waits until the gateway knows that its store is away.
async fn noticed(stage: &Stage) {
    let noticed = async || (stage.api(Method::GET, "/readyz", &Value::Null).await.0 == 503).then_some(());
    until("the gateway knows of the outage", noticed).await.unwrap();
}

/// A call that was not made, for no fault of its own.
fn unavailable(answer: &Answer) {
    assert!(answer.is_tool_error(), "{}", answer.raw());
    let said = answer.text().unwrap();
    assert!(said.contains("This is an outage and no refusal: nothing was executed"), "{said}");
    let decision = answer.at("/result/_meta/dev.highwater~1decision");
    assert_eq!((&decision["code"], &decision["outage"]), (&json!(503_102), &json!(true)), "{}", answer.raw());
    let told = answer.at("/result/_meta/io.modelcontextprotocol~1authorization");
    assert!(told.is_null(), "{}", answer.raw());
}

/// A call that was made, and whose reply stayed in the gateway.
fn withheld(answer: &Answer) {
    assert!(answer.is_tool_error(), "{}", answer.raw());
    let said = answer.text().unwrap();
    assert!(said.contains("the call has run") && said.contains("withheld"), "{said}");
}

#[tokio::test]
async fn what_is_read_through_one_gateway_forbids_through_the_other_at_once() {
    let server = PostgresServer::start();
    let url = server.url("two");
    let (one, other) = (gateway(&url).await, gateway(&url).await);
    for round in 0..6 {
        let (first, second) = if round % 2 == 0 { (&one, &other) } else { (&other, &one) };
        let context = first.context().await;
        let (here, there) = (first.client(&context).await, second.client(&context).await);
        // The other gateway knows the session, and knows nothing bad of it.
        done(&there.call(ACT, json!({})).await.unwrap());
        let runs = second.runs(ACT);
        done(&here.call(STRANGE, json!({})).await.unwrap());
        refused(&there.call(ACT, json!({})).await.unwrap());
        refused(&here.call(ACT, json!({})).await.unwrap());
        assert_eq!(second.runs(ACT), runs, "round {round}");
    }
}

#[tokio::test]
async fn what_a_person_takes_back_at_one_gateway_is_taken_back_at_the_other() {
    let server = PostgresServer::start();
    let url = server.url("reset");
    let (one, other) = (gateway(&url).await, gateway(&url).await);
    let context = one.context().await;
    let (here, there) = (one.client(&context).await, other.client(&context).await);
    done(&here.call(STRANGE, json!({})).await.unwrap());
    other.assert_tainted(&context).await;
    let key = one.session(&context).await["key"].as_str().unwrap().replace('/', "%2F");
    let path = format!("/api/v1/sessions/{key}/reset");
    let (status, answer) =
        one.api(Method::POST, &path, &json!({ "reason": "the context is dropped", "person": "ada" })).await;
    assert_eq!(status, 200, "{answer}");
    done(&there.call(ACT, json!({})).await.unwrap());
    done(&here.call(ACT, json!({})).await.unwrap());
    // And what is read afterwards counts again.
    done(&there.call(STRANGE, json!({})).await.unwrap());
    refused(&here.call(ACT, json!({})).await.unwrap());
}

#[tokio::test]
async fn a_presumed_conversation_is_one_at_both_gateways() {
    let mut server = PostgresServer::start();
    let url = server.url("presumed");
    let (mut one, other) = (gateway(&url).await, gateway(&url).await);
    let client = async |stage: &Stage, era| stage.gateway.http(era).without_stream().connect().await.unwrap();
    let (here, there) = (client(&one, Era::Legacy).await, client(&other, Era::Modern).await);
    done(&there.call(ACT, json!({})).await.unwrap());
    done(&here.call(STRANGE, json!({})).await.unwrap());
    refused(&there.call(ACT, json!({})).await.unwrap());
    refused(&here.call(ACT, json!({})).await.unwrap());
    // A person's word is about the client that this gateway saw last, and what the other has read stays with it.
    done(&there.call(LOOK, json!({})).await.unwrap());
    let (status, said) = other
        .api(Method::POST, "/api/v1/sessions/presumed%2Fagent/new", &json!({ "reason": "a new task" }))
        .await;
    assert_eq!(status, 200, "{said}");
    let (_, shown) = one.api(Method::GET, "/api/v1/sessions/presumed%2Fagent", &Value::Null).await;
    assert_eq!(shown["ways"].as_array().unwrap().len(), 2, "{shown}");
    refused(&here.call(ACT, json!({})).await.unwrap());
    // A database that comes again knows all of it, and so does a gateway that was killed.
    server.restart();
    recovered(&other).await;
    refused(&there.call(ACT, json!({})).await.unwrap());
    one.gateway.kill().await.unwrap();
    one.gateway.restart().await.unwrap();
    refused(&client(&one, Era::Legacy).await.call(ACT, json!({})).await.unwrap());
}

#[tokio::test]
async fn an_outage_withholds_and_refuses_and_ends_without_a_restart() {
    let mut server = PostgresServer::start();
    let stage = gateway(&server.url("outage")).await;
    let (clean, tainted, looking) = (stage.context().await, stage.context().await, stage.context().await);
    let (client, doubtful) = (stage.client(&clean).await, stage.client(&tainted).await);
    let looker = stage.client(&looking).await;
    done(&client.call(ACT, json!({})).await.unwrap());
    done(&doubtful.call(STRANGE, json!({})).await.unwrap());
    let runs = (stage.runs(STRANGE), stage.runs(ACT));
    assert_eq!(stage.api(Method::GET, "/readyz", &Value::Null).await.0, 200);

    server.crash();
    noticed(&stage).await;
    // Under no label is this forbidden, but what it would bring has no place in any label, so it is not done.
    unavailable(&client.call(STRANGE, json!({})).await.unwrap());
    let record = stage.record(&clean);
    let last = record.last().unwrap();
    assert_eq!((&last["event"], &last["ruling"]), (&json!("decision"), &json!("unavailable")), "{record:#?}");
    // Nobody knows whether this is allowed.
    unavailable(&client.call(ACT, json!({})).await.unwrap());
    unavailable(&doubtful.call(ACT, json!({})).await.unwrap());
    // What a session wrote may be read with this, and nobody knows with which label.
    unavailable(&client.call(LOOK, json!({})).await.unwrap());
    let now = (stage.runs(STRANGE), stage.runs(ACT), stage.runs(LOOK));
    assert_eq!(now, (runs.0, runs.1, 0), "the server saw a call whose reply could not have been released");
    // What no decision will ever look at goes on, in every session, whatever that has read and whether or not it is known.
    for (client, context) in [(&client, &clean), (&doubtful, &tainted), (&looker, &looking)] {
        done(&client.call(GLANCE, json!({})).await.unwrap());
        let record = stage.record(context);
        let last = record.last().unwrap();
        assert_eq!(last["outcome"], "delivered", "{last}");
        assert!(last["detail"].as_str().unwrap().contains("waits for the session store"), "{last}");
    }
    let tools = client.request("tools/list", json!({})).await.unwrap();
    assert!(!tools.at("/result/tools").as_array().unwrap().is_empty(), "{}", tools.raw());
    assert_eq!(stage.api(Method::GET, "/readyz", &Value::Null).await.0, 503);
    assert_eq!(stage.api(Method::GET, "/healthz", &Value::Null).await.0, 200);

    server.restart();
    recovered(&stage).await;
    done(&client.call(ACT, json!({})).await.unwrap());
    stage.assert_tainted(&tainted).await;
    done(&client.call(STRANGE, json!({})).await.unwrap());
    stage.assert_tainted(&clean).await;
    // What waited for the store is in it.
    let stored = async || {
        let origins = stage.session(&looking).await["label"]["origins"].to_string();
        origins.contains("mcp:desk:test_audio_content").then_some(())
    };
    until("the label is stored", stored).await.unwrap();
    done(&looker.call(ACT, json!({})).await.unwrap());
}

/// Where some decision may look at it, even what is harmless waits for the store.
#[tokio::test]
async fn in_an_outage_nothing_is_released_that_a_rule_or_a_server_may_look_at() {
    let mut server = PostgresServer::start();
    let store = json!({ "postgres": server.url("looked-at"), "timeout": "60s" });
    let rule = json!({
        "name": "nothing-of-the-system", "effect": "block",
        "when": { "session.sources": { "contains": "system" }, "tool.id": ACT },
    });
    let by_rule = Stage::in_home(home(&PLAIN, &json!({ "store": store, "rules": [rule] }))).await;
    let by_server = Stage::in_home(home(&PARTICULAR, &json!({ "store": store }))).await;
    for stage in [&by_rule, &by_server] {
        let context = stage.context().await;
        let client = stage.client(&context).await;
        done(&client.call(STRANGE, json!({})).await.unwrap());
        server.crash();
        noticed(stage).await;
        unavailable(&client.call(GLANCE, json!({})).await.unwrap());
        server.restart();
        recovered(stage).await;
        done(&client.call(GLANCE, json!({})).await.unwrap());
    }
}

#[tokio::test]
async fn a_database_that_stands_still_closes_as_one_that_is_gone() {
    let server = PostgresServer::start();
    // Long enough for a busy machine, and short enough to wait for a few times.
    let store = json!({ "postgres": server.url("still"), "timeout": "6s" });
    let stage = Stage::in_home(home(&PLAIN, &json!({ "store": store }))).await;
    let context = stage.context().await;
    let client = stage.client(&context).await;
    done(&client.call(ACT, json!({})).await.unwrap());
    let runs = stage.runs(ACT);
    server.pause();
    // All of them are answered, though the database never is.
    withheld(&client.call(STRANGE, json!({})).await.unwrap());
    unavailable(&client.call(ACT, json!({})).await.unwrap());
    // Nobody could know before the first.
    unavailable(&client.call(STRANGE, json!({})).await.unwrap());
    done(&client.call(GLANCE, json!({})).await.unwrap());
    assert_eq!((stage.runs(ACT), stage.runs(STRANGE)), (runs, 1));
    assert_eq!(stage.api(Method::GET, "/readyz", &Value::Null).await.0, 503);
    server.resume();
    recovered(&stage).await;
    done(&client.call(ACT, json!({})).await.unwrap());
}
