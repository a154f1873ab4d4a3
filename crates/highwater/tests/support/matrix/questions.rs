//! Stories of servers that ask: the user, the model, and the client itself, in the middle of something.

use anyhow::{Context, ensure};
use highwater_testkit::client::{Client, Reply, Setup};
use serde_json::{Value, json};

use super::{shown, shown_uri};
use crate::stage::Stage;

/// A client that can be asked everything.
fn able(stage: &Stage) -> Setup {
    let elicitation = json!({ "form": {}, "url": {} });
    stage.setup().capabilities(json!({ "elicitation": elicitation, "sampling": {}, "roots": {} }))
}

/// What the client was asked, once and once only.
fn only_question(client: &Client) -> anyhow::Result<(String, Value)> {
    let asked = client.asked();
    ensure!(asked.len() == 1, "{} questions: {asked:?}", asked.len());
    let question = asked.first().context("no question")?;
    Ok((question.method.clone(), question.json()?))
}

pub(crate) async fn asks_with_a_form(stage: &Stage) -> anyhow::Result<()> {
    let client = able(stage).answering(|_| Reply::accept(json!({ "answer": "yes" }))).connect().await?;
    let answer = client.call(&shown("ask_elicit"), json!({ "message": "sure?" })).await?;
    ensure!(answer.text()? == r#"action=accept, content={"answer":"yes"}"#, "{}", answer.raw());
    let (method, params) = only_question(&client)?;
    ensure!(method == "elicitation/create", "{method}");
    ensure!(params.get("message") == Some(&json!("sure?")), "{params}");
    ensure!(params.pointer("/requestedSchema/properties/answer/type") == Some(&json!("string")), "{params}");
    ensure!(answer.rounds == usize::from(stage.modern()), "{} rounds", answer.rounds);
    // A server that has asked once still serves.
    let again = client.call(&shown("ask_elicit"), json!({ "message": "again?" })).await?;
    ensure!(again.text()? == r#"action=accept, content={"answer":"yes"}"#, "{}", again.raw());
    Ok(())
}

pub(crate) async fn takes_no_for_an_answer(stage: &Stage) -> anyhow::Result<()> {
    let client = able(stage).answering(|_| Reply::decline()).connect().await?;
    let answer = client.call(&shown("ask_elicit"), json!({ "message": "sure?" })).await?;
    ensure!(answer.text()? == "action=decline, content=null", "{}", answer.raw());
    only_question(&client)?;
    Ok(())
}

pub(crate) async fn asks_for_a_page_to_be_opened(stage: &Stage) -> anyhow::Result<()> {
    let accept = |_: &_| Reply::Result(json!({ "action": "accept" }));
    let client = able(stage).answering(accept).connect().await?;
    let page = "https://example.test/page";
    let answer = client.call(&shown("ask_elicit"), json!({ "message": "look", "url": page })).await?;
    ensure!(answer.text()? == "action=accept, content=null", "{}", answer.raw());
    let (method, params) = only_question(&client)?;
    ensure!(method == "elicitation/create", "{method}");
    ensure!(params.get("mode") == Some(&json!("url")) && params.get("url") == Some(&json!(page)), "{params}");
    let id = params.get("elicitationId").and_then(Value::as_str);
    ensure!(id.is_some() != stage.modern(), "the legacy era alone has an id: {params}");
    Ok(())
}

pub(crate) async fn asks_nothing_that_was_not_declared(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.setup().answering(|_| Reply::sampled("never")).connect().await?;
    let calls = [("ask_elicit", json!({ "message": "?" })), ("ask_sample", json!({ "prompt": "?" }))];
    for (tool, arguments) in calls {
        let answer = client.call(&shown(tool), arguments).await?;
        // How the tool takes it is its own affair, but it ends, and not in an answer that nobody gave.
        ensure!(!answer.raw().contains("never") && !answer.raw().contains("accept"), "{}", answer.raw());
    }
    ensure!(client.asked().is_empty(), "{:?}", client.asked());
    let declared = stage.journal.notes().iter().any(|note| note.raw.contains("never"));
    ensure!(!declared, "an answer nobody gave reached the server");
    Ok(())
}

pub(crate) async fn asks_the_model(stage: &Stage) -> anyhow::Result<()> {
    let client = able(stage).answering(|_| Reply::sampled("four")).connect().await?;
    let answer = client.call(&shown("ask_sample"), json!({ "prompt": "2+2?" })).await?;
    ensure!(answer.text()? == "LLM response: four", "{}", answer.raw());
    let (method, params) = only_question(&client)?;
    ensure!(method == "sampling/createMessage", "{method}");
    ensure!(params.pointer("/messages/0/content/text") == Some(&json!("2+2?")), "{params}");
    Ok(())
}

pub(crate) async fn asks_for_roots(stage: &Stage) -> anyhow::Result<()> {
    let client = able(stage).answering(|_| Reply::root("file:///project")).connect().await?;
    let answer = client.call(&shown("test_input_required_result_list_roots"), json!({})).await?;
    ensure!(answer.text()?.contains("file:///project"), "{}", answer.raw());
    ensure!(only_question(&client)?.0 == "roots/list", "another question");
    Ok(())
}

pub(crate) async fn asks_in_rounds(stage: &Stage) -> anyhow::Result<()> {
    let fill = |question: &highwater_testkit::client::Question| match question.params.contains("color") {
        true => Reply::accept(json!({ "color": "blue" })),
        false => Reply::accept(json!({ "name": "Ada" })),
    };
    let client = able(stage).answering(fill).connect().await?;
    let answer = client.call(&shown("test_input_required_result_multi_round"), json!({})).await?;
    ensure!(answer.text()? == "Ada likes blue.", "{}", answer.raw());
    ensure!(client.asked().len() == 2, "{:?}", client.asked());
    Ok(())
}

pub(crate) async fn asks_before_a_resource_is_read(stage: &Stage) -> anyhow::Result<()> {
    let client = able(stage).answering(|_| Reply::accept(json!({ "name": "Ada" }))).connect().await?;
    let uri = shown_uri("test://asks-first");
    let answer = client.request("resources/read", json!({ "uri": uri })).await?;
    ensure!(answer.at("/result/contents/0/text") == "This text was read by Ada.", "{}", answer.raw());
    ensure!(answer.at("/result/contents/0/uri") == uri.as_str(), "{}", answer.raw());
    only_question(&client)?;
    Ok(())
}

pub(crate) async fn asks_for_what_a_prompt_needs(stage: &Stage) -> anyhow::Result<()> {
    let client = able(stage).answering(|_| Reply::accept(json!({ "context": "tests" }))).connect().await?;
    let name = shown("test_input_required_result_prompt");
    let answer = client.request("prompts/get", json!({ "name": name })).await?;
    let text = answer.at("/result/messages/0/content/text");
    ensure!(text == "Work with this context: tests", "{}", answer.raw());
    only_question(&client)?;
    Ok(())
}
