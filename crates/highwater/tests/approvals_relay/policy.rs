//! The server's gate beside our own policy: neither stands in for the other, and what a client cannot carry it is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use highwater_testkit::client::{Era, Reply, Request};
use serde_json::json;

use crate::stage::{ERAS, KEY, Server, Stage, WIPE, done, rejected};

#[tokio::test]
async fn g17_a_client_that_cannot_carry_the_approval_is_told_what_to_do() {
    for era in ERAS {
        let stage = Stage::new(Server::default()).await;
        let client = stage.setup(era).connect().await.unwrap();
        let answer = client.call(WIPE, json!({ "id": "a" })).await.unwrap();
        assert!(answer.is_tool_error(), "{}", answer.raw());
        let text = answer.text().unwrap();
        for part in ["SEP-2672", "`vault`", "no approval given to Highwater can take its place"] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(stage.called(), 0);
        // A connection that has asked for a challenge can carry it (G19); a request of the modern era says so itself.
        stage.challenge(&client, &json!({ "id": "a" })).await;
        let answer = client.call(WIPE, json!({ "id": "a" })).await.unwrap();
        match era {
            Era::Legacy => rejected(&answer, "missing_evidence"),
            Era::Modern => assert!(answer.text().unwrap().contains("SEP-2672"), "{}", answer.raw()),
        }
        let native = stage.native(era).await;
        rejected(&native.call(WIPE, json!({ "id": "a" })).await.unwrap(), "missing_evidence");
    }
}

#[tokio::test]
async fn g17_a_block_of_ours_stands_whatever_was_signed() {
    let rule =
        json!({ "name": "never", "effect": "block", "when": { "tool.id": WIPE, "arguments.id": "secret" } });
    for era in ERAS {
        let stage = Stage::with(Server::default(), json!({ "flow": "balanced", "rules": [rule] })).await;
        let client = stage.native(era).await;
        let refused = stage.challenge(&client, &json!({ "id": "secret" })).await;
        assert!(refused.error_code().is_some_and(|code| code != -32001), "{}", refused.raw());
        assert!(stage.journal.of("approval/challenge/create").is_empty(), "the arguments stayed here");
        let evidence = stage.signed(&client, &json!({ "id": "abc" })).await;
        let answer = stage.call(&client, &json!({ "id": "secret" }), &evidence).await;
        assert!(
            answer.is_tool_error() && answer.text().unwrap().contains("not permitted"),
            "{}",
            answer.raw()
        );
        assert_eq!(stage.called(), 0);
    }
}

#[tokio::test]
async fn a_caller_who_may_not_call_the_tool_gets_no_challenge_for_it() {
    let stage = Stage::new(Server::default()).await;
    let grant = json!({ "permissions": ["call_tool_read"], "servers": ["*"] });
    let secret = stage.token("reader", grant).await;
    for era in ERAS {
        let client = stage.setup(era).token(&secret).connect().await.unwrap();
        let answer = stage.challenge(&client, &json!({ "id": "a" })).await;
        assert!(
            answer.error_code().is_some() && answer.raw().contains("call_tool_destructive"),
            "{}",
            answer.raw()
        );
        let call = client.call(WIPE, json!({ "id": "a" })).await.unwrap();
        assert!(call.raw().contains("call_tool_destructive"), "{}", call.raw());
    }
    assert!(stage.journal.of("approval/challenge/create").is_empty());
}

#[tokio::test]
async fn what_was_relayed_is_on_record() {
    let stage = Stage::new(Server::default()).await;
    let client = stage.native(Era::Modern).await;
    let arguments = json!({ "id": "abc" });
    let evidence = stage.signed(&client, &arguments).await;
    let answer = client.send(Request::call(WIPE, &arguments).meta(KEY, evidence)).await.unwrap();
    done(&answer);
    let decision = answer.at("/result/_meta/dev.highwater~1decision/id");
    let told =
        stage.gateway.home().command("explain").arg(decision.as_str().unwrap()).output().await.unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("itself verifies the approval"), "{told}");
}

#[tokio::test]
async fn g17_what_our_policy_asks_is_asked_before_the_server_is_called() {
    for era in ERAS {
        for (answer, runs) in [(json!({ "allow": true }), 1), (json!({ "allow": false }), 0)] {
            // The operator wants a person to look as well, whatever the server verifies.
            let stage = Stage::labelled(json!({ "wipe": { "approval": "confirm" } })).await;
            let asked = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&asked);
            let client = stage
                .setup(era)
                .capabilities(json!({ "elicitation": { "form": {} } }))
                .answering(move |_| {
                    count.fetch_add(1, Ordering::Relaxed);
                    Reply::accept(answer.clone())
                })
                .connect()
                .await
                .unwrap();
            let arguments = json!({ "id": "abc" });
            let evidence = stage.signed(&client, &arguments).await;
            assert_eq!(asked.load(Ordering::Relaxed), 0, "asking for a challenge decides nothing");
            let answer = stage.call(&client, &arguments, &evidence).await;
            assert_eq!(asked.load(Ordering::Relaxed), 1, "{}", answer.raw());
            assert_eq!(answer.is_tool_error(), runs == 0, "{}", answer.raw());
            assert_eq!(stage.executed().len(), runs, "{era:?}");
            // What they said no to was never sent, so the server's approval is still good for a call they agree to.
            let again = stage.call(&client, &arguments, &evidence).await;
            if runs == 1 {
                rejected(&again, "challenge_consumed");
            }
            assert_eq!(stage.called(), runs);
        }
    }
}

/// A rule fires on the challenge, since the arguments leave with it, and on the call. The person saw both in the one.
#[tokio::test]
async fn g17_a_rule_of_ours_asks_once_for_a_challenge_and_its_call() {
    let rule = json!({ "name": "look-closely", "effect": "confirm", "when": { "tool.id": WIPE } });
    for label in [json!({}), json!({ "approval": "confirm" })] {
        let stage = Stage::ruled(json!([rule]), label).await;
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let client = stage
            .setup(Era::Legacy)
            .capabilities(json!({ "elicitation": { "form": {} } }))
            .answering(move |_| {
                let allow = count.fetch_add(1, Ordering::Relaxed) < 2;
                Reply::accept(json!({ "allow": allow }))
            })
            .connect()
            .await
            .unwrap();
        let arguments = json!({ "id": "abc" });
        let evidence = stage.signed(&client, &arguments).await;
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        done(&stage.call(&client, &arguments, &evidence).await);
        assert_eq!((asked.load(Ordering::Relaxed), stage.executed().len()), (1, 1));
        // What was agreed to is used up with its challenge: the next challenge asks, and a no to it stays one.
        rejected(&stage.call(&client, &arguments, &evidence).await, "challenge_consumed");
        let evidence = stage.signed(&client, &json!({ "id": "b" })).await;
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        rejected(&stage.call(&client, &arguments, &evidence).await, "argument_hash_mismatch");
        let refused = stage.challenge(&client, &json!({ "id": "c" })).await;
        assert!(refused.error_code().is_some(), "{}", refused.raw());
        assert_eq!((asked.load(Ordering::Relaxed), stage.executed().len()), (3, 1));
        assert_eq!(stage.journal.of("approval/challenge/create").len(), 2);
    }
}
