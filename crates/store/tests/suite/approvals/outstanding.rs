//! What is outstanding when a gateway ends without an end in order, or a backup is restored.

use highwater_core::approval::{
    ApprovalReason, ChallengeRecord, CredentialStanding, GrantOutcome, PendingEnrollment,
};
use highwater_core::decide::Effect;
use highwater_core::id::UserId;
use highwater_passkey::Nonce;
use highwater_store::{ApprovalRequest, RequestState, Store};

use super::scene::{Person, Scene};

/// One of everything that can be outstanding, and one signature that was used.
pub(crate) struct Outstanding {
    scene: Scene,
    ada: Person,
    pending: ApprovalRequest,
    granted: ApprovalRequest,
    challenge: ChallengeRecord,
}

impl Outstanding {
    pub(crate) async fn leave(store: &Store) -> Self {
        let scene = Scene::new();
        let ada = scene.enroll(store, "ada").await;
        let now = store.now().await.unwrap();
        let granted = scene.asked(store, Effect::Passkey, "a", None).await;
        scene.approve(store, &ada, "a", &granted, 2).await;
        let pending = scene.asked(store, Effect::Passkey, "b", None).await;
        let challenge = scene.challenge(store, &ada, "c", None).await;
        store.open_window(&ada.user, Some([1; 32]), "terminal", now).await.unwrap();
        let user = UserId::new("ada");
        let begun = PendingEnrollment::begin(scene.principal.clone(), user, *b"handle", Nonce([1; 32]), now);
        store.put_enrollment(&begun).await.unwrap();
        Self { scene, ada, pending, granted, challenge }
    }

    /// Nothing of it counts, and what was signed is still on record.
    pub(crate) async fn is_void(&self, store: &Store) {
        let now = store.now().await.unwrap();
        for request in [&self.pending, &self.granted] {
            assert_eq!(store.request(&request.id).await.unwrap().unwrap().state, RequestState::Expired);
            let (caller, definition) = ((&request.principal, &request.session), request.definition);
            let used = store.consume_grant(&request.id, caller, request.action, definition, now).await;
            assert_eq!(used.unwrap(), GrantOutcome::Expired);
        }
        let refused = self.scene.judge(store, &self.challenge, &self.ada, 3, false).await.unwrap_err();
        assert_eq!(refused.reason, ApprovalReason::ChallengeExpired);
        assert!(store.window(&self.ada.user, now).await.unwrap().is_none());
        assert!(store.take_enrollment(&self.scene.principal).await.unwrap().is_none());
        let known = store.credentials(None).await.unwrap();
        assert_eq!(known[0].credential.standing, CredentialStanding::Active);
        assert_eq!(store.receipts(self.scene.key.chain(), 0, 10).await.unwrap().len(), 1);
    }

    /// All of it counts as before.
    pub(crate) async fn counts(&self, store: &Store) {
        let now = store.now().await.unwrap();
        let state = store.request(&self.pending.id).await.unwrap().unwrap().state;
        assert_eq!(state, RequestState::Pending);
        let ApprovalRequest { id, principal, session, action, definition, .. } = &self.granted;
        let used = store.consume_grant(id, (principal, session), *action, *definition, now).await.unwrap();
        assert_eq!(used, GrantOutcome::Consumed);
        self.scene.judge(store, &self.challenge, &self.ada, 3, false).await.unwrap();
        assert!(store.window(&self.ada.user, now).await.unwrap().is_some());
        assert!(store.take_enrollment(&self.scene.principal).await.unwrap().is_some());
    }
}
