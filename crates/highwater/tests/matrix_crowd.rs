//! Many clients of every kind at once in front of one server of each kind: everyone gets what is theirs, and is asked
//! what is meant for them.

use std::path::Path;

use anyhow::{Context, ensure};
use futures_util::future::try_join_all;
use highwater_testkit::client::gateway::{Gateway, Home};
use highwater_testkit::client::peer::{HttpFixture, Journal, fixture_program};
use highwater_testkit::client::{Client, Era, Reply, Request, Setup};
use serde_json::json;

/// Clients of each of the four kinds.
const OF_EACH_KIND: usize = 2;
/// What each of them does, one after the other; within a round everything at once.
const ROUNDS: usize = 4;

/// The server's arguments, and whether it listens.
#[derive(Clone, Copy)]
struct Server {
    arguments: &'static [&'static str],
    over_http: bool,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_front_of_a_legacy_server_over_stdio() -> anyhow::Result<()> {
    crowd(Server { arguments: &["--stdio", "--era", "legacy"], over_http: false }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_front_of_a_modern_server_over_stdio() -> anyhow::Result<()> {
    crowd(Server { arguments: &["--stdio", "--era", "modern"], over_http: false }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_front_of_a_legacy_server_over_http() -> anyhow::Result<()> {
    crowd(Server { arguments: &["--era", "legacy"], over_http: true }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_front_of_a_modern_server_over_http() -> anyhow::Result<()> {
    crowd(Server { arguments: &["--era", "modern"], over_http: true }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_front_of_a_server_over_http_and_sse() -> anyhow::Result<()> {
    crowd(Server { arguments: &["--sse", "--era", "legacy"], over_http: true }).await
}

async fn crowd(server: Server) -> anyhow::Result<()> {
    let program = Path::new(env!("CARGO_BIN_EXE_highwater"));
    let fixture = fixture_program(program)?;
    let home = Home::new(program, "{}")?;
    let journal = Journal::at(home.path().join("journal"));
    let mut arguments = vec!["--extras"];
    arguments.extend(server.arguments);
    let (_running, entry) = match server.over_http {
        true => {
            let running = HttpFixture::start(&fixture, &arguments, &journal).await?;
            let entry = json!({ "url": running.url() });
            (Some(running), entry)
        }
        false => (None, json!({ "command": fixture, "args": arguments })),
    };
    home.configure(&json!({ "flow": "observe", "servers": { "fx": entry } }).to_string())?;
    let gateway = home.serve().await?;

    // Where questions name no call, a server that has asked once is known to ask: from then on it has one call at a
    // time, and every question has an owner.
    let first = connect(gateway.http(Era::Legacy), "first").await?;
    first.call("fx__ask_elicit", json!({ "message": "the first question" })).await?.ok()?;

    let kinds = [Gateway::http as fn(&Gateway, Era) -> Setup, Gateway::stdio];
    let eras = [Era::Legacy, Era::Modern];
    let mut people = Vec::new();
    for number in 0..OF_EACH_KIND {
        for (at, kind) in kinds.iter().enumerate() {
            people.extend(eras.map(|era| person(kind(&gateway, era), format!("{number} of {era:?} {at}"))));
        }
    }
    try_join_all(people).await.map(drop)
}

/// A client that answers every question with the question itself.
async fn connect(setup: Setup, name: &str) -> anyhow::Result<Client> {
    let setup = setup.capabilities(json!({ "elicitation": {}, "sampling": {} }));
    let echo = |question: &highwater_testkit::client::Question| {
        let params = question.json().unwrap_or_default();
        match params.pointer("/messages/0/content/text").and_then(|text| text.as_str()) {
            Some(prompt) => Reply::sampled(prompt),
            None => Reply::accept(json!({ "answer": params.get("message") })),
        }
    };
    setup.answering(echo).connect().await.with_context(|| name.to_owned())
}

/// Does a little of everything and looks whether all of it is theirs.
async fn person(setup: Setup, name: String) -> anyhow::Result<()> {
    let client = connect(setup, &name).await?;
    for round in 0..ROUNDS {
        let mine = format!("{name}, round {round}");
        let calls = [
            Request::call("fx__echo", &json!({ "mine": mine })),
            Request::call("fx__progress", &json!({ "steps": 3, "ms": 2, "mine": mine })).progress(round),
            Request::call("fx__ask_elicit", &json!({ "message": mine })),
            Request::call("fx__ask_sample", &json!({ "prompt": mine })),
            Request::new("resources/read")
                .params(json!({ "uri": format!("fx+test://template/{round}/data") })),
        ];
        let answers =
            try_join_all(calls.map(|call| client.send(call))).await.with_context(|| mine.clone())?;
        let [echo, progress, elicited, sampled, read] = &*answers else {
            anyhow::bail!("answers are missing")
        };
        ensure!(echo.at("/result/structuredContent/mine") == mine.as_str(), "{mine}: {}", echo.raw());
        ensure!(progress.text()? == "3 steps", "{mine}: {}", progress.raw());
        let steps = progress.heard("notifications/progress");
        ensure!(
            steps.len() == 3 && steps.iter().all(|step| step.at("/params/progressToken") == round),
            "{mine}: {steps:?}"
        );
        let expected = format!(r#"action=accept, content={{"answer":"{mine}"}}"#);
        ensure!(elicited.text()? == expected, "{mine}: {}", elicited.raw());
        ensure!(sampled.text()? == format!("LLM response: {mine}"), "{mine}: {}", sampled.raw());
        ensure!(read.raw().contains(&format!("Data for ID: {round}")), "{mine}: {}", read.raw());
    }
    let asked = client.asked();
    ensure!(asked.len() == 2 * ROUNDS, "{name} was asked {} times", asked.len());
    ensure!(
        asked.iter().all(|question| question.params.contains(&name)),
        "{name} was asked for others: {asked:?}"
    );
    Ok(())
}
