//! A reply that a person must see first: its call has run, and it stays here until they have answered on the page. A
//! client that can send its person there fetches it once.

use highwater_testkit::client::{Answer, Client, Era, Request};
use http::Method;
use serde_json::{Value, json};

use crate::stage::{BRIEFLY, LOOK, Stage, done, id_of};

/// What the server answers.
const REPLY: &str = "done";

async fn stage(effect: &str) -> (Stage, Client) {
    let rule = json!({ "name": "replies", "phase": "result", "effect": effect, "when": { "tool.id": LOOK } });
    let stage = Stage::standing(BRIEFLY, |config| config["rules"] = json!([rule])).await;
    let pages = json!({ "elicitation": { "url": {} } });
    let client = stage.setup(Era::Modern).capabilities(pages).connect().await.unwrap();
    (stage, client)
}

/// The first round: the id of the request and the state that must come back. Nothing of the reply is in it.
async fn first_round(client: &Client, arguments: &Value) -> (String, Value) {
    let first = client.send(Request::call(LOOK, arguments).once()).await.unwrap();
    still_asks(&first);
    let params = first.at("/result/inputRequests/highwater_approval/params");
    assert_eq!(params["message"], "Let the agent read a reply, or withhold it: files__look on files");
    (id_of(&params["url"]), first.at("/result/requestState"))
}

fn still_asks(answer: &Answer) {
    assert_eq!(answer.at("/result/resultType"), "input_required", "{}", answer.raw());
    assert_eq!(answer.at("/result/inputRequests/highwater_approval/params/mode"), "url");
    assert!(!answer.raw().contains(REPLY), "{}", answer.raw());
}

fn retry(arguments: &Value, state: &Value, action: Option<&str>) -> Request {
    let mut params = json!({ "name": LOOK, "arguments": arguments, "requestState": state });
    if let Some(action) = action {
        params["inputResponses"] = json!({ "highwater_approval": { "action": action } });
    }
    Request::new("tools/call").params(params).once()
}

fn withheld(answer: &Answer) {
    assert_eq!(answer.at("/result/isError"), json!(true), "{}", answer.raw());
    assert!(!answer.raw().contains(&format!("\"{REPLY}\"")), "{}", answer.raw());
}

#[tokio::test]
async fn a_reply_is_fetched_once_after_a_person_has_agreed_on_the_page() {
    for effect in ["confirm", "passkey"] {
        let (stage, client) = stage(effect).await;
        let arguments = json!({ "n": 1 });
        let (id, state) = first_round(&client, &arguments).await;
        assert_eq!(stage.ran("look"), 1, "the call has run");
        let (_, shown) = stage.api(Method::GET, &id, None).await;
        assert_eq!(
            (&shown["tool"], &shown["kind"]),
            (&json!("highwater/release"), &json!(effect)),
            "{shown}"
        );
        still_asks(&client.send(retry(&arguments, &state, None)).await.unwrap());
        // Whatever is not exactly this call is refused, and takes nothing.
        let other = client.send(retry(&json!({ "n": 2 }), &state, Some("accept"))).await.unwrap();
        assert_eq!(other.error_code(), Some(-32602), "{}", other.raw());
        let (status, said) = match effect {
            "confirm" => stage.person.confirm(&id, None).await,
            _ => stage.person.sign(&id, &stage.passkey).await,
        };
        assert_eq!(status, 200, "{said}");
        let answer = client.send(retry(&arguments, &state, Some("accept"))).await.unwrap();
        done(&answer);
        assert_eq!(answer.text().unwrap(), REPLY);
        let again = client.send(retry(&arguments, &state, Some("accept"))).await.unwrap();
        withheld(&again);
        assert!(again.text().unwrap().contains("expired"), "{}", again.raw());
        assert_eq!(stage.ran("look"), 1, "it is run once, whatever is asked");
    }
}

#[tokio::test]
async fn a_reply_that_nobody_agrees_to_stays_here() {
    let (stage, client) = stage("confirm").await;
    for (place, action) in ["decline", "cancel"].into_iter().enumerate() {
        let arguments = json!({ "n": place });
        let (_, state) = first_round(&client, &arguments).await;
        withheld(&client.send(retry(&arguments, &state, Some(action))).await.unwrap());
    }
    // A no on the page is one as well, and so is the end of the gateway's memory of it.
    let arguments = json!({ "n": "page" });
    let (id, state) = first_round(&client, &arguments).await;
    let (status, said) = stage.api(Method::POST, &format!("{id}/deny"), Some(&json!({}))).await;
    assert_eq!(status, 200, "{said}");
    withheld(&client.send(retry(&arguments, &state, Some("accept"))).await.unwrap());
    assert_eq!(stage.ran("look"), 3);
}
