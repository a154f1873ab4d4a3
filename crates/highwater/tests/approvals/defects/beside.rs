//! What stood beside the arguments of a call that a person had agreed to was neither shown nor signed, and was sent: rows B01
//! to B04, E20, E21, W01 to W03 and W11 of the red team. Read from the server's own journal; whether such a call is refused or
//! made without it is told in `bound`.

use highwater_testkit::client::peer::Journal;
use highwater_testkit::client::{Era, Request};
use serde_json::{Value, json};

use crate::stage::{BRIEFLY, DELETE, HELD, KEY, Stage, WRITE, done, waits};

/// What no person was shown.
const SECRET: &str = "AKIAIOSFODNN7EXAMPLE";

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

/// That the server got nothing but what was shown.
fn nothing_beside_was_sent(stage: &Stage) {
    let journal = Journal::at(stage.gateway.home().path().join("journal.jsonl"));
    for note in journal.of("tools/call") {
        let sent: Value = serde_json::from_str(&note.raw).unwrap();
        let task = sent["params"]["task"].is_object();
        assert!(!note.raw.contains(SECRET) && !task, "the server got what nobody was shown: {}", note.raw);
    }
}

/// B01 to B03, E21, W01 to W03: the identical call collects a yes, so it may say whatever it likes beside that.
#[tokio::test]
async fn nothing_is_sent_that_the_call_which_collects_a_yes_says_beside_it() {
    for tool in [WRITE, DELETE] {
        let stage = Stage::new(BRIEFLY).await;
        let client = stage.client(Era::Modern).await;
        for (number, beside) in BESIDE.into_iter().enumerate() {
            let path = format!("build/{number}");
            let id = waits(&client.call(tool, json!({ "path": path })).await.unwrap());
            let (status, said) = match tool {
                WRITE => stage.person.confirm(&id, None).await,
                _ => stage.person.sign(&id, &stage.passkey).await,
            };
            assert_eq!(status, 200, "{said}");
            client.send(call(tool, &path, beside)).await.unwrap();
            nothing_beside_was_sent(&stage);
        }
    }
}

/// E20: it stood in the call that the person was asked about, and not on the page.
#[tokio::test]
async fn nothing_is_sent_that_a_held_call_says_beside_what_the_page_shows() {
    let stage = Stage::new(HELD).await;
    for beside in BESIDE {
        let client = stage.client(Era::Modern).await;
        let held = client.begin(call(WRITE, "a", beside)).await.unwrap();
        let mut answer = std::pin::pin!(held.answer());
        tokio::select! {
            refused = &mut answer => assert!(refused.unwrap().error_code().is_some()),
            request = stage.pending() => {
                let id = request["id"].as_str().unwrap().to_owned();
                assert_eq!(stage.person.confirm(&id, None).await.0, 200);
                done(&answer.await.unwrap());
            }
        }
        nothing_beside_was_sent(&stage);
    }
}

/// B04: nor with a yes that is remembered.
#[tokio::test]
async fn nothing_is_sent_that_a_call_says_beside_what_is_remembered() {
    let stage = Stage::new(BRIEFLY).await;
    let client = stage.client(Era::Modern).await;
    let id = waits(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
    assert_eq!(stage.person.confirm(&id, Some("session")).await.0, 200);
    done(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
    for beside in BESIDE {
        client.send(call(WRITE, "a", beside)).await.unwrap();
        nothing_beside_was_sent(&stage);
    }
}

/// W11: nor with a signature that the call brings along.
#[tokio::test]
async fn nothing_is_sent_that_a_call_says_beside_what_it_brings_a_signature_for() {
    let stage = Stage::new(BRIEFLY).await;
    let client = stage.native().await;
    for (number, beside) in BESIDE.into_iter().enumerate() {
        let path = format!("build/{number}");
        let evidence = stage.signature(&client, &json!({ "path": path })).await;
        client.send(call(DELETE, &path, beside).meta(KEY, evidence)).await.unwrap();
        nothing_beside_was_sent(&stage);
    }
}
