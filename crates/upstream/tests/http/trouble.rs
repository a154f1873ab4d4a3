//! Servers that come and go, and answers that are too much.

use highwater_mcp::era::Era;
use highwater_upstream::error::Cause;
use highwater_upstream::{Health, HealthState};
use tokio::sync::mpsc::channel;

use super::support::{ALL, CLIENT, LONG, Speaks, call};

#[tokio::test]
async fn a_restarted_server_is_met_anew_and_the_call_made_once() {
    for speaks in ALL {
        let mut stage = speaks.set().await;
        assert_eq!(stage.text("echo", r#"{"n":1}"#).await, r#"{"n":1}"#);
        stage.restart().await;
        let (reply, _) = stage.call("echo", r#"{"n":2}"#).await;
        // A connection may be found closed only after the call was written to it. Then, and only then, the
        // call may have been executed and is not made again.
        if let Err(error) = reply {
            assert!(error.sent && matches!(error.cause, Cause::Gone(_)), "{speaks:?}: {error}");
            assert_eq!(stage.text("echo", r#"{"n":2}"#).await, r#"{"n":2}"#, "{speaks:?}");
        }
        let made =
            stage.saw().iter().filter(|line| line["raw"].as_str().unwrap().contains(r#"{"n":2}"#)).count();
        // A server that does not know the session refuses the call, and sees it again after the greeting.
        assert!(made <= 2, "{speaks:?}: {made}");
        let Health { state, .. } = stage.upstream.health();
        assert_eq!(state, HealthState::Up, "{speaks:?}");
    }
}

#[tokio::test]
async fn an_answer_that_is_too_large_costs_its_own_call() {
    for speaks in ALL {
        let stage = speaks.set().await;
        let (reply, _) = stage.call("big", r#"{"bytes":3000000}"#).await;
        let error = reply.unwrap_err();
        assert_eq!((error.cause, error.sent), (Cause::TooLarge { limit: 2 << 20 }, true), "{speaks:?}");
        assert_eq!(stage.text("echo", "{}").await, "{}", "{speaks:?}");
        assert_eq!(stage.text("big", r#"{"bytes":2000000}"#).await.len(), 2_000_000);
    }
}

#[tokio::test]
async fn a_server_that_answers_no_more_costs_its_call_and_is_told() {
    for speaks in ALL {
        let stage = speaks.set().await;
        stage.upstream.greet().await.unwrap();
        let (sink, _events) = channel(1);
        let hanging = stage.upstream.perform(call("hang", "{}"), CLIENT, &sink);
        tokio::select! {
            _ = hanging => panic!("it is answered"),
            _ = stage.saw_at_last(|line| line["method"] == "tools/call") => {}
        }
        // Its caller went away.
        stage.saw_at_last(|line| line["method"] == "cancelled").await;
        stage.upstream.shutdown(LONG).await;
        let (reply, _) = stage.call("echo", "{}").await;
        assert_eq!(reply.unwrap_err().cause, Cause::ShuttingDown);
    }
}

#[tokio::test]
async fn a_server_of_both_eras_is_spoken_to_in_the_newer() {
    let stage = Speaks::Both.set().await;
    assert_eq!(stage.upstream.greet().await.unwrap().era, Era::Modern);
    assert_eq!(stage.count("initialize"), 0);
}
