//! Clients that can do nothing of it: the call is held, then told to come again.

use highwater_testkit::client::{Client, Request, Setup};
use http::Method;
use serde_json::{Value, json};

use crate::stage::{BRIEFLY, DELETE, ERAS, HELD, Stage, WRITE, done, waits};

#[tokio::test]
async fn g19_s07_a_call_without_a_signature_waits_and_the_identical_one_finds_the_answer() {
    for era in ERAS {
        let stage = Stage::new(BRIEFLY).await;
        let client = stage.client(era).await;
        let id = waits(&client.call(DELETE, json!({ "path": "a" })).await.unwrap());
        assert_eq!(waits(&client.call(DELETE, json!({ "path": "a" })).await.unwrap()), id, "it joins");
        let (status, said) = stage.person.sign(&id, &stage.passkey).await;
        assert_eq!((status, &said["state"]), (200, &json!("approved")), "{said}");
        assert_eq!(stage.ran("delete"), 0, "an approval does nothing by itself");
        // Another call is another question.
        let other = waits(&client.call(DELETE, json!({ "path": "b" })).await.unwrap());
        assert_ne!(other, id);
        done(&client.call(DELETE, json!({ "path": "a" })).await.unwrap());
        assert_eq!(stage.ran("delete"), 1);
        // It is used up.
        assert_ne!(waits(&client.call(DELETE, json!({ "path": "a" })).await.unwrap()), id);
        assert_eq!(stage.ran("delete"), 1);
    }
}

#[tokio::test]
async fn g27_a_held_call_runs_in_the_bytes_that_were_signed_when_the_person_has_signed() {
    for era in ERAS {
        let stage = Stage::new(HELD).await;
        let client = stage.client(era).await;
        let params = r#"{"name":"files__delete","arguments":{ "z" : 1.0, "a":"x" }}"#;
        let call = client.send(Request::new("tools/call").raw_params(params));
        let answering = async {
            let request = stage.pending().await;
            assert_eq!(request["arguments"], r#"{"a":"x","z":1}"#, "{request}");
            assert_eq!(request["kind"], "passkey");
            let (status, said) = stage.person.sign(request["id"].as_str().unwrap(), &stage.passkey).await;
            assert_eq!(status, 200, "{said}");
        };
        let (answer, ()) = tokio::join!(call, answering);
        done(&answer.unwrap());
        assert_eq!(stage.ran(r#""arguments":{"a":"x","z":1}"#), 1);
        let (_, receipts) = stage.api(Method::GET, "receipts", None).await;
        let receipt = &receipts["receipts"][0];
        assert_eq!(
            (&receipt["toolName"], &receipt["canonicalArguments"]),
            (&json!(DELETE), &json!(r#"{"a":"x","z":1}"#))
        );
    }
}

#[tokio::test]
async fn a_caller_who_has_gone_gets_nothing_done_and_the_next_one_does() {
    for era in ERAS {
        let stage = Stage::new(HELD).await;
        let client = stage.client(era).await;
        let pending = client.begin(Request::call(DELETE, &json!({ "path": "a" }))).await.unwrap();
        let request = stage.pending().await;
        drop(pending);
        drop(client);
        stage.gateway.abandoned().await.unwrap();
        let (status, said) = stage.person.sign(request["id"].as_str().unwrap(), &stage.passkey).await;
        assert_eq!(status, 200, "{said}");
        assert_eq!(stage.ran("delete"), 0, "{era:?}: {}", stage.gateway.log());
        // A signature is for one call: if the first caller's had run on it, this one would be asked again.
        let client = stage.client(era).await;
        done(&client.call(DELETE, json!({ "path": "a" })).await.unwrap());
        assert_eq!(stage.ran("delete"), 1);
    }
}

#[tokio::test]
async fn a_no_ends_the_call_and_holds() {
    let stage = Stage::new(HELD).await;
    let client = stage.client(ERAS[0]).await;
    let call = client.call(DELETE, json!({}));
    let declining = async {
        let request = stage.pending().await;
        let path = format!("{}/deny", request["id"].as_str().unwrap());
        let (status, said) = stage.api(Method::POST, &path, Some(&json!({ "person": "ada" }))).await;
        assert_eq!((status, &said["changed"]), (200, &json!(true)));
    };
    let (answer, ()) = tokio::join!(call, declining);
    for answer in [answer.unwrap(), client.call(DELETE, json!({})).await.unwrap()] {
        assert_eq!(answer.at("/result/isError"), json!(true), "{}", answer.raw());
        assert!(answer.text().unwrap().contains("did not approve"), "{}", answer.raw());
    }
    assert_eq!(stage.ran("delete"), 0);
}

#[tokio::test]
async fn a_button_is_enough_where_no_passkey_is_asked_for_and_is_remembered_as_the_person_says() {
    let stage = Stage::new(BRIEFLY).await;
    let client = stage.client(ERAS[1]).await;
    let id = waits(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
    let (status, said) = stage.person.confirm(&id, Some("tool-with-targets")).await;
    assert_eq!((status, &said["state"]), (200, &json!("approved")), "{said}");
    done(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
    done(&client.call(WRITE, json!({ "path": "a" })).await.unwrap());
    assert_eq!(stage.ran("write"), 2, "the second rests on what is remembered");
    waits(&client.call(WRITE, json!({ "path": "b" })).await.unwrap());
    // A button answers no passkey.
    let id = waits(&client.call(DELETE, json!({})).await.unwrap());
    assert_ne!(stage.person.confirm(&id, None).await.0, 200);
    assert_eq!((stage.ran("write"), stage.ran("delete")), (2, 0));
}

#[tokio::test]
async fn what_has_no_tool_result_is_refused_with_the_address() {
    let stage = Stage::new(BRIEFLY).await;
    let client = stage.client(ERAS[1]).await;
    let uri = client.request("resources/list", json!({})).await.unwrap().at("/result/resources/0/uri");
    let answer = client.request("resources/read", json!({ "uri": uri })).await.unwrap();
    assert_eq!(answer.error_code(), Some(403_101), "{}", answer.raw());
    let id = crate::stage::id_of(&answer.at("/error/data/approvalUrl"));
    assert_eq!(stage.person.confirm(&id, None).await.0, 200);
    let answer = client.request("resources/read", json!({ "uri": uri })).await.unwrap();
    assert!(answer.error_code().is_none(), "{}", answer.raw());
}

#[tokio::test]
async fn a_client_that_wants_progress_hears_that_its_call_waits() {
    let stage = Stage::new(HELD).await;
    let client = stage.client(ERAS[0]).await;
    let held = client.begin(Request::call(DELETE, &json!({})).progress("p1")).await.unwrap();
    let heard = client.next_notification("notifications/progress").await.unwrap();
    let id = stage.pending().await["id"].as_str().unwrap().to_owned();
    assert!(heard.raw().contains(&id), "{}", heard.raw());
    assert!(held.is_unanswered(), "it waits");
}

#[tokio::test]
async fn g16_what_is_called_through_a_variant_is_signed_as_the_client_called_it() {
    let stage = Stage::searching(BRIEFLY, |_| ()).await;
    let client = stage.client(ERAS[1]).await;
    let list = client.request("tools/list", json!({})).await.unwrap();
    let tools = list.at("/result/tools");
    let gate = |name: &str| {
        let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        tool["_meta"]["io.modelcontextprotocol/verified-approval"]["mode"].clone()
    };
    assert_eq!(gate("call_tool_destructive"), "conditional", "{}", list.raw());
    let call = json!({ "name": DELETE, "arguments": { "path": "a" } });
    let id = waits(&client.call("call_tool_destructive", call.clone()).await.unwrap());
    let (_, request) = stage.api(Method::GET, &id, None).await;
    assert_eq!(request["tool"], "call_tool_destructive");
    assert_eq!(request["arguments"], r#"{"arguments":{"path":"a"},"name":"files__delete"}"#);
    let (status, said) = stage.person.sign(&id, &stage.passkey).await;
    assert_eq!(status, 200, "{said}");
    done(&client.call("call_tool_destructive", call).await.unwrap());
    assert_eq!(stage.ran(r#""arguments":{"path":"a"}"#), 1);
}

/// A client in a conversation of its own.
async fn in_context(stage: &Stage) -> Client {
    let url = stage.gateway.endpoint().replace("/mcp", "/api/v1/contexts");
    let person = Setup::http(&url).token(stage.gateway.operator_token()).connect_silently().await.unwrap();
    let made = person.exchange(Method::POST, r#"{"note":"a test"}"#, &[]).await.unwrap();
    let made: Value = serde_json::from_str(&made.body).unwrap();
    let url = format!("{}/c/{}", stage.gateway.endpoint(), made["id"].as_str().unwrap());
    let setup = Setup::http(&url).era(ERAS[1]).token(stage.gateway.agent_token()).without_stream();
    setup.connect().await.unwrap()
}

/// E23: another conversation of the same token collected it.
async fn is_collected_by_whoever_asked(tool: &str) {
    let stage = Stage::new("50ms").await;
    let (one, other) = (in_context(&stage).await, in_context(&stage).await);
    let call = async |client: &Client| client.call(tool, json!({ "path": "a" })).await.unwrap();
    let id = waits(&call(&one).await);
    let agreed = match tool {
        WRITE => stage.person.confirm(&id, None).await,
        _ => stage.person.sign(&id, &stage.passkey).await,
    };
    assert_eq!(agreed.0, 200, "{}", agreed.1);
    let answer = call(&other).await;
    let own = tool.strip_prefix("files__").unwrap();
    assert_eq!(stage.ran(own), 0, "another conversation collected it: {}", answer.raw());
    let theirs = waits(&answer);
    assert_ne!(theirs, id, "it asks for itself");
    done(&call(&one).await);
    assert_eq!(waits(&call(&other).await), theirs);
    assert_eq!(stage.ran(own), 1);
}

#[tokio::test]
async fn e23_a_yes_is_collected_by_the_conversation_that_asked_and_by_no_other() {
    is_collected_by_whoever_asked(WRITE).await;
}

#[tokio::test]
async fn e23_a_signature_is_collected_by_the_conversation_that_asked_and_by_no_other() {
    is_collected_by_whoever_asked(DELETE).await;
}
