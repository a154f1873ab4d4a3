//! Labels of what agents wrote.

use highwater_core::annotation::DataClass;
use highwater_core::id::UpstreamId;
use highwater_core::label::Label;
use highwater_core::session::{ObjectId, ObjectKind};
use highwater_store::StoreError;

use super::Backend;

fn note(identity: &str) -> ObjectId {
    ObjectId::new(UpstreamId::new("notes"), ObjectKind::Object, identity)
}

fn pii() -> Label {
    Label::bottom().with_class(DataClass::Pii).with_origin("crm")
}

fn web() -> Label {
    Label::bottom().with_open_world().with_origin("web")
}

pub(crate) async fn marks_only_rise_and_come_back<B: Backend>() {
    let place = B::new().await;
    let (store, other) = (place.open().await, place.open_beside().await);
    assert_eq!(store.marks(&[note("1")]).await.unwrap(), Label::bottom());
    store.mark(&[note("1"), note("2")], &pii()).await.unwrap();
    store.mark(&[note("2"), note("2")], &web()).await.unwrap();
    store.mark(&[note("3")], &Label::bottom()).await.unwrap();
    for store in [&store, &other] {
        assert_eq!(store.marks(&[note("1")]).await.unwrap(), pii());
        assert_eq!(store.marks(&[note("2")]).await.unwrap(), pii().joined(&web()));
        assert_eq!(store.marks(&[note("3"), note("4")]).await.unwrap(), Label::bottom());
        assert_eq!(store.marks(&[note("4"), note("1")]).await.unwrap(), pii());
        let resource = ObjectId::new(UpstreamId::new("notes"), ObjectKind::Resource, "1");
        assert_eq!(store.marks(&[resource]).await.unwrap(), Label::bottom());
    }
    // What was found without a mark can still get one.
    store.mark(&[note("4")], &web()).await.unwrap();
    assert_eq!(store.marks(&[note("4")]).await.unwrap(), web());
    assert_eq!(other.marks(&[note("4")]).await.unwrap(), web());
}

pub(crate) async fn marks_outlive_the_store<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    store.mark(&[note("1")], &pii()).await.unwrap();
    store.close().await.unwrap();
    let store = place.open().await;
    // A mark of the new run adds to that of the old one.
    store.mark(&[note("1")], &web()).await.unwrap();
    assert_eq!(store.marks(&[note("1")]).await.unwrap(), pii().joined(&web()));
}

pub(crate) async fn an_object_of_any_length_can_be_marked<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    // Not compressible, and longer than an index entry of any database.
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'a' + u8::try_from(state >> 60).unwrap())
    };
    let long: String = (0..20_000).map(|_| next()).collect();
    let zero = "a\0b";
    store.mark(&[note(&long), note(zero)], &pii().with_origin("nul\0character")).await.unwrap();
    assert!(store.marks(&[note(&long)]).await.unwrap().covers(&pii()));
    assert!(store.marks(&[note(zero)]).await.unwrap().covers(&pii()));
    let many: Vec<_> = (0..=highwater_store::MOST_OBJECTS).map(|number| note(&number.to_string())).collect();
    assert!(matches!(store.mark(&many, &pii()).await, Err(StoreError::TooMany { .. })));
}
