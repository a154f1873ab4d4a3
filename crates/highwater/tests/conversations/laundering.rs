//! Ways in which a conversation might lose what it has read, each within the quiet time: in no mode does it.

use std::time::Duration;

use highwater_testkit::client::{Answer, Client, Era};
use serde_json::{Value, json};

use crate::stage::{ACT, ERAS, LOOK, SEND, STRANGE, Stage, done};

/// The modes that stop anything.
const MODES: [&str; 2] = ["balanced", "strict"];

async fn stage(mode: &str, more: Value) -> Stage {
    let mut config = json!({ "flow": mode });
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Stage::new(config).await
}

/// The conversation reads a stranger's text.
async fn reads(client: &Client) {
    done(&client.call(LOOK, json!({})).await.unwrap());
    done(&client.call(STRANGE, json!({})).await.unwrap());
}

fn stopped(answer: &Answer) {
    assert!(
        answer.is_tool_error() && answer.raw().contains("insufficient_authorization"),
        "{}",
        answer.raw()
    );
}

/// What was read is still known: acting inside and sending outside are stopped.
async fn remembers(stage: &Stage, client: &Client) {
    let ran = (stage.runs(ACT), stage.runs(SEND));
    stopped(&client.call(ACT, json!({})).await.unwrap());
    stopped(&client.call(SEND, json!({})).await.unwrap());
    assert_eq!((stage.runs(ACT), stage.runs(SEND)), ran);
}

#[tokio::test]
async fn a_conversation_that_has_read_nothing_acts() {
    for mode in MODES {
        for era in ERAS {
            let stage = stage(mode, json!({})).await;
            done(&stage.client(era).await.call(ACT, json!({})).await.unwrap());
        }
    }
}

#[tokio::test]
async fn a_restart_does_not_end_it() {
    for mode in MODES {
        for (before, after) in
            [(Era::Legacy, Era::Legacy), (Era::Modern, Era::Modern), (Era::Modern, Era::Legacy)]
        {
            let mut stage = stage(mode, json!({})).await;
            reads(&stage.client(before).await).await;
            stage.gateway.stop().await.unwrap();
            stage.gateway.restart().await.unwrap();
            remembers(&stage, &stage.client(after).await).await;
        }
    }
}

#[tokio::test]
async fn kill_9_does_not_end_it() {
    for mode in MODES {
        for era in ERAS {
            let mut stage = stage(mode, json!({})).await;
            reads(&stage.client(era).await).await;
            stage.gateway.kill().await.unwrap();
            stage.gateway.restart().await.unwrap();
            remembers(&stage, &stage.client(era).await).await;
        }
    }
}

#[tokio::test]
async fn a_session_that_was_silent_is_put_away_and_the_next_one_remembers() {
    for mode in MODES {
        let stage = stage(mode, json!({ "limits": { "session_idle": "1s" } })).await;
        let client = stage.client(Era::Legacy).await;
        reads(&client).await;
        // Silent sessions are looked for every ten seconds.
        tokio::time::sleep(Duration::from_secs(13)).await;
        remembers(&stage, &stage.client(Era::Legacy).await).await;
        // The old id is known still, and is no cleaner.
        remembers(&stage, &client).await;
    }
}

#[tokio::test]
async fn a_host_that_starts_its_stdio_client_again_goes_on() {
    for mode in MODES {
        for era in ERAS {
            let stage = stage(mode, json!({})).await;
            let first = stage.gateway.stdio(era).connect().await.unwrap();
            reads(&first).await;
            first.close().await.unwrap();
            let second = stage.gateway.stdio(era).connect().await.unwrap();
            remembers(&stage, &second).await;
        }
    }
}

#[tokio::test]
async fn a_change_of_era_does_not_end_it() {
    for mode in MODES {
        for (before, after) in [(Era::Legacy, Era::Modern), (Era::Modern, Era::Legacy)] {
            let stage = stage(mode, json!({})).await;
            reads(&stage.client(before).await).await;
            remembers(&stage, &stage.client(after).await).await;
        }
    }
}

#[tokio::test]
async fn a_second_session_beside_it_shares_its_label_both_ways() {
    for mode in MODES {
        let stage = stage(mode, json!({})).await;
        let (a, b) = (stage.client(Era::Legacy).await, stage.client(Era::Legacy).await);
        done(&a.call(LOOK, json!({})).await.unwrap());
        done(&b.call(LOOK, json!({})).await.unwrap());
        reads(&a).await;
        remembers(&stage, &b).await;
        remembers(&stage, &a).await;
    }
}

#[tokio::test]
async fn a_session_that_its_client_ends_leaves_its_label_to_the_next() {
    for mode in MODES {
        let stage = stage(mode, json!({})).await;
        let first = stage.client(Era::Legacy).await;
        reads(&first).await;
        first.close().await.unwrap();
        remembers(&stage, &stage.client(Era::Legacy).await).await;
    }
}

#[tokio::test]
async fn reading_here_and_acting_there_is_noticed_in_every_round() {
    let stage = stage("strict", json!({})).await;
    for _ in 0..8 {
        let (a, b) = (stage.client(Era::Legacy).await, stage.client(Era::Legacy).await);
        reads(&a).await;
        remembers(&stage, &b).await;
    }
}

#[tokio::test]
async fn a_host_with_a_session_for_every_call_is_one_conversation() {
    let stage = stage("balanced", json!({})).await;
    for tool in [STRANGE, LOOK, LOOK] {
        let client = stage.client(Era::Legacy).await;
        done(&client.call(tool, json!({})).await.unwrap());
        client.close().await.unwrap();
    }
    remembers(&stage, &stage.client(Era::Legacy).await).await;
}
