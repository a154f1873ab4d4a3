//! Clients that can send their person to a page.

use std::sync::{Arc, Mutex};

use highwater_testkit::client::{Client, Era, Question, Reply, Request};
use highwater_testkit::wait::until_true;
use http::Method;
use serde_json::{Value, json};

use crate::stage::{BRIEFLY, DELETE, HELD, LOOK, Stage, done, id_of};

fn pages() -> Value {
    json!({ "elicitation": { "url": {} } })
}

/// The first round of a modern call: the address, and the state that must come back.
async fn first_round(client: &Client, arguments: &Value) -> (String, Value) {
    let first = client.send(Request::call(DELETE, arguments).once()).await.unwrap();
    assert_eq!(first.at("/result/resultType"), "input_required", "{}", first.raw());
    let params = first.at("/result/inputRequests/highwater_approval/params");
    assert_eq!(params["mode"], "url");
    assert_eq!(params["message"], "Approve with your passkey: files__delete on files");
    let told = first.at("/result/_meta/io.modelcontextprotocol~1authorization/remediation");
    assert_eq!(told, "available");
    (id_of(&params["url"]), first.at("/result/requestState"))
}

fn retry(arguments: &Value, state: &Value, action: &str) -> Request {
    let answers = json!({ "highwater_approval": { "action": action } });
    let params =
        json!({ "name": DELETE, "arguments": arguments, "inputResponses": answers, "requestState": state });
    Request::new("tools/call").params(params).once()
}

/// How a request stands.
async fn standing(stage: &Stage, id: &str) -> Value {
    stage.api(Method::GET, id, None).await.1["state"].clone()
}

#[tokio::test]
async fn a_modern_client_is_sent_to_the_page_and_its_retry_brings_the_result() {
    let stage = Stage::new(BRIEFLY).await;
    let client = stage.setup(Era::Modern).capabilities(pages()).connect().await.unwrap();
    let arguments = json!({ "path": "a" });
    let (id, state) = first_round(&client, &arguments).await;
    // Whatever is not exactly this call of this client is refused.
    let forged = json!(format!("{}x", state.as_str().unwrap()));
    for (arguments, state) in [(&json!({ "path": "b" }), &state), (&arguments, &forged)] {
        let answer = client.send(retry(arguments, state, "accept")).await.unwrap();
        assert_eq!(answer.error_code(), Some(-32602), "{}", answer.raw());
    }
    // Nothing said: the same question once more.
    let params = json!({ "name": DELETE, "arguments": arguments, "requestState": state });
    let again = client.send(Request::new("tools/call").params(params).once()).await.unwrap();
    assert_eq!(again.at("/result/resultType"), "input_required", "{}", again.raw());
    assert_eq!(stage.ran("delete"), 0);
    // The person agrees to open the page, and signs there while the retry waits.
    let retrying = client.send(retry(&arguments, &state, "accept"));
    let signing = async {
        // Long enough for the retry to run at the server, if it did.
        done(&client.call(LOOK, json!({})).await.unwrap());
        assert_eq!(stage.ran("delete"), 0, "to open the page is not to agree");
        let (status, said) = stage.person.sign(&id, &stage.passkey).await;
        assert_eq!(status, 200, "{said}");
    };
    let (answer, ()) = tokio::join!(retrying, signing);
    done(&answer.unwrap());
    assert_eq!(stage.ran("delete"), 1);
    assert_eq!(standing(&stage, &id).await, "consumed", "it ran on the signature");
    assert_eq!(stage.ran("hw2."), 0, "our state reaches no server");
}

#[tokio::test]
async fn a_person_who_does_not_open_the_page_has_said_no() {
    let stage = Stage::new(BRIEFLY).await;
    let client = stage.setup(Era::Modern).capabilities(pages()).connect().await.unwrap();
    for (place, action) in ["decline", "cancel"].into_iter().enumerate() {
        let arguments = json!({ "path": place });
        let (_, state) = first_round(&client, &arguments).await;
        let answer = client.send(retry(&arguments, &state, action)).await.unwrap();
        assert_eq!(answer.at("/result/isError"), json!(true), "{}", answer.raw());
        assert!(answer.text().unwrap().contains("did not approve"), "{}", answer.raw());
    }
    assert_eq!(stage.ran("delete"), 0);
}

#[tokio::test]
async fn a_client_of_2025_11_25_is_asked_to_open_the_page_while_its_call_is_held() {
    let stage = Stage::new(HELD).await;
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let heard = Arc::clone(&asked);
    let answering = move |question: &Question| {
        heard.lock().unwrap().push(question.json().unwrap());
        Reply::Result(json!({ "action": "accept" }))
    };
    let setup = stage.setup(Era::Legacy).capabilities(pages()).answering(answering);
    let client = setup.connect().await.unwrap();
    let call = client.call(DELETE, json!({ "path": "a" }));
    let other = stage.client(Era::Modern).await;
    let signing = async {
        let request = stage.pending().await;
        until_true("the person has agreed to open the page", || !asked.lock().unwrap().is_empty())
            .await
            .unwrap();
        done(&other.call(LOOK, json!({})).await.unwrap());
        assert_eq!(stage.ran("delete"), 0, "to open the page is not to agree");
        stage.person.sign(request["id"].as_str().unwrap(), &stage.passkey).await
    };
    let (answer, (status, said)) = tokio::join!(call, signing);
    assert_eq!(status, 200, "{said}");
    let answer = answer.unwrap();
    done(&answer);
    assert_eq!(stage.ran("delete"), 1);
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["mode"], "url");
    let id = id_of(&asked[0]["url"]);
    assert_eq!(id, asked[0]["elicitationId"]);
    let complete = answer.heard("notifications/elicitation/complete");
    assert_eq!(complete.len(), 1, "{}", answer.raw());
    assert_eq!(standing(&stage, &id).await, "consumed", "it ran on the signature");
}

#[tokio::test]
async fn a_client_of_2025_11_25_whose_person_declines_to_open_the_page_is_refused() {
    let stage = Stage::new(HELD).await;
    let setup = stage.setup(Era::Legacy).capabilities(pages()).answering(|_| Reply::decline());
    let client = setup.connect().await.unwrap();
    let answer = client.call(DELETE, json!({})).await.unwrap();
    assert_eq!(answer.at("/result/isError"), json!(true), "{}", answer.raw());
    assert!(answer.text().unwrap().contains("did not approve"), "{}", answer.raw());
    assert_eq!(stage.ran("delete"), 0);
}

#[tokio::test]
async fn no_form_ever_serves_a_passkey() {
    for era in [Era::Legacy, Era::Modern] {
        let stage = Stage::new(BRIEFLY).await;
        let yes = |_: &Question| Reply::accept(json!({ "allow": true }));
        let setup = stage.setup(era).capabilities(json!({ "elicitation": { "form": {} } })).answering(yes);
        let client = setup.connect().await.unwrap();
        crate::stage::waits(&client.call(DELETE, json!({})).await.unwrap());
        assert_eq!(stage.ran("delete"), 0);
    }
}
