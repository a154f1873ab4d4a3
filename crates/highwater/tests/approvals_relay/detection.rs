//! What is detected of a server, what a client is shown of it, and what becomes of a challenge on its way (C1 to C7, C10).

use highwater_testkit::client::Era;
use highwater_testkit::client::Request;
use serde_json::{Value, json};

use crate::stage::{CELLS, ERAS, KEY, LOOK, Server, Stage, Upstream, WIPE, done, rejected};

fn of_tool(list: &Value, name: &str) -> Value {
    let tools = list.as_array().unwrap();
    tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{list}")).clone()
}

#[tokio::test]
async fn c01_c03_the_annotation_and_the_capability_are_seen_whatever_stands_beside_them() {
    for (upstream, behind, era) in CELLS {
        let stage = Stage::new(Server::new(upstream, behind)).await;
        let client = stage.native(era).await;
        let list = client.request("tools/list", json!({})).await.unwrap();
        let tool = of_tool(&list.at("/result/tools"), WIPE);
        assert_eq!(tool["_meta"][KEY]["required"], "verified", "{upstream:?} {behind:?} {era:?}");
        assert_eq!(tool["_meta"][KEY]["later"], json!({ "a": [1.5] }), "what we do not know stays");
        let declared = client.greeting().unwrap();
        for key in ["verifiedApproval", "io.modelcontextprotocol~1verified-approval"] {
            let at = format!("/result/capabilities/extensions/{key}");
            assert_eq!(declared.at(&at), json!({}), "{}", declared.raw());
        }
        let issued = stage.challenge(&client, &json!({ "id": "a" })).await;
        assert!(issued.at("/result/challengeId").is_string(), "{}", issued.raw());
    }
}

#[tokio::test]
async fn c02_a_tool_without_the_annotation_is_called_like_any_other() {
    for era in ERAS {
        let stage = Stage::new(Server::default()).await;
        let client = stage.native(era).await;
        done(&client.call(LOOK, json!({})).await.unwrap());
        // Nobody's evidence goes to a server that did not ask for it.
        let evidence = json!({ "method": "webauthn", "challengeId": "ours", "response": {} });
        let call = Request::call(LOOK, &json!({})).meta(KEY, evidence).meta("x.y/kept", 1);
        done(&client.send(call).await.unwrap());
        let note = stage.journal.of("tools/call").pop().unwrap();
        assert!(!note.raw.contains(KEY) && note.raw.contains("x.y/kept"), "{}", note.raw);
        let params = json!({ "toolName": LOOK, "arguments": {} });
        let asked = client.request("approval/challenge/create", params).await.unwrap();
        rejected(&asked, "tool_not_approved_required");
    }
}

#[tokio::test]
async fn c04_an_annotation_without_the_capability_is_logged_and_refused() {
    for (upstream, behind, era) in CELLS {
        let stage = Stage::new(Server { extensions: "{}", ..Server::new(upstream, behind) }).await;
        let client = stage.native(era).await;
        let answer = client.call(WIPE, json!({ "id": "a" })).await.unwrap();
        assert!(answer.is_tool_error(), "{}", answer.raw());
        assert!(answer.text().unwrap().contains("does not declare"), "{}", answer.raw());
        let asked = stage.challenge(&client, &json!({ "id": "a" })).await;
        assert!(asked.error_code().is_some_and(|code| code != -32001), "{}", asked.raw());
        assert!(
            stage.gateway.log().contains("does not declare that it verifies any"),
            "{}",
            stage.gateway.log()
        );
        assert_eq!((stage.called(), stage.journal.of("approval/challenge/create").len()), (0, 0));
    }
}

#[tokio::test]
async fn c05_a_gated_tool_is_not_called_without_a_challenge() {
    for era in ERAS {
        let stage = Stage::new(Server::default()).await;
        let native = stage.native(era).await;
        rejected(&native.call(WIPE, json!({ "id": "a" })).await.unwrap(), "missing_evidence");
        let forged = json!({ "method": "webauthn", "challengeId": "mine", "response": { "id": "AQI" } });
        rejected(&stage.call(&native, &json!({ "id": "a" }), &forged).await, "challenge_unknown");
        assert_eq!(stage.called(), 0, "nothing reached the server");
    }
}

#[tokio::test]
async fn c06_g17_the_challenge_comes_back_as_it_is_with_the_servers_words_marked() {
    for (upstream, behind, era) in CELLS {
        let stage = Stage::new(Server::new(upstream, behind)).await;
        let client = stage.native(era).await;
        let request = Request::new("approval/challenge/create").raw_params(
            r#"{"toolName":"vault__wipe","arguments":{ "n":1.50, "id":"\u0061" },"later":[1.0]}"#,
        );
        let answer = client.send(request).await.unwrap();
        let raw = answer.raw();
        for part in [
            r#""displayText":"Delete for ever: caf\u00e9 \u202e "#,
            r#""timeout":60000.0}"#,
            r#""later":[1.50]"#,
            r#""rpId":"vault.example""#,
        ] {
            assert!(raw.contains(part), "{part} in {raw}");
        }
        let says = answer.at("/result/dev.highwater~1displayText");
        assert_eq!(says, json!({ "heading": "the server says", "server": "vault" }));
        assert_eq!(answer.at("/result/_meta"), Value::Null, "{raw}");
        let complete = if era == Era::Modern { json!("complete") } else { Value::Null };
        assert_eq!(answer.at("/result/resultType"), complete, "{raw}");
        // Only the name was put into the server's words.
        let note = stage.journal.of("approval/challenge/create").pop().unwrap();
        assert!(note.raw.contains(r#""toolName":"wipe""#), "{}", note.raw);
        assert!(
            note.raw.contains(r#""arguments":{ "n":1.50, "id":"\u0061" },"later":[1.0]"#),
            "{}",
            note.raw
        );
    }
}

#[tokio::test]
async fn what_cannot_be_signed_is_no_challenge() {
    let stage = Stage::new(Server::default()).await;
    let client = stage.native(Era::Modern).await;
    for arguments in [r#"{"a":9007199254740993}"#, r#"{"a":1,"A":2}"#, "[1]"] {
        let params = format!(r#"{{"toolName":"{WIPE}","arguments":{arguments}}}"#);
        let answer =
            client.send(Request::new("approval/challenge/create").raw_params(&params)).await.unwrap();
        assert_eq!(answer.error_code(), Some(-32602), "{arguments}: {}", answer.raw());
    }
    let unknown = json!({ "toolName": "vault__nothing", "arguments": {} });
    let unknown = client.request("approval/challenge/create", unknown).await.unwrap();
    rejected(&unknown, "tool_not_approved_required");
    assert!(stage.journal.of("approval/challenge/create").is_empty());
}

#[tokio::test]
async fn s08_where_no_server_verifies_approvals_the_method_is_none() {
    for era in ERAS {
        let server = Server { annotation: "", extensions: "{}", ..Server::new(Upstream::Stdio, Era::Legacy) };
        let stage = Stage::with(server, json!({ "approvals": { "listen": "none" } })).await;
        let client = stage.native(era).await;
        let answer = stage.challenge(&client, &json!({})).await;
        assert_eq!(answer.error_code(), Some(-32601), "{}", answer.raw());
    }
}
