//! Stories of what comes from the client.

use anyhow::{Context, ensure};
use highwater_testkit::client::peer::Note;
use highwater_testkit::client::{Reply, Request};
use serde_json::json;

use super::script::{NUMBERS, QUESTION, STRING, plain};
use super::{Members, is_modern, same};
use crate::stage::Stage;

/// Arguments that a typed model would not survive.
fn odd_arguments() -> String {
    format!(r#"{{ "z" : {NUMBERS} , "\u0061":{STRING},"é":"é", "nothing":null ,"deep":[[{{ }}],[ ] ] }}"#)
        .replace(r"\u0000", "")
}

fn params(note: &Note) -> anyhow::Result<Members> {
    Members::of(Members::of(&note.raw)?.get("params")?)
}

async fn arguments_of(stage: &Stage, method: &str, name: &str) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let (member, shown) = match method {
        "resources/read" => ("uri", format!("fx+{name}")),
        _ => ("name", format!("fx__{name}")),
    };
    let given = odd_arguments();
    let text =
        format!(r#"{{ "x-unknown" :  [1.50] ,"{member}":"{shown}" , "arguments" : {given} ,"y":1e400}}"#);
    client.send(Request::new(method).raw_params(&text)).await?.result().ok();
    let note = stage.journal.wait(method, name).await?;
    let params = params(&note)?;
    same(params.get("arguments")?, &given)?;
    same(params.get("x-unknown")?, "[1.50]")?;
    same(params.get("y")?, "1e400")?;
    same(params.get(member)?, &format!("\"{name}\""))
}

pub(crate) async fn arguments(stage: &Stage) -> anyhow::Result<()> {
    for (method, name) in [("tools/call", "odd"), ("prompts/get", "odd"), ("resources/read", "odd://thing")] {
        arguments_of(stage, method, name).await.with_context(|| method.to_owned())?;
    }
    Ok(())
}

pub(crate) async fn metadata(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let request = Request::new("tools/call").raw_params(r#"{"name":"fx__odd","arguments":{}}"#);
    let meta =
        format!(r#""com.example/b" : {NUMBERS} , "com.\u0065xample/a":"\u0061\/","traceparent":"00-1-2-01""#);
    client.send(request.raw_meta(&meta)).await?;
    let note = stage.journal.wait("tools/call", "odd").await?;
    let params = params(&note)?;
    let meta = Members::of(params.get("_meta")?)?;
    same(meta.get("com.example/b")?, NUMBERS)?;
    ensure!(note.raw.contains(r#""com.\u0065xample/a":"\u0061\/""#), "{}", note.raw);
    same(meta.get("traceparent")?, r#""00-1-2-01""#)?;
    // What a modern client says of itself is for the gateway; a legacy server knows nothing of it.
    if !is_modern(stage.cell.upstream) {
        ensure!(!note.raw.contains("io.modelcontextprotocol/"), "{}", note.raw);
    }
    Ok(())
}

pub(crate) async fn questions_and_answers(stage: &Stage) -> anyhow::Result<()> {
    let given =
        format!(r#"{{ "content" : {{"b":{STRING} , "a":{NUMBERS}}},"x-answer":1e400 , "action":"accept" }}"#)
            .replace(r"\u0000", "");
    let reply = given.clone();
    let setup = stage.setup().capabilities(json!({ "elicitation": {} }));
    let client = setup.answering(move |_| Reply::Raw(reply.clone())).connect().await?;
    let answer = client.call("fx__ask", json!({})).await?;
    ensure!(answer.text()? == "answered", "{}", answer.raw());
    let asked = client.asked();
    ensure!(asked.len() == 1, "{asked:?}");
    same(&asked.first().context("no question")?.params, &plain(QUESTION))?;

    let notes = stage.journal.notes();
    if is_modern(stage.cell.upstream) {
        let again = notes.iter().find(|note| note.raw.contains("inputResponses")).context("no second try")?;
        let params = params(again)?;
        same(params.get("requestState")?, r#""st\u0061te""#)
            .or_else(|_| same(params.get("requestState")?, r#""state""#))?;
        same(Members::of(params.get("inputResponses")?)?.get("key")?, &given)
    } else {
        let answered = notes.iter().find(|note| note.method.is_none()).context("no answer")?;
        let answered = Members::of(&answered.raw)?;
        same(answered.get("id")?, r#""q\u0031""#)?;
        same(answered.get("result")?, &given)
    }
}
