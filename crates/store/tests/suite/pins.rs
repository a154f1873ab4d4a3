//! Pins: an approval is of exactly what a person saw, all of it or nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use highwater_core::profile::Profile;
use highwater_notation::Json;
use highwater_pins::{Basis, Definition, PartClass, PinKey, PinKind, digest_of_all};
use highwater_store::{
    Description, Observation, PinDecision, PinScope, PinVerdict, PinsDecided, Store, StoredPin,
};

use super::Backend;

const SERVER: &str = "mail";
const BELIEVED: PinVerdict = PinVerdict::Approve { believed: true };

fn definition(name: &str, text: &str) -> Definition {
    let kind = if name.is_empty() { PinKind::Identity } else { PinKind::Tool };
    let parts = [("/description".into(), PartClass::Wording, Json::text(text))];
    Definition::new(PinKey::new(kind, name), format!("{text:?}"), parts)
}

fn seen(name: &str, text: &str) -> Observation {
    let definition = definition(name, text);
    Observation {
        key: definition.key().clone(),
        seen: Some((definition.digest(), definition.text().to_string())),
        approve: None,
    }
}

fn vouched(name: &str, text: &str) -> Observation {
    Observation { approve: Some(Basis::Vouched), ..seen(name, text) }
}

fn decision(verdict: PinVerdict, scope: PinScope) -> PinDecision {
    let (person, reason) = ("ada".to_owned(), "looked at it".to_owned());
    PinDecision { server: SERVER.to_owned(), verdict, scope, person, reason }
}

fn one(name: &str, text: &str) -> PinScope {
    let definition = definition(name, text);
    PinScope::Some(vec![(definition.key().clone(), definition.digest())])
}

fn all(definitions: &[(&str, &str)]) -> PinScope {
    let definitions: Vec<_> = definitions.iter().map(|(name, text)| definition(name, text)).collect();
    PinScope::Server(digest_of_all(definitions.iter().map(|it| (it.key(), it.digest()))))
}

async fn pin(store: &Store, name: &str) -> Option<StoredPin> {
    let key = definition(name, "").key().clone();
    store.pins(SERVER).await.unwrap().into_iter().find(|pin| pin.key == key)
}

/// The text that is approved, as it was written.
async fn approved(store: &Store, name: &str) -> Option<String> {
    pin(store, name).await?.pin.map(|pin| serde_json::from_str(&pin.definition.text).unwrap())
}

async fn decide(store: &Store, verdict: PinVerdict, scope: PinScope) -> PinsDecided {
    pause().await;
    store.decide_pins(decision(verdict, scope)).await.unwrap()
}

async fn history(store: &Store, name: &str) -> Vec<String> {
    let mut events = store.pin_events(SERVER, 100).await.unwrap();
    events.retain(|event| *event.key.name == *name);
    events.reverse();
    events.into_iter().map(|event| event.what).collect()
}

pub(crate) async fn what_a_server_says_is_kept_with_its_history<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    assert_eq!(store.pins(SERVER).await.unwrap(), []);
    store.observe(SERVER, vec![seen("", "it"), seen("a", "1"), seen("b", "1")]).await.unwrap();
    store.observe("other", vec![seen("a", "9")]).await.unwrap();
    let known = pin(&store, "a").await.unwrap();
    assert_eq!(known.seen.as_ref().unwrap().digest, definition("a", "1").digest());
    assert_eq!((known.pin, known.rejected), (None, None));
    pause().await;
    store.observe(SERVER, vec![seen("a", "2")]).await.unwrap();
    assert_eq!(pin(&store, "a").await.unwrap().seen.unwrap().digest, definition("a", "2").digest());
    // What nobody decided about leaves its history alone.
    pause().await;
    let gone = |name: &str| Observation { seen: None, ..seen(name, "") };
    store.observe(SERVER, vec![gone("a"), gone("never")]).await.unwrap();
    assert_eq!(pin(&store, "a").await, None);
    assert_eq!(history(&store, "a").await, ["seen", "changed", "gone"]);
    // What was approved is remembered.
    assert_eq!(decide(&store, BELIEVED, one("b", "1")).await, PinsDecided::Done(1));
    store.observe(SERVER, vec![gone("b")]).await.unwrap();
    let remembered = pin(&store, "b").await.unwrap();
    assert!(remembered.seen.is_none() && remembered.pin.is_some());
}

pub(crate) async fn an_approval_names_exactly_what_was_seen<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    store.observe(SERVER, vec![seen("", "it"), seen("a", "1"), seen("b", "1")]).await.unwrap();
    assert_eq!(decide(&store, BELIEVED, one("a", "0")).await, PinsDecided::Moved);
    assert_eq!(decide(&store, BELIEVED, one("c", "1")).await, PinsDecided::Moved);
    // One that is not as it was spoils all.
    let both = |first: &str, second: &str| {
        let named = [("a", first), ("b", second)];
        let named = named.map(|(name, text)| definition(name, text));
        PinScope::Some(named.iter().map(|it| (it.key().clone(), it.digest())).collect())
    };
    assert_eq!(decide(&store, BELIEVED, both("1", "2")).await, PinsDecided::Moved);
    assert_eq!((approved(&store, "a").await, approved(&store, "b").await), (None, None));
    assert_eq!(decide(&store, BELIEVED, both("1", "1")).await, PinsDecided::Done(2));
    assert_eq!(approved(&store, "a").await.as_deref(), Some("1"));
    let pinned = pin(&store, "a").await.unwrap().pin.unwrap();
    assert_eq!((pinned.basis, pinned.believed, pinned.person.as_str()), (Basis::Person, true, "ada"));
    // What comes later changes nothing about what was approved.
    store.observe(SERVER, vec![seen("a", "2")]).await.unwrap();
    assert_eq!(approved(&store, "a").await.as_deref(), Some("1"));
    assert_eq!(decide(&store, BELIEVED, one("a", "1")).await, PinsDecided::Moved);
    assert_eq!(decide(&store, PinVerdict::Reject, one("a", "1")).await, PinsDecided::Moved);
    let unbelieved = PinVerdict::Approve { believed: false };
    assert_eq!(decide(&store, unbelieved, one("a", "2")).await, PinsDecided::Done(1));
    assert!(!pin(&store, "a").await.unwrap().pin.unwrap().believed);
    let event = store.pin_events(SERVER, 1).await.unwrap().remove(0);
    assert_eq!((event.person.as_str(), event.reason.as_str()), ("ada", "looked at it"));
    assert_eq!((event.what.as_str(), event.digest), ("approved", Some(definition("a", "2").digest())));
}

pub(crate) async fn a_server_is_approved_as_a_whole_or_not_at_all<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    store.observe(SERVER, vec![seen("", "it"), seen("a", "1"), seen("b", "1")]).await.unwrap();
    let whole = || all(&[("", "it"), ("a", "1"), ("b", "1")]);
    assert_eq!(decide(&store, BELIEVED, all(&[("", "it"), ("a", "1")])).await, PinsDecided::Moved);
    store.observe(SERVER, vec![seen("c", "1")]).await.unwrap();
    assert_eq!(decide(&store, BELIEVED, whole()).await, PinsDecided::Moved);
    assert!(store.pins(SERVER).await.unwrap().iter().all(|pin| pin.pin.is_none()));
    store.observe(SERVER, vec![Observation { seen: None, ..seen("c", "") }]).await.unwrap();
    // What was refused is not swept in.
    assert_eq!(decide(&store, PinVerdict::Reject, one("b", "1")).await, PinsDecided::Done(1));
    assert_eq!(decide(&store, BELIEVED, whole()).await, PinsDecided::Done(2));
    assert_eq!(decide(&store, BELIEVED, whole()).await, PinsDecided::Done(0));
    assert_eq!((approved(&store, "a").await.as_deref(), approved(&store, "b").await), (Some("1"), None));
    assert_eq!(pin(&store, "b").await.unwrap().rejected, Some(definition("b", "1").digest()));
    // Refusing a server refuses it, and approving it takes that back.
    assert_eq!(decide(&store, PinVerdict::Reject, whole()).await, PinsDecided::Done(1));
    let server = pin(&store, "").await.unwrap();
    assert_eq!((server.rejected, server.pin), (Some(definition("", "it").digest()), None));
    assert_eq!(decide(&store, BELIEVED, whole()).await, PinsDecided::Done(1));
    let server = pin(&store, "").await.unwrap();
    assert!(server.rejected.is_none() && server.pin.is_some());
    // And of a tool likewise.
    assert_eq!(decide(&store, BELIEVED, one("b", "1")).await, PinsDecided::Done(1));
    assert_eq!(pin(&store, "b").await.unwrap().rejected, None);
}

pub(crate) async fn what_a_person_decided_stands_above_what_is_vouched_for<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    store.observe(SERVER, vec![vouched("", "it"), vouched("a", "1"), seen("b", "1")]).await.unwrap();
    let basis = |pin: Option<StoredPin>| pin.and_then(|pin| pin.pin).map(|pin| pin.basis);
    assert_eq!(basis(pin(&store, "a").await), Some(Basis::Vouched));
    assert_eq!(basis(pin(&store, "b").await), None);
    assert_eq!(decide(&store, BELIEVED, one("b", "1")).await, PinsDecided::Done(1));
    assert_eq!(decide(&store, PinVerdict::Reject, one("a", "1")).await, PinsDecided::Done(1));
    store.observe(SERVER, vec![vouched("a", "1"), vouched("b", "2")]).await.unwrap();
    assert_eq!(basis(pin(&store, "a").await), None);
    assert_eq!(basis(pin(&store, "b").await), Some(Basis::Person));
    assert_eq!(approved(&store, "b").await.as_deref(), Some("1"));
}

pub(crate) async fn whatever_happens_at_once_only_what_was_named_is_approved<B: Backend>() {
    let place = B::new().await;
    let (store, other) = (place.open().await, place.open_beside().await);
    store.observe(SERVER, vec![seen("", "it"), seen("a", "0"), seen("b", "0")]).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..24_u32 {
        let store = if number % 2 == 0 { store.clone() } else { other.clone() };
        tasks.spawn(async move {
            let text = (number % 5).to_string();
            match number % 3 {
                0 => {
                    store.observe(SERVER, vec![seen("a", &text), seen("b", &text)]).await.unwrap();
                    BTreeSet::new()
                }
                1 => match store.decide_pins(decision(BELIEVED, one("a", &text))).await.unwrap() {
                    PinsDecided::Done(_) => BTreeSet::from([text]),
                    PinsDecided::Moved => BTreeSet::new(),
                },
                _ => {
                    let whole = all(&[("", "it"), ("a", &text), ("b", &text)]);
                    match store.decide_pins(decision(BELIEVED, whole)).await.unwrap() {
                        PinsDecided::Done(_) => BTreeSet::from([text]),
                        PinsDecided::Moved => BTreeSet::new(),
                    }
                }
            }
        });
    }
    let named: BTreeSet<String> = tasks.join_all().await.into_iter().flatten().collect();
    let named = Arc::new(named);
    for name in ["a", "b"] {
        if let Some(text) = approved(&store, name).await {
            assert!(named.contains(&text), "{text} was approved, and only {named:?} were named");
        }
        let pin = pin(&store, name).await.unwrap();
        if let Some(pin) = pin.pin {
            let text: String = serde_json::from_str(&pin.definition.text).unwrap();
            assert_eq!(pin.definition.digest, definition(name, &text).digest());
        }
    }
}

pub(crate) async fn decisions_outlive_the_store<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    store.observe(SERVER, vec![seen("", "it"), seen("a", "1"), seen("b", "1")]).await.unwrap();
    decide(&store, BELIEVED, one("a", "1")).await;
    decide(&store, PinVerdict::Reject, one("b", "1")).await;
    let before = store.pins(SERVER).await.unwrap();
    store.close().await.unwrap();
    let again = place.open().await;
    assert_eq!(again.pins(SERVER).await.unwrap(), before);
    assert_eq!(history(&again, "a").await, ["seen", "approved-believed"]);
}

pub(crate) async fn the_history_of_a_restless_server_is_bounded<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    store.observe(SERVER, vec![seen("", "it"), seen("a", "first")]).await.unwrap();
    decide(&store, BELIEVED, one("a", "first")).await;
    pause().await;
    for round in 0..9 {
        let many = (0..250).map(|number| seen(&format!("t{number}"), &format!("{round}"))).collect();
        store.observe(SERVER, many).await.unwrap();
    }
    let events = store.pin_events(SERVER, 10_000).await.unwrap();
    assert_eq!(events.len(), 2001);
    // The decision is older than all of them, and stays.
    assert_eq!(events.iter().filter(|event| event.what == "approved-believed").count(), 1);
}

/// Lines of a history are in order if they are not of one moment.
async fn pause() {
    tokio::time::sleep(std::time::Duration::from_millis(3)).await;
}

pub(crate) async fn what_a_person_says_a_server_is_stands_until_it_is_taken_back<B: Backend>() {
    let place = B::new().await;
    let store = place.open().await;
    store.observe(SERVER, vec![seen("", "it"), seen("a", "1")]).await.unwrap();
    let said = async |store: &Store| {
        let pins = store.pins(SERVER).await.unwrap();
        pins.iter().find_map(StoredPin::described).map(|said| (said.profile, said.person))
    };
    let describe = async |profile| {
        pause().await;
        let (server, person, reason) = (SERVER.to_owned(), "ada".to_owned(), "asked".to_owned());
        store.describe(Description { server, profile, person, reason }).await.unwrap();
    };
    assert_eq!(said(&store).await, None);
    describe(Some(Profile::Private)).await;
    describe(Some(Profile::Local)).await;
    let local = Some((Profile::Local, "ada".to_owned()));
    assert_eq!(said(&store).await, local);
    // It is not among what anybody sees, approves or refuses.
    assert_eq!(decide(&store, BELIEVED, all(&[("", "it"), ("a", "1")])).await, PinsDecided::Done(2));
    assert_eq!(said(&store).await, local);
    assert_eq!(said(&place.open().await).await, local, "another gateway knows it");
    describe(None).await;
    assert_eq!(said(&store).await, None);
    let mut events = store.pin_events(SERVER, 100).await.unwrap();
    events.retain(|event| event.key == PinKey::profile());
    let whats: Vec<&str> = events.iter().map(|event| event.what.as_str()).collect();
    assert_eq!(whats, ["undescribed", "described-local", "described-private"]);
    assert!(events.iter().all(|event| (&*event.person, &*event.reason) == ("ada", "asked")));
}
