//! T4 and what else stands: mandates, remembered answers, sensitive rows, and what survives the store.

use highwater_core::approval::{ConsumeOutcome, GrantOutcome, MandateOutcome, RoundOutcome};
use highwater_core::decide::Effect;
use highwater_core::id::{Principal, UserId};
use highwater_notation::{CanonicalArguments, Timestamp};
use highwater_receipts::{ChainLink, Receipt, SignedReceipt, check_chain};
use highwater_store::{
    AskLimits, ChallengeUsed, MandateUsed, ReceiptDraft, RememberedAnswer, RequestState, Store, StoredMandate,
};

use super::super::Backend;
use super::scene::{Person, Scene, definition, fresh, tool};

/// A mandate of two uses, and the receipt it rests on.
pub(super) async fn mandate(scene: &Scene, store: &Store, ada: &Person) -> (StoredMandate, Receipt) {
    let record = scene.challenge(store, ada, "a", None).await;
    let verified = scene.sign(store, &record, ada, 2).await;
    let used = scene.consume(store, &verified, &record, None).await;
    let receipt = used.receipt.unwrap().receipt().clone();
    let now = store.now().await.unwrap();
    let mandate = StoredMandate {
        id: fresh("mnd_"),
        receipt: receipt.id.clone(),
        user: ada.user.clone(),
        agent: scene.principal.clone(),
        terms: CanonicalArguments::read(Some(r#"{"tools":["files__write"]}"#)).unwrap(),
        definitions: "{}".into(),
        remaining: 2,
        not_before: Timestamp(now.0 - 1000),
        expires: Timestamp(now.0 + 600_000),
        revoked: None,
    };
    (mandate, receipt)
}

pub(super) fn use_draft(scene: &Scene, of: &Receipt) -> ReceiptDraft {
    let receipt = Receipt {
        id: fresh("rcp_"),
        chain: ChainLink::first(scene.key.chain()),
        signed: None,
        mandate: Some(of.id.clone()),
        ..of.clone()
    };
    ReceiptDraft::new(receipt, &scene.key)
}

pub(crate) async fn t4_the_last_use_of_a_mandate_goes_to_one_of_two<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let stores = [place.open().await, place.open_beside().await];
    let ada = scene.enroll(&stores[0], "ada").await;
    let (mandate, receipt) = mandate(&scene, &stores[0], &ada).await;
    let unfounded = StoredMandate { receipt: "rcp_none".to_owned(), ..mandate.clone() };
    assert!(!stores[0].put_mandate(&unfounded).await.unwrap(), "it rests on nothing");
    assert!(stores[0].put_mandate(&mandate).await.unwrap());
    let twin = StoredMandate { id: fresh("mnd_"), ..mandate.clone() };
    assert!(!stores[1].put_mandate(&twin).await.unwrap(), "one receipt makes one mandate");
    assert_eq!(stores[1].mandates(None, 10).await.unwrap(), std::slice::from_ref(&mandate));
    let now = stores[0].now().await.unwrap();
    let first = stores[0].use_mandate(&mandate.id, &use_draft(&scene, &receipt), now).await.unwrap();
    assert_eq!(first.outcome, MandateOutcome::Used { left: 1 });
    let uses: Vec<_> = (0..8)
        .map(|number| {
            let (store, id) = (stores[number % 2].clone(), mandate.id.clone());
            let draft = use_draft(&scene, &receipt);
            tokio::spawn(async move { store.use_mandate(&id, &draft, now).await.unwrap() })
        })
        .collect();
    let mut outcomes = Vec::new();
    for one in uses {
        let MandateUsed { outcome, receipt } = one.await.unwrap();
        assert_eq!(receipt.is_some(), outcome == MandateOutcome::Used { left: 0 });
        outcomes.push(outcome);
    }
    let used = outcomes.iter().filter(|outcome| **outcome == MandateOutcome::Used { left: 0 }).count();
    let spent = outcomes.iter().filter(|outcome| **outcome == MandateOutcome::Exhausted).count();
    assert_eq!((used, spent), (1, 7), "{outcomes:?}");
    let stored = stores[0].receipts(scene.key.chain(), 0, 100).await.unwrap();
    let receipts: Vec<_> = stored.iter().map(|it| SignedReceipt::parse(&it.text).unwrap()).collect();
    assert_eq!((receipts.len(), check_chain(&receipts)), (3, Vec::new()));
}

pub(crate) async fn g25_a_round_is_taken_by_one_of_many<B: Backend>() {
    let place = B::new().await;
    let stores = [place.open().await, place.open_beside().await];
    let now = stores[0].now().await.unwrap();
    let ends = Timestamp(now.0 + 600_000);
    for round in 0..4 {
        let id = format!("round-{round}");
        let all = (0..16).map(|number| {
            let (store, id) = (stores[number % 2].clone(), id.clone());
            tokio::spawn(async move { store.take_round(&id, ends, now).await.unwrap() })
        });
        let mut taken = 0;
        for one in all.collect::<Vec<_>>() {
            match one.await.unwrap() {
                RoundOutcome::Taken => taken += 1,
                other => assert_eq!(other, RoundOutcome::AlreadyTaken),
            }
        }
        assert_eq!(taken, 1, "{id}");
    }
    drop(stores);
    // Whatever ends, it stays taken.
    let again = place.open().await;
    assert_eq!(again.take_round("round-0", ends, now).await.unwrap(), RoundOutcome::AlreadyTaken);
    assert_eq!(again.take_round("another", ends, now).await.unwrap(), RoundOutcome::Taken);
    assert_eq!(again.take_round("late", Timestamp(now.0 - 1), now).await.unwrap(), RoundOutcome::Expired);
}

pub(crate) async fn a_mandate_ends_when_it_is_taken_back<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, other) = (place.open().await, place.open_beside().await);
    let ada = scene.enroll(&store, "ada").await;
    let (mandate, receipt) = mandate(&scene, &store, &ada).await;
    store.put_mandate(&mandate).await.unwrap();
    let now = store.now().await.unwrap();
    let outcome = |used: MandateUsed| used.outcome;
    let draft = use_draft(&scene, &receipt);
    assert_eq!(outcome(store.use_mandate("none", &draft, now).await.unwrap()), MandateOutcome::Unknown);
    assert!(other.revoke_mandate(&mandate.id, "ada", "done", now).await.unwrap());
    assert!(!other.revoke_mandate(&mandate.id, "ada", "done", now).await.unwrap());
    assert_eq!(outcome(store.use_mandate(&mandate.id, &draft, now).await.unwrap()), MandateOutcome::Revoked);
    assert_eq!(store.mandates(Some(&Principal::new("other")), 10).await.unwrap(), []);
    let found = &store.mandates(Some(&scene.principal), 10).await.unwrap()[0];
    assert_eq!((found.remaining, found.revoked.as_ref().map(|it| &*it.reason)), (2, Some("done")));
}

pub(crate) async fn an_answer_is_remembered_until_it_is_forgotten<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, other) = (place.open().await, place.open_beside().await);
    let now = store.now().await.unwrap();
    let answer = RememberedAnswer {
        id: fresh("rem_"),
        user: UserId::new("ada"),
        principal: scene.principal.clone(),
        session: None,
        tool: tool("files__write"),
        upstream: None,
        definition: Some(definition('a')),
        targets: Some("t".to_owned()),
        label: "{}".into(),
        told: "[]".into(),
        created: now,
        until: Timestamp(now.0 + 60_000),
    };
    store.remember(&answer).await.unwrap();
    let write = tool("files__write");
    let found = other.remembered(Some((&scene.principal, &write)), now).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0].targets, found[0].definition), (&answer.targets, answer.definition));
    assert_eq!(found[0].until.0 - found[0].created.0, 60_000);
    assert_eq!(other.remembered(Some((&scene.principal, &tool("x"))), now).await.unwrap(), []);
    assert_eq!(other.remembered(None, now).await.unwrap(), found);
    assert!(other.forget(&answer.id).await.unwrap());
    assert!(!store.forget(&answer.id).await.unwrap());
    assert_eq!(store.remembered(None, now).await.unwrap(), []);
}

pub(crate) async fn sensitive_arguments_are_cleared_when_nobody_needs_them<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, other) = (place.open().await, place.open_beside().await);
    let ada = scene.enroll(&store, "ada").await;
    let mut new = scene.request(Effect::Passkey, "a", None);
    new.sensitive = true;
    let highwater_store::Asked::New(request) = scene.ask(&store, new).await else { panic!("not new") };
    let plain = scene.asked(&store, Effect::Passkey, "b", None).await;
    let unused = scene.challenge(&store, &ada, "a", Some(&request)).await;
    let record = scene.challenge(&store, &ada, "a", Some(&request)).await;
    let verified = scene.sign(&store, &record, &ada, 2).await;
    let ChallengeUsed { outcome, .. } = scene.consume(&store, &verified, &record, Some(&request)).await;
    assert_eq!(outcome, ConsumeOutcome::Consumed);
    let (limits, now) = (AskLimits::default(), store.now().await.unwrap());
    store.expire_requests(&limits, now).await.unwrap();
    assert_eq!(
        other.request(&request.id).await.unwrap().unwrap().arguments,
        request.arguments,
        "a retry needs it"
    );
    let caller = (&request.principal, &request.session);
    let spent = store.consume_grant(&request.id, caller, request.action, request.definition, now);
    assert_eq!(spent.await.unwrap(), GrantOutcome::Consumed);
    // With its use, and not some time later.
    let cleared = other.request(&request.id).await.unwrap().unwrap();
    assert!(cleared.cleared && cleared.shown.is_empty() && cleared.action != request.action);
    assert_ne!(cleared.question, request.question, "it is made of the arguments, too");
    let twice = other.consume_grant(&request.id, caller, request.action, request.definition, now);
    assert_eq!(twice.await.unwrap(), GrantOutcome::AlreadyConsumed);
    assert_eq!((cleared.arguments.as_str(), cleared.state), ("{}", RequestState::Consumed));
    for (challenge, consumed) in [(&record, true), (&unused, false)] {
        let (found, _) = other.challenge_and_credential(&challenge.id, None).await.unwrap();
        let found = found.unwrap().0;
        assert_eq!((found.consumed, found.arguments.as_str()), (consumed, "{}"));
        assert_ne!(found.wire.action(), request.action);
        assert!(consumed || found.expires <= now);
    }
    assert_eq!(other.request(&plain.id).await.unwrap().unwrap().arguments, plain.arguments);
}

pub(crate) async fn approvals_outlive_the_store<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let store = place.open().await;
    let ada = scene.enroll(&store, "ada").await;
    let used = scene.asked(&store, Effect::Passkey, "a", None).await;
    scene.approve(&store, &ada, "a", &used, 2).await;
    let now = store.now().await.unwrap();
    let spend = |store: Store, request: highwater_store::ApprovalRequest| async move {
        let action = (request.action, request.definition);
        let caller = (&request.principal, &request.session);
        store.consume_grant(&request.id, caller, action.0, action.1, now).await.unwrap()
    };
    assert_eq!(spend(store.clone(), used.clone()).await, GrantOutcome::Consumed);
    let granted = scene.asked(&store, Effect::Passkey, "b", None).await;
    scene.approve(&store, &ada, "b", &granted, 3).await;
    let record = scene.challenge(&store, &ada, "c", None).await;
    let verified = scene.sign(&store, &record, &ada, 4).await;
    scene.consume(&store, &verified, &record, None).await;
    store.close().await.unwrap();
    let again = place.open().await;
    assert_eq!(spend(again.clone(), used).await, GrantOutcome::AlreadyConsumed);
    // Ended in order, so a yes is still a yes.
    assert_eq!(spend(again.clone(), granted).await, GrantOutcome::Consumed);
    let late = scene.consume(&again, &verified, &record, None).await;
    assert_eq!(late.outcome, ConsumeOutcome::AlreadyConsumed);
    assert_eq!(again.receipts(scene.key.chain(), 0, 10).await.unwrap().len(), 3);
}
