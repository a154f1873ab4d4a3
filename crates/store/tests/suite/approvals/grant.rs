//! T3: a grant is used once, for what it was given for, while it counts.

use highwater_core::approval::GrantOutcome;
use highwater_core::decide::Effect;
use highwater_core::id::{Principal, SessionKey};
use highwater_passkey::ActionHash;
use highwater_store::{ApprovalRequest, Asked, RequestState, Store};

use super::super::Backend;
use super::scene::{Scene, definition, quorum};

async fn spend(store: &Store, request: &ApprovalRequest) -> GrantOutcome {
    let now = store.now().await.unwrap();
    store.consume_grant(&request.id, of(request), request.action, request.definition, now).await.unwrap()
}

/// Who asked, and in which conversation.
fn of(request: &ApprovalRequest) -> (&Principal, &SessionKey) {
    (&request.principal, &request.session)
}

async fn state(store: &Store, request: &ApprovalRequest) -> RequestState {
    store.request(&request.id).await.unwrap().unwrap().state
}

pub(crate) async fn t3_a_grant_is_used_once_by_whoever_comes_first<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let stores = [place.open().await, place.open_beside().await];
    let ada = scene.enroll(&stores[0], "ada").await;
    let request = scene.asked(&stores[0], Effect::Passkey, "a", None).await;
    assert_eq!(spend(&stores[0], &request).await, GrantOutcome::Pending);
    scene.approve(&stores[1], &ada, "a", &request, 2).await;
    assert_eq!(state(&stores[0], &request).await, RequestState::Approved);
    let calls: Vec<_> = (0..20)
        .map(|number| {
            let (store, request) = (stores[number % 2].clone(), request.clone());
            tokio::spawn(async move { spend(&store, &request).await })
        })
        .collect();
    let mut consumed = 0;
    for call in calls {
        match call.await.unwrap() {
            GrantOutcome::Consumed => consumed += 1,
            GrantOutcome::AlreadyConsumed => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(consumed, 1);
    assert_eq!(state(&stores[1], &request).await, RequestState::Consumed);
    // The next identical call is a new question.
    assert!(matches!(scene.ask(&stores[0], scene.request(Effect::Passkey, "a", None)).await, Asked::New(_)));
}

pub(crate) async fn t3_a_grant_is_for_one_principal_one_conversation_and_one_action<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let store = place.open().await;
    let ada = scene.enroll(&store, "ada").await;
    let request = scene.asked(&store, Effect::Passkey, "a", None).await;
    scene.approve(&store, &ada, "a", &request, 2).await;
    let now = store.now().await.unwrap();
    let (mallory, other) = (Principal::new("mallory"), ActionHash::from([9; 32]));
    // E23: another conversation of the same principal has agreed to nothing.
    let elsewhere = SessionKey::new("context/agent/b");
    let (asker, here) = of(&request);
    for (caller, action) in
        [((&mallory, here), request.action), ((asker, &elsewhere), request.action), ((asker, here), other)]
    {
        let outcome =
            store.consume_grant(&request.id, caller, action, request.definition, now).await.unwrap();
        assert_eq!(outcome, GrantOutcome::Unknown);
    }
    assert_eq!(spend(&store, &request).await, GrantOutcome::Consumed);
}

pub(crate) async fn g16_a_tool_that_changed_since_ends_the_grant<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, other) = (place.open().await, place.open_beside().await);
    let ada = scene.enroll(&store, "ada").await;
    let request = scene.asked(&store, Effect::Passkey, "a", None).await;
    scene.approve(&store, &ada, "a", &request, 2).await;
    let now = store.now().await.unwrap();
    let changed = Some(definition('b'));
    let outcome = store.consume_grant(&request.id, of(&request), request.action, changed, now).await.unwrap();
    assert_eq!(outcome, GrantOutcome::Changed);
    assert_eq!(state(&other, &request).await, RequestState::Expired);
    assert_eq!(spend(&other, &request).await, GrantOutcome::Expired);
}

pub(crate) async fn a_revoked_credential_counts_neither_for_the_quorum_nor_for_the_grant<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, other) = (place.open().await, place.open_beside().await);
    let (ada, ben) = (scene.enroll(&store, "ada").await, scene.enroll(&store, "ben").await);
    let cyd = scene.enroll(&store, "cyd").await;
    let request = scene.asked(&store, Effect::Passkey, "a", quorum(2, &["ada", "ben", "cyd"])).await;
    let now = store.now().await.unwrap();
    assert_eq!(scene.approve(&store, &ada, "a", &request, 2).await.request, Some(RequestState::Pending));
    // Twice the same person is one person.
    assert_eq!(scene.approve(&store, &ada, "a", &request, 3).await.request, Some(RequestState::Pending));
    assert!(other.revoke_credential(&ada.credential(), "ada", "lost", now).await.unwrap());
    assert_eq!(scene.approve(&store, &ben, "a", &request, 2).await.request, Some(RequestState::Pending));
    assert_eq!(scene.approve(&store, &cyd, "a", &request, 2).await.request, Some(RequestState::Approved));
    assert!(other.revoke_credential(&ben.credential(), "ben", "lost", now).await.unwrap());
    assert_eq!(spend(&store, &request).await, GrantOutcome::Short);
    assert_eq!(state(&other, &request).await, RequestState::Expired);
}

pub(crate) async fn a_button_answers_only_what_takes_no_passkey<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let store = place.open().await;
    let now = store.now().await.unwrap();
    let passkey = scene.asked(&store, Effect::Passkey, "a", None).await;
    assert!(!store.confirm(&passkey.id, "ada", None, now).await.unwrap());
    assert_eq!(state(&store, &passkey).await, RequestState::Pending);
    let confirm = scene.asked(&store, Effect::Confirm, "b", None).await;
    assert!(store.confirm(&confirm.id, "ada", None, now).await.unwrap());
    assert!(!store.confirm(&confirm.id, "ada", None, now).await.unwrap());
    assert_eq!(spend(&store, &confirm).await, GrantOutcome::Consumed);
    assert_eq!(spend(&store, &confirm).await, GrantOutcome::AlreadyConsumed);
    // A passkey answers what a button would have answered, too.
    let ada = scene.enroll(&store, "ada").await;
    let signed = scene.asked(&store, Effect::Confirm, "c", None).await;
    scene.approve(&store, &ada, "c", &signed, 2).await;
    assert_eq!(spend(&store, &signed).await, GrantOutcome::Consumed);
}

pub(crate) async fn a_no_takes_back_a_yes_that_no_call_rests_on<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, other) = (place.open().await, place.open_beside().await);
    let ada = scene.enroll(&store, "ada").await;
    let request = scene.asked(&store, Effect::Passkey, "a", None).await;
    scene.approve(&store, &ada, "a", &request, 2).await;
    let now = store.now().await.unwrap();
    assert!(other.decline(&request.id, "ada", now).await.unwrap());
    assert!(!other.decline(&request.id, "ada", now).await.unwrap());
    assert_eq!(spend(&store, &request).await, GrantOutcome::Declined);
}
