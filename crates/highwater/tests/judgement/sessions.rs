//! Which session a call belongs to: as wide as needed, as narrow as a person allows.

use highwater_testkit::client::gateway::Gateway;
use highwater_testkit::client::{Client, Era, Request, Setup};
use http::Method;
use serde_json::{Value, json};

use crate::stage::{ACT, LOOK, STRANGE, Stage, done, refused};

async fn in_context(gateway: &Gateway, context: &str) -> Client {
    let url = format!("{}/c/{context}", gateway.endpoint());
    let setup = Setup::http(&url).era(Era::Modern).token(gateway.agent_token()).without_stream();
    setup.connect().await.unwrap()
}

#[tokio::test]
async fn a_context_that_was_made_here_has_a_label_of_its_own_and_no_other_exists() {
    let stage = Stage::new(json!({})).await;
    let plain = stage.client(Era::Modern).await;
    done(&plain.call(STRANGE, json!({})).await.unwrap());
    let (status, made) =
        stage.api(Method::POST, "/api/v1/contexts", Some(&json!({ "note": "a test" }))).await;
    assert_eq!(status, 201, "{made}");
    let fresh = in_context(&stage.gateway, made["id"].as_str().unwrap()).await;
    done(&fresh.call(ACT, json!({})).await.unwrap());
    refused(&plain.call(ACT, json!({})).await.unwrap(), "undisclosed");
    let url = format!("{}/c/made-up", stage.gateway.endpoint());
    let unknown = Setup::http(&url).era(Era::Modern).token(stage.gateway.agent_token());
    assert!(unknown.connect().await.is_err(), "nobody makes up a context");
}

#[tokio::test]
async fn a_host_that_opens_a_session_for_every_call_shares_one_label() {
    let stage = Stage::new(json!({})).await;
    for tool in [STRANGE, LOOK, LOOK, LOOK] {
        let client = stage.client(Era::Legacy).await;
        done(&client.call(tool, json!({})).await.unwrap());
        client.close().await.unwrap();
    }
    let client = stage.client(Era::Legacy).await;
    refused(&client.call(ACT, json!({})).await.unwrap(), "undisclosed");
}

#[tokio::test]
async fn conversations_are_told_apart_where_the_operator_says_so() {
    for (partition, apart) in [("auto", false), ("session", true), ("principal", false)] {
        let stage = Stage::new(json!({ "partition": partition })).await;
        let doubtful = stage.client(Era::Legacy).await;
        done(&doubtful.call(LOOK, json!({})).await.unwrap());
        done(&doubtful.call(STRANGE, json!({})).await.unwrap());
        let other = stage.client(Era::Legacy).await;
        let answer = other.call(ACT, json!({})).await.unwrap();
        match apart {
            true => done(&answer),
            false => refused(&answer, "undisclosed"),
        }
    }
}

#[tokio::test]
async fn ids_that_a_client_chose_count_only_where_the_operator_says_so() {
    let call = |tool: &str, id: &str| Request::call(tool, &json!({})).meta("clientSessionId", id);
    for (partition, apart) in [("auto", false), ("client", true)] {
        for era in crate::stage::ERAS {
            let stage = Stage::new(json!({ "partition": partition })).await;
            let client = stage.client(era).await;
            done(&client.send(call(STRANGE, "one")).await.unwrap());
            let answer = client.send(call(ACT, "two")).await.unwrap();
            match apart {
                true => done(&answer),
                false => refused(&answer, "undisclosed"),
            }
            refused(&client.send(call(ACT, "one")).await.unwrap(), "undisclosed");
            let seen = stage.journal.of("tools/call");
            assert!(seen.iter().all(|note| !note.raw.contains("clientSessionId")), "it is for us alone");
        }
    }
}

#[tokio::test]
async fn a_person_with_a_reason_and_the_operators_token_begins_anew() {
    let stage = Stage::new(json!({})).await;
    let client = stage.client(Era::Modern).await;
    done(&client.call(STRANGE, json!({})).await.unwrap());
    let session = stage.session("presumed").await;
    let key = session["key"].as_str().unwrap().replace('/', "%2F");
    let path = format!("/api/v1/sessions/{key}/reset");
    let reset = |body: Value| (Method::POST, path.clone(), body);

    let (method, at, body) = reset(json!({ "reason": "I read it all" }));
    let (status, _) = stage.api_with(stage.gateway.agent_token(), method, &at, Some(&body)).await;
    assert_eq!(status, 401, "no agent lowers its own label");
    let (method, at, body) = reset(json!({ "reason": " " }));
    assert_eq!(stage.api(method, &at, Some(&body)).await.0, 400);
    let (method, at, body) = reset(json!({ "reason": "too late", "epoch": 7 }));
    assert_eq!(stage.api(method, &at, Some(&body)).await.0, 409);
    refused(&client.call(ACT, json!({})).await.unwrap(), "undisclosed");

    let (method, at, body) = reset(json!({ "reason": "a new conversation", "person": "ada" }));
    let (status, state) = stage.api(method, &at, Some(&body)).await;
    assert_eq!((status, &state["epoch"]), (200, &json!(1)), "{state}");
    done(&client.call(ACT, json!({})).await.unwrap());
    let (_, shown) = stage.api(Method::GET, &format!("/api/v1/sessions/{key}"), None).await;
    let record = &shown["declassifications"][0];
    assert_eq!(
        (&record["person"], &record["reason"]),
        (&json!("ada"), &json!("a new conversation")),
        "{shown}"
    );
}
