//! After a silence: what was read is asked about once where it would have mattered, and goes by a person's word alone.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use highwater_testkit::client::{Answer, Client, Era};
use highwater_testkit::port::ReservedPort;
use highwater_testkit::wait::until;
use http::Method;
use serde_json::{Value, json};

use crate::person::Person;
use crate::stage::{ACT, ERAS, LOOK, PRIVATE, SEND, STRANGE, Stage, done};

/// A gateway with a page, for which a short silence is a long one.
struct Scene {
    stage: Stage,
    person: Person,
    calls: AtomicUsize,
    _port: ReservedPort,
}

/// Longer than the quiet time of a scene.
async fn silence() {
    tokio::time::sleep(Duration::from_millis(2_000)).await;
}

impl Scene {
    async fn new(flow: &str) -> Self {
        let port = ReservedPort::new().unwrap();
        let approvals = json!({
            "listen": format!("localhost:{}", port.get()), "open_browser": false, "notify": false, "hold": "60s",
        });
        let stage =
            Stage::new(json!({ "flow": flow, "sessions": { "quiet": "1s" }, "approvals": approvals })).await;
        let origin = format!("http://localhost:{}", port.get());
        let person = Person::operator(&origin, stage.gateway.operator_token()).await;
        Self { stage, person, calls: AtomicUsize::new(0), _port: port }
    }

    /// The one request that waits, once there is one.
    async fn asked(&self) -> Value {
        let asked = until("somebody is asked", async || {
            let (_, list) = self.stage.api(Method::GET, "/api/v1/approvals", None).await;
            let [one] = list.as_array()?.as_slice() else { return None };
            Some(one.clone())
        });
        asked.await.unwrap_or_else(|error| panic!("{error:#}: {}", self.stage.gateway.log()))
    }

    /// Makes a call, and answers its question.
    async fn answering(&self, client: &Client, tool: &str, act: &str) -> (Answer, Value) {
        // Another call each time: a no to one is remembered for a while.
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let call = client.call(tool, json!({ "number": number }));
        let answering = async {
            let request = self.asked().await;
            let id = request["id"].as_str().unwrap();
            let body = if act == "confirm" { json!({ "remember": null }) } else { json!({}) };
            let (status, said) = self.person.post(&format!("/approve/{id}/{act}"), &body).await;
            assert_eq!(status, 200, "{said}");
            request
        };
        let (answer, request) = tokio::join!(call, answering);
        (answer.unwrap(), request)
    }

    async fn waiting(&self) -> usize {
        let (_, list) = self.stage.api(Method::GET, "/api/v1/approvals", None).await;
        list.as_array().unwrap().len()
    }

    async fn conversation(&self) -> Value {
        self.stage.session("presumed").await
    }
}

#[tokio::test]
async fn a_new_conversation_begins_clean_by_one_yes_and_is_asked_about_once() {
    for era in ERAS {
        let scene = Scene::new("balanced").await;
        let client = scene.stage.client(era).await;
        done(&client.call(STRANGE, json!({})).await.unwrap());
        silence().await;
        // Nothing is asked until it would have mattered.
        done(&client.call(LOOK, json!({})).await.unwrap());
        assert_eq!(scene.waiting().await, 0);
        assert!(scene.conversation().await["pending"].is_object());
        let (answer, request) = scene.answering(&client, ACT, "new-conversation").await;
        done(&answer);
        let conversation = &request["conversation"];
        assert_eq!(conversation["matters"], "asks", "{request}");
        assert!(conversation["earlier"]["labels"].to_string().contains("integrity:none"), "{request}");
        assert!(conversation["restsOn"].as_str().unwrap().starts_with("presumed: "), "{request}");
        // It has taken in what came since, and nothing of before.
        let now = scene.conversation().await;
        assert_eq!((&now["pending"], &now["label"]["sources"]), (&Value::Null, &json!(["system"])), "{now}");
        assert_eq!(scene.stage.runs(ACT), 1);
    }
}

#[tokio::test]
async fn any_other_answer_says_that_it_is_the_same_conversation() {
    for era in ERAS {
        let scene = Scene::new("balanced").await;
        let client = scene.stage.client(era).await;
        done(&client.call(STRANGE, json!({})).await.unwrap());
        silence().await;
        let (answer, _) = scene.answering(&client, ACT, "confirm").await;
        done(&answer);
        let now = scene.conversation().await;
        let read = now["label"]["sources"].to_string();
        assert!(now["pending"].is_null() && read.contains("untrustedPublic"), "{now}");
        // A no says the same.
        silence().await;
        let (answer, _) = scene.answering(&client, SEND, "decline").await;
        assert!(answer.is_tool_error(), "{}", answer.raw());
        let now = scene.conversation().await;
        let read = now["label"]["sources"].to_string();
        assert!(now["pending"].is_null() && read.contains("untrustedPublic"), "{now}");
        assert_eq!(scene.stage.runs(SEND), 0);
    }
}

#[tokio::test]
async fn where_it_would_have_been_refused_the_one_question_is_whether_it_is_new() {
    let scene = Scene::new("strict").await;
    let client = scene.stage.client(Era::Legacy).await;
    done(&client.call(PRIVATE, json!({})).await.unwrap());
    silence().await;
    // `strict` refuses to send what is private to the public, whoever agrees.
    let call = client.call(SEND, json!({}));
    let answering = async {
        let request = scene.asked().await;
        assert_eq!(request["conversation"]["matters"], "blocks", "{request}");
        let id = request["id"].as_str().unwrap();
        let (status, said) = scene.person.confirm(id, None).await;
        assert_eq!(
            (status, &said["reason"]),
            (409, &json!("needs_word")),
            "a yes to the call answers nothing"
        );
        let (status, said) = scene.person.post(&format!("/approve/{id}/decline"), &json!({})).await;
        assert_eq!(status, 200, "{said}");
    };
    let (answer, ()) = tokio::join!(call, answering);
    assert!(answer.unwrap().is_tool_error());
    // It is the same conversation, so from now on it is refused and nobody is asked.
    assert!(client.call(SEND, json!({ "again": true })).await.unwrap().is_tool_error());
    assert_eq!((scene.waiting().await, scene.stage.runs(SEND)), (0, 0));
    silence().await;
    // The tool answers with an error of its own.
    scene.answering(&client, SEND, "new-conversation").await;
    assert_eq!(scene.stage.runs(SEND), 1);
}

#[tokio::test]
async fn the_old_id_is_never_clean() {
    let scene = Scene::new("balanced").await;
    let old = scene.stage.client(Era::Legacy).await;
    done(&old.call(STRANGE, json!({})).await.unwrap());
    silence().await;
    let new = scene.stage.client(Era::Legacy).await;
    let (answer, _) = scene.answering(&new, ACT, "new-conversation").await;
    done(&answer);
    let (answer, request) = scene.answering(&old, ACT, "decline").await;
    assert!(answer.is_tool_error(), "{}", answer.raw());
    assert!(request["labels"].to_string().contains("integrity:none"), "{request}");
    assert_eq!(scene.stage.runs(ACT), 1);
}

#[tokio::test]
async fn what_is_pending_survives_a_restart_and_silence_upon_silence() {
    let mut scene = Scene::new("balanced").await;
    let client = scene.stage.client(Era::Modern).await;
    done(&client.call(STRANGE, json!({})).await.unwrap());
    for _ in 0..2 {
        silence().await;
        done(&scene.stage.client(Era::Modern).await.call(LOOK, json!({})).await.unwrap());
        scene.stage.gateway.kill().await.unwrap();
        scene.stage.gateway.restart().await.unwrap();
    }
    silence().await;
    done(&scene.stage.client(Era::Legacy).await.call(LOOK, json!({})).await.unwrap());
    let now = scene.conversation().await;
    assert!(now["pending"]["label"].to_string().contains("none"), "{now}");
}

#[tokio::test]
async fn every_question_of_a_presumed_conversation_offers_it() {
    let scene = Scene::new("balanced").await;
    let client = scene.stage.client(Era::Legacy).await;
    done(&client.call(STRANGE, json!({})).await.unwrap());
    // No silence: the label is its own, and a person may say all the same that this is a new conversation.
    let (answer, request) = scene.answering(&client, ACT, "new-conversation").await;
    done(&answer);
    assert_eq!(request["conversation"]["matters"], "no", "{request}");
    assert!(
        request["conversation"]["restsOn"].as_str().unwrap().contains("a transport session of"),
        "{request}"
    );
    let shown = scene.conversation().await;
    let key = shown["key"].as_str().unwrap().replace('/', "%2F");
    let (_, shown) = scene.stage.api(Method::GET, &format!("/api/v1/sessions/{key}"), None).await;
    let record = &shown["declassifications"][0];
    assert_eq!(record["person"], "operator page", "{shown}");
    assert!(record["reason"].as_str().unwrap().contains("this is a new conversation"), "{shown}");
}
