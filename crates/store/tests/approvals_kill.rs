//! Approvals and the death of the process: whatever was said to be used up is used up for ever, and no call rests twice
//! on one signature.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "suite/approvals/scene.rs"]
#[expect(dead_code, reason = "the suite tells more stories")]
mod scene;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use highwater_core::approval::{ConsumeOutcome, GrantOutcome};
use highwater_core::decide::Effect;
use highwater_core::id::ApprovalId;
use highwater_receipts::{SignedReceipt, check_chain};
use highwater_store::{DataDir, RequestFilter, RequestState, Store, StoreOptions, StorePlace};
use scene::Scene;

/// Tells this program that it is the child of its test, and where the data are.
const CHILD: &str = "HIGHWATER_APPROVALS_CHILD";

async fn open(data: &std::path::Path) -> Store {
    let place = StorePlace::Sqlite(DataDir::open(data.to_owned()).unwrap());
    Store::open(&place, &StoreOptions::default()).await.unwrap()
}

/// Uses up a grant. Whoever gets `Consumed` would execute the call.
async fn execute(store: &Store, id: &ApprovalId) -> bool {
    let request = store.request(id).await.unwrap().unwrap();
    let now = store.now().await.unwrap();
    let (caller, definition) = ((&request.principal, &request.session), request.definition);
    let used = store.consume_grant(id, caller, request.action, definition, now).await.unwrap();
    used == GrantOutcome::Consumed
}

/// The child: takes up what is left, then asks, signs and executes without end, natively and through the page.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the parent says in the environment that this is its child")]
async fn child() {
    let Some(data) = std::env::var_os(CHILD) else { return };
    let store = open(std::path::Path::new(&data)).await;
    let left = RequestFilter { state: Some(RequestState::Approved), ..RequestFilter::default() };
    for request in store.requests(&left, 100).await.unwrap() {
        if execute(&store, &request.id).await {
            println!("\nexecuted {}", request.id);
        }
    }
    let scene = Scene::new();
    let mut person = scene.enroll(&store, "ada").await;
    person.user = highwater_core::id::UserId::new("ada");
    for number in 1.. {
        // Names of their own, so that the rounds do not meet.
        let path = format!("{}-{number}", std::process::id());
        let mut new = scene.request(Effect::Passkey, &path, None);
        new.id = ApprovalId::new(format!("apr_{path}"));
        let highwater_store::Asked::New(request) = scene.ask(&store, new).await else { panic!("not new") };
        println!("\nasked {}", request.id);
        let used = scene.approve(&store, &person, &path, &request, 2 * number).await;
        assert_eq!(used.outcome, ConsumeOutcome::Consumed);
        println!("\napproved {}", request.id);
        if execute(&store, &request.id).await {
            println!("\nexecuted {}", request.id);
        }
        let record = scene.challenge(&store, &person, &path, None).await;
        let verified = scene.sign(&store, &record, &person, 2 * number + 1).await;
        let used = scene.consume(&store, &verified, &record, None).await;
        assert_eq!(used.outcome, ConsumeOutcome::Consumed);
        println!("\nconsumed {}", record.id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t3_s57_at_most_once_whenever_the_process_dies() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (mut executed, mut approved, mut consumed) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for round in 0..8_usize {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child", "--nocapture", "--test-threads=1"]).env(CHILD, &data);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut said = 0;
        for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
            match line.split(' ').collect::<Vec<_>>().as_slice() {
                ["executed", id] => {
                    assert!(executed.insert((*id).to_owned()), "round {round}: {id} was executed twice");
                }
                ["approved", id] => drop(approved.insert((*id).to_owned())),
                ["consumed", id] => drop(consumed.insert((*id).to_owned())),
                ["asked", _] => {}
                _ => continue,
            }
            said += 1;
            // After each kind of line in turn, so that each kind of write is under way.
            if said == 5 + round {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(said >= 5 + round, "the child ended by itself after {said}");
        let store = open(&data).await;
        for id in &executed {
            let found = store.request(&ApprovalId::new(id.as_str())).await.unwrap().unwrap();
            assert_eq!(found.state, RequestState::Consumed, "round {round}: {id}");
            assert!(!execute(&store, &found.id).await, "round {round}: {id} could be executed again");
        }
        for id in approved.difference(&executed) {
            let found = store.request(&ApprovalId::new(id.as_str())).await.unwrap().unwrap();
            let stands = matches!(found.state, RequestState::Approved | RequestState::Consumed);
            assert!(stands, "round {round}: {id} is {:?}", found.state);
            assert_eq!(store.receipts_of(&found.id).await.unwrap().len(), 1, "round {round}: {id}");
        }
        for id in &consumed {
            let id = highwater_core::id::ChallengeId::new(id.as_str());
            let (found, _) = store.challenge_and_credential(&id, None).await.unwrap();
            assert!(found.unwrap().0.consumed, "round {round}: {id}");
        }
        let stored = store.receipts(Scene::new().key.chain(), 0, 1000).await.unwrap();
        let receipts: Vec<_> = stored.iter().map(|it| SignedReceipt::parse(&it.text).unwrap()).collect();
        assert_eq!(check_chain(&receipts), [], "round {round}");
        assert!(stored.len() >= approved.len() + consumed.len(), "round {round}: a receipt is missing");
        drop(store);
    }
    assert!(!executed.is_empty() && !consumed.is_empty());
}
