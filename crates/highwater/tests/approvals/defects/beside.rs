//! What stood beside the arguments of a call that a person had agreed to was neither shown nor signed, and was sent: rows B01
//! to B04, E20, E21, W01 to W03 and W11 of the red team. Read from the server's own journal; whether such a call is refused or
//! made without it is told in `bound`.

use std::path::Path;

use highwater_testkit::client::peer::Journal;
use highwater_testkit::client::{Era, Request};
use serde_json::{Value, json};

use crate::stage::{BRIEFLY, DELETE, HELD, KEY, READ, Stage, WRITE, done, script, waits};

/// What no person was shown.
const SECRET: &str = "AKIAIOSFODNN7EXAMPLE";

/// Brings credentials.
const KEYS: &str = "files__keys";

/// Members of `params` and of `_meta`, as text.
const BESIDE: [(&str, &str); 3] = [
    (r#","recipient":"AKIAIOSFODNN7EXAMPLE""#, ""),
    ("", r#""x.example/note":"AKIAIOSFODNN7EXAMPLE""#),
    (r#","task":{"ttl":60000}"#, ""),
];

/// The call of a tool with something beside its arguments.
fn call(tool: &str, path: &str, (params, meta): (&str, &str)) -> Request {
    let params = format!(r#"{{"name":"{tool}","arguments":{{"path":"{path}"}}{params}}}"#);
    Request::new("tools/call").raw_params(&params).raw_meta(meta).once()
}

/// What the server got that nobody was shown.
fn unseen(stage: &Stage) -> Vec<String> {
    let journal = Journal::at(stage.gateway.home().path().join("journal.jsonl"));
    let mut notes = journal.of("tools/call");
    notes.retain(|note| {
        let sent: Value = serde_json::from_str(&note.raw).unwrap();
        note.raw.contains(SECRET) || sent["params"]["task"].is_object()
    });
    notes.into_iter().map(|note| note.raw).collect()
}

fn nothing_beside_was_sent(stage: &Stage) {
    let unseen = unseen(stage);
    assert!(unseen.is_empty(), "the server got what nobody was shown: {unseen:#?}");
}

/// What the server says where writing is public and is made for nobody's data.
fn publishing() -> Value {
    let mut said = script("Changes things.");
    let listed = &mut said["tools/list"][0];
    let reply: Value = serde_json::from_str(&listed.as_str().unwrap().replace("$ID", "0")).unwrap();
    let mut tools = reply["result"]["tools"].as_array().unwrap().clone();
    let own = |tools: &[Value], name: &str| tools.iter().position(|tool| tool["name"] == name).unwrap();
    let write = own(&tools, "write");
    tools[write]["annotations"]["inputMetadata"]["destination"] = json!("public");
    tools[write]["annotations"]["inputMetadata"]["sensitivity"] = json!("none");
    let mut keys = tools[own(&tools, "read")].clone();
    keys["name"] = json!("keys");
    keys["annotations"]["returnMetadata"]["sensitivity"] = json!("credentials");
    tools.push(keys);
    let result = json!({ "tools": tools });
    *listed = json!(format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#));
    said
}

/// Somebody agrees to a call as it is shown.
async fn agreed(stage: &Stage, tool: &str, id: &str) {
    let (status, said) = match tool {
        DELETE => stage.person.sign(id, &stage.passkey).await,
        _ => stage.person.confirm(id, None).await,
    };
    assert_eq!(status, 200, "{said}");
}

/// The identical call collects a yes, so it may say whatever it likes beside that.
async fn collected(tool: &str) {
    let stage = Stage::new(BRIEFLY).await;
    let client = stage.client(Era::Modern).await;
    for (number, beside) in BESIDE.into_iter().enumerate() {
        let path = format!("build/{number}");
        let id = waits(&client.call(tool, json!({ "path": path })).await.unwrap());
        agreed(&stage, tool, &id).await;
        client.send(call(tool, &path, beside)).await.unwrap();
    }
    nothing_beside_was_sent(&stage);
}

/// E21.
#[tokio::test]
async fn e21_nothing_is_sent_that_the_call_which_collects_a_yes_says_beside_it() {
    collected(WRITE).await;
}

/// W01 to W03.
#[tokio::test]
async fn w01_w02_w03_nothing_is_sent_that_the_call_which_collects_a_signature_says_beside_it() {
    collected(DELETE).await;
}

/// B01 to B03: the yes answered for the flow of data, too, so that credentials that the agent read after it went out to the
/// public beside the arguments.
#[tokio::test]
async fn b01_b02_b03_nothing_is_sent_beside_a_yes_of_what_was_read_after_it() {
    let mut sent = Vec::new();
    for beside in BESIDE {
        let stage = Stage::standing(BRIEFLY, |config| {
            let server = &mut config["servers"]["files"];
            server["labels"] = json!({});
            let file = Path::new(server["args"][1].as_str().unwrap()).to_owned();
            std::fs::write(file, publishing().to_string()).unwrap();
        })
        .await;
        let client = stage.client(Era::Legacy).await;
        done(&client.call(READ, json!({})).await.unwrap());
        let id = waits(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
        agreed(&stage, WRITE, &id).await;
        done(&client.call(KEYS, json!({})).await.unwrap());
        client.send(call(WRITE, "a", beside)).await.unwrap();
        sent.extend(unseen(&stage));
    }
    assert!(sent.is_empty(), "the public got what nobody was shown: {sent:#?}");
}

/// E20: it stood in the call that the person was asked about, and not on the page.
#[tokio::test]
async fn e20_nothing_is_sent_that_a_held_call_says_beside_what_the_page_shows() {
    let stage = Stage::new(HELD).await;
    for beside in BESIDE {
        let client = stage.client(Era::Modern).await;
        let held = client.begin(call(WRITE, "a", beside)).await.unwrap();
        let mut answer = std::pin::pin!(held.answer());
        tokio::select! {
            refused = &mut answer => assert!(refused.unwrap().error_code().is_some()),
            request = stage.pending() => {
                agreed(&stage, WRITE, request["id"].as_str().unwrap()).await;
                done(&answer.await.unwrap());
            }
        }
    }
    nothing_beside_was_sent(&stage);
}

/// B04: nor with a yes that is remembered.
#[tokio::test]
async fn b04_nothing_is_sent_that_a_call_says_beside_what_is_remembered() {
    let stage = Stage::new(BRIEFLY).await;
    let client = stage.client(Era::Modern).await;
    let id = waits(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
    assert_eq!(stage.person.confirm(&id, Some("session")).await.0, 200);
    done(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
    for beside in BESIDE {
        client.send(call(WRITE, "a", beside)).await.unwrap();
    }
    nothing_beside_was_sent(&stage);
}

/// W11: nor with a signature that the call brings along.
#[tokio::test]
async fn w11_nothing_is_sent_that_a_call_says_beside_what_it_brings_a_signature_for() {
    let stage = Stage::new(BRIEFLY).await;
    let client = stage.native().await;
    for (number, beside) in BESIDE.into_iter().enumerate() {
        let path = format!("build/{number}");
        let evidence = stage.signature(&client, &json!({ "path": path })).await;
        client.send(call(DELETE, &path, beside).meta(KEY, evidence)).await.unwrap();
    }
    nothing_beside_was_sent(&stage);
}
