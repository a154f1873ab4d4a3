//! What changes between a person's yes and the call: the tool (G16), and what is found about the call (G21).

use highwater_testkit::client::Request;
use serde_json::json;

use crate::stage::{BRIEFLY, DELETE, ERAS, HELD, KEY, READ, Stage, done, waits};

const OTHERWISE: &str = "Changes everything.";

#[tokio::test]
async fn g16_a_tool_that_changed_after_it_was_signed_for_does_not_run_on_that_signature() {
    let stage = Stage::new(BRIEFLY).await;
    let client = stage.native().await;
    let arguments = json!({ "path": "a" });
    let before = stage.signature(&client, &arguments).await;
    stage.pull(&client, OTHERWISE).await;
    let answer = client.send(Request::call(DELETE, &arguments).meta(KEY, before)).await.unwrap();
    assert_eq!(answer.error_code(), Some(-32001), "{}", answer.raw());
    assert_eq!(answer.at("/error/data/reason"), "challenge_wrong_tool", "{}", answer.raw());
    assert_eq!(stage.ran("delete"), 0);
    let after = stage.signature(&client, &arguments).await;
    done(&client.send(Request::call(DELETE, &arguments).meta(KEY, after)).await.unwrap());
    assert_eq!(stage.ran("delete"), 1);
}

#[tokio::test]
async fn g16_a_tool_that_changed_after_its_approval_does_not_run_on_it() {
    for era in ERAS {
        let stage = Stage::new(BRIEFLY).await;
        let client = stage.client(era).await;
        let arguments = json!({ "path": "a" });
        let id = waits(&client.call(DELETE, arguments.clone()).await.unwrap());
        assert_eq!(stage.person.sign(&id, &stage.passkey).await.0, 200);
        stage.pull(&client, OTHERWISE).await;
        let answer = client.call(DELETE, arguments.clone()).await.unwrap();
        assert!(answer.is_tool_error(), "{}", answer.raw());
        assert_eq!(stage.ran("delete"), 0);
        // The tool as it is now is another question.
        let another = waits(&client.call(DELETE, arguments.clone()).await.unwrap());
        assert_ne!(another, id);
        assert_eq!(stage.person.sign(&another, &stage.passkey).await.0, 200);
        done(&client.call(DELETE, arguments).await.unwrap());
        assert_eq!(stage.ran("delete"), 1);
    }
}

#[tokio::test]
async fn g16_a_tool_that_changed_while_its_call_was_held_does_not_run() {
    for era in ERAS {
        let stage = Stage::new(HELD).await;
        let (client, other) = (stage.client(era).await, stage.client(era).await);
        let call = client.call(DELETE, json!({ "path": "a" }));
        let signing = async {
            let request = stage.pending().await;
            stage.pull(&other, OTHERWISE).await;
            // The page may say already that this is over.
            stage.person.sign(request["id"].as_str().unwrap(), &stage.passkey).await.0
        };
        let (answer, status) = tokio::join!(call, signing);
        let answer = answer.unwrap();
        assert!(answer.is_tool_error(), "{era:?} {status}: {}", answer.raw());
        assert_eq!(stage.ran("delete"), 0);
    }
}

#[tokio::test]
async fn g21_an_approval_does_not_answer_what_was_not_shown() {
    let rule = json!({
        "name": "nothing-after-reading", "effect": "passkey",
        "when": { "tool.name": "delete", "session.sources": { "contains": "user" } },
    });
    for era in ERAS {
        let stage = Stage::standing(BRIEFLY, |config| {
            config["rules"].as_array_mut().unwrap().push(rule.clone());
        })
        .await;
        let client = stage.client(era).await;
        let arguments = json!({ "path": "a" });
        let id = waits(&client.call(DELETE, arguments.clone()).await.unwrap());
        assert_eq!(stage.person.sign(&id, &stage.passkey).await.0, 200);
        done(&client.call(READ, json!({})).await.unwrap());
        let another = waits(&client.call(DELETE, arguments.clone()).await.unwrap());
        assert_ne!(another, id, "what was read since has another rule ask, which nobody was shown");
        assert_eq!(stage.ran("delete"), 0);
        let (_, request) = stage.api(http::Method::GET, &another, None).await;
        assert!(request["asks"].to_string().contains("nothing-after-reading"), "{request}");
        assert_eq!(stage.person.sign(&another, &stage.passkey).await.0, 200);
        done(&client.call(DELETE, arguments).await.unwrap());
        assert_eq!(stage.ran("delete"), 1);
    }
}
