//! Enrolling: one installation, windows with codes, enrollments that are finished once.

use highwater_core::approval::{CredentialStanding, PendingEnrollment};
use highwater_core::id::{Principal, UserId};
use highwater_passkey::Nonce;
use highwater_store::{Added, CodeTried, StoreError};

use super::super::Backend;
use super::scene::{Person, Scene};

pub(crate) async fn s36_the_installation_is_made_once_and_keeps_its_page<B: Backend>() {
    let place = B::new().await;
    let (store, other) = (place.open().await, place.open_beside().await);
    let made = store.installation("localhost", "http://localhost:7412").await.unwrap();
    assert_eq!(other.installation("localhost", "http://localhost:7412").await.unwrap(), made);
    assert_eq!(made.server_id.as_str().len(), 36);
    // Nobody has a passkey yet, so nothing is bound to a page.
    let third = place.open_beside().await;
    let elsewhere = third.installation("localhost", "http://localhost:7413").await.unwrap();
    assert_eq!((&elsewhere.server_id, elsewhere.origin.as_str()), (&made.server_id, "http://localhost:7413"));
    // The first passkey says which page it is, for all that share the database.
    let scene = Scene::new();
    scene.enroll(&store, "ada").await;
    if third.is_shared() {
        let now = third.now().await.unwrap();
        let second = scene.registered(&Person::new("ben"));
        let refused = third.add_credential(&second, "terminal", CredentialStanding::Active, now).await;
        assert!(matches!(refused, Err(StoreError::OtherOrigin { .. })), "{refused:?}");
    }
    for (rp_id, origin) in [("localhost", "http://localhost:7413"), ("example.com", "http://localhost:7412")]
    {
        let error = other.installation(rp_id, origin).await.unwrap_err();
        assert!(matches!(error, StoreError::OtherOrigin { .. }), "{error}");
        assert!(error.to_string().contains("http://localhost:7412"), "{error}");
    }
    store.close().await.unwrap();
    let again = place.open().await.installation("localhost", "http://localhost:7412").await.unwrap();
    assert_eq!(again, made);
}

pub(crate) async fn a_person_has_one_handle<B: Backend>() {
    let place = B::new().await;
    let (store, other) = (place.open().await, place.open_beside().await);
    let (ada, ben) = (UserId::new("ada"), UserId::new("ben"));
    let handle = store.user_handle(&ada).await.unwrap();
    assert_eq!(other.user_handle(&ada).await.unwrap(), handle);
    assert_ne!(other.user_handle(&ben).await.unwrap(), handle);
    assert_eq!(store.approvers().await.unwrap(), [ada, ben]);
}

pub(crate) async fn five_wrong_codes_close_the_window<B: Backend>() {
    let place = B::new().await;
    let (store, other) = (place.open().await, place.open_beside().await);
    let (ada, now) = (UserId::new("ada"), store.now().await.unwrap());
    assert_eq!(store.try_code(&ada, [1; 32], now).await.unwrap(), CodeTried::Closed);
    let opened = store.open_window(&ada, Some([1; 32]), "terminal", now).await.unwrap();
    assert_eq!(opened.expires.0 - opened.opened.0, 600_000);
    assert_eq!(other.window(&ada, now).await.unwrap(), Some(opened));
    for left in [4, 3] {
        assert_eq!(other.try_code(&ada, [2; 32], now).await.unwrap(), CodeTried::Wrong { left });
        assert_eq!(store.try_code(&ada, [1; 32], now).await.unwrap(), CodeTried::Right);
    }
    for left in [2, 1, 0] {
        assert_eq!(store.try_code(&ada, [2; 32], now).await.unwrap(), CodeTried::Wrong { left });
    }
    assert_eq!(other.try_code(&ada, [1; 32], now).await.unwrap(), CodeTried::Closed);
    assert_eq!(other.window(&ada, now).await.unwrap(), None);
    // A window for somebody who has a passkey has no code to guess.
    store.open_window(&ada, None, "terminal", now).await.unwrap();
    assert_eq!(store.try_code(&ada, [0; 32], now).await.unwrap(), CodeTried::Closed);
    assert!(other.close_window(&ada).await.unwrap());
    assert_eq!(store.window(&ada, now).await.unwrap(), None);
}

pub(crate) async fn g09_an_enrollment_is_finished_once_and_a_new_one_replaces_it<B: Backend>() {
    let place = B::new().await;
    let (store, other) = (place.open().await, place.open_beside().await);
    let (principal, now) = (Principal::new("agent"), store.now().await.unwrap());
    let begin = |digit| {
        PendingEnrollment::begin(principal.clone(), UserId::new("ada"), *b"handle", Nonce([digit; 32]), now)
    };
    store.put_enrollment(&begin(1)).await.unwrap();
    store.put_enrollment(&begin(2)).await.unwrap();
    assert!(other.take_enrollment(&Principal::new("mallory")).await.unwrap().is_none());
    let takes: Vec<_> = [&store, &other, &store, &other]
        .into_iter()
        .map(|store| {
            let (store, principal) = (store.clone(), principal.clone());
            tokio::spawn(async move { store.take_enrollment(&principal).await.unwrap() })
        })
        .collect();
    let mut taken = Vec::new();
    for take in takes {
        taken.extend(take.await.unwrap());
    }
    assert_eq!(taken.len(), 1);
    assert_eq!((taken[0].challenge, &*taken[0].user_handle), (Nonce([2; 32]), &b"handle"[..]));
    assert!(taken[0].expires > now);
}

pub(crate) async fn s19_s20_a_credential_is_kept_whole_and_added_once<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, other) = (place.open().await, place.open_beside().await);
    let (ada, now) = (Person::new("ada"), store.now().await.unwrap());
    let new = scene.registered(&ada);
    let dormant = CredentialStanding::Dormant;
    assert_eq!(store.add_credential(&new, "mcp: agent", dormant, now).await.unwrap(), Added::Done);
    assert_eq!(other.add_credential(&new, "eve", dormant, now).await.unwrap(), Added::AlreadyEnrolled);
    let found = &other.credentials(None).await.unwrap()[0];
    let (kept, registration) = (&found.credential, &new.registration);
    assert_eq!((&kept.id, &kept.key, kept.counter), (&registration.id, &registration.key, 1));
    assert_eq!((&kept.transports, &kept.user_handle), (&registration.transports, &new.user_handle));
    assert_eq!((found.aaguid, &found.format), (registration.aaguid, &registration.format));
    assert_eq!(
        (&found.attestation, &found.client_data),
        (&registration.attestation_object, &registration.client_data)
    );
    assert_eq!((kept.standing, &*found.enrolled_by), (dormant, "mcp: agent"));
    assert!(store.confirm_credential(&kept.id, "ada", now).await.unwrap());
    assert!(!store.confirm_credential(&kept.id, "eve", now).await.unwrap());
    let confirmed = &other.credentials(Some(&ada.user)).await.unwrap()[0];
    assert_eq!(confirmed.credential.standing, CredentialStanding::Active);
    assert_eq!(confirmed.confirmed.as_ref().unwrap().1, "ada");
    assert_eq!(confirmed.name, "", "nobody has named it");
    assert!(other.rename_credential(&kept.id, "Blue key").await.unwrap());
    assert!(other.revoke_credential(&kept.id, "ada", "lost", now).await.unwrap());
    assert!(!store.rename_credential(&kept.id, "Red key").await.unwrap(), "what has ended keeps its name");
    assert!(!store.confirm_credential(&kept.id, "eve", now).await.unwrap());
    store.close().await.unwrap();
    // Its row stays, so that receipts can be checked, and its id is not enrolled again.
    let again = place.open().await;
    let revoked = &again.credentials(None).await.unwrap()[0];
    assert_eq!((revoked.credential.standing, &*revoked.name), (CredentialStanding::Revoked, "Blue key"));
    assert_eq!(revoked.revoked.as_ref().unwrap().reason, "lost");
    assert_eq!(again.add_credential(&new, "eve", dormant, now).await.unwrap(), Added::AlreadyEnrolled);
}

pub(crate) async fn starting_over_waits_and_can_be_stopped<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, other) = (place.open().await, place.open_beside().await);
    let (ada, ben) = (scene.enroll(&store, "ada").await, scene.enroll(&store, "ben").await);
    let now = store.now().await.unwrap();
    assert!(store.begin_reset(&ada.user, "root", 60_000, now).await.unwrap());
    assert!(!other.begin_reset(&ada.user, "root", 0, now).await.unwrap(), "it is under way");
    assert!(!other.complete_reset(&ada.user, "root", now).await.unwrap(), "it is not due");
    let resets = other.resets().await.unwrap();
    assert_eq!((resets.len(), resets[0].due.0 - resets[0].begun.0), (1, 60_000));
    assert!(other.cancel_reset(&ada.user).await.unwrap());
    assert!(!store.cancel_reset(&ada.user).await.unwrap());
    assert!(store.begin_reset(&ada.user, "root", 0, now).await.unwrap());
    assert!(other.complete_reset(&ada.user, "root", store.now().await.unwrap()).await.unwrap());
    let standing = |of: &Person| {
        let (store, user) = (store.clone(), of.user.clone());
        async move { store.credentials(Some(&user)).await.unwrap()[0].credential.standing }
    };
    assert_eq!(standing(&ada).await, CredentialStanding::Revoked);
    assert_eq!(standing(&ben).await, CredentialStanding::Active);
}
