//! Raising labels.

use highwater_core::annotation::DataClass;
use highwater_core::label::{Label, TextSet};
use highwater_core::trust::TrustLevel;

use super::{Backend, context};

fn pii() -> Label {
    Label::bottom().with_class(DataClass::Pii).with_origin("https://crm.example/")
}

fn web() -> Label {
    Label::bottom().with_open_world().with_origin("https://web.example/")
}

pub(crate) async fn a_label_is_there_when_it_is_joined<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let session = context(&store, "a");
    assert_eq!(session.current().await.unwrap().label, Label::bottom());
    let joined = session.join(&pii()).await.unwrap();
    assert!(joined.covers(&pii()));
    // On a store that others share, what was read is good for a moment only; a busy machine may take longer.
    let mut cached = None;
    for _ in 0..100 {
        assert_eq!(session.current().await.unwrap().label, pii());
        cached = session.cached();
        if cached.is_some() {
            break;
        }
    }
    assert_eq!(cached.unwrap().label, pii());
    assert_eq!(context(&store, "b").current().await.unwrap().label, Label::bottom());
}

pub(crate) async fn a_join_never_lowers_and_repeats_without_effect<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let session = context(&store, "a");
    session.join(&pii()).await.unwrap();
    session.join(&web()).await.unwrap();
    let both = pii().joined(&web());
    assert_eq!(session.current().await.unwrap().label, both);
    session.join(&pii()).await.unwrap();
    session.join(&both).await.unwrap();
    session.join(&Label::bottom().with_integrity(TrustLevel::Owner)).await.unwrap();
    let state = session.current().await.unwrap();
    assert_eq!((state.epoch, &state.label), (0, &both));
    store.close().await.unwrap();
    assert_eq!(context(&place.open().await, "a").current().await.unwrap().label, both);
}

pub(crate) async fn sixty_four_joins_at_once_lose_nothing<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let mut tasks = Vec::new();
    for number in 0..64 {
        let session = context(&store, "a");
        tasks.push(tokio::spawn(async move {
            let label = Label::bottom().with_origin(&format!("o{number:02}"));
            drop(session.join(&label).await.unwrap());
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let expected = Label::bottom().with_origins(&TextSet::of((0..64).map(|number| format!("o{number:02}"))));
    assert_eq!(context(&store, "a").current().await.unwrap().label, expected);
    store.close().await.unwrap();
    assert_eq!(context(&place.open().await, "a").current().await.unwrap().label, expected);
}

pub(crate) async fn sets_are_bounded_and_overflow_is_marked<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let session = context(&store, "a");
    for start in [0, 100, 200] {
        let origins = TextSet::of((start..start + 100).map(|number| format!("o{number:03}")));
        session.join(&Label::bottom().with_origins(&origins)).await.unwrap();
    }
    let label = session.current().await.unwrap().label.clone();
    assert!(label.bits().origins_open() && label.origins().members().len() == TextSet::LIMIT);
    assert_eq!(label.origins().contains("o000"), Some(true));
    assert_eq!(label.origins().contains("o299"), None);
    // What comes after all that are listed is not stored.
    let version = session.current().await.unwrap().version;
    session.join(&Label::bottom().with_origin("zzz")).await.unwrap();
    assert!(session.current().await.unwrap().version <= version + 1);
    // What comes before them takes the place of the last, and an origin of ours comes before all.
    session.join(&Label::bottom().with_origin("another")).await.unwrap();
    session.join(&Label::bottom().with_origin("mcp:web:fetch")).await.unwrap();
    let label = session.current().await.unwrap().label.clone();
    assert_eq!(label.origins().members().len(), TextSet::LIMIT);
    store.close().await.unwrap();
    let again = context(&place.open().await, "a").current().await.unwrap();
    assert_eq!(again.label, label);
    assert_eq!(again.label.origins().members().first().map(|first| &**first), Some("mcp:web:fetch"));
    assert_eq!(again.label.origins().contains("another"), Some(true));
    assert_eq!(again.label.origins().contains("o255"), None);
}

/// A label may have lost track of some origins long before it is full.
pub(crate) async fn an_open_set_goes_on_listing_what_comes<B: Backend>() {
    for defers in [false, true] {
        let place = B::new().await;
        let store = place.open().await;
        store.defer_origins(defers);
        let session = context(&store, "a");
        let first = Label::bottom().with_origins(&TextSet::of(["https://a.example/"]).opened());
        session.join(&first).await.unwrap();
        session.join(&Label::bottom().with_origin("mcp:web:fetch")).await.unwrap();
        store.close().await.unwrap();
        let label = context(&place.open().await, "a").current().await.unwrap().label.clone();
        let listed: Vec<_> = label.origins().members().iter().map(|text| &**text).collect();
        assert_eq!(listed, ["mcp:web:fetch", "https://a.example/"], "deferred: {defers}");
        assert!(label.bits().origins_open());
    }
}

pub(crate) async fn a_covered_label_writes_nothing<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let session = context(&store, "a");
    drop(session.join(&pii().joined(&web())).await.unwrap());
    let before = session.current().await.unwrap().version;
    if store.is_shared() {
        assert!(session.covered(&pii()).is_none(), "a copy alone proves nothing on a shared store");
        assert!(session.covered(&Label::bottom()).is_some());
    } else {
        assert!(session.covered(&pii()).unwrap().covers(&pii()));
        assert!(session.covered(&pii().with_malicious()).is_none());
    }
    drop(session.join(&pii()).await.unwrap());
    let after = session.current().await.unwrap().version;
    if store.is_shared() && after != before {
        // A replica forgets its copies once, when it begins to hear of the others. It then has to write to know.
        drop(session.join(&pii()).await.unwrap());
        assert_eq!(session.current().await.unwrap().version, after);
    } else {
        assert_eq!(after, before);
    }
}

pub(crate) async fn a_session_survives_the_store<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    drop(context(&store, "a").join(&pii()).await.unwrap());
    let before = context(&store, "a").current().await.unwrap();
    store.close().await.unwrap();
    drop(store);
    let store = place.open().await;
    let session = context(&store, "a");
    assert_eq!(session.cached(), None);
    assert_eq!(session.current().await.unwrap(), before);
}

pub(crate) async fn deferred_origins_arrive_a_little_later<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    store.defer_origins(true);
    let session = context(&store, "a");
    let mut wanted = pii();
    session.join(&pii()).await.unwrap();
    for number in 0..5 {
        let label = Label::bottom().with_origin(&format!("https://{number}.example/"));
        // Some bring a class, some nothing but an origin.
        let label = if number == 2 { label.with_class(DataClass::Financial) } else { label };
        wanted.join(&label);
        session.join(&label).await.unwrap();
        if !store.is_shared() {
            assert_eq!(session.current().await.unwrap().label, wanted, "the copy has them at once");
            assert_eq!(store.show(session.key()).await.unwrap().unwrap().session.label, wanted);
        }
    }
    // Whose words a stranger's are is known as soon as they are heard.
    let stranger = Label::bottom().with_open_world().with_origin("https://stranger.example/");
    wanted.join(&stranger);
    assert!(session.join(&stranger).await.unwrap().covers(&stranger));
    store.close().await.unwrap();
    assert_eq!(context(&place.open().await, "a").current().await.unwrap().label, wanted);
}
