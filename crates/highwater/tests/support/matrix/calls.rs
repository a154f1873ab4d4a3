//! Stories of calls: what goes up, what comes down, in which order, and what is taken back.

use anyhow::{Context, ensure};
use highwater_testkit::client::{Era, Request};
use serde_json::{Value, json};

use super::{entry, ran, shown};
use crate::stage::{Stage, Upstream};

const INVALID_PARAMS: i64 = -32602;
const METHOD_NOT_FOUND: i64 = -32601;
const INTERNAL_ERROR: i64 = -32603;

/// The definition of `echo` as the fixture writes it, after its name, up to where the gateway has its say.
const ECHO: &str = concat!(
    r#""title": "Echo", "description": "Returns its arguments","#,
    r#""inputSchema": {"type": "object", "properties": {"#,
    r#""to": {"type": "string"}, "body": {"type": "string"}, "amount": {"maximum": 12345678901234567890123}}},"#,
    r#""annotations": {"readOnlyHint": true, "openWorldHint": false, "maliciousActivityHint": false},"#,
    r#""execution": {"taskSupport": "forbidden"},"#,
    r#""flowPolicy": {"acceptFrom": ["self", "user", "tofu", "unverified"], "z": 1, "a": [1e2, 0.10]},"#,
    r#""_meta": {"test.example/note": {"kept": "as it is"},"dev.highwater/contract":{"#
);

pub(crate) async fn lists_and_calls(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let listed = client.request("tools/list", json!({})).await?;
    entry(&listed.at("/result/tools"), "name", &shown("echo"))?;
    ensure!(listed.raw().contains(ECHO), "the definition has changed: {}", listed.raw());
    let modern =
        (listed.at("/result/resultType"), listed.at("/result/ttlMs"), listed.at("/result/cacheScope"));
    let expected = match stage.cell.era {
        Era::Modern => (json!("complete"), json!(0), json!("private")),
        Era::Legacy => (Value::Null, Value::Null, Value::Null),
    };
    ensure!(modern == expected, "{modern:?}");

    let request = Request::call(&shown("echo"), &json!({ "to": "upstream", "n": [1, 2] }));
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let request = request.meta("traceparent", trace).meta("dev.highwater/forged", true);
    let answer = client.send(request).await?;
    ensure!(
        answer.at("/result/structuredContent") == json!({ "to": "upstream", "n": [1, 2] }),
        "{}",
        answer.raw()
    );
    let result_type = answer.at("/result/resultType");
    ensure!(result_type == if stage.modern() { json!("complete") } else { Value::Null }, "{}", answer.raw());

    ensure!(ran(stage, "tools/call") == 1, "it ran {} times", ran(stage, "tools/call"));
    let note = stage.journal.of("tools/call").pop().context("no call was noted")?;
    ensure!(note.raw.contains(r#""name":"echo""#), "{}", note.raw);
    ensure!(note.raw.contains(trace), "the trace context was lost: {}", note.raw);
    ensure!(!note.raw.contains("forged"), "a name of ours came from outside: {}", note.raw);
    if stage.cell.upstream == Upstream::HttpModern {
        let headers =
            [("mcp-name", "echo"), ("mcp-method", "tools/call"), ("mcp-protocol-version", "2026-07-28")];
        for (name, value) in headers {
            ensure!(note.headers.get(name).is_some_and(|found| found == value), "{name}: {}", note.headers);
        }
    }
    Ok(())
}

pub(crate) async fn refuses_what_is_unknown(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let no_tool = client.call(&shown("nothing"), json!({})).await?;
    ensure!(no_tool.error_code() == Some(INVALID_PARAMS), "{}", no_tool.raw());
    let without_prefix = client.call("echo", json!({})).await?;
    ensure!(without_prefix.error_code() == Some(INVALID_PARAMS), "{}", without_prefix.raw());
    let no_method = client.request("acme/reindex", json!({})).await?;
    ensure!(no_method.error_code() == Some(METHOD_NOT_FOUND), "{}", no_method.raw());
    // The server is asked something that is known last, so that what came before it would have been noted.
    client.call(&shown("echo"), json!({})).await?.result()?;
    ensure!(ran(stage, "tools/call") == 1 && ran(stage, "acme/reindex") == 0, "something went through");
    Ok(())
}

pub(crate) async fn passes_errors_on(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let failed = client.call(&shown("test_error_handling"), json!({})).await?;
    ensure!(failed.is_tool_error(), "{}", failed.raw());
    ensure!(failed.text()? == "This tool intentionally returns an error for testing", "{}", failed.raw());

    let error = client.call(&shown("fail"), json!({})).await?;
    ensure!(error.error_code() == Some(INTERNAL_ERROR), "{}", error.raw());
    ensure!(error.at("/error/message") == "this tool fails when it is called", "{}", error.raw());
    let data = json!({ "reason": "asked", "detail": { "kept": [1, 2.5, null] } });
    ensure!(error.at("/error/data") == data, "{}", error.raw());
    ensure!(ran(stage, "tools/call") == 2, "each ran once");
    Ok(())
}

pub(crate) async fn reports_progress(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    for token in [json!("a token"), json!(7)] {
        let call = Request::call(&shown("progress"), &json!({ "steps": 3, "ms": 5 }));
        let answer = client.send(call.progress(token.clone())).await?;
        ensure!(answer.text()? == "3 steps", "{}", answer.raw());
        let steps: Vec<Value> =
            answer.heard("notifications/progress").iter().map(|step| step.at("/params")).collect();
        let expected: Vec<Value> =
            (1..=3).map(|step| json!({ "progressToken": token, "progress": step, "total": 3 })).collect();
        ensure!(steps == expected, "{steps:?}");
    }
    Ok(())
}

pub(crate) async fn keeps_the_progress_of_two_clients_apart(stage: &Stage) -> anyhow::Result<()> {
    let (one, two) = (stage.client().await?, stage.client().await?);
    // Known before, so that both calls are under way at once.
    one.call(&shown("echo"), json!({})).await?.result()?;
    let call = |steps: u64| {
        Request::call(&shown("progress"), &json!({ "steps": steps, "ms": 20 })).progress("the same token")
    };
    let (few, many) = tokio::try_join!(one.send(call(2)), two.send(call(5)))?;
    for (answer, steps) in [(&few, 2), (&many, 5)] {
        let heard = answer.heard("notifications/progress");
        ensure!(heard.len() == steps, "{} of {steps} steps", heard.len());
        ensure!(heard.iter().all(|step| step.at("/params/total") == steps), "{heard:?}");
        ensure!(heard.iter().all(|step| step.at("/params/progressToken") == "the same token"), "{heard:?}");
    }
    Ok(())
}

pub(crate) async fn cancels(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let call = client.begin(Request::call(&shown("sleep"), &json!({ "ms": 600_000 }))).await?;
    let note = stage.journal.wait("tools/call", r#""sleep""#).await?;
    call.cancel().await?;
    let cancelled = stage.journal.wait("cancelled", r#""sleep""#).await?;
    ensure!(cancelled.raw == note.raw, "another call was cancelled: {}", cancelled.raw);
    // Whoever cancelled goes on, and so does the server.
    let next = client.call(&shown("echo"), json!({ "n": 1 })).await?;
    ensure!(next.at("/result/structuredContent/n") == 1, "{}", next.raw());
    let id = call.id();
    let late =
        client.arrivals().into_iter().find(|message| message.is_response() && message.id() == Some(id));
    ensure!(late.is_none(), "a cancelled call was answered: {late:?}");
    ensure!(ran(stage, "cancelled") == 1, "{} were cancelled", ran(stage, "cancelled"));
    Ok(())
}

pub(crate) async fn keeps_ids_as_they_are(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    for id in ["99999999999999999999", r#""a \u0061 b""#, "0", "-1"] {
        let request = Request::call(&shown("echo"), &json!({})).id(id);
        let answer = client.send(request).await?;
        ensure!(answer.message.id() == Some(id), "{}", answer.raw());
    }
    Ok(())
}

pub(crate) async fn passes_log_messages_on(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    client.set_log_level("warning").await?;
    let quiet = client.call(&shown("log"), json!({ "level": "debug", "text": "too quiet" })).await?;
    ensure!(quiet.text()? == "logged", "{}", quiet.raw());
    let loud = client.call(&shown("log"), json!({ "level": "error", "text": "loud" })).await?;
    ensure!(loud.text()? == "logged", "{}", loud.raw());
    let heard = client.next_notification("notifications/message").await?;
    ensure!(
        heard.at("/params") == json!({ "level": "error", "logger": "fixture", "data": "loud" }),
        "{heard:?}"
    );
    if stage.modern() {
        ensure!(loud.heard("notifications/message").len() == 1, "it came on another stream than its call's");
    }

    // The level can change.
    client.set_log_level("debug").await?;
    client.call(&shown("log"), json!({ "level": "debug", "text": "now heard" })).await?;
    let heard = client.next_notification("notifications/message").await?;
    ensure!(heard.at("/params/data") == "now heard", "{heard:?}");
    Ok(())
}

pub(crate) async fn answers_what_is_its_own(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let greeting = client.greeting().context("nobody greeted")?;
    let capabilities = greeting.at("/result/capabilities");
    for offered in ["tools", "resources", "prompts", "completions", "logging"] {
        ensure!(capabilities.get(offered).is_some(), "`{offered}` is not offered: {capabilities}");
    }
    ensure!(capabilities.pointer("/resources/subscribe") == Some(&json!(true)), "{capabilities}");
    ensure!(capabilities.pointer("/tools/listChanged") == Some(&json!(true)), "{capabilities}");
    match stage.cell.era {
        Era::Legacy => {
            ensure!(greeting.at("/result/protocolVersion") == "2025-11-25", "{greeting:?}");
            let pong = client.request("ping", json!({})).await?;
            ensure!(pong.result()? == json!({}), "{}", pong.raw());
        }
        Era::Modern => {
            ensure!(greeting.at("/result/resultType") == "complete", "{greeting:?}");
            ensure!(greeting.at("/result/supportedVersions/0") == "2026-07-28", "{greeting:?}");
            for removed in ["ping", "initialize", "logging/setLevel", "resources/subscribe"] {
                let answer = client.request(removed, json!({})).await?;
                ensure!(answer.error_code() == Some(METHOD_NOT_FOUND), "`{removed}`: {}", answer.raw());
            }
        }
    }
    ensure!(ran(stage, "ping") == 0, "a ping went through");
    Ok(())
}
