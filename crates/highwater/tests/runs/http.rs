//! A server over HTTP whose connections break at every place.

use highwater_testkit::wait::until_true;
use serde_json::json;

use crate::http_server::{Cut, Faulty, Manner};
use crate::stage::{Stage, TOOLS, home};

#[tokio::test]
async fn wherever_a_connection_breaks_only_what_is_harmless_twice_is_run_twice() {
    sweep(Manner::Modern, true).await;
}

#[tokio::test]
async fn the_same_of_a_server_of_the_older_era() {
    sweep(Manner::Legacy, true).await;
}

#[tokio::test]
async fn the_same_of_a_server_that_answers_with_a_stream() {
    sweep(Manner::ModernStream, true).await;
}

#[tokio::test]
async fn a_strangers_word_makes_nothing_harmless() {
    sweep(Manner::Modern, false).await;
}

/// Cuts the connection of a call of each tool at many places.
async fn sweep(manner: Manner, verified: bool) {
    let server = Faulty::start(manner);
    let stage = Stage::in_home(home(json!({ "url": server.url() }), verified)).await;
    let client = stage.client().await;
    client.call("up__look", json!({ "mark": "a-mark-of-this-length" })).await.unwrap();
    let (request, reply) = server.sizes();
    let cuts = (1..request)
        .step_by(67)
        .map(Cut::Request)
        .chain([Cut::Unrun])
        .chain((0..reply).step_by(29).map(Cut::Reply))
        .chain([Cut::Reply(reply - 1), Cut::Status(502), Cut::Status(504), Cut::After]);
    let mut expected = 0;
    for (number, cut) in cuts.enumerate() {
        for (tool, harmless) in TOOLS {
            let mark = format!("{tool}-{number}");
            server.cut(cut, 1);
            let answer = client.call(&format!("up__{tool}"), json!({ "mark": mark })).await.unwrap();
            server.cut(cut, 0);
            server.cuts_are_over().await;
            let ran = server.count(&format!("ended {mark}"));
            let seen = format!("{manner:?} {verified} {tool} {cut:?}: ran {ran} times, {}", answer.raw());
            let answered =
                !answer.is_tool_error() && answer.text().is_ok_and(|text| text == format!("ran {mark}"));
            let ran_at_first = usize::from(matches!(cut, Cut::Reply(_) | Cut::Status(_) | Cut::After));
            if cut == Cut::After || (answered && ran == 1 && ran_at_first == 1) {
                // The last bytes of a stream are not needed.
                assert!(answered && ran == 1, "{seen}");
            } else if harmless && verified {
                assert!(answered && ran == ran_at_first + 1, "{seen}");
                expected += 1;
            } else {
                assert!(!answered && ran == ran_at_first, "{seen}");
                assert!(answer.text().unwrap().contains("may have taken effect"), "{seen}");
            }
        }
    }
    let retries = stage.retries();
    assert_eq!(retries, vec![2; expected], "every further attempt is on record, and no other");
    assert_eq!(expected > 0, verified);
}

#[tokio::test]
async fn a_connection_that_cannot_be_made_carries_nothing_so_every_call_waits_for_the_next_one() {
    let server = Faulty::start(Manner::Modern);
    let entry = json!({ "url": server.url(), "retry": { "times": 10, "wait": "50ms" } });
    let stage = Stage::in_home(home(entry, true)).await;
    let client = stage.client().await;
    client.call("up__look", json!({ "mark": "first" })).await.unwrap();
    for (tool, _) in TOOLS {
        server.go().await;
        let name = format!("up__{tool}");
        let calling = client.call(&name, json!({ "mark": tool }));
        let before = stage.retries().len();
        let coming = async {
            // It comes back when a second attempt is on record.
            until_true("a second attempt", || stage.retries().len() > before).await.unwrap();
            server.come();
        };
        let (answer, ()) = tokio::join!(calling, coming);
        assert_eq!(answer.unwrap().text().unwrap(), format!("ran {tool}"));
        assert_eq!(server.count(&format!("ended {tool}")), 1);
    }
    assert!(stage.audit("retried").iter().all(|event| event["sent"] == false));
}

#[tokio::test]
async fn a_server_that_stays_away_is_given_up() {
    let server = Faulty::start(Manner::Modern);
    let stage = Stage::in_home(home(json!({ "url": server.url() }), true)).await;
    let client = stage.client().await;
    client.call("up__look", json!({ "mark": "first" })).await.unwrap();
    server.go().await;
    for (tool, _) in TOOLS {
        let answer = client.call(&format!("up__{tool}"), json!({ "mark": tool })).await.unwrap();
        let text = answer.text().unwrap();
        assert!(answer.is_tool_error() && text.contains("nothing was executed"), "{text}");
    }
    assert_eq!(stage.retries(), [2, 3, 2, 3, 2, 3, 2, 3]);
    server.come();
    let answer = client.call("up__add", json!({ "mark": "back" })).await.unwrap();
    assert_eq!(answer.text().unwrap(), "ran back");
}
