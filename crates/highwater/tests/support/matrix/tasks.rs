//! Stories of tasks: passed on within an era, done on the client's behalf across the eras.

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use highwater_testkit::client::{Answer, Client, Era, Reply};
use highwater_testkit::wait::PATIENCE;
use serde_json::{Value, json};

use super::shown;
use crate::stage::{Stage, Upstream};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Whether client and server mean the same by a task.
fn one_era(stage: &Stage) -> bool {
    let modern = matches!(stage.cell.upstream, Upstream::StdioModern | Upstream::HttpModern);
    modern == stage.modern()
}

/// A client that knows the tasks of its era and can be asked.
async fn client(stage: &Stage, tasks: bool) -> anyhow::Result<Client> {
    let mut capabilities = json!({ "elicitation": {} });
    if let (true, Some(members)) = (tasks && stage.modern(), capabilities.as_object_mut()) {
        members.insert("extensions".to_owned(), json!({ EXTENSION: {} }));
    }
    let yes = |_: &_| Reply::accept(json!({ "confirm": true }));
    stage.setup().capabilities(capabilities).answering(yes).connect().await
}

pub(crate) async fn goes_on_as_a_task(stage: &Stage) -> anyhow::Result<()> {
    let client = client(stage, true).await?;
    let mut params = json!({ "name": shown("task_optional"), "arguments": { "seconds": 0, "label": "x" } });
    if let (Era::Legacy, Some(members)) = (stage.cell.era, params.as_object_mut()) {
        members.insert("task".to_owned(), json!({ "ttl": 60_000 }));
    }
    let started = client.request("tools/call", params).await?;
    if !one_era(stage) {
        // What can be a task need not be one.
        ensure!(started.text()? == "Computed `x` in 0 s", "{}", started.raw());
        return Ok(());
    }
    let id = match stage.cell.era {
        Era::Legacy => started.at("/result/task/taskId"),
        Era::Modern => started.at("/result/taskId"),
    };
    let id = id.as_str().with_context(|| format!("no task: {}", started.raw()))?;
    let done = finished(&client, id).await?;
    let text = match stage.cell.era {
        Era::Legacy => client.request("tasks/result", json!({ "taskId": id })).await?.text()?,
        Era::Modern => done.at("/result/result/content/0/text").as_str().unwrap_or_default().to_owned(),
    };
    ensure!(text == "Computed `x` in 0 s", "{text}");
    // The id is the gateway's own: nobody can make one up, and another client's would not open.
    let notes = stage.journal.of("tasks/get");
    ensure!(
        !notes.is_empty() && notes.iter().all(|note| !note.raw.contains(id)),
        "{id} is the server's: {notes:?}"
    );
    let unknown = client.request("tasks/get", json!({ "taskId": "made-up" })).await?;
    ensure!(unknown.error_code() == Some(-32602), "{}", unknown.raw());
    Ok(())
}

pub(crate) async fn waits_for_what_must_be_a_task(stage: &Stage) -> anyhow::Result<()> {
    let client = client(stage, false).await?;
    let answer = client.call(&shown("task_required"), json!({ "filename": "f" })).await?;
    if one_era(stage) {
        ensure!(answer.error_code().is_some(), "it must be a task: {}", answer.raw());
        return Ok(());
    }
    ensure!(answer.text()? == "Deleted f", "{}", answer.raw());
    ensure!(client.asked().len() == 1, "{:?}", client.asked());
    Ok(())
}

/// Looks at a task until it has ended.
async fn finished(client: &Client, id: &str) -> anyhow::Result<Answer> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let answer = client.request("tasks/get", json!({ "taskId": id })).await?;
        match answer.at("/result/status") {
            Value::String(status) if status == "completed" => return Ok(answer),
            Value::String(status) if status == "working" => {}
            _ => bail!("neither working nor done: {}", answer.raw()),
        }
        let pause = ["/result/pollInterval", "/result/pollIntervalMs"].map(|place| answer.at(place));
        let pause = pause.iter().find_map(Value::as_u64).unwrap_or(50).min(200);
        // As long as the server asked for.
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    bail!("the task never ends")
}
