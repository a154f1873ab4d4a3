//! Stories of servers that change, and of clients that hear of it.

use anyhow::ensure;
use highwater_testkit::client::{Client, Era, Message};
use serde_json::json;

use super::{entry, shown, shown_uri};
use crate::stage::Stage;

const UPDATED: &str = "notifications/resources/updated";
const SUBSCRIPTION: &str = "/params/_meta/io.modelcontextprotocol~1subscriptionId";

/// A modern client listens for a kind of change; a legacy one hears of all of them. Gives the id that everything
/// it hears is marked with.
async fn listen_for(client: &Client, kind: &str) -> anyhow::Result<Option<String>> {
    match client.era() {
        Era::Legacy => Ok(None),
        Era::Modern => {
            let listening = client.listen(json!({ kind: true })).await?;
            let agreed = listening.acknowledged.at("/params/notifications");
            ensure!(agreed == json!({ kind: true }), "not agreed: {agreed}");
            Ok(Some(listening.id().to_owned()))
        }
    }
}

fn is_marked(message: &Message, id: Option<&str>) -> anyhow::Result<()> {
    let mark = message.at(SUBSCRIPTION);
    let expected = id.map_or(Ok(serde_json::Value::Null), serde_json::from_str)?;
    ensure!(mark == expected, "marked {mark} instead of {expected}: {message:?}");
    Ok(())
}

pub(crate) async fn tells_of_new_tools(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let before = client.request("tools/list", json!({})).await?;
    ensure!(entry(&before.at("/result/tools"), "name", &shown("fresh")).is_err(), "it is there already");
    let listening = listen_for(&client, "toolsListChanged").await?;
    client.call(&shown("add_tool"), json!({ "name": "fresh" })).await?.result()?;
    let changed = client.next_notification("notifications/tools/list_changed").await?;
    is_marked(&changed, listening.as_deref())?;
    let after = client.request("tools/list", json!({})).await?;
    entry(&after.at("/result/tools"), "name", &shown("fresh"))?;
    let answer = client.call(&shown("fresh"), json!({ "n": 1 })).await?;
    ensure!(answer.at("/result/structuredContent/n") == 1, "{}", answer.raw());
    Ok(())
}

pub(crate) async fn tells_of_new_prompts(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    client.request("prompts/list", json!({})).await?.result()?;
    let listening = listen_for(&client, "promptsListChanged").await?;
    client.call(&shown("test_trigger_prompt_change"), json!({})).await?.result()?;
    let changed = client.next_notification("notifications/prompts/list_changed").await?;
    is_marked(&changed, listening.as_deref())?;
    let after = client.request("prompts/list", json!({})).await?;
    entry(&after.at("/result/prompts"), "name", &shown("test_passing_prompt"))?;
    Ok(())
}

pub(crate) async fn tells_of_touched_resources(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let uri = shown_uri("test://watched-resource");
    let mut marked = None;
    match client.era() {
        Era::Legacy => {
            client.request("resources/subscribe", json!({ "uri": uri })).await?.result()?;
        }
        Era::Modern => {
            let listening = client.listen(json!({ "resourceSubscriptions": [uri] })).await?;
            let agreed = listening.acknowledged.at("/params/notifications/resourceSubscriptions");
            ensure!(agreed == json!([uri]), "not agreed: {agreed}");
            marked = Some(listening.id().to_owned());
        }
    }
    touch(&client, "test://watched-resource").await?;
    let updated = client.next_notification(UPDATED).await?;
    ensure!(updated.at("/params/uri") == uri.as_str(), "{updated:?}");
    is_marked(&updated, marked.as_deref())
}

pub(crate) async fn stops_telling(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let [left, kept] = ["test://static-text", "test://watched-resource"].map(shown_uri);
    let about = |uri: &str, message: &Message| message.at("/params/uri") == uri;
    let mut listening = None;
    match client.era() {
        Era::Legacy => {
            for uri in [&left, &kept] {
                client.request("resources/subscribe", json!({ "uri": uri })).await?.result()?;
            }
        }
        Era::Modern => {
            client.listen(json!({ "resourceSubscriptions": [kept] })).await?;
            listening = Some(client.listen(json!({ "resourceSubscriptions": [left] })).await?);
        }
    }
    touch(&client, "test://static-text").await?;
    client.next_notification_where(UPDATED, |message| about(&left, message)).await?;

    match listening {
        None => {
            client.request("resources/unsubscribe", json!({ "uri": left })).await?.result()?;
        }
        Some(listening) => listening.close().await?,
    }
    // Whatever else changes, the other subscription goes on without a gap.
    touch(&client, "test://watched-resource").await?;
    client.next_notification_where(UPDATED, |message| about(&kept, message)).await?;
    if client.era() == Era::Legacy {
        // From here on: a server may say one thing twice, but not after it was told to stop.
        let before = client.arrivals().len();
        touch(&client, "test://static-text").await?;
        touch(&client, "test://watched-resource").await?;
        client.next_notification_where(UPDATED, |message| about(&kept, message)).await?;
        let told = client.arrivals().into_iter().skip(before).find(|message| about(&left, message));
        ensure!(told.is_none(), "told all the same: {told:?}");
    }
    Ok(())
}

async fn touch(client: &Client, uri: &str) -> anyhow::Result<()> {
    let touched = client.call(&shown("touch_resource"), json!({ "uri": uri })).await?;
    ensure!(touched.text()? == "touched", "{}", touched.raw());
    Ok(())
}
