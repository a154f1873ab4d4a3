//! `kill -9` at each step of an approved call: at each line that goes on record, when the server has the call, and while
//! the signature is being used up. Whatever is tried afterwards with the same approval, the server sees the call at most
//! once, and never without an approval.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use highwater_testkit::client::{Answer, Client, Era, Request};
use highwater_testkit::wait::{PATIENCE, until_true};
use http::Method;
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::stage::{BRIEFLY, DELETE, HELD, KEY, Stage, done};

/// How an approval comes to its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// The call brings the signature.
    Native,
    /// The call is held until somebody has signed on the page.
    Held,
}

/// When the gateway is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The call is not sent yet.
    Unsent,
    /// The call is on record, and somebody else holds the database, so that nothing can be used up for it.
    Locked,
    /// So many lines have gone on record since the call began.
    Recorded(usize),
    /// The server has the call.
    Departed,
}

/// Lines on record.
pub(crate) fn lines(folder: &Path) -> usize {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .filter_map(|file| std::fs::read(file.path()).ok())
        .map(|text| text.iter().filter(|byte| **byte == b'\n').count())
        .sum()
}

/// The database of a gateway, in which nobody else can write while this exists.
fn locked(stage: &Stage) -> Connection {
    let other = Connection::open(stage.gateway.home().data_dir().join("highwater.db")).unwrap();
    other.busy_timeout(PATIENCE).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    other
}

/// Does something that the gateway is killed in the course of. What the kill cuts off fails in whatever way.
pub(crate) async fn killed(stage: &mut Stage, path: &str, moment: Moment, doing: impl AsyncFnOnce(&Stage)) {
    let lock = (moment == Moment::Locked).then(|| locked(stage));
    if moment == Moment::Unsent {
        stage.gateway.kill().await.unwrap();
        AssertUnwindSafe(doing(stage)).catch_unwind().await.unwrap_err();
        return;
    }
    let watch = kill_at(stage, path, moment);
    let ended = AssertUnwindSafe(doing(stage)).catch_unwind().await;
    assert!(watch.await.unwrap(), "{moment:?} did not come: {}", ended.is_ok());
    stage.gateway.kill().await.unwrap();
    drop(lock);
}

/// Kills the gateway when the moment has come, without anything in between; says whether it came.
fn kill_at(stage: &Stage, path: &str, moment: Moment) -> tokio::task::JoinHandle<bool> {
    let audit = stage.gateway.home().data_dir().join("audit");
    let journal = stage.gateway.home().path().join("journal.jsonl");
    let pid = Pid::from_raw(i32::try_from(stage.gateway.pid().unwrap()).unwrap()).unwrap();
    let (begun, path) = (lines(&audit), path.to_owned());
    tokio::task::spawn_blocking(move || {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let come = match moment {
                Moment::Unsent => true,
                Moment::Locked => lines(&audit) > begun,
                Moment::Recorded(count) => lines(&audit) >= begun + count,
                Moment::Departed => std::fs::read_to_string(&journal).unwrap_or_default().contains(&path),
            };
            if come {
                kill_process(pid, Signal::KILL).unwrap();
                return true;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        false
    })
}

fn call(arguments: &Value, evidence: Option<&Value>) -> Request {
    let call = Request::call(DELETE, arguments);
    match evidence {
        Some(evidence) => call.meta(KEY, evidence.clone()),
        None => call,
    }
}

/// One approved call, from its first step to its last, unless something ends it.
async fn attempt(stage: &Stage, client: &Client, arguments: &Value, evidence: Option<&Value>) -> Answer {
    let calling = client.send(call(arguments, evidence));
    if evidence.is_some() {
        return calling.await.unwrap();
    }
    let signing = async {
        let request = stage.pending().await;
        stage.person.sign(request["id"].as_str().unwrap(), &stage.passkey).await;
    };
    tokio::join!(calling, signing).0.unwrap()
}

/// How many signatures for this there are on record.
async fn receipts(stage: &Stage, path: &str) -> usize {
    let (_, found) = stage.api(Method::GET, "receipts", None).await;
    let of_path = |receipt: &&Value| receipt["canonicalArguments"].as_str().unwrap().contains(path);
    found["receipts"].as_array().unwrap().iter().filter(of_path).count()
}

/// What is tried after a restart: the same call with what there is, twice.
async fn again(stage: &Stage, arguments: &Value, evidence: Option<&Value>) {
    let client = stage.native().await;
    for _ in 0..2 {
        let answer = client.send(call(arguments, evidence)).await.unwrap();
        if answer.error_code().is_some() {
            assert_eq!(answer.error_code(), Some(-32001), "{}", answer.raw());
            let expected = if evidence.is_some() { "challenge_consumed" } else { "missing_evidence" };
            assert_eq!(answer.at("/error/data/reason"), expected, "{}", answer.raw());
        } else {
            done(&answer);
        }
    }
}

/// A gateway, a client and what is called. Requests that nobody answered count, so that each kill has a gateway of its own.
async fn scene(flow: Flow, path: &str) -> (Stage, Client, Value, Option<Value>) {
    let stage = Stage::standing(HELD, |_| ()).await;
    let arguments = json!({ "path": path });
    match flow {
        Flow::Native => {
            let client = stage.native().await;
            let evidence = stage.signature(&client, &arguments).await;
            (stage, client, arguments, Some(evidence))
        }
        Flow::Held => {
            let client = stage.client(Era::Modern).await;
            (stage, client, arguments, None)
        }
    }
}

async fn killed_at_each_step(flow: Flow) {
    // Once through, to learn how many steps there are.
    let (stage, client, arguments, evidence) = scene(flow, "undisturbed").await;
    let audit = stage.gateway.home().data_dir().join("audit");
    let begun = lines(&audit);
    done(&attempt(&stage, &client, &arguments, evidence.as_ref()).await);
    let steps = lines(&audit) - begun;
    assert!(steps >= 4, "{steps}");
    drop((client, stage));
    // Two before anything can have run, three after it has, and whatever is between.
    let moments = [Moment::Unsent, Moment::Locked].into_iter();
    let moments = moments.chain((0..=steps).map(Moment::Recorded)).chain([Moment::Departed; 3]);
    let (mut before, mut after, mut never) = (0, 0, 0);
    for moment in moments {
        let (mut stage, client, arguments, evidence) = scene(flow, "wanted").await;
        let calling = async |stage: &Stage| {
            attempt(stage, &client, &arguments, evidence.as_ref()).await;
        };
        killed(&mut stage, "wanted", moment, calling).await;
        drop(client);
        let at_kill = stage.ran("wanted");
        stage.restart().await;
        again(&stage, &arguments, evidence.as_ref()).await;
        let (ran, signed) = (stage.ran("wanted"), receipts(&stage, "wanted").await);
        assert!(ran <= 1, "{flow:?} {moment:?}: it ran {at_kill} times before the kill and {ran} in the end");
        assert!(ran <= signed, "{flow:?} {moment:?}: it ran, and nobody signed");
        match (at_kill, ran) {
            (1, _) => before += 1,
            (_, 1) => after += 1,
            _ => never += 1,
        }
    }
    // Otherwise the kills were not spread over the steps.
    assert!(before >= 1 && after + never >= 2, "{before} {after} {never}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s52_s57_killed_at_each_step_of_a_signed_call_it_runs_at_most_once() {
    killed_at_each_step(Flow::Native).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t2_t3_killed_at_each_step_of_a_held_call_it_runs_at_most_once() {
    killed_at_each_step(Flow::Held).await;
}

/// The step before the signature is used up: the database is held by somebody else.
#[tokio::test]
async fn s52_s55_killed_while_the_signature_is_being_used_up_nothing_has_run_and_it_is_not_used() {
    let mut stage = Stage::standing(BRIEFLY, |_| ()).await;
    let client = stage.native().await;
    let arguments = json!({ "path": "locked" });
    let evidence = stage.signature(&client, &arguments).await;
    let audit = stage.gateway.home().data_dir().join("audit");
    let begun = lines(&audit);
    let other = locked(&stage);
    let pending = client.begin(call(&arguments, Some(&evidence))).await.unwrap();
    // That somebody must agree, and that the call has brought evidence: what comes next is to use it up.
    until_true("the evidence is on record", || lines(&audit) >= begun + 2).await.unwrap();
    stage.gateway.kill().await.unwrap();
    assert!(pending.answer().await.is_err(), "it was answered before the signature was used up");
    assert_eq!(lines(&audit), begun + 2, "it went on before the signature was used up");
    assert_eq!(stage.ran("locked"), 0, "it ran before the signature was used up");
    drop(other);
    stage.restart().await;
    assert_eq!(receipts(&stage, "locked").await, 0);
    again(&stage, &arguments, Some(&evidence)).await;
    assert_eq!((stage.ran("locked"), receipts(&stage, "locked").await), (1, 1));
}
