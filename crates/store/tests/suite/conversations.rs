//! Presumed conversations: who shares a label, what a silence does to it, and whose word ends it.

use std::time::Duration;

use highwater_core::annotation::DataClass;
use highwater_core::id::Principal;
use highwater_core::label::Label;
use highwater_store::{Declassified, SessionHandle, SessionKind, Store};

use super::{Backend, key, owner};

/// A silence that no story lasts for.
const LONG: Duration = Duration::from_secs(3600);
/// A silence that is over after [`silence`].
const SHORT: Duration = Duration::from_millis(5);

fn pii() -> Label {
    Label::bottom().with_class(DataClass::Pii).with_origin("crm")
}

fn web() -> Label {
    Label::bottom().with_open_world().with_origin("web")
}

/// The agent's presumed conversation, to which requests come by a transport session of this id.
pub(crate) fn by_transport(store: &Store, id: &str) -> SessionHandle {
    store.presumed(&key(SessionKind::Transport, id), &owner(SessionKind::Transport))
}

fn stateless(store: &Store) -> SessionHandle {
    store.presumed(&key(SessionKind::Stateless, ""), &owner(SessionKind::Stateless))
}

pub(crate) async fn silence() {
    tokio::time::sleep(Duration::from_millis(25)).await;
}

async fn own(session: &SessionHandle) -> Label {
    session.current().await.unwrap().label.clone()
}

async fn pending(session: &SessionHandle) -> Option<Label> {
    session.current().await.unwrap().pending.as_ref().map(|pending| pending.label.clone())
}

async fn anew(session: &SessionHandle) -> Declassified {
    let epoch = session.current().await.unwrap().epoch;
    session.begin_anew(session.way(), epoch, &Label::bottom(), "ada", "a new conversation").await.unwrap()
}

pub(crate) async fn ways_that_are_used_at_once_share_one_label<B: Backend>() {
    let place = B::new().await;
    let (store, beside) = (place.open().await, place.open_beside().await);
    let (a, b, c) = (by_transport(&store, "a"), by_transport(&beside, "b"), stateless(&beside));
    for way in [&a, &b, &c] {
        way.begin(LONG).await.unwrap();
    }
    a.join(&web()).await.unwrap();
    assert_eq!(own(&b).await, web());
    c.join(&pii()).await.unwrap();
    assert_eq!(own(&a).await, web().joined(&pii()));
    let other = Principal::new("somebody else");
    let stranger =
        highwater_store::SessionOwner { principal: other.clone(), ..owner(SessionKind::Stateless) };
    let theirs = store.presumed(&SessionKind::Stateless.key(&other, ""), &stranger);
    theirs.begin(LONG).await.unwrap();
    assert_eq!(own(&theirs).await, Label::bottom());
}

pub(crate) async fn whatever_ends_within_the_quiet_time_the_label_goes_on<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let a = by_transport(&store, "a");
    a.begin(LONG).await.unwrap();
    a.join(&web()).await.unwrap();
    a.end();
    let after_the_end = by_transport(&store, "b");
    after_the_end.begin(LONG).await.unwrap();
    assert_eq!((own(&after_the_end).await, pending(&after_the_end).await), (web(), None));
    store.close().await.unwrap();
    let again = place.open().await;
    let after_a_restart = stateless(&again);
    after_a_restart.begin(LONG).await.unwrap();
    assert_eq!((own(&after_a_restart).await, pending(&after_a_restart).await), (web(), None));
}

pub(crate) async fn after_a_silence_the_label_is_pending_and_survives<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let a = by_transport(&store, "a");
    a.begin(LONG).await.unwrap();
    a.join(&web()).await.unwrap();
    silence().await;
    let b = by_transport(&store, "b");
    b.begin(SHORT).await.unwrap();
    assert_eq!((own(&b).await, pending(&b).await), (Label::bottom(), Some(web())));
    assert!(b.current().await.unwrap().possible().covers(&web()));
    let told = b.current().await.unwrap().pending.clone().unwrap();
    assert!(told.since <= told.until && told.since.0 > 0, "{told:?}");
    // A second silence adds to what is pending.
    b.join(&pii()).await.unwrap();
    silence().await;
    b.begin(SHORT).await.unwrap();
    assert_eq!((own(&b).await, pending(&b).await), (Label::bottom(), Some(web().joined(&pii()))));
    assert_eq!(b.current().await.unwrap().pending.as_ref().unwrap().since, told.since);
    // Silence upon silence loses nothing, and neither does a restart.
    silence().await;
    b.begin(SHORT).await.unwrap();
    store.close().await.unwrap();
    let again = place.open().await;
    let c = stateless(&again);
    c.begin(LONG).await.unwrap();
    assert_eq!((own(&c).await, pending(&c).await), (Label::bottom(), Some(web().joined(&pii()))));
}

pub(crate) async fn a_person_says_that_it_is_new_and_the_old_id_is_never_clean<B: Backend>() {
    let place = B::new().await;
    let (store, beside) = (place.open().await, place.open_beside().await);
    let old = by_transport(&beside, "old");
    old.begin(LONG).await.unwrap();
    old.join(&web()).await.unwrap();
    silence().await;
    let (new, sub) = (by_transport(&store, "new"), by_transport(&store, "sub"));
    new.begin(SHORT).await.unwrap();
    sub.begin(LONG).await.unwrap();
    new.join(&pii()).await.unwrap();
    assert!(matches!(anew(&new).await, Declassified::Done(_)));
    // What was read since the silence stays, and whoever came since then goes along.
    assert_eq!((own(&new).await, pending(&new).await), (pii(), None));
    sub.begin(LONG).await.unwrap();
    assert_eq!((own(&sub).await, pending(&sub).await), (pii(), None));
    let record = store.show(new.key()).await.unwrap().unwrap().declassifications.remove(0);
    assert_eq!((record.person.as_str(), record.reason.as_str()), ("ada", "a new conversation"));
    assert!(record.old_label.get().contains("web") && !record.new_label.get().contains("web"));
    // The id that was there when it was read brings it back, at whichever gateway.
    assert_eq!(own(&old).await, web().joined(&pii()));
    assert_eq!(own(&new).await, web().joined(&pii()));
}

pub(crate) async fn a_word_without_a_silence_lets_one_way_begin_anew<B: Backend>() {
    let place = B::new().await;
    let (store, beside) = (place.open().await, place.open_beside().await);
    let (a, b) = (by_transport(&store, "a"), by_transport(&beside, "b"));
    a.begin(LONG).await.unwrap();
    b.begin(LONG).await.unwrap();
    b.join(&web()).await.unwrap();
    assert!(matches!(anew(&a).await, Declassified::Done(_)));
    assert_eq!(own(&a).await, Label::bottom());
    store.close().await.unwrap();
    let again = place.open().await;
    let a = by_transport(&again, "a");
    a.begin(LONG).await.unwrap();
    assert_eq!(own(&a).await, Label::bottom());
    // The other way is used again: they share a label, and it has not forgotten.
    let b = by_transport(&again, "b");
    b.begin(LONG).await.unwrap();
    assert_eq!((own(&b).await, own(&a).await), (web(), web()));
}

pub(crate) async fn a_word_from_elsewhere_is_about_the_way_that_was_used_last<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let (a, b) = (by_transport(&store, "a"), by_transport(&store, "b"));
    a.begin(LONG).await.unwrap();
    a.join(&web()).await.unwrap();
    silence().await;
    b.begin(LONG).await.unwrap();
    b.note_call();
    let conversation = store.find_session(a.key()).await.unwrap().unwrap();
    let floor = Label::bottom().with_class(DataClass::Confidential);
    let epoch = conversation.current().await.unwrap().epoch;
    let done = conversation.begin_anew(None, epoch, &floor, "ada", "a task of its own").await.unwrap();
    assert!(matches!(done, Declassified::Done(_)));
    assert_eq!(own(&b).await, floor);
    assert_eq!(own(&a).await, web().joined(&floor));
    let stale = conversation.begin_anew(None, epoch, &floor, "ada", "twice").await.unwrap();
    assert!(matches!(stale, Declassified::Moved(_)), "{stale:?}");
}

pub(crate) async fn what_is_pending_is_joined_where_a_person_says_that_it_is_not_new<B: Backend>() {
    let place = B::new().await;
    let (store, beside) = (place.open().await, place.open_beside().await);
    let a = by_transport(&store, "a");
    a.begin(LONG).await.unwrap();
    a.join(&web()).await.unwrap();
    silence().await;
    a.begin(SHORT).await.unwrap();
    a.join(&pii()).await.unwrap();
    let epoch = a.current().await.unwrap().epoch;
    a.join_pending(epoch + 1).await.unwrap();
    assert_eq!(pending(&a).await, Some(web()), "it was about another conversation");
    a.join_pending(epoch).await.unwrap();
    assert_eq!((own(&a).await, pending(&a).await), (web().joined(&pii()), None));
    let b = by_transport(&beside, "b");
    b.begin(LONG).await.unwrap();
    assert_eq!((own(&b).await, pending(&b).await), (web().joined(&pii()), None));
}

pub(crate) async fn after_a_reset_everybody_is_clean<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let (a, b) = (by_transport(&store, "a"), by_transport(&store, "b"));
    a.begin(LONG).await.unwrap();
    a.join(&web()).await.unwrap();
    silence().await;
    b.begin(SHORT).await.unwrap();
    a.begin(LONG).await.unwrap();
    let epoch = b.current().await.unwrap().epoch;
    let done = b.declassify(epoch, &Label::bottom(), "ada", "the page was our own").await.unwrap();
    assert!(matches!(done, Declassified::Done(_)));
    assert_eq!((own(&a).await, pending(&a).await), (Label::bottom(), None));
    assert_eq!((own(&b).await, pending(&b).await), (Label::bottom(), None));
}

pub(crate) async fn a_reply_that_comes_after_a_silence_belongs_to_what_goes_on<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let a = by_transport(&store, "a");
    a.begin(LONG).await.unwrap();
    a.join(&web()).await.unwrap();
    silence().await;
    by_transport(&store, "b").begin(SHORT).await.unwrap();
    a.join(&pii()).await.unwrap();
    assert_eq!((own(&a).await, pending(&a).await), (pii(), Some(web())));
}

pub(crate) async fn what_unnamed_sessions_have_read_is_in_the_first_conversation<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let transport = store.session(&key(SessionKind::Transport, "t"), &owner(SessionKind::Transport));
    transport.join(&web()).await.unwrap();
    silence().await;
    let principal = store.session(&key(SessionKind::Principal, ""), &owner(SessionKind::Principal));
    principal.join(&pii()).await.unwrap();
    let c = by_transport(&store, "c");
    c.begin(Duration::from_millis(15)).await.unwrap();
    let state = c.current().await.unwrap();
    assert!(state.possible().covers(&web()) && state.possible().covers(&pii()), "{state:?}");
    assert!(!state.label.covers(&web()), "{state:?}");
    // The old id brings its own.
    let t = by_transport(&store, "t");
    t.begin(LONG).await.unwrap();
    assert!(t.current().await.unwrap().possible().covers(&web()));
    assert!(matches!(anew(&c).await, Declassified::Done(_)));
    assert!(own(&t).await.covers(&web()));
}

pub(crate) async fn a_transport_session_is_known_until_its_client_ends_it<B: Backend>() {
    let place = B::new().await;
    let (store, agent) = (place.open().await, Principal::new("agent"));
    let (id, whose) = (key(SessionKind::Transport, "t"), owner(SessionKind::Transport));
    assert!(store.find_transport(&id, &agent).await.unwrap().is_none());
    store.keep_transport(&id, &whose, false, "what it said".to_owned()).await.unwrap();
    store.presumed(&id, &whose).begin(LONG).await.unwrap();
    store.close().await.unwrap();
    let store = place.open().await;
    let kept = store.find_transport(&id, &agent).await.unwrap().unwrap();
    assert_eq!((kept.said.as_str(), kept.virtual_server.as_str()), ("what it said", "default"));
    assert!(store.find_transport(&id, &Principal::new("another")).await.unwrap().is_none());
    let listed: Vec<_> = store.sessions(None, None, 10).await.unwrap();
    assert_eq!(listed.len(), 1, "a way is no session of its own: {listed:?}");
    assert_eq!((listed[0].kind, listed[0].ways.len()), (SessionKind::Presumed, 1));
    store.presumed(&id, &whose).end();
    assert!(store.find_transport(&id, &agent).await.unwrap().is_none(), "at once");
    store.close().await.unwrap();
    let store = place.open().await;
    assert!(store.find_transport(&id, &agent).await.unwrap().is_none());
    // Where gateways share the store, the others know it when the client does.
    let (id, other) = (key(SessionKind::Transport, "u"), place.open_beside().await);
    store.keep_transport(&id, &whose, false, "what it said".to_owned()).await.unwrap();
    if store.is_shared() {
        assert!(other.find_transport(&id, &agent).await.unwrap().is_some());
    }
    store.end_transport(&id).await.unwrap();
    for store in [&store, &other] {
        assert!(store.find_transport(&id, &agent).await.unwrap().is_none());
    }
}

pub(crate) async fn a_conversation_of_a_host_is_written_down_and_what_is_beside_it_goes_by_a_word<
    B: Backend,
>() {
    let place = B::new().await;
    let store = place.open().await;
    let of = |store: &Store, id: &str| store.session(&key(SessionKind::Host, id), &owner(SessionKind::Host));
    let (clean, doubted) = (of(&store, "claude-code/a"), of(&store, "claude-code/b"));
    assert!(!clean.begin_hosted(&Label::bottom(), None).await.unwrap());
    assert_eq!(clean.current().await.unwrap().version, 0, "nothing was read in it");
    assert!(clean.begin_hosted(&Label::bottom(), None).await.unwrap(), "it is known");
    assert!(!doubted.begin_hosted(&pii(), Some(&web())).await.unwrap());
    assert_eq!((own(&doubted).await, pending(&doubted).await), (pii(), Some(web())));
    // What comes later is beside it as well, and nothing of it is in the label.
    let more = Label::bottom().with_class(DataClass::Financial);
    doubted.begin_hosted(&Label::bottom(), Some(&more)).await.unwrap();
    assert_eq!(pending(&doubted).await, Some(web().joined(&more)));
    doubted.join(&Label::bottom().with_class(DataClass::User)).await.unwrap();
    store.close().await.unwrap();
    let store = place.open().await;
    let (clean, doubted) = (of(&store, "claude-code/a"), of(&store, "claude-code/b"));
    assert!(clean.begin_hosted(&Label::bottom(), None).await.unwrap());
    assert_eq!(pending(&doubted).await, Some(web().joined(&more)));
    assert!(matches!(anew(&doubted).await, Declassified::Done(_)));
    let label = pii().with_class(DataClass::User);
    assert_eq!((own(&doubted).await, pending(&doubted).await), (label, None));
}
