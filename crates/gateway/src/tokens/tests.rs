//! Tokens as they come and go while clients hold them.

use highwater_core::grant::{AcceptedWords, Forms, Permission, Permissions};

use super::*;

fn settings(tokens: &str) -> Settings {
    let text = format!("servers: {{ a: {{ command: x }} }}\n{tokens}");
    highwater_config::load("highwater.yaml", &text, &|_| None).unwrap()
}

fn record(name: &str, secret: &str, basis: TokenBasis) -> TokenRecord {
    TokenRecord {
        name: name.to_owned(),
        digest: TokenDigest::of(secret.as_bytes()),
        prefix: String::new(),
        basis,
        person: String::new(),
        created: Timestamp(1),
        rotated: None,
        used: None,
        revoked: None,
    }
}

fn stored(permission: Permission, expires: Option<u64>) -> TokenBasis {
    let grant = Grant {
        permissions: Permissions::only(permission),
        expires: expires.map(Timestamp),
        ..Grant::everything().clone()
    };
    let (limits, forms) = (Limits::default(), Forms::Never);
    TokenBasis::Stored(highwater_store::TokenTerms {
        grant,
        limits,
        user: None,
        forms,
        words: AcceptedWords::Owner,
    })
}

fn none() -> Box<Settings> {
    Box::new(settings(""))
}

const NOW: Timestamp = Timestamp(1_000);

#[test]
fn a_secret_opens_its_own_token_alone() {
    let records = vec![
        record("a", "hwt_a", stored(Permission::Read, None)),
        record("b", "hwt_b", stored(Permission::Write, Some(1_000))),
    ];
    let tokens = Tokens::new(records, &settings(""), false);
    let found = tokens.find(b"hwt_a", NOW).unwrap();
    assert_eq!(found.principal.as_str(), "a");
    assert!(found.standing().grant.permits(Permission::Read));
    assert_eq!(tokens.find(b"hwt_b", NOW).unwrap_err(), Closed::Unknown, "its time is over");
    assert!(tokens.find(b"hwt_b", Timestamp(999)).is_ok());
    for wrong in [&b""[..], b"hwt_", b"hwt_a ", b"a"] {
        assert_eq!(tokens.find(wrong, NOW).unwrap_err(), Closed::Unknown);
    }
}

#[test]
fn who_holds_a_token_feels_its_revocation_at_once() {
    let mut token = record("a", "hwt_a", stored(Permission::Read, None));
    let tokens = Tokens::new(vec![token.clone()], &settings(""), false);
    let held = tokens.find(b"hwt_a", NOW).unwrap();
    token.revoked = Some(NOW);
    assert_eq!(tokens.take_up(vec![token.clone()], none), [Principal::new("a")]);
    assert_eq!(held.standing().grant, *Grant::nothing());
    assert_eq!(tokens.find(b"hwt_a", NOW).unwrap_err(), Closed::Unknown);
    assert_eq!(tokens.take_up(vec![token], none), [], "it ends once");
}

#[test]
fn a_token_that_the_store_lost_grants_nothing() {
    let tokens =
        Tokens::new(vec![record("a", "hwt_a", stored(Permission::Read, None))], &settings(""), false);
    let held = tokens.find(b"hwt_a", NOW).unwrap();
    assert_eq!(tokens.take_up(Vec::new(), none), [Principal::new("a")]);
    assert_eq!(held.standing().grant, *Grant::nothing());
}

#[test]
fn a_rotated_token_is_the_same_principal_behind_another_secret() {
    let old = record("a", "hwt_old", stored(Permission::Read, None));
    let tokens = Tokens::new(vec![old.clone()], &settings(""), false);
    let held = tokens.find(b"hwt_old", NOW).unwrap();
    let new = TokenRecord { digest: TokenDigest::of(b"hwt_new"), ..old };
    assert_eq!(tokens.take_up(vec![new], none), [Principal::new("a")]);
    assert_eq!(tokens.find(b"hwt_old", NOW).unwrap_err(), Closed::Unknown);
    assert!(Arc::ptr_eq(&tokens.find(b"hwt_new", NOW).unwrap(), &held));
}

#[test]
fn the_configuration_decides_for_every_name_it_has() {
    let write = settings("agent_tokens: { a: { permissions: [write], servers: [a], concurrency: 3 } }");
    let records = || {
        vec![
            record("a", "hwt_a", stored(Permission::Read, None)),
            record("b", "hwt_b", TokenBasis::Configured),
            record("c", "hwt_c", TokenBasis::Unreadable),
        ]
    };
    let tokens = Tokens::new(records(), &settings(""), false);
    let [a, b, c] = ["hwt_a", "hwt_b", "hwt_c"].map(|secret| tokens.find(secret.as_bytes(), NOW).unwrap());
    assert!(a.standing().grant.permits(Permission::Read));
    assert_eq!((&b.standing().grant, &c.standing().grant), (Grant::nothing(), Grant::nothing()));
    tokens.under(&write);
    let standing = a.standing();
    assert!(standing.grant.permits(Permission::Write) && !standing.grant.permits(Permission::Read));
    assert_eq!(standing.limits.concurrency.map(std::num::NonZeroU32::get), Some(3));
    tokens.under(&settings("agent_tokens: { b: { permissions: [read], servers: ['*'] } }"));
    assert!(b.standing().grant.permits(Permission::Read));
}

#[tokio::test(start_paused = true)]
async fn an_old_copy_of_a_shared_store_opens_nothing() {
    let records = || vec![record("a", "hwt_a", stored(Permission::Read, None))];
    let (shared, own) =
        (Tokens::new(records(), &settings(""), true), Tokens::new(records(), &settings(""), false));
    tokio::time::advance(OLDEST_COPY + Duration::from_millis(1)).await;
    assert_eq!(shared.find(b"hwt_a", NOW).unwrap_err(), Closed::Stale);
    assert!(own.find(b"hwt_a", NOW).is_ok());
    shared.take_up(records(), none);
    assert!(shared.find(b"hwt_a", NOW).is_ok());
}
