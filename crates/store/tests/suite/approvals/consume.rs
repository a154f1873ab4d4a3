//! T1 and T2: a challenge is consumed once, after everything else holds, and leaves its receipt.

use std::sync::Arc;

use highwater_core::approval::{ApprovalReason, ConsumeOutcome, CredentialStanding};
use highwater_core::decide::Effect;
use highwater_notation::Timestamp;
use highwater_receipts::{Expected, Part, SignedReceipt, check, check_chain};
use highwater_store::{RequestState, Store};
use highwater_testkit::passkey::{ORIGIN, RP_ID};

use super::super::Backend;
use super::scene::{Person, Scene, quorum};

async fn counter(store: &Store, person: &Person) -> u32 {
    let known = store.credentials(Some(&person.user)).await.unwrap();
    known.iter().find(|it| it.credential.id == person.credential()).unwrap().credential.counter
}

pub(crate) async fn s52_a_bad_signature_leaves_the_challenge_for_a_good_one<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let store = place.open().await;
    let ada = scene.enroll(&store, "ada").await;
    let record = scene.challenge(&store, &ada, "a", None).await;
    let refused = scene.judge(&store, &record, &ada, 2, true).await.unwrap_err();
    assert_eq!(refused.reason, ApprovalReason::SignatureVerificationFailed);
    let verified = scene.sign(&store, &record, &ada, 2).await;
    let used = scene.consume(&store, &verified, &record, None).await;
    assert_eq!((used.outcome, used.request), (ConsumeOutcome::Consumed, None));
    assert!(verified.spend(used.outcome).is_ok());
    // Used up is used up (S44, G5).
    let again = scene.judge(&store, &record, &ada, 3, false).await.unwrap_err();
    assert_eq!(again.reason, ApprovalReason::ChallengeConsumed);
}

pub(crate) async fn s53_the_counter_of_the_assertion_is_stored<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, other) = (place.open().await, place.open_beside().await);
    let ada = scene.enroll(&store, "ada").await;
    assert_eq!(counter(&other, &ada).await, 1);
    let record = scene.challenge(&store, &ada, "a", None).await;
    let verified = scene.sign(&store, &record, &ada, 9).await;
    scene.consume(&store, &verified, &record, None).await;
    assert_eq!(counter(&other, &ada).await, 9);
    let record = scene.challenge(&other, &ada, "a", None).await;
    let refused = scene.judge(&other, &record, &ada, 9, false).await.unwrap_err();
    assert_eq!(refused.reason, ApprovalReason::SignatureCounterRegression);
}

pub(crate) async fn s57_fifty_parallel_calls_one_consumes<B: Backend>() {
    let (place, scene) = (B::new().await, Arc::new(Scene::new()));
    let stores = [place.open().await, place.open_beside().await];
    let ada = Arc::new(scene.enroll(&stores[0], "ada").await);
    let record = scene.challenge(&stores[0], &ada, "a", None).await;
    // Each has a signature that holds, with a counter of its own, before any of them consumes.
    let mut signed = Vec::new();
    for number in 0..50 {
        let verified = scene.sign(&stores[number % 2], &record, &ada, 2 + number as u32).await;
        signed.push((scene.draft(&stores[0], &verified, &record).await, verified));
    }
    let now = stores[0].now().await.unwrap();
    let calls: Vec<_> = signed
        .into_iter()
        .enumerate()
        .map(|(number, (draft, verified))| {
            let store = stores[number % 2].clone();
            tokio::spawn(async move { store.consume(&verified, None, &draft, now).await.unwrap().outcome })
        })
        .collect();
    let (mut consumed, mut late) = (0, 0);
    for call in calls {
        match call.await.unwrap() {
            ConsumeOutcome::Consumed => consumed += 1,
            ConsumeOutcome::AlreadyConsumed => late += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((consumed, late), (1, 49));
    assert_eq!(stores[0].receipts(scene.key.chain(), 0, 100).await.unwrap().len(), 1);
}

pub(crate) async fn g06_whoever_loses_the_race_is_told_that_it_is_consumed<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let store = place.open().await;
    let ada = scene.enroll(&store, "ada").await;
    let record = scene.challenge(&store, &ada, "a", None).await;
    // The same assertion, verified twice: its counter is not higher the second time either.
    let (first, second) =
        (scene.sign(&store, &record, &ada, 2).await, scene.sign(&store, &record, &ada, 2).await);
    assert_eq!(scene.consume(&store, &first, &record, None).await.outcome, ConsumeOutcome::Consumed);
    let late = scene.consume(&store, &second, &record, None).await;
    assert_eq!(late.outcome, ConsumeOutcome::AlreadyConsumed);
    assert!(late.receipt.is_none());
    assert_eq!(second.spend(late.outcome).unwrap_err(), ApprovalReason::ChallengeConsumed);
}

pub(crate) async fn g24_a_challenge_and_its_credential_are_of_one_moment<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, other) = (place.open().await, place.open_beside().await);
    let ada = scene.enroll(&store, "ada").await;
    for round in 2..12 {
        let record = scene.challenge(&store, &ada, "a", None).await;
        let verified = scene.sign(&store, &record, &ada, round).await;
        let draft = scene.draft(&store, &verified, &record).await;
        let now = store.now().await.unwrap();
        let (id, credential, reader) = (record.id.clone(), ada.credential(), other.clone());
        let reading = tokio::spawn(async move {
            for _ in 0..20 {
                let (found, known) = reader.challenge_and_credential(&id, Some(&credential)).await.unwrap();
                let (consumed, counter) = (found.unwrap().0.consumed, known.unwrap().credential.counter);
                // A raised counter beside an unused challenge would call the loser of a race a clone.
                assert_eq!(consumed, counter == round, "round {round}");
            }
        });
        let used = store.consume(&verified, None, &draft, now).await.unwrap();
        assert_eq!(used.outcome, ConsumeOutcome::Consumed);
        reading.await.unwrap();
    }
}

pub(crate) async fn g26_of_two_challenges_in_flight_the_lower_counter_fails_and_stays<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let store = place.open().await;
    let ada = scene.enroll(&store, "ada").await;
    let lower = scene.challenge(&store, &ada, "a", None).await;
    let higher = scene.challenge(&store, &ada, "b", None).await;
    let (low, high) = (scene.sign(&store, &lower, &ada, 2).await, scene.sign(&store, &higher, &ada, 3).await);
    assert_eq!(scene.consume(&store, &high, &higher, None).await.outcome, ConsumeOutcome::Consumed);
    let late = scene.consume(&store, &low, &lower, None).await;
    assert_eq!(late.outcome, ConsumeOutcome::CounterRegressed);
    assert_eq!(counter(&store, &ada).await, 3);
    // Its challenge is unused, so the page asks again and it works.
    let again = scene.sign(&store, &lower, &ada, 4).await;
    assert_eq!(scene.consume(&store, &again, &lower, None).await.outcome, ConsumeOutcome::Consumed);
}

pub(crate) async fn s45_a_challenge_that_ended_meanwhile_is_not_consumed<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let store = place.open().await;
    let ada = scene.enroll(&store, "ada").await;
    let mut record = scene.draw(&store, &ada, "a").await;
    record.expires = Timestamp(record.issued.0 + 4000);
    let highwater_store::Put::Done(record) = store.put_challenge(&record, None).await.unwrap() else {
        panic!("too many")
    };
    let verified = scene.sign(&store, &record, &ada, 2).await;
    let draft = scene.draft(&store, &verified, &record).await;
    let now = loop {
        let now = store.now().await.unwrap();
        if now > record.expires {
            break now;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    let used = store.consume(&verified, None, &draft, now).await.unwrap();
    assert_eq!(used.outcome, ConsumeOutcome::Expired);
    assert_eq!(counter(&store, &ada).await, 1);
}

pub(crate) async fn s47_what_was_revoked_or_never_confirmed_consumes_nothing<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let (store, other) = (place.open().await, place.open_beside().await);
    let ada = scene.enroll(&store, "ada").await;
    let record = scene.challenge(&store, &ada, "a", None).await;
    let verified = scene.sign(&store, &record, &ada, 2).await;
    let draft = scene.draft(&store, &verified, &record).await;
    let now = store.now().await.unwrap();
    // Between the checks and the transaction.
    assert!(other.revoke_credential(&ada.credential(), "ada", "lost", now).await.unwrap());
    let used = store.consume(&verified, None, &draft, now).await.unwrap();
    assert_eq!(used.outcome, ConsumeOutcome::CredentialGone);
    let (found, _) = store.challenge_and_credential(&record.id, None).await.unwrap();
    assert!(!found.unwrap().0.consumed, "nothing is consumed");
    assert_eq!(counter(&store, &ada).await, 1);
    assert_eq!(store.receipts(scene.key.chain(), 0, 10).await.unwrap(), []);
    let dormant = scene.enroll_as(&store, "ada", CredentialStanding::Dormant).await;
    let record = {
        // A challenge is there although only the dormant one could sign it.
        let ben = scene.enroll(&store, "ada").await;
        scene.challenge(&store, &ben, "a", None).await
    };
    let refused = scene.judge(&store, &record, &dormant, 2, false).await.unwrap_err();
    assert_eq!(refused.reason, ApprovalReason::UnknownCredential);
}

pub(crate) async fn t2_two_approvers_at_once_are_both_counted<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let stores = [place.open().await, place.open_beside().await];
    let people = [scene.enroll(&stores[0], "ada").await, scene.enroll(&stores[0], "ben").await];
    for round in 2..8 {
        let request = scene.asked(&stores[0], Effect::Passkey, "a", quorum(2, &["ada", "ben", "cyd"])).await;
        let mut signing = Vec::new();
        for (person, store) in people.iter().zip(&stores) {
            let record = scene.challenge(store, person, "a", Some(&request)).await;
            let verified = scene.sign(store, &record, person, round).await;
            let draft = scene.draft(store, &verified, &record).await;
            let (store, id) = (store.clone(), request.id.clone());
            let now = store.now().await.unwrap();
            signing.push(tokio::spawn(async move {
                store.consume(&verified, Some(&id), &draft, now).await.unwrap()
            }));
        }
        let mut states = Vec::new();
        for one in signing {
            let used = one.await.unwrap();
            assert_eq!(used.outcome, ConsumeOutcome::Consumed);
            states.push(used.request.unwrap());
        }
        assert!(
            states.contains(&RequestState::Approved) && states.contains(&RequestState::Pending),
            "{states:?}"
        );
        let found = stores[0].request(&request.id).await.unwrap().unwrap();
        assert_eq!((found.state, found.decided_by.as_deref()), (RequestState::Approved, Some("ada, ben")));
        assert_eq!(stores[1].receipts_of(&request.id).await.unwrap().len(), 2);
        assert!(stores[0].end_request(&request.id, stores[0].now().await.unwrap()).await.unwrap());
    }
}

pub(crate) async fn t2_one_signature_answers_one_request_and_those_of_others_none<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let store = place.open().await;
    let (ada, eve) = (scene.enroll(&store, "ada").await, scene.enroll(&store, "eve").await);
    let request = scene.asked(&store, Effect::Passkey, "a", None).await;
    let foreign = scene.approve(&store, &eve, "a", &request, 2).await;
    assert_eq!(foreign.outcome, ConsumeOutcome::CredentialGone);
    assert_eq!(counter(&store, &eve).await, 1);
    // Two challenges of one request: one is consumed, the other is of no use any more.
    let record = scene.challenge(&store, &ada, "a", Some(&request)).await;
    let verified = scene.sign(&store, &record, &ada, 5).await;
    let used = scene.approve(&store, &ada, "a", &request, 2).await;
    assert_eq!((used.outcome, used.request), (ConsumeOutcome::Consumed, Some(RequestState::Approved)));
    let late = scene.consume(&store, &verified, &record, Some(&request)).await;
    assert_eq!((late.outcome, late.request), (ConsumeOutcome::AlreadyConsumed, Some(RequestState::Approved)));
    // The challenge of the page is none for a native call.
    let record = scene.challenge(&store, &ada, "b", None).await;
    let verified = scene.sign(&store, &record, &ada, 6).await;
    let crossed = scene.consume(&store, &verified, &record, Some(&request)).await;
    assert_eq!(crossed.outcome, ConsumeOutcome::Expired);
    assert_eq!(store.receipts_of(&request.id).await.unwrap().len(), 1);
}

pub(crate) async fn receipts_are_one_chain_whoever_signs_at_once<B: Backend>() {
    let (place, scene) = (B::new().await, Scene::new());
    let stores = [place.open().await, place.open_beside().await];
    let mut signing = Vec::new();
    for number in 0..8 {
        let store = stores[number % 2].clone();
        let person = scene.enroll(&store, &format!("p{number}")).await;
        let record = scene.challenge(&store, &person, "a", None).await;
        let verified = scene.sign(&store, &record, &person, 2).await;
        let draft = scene.draft(&store, &verified, &record).await;
        let now = store.now().await.unwrap();
        signing.push(tokio::spawn(async move { store.consume(&verified, None, &draft, now).await.unwrap() }));
    }
    for one in signing {
        assert_eq!(one.await.unwrap().outcome, ConsumeOutcome::Consumed);
    }
    let stored = stores[0].receipts(scene.key.chain(), 0, 100).await.unwrap();
    assert_eq!(stored.iter().map(|it| it.seq).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    let receipts: Vec<SignedReceipt> =
        stored.iter().map(|it| SignedReceipt::parse(&it.text).unwrap()).collect();
    assert_eq!(check_chain(&receipts), []);
    let expected = Expected {
        rp_id: RP_ID,
        origins: &[ORIGIN],
        gateway_key: Some(scene.key.public()),
        enrollments: None,
        auditor: None,
        opened: &[],
    };
    for it in &stored {
        let report = check(&it.text, &expected);
        assert!(report.holds() && report.held(Part::GatewaySignature), "{report:?}");
        assert_eq!(stores[1].receipt(&it.id).await.unwrap().as_ref(), Some(it));
    }
    assert_eq!(stores[1].receipts(scene.key.chain(), 6, 100).await.unwrap(), stored[6..]);
    assert_eq!(stores[1].receipt_chains().await.unwrap(), [(scene.key.chain().to_owned(), 8)]);
}
