//! Twenty days of the same work on one data directory: the last days ask no more than the first.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use highwater_testkit::client::{Client, Era, Question, Reply};
use serde_json::json;

use crate::stage::{ACT, LOOK, PRIVATE, STRANGE, Stage, done};

const DAYS: usize = 20;

/// A client whose person says yes, and counts.
async fn asked(stage: &Stage, era: Era, count: &Arc<Mutex<usize>>) -> Client {
    let counted = Arc::clone(count);
    let answering = move |question: &Question| {
        assert_eq!(question.method, "elicitation/create");
        *counted.lock().unwrap() += 1;
        Reply::accept(json!({ "allow": true }))
    };
    let setup = stage.setup(era).capabilities(json!({ "elicitation": { "form": {} } }));
    setup.answering(answering).connect().await.unwrap()
}

#[tokio::test]
async fn twenty_days_ask_no_more_at_their_end_than_at_their_beginning() {
    let mut stage = Stage::new(json!({ "sessions": { "quiet": "400ms" } })).await;
    let mut questions = Vec::new();
    for day in 0..DAYS {
        let count = Arc::default();
        let client = asked(&stage, if day % 2 == 0 { Era::Legacy } else { Era::Modern }, &count).await;
        // Local work is no question, whatever was read the day before.
        for tool in [LOOK, PRIVATE, LOOK] {
            done(&client.call(tool, json!({})).await.unwrap());
        }
        assert_eq!(*count.lock().unwrap(), 0, "day {day}");
        done(&client.call(STRANGE, json!({})).await.unwrap());
        done(&client.call(ACT, json!({ "day": day })).await.unwrap());
        questions.push(*count.lock().unwrap());
        tokio::time::sleep(Duration::from_millis(700)).await;
        if day % 5 == 4 {
            stage.gateway.kill().await.unwrap();
            stage.gateway.restart().await.unwrap();
        }
    }
    let (first, last): (usize, usize) = (questions[..5].iter().sum(), questions[DAYS - 5..].iter().sum());
    assert!(last <= first && first == 5, "{questions:?}");
}
