//! What a store that fails does to those who rely on it: nothing is released, nothing is lowered, nothing is lost.

use std::time::Duration;

use highwater_core::annotation::{DataClass, Source};
use highwater_core::decide::{FlowPolicies, Overlooked};
use highwater_core::id::{DecisionId, Principal, SessionKey, UpstreamId, VirtualServerId};
use highwater_core::label::Label;
use highwater_core::policy::Policy;
use highwater_marks::{ReadPrints, Reading, Thing, Writer};
use highwater_notation::Timestamp;
use highwater_store::{
    Declassified, Fault, MarkQuery, Marked, Memory, SessionHandle, SessionKind, SessionOwner, Store,
    StoreError, StoreOptions,
};

fn session(store: &Store, kind: SessionKind, id: &str) -> SessionHandle {
    let principal = Principal::new("agent");
    let key = kind.key(&principal, id);
    store.session(&key, &SessionOwner { principal, virtual_server: VirtualServerId::new("default"), kind })
}

fn context(store: &Store) -> SessionHandle {
    session(store, SessionKind::Context, "a")
}

fn pii() -> Label {
    Label::bottom().with_class(DataClass::Pii)
}

fn web() -> Label {
    Label::bottom().with_open_world()
}

fn options() -> StoreOptions {
    StoreOptions { grace: Some(Duration::from_millis(200)), ..StoreOptions::default() }
}

#[tokio::test]
async fn a_write_that_fails_gives_no_proof_and_raises_no_copy() {
    for shared in [false, true] {
        let memory = Memory::new(shared);
        let store = memory.open(&options()).await.unwrap();
        let handle = context(&store);
        handle.join(&pii()).await.unwrap();
        memory.set_fault(Some(Fault::Write));
        handle.join(&web()).await.unwrap_err();
        assert_eq!(handle.cached().unwrap().label, pii(), "shared: {shared}");
        mark(&store).await.unwrap_err();
        handle.declassify(0, &Label::bottom(), "ada", "").await.unwrap_err();
        memory.set_fault(None);
        assert_eq!(handle.current().await.unwrap().label, pii());
        assert_eq!(handle.current().await.unwrap().epoch, 0);
    }
}

async fn mark(store: &Store) -> Result<Marked, StoreError> {
    let by = Writer {
        session: SessionKey::new("one"),
        principal: Principal::new("agent"),
        tool: "write".into(),
        decision: DecisionId::new("d"),
        at: Timestamp(1),
    };
    store.leave(vec![Thing::task(UpstreamId::new("u"), "1")], &pii(), &by).await
}

async fn marks(store: &Store) -> Result<Label, StoreError> {
    let (reader, reading) =
        (Principal::new("agent"), Reading { task: Some("1".into()), ..Reading::default() });
    let (servers, text) = ([UpstreamId::new("u")], ReadPrints::default);
    let query = MarkQuery { servers: &servers, reading: &reading, reader: &reader, text: &text, held: None };
    Ok(store.met(&query).await?.label())
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_is_no_proof_but_may_have_happened() {
    for shared in [false, true] {
        let memory = Memory::new(shared);
        let store = memory.open(&options()).await.unwrap();
        let handle = context(&store);
        handle.join(&pii()).await.unwrap();
        memory.set_fault(Some(Fault::LostAnswer));
        handle.join(&web()).await.unwrap_err();
        memory.set_fault(None);
        // Whatever is joined next finds the label as it really is.
        let joined = handle.join(&Label::bottom().with_origin("o")).await.unwrap();
        assert!(joined.covers(&pii().joined(&web())), "shared: {shared}");
    }
}

/// A declassification that happened without our knowing may not leave a copy that vouches for the old label.
#[tokio::test]
async fn a_declassification_whose_answer_is_lost_leaves_no_copy_behind() {
    let memory = Memory::new(false);
    let store = memory.open(&options()).await.unwrap();
    let handle = context(&store);
    handle.join(&web()).await.unwrap();
    memory.set_fault(Some(Fault::LostAnswer));
    handle.declassify(0, &Label::bottom(), "ada", "").await.unwrap_err();
    memory.set_fault(None);
    assert!(handle.covered(&web()).is_none(), "a skipped join would be in no label");
    handle.join(&web()).await.unwrap();
    let state = handle.current().await.unwrap();
    assert_eq!((state.epoch, &state.label), (1, &web()));
}

#[tokio::test]
async fn a_read_that_fails_says_so_and_a_single_node_needs_none() {
    let memory = Memory::new(true);
    let store = memory.open(&options()).await.unwrap();
    context(&store).join(&pii()).await.unwrap();
    memory.set_fault(Some(Fault::Read));
    context(&store).current().await.unwrap_err();
    context(&store).join(&pii()).await.unwrap_err();
    marks(&store).await.unwrap_err();

    let memory = Memory::new(false);
    let store = memory.open(&options()).await.unwrap();
    context(&store).join(&pii()).await.unwrap();
    memory.set_fault(Some(Fault::Read));
    assert_eq!(context(&store).current().await.unwrap().label, pii());
    context(&store).join(&pii()).await.unwrap();
    session(&store, SessionKind::Context, "never read").current().await.unwrap_err();
}

/// A label that no gate looks at.
fn known() -> Label {
    Label::bottom().with_source(Source::System).with_origin("mcp:clock:now")
}

#[tokio::test(start_paused = true)]
async fn a_label_that_no_decision_sees_waits_for_the_store_and_nothing_else_does() {
    let policy = Policy::default();
    for shared in [false, true] {
        let memory = Memory::new(shared);
        let store = memory.open(&options()).await.unwrap();
        let handle = context(&store);
        handle.join(&pii()).await.unwrap();
        let joined =
            handle.join_or_postpone(&known(), |_| panic!("the store works, and nothing is overlooked")).await;
        assert!(!joined.unwrap().is_postponed());
        handle.declassify(0, &Label::bottom(), "ada", "").await.unwrap();

        memory.set_fault(Some(Fault::Write));
        fn overlooked(label: &Label) -> Option<Overlooked<'_>> {
            Policy::default().overlooks(label, FlowPolicies::Unstated)
        }
        handle.join_or_postpone(&web(), overlooked).await.unwrap_err();
        handle
            .join_or_postpone(&known(), |label| policy.overlooks(label, FlowPolicies::Stated))
            .await
            .unwrap_err();
        let joined = handle.join_or_postpone(&known(), overlooked).await.unwrap();
        assert!(joined.is_postponed() && joined.is_fresh() && joined.covers(&known()), "shared: {shared}");
        assert_eq!(handle.cached().unwrap().label, Label::bottom(), "the copy vouches for nothing");
        let further = known().with_origin("mcp:clock:zone");
        handle.join_or_postpone(&further, overlooked).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;

        memory.set_fault(None);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(handle.current().await.unwrap().label, further, "shared: {shared}");
        // The next outage is as the first.
        memory.set_fault(Some(Fault::Write));
        let later = Label::bottom().with_source(Source::Internal);
        assert!(handle.join_or_postpone(&later, overlooked).await.unwrap().is_postponed());
        memory.set_fault(None);
        // An end in order waits for what waits.
        store.close().await.unwrap();
        let store = memory.open(&options()).await.unwrap();
        assert_eq!(context(&store).current().await.unwrap().label, further.joined(&later));
    }
}

#[tokio::test]
async fn a_person_who_stops_waiting_leaves_the_gate_as_it_should_be() {
    let memory = Memory::new(false);
    let store = memory.open(&options()).await.unwrap();
    let handle = context(&store);
    let joined = handle.join(&web()).await.unwrap();
    let label = Label::bottom();
    let impatient = handle.declassify(0, &label, "ada", "");
    tokio::time::timeout(Duration::from_millis(20), impatient).await.unwrap_err();
    // It goes on without the person, and waits for the release like any other.
    drop(joined);
    loop {
        if handle.current().await.unwrap().epoch == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(handle.current().await.unwrap().label, Label::bottom());
    assert!(handle.covered(&Label::bottom()).is_some(), "the gate is open again");
}

#[tokio::test]
async fn a_power_cut_takes_no_raise() {
    let memory = Memory::new(false);
    let store = memory.open(&options()).await.unwrap();
    session(&store, SessionKind::Principal, "").join(&web()).await.unwrap();
    session(&store, SessionKind::Principal, "").join(&pii()).await.unwrap();
    session(&store, SessionKind::Transport, "t").join(&web()).await.unwrap();
    drop(store);
    memory.lose_power();
    let store = memory.open(&options()).await.unwrap();
    let found = session(&store, SessionKind::Principal, "").current().await.unwrap();
    assert_eq!(found.label, web().joined(&pii()));
    assert_eq!(session(&store, SessionKind::Transport, "t").current().await.unwrap().label, web());
}

#[tokio::test]
async fn what_a_conversation_begins_with_is_a_raise() {
    let memory = Memory::new(false);
    let store = memory.open(&options()).await.unwrap();
    let open = |store: &Store, id: &str| {
        let (principal, kind) = (Principal::new("agent"), SessionKind::Transport);
        let key = kind.key(&principal, id);
        let virtual_server = VirtualServerId::new("default");
        store.presumed(&key, &SessionOwner { principal, virtual_server, kind })
    };
    open(&store, "one").join(&web()).await.unwrap();
    assert_eq!(open(&store, "two").current().await.unwrap().label, web());
    memory.lose_power();
    let store = memory.open(&options()).await.unwrap();
    for id in ["one", "two", "three"] {
        assert_eq!(open(&store, id).current().await.unwrap().label, web(), "{id}");
    }
}

#[tokio::test]
async fn origins_that_no_decision_looks_at_are_all_that_a_power_cut_takes() {
    let memory = Memory::new(false);
    let store = memory.open(&options()).await.unwrap();
    store.defer_origins(true);
    context(&store).join(&pii().with_origin("crm")).await.unwrap();
    // They are committed, and not flushed.
    store.close().await.unwrap();
    memory.lose_power();
    let store = memory.open(&options()).await.unwrap();
    assert_eq!(context(&store).current().await.unwrap().label, pii());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_failed_is_known_to_fail_until_something_can_be_written() {
    for fault in [Fault::Write, Fault::Hang] {
        let memory = Memory::new(true);
        let store = memory.open(&options()).await.unwrap();
        context(&store).join(&pii()).await.unwrap();
        assert!(!store.is_failing());
        store.available().await.unwrap();
        memory.set_fault(Some(Fault::Write));
        context(&store).join(&web()).await.unwrap_err();
        assert!(store.is_failing());
        memory.set_fault(Some(fault));
        let (one, two) = tokio::join!(store.available(), store.available());
        assert!(one.is_err() && two.is_err(), "{fault:?}");
        // It can be read, which says nothing of whether it can be written.
        memory.set_fault(Some(Fault::Write));
        context(&store).current().await.unwrap();
        assert!(store.is_failing());
        memory.set_fault(None);
        store.available().await.unwrap_err();
        tokio::time::sleep(Duration::from_millis(300)).await;
        store.available().await.unwrap();
        assert!(!store.is_failing());
    }
}

#[tokio::test]
async fn what_was_declassified_or_marked_survives_a_power_cut() {
    let memory = Memory::new(false);
    let store = memory.open(&options()).await.unwrap();
    context(&store).join(&web()).await.unwrap();
    assert!(matches!(
        context(&store).declassify(0, &Label::bottom(), "ada", "").await.unwrap(),
        Declassified::Done(_)
    ));
    mark(&store).await.unwrap();
    memory.lose_power();
    let store = memory.open(&options()).await.unwrap();
    assert_eq!(context(&store).current().await.unwrap().epoch, 1);
    assert_eq!(marks(&store).await.unwrap(), pii());
}
