//! What ends with time, where a test says what time it is.

use highwater_core::approval::{GrantOutcome, RoundOutcome};
use highwater_core::decide::Effect;
use highwater_core::id::UserId;
use highwater_notation::Timestamp;
use highwater_store::{AskLimits, Asked, CodeTried, RequestState};

use super::super::Backend;
use super::scene::Scene;

fn later(now: Timestamp, millis: u64) -> Timestamp {
    Timestamp(now.0 + millis)
}

pub(crate) async fn t3_a_grant_lasts_two_minutes<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let store = place.open().await;
    let ada = scene.enroll(&store, "ada").await;
    for (path, counter, wait, outcome) in
        [("a", 2, 119_000, GrantOutcome::Consumed), ("b", 3, 121_000, GrantOutcome::Expired)]
    {
        let request = scene.asked(&store, Effect::Passkey, path, None).await;
        scene.approve(&store, &ada, path, &request, counter).await;
        let now = later(store.now().await.unwrap(), wait);
        let (caller, definition) = ((&request.principal, &request.session), request.definition);
        let used = store.consume_grant(&request.id, caller, request.action, definition, now).await.unwrap();
        assert_eq!(used, outcome, "{path}");
    }
}

pub(crate) async fn a_request_ends_after_five_minutes_and_a_no_after_ten<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let store = place.open().await;
    let (limits, now) = (AskLimits::default(), store.now().await.unwrap());
    let request = scene.asked(&store, Effect::Confirm, "a", None).await;
    assert!(
        !store.confirm(&request.id, "ada", None, later(now, 301_000)).await.unwrap(),
        "too late to agree"
    );
    let ended = store.expire_requests(&limits, later(now, 301_000)).await.unwrap();
    assert_eq!(ended, std::slice::from_ref(&request.id));
    assert_eq!(store.request(&request.id).await.unwrap().unwrap().state, RequestState::Expired);
    let request = scene.asked(&store, Effect::Confirm, "a", None).await;
    store.decline(&request.id, "ada", now).await.unwrap();
    let ask = |at| store.ask(scene.request(Effect::Confirm, "a", None), &limits, at);
    assert_eq!(ask(later(now, 599_000)).await.unwrap(), Asked::Declined { until: later(now, 600_000) });
    assert!(matches!(ask(later(now, 600_001)).await.unwrap(), Asked::New(_)));
}

pub(crate) async fn what_is_sensitive_is_cleared_when_it_has_run_out<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let store = place.open().await;
    let ada = scene.enroll(&store, "ada").await;
    let asked = async |path: &str| {
        let mut new = scene.request(Effect::Passkey, path, None);
        new.sensitive = true;
        match scene.ask(&store, new).await {
            Asked::New(request) => request,
            other => panic!("{other:?}"),
        }
    };
    let (waiting, granted, declined) = (asked("a").await, asked("b").await, asked("c").await);
    scene.approve(&store, &ada, "b", &granted, 2).await;
    let native = scene.challenge(&store, &ada, "d", None).await;
    let now = store.now().await.unwrap();
    store.decline(&declined.id, "ada", now).await.unwrap();
    let kept = async |wait: u64| {
        store.expire_requests(&AskLimits::default(), later(now, wait)).await.unwrap();
        let mut kept = Vec::new();
        for request in [&waiting, &granted, &declined] {
            kept.push(!store.request(&request.id).await.unwrap().unwrap().cleared);
        }
        let (found, _) = store.challenge_and_credential(&native.id, None).await.unwrap();
        kept.push(found.unwrap().0.arguments == native.arguments);
        kept
    };
    for (wait, expected) in [
        (50_000, [true, true, true, true]),
        (70_000, [true, true, true, false]),
        (121_000, [true, false, true, false]),
        (301_000, [false, false, true, false]),
        (601_000, [false, false, false, false]),
    ] {
        assert_eq!(kept(wait).await, expected, "after {wait}");
    }
}

pub(crate) async fn an_enrollment_window_lasts_ten_minutes<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let (ada, now) = (UserId::new("ada"), store.now().await.unwrap());
    store.open_window(&ada, Some([1; 32]), "terminal", now).await.unwrap();
    assert!(store.window(&ada, later(now, 599_000)).await.unwrap().is_some());
    assert!(store.window(&ada, later(now, 600_000)).await.unwrap().is_none());
    assert_eq!(store.try_code(&ada, [1; 32], later(now, 600_000)).await.unwrap(), CodeTried::Closed);
}

pub(crate) async fn g25_a_round_ends_with_its_time_and_is_remembered_for_longer<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    let now = store.now().await.unwrap();
    let (ends, limits) = (later(now, 600_000), AskLimits::default());
    assert_eq!(store.take_round("a", ends, ends).await.unwrap(), RoundOutcome::Expired);
    assert_eq!(store.take_round("a", ends, later(now, 599_999)).await.unwrap(), RoundOutcome::Taken);
    // Also by a clock that was set back since.
    store.expire_requests(&limits, later(ends, 59 * 60_000)).await.unwrap();
    assert_eq!(store.take_round("a", ends, now).await.unwrap(), RoundOutcome::AlreadyTaken);
    store.expire_requests(&limits, later(ends, 61 * 60_000)).await.unwrap();
    assert_eq!(store.take_round("a", ends, later(ends, 61 * 60_000)).await.unwrap(), RoundOutcome::Expired);
}

pub(crate) async fn g05_a_used_challenge_is_remembered_for_a_day<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let store = place.open().await;
    let ada = scene.enroll(&store, "ada").await;
    let record = scene.challenge(&store, &ada, "a", None).await;
    let verified = scene.sign(&store, &record, &ada, 2).await;
    scene.consume(&store, &verified, &record, None).await;
    let (limits, hour) = (AskLimits::default(), 60 * 60 * 1000);
    for (wait, kept) in [(hour, true), (24 * hour, true), (25 * hour, false)] {
        store.expire_requests(&limits, later(record.issued, wait)).await.unwrap();
        let (found, _) = store.challenge_and_credential(&record.id, None).await.unwrap();
        assert_eq!(found.is_some_and(|(found, _)| found.consumed), kept, "after {wait}");
    }
    // Its receipt and its credential stay.
    assert_eq!(store.receipts(scene.key.chain(), 0, 10).await.unwrap().len(), 1);
    assert_eq!(store.credentials(None).await.unwrap().len(), 1);
}
