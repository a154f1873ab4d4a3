//! What a yes binds beside calls of a tool by its name: calls through a variant, resources, and what a client says of its
//! context.

use highwater_testkit::client::peer::Journal;
use highwater_testkit::client::{Era, Request};
use serde_json::{Value, json};

use super::extras::{EXTRAS, Extra, Fate, PLAIN, SECRET, Wanted};
use super::scene::{Scene, declared};
use crate::rounds::nobody_is_asked;
use crate::stage::{DELETE, ERAS, READ, Stage, done, id_of, waits};

fn wanted(tool: &str, row: &str) -> Wanted {
    Wanted { tool: tool.to_owned(), arguments: json!({ "path": format!("build/{row}") }) }
}

/// What a client says its context came from is in the session's label, which verified servers are told of. It is in words
/// of the client's, so what a person agreed to goes out without it.
#[tokio::test]
async fn where_a_context_came_from_is_not_said_with_what_a_person_agreed_to() {
    for (client_era, server) in ERAS.into_iter().flat_map(|client| ERAS.map(|server| (client, server))) {
        let mut scene = Scene::new(server, "50ms", false, |_| ()).await;
        let client = scene.stage.setup(client_era).capabilities(declared(json!({}))).connect().await.unwrap();
        let sources = json!({ "attribution": [format!("https://x.example/{SECRET}")] });
        let call = |tool: &str| wanted(tool, "plain").call(&PLAIN, "").meta("annotations", sources.clone());
        done(&client.send(call(READ)).await.unwrap());
        assert!(scene.sent()[0].contains(SECRET), "a call that no person was asked about says it");
        let id = waits(&client.send(call(DELETE)).await.unwrap());
        assert_eq!(scene.stage.person.sign(&id, &scene.stage.passkey).await.0, 200);
        let answer = client.send(call(DELETE)).await.unwrap();
        scene.done_as_shown(&client, &answer, &wanted(DELETE, "plain"), &PLAIN);
    }
}

/// What is called through a variant, and what is read, is bound as a call by name is.
#[tokio::test]
async fn what_is_called_through_a_variant_is_sent_as_it_was_shown() {
    let stage = Stage::searching("50ms", |_| ()).await;
    let mut scene = Scene::of(stage, Era::Legacy, false);
    let client = scene.stage.client(Era::Modern).await;
    for extra in &EXTRAS {
        let wanted = wanted(DELETE, extra.name);
        let arguments = json!({ "name": DELETE, "arguments": wanted.arguments });
        let through = |extra: &Extra| {
            let more = if extra.params.is_empty() { String::new() } else { format!(",{}", extra.params) };
            let params = format!(r#"{{"name":"call_tool_destructive","arguments":{arguments}{more}}}"#);
            Request::new("tools/call").raw_params(&params).raw_meta(extra.meta).once()
        };
        if let Fate::Refused(path) = extra.fate {
            scene.refused(&client, &client.send(through(extra)).await.unwrap(), path).await;
            continue;
        }
        let id = waits(&client.send(through(&PLAIN)).await.unwrap());
        assert_eq!(scene.stage.person.sign(&id, &scene.stage.passkey).await.0, 200);
        scene.done_as_shown(&client, &client.send(through(extra)).await.unwrap(), &wanted, extra);
    }
}

#[tokio::test]
async fn what_is_read_after_a_confirmation_is_asked_for_as_it_was_shown() {
    let stage = Stage::new("50ms").await;
    let client = stage.client(Era::Modern).await;
    let uri = client.request("resources/list", json!({})).await.unwrap().at("/result/resources/0/uri");
    let journal = Journal::at(stage.gateway.home().path().join("journal.jsonl"));
    for (times, extra) in EXTRAS.iter().filter(|extra| extra.params.is_empty()).enumerate() {
        let read =
            || Request::new("resources/read").params(json!({ "uri": uri })).raw_meta(extra.meta).once();
        let told = client.send(read()).await.unwrap();
        let id = id_of(&told.at("/error/data/approvalUrl"));
        assert_eq!(stage.person.confirm(&id, None).await.0, 200);
        assert!(client.send(read()).await.unwrap().error_code().is_none());
        let sent = journal.of("resources/read");
        assert_eq!(sent.len(), times + 1, "{}", extra.name);
        let raw = &sent[times].raw;
        let params = &serde_json::from_str::<Value>(raw).unwrap()["params"];
        assert_eq!(params["uri"], "file:///a", "{raw}");
        let mut meta = params["_meta"].as_object().cloned().unwrap_or_default();
        meta.remove("progressToken");
        // What it read was not the server's own.
        meta.remove("annotations")
            .inspect(|said| assert_eq!(said, &json!({ "openWorldHint": true }), "{raw}"));
        assert_eq!(meta.remove("traceparent").is_some(), extra.fate == Fate::Sent, "{raw}");
        assert!(meta.is_empty() && params.as_object().unwrap().len() <= 2, "{}: {raw}", extra.name);
    }
    let ran = journal.of("resources/read").len();
    for (key, path) in [("recipient", "/params/recipient"), ("requestState", "/params/requestState")] {
        let mut params = json!({ "uri": uri });
        params[key] = json!(SECRET);
        let answer = client.send(Request::new("resources/read").params(params).once()).await.unwrap();
        assert_eq!(answer.at("/error/data/path"), path, "{}", answer.raw());
    }
    nobody_is_asked(&stage).await;
    assert_eq!(journal.of("resources/read").len(), ran);
}
