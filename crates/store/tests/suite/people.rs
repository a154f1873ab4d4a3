//! What people see.

use highwater_core::annotation::DataClass;
use highwater_core::id::Principal;
use highwater_core::label::Label;
use highwater_notation::Timestamp;
use highwater_store::SessionKind;

use super::{Backend, context, key, owner};

pub(crate) async fn contexts_are_known_to_those_who_made_them<B: Backend>() {
    let place = B::new().await;
    let (store, other) = (place.open().await, place.open_beside().await);
    assert_eq!(store.context("ctx_guess").await.unwrap(), None);
    let made = store.mint_context("ada", "the invoice run", "pii").await.unwrap();
    assert!(made.id.starts_with("ctx_") && made.id.len() >= 26, "{}", made.id);
    assert_eq!(store.context(&made.id).await.unwrap().as_deref(), Some("pii"));
    assert_eq!(other.context(&made.id).await.unwrap().as_deref(), Some("pii"));
    assert_ne!(store.mint_context("ada", "", "").await.unwrap().id, made.id);
    assert_eq!(store.contexts(10).await.unwrap().len(), 2);
    store.close().await.unwrap();
    assert_eq!(place.open().await.context(&made.id).await.unwrap().as_deref(), Some("pii"));
}

pub(crate) async fn people_see_sessions_and_notices<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let label = Label::bottom().with_class(DataClass::Financial).with_origin("bank");
    context(&store, "a").join(&label).await.unwrap();
    store
        .session(&key(SessionKind::Principal, ""), &owner(SessionKind::Principal))
        .join(&label)
        .await
        .unwrap();
    let sessions = store.sessions(None, None, 10).await.unwrap();
    assert_eq!(sessions.len(), 2);
    assert!(sessions.iter().all(|session| session.label == label && session.version == 1));
    assert_eq!(store.sessions(Some(&Principal::new("agent")), None, 1).await.unwrap().len(), 1);
    assert!(store.sessions(Some(&Principal::new("nobody")), None, 10).await.unwrap().is_empty());
    assert!(store.sessions(None, Some(Timestamp(1)), 10).await.unwrap().is_empty());
    assert!(store.show(&key(SessionKind::Context, "b")).await.unwrap().is_none());
    let found = store.find_session(&key(SessionKind::Context, "a")).await.unwrap().unwrap();
    assert_eq!(found.current().await.unwrap().label, label);
    assert!(store.find_session(&key(SessionKind::Context, "b")).await.unwrap().is_none());
    let agent = Principal::new("agent");
    store.note(&agent, Some(found.key()), "kind", "words".to_owned()).await.unwrap();
    let notices = store.notices(10).await.unwrap();
    assert_eq!((notices[0].message.as_str(), notices[0].session.as_ref()), ("words", Some(found.key())));
    store.check().await.unwrap();
}
