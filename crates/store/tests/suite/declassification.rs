//! Lowering labels, against replies that are on their way.

use std::time::{Duration, Instant};

use highwater_core::annotation::DataClass;
use highwater_core::label::Label;
use highwater_store::{DeclassificationOutcome, Declassified, SessionHandle, Store};

use super::{Backend, PATIENCE, context, shared};

/// How often something is tried that a busy machine can be too slow for.
const ATTEMPTS: usize = 50;

fn pii() -> Label {
    Label::bottom().with_class(DataClass::Pii).with_origin("crm")
}

fn web() -> Label {
    Label::bottom().with_open_world().with_origin("web")
}

async fn reset(session: &SessionHandle, epoch: u64) -> Declassified {
    session.declassify(epoch, &Label::bottom(), "ada", "a new task").await.unwrap()
}

pub(crate) async fn a_late_reply_joins_the_new_epoch<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let session = context(&store, "a");
    session.join(&web()).await.unwrap();
    let Declassified::Done(lowered) = reset(&session, 0).await else { panic!("not lowered") };
    assert_eq!((lowered.epoch, &lowered.label), (1, &Label::bottom()));
    assert_eq!(session.current().await.unwrap().label, Label::bottom());
    // The call began in epoch 0; its reply enters the context now.
    session.join(&pii()).await.unwrap();
    let state = session.current().await.unwrap();
    assert_eq!((state.epoch, &state.label), (1, &pii()));
    store.close().await.unwrap();
    let again = context(&place.open().await, "a").current().await.unwrap();
    assert_eq!((again.epoch, &again.label), (1, &pii()));
}

pub(crate) async fn of_two_declassifications_one_succeeds<B: Backend>() {
    let place = B::new().await;
    let stores = [place.open().await, place.open_beside().await];
    context(&stores[0], "a").join(&web()).await.unwrap();
    let mut tasks = Vec::new();
    for store in &stores {
        let session = context(store, "a");
        tasks.push(tokio::spawn(async move { reset(&session, 0).await }));
    }
    let mut done = 0;
    for task in tasks {
        match task.await.unwrap() {
            Declassified::Done(state) => {
                done += 1;
                assert_eq!(state.epoch, 1);
            }
            Declassified::Moved(state) => assert_eq!(state.epoch, 1),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(done, 1);
}

pub(crate) async fn a_declassification_of_nothing_says_so<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let session = context(&store, "never used");
    assert!(matches!(reset(&session, 0).await, Declassified::Unknown));
    session.join(&web()).await.unwrap();
    assert!(matches!(reset(&session, 7).await, Declassified::Moved(state) if state.label == web()));
    assert_eq!(session.current().await.unwrap().label, web());
}

/// Lowering and releasing exclude each other: on one node by waiting, between replicas by time and version.
pub(crate) async fn a_release_in_flight_is_covered_by_the_label_or_by_the_person<B: Backend>() {
    let place = B::new().await;
    let (store, other) = (place.open().await, place.open_beside().await);
    if store.is_shared() {
        // What is to happen within the grace may take longer on a busy machine, but not every time.
        for attempt in 0..ATTEMPTS {
            if let InTime::Yes = a_release_at_another_replica(&store, &other, &format!("a{attempt}")).await {
                return;
            }
        }
        panic!("nothing was done within the grace in {ATTEMPTS} attempts");
    }
    let session = context(&store, "a");
    let joined = session.join(&web()).await.unwrap();
    let lowering = tokio::spawn({
        let session = session.clone();
        async move { reset(&session, 0).await }
    });
    // A release that begins after the lowering waits for it, and so says that it has begun.
    let deadline = Instant::now() + PATIENCE;
    while session.covered(&web()).is_some() {
        assert!(Instant::now() < deadline, "a release that began after it did not wait");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!lowering.is_finished(), "lowered under a reply that is being released");
    drop(joined);
    assert!(matches!(lowering.await.unwrap(), Declassified::Done(_)));
    assert_eq!(session.current().await.unwrap().label, Label::bottom());
}

/// Whether the machine was fast enough to tell anything.
enum InTime {
    Yes,
    No,
}

/// Another replica looks at the closed epoch and then releases something that its copy covers.
async fn a_release_at_another_replica(store: &Store, other: &Store, id: &str) -> InTime {
    let grace = shared().grace.unwrap();
    let (session, elsewhere) = (context(store, id), context(other, id));
    let joined = session.join(&web()).await.unwrap();
    let began = Instant::now();
    let lowering = tokio::spawn({
        let session = session.clone();
        async move { reset(&session, 0).await }
    });
    let closed = loop {
        let seen = elsewhere.current().await.unwrap();
        if seen.epoch > 0 {
            break seen;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    elsewhere.join(&web()).await.unwrap();
    if began.elapsed() >= grace {
        lowering.await.unwrap();
        return InTime::No;
    }
    assert_eq!(closed.label, web(), "the epoch is closed, the label stays");
    let after = elsewhere.current().await.unwrap().version;
    assert_eq!(after, closed.version + 1, "a join was skipped in a closing epoch");
    let Declassified::Overtaken(state) = lowering.await.unwrap() else {
        panic!("lowered what was joined since")
    };
    assert_eq!(state.label, web());
    assert!(!joined.is_fresh(), "a proof outlived half the grace");
    let renewing = Instant::now();
    let joined = joined.renewed(|_| None).await.unwrap();
    let fresh = joined.is_fresh();
    // One that took too long was made again.
    if renewing.elapsed() >= grace / 2 {
        return InTime::No;
    }
    assert!(fresh && session.current().await.unwrap().version == closed.version + 2);
    // Asked again, with nothing joined meanwhile, the label goes down for every replica.
    assert!(matches!(reset(&session, 1).await, Declassified::Done(_)));
    assert_eq!(elsewhere.current().await.unwrap().label, Label::bottom());
    assert_eq!(elsewhere.current().await.unwrap().epoch, 2);
    InTime::Yes
}

pub(crate) async fn a_declassification_keeps_its_record<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let session = context(&store, "a");
    session.join(&web().joined(&pii())).await.unwrap();
    session.declassify(0, &pii(), "ada", "only the page is gone").await.unwrap();
    let shown = store.show(session.key()).await.unwrap().unwrap();
    assert_eq!(shown.session.label, pii());
    let [record] = &shown.declassifications[..] else { panic!("{shown:?}") };
    assert_eq!((record.epoch, record.outcome), (1, DeclassificationOutcome::Done));
    assert_eq!((record.person.as_str(), record.reason.as_str()), ("ada", "only the page is gone"));
    assert!(record.old_label.get().contains("web") && !record.new_label.get().contains("web"));
}

/// Coming into a conversation is not joining: it may not keep a person from lowering its label.
pub(crate) async fn a_conversation_is_declassified_while_others_come_into_it<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let quiet = Duration::from_secs(3600);
    let session = super::by_transport(&store, "a");
    session.begin(quiet).await.unwrap();
    session.join(&web()).await.unwrap();
    let lowering = tokio::spawn({
        let session = session.clone();
        async move { reset(&session, 0).await }
    });
    let mut number = 0;
    while !lowering.is_finished() {
        number += 1;
        super::by_transport(&store, &format!("b{number}")).begin(quiet).await.unwrap();
    }
    assert!(matches!(lowering.await.unwrap(), Declassified::Done(_)));
    assert_eq!(session.current().await.unwrap().label, Label::bottom());
}
