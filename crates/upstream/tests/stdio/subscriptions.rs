//! Resource subscriptions: counted, told to the server as its era has it, and taken up after a restart.

use crate::support::{CLIENT, Stage, permit, script};
use highwater_core::action::ActionKind;
use highwater_upstream::control::{ControlMessage, LogLevel};
use serde_json::{Value, json};
use tokio::sync::mpsc::channel;

async fn change(stage: &Stage, method: &str, uri: &str) -> Value {
    let action = permit(ActionKind::Subscribe, method, uri, &json!({ "uri": uri }).to_string());
    let reply = stage.upstream.perform(action, CLIENT, &channel(1).0).await.unwrap();
    serde_json::from_str(reply.frame.result().unwrap()).unwrap()
}

fn changes(stage: &Stage) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    stage
        .saw()
        .iter()
        .filter(|message| text(&message["method"]).ends_with("subscribe"))
        .map(|message| (text(&message["method"]), text(&message["params"]["uri"])))
        .collect()
}

#[tokio::test]
async fn a_legacy_server_hears_of_the_first_and_the_last_subscriber() {
    let stage = script("legacy").set();
    for method in
        ["resources/subscribe", "resources/subscribe", "resources/unsubscribe", "resources/unsubscribe"]
    {
        assert_eq!(change(&stage, method, "test://a").await, json!({}));
    }
    assert_eq!(change(&stage, "resources/unsubscribe", "test://never").await, json!({}));
    let expected = ["resources/subscribe", "resources/unsubscribe"]
        .map(|method| (method.to_owned(), "test://a".to_owned()));
    assert_eq!(changes(&stage), expected);
}

#[tokio::test]
async fn a_restarted_legacy_server_is_told_again() {
    let stage = script("legacy").set();
    change(&stage, "resources/subscribe", "test://a").await;
    change(&stage, "resources/subscribe", "test://b").await;
    stage.upstream.control(ControlMessage::LogLevel(LogLevel::Error)).await.unwrap();
    stage.call("crash", "{}").await.unwrap_err();
    // Nobody uses it: it comes back by itself for those who subscribed.
    stage.saw_so_many(2, |message| message["method"] == "initialize").await;
    for uri in ["test://a", "test://b"] {
        stage.saw_so_many(2, |message| message["params"]["uri"] == uri).await;
    }
    let levels = stage.saw().iter().filter(|message| message["method"] == "logging/setLevel").count();
    assert_eq!(levels, 2);
}

fn listened(message: &Value) -> Option<&Value> {
    (message["method"] == "subscriptions/listen").then(|| &message["params"]["notifications"])
}

#[tokio::test]
async fn a_modern_server_is_listened_to_and_the_stream_is_opened_anew_for_each_change() {
    let stage = script("modern").set();
    stage.upstream.greet().await.unwrap();
    let lists = json!({"toolsListChanged": true, "resourcesListChanged": true});
    stage.saw_at_last(|message| listened(message) == Some(&lists)).await;

    let subscribed = json!({"toolsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": ["test://a"]});
    assert_eq!(change(&stage, "resources/subscribe", "test://a").await, json!({"resultType": "complete"}));
    stage.saw_at_last(|message| listened(message) == Some(&subscribed)).await;
    let first = stage.saw_at_last(|message| listened(message) == Some(&lists)).await;
    let is_end = |message: &Value| {
        message["method"] == "notifications/cancelled" && message["params"]["requestId"] == first["id"]
    };
    stage.saw_at_last(is_end).await;

    stage.call("crash", "{}").await.unwrap_err();
    stage.saw_so_many(2, |message| listened(message) == Some(&subscribed)).await;
}

#[tokio::test]
async fn a_listen_stream_that_the_server_ends_is_opened_again() {
    let stage = script("modern").set();
    stage.upstream.greet().await.unwrap();
    let first = stage.saw_at_last(|message| listened(message).is_some()).await;
    stage.call("end_listening", &json!({"request": first["id"]}).to_string()).await.unwrap();
    stage.saw_at_last(|message| listened(message).is_some() && message["id"] != first["id"]).await;
}
