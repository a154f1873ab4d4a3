//! Stories of resources, prompts and completions.

use anyhow::ensure;
use highwater_testkit::client::Era;
use serde_json::{Value, json};

use super::{entry, ran, shown, shown_uri};
use crate::stage::Stage;

pub(crate) async fn reads_resources(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let uri = shown_uri("test://static-text");
    let listed = client.request("resources/list", json!({})).await?;
    let listed = listed.at("/result/resources");
    ensure!(entry(&listed, "uri", &uri)?.get("title") == Some(&json!("Static text")), "{listed}");
    let read = client.request("resources/read", json!({ "uri": uri })).await?;
    let expected = json!({ "uri": uri, "mimeType": "text/plain",
        "text": "This is the content of the static text resource." });
    ensure!(read.at("/result/contents") == json!([expected]), "{}", read.raw());
    let modern = (read.at("/result/resultType"), read.at("/result/ttlMs").is_u64());
    let expected = if stage.modern() { (json!("complete"), true) } else { (Value::Null, false) };
    ensure!(modern == expected, "{}", read.raw());
    let notes = stage.journal.of("resources/read");
    ensure!(
        notes.len() == 1 && notes.iter().all(|note| note.raw.contains(r#""test://static-text""#)),
        "{notes:?}"
    );

    let templates = client.request("resources/templates/list", json!({})).await?;
    let template = shown_uri("test://template/{id}/data");
    entry(&templates.at("/result/resourceTemplates"), "uriTemplate", &template)?;
    let uri = shown_uri("test://template/123/data");
    let read = client.request("resources/read", json!({ "uri": uri })).await?;
    ensure!(read.at("/result/contents/0/uri") == uri.as_str(), "{}", read.raw());
    let text = r#"{"data":"Data for ID: 123","id":"123","templateTest":true}"#;
    ensure!(read.at("/result/contents/0/text") == text, "{}", read.raw());

    let embedded = client.call(&shown("test_embedded_resource"), json!({})).await?;
    let uri = shown_uri("test://embedded-resource");
    ensure!(embedded.at("/result/content/0/resource/uri") == uri.as_str(), "{}", embedded.raw());
    Ok(())
}

pub(crate) async fn knows_what_is_no_resource(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let uri = shown_uri("test://nothing");
    let answer = client.request("resources/read", json!({ "uri": uri })).await?;
    let code = match stage.cell.era {
        Era::Legacy => -32002,
        Era::Modern => -32602,
    };
    ensure!(answer.error_code() == Some(code), "{}", answer.raw());
    ensure!(answer.at("/error/data/uri") == uri.as_str(), "{}", answer.raw());
    ensure!(ran(stage, "resources/read") == 1, "the server was not asked");

    let nobodys = client.request("resources/read", json!({ "uri": "other+test://nothing" })).await?;
    ensure!(nobodys.error_code() == Some(code), "{}", nobodys.raw());
    ensure!(nobodys.at("/error/data/uri") == "other+test://nothing", "{}", nobodys.raw());
    ensure!(ran(stage, "resources/read") == 1, "the server was asked");
    Ok(())
}

pub(crate) async fn gives_prompts(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let name = shown("test_prompt_with_arguments");
    let listed = client.request("prompts/list", json!({})).await?;
    let listed = listed.at("/result/prompts");
    ensure!(entry(&listed, "name", &name)?.pointer("/arguments/1/name") == Some(&json!("arg2")), "{listed}");
    let params = json!({ "name": name, "arguments": { "arg1": "hello", "arg2": "world" } });
    let got = client.request("prompts/get", params).await?;
    let text = got.at("/result/messages/0/content/text");
    ensure!(text == "Prompt with arguments: arg1='hello', arg2='world'", "{}", got.raw());
    let result_type = got.at("/result/resultType");
    ensure!(result_type == if stage.modern() { json!("complete") } else { Value::Null }, "{}", got.raw());

    let arguments = json!({ "resourceUri": "test://example-resource" });
    let params = json!({ "name": shown("test_prompt_with_embedded_resource"), "arguments": arguments });
    let got = client.request("prompts/get", params).await?;
    let uri = shown_uri("test://example-resource");
    ensure!(got.at("/result/messages/0/content/resource/uri") == uri.as_str(), "{}", got.raw());
    let notes = stage.journal.of("prompts/get");
    ensure!(notes.iter().all(|note| !note.raw.contains("fx__")), "{notes:?}");
    Ok(())
}

pub(crate) async fn completes(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let references = [
        json!({ "type": "ref/prompt", "name": shown("test_prompt_with_arguments") }),
        json!({ "type": "ref/resource", "uri": shown_uri("test://template/{id}/data") }),
    ];
    for reference in references {
        let params = json!({ "ref": reference, "argument": { "name": "arg1", "value": "par" } });
        let completed = client.request("completion/complete", params).await?;
        let values = completed.at("/result/completion/values");
        ensure!(values == json!(["paris", "park", "party"]), "{}", completed.raw());
    }
    let notes = stage.journal.of("completion/complete");
    ensure!(notes.len() == 2, "{notes:?}");
    ensure!(notes.iter().all(|note| !note.raw.contains("fx__") && !note.raw.contains("fx+")), "{notes:?}");
    Ok(())
}
