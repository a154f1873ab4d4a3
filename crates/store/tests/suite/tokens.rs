//! Agent tokens: made, rotated, revoked, used, and still there after the store.

use highwater_core::grant::{AcceptedWords, Forms, Grant, Limits, Permission, Permissions, ServerScope};
use highwater_core::id::UserId;
use highwater_notation::Timestamp;
use highwater_store::{
    ChangedToken, CreatedToken, Store, TokenBasis, TokenDigest, TokenRecord, TokenSecret, TokenTerms,
};

use super::Backend;

fn reading() -> TokenBasis {
    let grant = Grant {
        permissions: Permissions::only(Permission::Read),
        servers: ServerScope::of_names(["database", "analytics"]),
        expires: Some(Timestamp(4_000_000_000_000)),
        ..Grant::everything().clone()
    };
    let limits = Limits { per_minute: std::num::NonZeroU32::new(60), concurrency: None };
    let (user, forms, words) = (Some(UserId::new("ada")), Forms::Person, AcceptedWords::Sdk);
    TokenBasis::Stored(TokenTerms { grant, limits, user, forms, words })
}

async fn make(store: &Store, name: &str, basis: TokenBasis) -> (TokenRecord, TokenSecret) {
    match store.create_token(name, basis, "ada").await.unwrap() {
        CreatedToken::Made(record, secret) => (record, secret),
        other => panic!("{name}: {other:?}"),
    }
}

fn opens(record: &TokenRecord, secret: &TokenSecret) -> bool {
    record.revoked.is_none() && record.digest.is(&TokenDigest::of(secret.expose().as_bytes()))
}

pub(crate) async fn a_token_is_made_once_and_its_secret_is_not_kept<B: Backend>() {
    let place = B::new().await;
    let (store, other) = (place.open().await, place.open_beside().await);
    assert_eq!(store.tokens().await.unwrap(), []);
    let (made, secret) = make(&store, "reporting-bot", reading()).await;
    assert!(opens(&made, &secret));
    assert!(secret.expose().starts_with(&made.prefix) && made.prefix.len() < 16, "{}", made.prefix);
    assert_eq!(other.tokens().await.unwrap(), std::slice::from_ref(&made));
    assert_eq!((&*made.person, made.rotated, made.used, made.revoked), ("ada", None, None, None));
    match other.create_token("reporting-bot", TokenBasis::Configured, "eve").await.unwrap() {
        CreatedToken::Taken(found) => assert_eq!(found, made),
        other => panic!("{other:?}"),
    }
    make(&store, "from-the-file", TokenBasis::Configured).await;
    store.close().await.unwrap();
    let again = place.open().await.tokens().await.unwrap();
    assert_eq!(
        again.iter().map(|token| &*token.name).collect::<Vec<_>>(),
        ["from-the-file", "reporting-bot"]
    );
    assert_eq!(again[1], made);
    assert_eq!(again[0].basis, TokenBasis::Configured);
}

pub(crate) async fn a_rotated_token_has_another_secret_and_the_same_terms<B: Backend>() {
    let place = B::new().await;
    let (store, other) = (place.open().await, place.open_beside().await);
    let (made, old) = make(&store, "bot", reading()).await;
    let ChangedToken::Done(rotated, new) = store.rotate_token("bot").await.unwrap() else {
        panic!("not done")
    };
    assert!(opens(&rotated, &new) && !opens(&rotated, &old));
    assert_eq!((&rotated.basis, rotated.created), (&made.basis, made.created));
    assert!(rotated.rotated.is_some());
    assert_eq!(other.tokens().await.unwrap(), [rotated]);
    assert!(matches!(store.rotate_token("nobody").await.unwrap(), ChangedToken::Unknown));
}

pub(crate) async fn a_revoked_token_stays_revoked_and_keeps_its_name<B: Backend>() {
    let place = B::new().await;
    let (store, other) = (place.open().await, place.open_beside().await);
    let (_, secret) = make(&store, "bot", reading()).await;
    assert!(matches!(store.revoke_token("nobody").await.unwrap(), ChangedToken::Unknown));
    let ChangedToken::Done(revoked, ()) = store.revoke_token("bot").await.unwrap() else {
        panic!("not done")
    };
    assert!(!opens(&revoked, &secret));
    assert!(
        matches!(other.revoke_token("bot").await.unwrap(), ChangedToken::Revoked(same) if same == revoked)
    );
    assert!(
        matches!(other.rotate_token("bot").await.unwrap(), ChangedToken::Revoked(same) if same == revoked)
    );
    // Its sessions and their labels go under its name, so nobody else is given it.
    let again = store.create_token("bot", reading(), "eve").await.unwrap();
    assert!(matches!(again, CreatedToken::Taken(same) if same == revoked));
    store.close().await.unwrap();
    assert_eq!(place.open().await.tokens().await.unwrap(), [revoked]);
}

pub(crate) async fn a_token_is_noted_when_it_is_used<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    make(&store, "bot", reading()).await;
    for at in [5_000, 9_000, 7_000] {
        store.note_token_use("bot", Timestamp(at));
    }
    store.note_token_use("nobody", Timestamp(1));
    store.close().await.unwrap();
    let used = place.open().await.tokens().await.unwrap();
    assert_eq!(used[0].used, Some(Timestamp(9_000)));
    assert_eq!(used.len(), 1);
}

pub(crate) async fn of_many_who_make_one_token_one_succeeds<B: Backend>() {
    let place = B::new().await;
    let stores = [place.open().await, place.open_beside().await];
    let tries = (0..16).map(|number| {
        let store = stores[number % 2].clone();
        tokio::spawn(async move { store.create_token("bot", reading(), "ada").await.unwrap() })
    });
    let mut made = 0;
    for attempt in tries.collect::<Vec<_>>() {
        made += usize::from(matches!(attempt.await.unwrap(), CreatedToken::Made(..)));
    }
    assert_eq!(made, 1);
    assert_eq!(stores[0].tokens().await.unwrap().len(), 1);
}
