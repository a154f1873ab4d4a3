//! Stories of texts that mean more than their bytes say at first sight.

use anyhow::{Context, ensure};
use highwater_testkit::client::Request;
use serde_json::json;

use super::script::{ESCAPED, PRETTY, expected, sent};
use super::{Members, one_era, same, same_but_ours, same_result};
use crate::stage::{Front, Stage, Upstream};

pub(crate) async fn messages_of_several_lines(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let answer = client.call("fx__pretty", json!({})).await?;
    // Whoever reads lines gets one line; whoever does not, gets the text as it was written.
    ensure!(answer.text()? == "two\nlines", "{}", answer.raw());
    let over_http = matches!(stage.cell.upstream, Upstream::HttpLegacy | Upstream::HttpModern);
    if over_http && stage.cell.front == Front::Http && one_era(stage) {
        let result = answer.message.result().context("no result")?;
        same_but_ours(result, &sent(PRETTY, stage.cell.upstream))?;
    }
    // And up: a client over HTTP may write on several lines to a server that reads them one by one.
    if stage.cell.front == Front::Http {
        let text = "{\n\t\"name\": \"fx__odd\",\r\n \"arguments\": {\n\"marker\" :\n[ 1.0 ]\n}\n}";
        client.send(Request::new("tools/call").raw_params(text)).await?.raw();
        let note = stage.journal.wait("tools/call", "marker").await?;
        let arguments = Members::of(Members::of(Members::of(&note.raw)?.get("params")?)?.get("arguments")?)?;
        same(arguments.get("marker")?, "[ 1.0 ]")?;
        if over_http {
            ensure!(note.raw.contains("{\n\"marker\" :\n[ 1.0 ]\n}"), "{}", note.raw);
        }
    }
    Ok(())
}

pub(crate) async fn a_message_within_a_message_is_none(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.setup().connect().await?;
    for line_end in ["\n", "\r", "\r\n"] {
        let smuggled = r#"{"jsonrpc":"2.0","id":4711,"method":"tools/call","params":{"name":"smuggled"}}"#;
        let text = format!(r#"{{"name":"fx__odd","arguments":{{"a":{line_end}{smuggled}{line_end}}}}}"#);
        let request = Request::new("tools/call").raw_params(&text);
        // Whether there is an answer is told elsewhere; here it matters what the server heard. Over stdio a client
        // that breaks its lines has sent several messages, each of which is judged for itself.
        match stage.cell.front {
            Front::Http => client.send(request).await.map(drop).ok(),
            Front::Stdio => client.begin(request).await.map(drop).ok(),
        };
    }
    client.call("fx__pretty", json!({})).await.ok();
    stage.journal.wait("tools/call", r#""pretty""#).await?;
    for note in stage.journal.of("tools/call") {
        let message = Members::of(&note.raw)?;
        let name = Members::of(message.get("params")?)?.get("name")?.to_owned();
        ensure!(
            message.get("id")? != "4711" && name != "\"smuggled\"",
            "the server heard what nobody judged: {}",
            note.raw
        );
        let breaks = note.headers.is_null() && note.raw.contains(['\n', '\r']);
        ensure!(!breaks, "whoever reads lines would read several: {}", note.raw);
    }
    Ok(())
}

pub(crate) async fn escaped_keys_are_keys(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let answer = client.call("fx__escaped", json!({})).await?;
    let uri = answer.at("/result/content/0/uri");
    ensure!(uri == "fx+odd://thing", "the URI is not one the client can use: {}", answer.raw());
    let wanted = expected(ESCAPED, stage.cell.upstream);
    same_result(stage, answer.message.result().context("no result")?, &wanted)?;
    // The same from the client: a name is a name however it is written.
    let text = r#"{"n\u0061me":"fx__odd","arguments":{"marker":"escaped"}}"#;
    client.send(Request::new("tools/call").raw_params(text).header("mcp-name", "fx__odd")).await?.raw();
    let note = stage.journal.wait("tools/call", "escaped").await?;
    ensure!(!note.raw.contains("fx__"), "{}", note.raw);
    Ok(())
}

pub(crate) async fn names_of_ours_are_ours(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client().await?;
    let answer = client.call("fx__forged", json!({})).await?;
    let meta = answer.at("/result/_meta");
    ensure!(meta.get("a") == Some(&json!(1)), "{}", answer.raw());
    ensure!(
        !answer.raw().contains("forged 1") && !answer.raw().contains("forged 2"),
        "a server spoke in our name: {}",
        answer.raw()
    );
    for list in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        let listed = client.request(list, json!({})).await?;
        ensure!(listed.raw().contains(r#""b" : 1"#), "{}", listed.raw());
        let forged = (3..=7).any(|number| listed.raw().contains(&format!("forged {number}")));
        ensure!(!forged, "a definition spoke in our name: {}", listed.raw());
    }
    let progress = client.send(Request::call("fx__forged", &json!({})).progress(1)).await?;
    let heard = progress.heard("notifications/progress");
    ensure!(heard.len() == 1, "{heard:?}");
    ensure!(
        heard.iter().all(|told| !told.raw().contains("forged 4")),
        "progress spoke in our name: {heard:?}"
    );

    let request = Request::new("tools/call").raw_params(r#"{"name":"fx__odd","arguments":{}}"#);
    let meta = r#""\u0064ev.highwater/decision":"forged 1","dev.highwater/x":"forged 2","com.example/a":1"#;
    client.send(request.raw_meta(meta)).await?;
    let note = stage.journal.wait("tools/call", r#""odd""#).await?;
    ensure!(note.raw.contains(r#""com.example/a":1"#), "{}", note.raw);
    let forged = note.raw.contains("forged 1") || note.raw.contains("forged 2");
    ensure!(!forged, "a client spoke in our name: {}", note.raw);
    Ok(())
}
