//! A person's decision and the death of the process: the state is the old one or the new one, never in between.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use highwater_core::pin::PinDigest;
use highwater_notation::Json;
use highwater_pins::{Definition, PartClass, PinKey, PinKind, digest_of_all};
use highwater_store::{
    DataDir, Observation, PinDecision, PinScope, PinVerdict, PinsDecided, Store, StoreOptions, StorePlace,
};

/// Tells this program that it is the child of its test, and where the data are.
const CHILD: &str = "HIGHWATER_PINS_CHILD";

/// The tools of the server; with many, a decision takes long enough to be killed in its midst.
const TOOLS: usize = 60;

fn definitions(round: u64) -> Vec<Definition> {
    let names = (0..TOOLS).map(|number| PinKey::new(PinKind::Tool, format!("t{number}")));
    let define = |(key, value): (PinKey, u64)| {
        let parts = [("/description".into(), PartClass::Wording, Json::Number(value.to_string()))];
        Definition::new(key, value.to_string(), parts)
    };
    names.map(|key| (key, round)).chain([(PinKey::identity(), 0)]).map(define).collect()
}

fn review(definitions: &[Definition]) -> PinDigest {
    digest_of_all(definitions.iter().map(|it| (it.key(), it.digest())))
}

async fn open(data: &std::path::Path) -> Store {
    let place = StorePlace::Sqlite(DataDir::open(data.to_owned()).unwrap());
    Store::open(&place, &StoreOptions::default()).await.unwrap()
}

async fn decide(store: &Store, verdict: PinVerdict, digest: PinDigest) {
    let scope = PinScope::Server(digest);
    let (person, reason) = ("ada".to_owned(), String::new());
    let decision = PinDecision { server: "s".to_owned(), verdict, scope, person, reason };
    assert!(matches!(store.decide_pins(decision).await.unwrap(), PinsDecided::Done(_)));
}

/// The child: the server says something new, a person approves it, refuses it, and so on without end.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the parent says in the environment that this is its child")]
async fn child() {
    let Some(data) = std::env::var_os(CHILD) else { return };
    let store = open(std::path::Path::new(&data)).await;
    let pins = store.pins("s").await.unwrap();
    let first = pins.iter().filter_map(|pin| pin.seen.as_ref()?.text.parse::<u64>().ok()).max().unwrap_or(0);
    for round in first + 1.. {
        let definitions = definitions(round);
        let seen = definitions.iter().map(|it| Observation {
            key: it.key().clone(),
            seen: Some((it.digest(), it.text().to_string())),
            approve: None,
        });
        store.observe("s", seen.collect()).await.unwrap();
        println!("\nseen {round}");
        decide(&store, PinVerdict::Approve { believed: true }, review(&definitions)).await;
        println!("\napproved {round}");
        decide(&store, PinVerdict::Reject, review(&definitions)).await;
        println!("\nrejected {round}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_is_there_or_not_after_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (mut approved, mut refused) = (0, false);
    for round in 0..12_usize {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child", "--nocapture", "--test-threads=1"]).env(CHILD, &data);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut said = 0;
        for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
            match line.split(' ').collect::<Vec<_>>().as_slice() {
                ["approved", number] => (approved, refused) = (number.parse().unwrap(), false),
                ["rejected", _] => refused = true,
                ["seen", _] => {}
                _ => continue,
            }
            said += 1;
            // After each kind of line in turn, so that each kind of write is under way.
            if said == 4 + round {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(said >= 4 + round, "the child ended by itself after {said}");
        let store = open(&data).await;
        let pins = store.pins("s").await.unwrap();
        let of_tools = pins.iter().filter(|pin| pin.key.kind == PinKind::Tool);
        let texts: Vec<u64> =
            of_tools.filter_map(|pin| pin.pin.as_ref()?.definition.text.parse().ok()).collect();
        assert_eq!(texts.len(), TOOLS, "round {round}: every tool or none");
        assert!(texts.iter().all(|text| *text == texts[0]), "round {round}: {texts:?}");
        assert!(
            [approved, approved + 1].contains(&texts[0]),
            "round {round}: {approved} was said, {} is",
            texts[0]
        );
        let identity = pins.iter().find(|pin| pin.key == PinKey::identity()).unwrap();
        // Refused and not pinned, or pinned and not refused.
        assert_ne!(identity.rejected.is_some(), identity.pin.is_some(), "round {round}");
        if texts[0] == approved && refused {
            assert!(identity.rejected.is_some(), "round {round}: the refusal was said");
        }
        drop(store);
    }
}
