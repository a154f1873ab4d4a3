//! Transport sessions that are conversations, and those that are not.

use std::time::{Duration, Instant};

use highwater_core::annotation::DataClass;
use highwater_core::label::Label;
use highwater_store::{OpenedSession, SessionHandle, SessionKind, Store};

use super::{Backend, PATIENCE, key, owner};

fn pii() -> Label {
    Label::bottom().with_class(DataClass::Pii).with_origin("crm")
}

fn web() -> Label {
    Label::bottom().with_open_world().with_origin("web")
}

pub(crate) async fn open(store: &Store, id: &str) -> OpenedSession {
    store.open_session(&key(SessionKind::Transport, id), &owner(SessionKind::Transport)).await.unwrap()
}

/// Makes calls, and waits until they are counted.
async fn call(store: &Store, session: &SessionHandle, id: &str, calls: u64) {
    for number in 1..=calls {
        session.note_call();
        let key = key(SessionKind::Transport, id);
        let deadline = Instant::now() + PATIENCE;
        while store.show(&key).await.unwrap().unwrap().session.calls < number.min(2) {
            assert!(Instant::now() < deadline, "call {number} of {id} was never counted");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Three sessions of one call each, and the fourth.
pub(crate) async fn fall_back(store: &Store, label: &Label) {
    for id in ["1", "2", "3"] {
        let opened = open(store, id).await;
        call(store, &opened.handle, id, 1).await;
        opened.handle.join(label).await.unwrap();
    }
    assert!(open(store, "4").await.fell_back);
}

pub(crate) async fn a_host_with_a_session_per_call_falls_back<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    for id in ["1", "2", "3"] {
        let opened = open(&store, id).await;
        assert!(!opened.fell_back);
        call(&store, &opened.handle, id, 1).await;
        let label = Label::bottom().with_origin(id);
        opened.handle.join(&label).await.unwrap();
        opened.handle.end();
    }
    let fourth = open(&store, "4").await;
    assert!(fourth.fell_back);
    assert_eq!(fourth.handle.key().as_str(), "principal/agent");
    let inherited = Label::bottom().with_origin("1").with_origin("2").with_origin("3");
    assert_eq!(fourth.handle.current().await.unwrap().label, inherited);
    let [notice] = &store.notices(10).await.unwrap()[..] else { panic!("no notice") };
    assert_eq!(notice.kind, "fell-back");
    // From now on all its sessions are one.
    fourth.handle.join(&web()).await.unwrap();
    let fifth = open(&store, "5").await;
    assert!(!fifth.fell_back && fifth.handle.current().await.unwrap().label.covers(&web()));
    store.close().await.unwrap();
    let sixth = open(&place.open().await, "6").await;
    assert!(sixth.handle.current().await.unwrap().label.covers(&web()));
}

pub(crate) async fn a_host_that_holds_conversations_is_not_bothered<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    for id in ["1", "2", "3"] {
        let opened = open(&store, id).await;
        call(&store, &opened.handle, id, 3).await;
        opened.handle.join(&pii()).await.unwrap();
    }
    for id in ["4", "5"] {
        let opened = open(&store, id).await;
        assert!(!opened.fell_back);
        assert_eq!(opened.handle.current().await.unwrap().label, Label::bottom());
        call(&store, &opened.handle, id, 1).await;
        opened.handle.join(&pii()).await.unwrap();
    }
    let known = store.principals(10).await.unwrap();
    assert_eq!((known[0].conversations, known[0].fallen_back), (3, None));
    assert!(store.notices(10).await.unwrap().is_empty());
}

pub(crate) async fn until_it_is_known_a_host_starts_from_its_short_sessions<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let first = open(&store, "1").await;
    call(&store, &first.handle, "1", 1).await;
    first.handle.join(&pii()).await.unwrap();
    for id in ["2", "3", "4"] {
        let next = open(&store, id).await;
        assert_eq!(next.handle.current().await.unwrap().label, pii(), "session {id}");
        call(&store, &next.handle, id, 2).await;
        // What a conversation reads stays its own.
        next.handle.join(&web()).await.unwrap();
    }
    let known = open(&store, "5").await;
    assert_eq!(known.handle.current().await.unwrap().label, Label::bottom());
}

pub(crate) async fn a_call_in_flight_while_falling_back_reaches_the_principal<B: Backend>() {
    let place = B::new().await;
    let (store, other) = (place.open().await, place.open_beside().await);
    let mut flying = Vec::new();
    for id in ["1", "2", "3"] {
        let opened = open(&store, id).await;
        call(&store, &opened.handle, id, 1).await;
        flying.push(opened.handle);
    }
    // Another replica holds the second session, too, and has joined in it.
    let elsewhere = other.session(&key(SessionKind::Transport, "2"), &owner(SessionKind::Transport));
    elsewhere.join(&pii()).await.unwrap();
    let fourth = open(&store, "4").await;
    assert!(fourth.fell_back);
    let reply = flying.remove(0).join(&web()).await.unwrap();
    assert!(reply.covers(&pii()), "a folded session goes by the principal's label");
    drop(reply);
    assert_eq!(fourth.handle.current().await.unwrap().label, pii().joined(&web()));
    // What its copy covers is in the principal's label as well, or is written there.
    let scoped = pii().with_class(DataClass::Credentials);
    elsewhere.join(&pii()).await.unwrap();
    elsewhere.join(&scoped).await.unwrap();
    assert_eq!(elsewhere.key().as_str(), "principal/agent");
    assert!(fourth.handle.current().await.unwrap().label.covers(&scoped));
}

pub(crate) async fn only_a_person_lets_sessions_split_again<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let agent = owner(SessionKind::Transport).principal;
    assert!(!store.split_again(&agent, "ada", "nothing to do").await.unwrap());
    fall_back(&store, &web()).await;
    assert!(store.split_again(&agent, "ada", "it was a test").await.unwrap());
    let split = open(&store, "5").await;
    assert_eq!(split.handle.key().as_str(), "transport/agent/5");
    assert_eq!(split.handle.current().await.unwrap().label, Label::bottom());
    let kinds: Vec<_> = store.notices(10).await.unwrap().into_iter().map(|notice| notice.kind).collect();
    assert!(kinds.contains(&"split-again".to_owned()), "{kinds:?}");
}

/// Looking at the tools and leaving again is no conversation, and no sign that there are none.
pub(crate) async fn sessions_without_a_call_count_for_nothing<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    for id in ["1", "2", "3", "4"] {
        let opened = open(&store, id).await;
        assert!(!opened.fell_back, "session {id}");
        opened.handle.end();
    }
    // One before each call hides nothing.
    for id in ["a", "b", "c"] {
        open(&store, &format!("look-{id}")).await.handle.end();
        let opened = open(&store, id).await;
        assert!(!opened.fell_back, "session {id}");
        call(&store, &opened.handle, id, 1).await;
        opened.handle.join(&web()).await.unwrap();
    }
    assert!(open(&store, "look-d").await.fell_back);
}
