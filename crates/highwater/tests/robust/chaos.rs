//! Five hundred sessions while servers are killed at random: every reply reaches its own caller, none is lost without
//! an error, and the audit log knows of every one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use highwater_testkit::client::peer::HttpFixture;
use highwater_testkit::client::{Client, Era};
use serde_json::json;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

use crate::audit::settled;
use crate::processes::naming;
use crate::stage::{Ground, journal};
use crate::switchboard::Switchboard;

const SESSIONS: usize = 500;
const CALLS: usize = 20;
const STDIO: usize = 4;
const HTTP: usize = 2;
/// Somebody is killed each time so many calls have been answered well.
const KILL_EVERY: usize = 400;
/// Sessions that are being opened at once: a listener has a queue of its own.
const OPENING: usize = 64;
const SEED: u64 = 0x6869_6768_7761_7465;

/// A sequence that is the same in every run (splitmix64).
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % u64::try_from(sides).unwrap()).unwrap()
    }
}

/// How far the run is.
#[derive(Default)]
struct Count {
    answered: AtomicUsize,
    moved: Notify,
}

/// What one session heard.
#[derive(Default)]
struct Heard {
    own: usize,
    failures: Vec<String>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_reply_reaches_its_own_caller_while_servers_are_killed() {
    let ground = Ground::new();
    let folder = ground.home.path().to_owned();
    let mut servers = serde_json::Map::new();
    for number in 0..STDIO {
        let name = format!("s{number}");
        servers.insert(name.clone(), ground.stdio(&name));
    }
    let mut over_http = Vec::new();
    for number in 0..HTTP {
        let name = format!("h{number}");
        let seen = journal(&folder, &name);
        let fixture = HttpFixture::start(ground.fixture(), &["--extras"], &seen).await.unwrap();
        let board = Switchboard::new();
        board.plug(fixture.url()).await;
        servers.insert(name, json!({ "url": board.url("/mcp") }));
        over_http.push((board, fixture, seen));
    }
    let program = ground.fixture().to_owned();
    // What is on record is read here as it was written.
    let audit = json!({ "compress": false });
    let stage = ground.serve(&json!({ "flow": "observe", "servers": servers, "audit": audit })).await;

    let count = Arc::new(Count::default());
    let killer = tokio::spawn({
        let (count, folder) = (Arc::clone(&count), folder.clone());
        async move {
            let mut dice = Dice(SEED);
            let mut killed = 0;
            loop {
                count.reach((killed + 1) * KILL_EVERY).await;
                let victim = dice.throw(STDIO + HTTP);
                if victim < STDIO {
                    let found = naming(&folder.join(format!("s{victim}.jsonl")));
                    // Server or guard, whichever the dice say; none if it is being started right now.
                    if !found.is_empty() {
                        found[dice.throw(found.len())].kill();
                    }
                } else {
                    let (board, fixture, seen) = &mut over_http[victim - STDIO];
                    fixture.kill().await.unwrap();
                    *fixture = HttpFixture::start(&program, &["--extras"], seen).await.unwrap();
                    board.plug(fixture.url()).await;
                }
                killed += 1;
            }
        }
    });

    let opening = Arc::new(Semaphore::new(OPENING));
    let mut sessions = JoinSet::new();
    for number in 0..SESSIONS {
        let era = if number % 2 == 0 { Era::Legacy } else { Era::Modern };
        let setup = stage.gateway.http(era).without_stream();
        let (opening, count) = (Arc::clone(&opening), Arc::clone(&count));
        sessions.spawn(async move {
            let opened = opening.acquire().await.unwrap();
            let client = match era {
                Era::Legacy => setup.connect().await.unwrap(),
                Era::Modern => setup.connect_silently().await.unwrap(),
            };
            drop(opened);
            session(&client, number, &count).await
        });
    }
    let (mut own, mut failures) = (0, Vec::new());
    while let Some(heard) = sessions.join_next().await {
        let heard = heard.unwrap();
        own += heard.own;
        failures.extend(heard.failures);
    }
    killer.abort();

    assert_eq!(own + failures.len(), SESSIONS * CALLS);
    // Killing a process now and then costs what was in flight there, and what comes while it is left alone.
    assert!(own >= SESSIONS * CALLS / 2, "only {own} calls succeeded: {failures:#?}");
    let audit = settled(&stage.gateway.home().data_dir()).await;
    assert_eq!(audit.actions.len(), SESSIONS * CALLS);
    let outcomes = audit.outcomes();
    assert_eq!(outcomes.get("delivered"), Some(&own), "{outcomes:?}");
    assert_eq!(outcomes.get("failed").copied().unwrap_or(0), failures.len(), "{outcomes:?}");
}

/// Twenty calls, one after the other, of servers that the session's own dice choose.
async fn session(client: &Client, number: usize, count: &Count) -> Heard {
    let mut dice = Dice(SEED ^ u64::try_from(number).unwrap() << 20);
    let mut heard = Heard::default();
    for call in 0..CALLS {
        let server = match dice.throw(STDIO + HTTP) {
            stdio if stdio < STDIO => format!("s{stdio}"),
            http => format!("h{}", http - STDIO),
        };
        let payload = format!("{number}-{call}-{}", dice.throw(usize::MAX));
        let answer = client.call(&format!("{server}__echo"), json!({ "body": payload })).await.unwrap();
        if answer.is_tool_error() {
            let text = answer.text().unwrap();
            assert!(text.starts_with(&format!("server `{server}` ")), "not a clear error: {text}");
            heard.failures.push(text);
        } else {
            let body = answer.at("/result/structuredContent/body");
            assert_eq!(body, payload.as_str(), "another's reply: {}", answer.raw());
            heard.own += 1;
            count.one_more();
        }
    }
    heard
}

// === impl Count ===

impl Count {
    fn one_more(&self) {
        let answered = self.answered.fetch_add(1, Ordering::AcqRel) + 1;
        if answered.is_multiple_of(KILL_EVERY) {
            self.moved.notify_one();
        }
    }

    /// Waits until so many calls have been answered.
    async fn reach(&self, wanted: usize) {
        while self.answered.load(Ordering::Acquire) < wanted {
            self.moved.notified().await;
        }
    }
}
