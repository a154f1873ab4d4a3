//! Mandates: calls within what a person signed beforehand run without them, whichever way the client calls the tool, each
//! counted and each with a receipt that names the tool itself. Everything else waits for somebody.

use highwater_notation::{Timestamp, to_iso};
use highwater_testkit::client::{Answer, Client, Era, Request};
use http::Method;
use serde_json::{Value, json};

use crate::rounds::{on, question, receipts, script};
use crate::stage::{BRIEFLY, DELETE, Stage, done, waits};

const VARIANT: &str = "call_tool_destructive";

/// How a client calls a tool.
#[derive(Clone, Copy, Debug)]
enum How {
    ByName,
    ThroughVariant,
}

// === impl How ===

impl How {
    async fn stage(self, change: impl FnOnce(&mut Value)) -> Stage {
        let delegable = |config: &mut Value| {
            config["approvals"]["tools"] = json!({ "files:delete": { "delegable": true } });
            change(config);
        };
        match self {
            Self::ByName => Stage::standing(BRIEFLY, delegable).await,
            Self::ThroughVariant => Stage::searching(BRIEFLY, delegable).await,
        }
    }

    fn request(self, arguments: &Value) -> (&'static str, Value) {
        match self {
            Self::ByName => (DELETE, arguments.clone()),
            Self::ThroughVariant => (VARIANT, json!({ "name": DELETE, "arguments": arguments })),
        }
    }

    async fn call(self, client: &Client, arguments: &Value) -> Answer {
        let (tool, arguments) = self.request(arguments);
        client.send(Request::call(tool, &arguments).once()).await.unwrap()
    }
}

/// A mandate to delete what is below `build/`, so often. Somebody is still asked about the call that this begins with.
async fn sign(stage: &Stage, client: &Client, how: How, calls: u64) -> String {
    sign_for(stage, client, how, &json!({ "path": { "prefix": "build/" } }), calls).await
}

/// A mandate to delete with arguments within these constraints, so often.
async fn sign_for(stage: &Stage, client: &Client, how: How, arguments: &Value, calls: u64) -> String {
    // Who the agent is to the gateway.
    let id = waits(&how.call(client, &json!({ "path": "who" })).await);
    let (_, request) = stage.api(Method::GET, &id, None).await;
    sign_as(stage, &request["principal"], arguments, calls).await;
    id
}

/// The same for the agent of this name.
pub(crate) async fn sign_as(stage: &Stage, agent: &Value, arguments: &Value, calls: u64) {
    let owner = stage.person.with_passkey(&stage.passkey).await;
    let (status, said) = owner.mandate(&terms(agent, arguments, calls), &stage.passkey).await;
    assert_eq!(status, 200, "{said}");
}

/// What is signed: deletions within these constraints, so often, for ten minutes.
pub(crate) fn terms(agent: &Value, arguments: &Value, calls: u64) -> Value {
    let now = u64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    json!({
        "tools": [DELETE], "arguments": arguments, "max_calls": calls,
        "not_before": to_iso(Timestamp(now - 1000)), "expires": to_iso(Timestamp(now + 600_000)),
        "agent": agent,
    })
}

#[tokio::test]
async fn a_mandate_carries_calls_by_name_and_through_a_variant() {
    for how in [How::ByName, How::ThroughVariant] {
        let stage = how.stage(|_| ()).await;
        let client = stage.client(Era::Modern).await;
        sign(&stage, &client, how, 2).await;
        let before = receipts(&stage).await;
        waits(&how.call(&client, &json!({ "path": "elsewhere" })).await);
        waits(&how.call(&client, &json!({ "path": "build/a", "force": true })).await);
        assert_eq!(stage.ran("delete"), 0, "{how:?}");
        for path in ["build/a", "build/b"] {
            done(&how.call(&client, &json!({ "path": path })).await);
            assert_eq!(stage.ran(path), 1, "{how:?}");
        }
        waits(&how.call(&client, &json!({ "path": "build/c" })).await);
        assert_eq!(stage.ran("build/c"), 0, "{how:?}: there were two");
        // Each use has a receipt, of the tool and its own arguments, that keeps within what was signed.
        let (_, found) = stage.api(Method::GET, "receipts", None).await;
        let uses = found["receipts"].as_array().unwrap();
        assert_eq!(uses.len(), before + 2, "{how:?}: {found}");
        let of_tool = uses.iter().filter(|receipt| receipt.to_string().contains(DELETE)).count();
        assert!(of_tool >= 2 && !found.to_string().contains(VARIANT), "{how:?}: {found}");
    }
}

#[tokio::test]
async fn a_mandate_up_to_a_number_carries_no_text_in_its_place() {
    for how in [How::ByName, How::ThroughVariant] {
        let stage = how.stage(|_| ()).await;
        let client = stage.client(Era::Modern).await;
        sign_for(&stage, &client, how, &json!({ "amount": { "min": 0, "max": 50 } }), 5).await;
        for amount in [json!("50"), json!(null), json!(51), json!(-5_000_000)] {
            let answer = how.call(&client, &json!({ "amount": amount })).await;
            assert_eq!(stage.ran("amount"), 0, "{how:?}: {amount} ran");
            waits(&answer);
        }
        done(&how.call(&client, &json!({ "amount": 50 })).await);
        assert_eq!(stage.ran(r#""amount":50"#), 1, "{how:?}");
    }
}

#[tokio::test]
async fn g25_one_use_of_a_mandate_carries_every_round_of_a_call() {
    for how in [How::ByName, How::ThroughVariant] {
        let stage = how
            .stage(|config| {
                let server = &mut config["servers"]["files"];
                server["era"] = json!("modern");
                let file = server["args"][1].as_str().unwrap();
                std::fs::write(file, script("Changes things.").to_string()).unwrap();
            })
            .await;
        let forms = json!({ "elicitation": { "form": {} } });
        let client = stage.setup(Era::Modern).capabilities(forms).connect().await.unwrap();
        sign(&stage, &client, how, 1).await;
        let arguments = json!({ "path": "build/a" });
        let (tool, sent) = how.request(&arguments);
        let one = question(&how.call(&client, &arguments).await);
        let two = question(&client.send(on(tool, &sent, &one)).await.unwrap());
        done(&client.send(on(tool, &sent, &two)).await.unwrap());
        assert_eq!(stage.ran("build/a"), 3, "{how:?}");
        // It was the only one.
        waits(&how.call(&client, &json!({ "path": "build/b" })).await);
    }
}

#[tokio::test]
async fn a_mandate_rests_while_its_signer_is_in_reset_and_ends_with_it() {
    let soon = |config: &mut Value| config["approvals"]["recovery_delay"] = json!("1s");
    let stage = How::ByName.stage(soon).await;
    let client = stage.client(Era::Modern).await;
    sign(&stage, &client, How::ByName, 5).await;
    done(&How::ByName.call(&client, &json!({ "path": "build/a" })).await);
    stage.reset("owner").await;
    How::ByName.call(&client, &json!({ "path": "build/b" })).await;
    assert_eq!(stage.ran("build/b"), 0);
    let owner = json!({ "user": "owner" });
    // It is due after a second.
    while stage.api(Method::POST, "reset/complete", Some(&owner)).await.0 != 200 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    How::ByName.call(&client, &json!({ "path": "build/b" })).await;
    assert_eq!(stage.ran("build/b"), 0, "who signed it has started over");
}
