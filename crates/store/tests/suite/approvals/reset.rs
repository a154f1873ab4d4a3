//! While all passkeys of a person are being reset, no transaction takes one for anything but stopping that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use highwater_core::approval::{ApprovalReason, ConsumeOutcome, GrantOutcome, MandateOutcome};
use highwater_core::decide::Effect;
use highwater_core::id::UserId;
use highwater_passkey::{ReservedAction, ToolName};
use highwater_store::{ApprovalRequest, Asked, Put, RequestState, Store};

use super::super::Backend;
use super::scene::{Person, Scene, quorum};
use super::standing::{mandate, use_draft};

async fn begin(store: &Store, who: &Person, delay_ms: u64) {
    let now = store.now().await.unwrap();
    assert!(store.begin_reset(&who.user, "root", delay_ms, now).await.unwrap());
}

async fn spend(store: &Store, request: &ApprovalRequest) -> GrantOutcome {
    let now = store.now().await.unwrap();
    let (caller, definition) = ((&request.principal, &request.session), request.definition);
    store.consume_grant(&request.id, caller, request.action, definition, now).await.unwrap()
}

pub(crate) async fn t1_a_reset_voids_open_challenges_and_lets_no_new_one_be_issued<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, other) = (place.open().await, place.open_beside().await);
    let (ada, ben) = (scene.enroll(&store, "ada").await, scene.enroll(&store, "ben").await);
    let request = scene.asked(&store, Effect::Passkey, "b", None).await;
    let open = scene.challenge(&store, &ada, "a", None).await;
    let early = scene.sign(&store, &open, &ada, 2).await;
    let of_page = scene.challenge(&store, &ada, "b", Some(&request)).await;
    let on_page = scene.sign(&store, &of_page, &ada, 3).await;
    begin(&other, &ada, 60_000).await;
    // Signed and verified before, and no more worth for it.
    for (verified, record, of) in [(&early, &open, None), (&on_page, &of_page, Some(&request))] {
        assert_ne!(scene.consume(&store, verified, record, of).await.outcome, ConsumeOutcome::Consumed);
        let refused = scene.judge(&store, record, &ada, 4, false).await.unwrap_err();
        assert_eq!(refused.reason, ApprovalReason::ChallengeExpired);
    }
    for (path, of) in [("a", None), ("b", Some(&request.id))] {
        let drawn = scene.draw(&store, &ada, path).await;
        assert!(matches!(store.put_challenge(&drawn, of).await.unwrap(), Put::Resetting), "{path}");
    }
    // Of others nothing is stopped.
    let record = scene.challenge(&store, &ben, "a", None).await;
    let verified = scene.sign(&store, &record, &ben, 2).await;
    assert_eq!(scene.consume(&store, &verified, &record, None).await.outcome, ConsumeOutcome::Consumed);
    assert!(other.cancel_reset(&ada.user).await.unwrap());
    // What was void stays void.
    assert_eq!(scene.consume(&store, &early, &open, None).await.outcome, ConsumeOutcome::Expired);
    let used = scene.approve(&store, &ada, "b", &request, 5).await;
    assert_eq!((used.outcome, used.request), (ConsumeOutcome::Consumed, Some(RequestState::Approved)));
}

pub(crate) async fn an_old_passkey_signs_that_its_reset_is_stopped_and_nothing_else<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let store = place.open().await;
    let ada = scene.enroll(&store, "ada").await;
    begin(&store, &ada, 60_000).await;
    let reserved = |act| {
        let (scene, store, ada) = (&scene, &store, &ada);
        async move {
            let mut drawn = scene.draw(store, ada, "a").await;
            (drawn.tool, drawn.upstream, drawn.definition) = (ToolName::reserved(act), None, None);
            store.put_challenge(&drawn, None).await.unwrap()
        }
    };
    for act in [ReservedAction::Enroll, ReservedAction::Delegate] {
        assert!(matches!(reserved(act).await, Put::Resetting), "{act:?}");
    }
    let Put::Done(record) = reserved(ReservedAction::Recover).await else { panic!("it cannot be stopped") };
    let used = store.challenge_and_credential(&record.id, Some(&ada.credential())).await.unwrap();
    assert!(used.0.is_some_and(|(found, _)| !found.consumed && found.expires > found.issued));
}

pub(crate) async fn t2_t3_a_signature_of_somebody_in_reset_counts_in_no_quorum<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, other) = (place.open().await, place.open_beside().await);
    let ada = scene.enroll(&store, "ada").await;
    let (ben, cyd) = (scene.enroll(&store, "ben").await, scene.enroll(&store, "cyd").await);
    let of_three = || quorum(2, &["ada", "ben", "cyd"]);
    let request = scene.asked(&store, Effect::Passkey, "a", of_three()).await;
    let granted = scene.asked(&store, Effect::Passkey, "b", of_three()).await;
    let pending = Some(RequestState::Pending);
    assert_eq!(scene.approve(&store, &ben, "a", &request, 2).await.request, pending);
    assert_eq!(scene.approve(&store, &ben, "b", &granted, 3).await.request, pending);
    let used = scene.approve(&store, &cyd, "b", &granted, 2).await;
    assert_eq!(used.request, Some(RequestState::Approved));
    begin(&other, &ben, 60_000).await;
    // T2: the second signature is the first.
    assert_eq!(scene.approve(&store, &cyd, "a", &request, 3).await.request, pending);
    // T3: what was granted by two is granted by one.
    assert_eq!(spend(&store, &granted).await, GrantOutcome::Short);
    let used = scene.approve(&store, &ada, "a", &request, 2).await;
    assert_eq!(used.request, Some(RequestState::Approved));
    let found = other.request(&request.id).await.unwrap().unwrap();
    assert_eq!(found.decided_by.as_deref(), Some("ada, cyd"));
    assert_eq!(spend(&other, &request).await, GrantOutcome::Consumed);
}

pub(crate) async fn t3_a_reset_voids_what_was_granted_and_not_used<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, other) = (place.open().await, place.open_beside().await);
    let ada = scene.enroll(&store, "ada").await;
    let signed = scene.asked(&store, Effect::Passkey, "a", None).await;
    scene.approve(&store, &ada, "a", &signed, 2).await;
    let pressed = scene.asked(&store, Effect::Confirm, "b", None).await;
    let now = store.now().await.unwrap();
    assert!(store.confirm(&pressed.id, "ada", Some(&ada.user), now).await.unwrap());
    begin(&other, &ada, 60_000).await;
    other.cancel_reset(&ada.user).await.unwrap();
    for request in [&signed, &pressed] {
        assert_eq!(spend(&store, request).await, GrantOutcome::Expired);
    }
}

pub(crate) async fn no_passkey_in_reset_is_asked_for_and_no_button_behind_one_counts<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, other) = (place.open().await, place.open_beside().await);
    let ada = scene.enroll(&store, "ada").await;
    let confirm = scene.asked(&store, Effect::Confirm, "a", None).await;
    begin(&other, &ada, 60_000).await;
    assert_eq!(scene.ask(&store, scene.request(Effect::Passkey, "b", None)).await, Asked::Resetting);
    let now = store.now().await.unwrap();
    assert!(!store.confirm(&confirm.id, "ada", Some(&ada.user), now).await.unwrap());
    assert_eq!(other.request(&confirm.id).await.unwrap().unwrap().state, RequestState::Pending);
    // The operator, whom no passkey let in.
    assert!(store.confirm(&confirm.id, "operator", None, now).await.unwrap());
}

pub(crate) async fn t4_a_mandate_rests_while_its_signer_is_in_reset_and_ends_with_it<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, other) = (place.open().await, place.open_beside().await);
    let ada = scene.enroll(&store, "ada").await;
    let (mandate, receipt) = mandate(&scene, &store, &ada).await;
    store.put_mandate(&mandate).await.unwrap();
    let used = || {
        let (store, id, draft) = (store.clone(), mandate.id.clone(), use_draft(&scene, &receipt));
        async move { store.use_mandate(&id, &draft, store.now().await.unwrap()).await.unwrap() }
    };
    begin(&other, &ada, 60_000).await;
    let refused = used().await;
    assert_eq!((refused.outcome, refused.receipt.is_some()), (MandateOutcome::Resetting, false));
    other.cancel_reset(&ada.user).await.unwrap();
    assert_eq!(used().await.outcome, MandateOutcome::Used { left: 1 }, "nothing was counted meanwhile");
    begin(&other, &ada, 0).await;
    assert!(other.complete_reset(&ada.user, "root", other.now().await.unwrap()).await.unwrap());
    assert_eq!(used().await.outcome, MandateOutcome::Revoked);
}

/// Challenges are issued and signed while the reset begins, each before or after it and never in between.
pub(crate) async fn whatever_happens_at_once_nothing_is_signed_after_a_reset_has_begun<B: Backend>() {
    let (place, scene) = (B::new().await, Arc::new(Scene::new()));
    let stores = [place.open().await, place.open_beside().await];
    for round in 0..3 {
        let name = format!("ada{round}");
        let ada = Arc::new(scene.enroll(&stores[0], &name).await);
        let (begun, counter) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(2)));
        let signing = |number: usize| {
            let (store, scene) = (stores[number % 2].clone(), Arc::clone(&scene));
            let (ada, begun, counter) = (Arc::clone(&ada), Arc::clone(&begun), Arc::clone(&counter));
            tokio::spawn(async move {
                for path in 0..30 {
                    let drawn = scene.draw(&store, &ada, &format!("{number}-{path}")).await;
                    let Put::Done(record) = store.put_challenge(&drawn, None).await.unwrap() else { return };
                    let counter = counter.fetch_add(1, Ordering::SeqCst);
                    // Another signature of the same passkey may have been faster.
                    let verified = scene.judge(&store, &record, &ada, counter, false).await;
                    let Ok(verified) = verified else { continue };
                    let late = begun.load(Ordering::SeqCst);
                    let used = scene.consume(&store, &verified, &record, None).await;
                    assert!(!(late && used.outcome == ConsumeOutcome::Consumed), "{number} {path}");
                }
            })
        };
        let tasks: Vec<_> = (0..4).map(signing).collect();
        tokio::task::yield_now().await;
        begin(&stores[1], &ada, 60_000).await;
        begun.store(true, Ordering::SeqCst);
        for task in tasks {
            task.await.unwrap();
        }
        let drawn = scene.draw(&stores[0], &ada, "after").await;
        assert!(matches!(stores[0].put_challenge(&drawn, None).await.unwrap(), Put::Resetting));
        assert!(stores[0].resets().await.unwrap().iter().any(|reset| reset.user == UserId::new(&*name)));
    }
}
