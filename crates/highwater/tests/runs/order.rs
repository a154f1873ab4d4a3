//! Reads run side by side, writes one after another where the operator wants them to.

use highwater_testkit::client::gateway::Home;
use highwater_testkit::client::{Client, Era, Request};
use highwater_testkit::wait::until_true;
use serde_json::{Value, json};

use crate::http_server::{Faulty, Manner};
use crate::stage::{PROGRAM, Stage, child, configure, home};

const MANY: usize = 12;

/// What a call brings that waits until the server lets it go on.
fn held() -> Value {
    json!({ "held": true })
}

#[tokio::test]
async fn reads_overlap_and_ordered_writes_do_not() {
    let server = Faulty::start(Manner::Modern);
    let stage = Stage::in_home(home(json!({ "url": server.url(), "writes": "ordered" }), true)).await;
    let client = stage.client().await;
    overlap(&server, &client, "look").await;

    let before = server.notes().len();
    server.hold();
    let mut writes = Vec::new();
    for number in 0..MANY {
        let tool = ["put", "add", "raw"][number % 3];
        writes.push(begin(&client, tool, &format!("w{number:02}"), held()).await);
        // Over HTTP each call has a connection of its own: only what is on record first has come first.
        let decisions = MANY + number + 1;
        until_true("its decision", || stage.audit("decision").len() >= decisions).await.unwrap();
    }
    // Nobody who only looks waits for those who write.
    let looked = client.call("up__look", json!({ "mark": "between" })).await.unwrap();
    assert_eq!(looked.text().unwrap(), "ran between");
    let done_by_then = server.notes().iter().filter(|note| note.starts_with("ended w")).count();
    assert_eq!(done_by_then, 0, "the read came while writes were waiting");
    server.release();
    for (mark, write) in writes {
        assert_eq!(write.answer().await.unwrap().text().unwrap(), format!("ran {mark}"));
    }
    let notes: Vec<String> =
        server.notes()[before..].iter().filter(|note| !note.ends_with("between")).cloned().collect();
    let expected: Vec<String> =
        (0..MANY).flat_map(|number| [format!("began w{number:02}"), format!("ended w{number:02}")]).collect();
    assert_eq!(notes, expected);
}

#[tokio::test]
async fn without_the_setting_writes_overlap_too() {
    let server = Faulty::start(Manner::Modern);
    let stage = Stage::in_home(home(json!({ "url": server.url() }), true)).await;
    overlap(&server, &stage.client().await, "add").await;
}

#[tokio::test]
async fn writes_over_one_pipe_keep_the_order_of_the_pipe() {
    for era in [Era::Legacy, Era::Modern] {
        let home = Home::new(PROGRAM, "servers: {}\n").unwrap();
        let (mut entry, journal) = child(home.path(), "legacy");
        entry["writes"] = json!("ordered");
        configure(&home, entry, true);
        let client = home.stdio(era).connect().await.unwrap();
        client.call("up__look", json!({ "mark": "first" })).await.unwrap();
        let mut writes = Vec::new();
        for number in 0..60 {
            writes.push(begin(&client, "add", &format!("w{number:02}"), json!({ "ms": 1 })).await);
        }
        for (mark, write) in writes {
            assert_eq!(write.answer().await.unwrap().text().unwrap(), format!("ran {mark}"));
        }
        let began: Vec<String> = journal
            .lines()
            .iter()
            .filter_map(|line| line.strip_prefix("began w").map(str::to_owned))
            .collect();
        assert_eq!(began, (0..60).map(|number| format!("{number:02}")).collect::<Vec<_>>(), "{era:?}");
        let notes: Vec<String> = journal.lines();
        assert_eq!(most_at_once(&notes), 1, "{notes:?}");
    }
}

#[tokio::test]
async fn a_writer_that_gives_up_its_turn_holds_nobody_up() {
    let server = Faulty::start(Manner::Modern);
    let stage = Stage::in_home(home(json!({ "url": server.url(), "writes": "ordered" }), true)).await;
    let client = stage.client().await;
    let (_, first) = begin(&client, "add", "first", held()).await;
    until_true("the first", || server.count("began first") > 0).await.unwrap();
    let (_, second) = begin(&client, "add", "second", json!({})).await;
    until_true("the second", || stage.audit("decision").len() >= 2).await.unwrap();
    let (_, third) = begin(&client, "add", "third", json!({})).await;
    second.cancel().await.unwrap();
    drop(second);
    // The first one's turn ends when the second has given up its own.
    until_true("the second is given up", || !stage.audit("outcome").is_empty()).await.unwrap();
    server.release();
    assert_eq!(first.answer().await.unwrap().text().unwrap(), "ran first");
    assert_eq!(third.answer().await.unwrap().text().unwrap(), "ran third");
    assert_eq!(server.count("began second"), 0);
}

#[tokio::test]
async fn a_write_waits_for_its_turn_in_its_own_time() {
    let server = Faulty::start(Manner::Modern);
    let entry = json!({ "url": server.url(), "writes": "ordered", "timeouts": { "call": "5s" } });
    let stage = Stage::in_home(home(entry, true)).await;
    let client = stage.client().await;
    let began = std::time::Instant::now();
    let mut writes = Vec::new();
    for number in 0..MANY {
        writes.push(begin(&client, "add", &format!("hangs-{number}"), held()).await);
    }
    for (_, write) in writes {
        let answer = write.answer().await.unwrap();
        let text = answer.text().unwrap();
        assert!(answer.is_tool_error() && text.contains("did not answer within 5s"), "{text}");
    }
    // One after another, each with all of its time, they would have taken twelve times as long as one.
    assert!(began.elapsed() < std::time::Duration::from_secs(40), "{:?}", began.elapsed());
    let answer = client.call("up__add", json!({ "mark": "after" })).await.unwrap();
    assert_eq!(answer.text().unwrap(), "ran after");
}

#[tokio::test]
async fn a_write_that_is_tried_again_keeps_its_turn() {
    let (stage, journal) = Stage::of_child("legacy", true, json!({ "writes": "ordered" })).await;
    let client = stage.client().await;
    client.call("up__look", json!({ "mark": "look" })).await.unwrap();
    let arguments = json!({ "mark": "put", "fault": "ran", "ms": 50 });
    let put = client.begin(Request::call("up__put", &arguments)).await.unwrap();
    journal.wait("began put").await;
    let add = client.call("up__add", json!({ "mark": "add" })).await.unwrap();
    assert_eq!(add.text().unwrap(), "ran add");
    assert_eq!(put.answer().await.unwrap().text().unwrap(), "ran put");
    let notes: Vec<String> = journal.lines().into_iter().filter(|line| line.contains("ed ")).collect();
    let ends: Vec<&String> = notes.iter().filter(|line| line.starts_with("ended")).collect();
    assert_eq!(ends, ["ended look", "ended put", "ended put", "ended add"]);
}

async fn begin<'c>(
    client: &'c Client,
    tool: &str,
    mark: &str,
    more: Value,
) -> (String, highwater_testkit::client::Pending<'c>) {
    let mut arguments = more;
    arguments["mark"] = json!(mark);
    let pending = client.begin(Request::call(&format!("up__{tool}"), &arguments)).await.unwrap();
    (mark.to_owned(), pending)
}

/// Makes many calls, none of which ends before two of them run at the same time.
async fn overlap(server: &Faulty, client: &Client, tool: &str) {
    let before = server.notes().len();
    let mut all = Vec::new();
    for number in 0..MANY {
        all.push(begin(client, tool, &format!("{tool}-{number}"), held()).await);
    }
    let overlapping = until_true("calls overlap", || most_at_once(&server.notes()[before..]) > 1).await;
    overlapping.unwrap_or_else(|error| panic!("{error:#}: {:?}", server.notes()));
    server.release();
    for (mark, pending) in all {
        assert_eq!(pending.answer().await.unwrap().text().unwrap(), format!("ran {mark}"));
    }
}

/// How many calls ran at the same time at most.
fn most_at_once(notes: &[String]) -> usize {
    let (mut running, mut most) = (0_usize, 0);
    for note in notes {
        if note.starts_with("began") {
            running += 1;
            most = most.max(running);
        } else if note.starts_with("ended") {
            running -= 1;
        }
    }
    most
}
