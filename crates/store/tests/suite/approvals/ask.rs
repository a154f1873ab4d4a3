//! Asking: identical calls meet, a no is remembered, and nobody asks without end.

use std::sync::Arc;

use highwater_core::decide::{Effect, QuestionDigest};
use highwater_core::id::SessionKey;
use highwater_notation::Timestamp;
use highwater_store::{AskLimits, Asked, Put, RequestFilter, RequestState};

use super::super::{Backend, PATIENCE};
use super::scene::{Scene, definition, tool};

pub(crate) async fn identical_calls_meet_in_one_request<B: Backend>() {
    let (place, scene) = (B::new().await, Arc::new(Scene::new()));
    let stores = [place.open().await, place.open_beside().await];
    let calls: Vec<_> = (0..12)
        .map(|number| {
            let (store, scene) = (stores[number % 2].clone(), Arc::clone(&scene));
            tokio::spawn(async move { scene.ask(&store, scene.request(Effect::Passkey, "a", None)).await })
        })
        .collect();
    let (mut new, mut joined) = (Vec::new(), Vec::new());
    for call in calls {
        match call.await.unwrap() {
            Asked::New(request) => new.push(request.id),
            Asked::Joined(request) => joined.push(request.id),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((new.len(), joined.len()), (1, 11));
    assert!(joined.iter().all(|id| *id == new[0]));
    assert_eq!(stores[0].requests(&RequestFilter::default(), 10).await.unwrap().len(), 1);
    // Granted: the identical retry finds it.
    let ada = scene.enroll(&stores[0], "ada").await;
    let request = stores[1].request(&new[0]).await.unwrap().unwrap();
    scene.approve(&stores[0], &ada, "a", &request, 2).await;
    let retry = scene.ask(&stores[1], scene.request(Effect::Passkey, "a", None)).await;
    assert!(matches!(retry, Asked::Granted(granted) if granted.id == new[0]));
}

pub(crate) async fn another_conversation_asks_for_itself<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, beside) = (place.open().await, place.open_beside().await);
    let ada = scene.enroll(&store, "ada").await;
    let elsewhere = || {
        let mut request = scene.request(Effect::Passkey, "a", None);
        request.session = SessionKey::new("context/agent/b");
        request
    };
    let first = scene.asked(&store, Effect::Passkey, "a", None).await;
    let Asked::New(second) = scene.ask(&beside, elsewhere()).await else { panic!("not new") };
    // What waits for one is not ended by the other, and a yes to one is none to the other.
    assert_eq!(store.request(&first.id).await.unwrap().unwrap().state, RequestState::Pending);
    scene.approve(&store, &ada, "a", &first, 2).await;
    let again = scene.ask(&store, elsewhere()).await;
    assert!(matches!(&again, Asked::Joined(joined) if joined.id == second.id), "{again:?}");
    let again = scene.ask(&beside, scene.request(Effect::Passkey, "a", None)).await;
    assert!(matches!(&again, Asked::Granted(granted) if granted.id == first.id), "{again:?}");
    // A no is a no to the same action whoever asks again.
    let now = store.now().await.unwrap();
    assert!(store.decline(&second.id, "ada", now).await.unwrap());
    assert!(matches!(scene.ask(&store, elsewhere()).await, Asked::Declined { .. }));
}

pub(crate) async fn g21_a_request_that_asks_something_else_is_ended_and_asked_anew<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let store = place.open().await;
    let first = scene.asked(&store, Effect::Passkey, "a", None).await;
    let mut other = scene.request(Effect::Passkey, "a", None);
    other.question = QuestionDigest::parse(&"d".repeat(64)).unwrap();
    let Asked::New(second) = scene.ask(&store, other).await else { panic!("not new") };
    assert_eq!(store.request(&first.id).await.unwrap().unwrap().state, RequestState::Expired);
    let mut other = scene.request(Effect::Passkey, "a", None);
    (other.question, other.definition) = (second.question, Some(definition('b')));
    assert!(matches!(scene.ask(&store, other).await, Asked::New(_)));
    assert_eq!(store.request(&second.id).await.unwrap().unwrap().state, RequestState::Expired);
}

pub(crate) async fn a_no_is_remembered_and_the_third_pauses_the_tool<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, other) = (place.open().await, place.open_beside().await);
    let now = store.now().await.unwrap();
    for path in ["a", "b", "c"] {
        let request = scene.asked(&store, Effect::Passkey, path, None).await;
        assert!(other.decline(&request.id, "ada", now).await.unwrap());
        let found = store.request(&request.id).await.unwrap().unwrap();
        assert_eq!((found.state, found.decided_by.as_deref()), (RequestState::Declined, Some("ada")));
        let again = scene.ask(&store, scene.request(Effect::Passkey, path, None)).await;
        if path == "c" {
            assert_eq!(again, Asked::Paused);
        } else {
            let until = Timestamp(found.decided.unwrap().0 + 600_000);
            assert_eq!(again, Asked::Declined { until });
        }
    }
    assert_eq!(scene.ask(&other, scene.request(Effect::Passkey, "d", None)).await, Asked::Paused);
    let paused = other.paused_tools(&AskLimits::default()).await.unwrap();
    assert_eq!((paused.len(), paused[0].declines, &paused[0].tool), (1, 3, &tool("files__delete")));
    assert!(store.resume_tool(&scene.principal, &tool("files__delete")).await.unwrap());
    assert!(matches!(scene.ask(&other, scene.request(Effect::Passkey, "d", None)).await, Asked::New(_)));
}

pub(crate) async fn a_yes_forgets_the_noes_before_it<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let store = place.open().await;
    let now = store.now().await.unwrap();
    for path in ["a", "b"] {
        let request = scene.asked(&store, Effect::Passkey, path, None).await;
        store.decline(&request.id, "ada", now).await.unwrap();
    }
    let ada = scene.enroll(&store, "ada").await;
    let request = scene.asked(&store, Effect::Passkey, "c", None).await;
    scene.approve(&store, &ada, "c", &request, 2).await;
    for path in ["d", "e"] {
        let request = scene.asked(&store, Effect::Passkey, path, None).await;
        store.decline(&request.id, "ada", now).await.unwrap();
    }
    assert!(matches!(scene.ask(&store, scene.request(Effect::Passkey, "f", None)).await, Asked::New(_)));
}

pub(crate) async fn five_may_wait_and_ten_challenges_be_drawn<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let store = place.open().await;
    let ada = scene.enroll(&store, "ada").await;
    let mut requests = Vec::new();
    for path in ["a", "b", "c", "d", "e"] {
        requests.push(scene.asked(&store, Effect::Passkey, path, None).await);
    }
    assert_eq!(scene.ask(&store, scene.request(Effect::Passkey, "f", None)).await, Asked::TooMany);
    let mut mine = scene.request(Effect::Passkey, "f", None);
    mine.principal = highwater_core::id::Principal::new("another");
    assert!(matches!(scene.ask(&store, mine).await, Asked::New(_)));
    assert!(store.end_request(&requests[4].id, store.now().await.unwrap()).await.unwrap());
    assert!(matches!(scene.ask(&store, scene.request(Effect::Passkey, "f", None)).await, Asked::New(_)));
    for _ in 0..10 {
        scene.challenge(&store, &ada, "a", Some(&requests[0])).await;
    }
    let record = scene.draw(&store, &ada, "a").await;
    assert!(matches!(store.put_challenge(&record, Some(&requests[0].id)).await.unwrap(), Put::TooMany));
    // Nor for what waits no more, nor for another action than the one that waits.
    let record = scene.draw(&store, &ada, "e").await;
    assert!(matches!(store.put_challenge(&record, Some(&requests[4].id)).await.unwrap(), Put::TooMany));
    assert!(matches!(store.put_challenge(&record, Some(&requests[1].id)).await.unwrap(), Put::TooMany));
}

pub(crate) async fn whoever_waits_here_hears_of_an_answer<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let store = place.open().await;
    let request = scene.asked(&store, Effect::Confirm, "a", None).await;
    let mut heard = store.watch_approvals();
    assert!(store.confirm(&request.id, "ada", None, store.now().await.unwrap()).await.unwrap());
    let heard = tokio::time::timeout(PATIENCE, heard.recv()).await;
    assert_eq!(heard.unwrap().unwrap(), request.id);
}
