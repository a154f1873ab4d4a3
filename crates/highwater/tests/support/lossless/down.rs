//! Stories of what comes from the server.

use anyhow::{Context, ensure};
use highwater_testkit::client::{Era, Request};
use serde_json::json;

use super::script::{
    CAPABILITY, COMPLETION, ERROR, INSTRUCTIONS, LIST_REST, LOG, PROGRESS, PROMPT, PROMPT_RESULT,
    READ_RESULT, RESOURCE, RESULT, TEMPLATE, TOOL, UPDATED, expected, plain,
};
use super::{Members, elements, is_modern, same, same_but_ours, same_result};
use crate::stage::Stage;

const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", TOOL),
    ("prompts/list", "prompts", PROMPT),
    ("resources/list", "resources", RESOURCE),
    ("resources/templates/list", "resourceTemplates", TEMPLATE),
];

pub(crate) async fn definitions(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    for (method, member, definition) in LISTS {
        let answer = client.request(method, json!({})).await?;
        let result = Members::of(answer.message.result().context("no result")?)?;
        let items = elements(result.get(member)?)?;
        let wanted = expected(definition, stage.cell.upstream);
        let found = items.iter().find(|item| item.get().contains("odd")).map(|item| item.get());
        let found = found.with_context(|| format!("`{method}` is empty: {}", answer.raw()))?;
        match method {
            "tools/list" => same_but_ours(found, &wanted)?,
            _ => same(found, &wanted)?,
        }
    }
    Ok(())
}

/// How the gateway says who made a list, in its `_meta`.
const SERVER_INFO: &str = r#","io.modelcontextprotocol/serverInfo":"#;

pub(crate) async fn list_results(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    for (method, _, _) in LISTS {
        let answer = client.request(method, json!({})).await?;
        let result = Members::of(answer.message.result().context("no result")?)?;
        for (key, value) in LIST_REST {
            let (found, wanted) = (result.get(key).with_context(|| format!("of `{method}`"))?, plain(value));
            // In the modern era whoever makes a result says who it is, behind what was there.
            match *key == "_meta" && stage.modern() {
                true => {
                    let (kept, ours) =
                        found.split_once(SERVER_INFO).context("nobody says who made the list")?;
                    same(&format!("{kept}}}"), &wanted)?;
                    ensure!(ours.contains("highwater"), "{ours}");
                }
                false => same(found, &wanted)?,
            }
        }
        let era = [result.has("resultType"), result.has("ttlMs"), result.has("cacheScope")];
        ensure!(era == [stage.modern(); 3], "`{method}`: {}", answer.raw());
        if stage.modern() {
            same(result.get("ttlMs")?, "0")?;
            same(result.get("cacheScope")?, r#""private""#)?;
        }
    }
    Ok(())
}

pub(crate) async fn greetings(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let greeting = client.greeting().and_then(|greeting| greeting.result()).context("no greeting")?;
    let result = Members::of(greeting)?;
    same(result.get("instructions")?, INSTRUCTIONS)?;
    let capabilities = Members::of(result.get("capabilities")?)?;
    same(capabilities.get("x-capability")?, &plain(CAPABILITY))?;
    same(capabilities.get("experimental")?, &plain(&format!(r#"{{ "z.y/x" : {CAPABILITY} }}"#)))?;
    same(Members::of(capabilities.get("tools")?)?.get("x")?, "1.0")
}

pub(crate) async fn results_of_calls(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let answer = client.call("fx__odd", json!({})).await?;
    let result = answer.message.result().with_context(|| format!("no result: {}", answer.raw()))?;
    same_result(stage, result, &expected(RESULT, stage.cell.upstream))
}

pub(crate) async fn results_of_other_requests(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let argument = json!({ "name": "a", "value": "v" });
    let requests = [
        ("prompts/get", json!({ "name": "fx__odd" }), PROMPT_RESULT),
        ("resources/read", json!({ "uri": "fx+odd://thing" }), READ_RESULT),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "fx__odd" }, "argument": argument }),
            COMPLETION,
        ),
    ];
    for (method, params, text) in requests {
        let answer = client.request(method, params).await?;
        let result = answer.message.result().with_context(|| format!("no result: {}", answer.raw()))?;
        same_result(stage, result, &expected(text, stage.cell.upstream))
            .with_context(|| method.to_owned())?;
    }
    Ok(())
}

pub(crate) async fn errors(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let answer = client.call("fx__bad", json!({})).await?;
    let error = answer.message.error().with_context(|| format!("no error: {}", answer.raw()))?;
    same(error, &plain(ERROR))
}

pub(crate) async fn notifications(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    client.set_log_level("debug").await?;
    // A server that is told the level while it works may hear of it too late.
    let request = Request::call("fx__talk", &json!({})).progress("my token");
    let answer = client.send(request).await?;
    answer.ok()?;
    let heard =
        |method: &str| answer.heard(method).first().and_then(|message| message.params()).map(str::to_owned);
    let progress =
        heard("notifications/progress").with_context(|| format!("no progress: {:?}", answer.before))?;
    same(&progress, &plain(PROGRESS).replace("%TOKEN%", r#""my token""#))?;
    let log = client.next_notification("notifications/message").await?;
    same(log.params().context("no params")?, &plain(LOG))
}

pub(crate) async fn updates(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let uri = "fx+odd://thing";
    let mut mark = String::new();
    let mut listening = None;
    match stage.cell.era {
        Era::Legacy => {
            client.request("resources/subscribe", json!({ "uri": uri })).await?.ok()?;
        }
        Era::Modern => {
            let opened = client.listen(json!({ "resourceSubscriptions": [uri] })).await?;
            mark = format!(r#","_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}"#, opened.id());
            listening = Some(opened);
        }
    }
    if !is_modern(stage.cell.upstream) {
        client.call("fx__touch", json!({})).await?.ok()?;
    }
    let updated = client.next_notification("notifications/resources/updated").await?;
    let params = updated.params().context("no params")?;
    let wanted = expected(&UPDATED.replace("%MARK%", &mark), stage.cell.upstream);
    drop(listening);
    same(params, &wanted)
}
