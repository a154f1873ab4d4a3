//! What is lost of evidence, and what follows from it: never a milder standing.

use highwater_core::annotation::{ArgumentRole, ClassSet, Destination, Outcome};
use highwater_core::id::{Principal, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::provenance::CallProvenance;
use highwater_provenance::{Call, Reply, stand};
use highwater_store::{Memory, SessionOwner, Store, StoreOptions};
use serde_json::{Value, json};

use super::*;

const NAMED: &str = "Archive the file Budget plan 2026";

async fn store() -> Store {
    Memory::new(false).open(&StoreOptions::default()).await.unwrap()
}

fn session(store: &Store, kind: SessionKind, id: &str) -> SessionHandle {
    let principal = Principal::new("agent");
    let key = kind.key(&principal, id);
    store.session(&key, &SessionOwner { principal, virtual_server: VirtualServerId::new("default"), kind })
}

/// Looks at a call of a file server with these arguments.
fn with_call<T>(tool: &str, outcome: Outcome, arguments: &Value, look: impl FnOnce(&Call<'_>) -> T) -> T {
    look(&Call {
        server: &UpstreamId::new("files"),
        tool,
        description: None,
        arguments,
        role: &|_| Some(ArgumentRole::Object),
        schema: None,
        destination: Destination::User,
        outcome,
        destructive: false,
        caps: &[],
    })
}

/// Tells that a file was listed, with so much beside it.
fn list(evidences: &Evidences, session: &SessionHandle, id: &str, name: &str, filling: usize) {
    let listed = json!({ "structuredContent": { "files": [{ "id": id, "name": name, "note": "x".repeat(filling) }] } });
    evidences.with(session, Some(0), |evidence| {
        with_call("list_files", Outcome::Benign, &json!({}), |call| {
            evidence.reply(&Reply {
                decision: DecisionId::new(format!("hwd_{id}")),
                call,
                trusted: false,
                failed: false,
                classes: ClassSet::EMPTY,
                records: None,
                body: Body::Result(listed.to_string().into()),
            });
        });
    });
}

/// How archiving a file stands.
fn archiving(evidences: &Evidences, session: &SessionHandle, id: &str) -> Option<CallProvenance> {
    evidences.with(session, Some(0), |evidence| {
        with_call("archive_file", Outcome::Consequential, &json!({ "file_id": id }), |call| {
            stand(evidence, call, true)
        })
    })
}

#[track_caller]
fn is_asked_for(found: Option<CallProvenance>) -> bool {
    let found = found.expect("the conversation tells words");
    assert!(found.has_words);
    found.lacks.is_empty()
}

#[tokio::test]
async fn a_conversation_that_was_heard_from_its_beginning_knows_the_one_thing_that_is_named() {
    let (store, evidences) = (store().await, Evidences::new(false));
    let session = session(&store, SessionKind::Context, "a");
    assert!(archiving(&evidences, &session, "f1").is_none(), "it has told no words");
    evidences.hear_words(&session, "1", NAMED).await;
    list(&evidences, &session, "f1", "Budget plan 2026", 0);
    list(&evidences, &session, "f2", "Holiday photos", 0);
    assert!(is_asked_for(archiving(&evidences, &session, "f1")));
    assert!(!is_asked_for(archiving(&evidences, &session, "f2")));
}

#[tokio::test]
async fn nothing_is_the_only_thing_of_its_name_where_something_was_read_that_is_not_known_here() {
    // Something was read before: by an earlier process, or before any words were told.
    let (store, evidences) = (store().await, Evidences::new(false));
    let earlier = session(&store, SessionKind::Context, "a");
    earlier.join(&Label::bottom().with_open_world()).await.unwrap();
    evidences.hear_words(&earlier, "1", NAMED).await;
    list(&evidences, &earlier, "f1", "Budget plan 2026", 0);
    assert!(!is_asked_for(archiving(&evidences, &earlier, "f1")));
    // Other gateways read for the same conversations.
    let evidences = Evidences::new(true);
    let shared = session(&store, SessionKind::Context, "b");
    evidences.hear_words(&shared, "1", NAMED).await;
    list(&evidences, &shared, "f1", "Budget plan 2026", 0);
    assert!(!is_asked_for(archiving(&evidences, &shared, "f1")));
}

#[tokio::test]
async fn what_is_evicted_makes_nothing_milder() {
    let bounds = Bounds { conversations: 8, bytes: 40_000 };
    let (store, evidences) = (store().await, Evidences::bounded(false, bounds));
    let (first, second) =
        (session(&store, SessionKind::Context, "a"), session(&store, SessionKind::Context, "b"));
    for session in [&first, &second] {
        evidences.hear_words(session, "1", NAMED).await;
        list(&evidences, session, "f9", "Budget plan 2026", 4_000);
        list(&evidences, session, "f1", "Budget plan 2026", 4_000);
        assert!(!is_asked_for(archiving(&evidences, session, "f1")), "two things bear the name");
    }
    // The other conversation fills the room, and the first loses what it used longest ago.
    for number in 0..6 {
        list(&evidences, &second, &format!("x{number}"), "Something else", 6_000);
    }
    assert!(evidences.bytes.load(Ordering::Relaxed) <= bounds.bytes);
    assert!(!is_asked_for(archiving(&evidences, &first, "f1")));
    // What was forgotten whole is forgotten.
    evidences.forget(first.key());
    assert!(archiving(&evidences, &first, "f1").is_none());
    evidences.forget(second.key());
    assert_eq!(evidences.bytes.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn the_conversation_that_was_used_longest_ago_goes_first() {
    let bounds = Bounds { conversations: 2, bytes: MAX_BYTES };
    let (store, evidences) = (store().await, Evidences::bounded(false, bounds));
    let sessions = ["a", "b", "c"].map(|id| session(&store, SessionKind::Context, id));
    let [first, second, third] = &sessions;
    evidences.hear_words(first, "1", NAMED).await;
    evidences.hear_words(second, "1", NAMED).await;
    assert!(archiving(&evidences, first, "f1").is_some());
    evidences.hear_words(third, "1", NAMED).await;
    assert!(archiving(&evidences, first, "f1").is_some());
    assert!(archiving(&evidences, second, "f1").is_none());
}

#[tokio::test]
async fn a_hosts_conversation_tells_words_also_when_they_are_lost() {
    let (store, evidences) = (store().await, Evidences::new(false));
    let host = session(&store, SessionKind::Host, "codex/1");
    assert!(!is_asked_for(archiving(&evidences, &host, "f1")), "words that are not known say nothing");
    evidences.forget(host.key());
    assert!(!is_asked_for(archiving(&evidences, &host, "f1")));
}

#[tokio::test]
async fn a_call_of_an_earlier_epoch_is_vouched_for_by_nothing() {
    let (store, evidences) = (store().await, Evidences::new(false));
    let session = session(&store, SessionKind::Context, "a");
    evidences.hear_words(&session, "1", NAMED).await;
    list(&evidences, &session, "f1", "Budget plan 2026", 0);
    assert!(is_asked_for(archiving(&evidences, &session, "f1")));
    // Somebody lowered the label; the words were for what was read before.
    let seen = evidences.with(&session, Some(1), |evidence| evidence.has_words());
    assert_eq!(seen, Some(true));
    assert!(!is_asked_for(archiving(&evidences, &session, "f1")), "a call that was begun before that");
}

#[tokio::test]
async fn a_conversation_that_goes_on_elsewhere_is_not_known_from_its_beginning() {
    let (store, evidences) = (store().await, Evidences::new(false));
    for (is_fresh, id) in [(true, "codex/1"), (false, "codex/2")] {
        let host = session(&store, SessionKind::Host, id);
        evidences.bring_words(&host, is_fresh).await;
        evidences.hear_words(&host, "1", NAMED).await;
        list(&evidences, &host, "f1", "Budget plan 2026", 0);
        assert_eq!(is_asked_for(archiving(&evidences, &host, "f1")), is_fresh);
    }
}
