//! A child that ends in the middle of calls.

use std::time::Duration;

use highwater_testkit::client::Request;
use highwater_testkit::wait::until_true;
use serde_json::json;

use crate::stage::{Stage, TOOLS};

/// Where the process ends. The shortest reply has a hundred bytes.
const FAULTS: [(&str, usize); 10] = [
    ("read", 0),
    ("ran", 0),
    ("cut", 0),
    ("cut", 1),
    ("cut", 20),
    ("cut", 50),
    ("cut", 80),
    ("cut", 90),
    ("shut", 0),
    ("after", 0),
];

#[tokio::test]
async fn whatever_breaks_only_what_is_harmless_twice_is_run_twice() {
    sweep("modern", true).await;
}

#[tokio::test]
async fn the_same_of_a_server_of_the_older_era() {
    sweep("legacy", true).await;
}

#[tokio::test]
async fn a_strangers_word_makes_nothing_harmless() {
    sweep("modern", false).await;
}

#[tokio::test]
async fn nor_does_that_of_a_stranger_of_the_older_era() {
    sweep("legacy", false).await;
}

async fn sweep(era: &str, verified: bool) {
    let (stage, journal) = Stage::of_child(era, verified, json!({})).await;
    let client = stage.client().await;
    for (fault, cut) in FAULTS {
        for (tool, harmless) in TOOLS {
            // A server that has answered is not left alone for a while when it ends. This call may itself meet one that
            // is ending.
            client.call("up__look", json!({ "mark": "well" })).await.unwrap();
            let before = stage.retries().len();
            let repeatable = harmless && verified;
            let mark = format!("{tool}-{fault}-{cut}");
            let arguments = json!({ "mark": mark, "fault": fault, "cut": cut });
            let answer = client.call(&format!("up__{tool}"), arguments).await.unwrap();
            let ran = journal.count(&format!("ended {mark}"));
            let seen = format!("{era} {verified} {mark}: ran {ran} times, {}", answer.raw());
            let answered =
                !answer.is_tool_error() && answer.text().is_ok_and(|text| text == format!("ran {mark}"));
            let ends_before_it_ran = usize::from(fault != "read");
            match fault {
                // The answer was whole.
                "after" => assert!(answered && ran == 1, "{seen}"),
                _ if repeatable => {
                    assert!(answered && ran == 1 + ends_before_it_ran, "{seen}");
                }
                _ => {
                    assert!(!answered && ran == ends_before_it_ran, "{seen}");
                    assert!(answer.text().unwrap().contains("may have taken effect"), "{seen}");
                }
            }
            let expected: &[u64] = if repeatable && fault != "after" { &[2] } else { &[] };
            assert_eq!(stage.retries()[before..], *expected, "on record is what was tried: {seen}");
        }
    }
    assert!(stage.audit("retried").iter().all(|event| event["sent"] == true));
}

#[tokio::test]
async fn a_call_that_finds_its_server_dead_is_made_once_by_the_next_one() {
    let (stage, journal) = Stage::of_child("legacy", true, json!({})).await;
    let client = stage.client().await;
    for round in 0..10 {
        // It ends right after its answer: what is sent next meets it dead, dying or not at all.
        let last = json!({ "mark": format!("last-{round}"), "fault": "after" });
        client.call("up__look", last).await.unwrap();
        tokio::time::sleep(Duration::from_millis(round * 3)).await;
        let mark = format!("next-{round}");
        let answer = client.call("up__add", json!({ "mark": mark })).await.unwrap();
        let ran = journal.count(&format!("ended {mark}"));
        if answer.is_tool_error() {
            assert!(ran <= 1, "{}", answer.raw());
        } else {
            assert_eq!(ran, 1);
        }
    }
}

#[tokio::test]
async fn a_server_that_goes_on_breaking_is_tried_so_many_times_and_no_more() {
    let more = json!({ "retry": { "times": 3, "wait": "1ms" } });
    let (stage, journal) = Stage::of_child("legacy", true, more).await;
    let client = stage.client().await;
    let answer = client.call("up__put", json!({ "mark": "n", "fault": "ran", "times": 2 })).await.unwrap();
    assert_eq!(answer.text().unwrap(), "ran n");
    assert_eq!(journal.count("ended n"), 3);
    let answer = client.call("up__put", json!({ "mark": "m", "fault": "ran", "times": 99 })).await.unwrap();
    assert!(answer.is_tool_error(), "{}", answer.raw());
    assert!(answer.text().unwrap().contains("may have taken effect"));
    assert_eq!(journal.count("ended m"), 4);
    assert_eq!(stage.retries(), [2, 3, 2, 3, 4]);
    let outcomes = stage.audit("outcome");
    assert_eq!(outcomes.len(), 2, "one decision, one outcome, however many attempts: {outcomes:?}");
    let explained = stage
        .gateway
        .home()
        .command("explain")
        .arg(outcomes[1]["id"].as_str().unwrap())
        .output()
        .await
        .unwrap();
    let explained = String::from_utf8(explained.stdout).unwrap();
    let told =
        "sent again, attempt 4: the server ended before it answered (exit code 3); it may have arrived";
    assert!(explained.contains(told), "{explained}");
}

#[tokio::test]
async fn an_operator_can_forbid_it() {
    let (stage, journal) = Stage::of_child("legacy", true, json!({ "retry": { "times": 0 } })).await;
    let client = stage.client().await;
    let answer = client.call("up__look", json!({ "mark": "m", "fault": "ran" })).await.unwrap();
    assert!(answer.is_tool_error(), "{}", answer.raw());
    assert_eq!(journal.count("ended m"), 1);
    assert!(stage.retries().is_empty());
}

#[tokio::test]
async fn an_operators_word_makes_a_tool_harmless_twice() {
    let labels = json!({ "labels": { "raw": { "idempotentHint": true } } });
    let (stage, journal) = Stage::of_child("legacy", false, labels).await;
    let client = stage.client().await;
    let answer = client.call("up__raw", json!({ "mark": "m", "fault": "ran" })).await.unwrap();
    assert_eq!(answer.text().unwrap(), "ran m", "{}", answer.raw());
    assert_eq!(journal.count("ended m"), 2);
}

#[tokio::test]
async fn what_the_client_has_heard_of_is_not_begun_anew() {
    let (stage, journal) = Stage::of_child("legacy", true, json!({})).await;
    let client = stage.client().await;
    let request = Request::call("up__look", &json!({ "mark": "m", "fault": "progress" })).progress("p");
    let answer = client.send(request).await.unwrap();
    assert!(answer.is_tool_error(), "{}", answer.raw());
    assert_eq!(answer.heard("notifications/progress").len(), 1);
    assert_eq!(journal.count("ended m"), 1);
}

#[tokio::test]
async fn a_cancelled_call_is_not_tried_again() {
    let more = json!({ "retry": { "times": 5, "wait": "5s" } });
    let (stage, journal) = Stage::of_child("legacy", true, more).await;
    let client = stage.client().await;
    client.call("up__look", json!({ "mark": "first" })).await.unwrap();
    let doomed = client
        .begin(Request::call("up__put", &json!({ "mark": "m", "fault": "ran", "times": 9 })))
        .await
        .unwrap();
    journal.wait("ended m").await;
    doomed.cancel().await.unwrap();
    drop(doomed);
    until_true("its outcome", || stage.audit("outcome").len() == 2).await.unwrap();
    assert_eq!(stage.audit("outcome")[1]["outcome"], "cancelled");
    // Another one that breaks later waits as long: when it has been tried again, so would the first one.
    let later = client.call("up__put", json!({ "mark": "later", "fault": "ran" })).await.unwrap();
    assert_eq!(later.text().unwrap(), "ran later");
    assert_eq!(journal.count("arrived m"), 1);
    assert_eq!(stage.retries(), [2], "only the later one");
}

#[tokio::test]
async fn all_attempts_share_the_time_of_the_call() {
    let more = json!({ "retry": { "times": 10, "wait": "5s" }, "timeouts": { "call": "5s" } });
    let (stage, journal) = Stage::of_child("legacy", true, more).await;
    let client = stage.client().await;
    client.call("up__look", json!({ "mark": "first" })).await.unwrap();
    let began = std::time::Instant::now();
    let answer = client.call("up__put", json!({ "mark": "m", "fault": "ran", "times": 99 })).await.unwrap();
    assert!(answer.is_tool_error(), "{}", answer.raw());
    assert_eq!(journal.count("arrived m"), 1, "there was no time for another attempt");
    assert!(stage.retries().is_empty());
    // Ten further attempts, each after its pause, would have taken longer.
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
}
